"""The engine against the oracle, for every trunk × gate × loss.

Values, derivatives, residuals, loss terms, gradients and training agree.
"""

import itertools

import numpy as np
import oracle
import pytest
import torch

import pinnlib
from pinnlib.optimisers import Momentum
from pinnlib.spec import RunSpec
from pinnlib.training import Collocation, Objective, initial_parameters, padded, streams

MODELS = ("baseline", "fixed", "adaptive")
GATES = ("exp", "exp(alpha=0.5)", "linear")
LOSSES = ("balanced", "mse")
OTHER_GATES = ("exp(scale=10.0)", "linear(scale=0.1)", "tanh", "rational")
every = pytest.mark.parametrize("model, gate, loss", [*itertools.product(MODELS, GATES, LOSSES)])
spec_of = {"precision": "float64", "points": 150, "k": 30.0, "seed": 3}


def perturbed_parameters(spec):
    """Initial parameters moved off their start, so that nothing is zero by accident."""
    theta = initial_parameters(spec)
    generator = torch.Generator().manual_seed(1)
    return theta + 0.05 * torch.randn(theta.shape, generator=generator, dtype=theta.dtype)


def collocation_points(spec, updates):
    """The points that the engine draws for the first updates, without padding."""
    collocation = Collocation([spec])
    return [collocation.draw()[0, : spec.points].clone() for _ in range(updates)]


@pytest.mark.parametrize(
    "model, gate",
    [*itertools.product(MODELS, GATES), *(("adaptive", gate) for gate in OTHER_GATES)],
)
def test_values_derivatives_and_residuals_are_the_oracles(model, gate):
    spec = RunSpec(model=model, gate=gate, **spec_of)
    theta = perturbed_parameters(spec)
    t = torch.linspace(0, 10, 97, dtype=torch.float64)
    jets = oracle.derivatives(oracle.build(model, theta, torch.float64), gate, t)
    table = pinnlib.predict(spec, theta.numpy(), t.numpy())
    for name, jet in zip(("r", "theta"), jets, strict=True):
        for column, expected in zip((name, f"{name}_t", f"{name}_tt"), jet, strict=True):
            expected = expected.detach()[:, 0]
            np.testing.assert_allclose(table[column], expected, rtol=1e-10, atol=1e-11)
    for name, expected in zip(("r", "theta"), oracle.residuals(jets, spec.k), strict=True):
        expected = expected.detach()[:, 0]
        np.testing.assert_allclose(table[f"residual_{name}"], expected, rtol=1e-10, atol=1e-10)


def test_momentum_is_torchs():
    draw = torch.Generator().manual_seed(0)
    ours, theirs = (torch.ones(2, 5, dtype=torch.float64).requires_grad_() for _ in range(2))
    step = Momentum(0.8).start(ours, 0.1)
    optimiser = torch.optim.SGD([theirs], lr=0.1, momentum=0.8)
    for _ in range(5):
        theirs.grad = torch.randn(2, 5, generator=draw, dtype=torch.float64)
        step(theirs.grad)
        optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("gate", [*GATES, *OTHER_GATES])
def test_a_hard_velocity_is_the_plain_formula(gate):
    """û = u0 + (g/g'(0)) v0 + g² ũ, differentiated automatically."""
    spec = RunSpec(gate=gate, hard_velocity=True, initial_velocity=(0.4, -0.3), **spec_of)
    theta = perturbed_parameters(spec)
    trunk = oracle.build("adaptive", theta, torch.float64)
    g = oracle.GATES[gate]
    zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    slope = torch.autograd.grad(g(zero), zero)[0]
    rho0 = oracle.math.log(oracle.math.expm1(1 - oracle.R_MIN))
    start = torch.tensor([rho0, 0.2], dtype=torch.float64)
    sigma = torch.tensor([1 / (1 + oracle.math.exp(-rho0)), 1.0], dtype=torch.float64)
    velocity = torch.tensor([0.4, -0.3], dtype=torch.float64) / sigma
    t = torch.linspace(0, 10, 23, dtype=torch.float64).reshape(-1, 1).requires_grad_()
    latent = start + g(t) / slope * velocity + g(t) ** 2 * trunk(t)
    r = oracle.R_MIN + torch.nn.functional.softplus(latent[:, :1])
    table = pinnlib.predict(spec, theta.numpy(), t.detach().numpy()[:, 0])
    for name, y in (("r", r), ("theta", latent[:, 1:])):
        y_t = oracle.ddt(y, t)
        for suffix, expected in (("", y), ("_t", y_t), ("_tt", oracle.ddt(y_t, t))):
            expected = expected.detach()[:, 0]  # up to a hundred, where g² is
            np.testing.assert_allclose(table[name + suffix], expected, rtol=1e-8, atol=1e-8)


