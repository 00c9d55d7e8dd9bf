"""Known answers: the equations of motion, the gates, the ansatz, a short training."""

import dataclasses
import re

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.special import ellipk
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from pinnlib import SYSTEMS, Problem, RunSpec, SpringPendulum, predict, train
from pinnlib.ansatz import product
from pinnlib.gates import GATES, Jet
from pinnlib.models import inverse_softplus
from pinnlib.optimisers import SCHEDULES
from pinnlib.reference import solve
from pinnlib.style.labels import gate_formula
from pinnlib.systems import HenonHeiles, Quartic, VanDerPol, stack
from pinnlib.training import Collocation, Objective, initial_parameters

STUDIED = [*oracle.GATES, "exp(alpha=0.25)", "exp(alpha=2)", "exp(alpha=4)"]
FLOAT = torch.float64

# Systems


@dataclasses.dataclass(frozen=True)
class Doubled(SpringPendulum):
    """A user's system, which derives a value from its fields."""

    name = "doubled"

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "twice", 2 * self.k)


def test_a_derived_value_of_a_system_is_that_of_each_run():
    batch = stack([Doubled(k=10.0), Doubled(k=60.0)], FLOAT)
    assert batch.k.tolist() == [[10.0], [60.0]]
    assert batch.twice.tolist() == [[20.0], [120.0]]


def test_acceleration_by_hand_and_the_same_for_torch():
    system = SpringPendulum(k=20.0, c_r=0.5, c_theta=0.25)
    q = np.array([[1.5], [0.3]])
    v = np.array([[0.2], [-0.7]])
    r = 1.5 * 0.49 - 20 * 0.5 + 9.81 * np.cos(0.3) - 0.5 * 0.2
    theta = -2 * 0.2 * -0.7 / 1.5 - 9.81 / 1.5 * np.sin(0.3) - 0.25 * -0.7
    arrays = system.acceleration(q, v)
    tensors = system.acceleration(torch.tensor(q), torch.tensor(v))
    np.testing.assert_allclose(np.concatenate(arrays), [r, theta], rtol=1e-14)
    np.testing.assert_allclose(torch.cat(tensors), [r, theta], rtol=1e-14)


KINDS = {
    "spring_pendulum": 20.0,
    "henon_heiles": 4.0,
    "quartic": 2.0,
    "van_der_pol": 1.0,
}
RUNS = [RunSpec(system=system, k=k) for system, k in KINDS.items()]
each_system = pytest.mark.parametrize("spec", RUNS, ids=list(KINDS))


def test_every_system_has_known_answers():
    assert set(KINDS) == set(SYSTEMS)


def derivative(y, t):
    """dy/dt inside the grid by a difference of fourth order; y is (components, points)."""
    step = t[1] - t[0]
    return (y[:, :-4] - 8 * y[:, 1:-3] + 8 * y[:, 3:-1] - y[:, 4:]) / (12 * step)


@each_system
def test_the_residual_vanishes_along_the_reference(spec):
    reference = solve(spec.problem)
    q = reference.q[:, 2:-2]
    v = reference.v[:, 2:-2]
    a = derivative(reference.v, reference.t)
    assert np.abs(derivative(reference.q, reference.t) - v).max() < 1e-6
    residual = np.array(spec.system_object.residual(q, v, a))
    assert np.abs(residual).max() < 1e-6 * np.abs(a).max()
    faster = np.array(spec.system_object.residual(q, v, 1.01 * a))
    assert np.abs(faster).max() > 1e-3 * np.abs(a).max()


@pytest.mark.parametrize("system", [HenonHeiles(k=3.0), Quartic(k=3.0)], ids=str)
def test_the_acceleration_is_minus_the_slope_of_the_energy(system):
    q = torch.tensor([[0.3, -0.8], [0.4, 0.1]], dtype=FLOAT)[: len(system.components)]
    q.requires_grad_()
    energy = system.energy(q, torch.zeros_like(q))
    (slope,) = torch.autograd.grad(energy.sum(), q)
    assert_close(torch.stack(system.acceleration(q, torch.zeros_like(q))), -slope)


@pytest.mark.parametrize("system", [HenonHeiles(k=4.0), Quartic(k=2.0)], ids=str)
def test_energy_is_conserved_along_the_reference(system):
    reference = solve(Problem(system, system.initial_position, system.initial_velocity))
    energy = system.energy(reference.q, reference.v)
    kinetic = (reference.v**2).sum(axis=0) / 2
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert np.ptp(kinetic) > 0.1 * energy[0]


