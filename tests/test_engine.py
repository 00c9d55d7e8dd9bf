"""The engine against the oracle: every trunk × gate × loss, form × trunk × loss, system × form.

Values, derivatives, residuals, loss terms, gradients and training agree.
"""

import dataclasses
import itertools
import math

import numpy as np
import oracle
import pytest
import torch
from numpy.testing import assert_allclose
from torch.nn.functional import pad, softplus
from torch.nn.utils import parameters_to_vector

from pinnlib import SYSTEMS, predict, train
from pinnlib.ansatz import FORMS
from pinnlib.gates import GATES
from pinnlib.losses import LOSSES
from pinnlib.optimisers import SCHEDULES, Momentum
from pinnlib.spec import RunSpec
from pinnlib.training import RESOLUTION, Collocation, Objective, initial_parameters, streams

MODELS = ("baseline", "fixed", "adaptive")
PLAIN_LOSSES = ("balanced", "mse")
FORM_LOSSES = (
    *PLAIN_LOSSES,
    "balanced(frozen=True)",
    "weighted(weights=(1.0, 0.1))",
)
COMMON = {
    "precision": "float64",
    "points": 150,
    "seed": 3,
}
PENDULUM = {"k": 30.0} | COMMON
OTHER_SYSTEMS = (  # each with a loss that has a weight per component, and with a moving start
    {
        "system": "henon_heiles",
        "k": 4.0,
        "loss": "weighted(weights=(1.0, 0.1))",
    },
    {
        "system": "quartic",
        "k": 2.0,
        "loss": "weighted(weights=(3.0,))",
        "initial_velocity": (0.5,),
    },
    {
        "system": "van_der_pol",
        "k": 1.5,
        "initial_position": (0.5,),
        "initial_velocity": (-1.0,),
    },
)
FLOAT = torch.float64


def gate_cases(losses):
    """Every trunk, gate and one of these losses."""
    for model, gate, loss in itertools.product(MODELS, oracle.GATES, losses):
        yield RunSpec(model=model, gate=gate, loss=loss, **PENDULUM)


def form_cases(losses):
    """Every form, trunk and one of these losses, from a moving start and with cosine decay."""
    moving = {"initial_position": (1.2, -0.3), "initial_velocity": (0.4, -0.2)}
    settings = {"lambda_phys": 0.5, "schedule": "cosine"} | moving | PENDULUM
    for form, model, loss in itertools.product(FORMS, MODELS, losses):
        yield RunSpec(form=form, model=model, loss=loss, **settings)


def system_cases():
    """Every other system, trunk and form."""
    for system, model, form in itertools.product(OTHER_SYSTEMS, MODELS, FORMS):
        yield RunSpec(model=model, form=form, **system, **COMMON)


def name_of(spec):
    """The settings of a case that are names, but for the usual ones."""
    words = [spec.model, spec.gate, spec.loss]
    words += [word for word in (spec.form, spec.system) if word not in ("gated", "spring_pendulum")]
    return "-".join(words)


ANSATZES = [*gate_cases(["balanced"]), *form_cases(["balanced"]), *system_cases()]
CASES = [*gate_cases(PLAIN_LOSSES), *form_cases(FORM_LOSSES), *system_cases()]
each_ansatz = pytest.mark.parametrize("spec", ANSATZES, ids=name_of)
each_case = pytest.mark.parametrize("spec", CASES, ids=name_of)


@pytest.mark.parametrize(
    "ours, theirs",
    [(GATES, oracle.GATES), (LOSSES, oracle.LOSSES), (SYSTEMS, oracle.SYSTEMS)],
)
def test_the_oracle_has_everything(ours, theirs):
    assert {text.partition("(")[0] for text in theirs} == set(ours)


@pytest.mark.parametrize("field", ["model", "form", "loss", "system", "schedule"])
def test_the_cases_have_everything(field):
    every = {"model": MODELS, "form": FORMS, "loss": oracle.LOSSES}
    every |= {"system": SYSTEMS, "schedule": SCHEDULES}
    assert {getattr(spec, field) for spec in CASES} == set(every[field])


def perturbed_parameters(spec):
    """Initial parameters moved off their start, so that nothing is zero by accident."""
    theta = initial_parameters(spec)
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype)
    return theta + 0.05 * noise