@every
def test_loss_terms_and_gradients_are_the_oracles(model, gate, loss):
    """Over three calls, because `balanced` keeps a moving average between them."""
    spec = RunSpec(model=model, gate=gate, loss=loss, **spec_of)
    theta = perturbed_parameters(spec)
    trunk = oracle.build(model, theta, torch.float64)
    slow = oracle.Loss(loss, spec.lambda_ic)
    padding = padded(len(theta)) - len(theta)
    row = torch.nn.functional.pad(theta, (0, padding))[None].requires_grad_()
    collocation = Collocation([spec])
    fast = Objective([spec])
    for t in collocation_points(spec, 3):
        expected = slow(trunk, gate, t, spec.k)
        blocks = torch.autograd.grad(expected["total"], list(trunk.parameters()))
        gradient = torch.cat([block.flatten() for block in blocks])
        terms = fast.terms(row, collocation.draw())
        for name, value in expected.items():
            assert terms[name].item() == pytest.approx(value.item(), rel=1e-10)
        (ours,) = torch.autograd.grad(terms["total"].sum(), row)
        assert not ours[0, len(theta) :].any()
        ours = ours[0, : len(theta)]
        assert torch.linalg.norm(ours - gradient) <= 1e-10 * torch.linalg.norm(gradient)
        largest = float(gradient.abs().max())
        np.testing.assert_allclose(ours, gradient, rtol=1e-8, atol=1e-10 * largest)


@every
def test_twenty_updates_are_the_oracles(model, gate, loss):
    spec = RunSpec(model=model, gate=gate, loss=loss, steps=20, **spec_of)
    flat = initial_parameters(spec)
    points = collocation_points(spec, 20)
    trunk, history = oracle.train(model, gate, spec.k, spec.lambda_ic, loss, flat, points)
    (result,) = pinnlib.train(spec)
    expected = torch.nn.utils.parameters_to_vector(trunk.parameters()).detach()
    np.testing.assert_allclose(result.parameters, expected, rtol=1e-10, atol=1e-10)
    for name in ("total", "physics", "velocity"):
        logged = result.history.set_index("update")[name]
        assert logged[1] == pytest.approx(history[0][name], rel=1e-10)
        assert logged[20] == pytest.approx(history[19][name], rel=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_single_precision_is_double_precision_rounded(model):
    """At the same points and parameters, loss and gradient agree to single precision."""
    points = torch.cat([collocation_points(RunSpec(), 1)[0], torch.zeros(16)])
    losses, gradients = [], []
    for precision in ("float64", "float32"):
        spec = RunSpec(model=model, precision=precision, k=60)
        theta = torch.nn.functional.pad(initial_parameters(spec), (0, 31))[None].requires_grad_()
        total = Objective([spec]).terms(theta, points.to(spec.dtype)[None])["total"]
        losses.append(total.item())
        gradients.append(torch.autograd.grad(total.sum(), theta)[0].double())
    loss, loss32 = losses
    gradient, gradient32 = gradients
    assert loss32 == pytest.approx(loss, rel=1e-5)
    assert torch.linalg.norm(gradient32 - gradient) < 2e-5 * torch.linalg.norm(gradient)


@pytest.mark.parametrize("model, size", [("baseline", 33_538), ("fixed", 130), ("adaptive", 162)])
def test_parameter_counts(model, size):
    spec = RunSpec(model=model)
    assert spec.trunk.size(2) == size
    assert len(initial_parameters(spec)) == size
    assert sum(p.numel() for p in oracle.TRUNKS[model]().parameters()) == size


def test_the_frequencies_are_two_bands_that_share_five():
    for model in ("fixed", "adaptive"):
        (result,) = pinnlib.train(RunSpec(model=model, steps=1, lr=1e-12, precision="float64"))
        np.testing.assert_allclose(result.frequencies, oracle.starting_frequencies(), rtol=1e-9)
        assert len(result.frequencies) == 32
        assert np.isclose(result.frequencies, 5).sum() == 2
    assert pinnlib.train(RunSpec(model="baseline", steps=1, points=5))[0].frequencies is None


def test_baseline_starts_as_pytorch_starts_linear_layers():
    torch.manual_seed(11)
    expected = torch.nn.utils.parameters_to_vector(oracle.Baseline().parameters())
    blocks = RunSpec(model="baseline").trunk.initial(2, torch.Generator().manual_seed(11))
    assert torch.equal(torch.cat([block.flatten() for block in blocks.values()]), expected.detach())


def test_spectral_heads_start_small_with_zero_bias():
    heads = torch.stack([initial_parameters(RunSpec(seed=s)) for s in range(200)])
    assert heads[:, :128].std() == pytest.approx(0.01, rel=0.02)
    assert abs(heads[:, :128].mean()) < 2e-4
    assert not heads[:, 128:130].any()


def test_gates_and_stiffness_are_paired_by_seed():
    """Same seed, same start and same points, whatever the gate, k and λ; another seed, others."""
    a = RunSpec(seed=5)
    b = RunSpec(seed=5, gate="linear", k=60, lambda_ic=0, loss="mse")
    other = RunSpec(seed=6)
    assert torch.equal(initial_parameters(a), initial_parameters(b))
    assert not torch.equal(initial_parameters(a), initial_parameters(other))
    points = [torch.stack(collocation_points(spec, 3)) for spec in (a, b, other)]
    assert torch.equal(points[0], points[1])
    assert not torch.isclose(points[0], points[2]).all(dim=1).any()


def test_the_two_streams_of_a_seed_are_different():
    weights, points = streams(0)
    assert not torch.equal(torch.rand(8, generator=weights), torch.rand(8, generator=points))


def test_points_are_uniform_fresh_and_inside():
    spec = RunSpec(points=5000)
    first, second = collocation_points(spec, 2)
    assert not torch.equal(first, second)
    for t in (first, second):
        assert t.min() >= 1e-6
        assert t.max() <= 10
        assert torch.histc(t, 10, 0, 10).std() < 60
        assert t.mean() == pytest.approx(5, abs=0.15)
