"""The exact claims, by computation in double precision, at random or initial parameters.

Every check takes the Evidence, which it does not need, so that all checks are called alike.
"""

import itertools
from typing import Any

import numpy as np
import torch
from numpy.linalg import eigvalsh, lstsq, norm
from torch.autograd.functional import jacobian
from torch.nn.functional import softplus

from pinnlib.analysis import ntk
from pinnlib.gates import validate_gate
from pinnlib.models import MODELS
from pinnlib.report.evidence import Finding, grade
from pinnlib.report.published import PAPER_GATES
from pinnlib.spec import RunSpec
from pinnlib.training import initial_parameters

PAPER_MODELS = ("baseline", "fixed", "adaptive")
SPECS = {gate: RunSpec(gate=gate, precision="float64") for gate in PAPER_GATES}  # adaptive
ROUNDING = 1e-10  # relative: the largest rounding error of an identity in double precision


def _every_spec():
    """An untrained run per model and gate."""
    for model, gate in itertools.product(PAPER_MODELS, PAPER_GATES):
        yield RunSpec(model=model, gate=gate, precision="float64")


def _times(start, stop, number):
    return torch.linspace(start, stop, number, dtype=torch.float64)


def _relative_difference(a, b):
    """Largest difference, relative to the largest value of b."""
    difference = (a - b).abs().max()
    largest = b.abs().max()
    return (difference / largest).item()


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


def random_parameters(spec: RunSpec, draw: int) -> torch.Tensor:
    """Standard normal parameters of a run, (1, parameters)."""
    return normal(spec.trunk.size(2), draw)


def _adaptive_model(spec, theta, t):
    """Free output and state, each (components, points), in operations differentiable in t."""
    blocks = spec.trunk.blocks(theta, 2)
    weight, bias, raw = (block[0] for block in blocks.values())
    omega = softplus(raw)
    phase = omega[:, None] * t
    features = torch.cat([phase.sin(), phase.cos()])
    free = weight @ features + bias[:, None]
    gate = spec.gate_object.jet(t).value
    rho, angle = spec.ansatz().latent_start[0] + gate * free
    r = spec.system_object.floor + softplus(rho)
    return free, torch.stack([r, angle])


def _slope(y, t):
    """dy/dt, row by row, by automatic differentiation."""
    slopes = []
    for row in y:
        slopes += torch.autograd.grad(row.sum(), t, create_graph=True)
    return torch.stack(slopes)


def parameter_counts(_: Any) -> Finding:
    published = {"baseline": 33538, "fixed": 130, "adaptive": 162}
    counts, texts = {}, []
    for model in published:
        parameters = initial_parameters(RunSpec(model=model))
        counts[model] = len(parameters)
        texts.append(f"{len(parameters):,} {model}")
    return grade([counts == published], ", ".join(texts))


def frequencies(_: Any) -> Finding:
    start = MODELS["adaptive"]().initial_frequencies
    features = MODELS["fixed"]().shapes(2)["weight"][1]
    bands = start.reshape(2, -1)
    ends = bands[:, [0, -1]]
    steps = np.diff(np.log(bands))
    unevenness = np.ptp(steps, axis=1).max()
    holds = [
        bands.shape == (2, 16),
        features == 64,
        np.allclose(ends, [[0.5, 5], [5, 15]]),
        unevenness < ROUNDING,
    ]
    distinct = len(np.unique(start.round(9)))
    ours = f"{len(start)} frequencies, {distinct} of them distinct; $D = {features}$"
    return grade([all(holds)], ours)


def admissible(_: Any) -> Finding:
    slopes, texts = [], []
    for gate, spec in SPECS.items():
        validate_gate(spec.gate_object, spec.horizon)  # raises
        jet = spec.gate_object.jet(torch.zeros(1))
        slope = jet.first.item()
        slopes.append(slope)
        texts.append(f"slope at 0 of {gate}: {slope:g}")
    return grade([all(slopes)], f"{', '.join(texts)}; no other zero")


def initial_state(_: Any) -> Finding:
    deviation, least = 0.0, np.inf
    for spec in _every_spec():
        for draw in range(5):
            start, smallest = _start_and_softplus(spec, random_parameters(spec, draw))
            deviation = max(deviation, start)
            least = min(least, smallest)
    ours = f"deviation at $t = 0$ {small(deviation)}; smallest softplus: {least:.0e}"
    return grade([deviation < ROUNDING and least > 0], ours)


def _start_and_softplus(spec, theta):
    """Largest deviation from the initial position, and smallest softplus of the latent radius."""
    t = _times(0, 10, 101)[None]
    ansatz = spec.ansatz()
    deviations = []
    state = ansatz.jets(theta, t)
    for jet, start in zip(state, spec.initial_position, strict=True):
        value = jet.value[0, 0].item()
        deviations.append(abs(value - start))
    latent = ansatz.latent(theta, t).value
    positive = softplus(latent[0, 0])
    return max(deviations), positive.min().item()


def velocities(_: Any) -> Finding:
    differences = []
    for draw, spec in enumerate(SPECS.values()):
        t = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        theta = random_parameters(spec, draw)
        free, state = _adaptive_model(spec, theta, t)
        radial = torch.sigmoid(spec.ansatz().latent_start[0, 0])
        factor = torch.stack([radial, torch.ones_like(radial)])
        gate = spec.gate_object.jet(t)
        expected = factor * gate.first * free
        velocity = _slope(state, t)
        differences.append(_relative_difference(velocity, expected))
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
    trunk = spec.trunk
    ansatz = spec.ansatz()

    def outputs(theta):  # (1, parameters)
        blocks = trunk.blocks(theta, 2)
        free = trunk.jet(blocks, t)
        latent = ansatz.latent(theta, t)
        r, _ = ansatz.jets(theta, t)
        return free.value[0], latent.value[0], r.value[0]

    theta = initial_parameters(spec)[None]
    free, latent, r = (J.squeeze(-2) for J in jacobian(outputs, theta))
    gate = spec.gate_object.jet(t).value
    return gate[0, :, None] * free, latent, r