def test_a_van_der_pol_oscillator_gains_energy_inside_and_loses_it_outside():
    """E' = k(1 − x²) x'²."""
    system = VanDerPol(k=0.7)
    q, v = torch.tensor([[0.4, 3.0], [0.5, -1.5]], dtype=FLOAT)[:, None].requires_grad_()
    energy = system.energy(q, v)
    slope_x, slope_v = torch.autograd.grad(energy.sum(), (q, v))
    (a,) = system.acceleration(q, v)
    rate = slope_x * v + slope_v * a
    assert_close(rate, 0.7 * (1 - q**2) * v**2)
    assert rate[0, 0] > 0
    assert rate[0, 1] < 0


@pytest.mark.parametrize("start", [0.5, 3.0])
def test_a_weak_van_der_pol_oscillator_ends_on_a_cycle_of_amplitude_two(start):
    reference = solve(Problem(VanDerPol(k=0.1), (start,), (0.0,), 120.0), points=24_001)
    last = reference.q[0, -2000:]  # ten seconds, more than a period
    assert last.max() == pytest.approx(2, abs=2e-3)
    assert last.min() == pytest.approx(-2, abs=2e-3)


def period_of(system, start):
    """Twice the time between two zeros of the first component, from rest."""
    rest = (0.0,) * len(start)
    reference = solve(Problem(system, start, rest), points=40_001)
    x = reference.q[0]
    before = np.flatnonzero(x[:-1] * x[1:] < 0)[:2]
    share = x[before] / (x[before] - x[before + 1])
    zeros = reference.t[before] + share * (reference.t[1] - reference.t[0])
    return 2 * (zeros[1] - zeros[0])


SMALL = [
    (
        HenonHeiles(k=9.0),
        (1e-4, 0.0),
        2 * np.pi / 3,
    ),
    (
        Quartic(k=5.0),
        (1e-4,),
        2 * np.pi,
    ),
    (
        VanDerPol(k=1e-4),
        (1e-4,),
        2 * np.pi,
    ),
]


@pytest.mark.parametrize("system, start, expected", SMALL, ids=lambda value: str(value))
def test_the_period_of_a_small_oscillation(system, start, expected):
    assert period_of(system, start) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("k, amplitude", [(0.5, 1.0), (2.0, 1.0), (2.0, 3.0)])
def test_the_period_of_a_quartic_oscillator_is_an_elliptic_integral(k, amplitude):
    """4K(m)/√(1 + kA²), with m = kA²/(2 + 2kA²)."""
    square = k * amplitude**2
    expected = 4 * ellipk(square / (2 + 2 * square)) / np.sqrt(1 + square)
    assert period_of(Quartic(k=k), (amplitude,)) == pytest.approx(expected, rel=1e-6)


# Jets and gates


def jet_of(polynomial, at):
    value = polynomial(at)
    first = polynomial.deriv(1)(at)
    second = polynomial.deriv(2)(at)
    return Jet(*torch.tensor([value, first, second], dtype=FLOAT))


cubics = st.lists(st.floats(-3, 3), min_size=3, max_size=3)


@settings(deadline=None)
@given(cubics, cubics, st.floats(0.1, 3))
def test_product_rule(one, other, at):
    """Jets of two cubics multiply as the polynomials do."""
    p = Polynomial([0.5, *one])
    q = Polynomial([0.5, *other])
    ours = product(jet_of(p, at), jet_of(q, at))
    assert_close(ours, jet_of(p * q, at), rtol=1e-9, atol=1e-9)


def slope(y, t):
    """dy/dt by autograd; zero where y is constant."""
    if not y.requires_grad:
        return torch.zeros_like(t)
    (y_t,) = torch.autograd.grad(y.sum(), t, create_graph=True)
    return y_t


@pytest.mark.parametrize("text", STUDIED)
def test_gate_jets_are_what_autograd_says(text):
    gate = RunSpec(gate=text).gate_object
    t = torch.linspace(0, 10, 57, dtype=FLOAT, requires_grad=True)
    value, first, second = gate.jet(t)
    assert_close(first, slope(value, t))
    assert_close(second, slope(slope(value, t), t))
    assert type(gate) in GATES.values()
    assert value[0].item() == 0


def value_of_latex(formula, t):
    """A formula in t, of numbers, fractions, powers and functions that torch has."""
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", formula)
    text = re.sub(r"\\(\w+) (\w+)", r"\1(\2)", text)  # \tanh t
    text = text.replace("e^{", "exp(").replace("{", "(").replace("}", ")")
    text = text.replace("^", "**").replace("\\", "")
    text = re.sub(r"(\d|\))(?=[a-z(])", r"\1*", text)  # 2t
    return eval(text, vars(torch) | {"ln": torch.log, "t": t})