def collocation_points(spec, updates):
    """The points that the engine draws for the first updates, without t = 0."""
    collocation = Collocation([spec])
    batches = []
    for _ in range(updates):
        times = collocation.draw()[0]
        batches.append(times[: spec.points].clone())
    return batches


def column(y):
    """The numbers of a tensor (points, 1)."""
    return y.detach()[:, 0].numpy()


@each_ansatz
def test_values_derivatives_and_residuals_are_the_oracles(spec):
    theta = perturbed_parameters(spec)
    t = torch.linspace(0, 10, 97, dtype=FLOAT)
    trunk = oracle.build(spec, theta, FLOAT)
    jets = oracle.derivatives(spec, trunk, t)
    residuals = oracle.residuals(spec, jets)
    table = predict(spec, theta.numpy(), t.numpy())
    for name, jet, residual in zip(spec.system_object.components, jets, residuals, strict=True):
        value, first, second = jet
        expected = {
            name: value,
            f"{name}_t": first,
            f"{name}_tt": second,
            f"residual_{name}": residual,
        }
        for key, y in expected.items():
            assert_allclose(table[key], column(y), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("gate", oracle.GATES)
def test_a_hard_velocity_is_the_plain_formula(gate):
    """û = u0 + (g/g'(0)) v0 + g² ũ, differentiated automatically."""
    velocity = (0.4, -0.3)
    spec = RunSpec(gate=gate, hard_velocity=True, initial_velocity=velocity, **PENDULUM)
    theta = perturbed_parameters(spec)
    trunk = oracle.build(spec, theta, FLOAT)
    g = oracle.GATES[gate]
    zero = torch.zeros(1, dtype=FLOAT, requires_grad=True)
    slope = oracle.ddt(g(zero), zero).item()
    rho0 = math.log(math.expm1(1 - oracle.R_MIN))
    sigma = 1 / (1 + math.exp(-rho0))
    start = torch.tensor([rho0, 0.2], dtype=FLOAT)
    latent_velocity = torch.tensor([0.4 / sigma, -0.3], dtype=FLOAT)

    t = torch.linspace(0, 10, 23, dtype=FLOAT).reshape(-1, 1)
    t.requires_grad_()
    gated = g(t) ** 2 * trunk(t)
    latent = start + g(t) / slope * latent_velocity + gated
    rho, angle = latent.split(1, dim=1)
    state = {"r": oracle.R_MIN + softplus(rho), "theta": angle}

    table = predict(spec, theta.numpy(), column(t))
    for name, y in state.items():
        y_t = oracle.ddt(y, t)
        y_tt = oracle.ddt(y_t, t)
        expected = {name: y, f"{name}_t": y_t, f"{name}_tt": y_tt}
        for key, values in expected.items():  # up to a hundred, where g² is
            assert_allclose(table[key], column(values), rtol=1e-8, atol=1e-8)


@each_case
def test_loss_terms_and_gradients_are_the_oracles(spec):
    """Over three calls, because `balanced` keeps a moving average between them."""
    theta = perturbed_parameters(spec)
    trunk = oracle.build(spec, theta, FLOAT)
    slow = oracle.Loss(spec)
    fast = Objective([spec])
    row = theta[None].requires_grad_()
    fast.resolve(row)
    collocation = Collocation([spec])
    for t in collocation_points(spec, 3):
        expected = slow(trunk, t)
        terms = fast.terms(row, collocation.draw())
        for name, value in expected.items():
            assert terms[name].item() == pytest.approx(value.item(), rel=1e-10)
        trunk.zero_grad()
        expected["total"].backward()
        gradient = torch.cat([block.grad.flatten() for block in trunk.parameters()])
        (found,) = torch.autograd.grad(terms["total"].sum(), row)
        ours = found[0]
        difference = torch.linalg.norm(ours - gradient)
        assert difference <= 1e-10 * torch.linalg.norm(gradient)
        largest = float(gradient.abs().max())
        assert_allclose(ours, gradient, rtol=1e-8, atol=1e-10 * largest)


def blocks_of(spec, flat):
    """The parameters by name."""
    return spec.trunk.blocks(flat[None], len(spec.initial_position))


def cancelling_block(spec):
    """The bias of the output cancels in ũ − ũ(0): its gradient is rounding, which Adam enlarges."""
    if spec.form != "shifted":
        return None
    return "bias3" if spec.model == "baseline" else "bias"


@each_case
def test_twenty_updates_are_the_oracles(spec):
    spec = dataclasses.replace(spec, steps=20)
    rates = [spec.lr] * 20
    if spec.schedule == "cosine":
        rates = oracle.cosine_rates(spec.lr, 20)
    points = collocation_points(spec, 20)
    trunk, history = oracle.train(spec, initial_parameters(spec), points, rates)
    (result,) = train(spec)
    ours = blocks_of(spec, torch.from_numpy(result.parameters))
    theirs = blocks_of(spec, parameters_to_vector(trunk.parameters()).detach())
    for name, block in theirs.items():
        atol = 1e-6 if name == cancelling_block(spec) else 1e-10
        assert_allclose(ours[name], block, rtol=1e-10, atol=atol)
    logged = result.history.set_index("update")
    assert {name for name in logged if not name.startswith("rms_")} == set(history[0])
    for name in history[0]:
        assert logged.loc[1, name] == pytest.approx(history[0][name], rel=1e-10)
        assert logged.loc[20, name] == pytest.approx(history[19][name], rel=1e-9)


def test_momentum_is_torchs():
    draw = torch.Generator().manual_seed(0)
    ours = torch.ones(2, 5, dtype=FLOAT)
    theirs = torch.ones(2, 5, dtype=FLOAT)
    step = Momentum(0.8).start(ours)
    optimiser = torch.optim.SGD([theirs], lr=0.1, momentum=0.8)
    for _ in range(5):
        theirs.grad = torch.randn(2, 5, generator=draw, dtype=FLOAT)
        step(theirs.grad, 0.1)
        optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=1e-14)


