"""The exact claims, by computation in double precision, at random or initial parameters.

Every check takes the Evidence, which it does not need, so that all checks are called alike.
"""

import itertools
from typing import Any

import numpy as np
import torch
from torch.autograd.functional import jacobian

from pinnlib.analysis import ntk
from pinnlib.gates import validate_gate
from pinnlib.models import MODELS
from pinnlib.report.evidence import Finding, grade
from pinnlib.spec import RunSpec
from pinnlib.training import initial_parameters

PAPER_GATES = ("exp", "linear")  # what is registered besides is no part of the claims
PAPER_MODELS = ("baseline", "fixed", "adaptive")
SPECS = {gate: RunSpec(gate=gate, precision="float64") for gate in PAPER_GATES}  # adaptive
ROUNDING = 1e-10  # relative: the largest rounding error of an identity in double precision
softplus = torch.nn.functional.softplus


def _every_spec():
    """An untrained run per model and gate."""
    for model, gate in itertools.product(PAPER_MODELS, PAPER_GATES):
        yield RunSpec(model=model, gate=gate, precision="float64")


def _times(start, stop, number):
    return torch.linspace(start, stop, number, dtype=torch.float64)


def _relative_difference(a, b):
    """Largest difference, relative to the largest value of b."""
    return float(((a - b).abs().max() / b.abs().max()).detach())


def small(value: float) -> str:
    """A rounding error in words that are the same on every machine."""
    return f"< {ROUNDING:.0e}" if value < ROUNDING else f"{value:.0e}"


def _rounding_only(differences):
    """The finding of an identity, from its largest relative difference."""
    largest = max(differences)
    return grade([largest < ROUNDING], f"relative difference {small(largest)}")


def normal(size: int, draw: int) -> torch.Tensor:
    """Standard normal numbers, (1, size)."""
    generator = torch.Generator().manual_seed(draw)
    return torch.randn(1, size, generator=generator, dtype=torch.float64)


def _adaptive_model(spec, theta, t):
    """Free output and state, each (components, points), in operations differentiable in t."""
    weight, bias, raw = (block[0] for block in spec.trunk.blocks(theta, 2).values())
    phase = softplus(raw)[:, None] * t
    free = weight @ torch.cat([phase.sin(), phase.cos()]) + bias[:, None]
    rho, angle = spec.ansatz().start[0] + spec.gate_object.jet(t).value * free
    return free, torch.stack([spec.system_object.floor + softplus(rho), angle])


def _slope(y, t):
    """dy/dt, row by row, by automatic differentiation."""
    return torch.stack([torch.autograd.grad(row.sum(), t, create_graph=True)[0] for row in y])


def parameter_counts(_: Any) -> Finding:
    published = {"baseline": 33538, "fixed": 130, "adaptive": 162}
    counts = {name: len(initial_parameters(RunSpec(model=name))) for name in published}
    texts = [f"{count:,} {name}" for name, count in counts.items()]
    return grade([counts == published], ", ".join(texts))


def frequencies(_: Any) -> Finding:
    start = MODELS["adaptive"]().start
    features = MODELS["fixed"]().shapes(2)["weight"][1]
    bands = start.reshape(2, -1)
    steps = np.diff(np.log(bands))
    even = np.ptp(steps, axis=1).max() < ROUNDING
    ends = np.allclose(bands[:, [0, -1]], [[0.5, 5], [5, 15]])
    holds = bands.shape == (2, 16) and features == 64 and ends and even
    distinct = len(np.unique(start.round(9)))
    ours = f"{len(start)} frequencies, {distinct} of them distinct; $D = {features}$"
    return grade([holds], ours)


def admissible(_: Any) -> Finding:
    slopes = {}
    for gate, spec in SPECS.items():
        validate_gate(spec.gate_object, spec.horizon)  # raises
        slopes[gate] = spec.gate_object.jet(torch.zeros(1)).first.item()
    texts = [f"slope at 0 of {gate}: {slope:g}" for gate, slope in slopes.items()]
    return grade([all(slopes.values())], f"{', '.join(texts)}; no other zero")


def initial_state(_: Any) -> Finding:
    t = _times(0, 10, 101)[None]
    deviations, smallest = [], []
    for spec in _every_spec():
        for draw in range(5):
            theta = normal(spec.trunk.size(2), draw)
            state = spec.ansatz().jets(theta, t)
            for jet, start in zip(state, spec.initial_position, strict=True):
                deviations.append(abs(jet.value[0, 0].item() - start))
            latent_r = spec.ansatz().latent(theta, t).value[0, 0]
            smallest.append(softplus(latent_r).min().item())
    deviation, least = max(deviations), min(smallest)
    ours = f"deviation at $t = 0$ {small(deviation)}; smallest softplus: {least:.0e}"
    return grade([deviation < ROUNDING and least > 0], ours)


def velocities(_: Any) -> Finding:
    differences = []
    for draw, spec in enumerate(SPECS.values()):
        t = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        free, state = _adaptive_model(spec, normal(spec.trunk.size(2), draw), t)
        radial = torch.sigmoid(spec.ansatz().start[0, 0])
        factor = torch.stack([radial, torch.ones_like(radial)])
        expected = factor * spec.gate_object.jet(t).first * free
        differences.append(_relative_difference(_slope(state, t), expected))
    return _rounding_only(differences)