@pytest.mark.parametrize("text", [*STUDIED, "exp(alpha=3, scale=0.5)", "linear(scale=7)"])
def test_the_formula_of_a_gate_is_the_gate(text):
    gate = RunSpec(gate=text).gate_object
    t = torch.linspace(0, 10, 7, dtype=FLOAT)
    assert_close(value_of_latex(gate_formula(text).strip("$"), t), gate.jet(t).value)


def test_a_formula_in_latex_is_evaluated():
    t = torch.linspace(0, 10, 7, dtype=FLOAT)
    assert_close(value_of_latex(r"\ln(1+t/2)", t), torch.log1p(t / 2))
    assert_close(value_of_latex(r"\frac{2t}{1+t^2}", t), 2 * t / (1 + t * t))
    assert_close(value_of_latex(r"3\arctan t", t), 3 * torch.atan(t))
    assert_close(value_of_latex(r"\sqrt{1+t}(2-e^{-t})", t), (1 + t).sqrt() * (2 - torch.exp(-t)))


# The ansatz


gates = st.one_of(st.just("linear"), st.floats(0.05, 5).map(lambda a: f"exp(alpha={a})"))
models = st.sampled_from(["baseline", "fixed", "adaptive"])


def random_parameters(spec, seed, scale):
    theta = initial_parameters(spec)
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype)
    return theta + scale * noise


@settings(max_examples=40, deadline=None)
@given(
    model=models,
    gate=gates,
    seed=st.integers(0, 999),
    scale=st.floats(0.01, 2),
    r0=st.floats(0.5, 2),
    theta0=st.floats(-3, 3),
)
def test_initial_state_and_positivity_hold_for_any_parameters(model, gate, seed, scale, r0, theta0):
    """û(0) = u0 and r > r_min, before any training."""
    start = (r0, theta0)
    spec = RunSpec(model=model, gate=gate, initial_position=start, precision="float64")
    theta = random_parameters(spec, seed, scale)
    table = predict(spec, theta.numpy(), np.linspace(0, 10, 101))
    np.testing.assert_allclose(table.loc[0, ["r", "theta"]], start, rtol=1e-12)
    assert (table["r"] >= 1e-4).all()  # r > r_min, up to rounding: softplus underflows


@settings(max_examples=40, deadline=None)
@given(
    model=models,
    system=st.sampled_from(["spring_pendulum", "henon_heiles", "quartic"]),
    seed=st.integers(0, 999),
    scale=st.floats(0.01, 2),
    start=st.tuples(st.floats(0.5, 2), st.floats(-3, 3)),
)
def test_a_shifted_ansatz_holds_the_initial_position_for_any_parameters(
    model, system, seed, scale, start
):
    """Exactly, but for the rounding of softplus in r."""
    names = SYSTEMS[system].components
    start = start[: len(names)]
    settings = {"system": system, "initial_position": start}
    spec = RunSpec(model=model, form="shifted", precision="float64", **settings)
    theta = random_parameters(spec, seed, scale)
    table = predict(spec, theta.numpy(), [0.0, 4.0])
    for name, value in zip(names, start, strict=True):
        assert table.loc[0, name] == (pytest.approx(value, rel=1e-12) if name == "r" else value)
        assert table.loc[1, name] != table.loc[0, name]