def loss_and_gradient(spec, points):
    theta = initial_parameters(spec)[None].requires_grad_()
    objective = Objective([spec])
    objective.resolve(theta)
    terms = objective.terms(theta, points.to(spec.dtype)[None])
    (gradient,) = torch.autograd.grad(terms["total"].sum(), theta)
    return terms["total"].item(), gradient.double()


@pytest.mark.parametrize("model", MODELS)
def test_single_precision_is_double_precision_rounded(model):
    """At the same points and parameters, loss and gradient agree to single precision."""
    (points,) = collocation_points(RunSpec(), 1)
    points = pad(points, (0, 1))  # t = 0
    single = RunSpec(model=model, k=60)
    double = RunSpec(model=model, k=60, precision="float64")
    loss, gradient = loss_and_gradient(double, points)
    loss32, gradient32 = loss_and_gradient(single, points)
    assert loss32 == pytest.approx(loss, rel=1e-5)
    difference = torch.linalg.norm(gradient32 - gradient)
    assert difference < 2e-5 * torch.linalg.norm(gradient)


@pytest.mark.parametrize(
    "model, system, size",
    [
        ("baseline", "spring_pendulum", 33_538),
        ("fixed", "spring_pendulum", 130),
        ("adaptive", "spring_pendulum", 162),
        ("baseline", "quartic", 33_409),
        ("fixed", "quartic", 65),
        ("adaptive", "quartic", 97),
    ],
)
def test_parameter_counts(model, system, size):
    spec = RunSpec(model=model, system=system)
    components = len(spec.system_object.components)
    assert spec.trunk.size(components) == size
    assert len(initial_parameters(spec)) == size
    assert len(parameters_to_vector(oracle.TRUNKS[model](components).parameters())) == size


@pytest.mark.parametrize("model", ["fixed", "adaptive"])
def test_the_frequencies_are_two_bands_that_share_five(model):
    spec = RunSpec(model=model, steps=1, lr=1e-12, points=5, precision="float64")
    (result,) = train(spec)
    assert_allclose(result.frequencies, oracle.starting_frequencies(), rtol=1e-9)
    assert len(result.frequencies) == 32
    assert np.isclose(result.frequencies, 5).sum() == 2


def test_a_plain_network_has_no_frequencies():
    (result,) = train(RunSpec(model="baseline", steps=1, points=5))
    assert result.frequencies is None


def test_baseline_starts_as_pytorch_starts_linear_layers():
    torch.manual_seed(11)
    expected = parameters_to_vector(oracle.Baseline().parameters())
    trunk = RunSpec(model="baseline").trunk
    blocks = trunk.initial(2, torch.Generator().manual_seed(11))
    assert_allclose(parameters_to_vector(blocks.values()), expected.detach(), atol=1e-7)