def sensitivity(_: Any) -> Finding:
    latent, physical = [], []
    for spec in _every_spec():
        free, gated, r = _outputs_by_parameters(spec)
        latent.append(_relative_difference(gated, free))
        physical.append(_relative_difference(r, free[0]))
    ours = (
        f"latent: relative difference {small(max(latent))}; "
        f"$r$ itself: {max(physical):.2f}, from the softplus"
    )
    return grade([max(latent) < ROUNDING], ours)


def _outputs_by_parameters(spec):
    """Jacobians of gate times free output, of the latent output and of r, at initial parameters."""
    t = _times(0.5, 10, 5)[None]
    trunk, ansatz = spec.trunk, spec.ansatz()

    def outputs(theta):  # (1, parameters)
        free = trunk.jet(trunk.blocks(theta, 2), t)
        latent = ansatz.latent(theta, t)
        r, _ = ansatz.jets(theta, t)
        return free.value[0], latent.value[0], r.value[0]

    theta = initial_parameters(spec)[None]
    free, latent, r = (J.squeeze(-2) for J in jacobian(outputs, theta))
    gate = spec.gate_object.jet(t).value[0, :, None]  # (points, 1)
    return gate * free, latent, r


def product_rule(_: Any) -> Finding:
    differences = []
    for draw, spec in enumerate(SPECS.values()):
        t = _times(0.1, 10, 40).requires_grad_()
        theta = normal(spec.trunk.size(2), draw)
        g = spec.gate_object.jet(t)
        free = spec.trunk.jet(spec.trunk.blocks(theta, 2), t[None])
        by_rule = g.value * free.second + 2 * g.first * free.first + g.second * free.value
        again, _ = _adaptive_model(spec, theta, t)
        by_autograd = _slope(_slope(g.value * again, t), t)
        differences.append(_relative_difference(by_rule[0], by_autograd))
    return _rounding_only(differences)


def kernel_properties(_: Any) -> Finding:
    t = np.linspace(0.1, 10, 120)  # more residuals than parameters
    holds, texts = [], []
    for gate, spec in SPECS.items():
        J = ntk.jacobian(spec, initial_parameters(spec), t)
        K, values = ntk.residual_kernel(J), ntk.eigenvalues(J)
        parameters = J.shape[2]
        rank = int((values > 1e-10 * values[0]).sum())
        symmetric = np.abs(K - K.T).max() < ROUNDING * K.max()
        semidefinite = np.linalg.eigvalsh(K)[0] > -1e-12 * values[0]
        holds.append(symmetric and semidefinite and rank <= parameters)
        texts.append(f"{gate}: rank {rank} of {len(K)}")
    return grade([all(holds)], f"{', '.join(texts)}; {parameters} parameters")


def residual_dynamics(_: Any) -> Finding:
    t = np.linspace(0.2, 10, 50)
    differences = []
    for spec in SPECS.values():
        theta = initial_parameters(spec).numpy()
        J, e = ntk.linearise(spec, theta, t)
        step = 1e-6 / ntk.eigenvalues(J)[0]
        gradient = e.ravel() @ J.reshape(-1, len(theta))
        _, moved = ntk.linearise(spec, theta - step * gradient, t)
        rate = (moved - e).ravel() / step
        predicted = -ntk.residual_kernel(J) @ e.ravel()
        differences.append(np.abs(rate - predicted).max() / np.abs(predicted).max())
    largest = max(differences)
    return grade([largest < 1e-3], f"largest relative difference {largest:.0e}")


def function_class(_: Any) -> Finding:
    t = _times(0, 10, 2000)
    phase = torch.from_numpy(MODELS["fixed"]().start) * t[:, None]
    trunk = torch.cat([phase.sin(), phase.cos(), torch.ones(len(t), 1)], dim=1)
    heads = normal(20 * trunk.shape[1], 0).view(-1, 20)
    spans = {gate: spec.gate_object.jet(t).value[:, None] * trunk for gate, spec in SPECS.items()}
    shares = {}
    for gate, other in (("exp", "linear"), ("linear", "exp")):
        target, basis = (spans[gate] @ heads).numpy(), spans[other].numpy()
        fit = basis @ np.linalg.lstsq(basis, target, rcond=None)[0]
        norm = np.linalg.norm
        left = norm(target - fit, axis=0) / norm(target, axis=0)
        shares[gate] = np.quantile(left, 0.5, method="lower")
    texts = [f"{100 * share:.2g}% of a random {gate} ansatz" for gate, share in shares.items()]
    return grade(
        [share < 1e-6 for share in shares.values()],
        f"out of reach of the other gate: {', '.join(texts)}",
        reason="the two classes agree only for a trunk of any size",
    )


def jacobian_growth(_: Any) -> Finding:
    t = np.linspace(0.1, 10, 100)
    ratios = {}
    for gate in PAPER_GATES:
        norms = np.zeros(len(t))
        for k in (20, 60):
            for seed in range(3):
                spec = RunSpec(gate=gate, k=k, seed=seed, precision="float64")
                norms += ntk.profile(ntk.jacobian(spec, initial_parameters(spec), t))
        ratios[gate] = norms[t > 8].mean() / norms[(t > 2) & (t <= 4)].mean()
    texts = [f"{ratio:.2f} with {gate}" for gate, ratio in ratios.items()]
    ours = f"norm after $t = 8$ over that from $t = 2$ to 4, three seeds: {', '.join(texts)}"
    return grade([ratios["linear"] > 2, 0.75 <= ratios["exp"] <= 1.25], ours)
