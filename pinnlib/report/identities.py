"""The exact claims, by computation in double precision, at random or initial parameters."""

import numpy as np
import torch
from torch.autograd.functional import jacobian

from pinnlib.analysis import ntk
from pinnlib.gates import GATES, validate_gate
from pinnlib.models import MODELS
from pinnlib.report.evidence import exact, graded
from pinnlib.spec import RunSpec
from pinnlib.training import initial_parameters

GATES = {
    name: GATES[name] for name in ("exp", "linear")
}  # the paper's own: what is registered besides is no part of its claims
MODELS = {name: MODELS[name] for name in ("baseline", "fixed", "adaptive")}
ROUNDING = 1e-10  # relative: what double precision may leave of an identity
SPECS = {
    gate: RunSpec(gate=gate, precision="float64") for gate in GATES
}  # an untrained adaptive run per gate
softplus = torch.nn.functional.softplus


def _far(a, b):
    """Largest difference, relative to the largest value."""
    return float(((a - b).abs().max() / b.abs().max()).detach())


def small(value):
    """A rounding error in words that are the same on every machine."""
    return f"< {ROUNDING:.0e}" if value < ROUNDING else f"{value:.0e}"


def _random(size, draw):
    return torch.randn(1, size, generator=torch.Generator().manual_seed(draw), dtype=torch.float64)


def _plain(spec, theta, t):
    """ũ and its ansatz u, each (components, points), in plain operations that can be differentiated in t."""
    weight, bias, raw = (block[0] for block in spec.trunk.blocks(theta, 2).values())
    phase = softplus(raw)[:, None] * t
    free = weight @ torch.cat([phase.sin(), phase.cos()]) + bias[:, None]
    latent = spec.ansatz().start[0] + spec.gate_object.jet(t).value * free
    return free, torch.stack([spec.system_object.floor + softplus(latent[0]), latent[1]])


def _slope(y, t):
    """dy/dt, row by row, by automatic differentiation."""
    return torch.stack([torch.autograd.grad(row.sum(), t, create_graph=True)[0] for row in y])


def parameter_counts(_):
    counts = {name: len(initial_parameters(RunSpec(model=name))) for name in MODELS}
    return exact(
        counts == {"baseline": 33538, "fixed": 130, "adaptive": 162},
        ", ".join(f"{n:,} {name}" for name, n in counts.items()),
    )


def frequencies(_):
    start = MODELS["adaptive"]().start
    steps = [np.diff(np.log(band)) for band in (start[:16], start[16:])]
    ends = np.allclose([start[0], start[15], start[16], start[31]], [0.5, 5, 5, 15])
    ok = len(start) == 32 and ends and all(np.ptp(step) < ROUNDING for step in steps)
    features = MODELS["fixed"]().shapes(2)["weight"][1]
    return exact(
        ok and features == 64,
        f"{len(start)} frequencies, {len(np.unique(start.round(9)))} of them distinct; D = {features}",
    )


def admissible(_):
    for spec in SPECS.values():
        validate_gate(spec.gate_object, spec.horizon)  # raises
    slopes = {
        gate: spec.gate_object.jet(torch.zeros(1)).first.item() for gate, spec in SPECS.items()
    }
    return exact(
        all(slopes.values()),
        ", ".join(f"slope at 0 of {gate}: {slope:g}" for gate, slope in slopes.items())
        + "; no other zero",
    )


def initial_state(_):
    off, least = 0.0, np.inf
    for model, gate, draw in ((m, g, d) for m in MODELS for g in GATES for d in range(5)):
        spec = RunSpec(model=model, gate=gate, precision="float64")
        t, theta = (
            torch.linspace(0, 10, 101, dtype=torch.float64)[None],
            _random(spec.trunk.size(2), draw),
        )
        off = max(
            off,
            *(
                abs(jet.value[0, 0].item() - u)
                for jet, u in zip(spec.ansatz().jets(theta, t), spec.initial_position)
            ),
        )
        least = min(least, softplus(spec.ansatz().latent(theta, t).value[0, 0]).min().item())
    return exact(
        off < ROUNDING and least > 0,
        f"deviation at t = 0 {small(off)}; smallest softplus: {least:.0e}",
    )


def velocities(_):
    off = []
    for draw, spec in enumerate(SPECS.values()):
        t = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        free, state = _plain(spec, _random(spec.trunk.size(2), draw), t)
        factor = torch.stack(
            [torch.sigmoid(spec.ansatz().start[0, 0]), torch.ones(1, dtype=torch.float64)]
        )
        off.append(_far(_slope(state, t), factor * spec.gate_object.jet(t).first * free))
    return exact(max(off) < ROUNDING, f"relative difference {small(max(off))}")