def test_spectral_heads_start_small_with_zero_bias():
    starts = torch.stack([initial_parameters(RunSpec(seed=s)) for s in range(200)])
    weights, bias, _ = starts.split([128, 2, 32], dim=1)
    assert weights.std() == pytest.approx(0.01, rel=0.02)
    assert abs(weights.mean()) < 2e-4
    assert not bias.any()


def test_gates_and_stiffness_are_paired_by_seed():
    """Same seed, same start and same points, whatever the gate, k and λ; another seed, others."""
    a = RunSpec(seed=5)
    b = RunSpec(seed=5, gate="linear", k=60, lambda_ic=0, loss="mse")
    other = RunSpec(seed=6)
    assert torch.equal(initial_parameters(a), initial_parameters(b))
    assert not torch.equal(initial_parameters(a), initial_parameters(other))
    points_a = torch.stack(collocation_points(a, 3))
    points_b = torch.stack(collocation_points(b, 3))
    points_other = torch.stack(collocation_points(other, 3))
    assert torch.equal(points_a, points_b)
    assert not torch.isclose(points_a, points_other).all(dim=1).any()


def test_the_two_streams_of_a_seed_are_different():
    weights, points = streams(0)
    first = torch.rand(8, generator=weights)
    second = torch.rand(8, generator=points)
    assert not torch.equal(first, second)


def test_points_are_uniform_fresh_and_inside():
    spec = RunSpec(points=5000)
    first, second = collocation_points(spec, 2)
    assert not torch.equal(first, second)
    for t in (first, second):
        assert t.min() >= 1e-6
        assert t.max() <= 10
        assert torch.histc(t, 10, 0, 10).std() < 60
        assert t.mean() == pytest.approx(5, abs=0.15)


# A network evaluated at Chebyshev points


def direct_or_series(spec, theta, times, series):
    """Loss and gradient, with the network at the nodes or at the times themselves."""
    objective = Objective([spec])
    row = theta.to(spec.dtype)[None]
    row = row.clone().requires_grad_()
    if series:
        objective.resolve(row)
    else:
        objective.nodes = None
    times = times.to(spec.dtype)
    terms = objective.terms(row, times[None])
    loss = terms["total"].sum()
    (gradient,) = torch.autograd.grad(loss, row)
    return loss.item(), gradient[0].double()


def distance(gradient, expected):
    """Relative to the expected one."""
    difference = torch.linalg.norm(gradient - expected)
    return float(difference / torch.linalg.norm(expected))


class Networks:
    """Initial and briefly trained networks of one gate, each with times of its own."""

    updates = 30
    seeds = range(7)

    def __init__(self, gate):
        self.settings = {"model": "baseline", "gate": gate, "loss": "mse", "k": 60}
        specs = []
        for seed in self.seeds:
            spec = RunSpec(steps=self.updates, seed=seed, **self.settings)
            specs.append(spec)
        self.rows = [initial_parameters(spec) for spec in specs]
        for result in train(specs):
            trained = torch.from_numpy(result.parameters)
            self.rows.append(trained)

    def with_times(self):
        """Pairs of parameters and times; t = 0 comes last."""
        for i, theta in enumerate(self.rows):
            draws = Collocation([RunSpec(seed=100 + i)])
            yield theta, draws.draw()[0]

    def errors(self, precision, series):
        """Errors of loss and gradient against direct evaluation in float64."""
        exact = RunSpec(precision="float64", **self.settings)
        spec = RunSpec(precision=precision, **self.settings)
        of_loss = []
        of_gradient = []
        for theta, times in self.with_times():
            truth, slope = direct_or_series(exact, theta, times, series=False)
            loss, gradient = direct_or_series(spec, theta, times, series)
            of_loss.append(abs(loss / truth - 1))
            of_gradient.append(distance(gradient, slope))
        return np.array(of_loss), np.array(of_gradient)


@pytest.fixture(scope="module", params=["exp", "linear"])
def networks(request):
    return Networks(request.param)


def test_a_network_at_nodes_is_the_network_at_the_times(networks):
    of_loss, of_gradient = networks.errors("float64", series=True)
    assert of_loss.max() < 1e-12
    assert of_gradient.max() < 1e-12


