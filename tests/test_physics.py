"""Known answers: the equations of motion, the gates, the ansatz, a short training."""

import dataclasses
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from torch.autograd.functional import jacobian
from torch.testing import assert_close

from pinnlib import RunSpec, SpringPendulum, predict, train
from pinnlib.ansatz import product
from pinnlib.gates import GATES, Jet
from pinnlib.models import inverse_softplus
from pinnlib.style.labels import gate_formula
from pinnlib.systems import stack
from pinnlib.training import Collocation, Objective, initial_parameters

STUDIED = [
    "exp",
    "linear",
    "exp(alpha=0.25)",
    "exp(alpha=0.5)",
    "exp(alpha=2)",
    "exp(alpha=4)",
    "exp(scale=10)",
    "linear(scale=0.1)",
    "tanh",
    "rational",
]
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


@pytest.mark.parametrize("text", [*STUDIED, "exp(alpha=3, scale=0.5)", "linear(scale=7)"])
def test_the_formula_of_a_gate_is_the_gate(text):
    gate = RunSpec(gate=text).gate_object
    t = torch.linspace(0, 10, 7, dtype=FLOAT)
    python = gate_formula(text).strip("$").replace(r"\tanh t", "tanh(t)")
    python = python.replace("e^{", "exp(").replace("}", ")")
    python = re.sub(r"(\d)([t(])", r"\1*\2", python)
    names = {"t": t, "exp": torch.exp, "tanh": torch.tanh}
    assert_close(eval(python, names), gate.jet(t).value)


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
    rho0 = spec.ansatz().start[0, 0]
    sigma = torch.sigmoid(rho0).item()
    expected = (slope * sigma * free_r, slope * free_theta)
    assert velocity_at_start(spec) == pytest.approx(expected, rel=1e-12)
    assert velocity_penalty(spec) > 1e-3


@pytest.mark.parametrize("text", STUDIED)
def test_a_hard_velocity_holds_for_any_parameters_without_a_penalty(text):
    spec = RunSpec(gate=text, hard_velocity=True, **MOVING)
    assert velocity_at_start(spec) == pytest.approx((0.3, -0.7), rel=1e-12)
    assert velocity_penalty(spec) < 1e-25


# Training


def test_training_learns():
    (result,) = train(RunSpec(steps=400))
    history = result.history.set_index("update")
    rms = history["rms_r"]
    assert list(history.index) == [1, 100, 200, 300, 400]
    assert list(history.columns) == ["total", "physics", "velocity", "rms_r", "rms_theta"]
    assert rms[400] < 0.2 * rms[1]
