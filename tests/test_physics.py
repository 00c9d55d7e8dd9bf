"""Known answers: the reference, the energy, the paper's identities, the metrics."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import pinnlib
from pinnlib import RunSpec, SpringPendulum, reference_solution
from pinnlib.gates import GATES, Jet
from pinnlib.metrics import error_metrics, residual_metrics, state_error
from pinnlib.models import inverse_softplus, product
from pinnlib.training import Collocation, Objective, initial_parameters

PAPER_K = (10.0, 20.0, 30.0, 60.0, 130.0)


@pytest.mark.parametrize("k", PAPER_K)
def test_the_reference_conserves_energy(k):
    solution = RunSpec(k=k).reference
    assert solution.energy_drift < 1e-8
    assert solution.t.shape == (2000,)
    assert solution.q.shape == (2, 2000)
    assert solution.t[0] == 0
    assert solution.t[-1] == 10
    assert np.allclose(np.diff(solution.t), 10 / 1999)
    assert tuple(solution.q[:, 0]) == (1.0, 0.2)
    assert not solution.v[:, 0].any()


def test_energy_drift_notices_damping():
    damped = reference_solution(
        SpringPendulum(k=20.0, c_r=0.1, c_theta=0.1), (1.0, 0.2), (0.0, 0.0)
    )
    assert damped.energy_drift > 1e-3


def test_a_vertical_pendulum_is_a_linear_oscillator_in_closed_form():
    """θ = 0 for ever: r'' = −k/m (r − L0) + g."""
    k = 37.0
    solution = reference_solution(SpringPendulum(k=k), (1.1, 0.0), (0.3, 0.0))
    centre = 1 + 9.81 / k
    phase = np.sqrt(k) * solution.t
    exact = centre + (1.1 - centre) * np.cos(phase) + 0.3 / np.sqrt(k) * np.sin(phase)
    assert np.abs(solution.q[0] - exact).max() < 1e-8
    assert not solution.q[1].any()


def test_acceleration_by_hand_and_the_same_for_torch():
    system = SpringPendulum(k=20.0, c_r=0.5, c_theta=0.25)
    q = (np.array([1.5]), np.array([0.3]))
    v = (np.array([0.2]), np.array([-0.7]))
    r = 1.5 * 0.49 - 20 * 0.5 + 9.81 * np.cos(0.3) - 0.5 * 0.2
    theta = -2 * 0.2 * -0.7 / 1.5 - 9.81 / 1.5 * np.sin(0.3) - 0.25 * -0.7
    np.testing.assert_allclose(np.concatenate(system.acceleration(q, v)), [r, theta], rtol=1e-14)
    tensors = system.acceleration(torch.tensor(np.array(q)), torch.tensor(np.array(v)))
    np.testing.assert_allclose(torch.cat(tensors), [r, theta], rtol=1e-14)


gates = st.one_of(st.just("linear"), st.floats(0.05, 5).map(lambda a: f"exp(alpha={a})"))
models = st.sampled_from(["baseline", "fixed", "adaptive"])
wild = st.builds(lambda seed, scale: (seed, scale), st.integers(0, 999), st.floats(0.01, 2))


def random_parameters(spec, seed, scale):
    theta = initial_parameters(spec)
    generator = torch.Generator().manual_seed(seed)
    return theta + scale * torch.randn(theta.shape, generator=generator, dtype=theta.dtype)


@settings(max_examples=40, deadline=None)
@given(models, gates, wild, st.floats(0.5, 2), st.floats(-3, 3))
def test_initial_state_positivity_and_velocity_hold_for_any_parameters(
    model, gate, draw, r0, theta0
):
    """û(0) = u0, r > r_min, θ̇(0) = g'(0) θ̃(0), ṙ(0) = g'(0) σ(ρ0) ρ̃(0), before any training."""
    spec = RunSpec(model=model, gate=gate, initial_position=(r0, theta0), precision="float64")
    theta = random_parameters(spec, *draw)
    table = pinnlib.predict(spec, theta.numpy(), np.linspace(0, 10, 101))
    np.testing.assert_allclose(table.loc[0, ["r", "theta"]], (r0, theta0), rtol=1e-12)
    assert (table["r"] >= 1e-4).all()  # r > r_min, up to rounding: softplus underflows
    zero = torch.zeros(1, 1, dtype=torch.float64)
    latent = spec.trunk.jet(spec.trunk.blocks(theta[None], 2), zero).value[0, :, 0]
    slope = float(spec.gate_object.jet(zero).first)
    sigma = 1 / (1 + np.exp(-inverse_softplus(r0 - 1e-4)))
    velocity = slope * np.array([sigma * latent[0], latent[1]])
    np.testing.assert_allclose(table.loc[0, ["r_t", "theta_t"]], velocity, rtol=1e-9, atol=1e-12)


def test_the_papers_constants_of_the_ansatz():
    rho0 = inverse_softplus(1.0 - 1e-4)
    assert rho0 == pytest.approx(0.54117, abs=5e-6)
    assert 1 / (1 + np.exp(-rho0)) == pytest.approx(0.63208, abs=5e-6)


@settings(max_examples=30, deadline=None)
@given(models, gates, wild)
def test_latent_sensitivities_are_scaled_by_the_gate(model, gate, draw):
    """∂(ρ̂, θ̂)/∂parameters = g ∂(ρ̃, θ̃)/∂parameters, at any time."""
    spec = RunSpec(model=model, gate=gate, precision="float64")
    theta = random_parameters(spec, *draw)[None].requires_grad_()
    t = torch.tensor([[0.0, 0.3, 2.0, 9.7]], dtype=torch.float64)
    g = spec.gate_object.jet(t).value[0]
    gated = spec.ansatz().latent(theta, t).value
    plain = spec.trunk.jet(spec.trunk.blocks(theta, 2), t).value
    for c in range(2):
        for j in range(4):
            (a,) = torch.autograd.grad(gated[0, c, j], theta, retain_graph=True)
            (b,) = torch.autograd.grad(plain[0, c, j], theta, retain_graph=True)
            torch.testing.assert_close(a, g[j] * b, rtol=1e-10, atol=1e-13)


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6), st.floats(0.1, 3))
def test_product_rule(coefficients, at):
    """Jets of two cubics multiply as the polynomials do."""
    p = np.polynomial.Polynomial([0.5, *coefficients[:3]])
    q = np.polynomial.Polynomial([0.5, *coefficients[3:]])
    ours = product(jet_of(p, at), jet_of(q, at))
    torch.testing.assert_close(ours, jet_of(p * q, at), rtol=1e-9, atol=1e-9)


def jet_of(polynomial, at):
    orders = [polynomial(at), polynomial.deriv(1)(at), polynomial.deriv(2)(at)]
    return Jet(*torch.tensor(orders, dtype=torch.float64))


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


@pytest.mark.parametrize("text", STUDIED)
def test_gate_jets_are_what_autograd_says(text):
    gate = RunSpec(gate=text).gate_object
    t = torch.linspace(0, 10, 57, dtype=torch.float64).requires_grad_()
    value, first, second = gate.jet(t)
    (d1,) = torch.autograd.grad(value.sum(), t, create_graph=True)
    d2 = torch.autograd.grad(d1.sum(), t)[0] if d1.requires_grad else torch.zeros_like(t)
    torch.testing.assert_close(first, d1)
    torch.testing.assert_close(second, d2)
    assert type(gate) in GATES.values()
    assert value[0].item() == 0


@pytest.mark.parametrize(
    "text", [*STUDIED, "exp(alpha=3, scale=0.5)", "linear(scale=7)", "linear(scale=0.3)"]
)
def test_the_formula_of_a_gate_is_the_gate(text):
    gate = RunSpec(gate=text).gate_object
    t = torch.linspace(0, 10, 7, dtype=torch.float64)
    python = gate.formula.replace(r"\tanh t", "tanh(t)").replace("e^{", "exp(").replace("}", ")")
    python = re.sub(r"(\d)([t(])", r"\1*\2", python)
    formula = eval(python, {"t": t, "exp": torch.exp, "tanh": torch.tanh})
    torch.testing.assert_close(formula, gate.jet(t).value)


@pytest.mark.parametrize("text", STUDIED)
def test_the_velocity_at_the_start_is_the_slope_of_the_gate_times_the_trunk(text):
    """g'(0) ũ(0), times σ(ρ₀) for r."""
    spec = RunSpec(gate=text, initial_velocity=(0.3, -0.7), **SMALL)
    trunk = spec.trunk.jet(spec.trunk.blocks(RANDOM, 2), ZERO).value[0, :, 0]
    r, angle = spec.gate_object.jet(ZERO).first.item() * trunk
    sigma = torch.sigmoid(spec.ansatz().start[0, 0])
    expected = (sigma * r).item(), angle.item()
    assert velocity_at_start(spec) == pytest.approx(expected, rel=1e-12)
    assert velocity_penalty(spec) > 1e-3