@pytest.mark.parametrize("model", ["baseline", "fixed", "adaptive"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_soft_ansatz_starts_where_its_parameters_say_and_pays_for_it(model, system):
    spec = RunSpec(model=model, system=system, form="soft", precision="float64", points=5)
    names = list(spec.system_object.components)
    theta = random_parameters(spec, 0, 0.1)
    row = predict(spec, theta.numpy(), [0.0]).loc[0, names]
    distance = row - np.array(spec.initial_position)
    terms = Objective([spec]).terms(theta[None], Collocation([spec]).draw())
    assert (distance.abs() > 1e-3).all()
    assert terms["position"].item() == pytest.approx((distance**2).mean(), rel=1e-10)
    paid = 50 * (terms["position"] + terms["velocity"]) + terms["physics"]
    assert terms["total"].item() == pytest.approx(paid.item(), rel=1e-12)


@pytest.mark.parametrize("form", ["gated", "shifted"])
def test_a_hard_start_has_no_penalty_on_the_position(form):
    spec = RunSpec(form=form, points=5)
    theta, times = initial_parameters(spec), Collocation([spec]).draw()
    assert "position" not in Objective([spec]).terms(theta[None], times)


def test_a_soft_radius_stays_positive():
    spec = RunSpec(form="soft", precision="float64")
    table = predict(spec, 30 * RANDOM[0].numpy(), np.linspace(0, 10, 101))
    assert (table["r"] >= 1e-4).all()
    assert table["theta"].min() < 0


def test_the_papers_constants_of_the_ansatz():
    rho0 = inverse_softplus(1.0 - 1e-4)
    sigma = 1 / (1 + np.exp(-rho0))
    assert rho0 == pytest.approx(0.54117, abs=5e-6)
    assert sigma == pytest.approx(0.63208, abs=5e-6)


@settings(max_examples=30, deadline=None)
@given(
    model=models,
    gate=gates,
    seed=st.integers(0, 999),
    scale=st.floats(0.01, 2),
)
def test_latent_sensitivities_are_scaled_by_the_gate(model, gate, seed, scale):
    """∂(ρ̂, θ̂)/∂parameters = g ∂(ρ̃, θ̃)/∂parameters, at any time."""
    spec = RunSpec(model=model, gate=gate, precision="float64")
    theta = random_parameters(spec, seed, scale)[None]
    t = torch.tensor([[0.0, 0.3, 2.0, 9.7]], dtype=FLOAT)

    def gated(theta):
        return spec.ansatz().latent(theta, t).value[0]

    def free(theta):
        blocks = spec.trunk.blocks(theta, 2)
        return spec.trunk.jet(blocks, t).value[0]

    g = spec.gate_object.jet(t).value.reshape(4, 1, 1)
    expected = g * jacobian(free, theta)
    assert_close(jacobian(gated, theta), expected, rtol=1e-10, atol=1e-13)


MOVING = {"initial_velocity": (0.3, -0.7), "precision": "float64", "points": 40}
ZERO = torch.zeros(1, 1, dtype=FLOAT)
RANDOM = torch.randn(1, 162, generator=torch.Generator().manual_seed(0), dtype=FLOAT)


def velocity_at_start(spec):
    r, theta = spec.ansatz().jets(RANDOM, ZERO)
    return r.first.item(), theta.first.item()


def velocity_penalty(spec):
    theta = RANDOM
    terms = Objective([spec]).terms(theta, Collocation([spec]).draw())
    return terms["velocity"].item()


@pytest.mark.parametrize("text", STUDIED)
def test_the_velocity_at_the_start_is_the_slope_of_the_gate_times_the_trunk(text):
    """g'(0) ũ(0), times σ(ρ₀) for r."""
    spec = RunSpec(gate=text, **MOVING)
    blocks = spec.trunk.blocks(RANDOM, 2)
    free_r, free_theta = spec.trunk.jet(blocks, ZERO).value.flatten().tolist()
    slope = spec.gate_object.jet(ZERO).first.item()
    rho0 = spec.ansatz().latent_start[0, 0]
    sigma = torch.sigmoid(rho0).item()
    expected = (slope * sigma * free_r, slope * free_theta)
    assert velocity_at_start(spec) == pytest.approx(expected, rel=1e-12)
    assert velocity_penalty(spec) > 1e-3


@pytest.mark.parametrize("text", STUDIED)
def test_a_hard_velocity_holds_for_any_parameters_without_a_penalty(text):
    spec = RunSpec(gate=text, hard_velocity=True, **MOVING)
    assert velocity_at_start(spec) == pytest.approx((0.3, -0.7), rel=1e-12)
    assert velocity_penalty(spec) < 1e-25


# Learning rates


def test_the_cosine_schedule_falls_from_one_to_zero():
    cosine = SCHEDULES["cosine"]()
    factors = np.array([cosine.factor(update / 5000) for update in range(5000)])
    assert factors[0] == 1
    assert factors[2500] == pytest.approx(0.5, abs=1e-15)
    assert 0 < factors[-1] < 1e-6
    assert (np.diff(factors) < 0).all()


def test_the_constant_schedule_is_one():
    constant = SCHEDULES["constant"]()
    assert {constant.factor(share) for share in (0, 0.3, 0.999)} == {1}


def test_the_last_steps_of_a_cosine_schedule_are_small():
    """Adam's steps are about as long as its learning rate."""
    (result,) = train(RunSpec(schedule="cosine", steps=50, points=40), snapshots=(0, 1, 49, 50))
    before = result.snapshots
    first = np.abs(before[1] - before[0]).max()
    last = np.abs(before[50] - before[49]).max()
    assert first == pytest.approx(1e-3, rel=1e-2)
    assert last < 2e-5


# Training


def test_training_learns():
    (result,) = train(RunSpec(steps=400))
    history = result.history.set_index("update")
    rms = history["rms_r"]
    assert list(history.index) == [1, 100, 200, 300, 400]
    assert list(history.columns) == ["total", "physics", "velocity", "rms_r", "rms_theta"]
    assert rms[400] < 0.2 * rms[1]