def sensitivity(_):
    latent, physical = [], []
    for spec in (
        RunSpec(model=model, gate=gate, precision="float64") for model in MODELS for gate in GATES
    ):
        t, theta, ansatz = (
            torch.linspace(0.5, 10, 5, dtype=torch.float64)[None],
            initial_parameters(spec),
            spec.ansatz(),
        )
        free = jacobian(lambda p: spec.trunk.jet(spec.trunk.blocks(p[None], 2), t).value[0], theta)
        scaled = spec.gate_object.jet(t).value[0, :, None] * free
        latent.append(_far(jacobian(lambda p: ansatz.latent(p[None], t).value[0], theta), scaled))
        physical.append(
            _far(jacobian(lambda p: ansatz.jets(p[None], t)[0].value[0], theta), scaled[0])
        )
    told = f"latent: relative difference {small(max(latent))}; r itself: {max(physical):.2f}, from the softplus"
    return exact(max(latent) < ROUNDING, told)


def product_rule(_):
    off = []
    for draw, spec in enumerate(SPECS.values()):
        t, theta = (
            torch.linspace(0.1, 10, 40, dtype=torch.float64, requires_grad=True),
            _random(spec.trunk.size(2), draw),
        )
        g, free = spec.gate_object.jet(t), spec.trunk.jet(spec.trunk.blocks(theta, 2), t[None])
        twice = _slope(_slope(g.value * _plain(spec, theta, t)[0], t), t)
        off.append(
            _far(
                g.value * free.second[0] + 2 * g.first * free.first[0] + g.second * free.value[0],
                twice,
            )
        )
    return exact(max(off) < ROUNDING, f"relative difference {small(max(off))}")


def kernel_properties(_):
    t, parts = np.linspace(0.1, 10, 120), []  # more residuals than parameters
    for spec in SPECS.values():
        J = ntk.jacobian(spec, initial_parameters(spec), t)
        K, values = ntk.residual_kernel(J), ntk.eigenvalues(J)
        rank, least = int((values > 1e-10 * values[0]).sum()), np.linalg.eigvalsh(K)[0]
        parts.append(
            (
                np.abs(K - K.T).max() < ROUNDING * K.max()
                and least > -1e-12 * values[0]
                and rank <= J.shape[2],
                rank,
                len(K),
            )
        )
    told = ", ".join(f"{gate}: rank {rank} of {n}" for gate, (_, rank, n) in zip(SPECS, parts))
    return exact(all(ok for ok, *_ in parts), f"{told}; {J.shape[2]} parameters")


def residual_dynamics(_):
    t, off = np.linspace(0.2, 10, 50), []
    for spec in SPECS.values():
        theta = initial_parameters(spec).numpy()
        J, e = ntk.linearised(spec, theta, t)
        eta, rows = 1e-6 / ntk.eigenvalues(J)[0], J.reshape(-1, len(theta))
        moved = ntk.linearised(spec, theta - eta * e.ravel() @ rows, t)[1] - e
        predicted = -ntk.residual_kernel(J) @ e.ravel()
        off.append(np.abs(moved.ravel() / eta - predicted).max() / np.abs(predicted).max())
    return exact(max(off) < 1e-3, f"largest relative difference {max(off):.0e}")


def function_class(_):
    start, t = MODELS["fixed"]().start, torch.linspace(0, 10, 2000, dtype=torch.float64)
    phase = torch.from_numpy(start) * t[:, None]
    trunk = torch.cat([phase.sin(), phase.cos(), torch.ones(len(t), 1)], dim=1)
    spans = {gate: spec.gate_object.jet(t).value[:, None] * trunk for gate, spec in SPECS.items()}
    left = {}
    for one, other in (("exp", "linear"), ("linear", "exp")):
        target = spans[one] @ _random(20 * trunk.shape[1], 0).view(-1, 20)
        fit = spans[other] @ torch.from_numpy(
            np.linalg.lstsq(spans[other].numpy(), target.numpy(), rcond=None)[0]
        )
        left[one] = float(((target - fit).norm(dim=0) / target.norm(dim=0)).median())
    told = "out of reach of the other gate: " + ", ".join(
        f"{100 * share:.2g}% of a random {gate} ansatz" for gate, share in left.items()
    )
    return graded(
        (share < 1e-6 for share in left.values()),
        told,
        reason="the two classes agree only for a trunk of any size",
    )


def jacobian_growth(_):
    t, ratios = np.linspace(0.1, 10, 100), {}
    for gate in GATES:
        specs = [
            RunSpec(gate=gate, k=k, seed=seed, precision="float64")
            for k in (20, 60)
            for seed in range(3)
        ]
        norms = sum(ntk.profile(ntk.jacobian(spec, initial_parameters(spec), t)) for spec in specs)
        ratios[gate] = norms[t > 8].mean() / norms[(t > 2) & (t <= 4)].mean()
    told = "norm after t = 8 over that from t = 2 to 4, three seeds: " + ", ".join(
        f"{ratio:.2f} with {gate}" for gate, ratio in ratios.items()
    )
    return graded((ratios["linear"] > 2, 0.75 <= ratios["exp"] <= 1.25), told)