@pytest.mark.parametrize("text", STUDIED)
def test_a_hard_velocity_holds_for_any_parameters_without_a_penalty(text):
    spec = RunSpec(gate=text, hard_velocity=True, initial_velocity=(0.3, -0.7), **SMALL)
    assert velocity_at_start(spec) == pytest.approx((0.3, -0.7), rel=1e-12)
    assert velocity_penalty(spec) < 1e-25


SMALL = {"precision": "float64", "points": 40}
ZERO = torch.zeros(1, 1, dtype=torch.float64)
RANDOM = torch.randn(1, 162, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def velocity_at_start(spec):
    return tuple(jet.first.item() for jet in spec.ansatz().jets(RANDOM, ZERO))


def velocity_penalty(spec):
    theta = torch.nn.functional.pad(RANDOM, (0, 30))
    return Objective([spec]).terms(theta, Collocation([spec]).draw())["velocity"].item()


def test_metrics_by_hand():
    system = SpringPendulum()
    ref = np.array([[1.0, 2.0], [0.0, 2.0]])
    q = np.array([[1.0, 2.3], [2 * np.pi, 2.4]])  # a whole turn is no error
    metrics = error_metrics(system, q, ref)
    assert metrics["rel_l2_u"] == pytest.approx(0.5 / 3)
    assert metrics["max_ae_u"] == pytest.approx(0.5)
    assert metrics["max_ae_r"] == pytest.approx(0.3)
    assert metrics["max_ae_theta"] == pytest.approx(0.4)
    assert metrics["rel_l2_r"] == pytest.approx(0.3 / np.sqrt(5))
    velocity = np.array([[0.1, 9], [-0.2, 9]])
    residual = residual_metrics(system, np.array([[3.0, 0.0], [4.0, 0.0]]), velocity)
    assert residual["residual_mean"] == 2.5
    assert residual["residual_max"] == 5
    assert residual["residual_p95"] == pytest.approx(4.75)
    assert residual["velocity0_r"] == 0.1
    assert residual["velocity0_theta"] == -0.2


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_the_wrapped_angle_is_the_shortest_way_round(a, b):
    e = state_error(SpringPendulum(), np.array([[1.0], [a]]), np.array([[1.0], [b]]))[1, 0]
    turns = (a - b - e) / (2 * np.pi)
    assert abs(e) <= np.pi + 1e-12
    assert turns == pytest.approx(round(turns), abs=1e-9)


def test_training_learns():
    (result,) = pinnlib.train(RunSpec(steps=400))
    history = result.history.set_index("update")
    assert list(history.index) == [1, 100, 200, 300, 400]
    assert history["rms_r"].iloc[-1] < 0.2 * history["rms_r"].iloc[0]
    assert list(history.columns) == ["total", "physics", "velocity", "rms_r", "rms_theta"]