def product_rule(_: Any) -> Finding:
    differences = []
    for draw, spec in enumerate(SPECS.values()):
        t = _times(0.1, 10, 40).requires_grad_()
        theta = random_parameters(spec, draw)
        blocks = spec.trunk.blocks(theta, 2)
        gate = spec.gate_object.jet(t)
        free = spec.trunk.jet(blocks, t[None])
        by_rule = gate.value * free.second
        by_rule = by_rule + 2 * gate.first * free.first
        by_rule = by_rule + gate.second * free.value
        again, _ = _adaptive_model(spec, theta, t)
        slope = _slope(gate.value * again, t)
        by_autograd = _slope(slope, t)
        differences.append(_relative_difference(by_rule[0], by_autograd))
    return _rounding_only(differences)


def kernel_properties(_: Any) -> Finding:
    t = np.linspace(0.1, 10, 120)  # more residuals than parameters
    holds, texts = [], []
    for gate, spec in SPECS.items():
        theta = initial_parameters(spec)
        J = ntk.jacobian(spec, theta, t)
        K = ntk.residual_kernel(J)
        values = ntk.eigenvalues(J)
        rank = np.sum(values > 1e-10 * values[0])
        asymmetry = np.abs(K - K.T).max()
        lowest = eigvalsh(K)[0]
        holds.append(asymmetry < ROUNDING * K.max())
        holds.append(lowest > -1e-12 * values[0])
        holds.append(rank <= len(theta))
        texts.append(f"{gate}: rank {rank} of {len(K)}")
    return grade([all(holds)], f"{', '.join(texts)}; {len(theta)} parameters")


def residual_dynamics(_: Any) -> Finding:
    t = np.linspace(0.2, 10, 50)
    differences = []
    for spec in SPECS.values():
        theta = initial_parameters(spec).numpy()
        J, e = ntk.linearise(spec, theta, t)
        step = 1e-6 / ntk.eigenvalues(J)[0]
        gradient = e.ravel() @ J.reshape(-1, len(theta))
        theta = theta - step * gradient
        _, moved = ntk.linearise(spec, theta, t)
        rate = (moved - e).ravel() / step
        predicted = -ntk.residual_kernel(J) @ e.ravel()
        error = np.abs(rate - predicted)
        size = np.abs(predicted)
        differences.append(error.max() / size.max())
    largest = max(differences)
    return grade([largest < 1e-3], f"largest relative difference {largest:.0e}")


def function_class(_: Any) -> Finding:
    t = _times(0, 10, 2000)[:, None]
    omega = torch.from_numpy(MODELS["fixed"]().initial_frequencies)
    phase = omega * t
    trunk = torch.cat([phase.sin(), phase.cos(), torch.ones_like(t)], dim=1)
    heads = normal(20 * trunk.shape[1], 0).view(-1, 20)
    spans = {}
    for gate, spec in SPECS.items():
        jet = spec.gate_object.jet(t)
        spans[gate] = jet.value * trunk
    first, second = (spec.gate_object.jet(t[1:]).value for spec in SPECS.values())
    ratio = second / first  # at 0 it is the ratio of the slopes, which `admissible` checks
    same_class = bool(ratio.min() > 0 and ratio.isfinite().all())
    shares = {}
    for gate, other in itertools.permutations(PAPER_GATES):
        target = spans[gate] @ heads
        left = _unreachable(target.numpy(), spans[other].numpy())
        shares[gate] = np.quantile(left, 0.5, method="lower")
    texts = [f"{100 * share:.2g}% of a random {gate} ansatz" for gate, share in shares.items()]
    ours = (
        f"the ratio of the gates lies between {ratio.min():.2f} and {ratio.max():.2f}; with 32"
        f" fixed frequencies {' and '.join(texts)} are out of reach of the other gate"
    )
    reason = (
        "it holds in the sense in which it was made, for a free output that may be any function,"
        " and not for the finite trunk that is trained"
    )
    return grade([same_class, max(shares.values()) < 1e-6], ours, reason=reason)


def _unreachable(target, basis):
    """The share of each column's norm that least squares in this basis leaves."""
    solution, *_ = lstsq(basis, target, rcond=None)
    left = norm(target - basis @ solution, axis=0)
    return left / norm(target, axis=0)


def jacobian_growth(_: Any) -> Finding:
    t = np.linspace(0.1, 10, 100)
    early = (t > 2) & (t <= 4)
    late = t > 8
    ratios = {}
    for gate in PAPER_GATES:
        norms = np.zeros(len(t))
        for k, seed in itertools.product((20, 60), range(3)):
            spec = RunSpec(gate=gate, k=k, seed=seed, precision="float64")
            theta = initial_parameters(spec)
            J = ntk.jacobian(spec, theta, t)
            norms += ntk.profile(J)
        ratios[gate] = norms[late].mean() / norms[early].mean()
    texts = [f"{ratio:.2f} with {gate}" for gate, ratio in ratios.items()]
    ours = f"norm after $t = 8$ over that from $t = 2$ to 4, three seeds: {', '.join(texts)}"
    grows = ratios["linear"] > 2
    saturates = 0.75 <= ratios["exp"] <= 1.25
    return grade([grows, saturates], ours)