def test_nodes_add_no_error_in_single_precision(networks):
    """Fewer sums of float32: the gradient is ten times as accurate as by direct evaluation.

    The loss of both is wrong by one or two roundings, 6e-8 each.
    """
    loss, gradient = networks.errors("float32", series=True)
    direct_loss, direct_gradient = networks.errors("float32", series=False)
    assert np.median(gradient) < np.median(direct_gradient) / 4
    assert gradient.max() < direct_gradient.max() / 4
    assert np.median(loss) < 2e-7
    assert np.median(direct_loss) < 2e-7


def tail_of_series(spec, theta, n):
    """The last eighth of the Chebyshev coefficients, relative to the largest, by NumPy."""
    ansatz = spec.ansatz()
    row = theta.double()[None]

    def order_of(x, order, component):
        times = torch.from_numpy((x + 1) * (spec.horizon / 2))
        jet = ansatz.trunk_jet(row, times[None])
        return jet[order][0, component].numpy()

    tails = []
    for order, component in itertools.product(range(3), range(2)):
        coefficients = np.polynomial.chebyshev.chebinterpolate(
            order_of,
            n - 1,
            args=(order, component),
        )
        size = np.abs(coefficients)
        tails.append(size[-(n // 8) :].max() / size.max())
    return max(tails)


HARDER = [  # the interval, and a factor of the initial parameters
    (10.0, 4),
    (10.0, 6),
    (300.0, 1),
]


def test_a_component_that_is_zero_does_not_hide_that_the_other_needs_more_nodes():
    spec = RunSpec(model="baseline")
    theta = 8 * initial_parameters(spec)
    blocks = spec.trunk.blocks(theta[None], 2)
    blocks["weight3"][0, 0] = 0
    blocks["bias3"][0, 0] = 0
    assert spec.trunk.resolve(blocks, spec.horizon, [256], 1e-7) > [256]


@pytest.mark.parametrize("horizon, scale", HARDER)
def test_nodes_double_until_the_series_is_resolved(horizon, scale):
    spec = RunSpec(model="baseline", horizon=horizon)
    objective = Objective([spec])
    theta = scale * initial_parameters(spec)
    before = objective.nodes[0]
    objective.resolve(theta[None])
    (nodes,) = objective.nodes
    tolerance = RESOLUTION[spec.precision]
    assert before == 256
    assert nodes > before
    assert tail_of_series(spec, theta, nodes // 2) > tolerance
    assert tail_of_series(spec, theta, nodes) < tolerance


def test_a_steep_network_needs_the_nodes_that_it_gets():
    spec = RunSpec(model="baseline", precision="float64")
    theta = 6 * initial_parameters(spec)
    times = Collocation([spec]).draw()[0]
    loss, gradient = direct_or_series(spec, theta, times, series=False)
    resolved_loss, resolved = direct_or_series(spec, theta, times, series=True)
    assert resolved_loss == pytest.approx(loss, rel=1e-12)
    assert distance(resolved, gradient) < 1e-12

    row = theta[None].clone().requires_grad_()
    unresolved = Objective([spec])
    terms = unresolved.terms(row, times[None])
    (coarse,) = torch.autograd.grad(terms["total"].sum(), row)
    assert distance(coarse[0], gradient) > 1e-6


def test_nodes_are_never_taken_away():
    spec = RunSpec(model="baseline")
    objective = Objective([spec])
    objective.nodes = [1024]
    objective.resolve(initial_parameters(spec)[None])
    assert objective.nodes == [1024]


def test_nodes_are_checked_every_hundred_updates():
    steep = {"model": "baseline(hidden=32)", "lr": 0.3, "points": 50}
    (before,) = train(RunSpec(steps=100, **steep))
    (after,) = train(RunSpec(steps=101, **steep))
    assert before.nodes == 256
    assert after.nodes == 1024


def test_a_spectral_trunk_has_no_nodes():
    (result,) = train(RunSpec(steps=1))
    assert result.nodes is None


@pytest.mark.filterwarnings("ignore::pinnlib.reference.NotOnFileWarning")
def test_the_nodes_of_a_run_do_not_depend_on_its_batch():
    """Over this long interval one seed needs more nodes than the other."""
    long = {"model": "baseline", "horizon": 300.0, "steps": 2}
    specs = [RunSpec(seed=seed, **long) for seed in (0, 1)]
    together = train(specs)
    assert [result.nodes for result in together] == [512, 256]
    for result in together:
        (alone,) = train(result.spec)
        assert alone.nodes == result.nodes
        assert np.array_equal(alone.parameters, result.parameters)
        assert alone.metrics == result.metrics
