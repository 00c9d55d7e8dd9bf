"""The residual Jacobian and its kernel: oracle, finite differences, identities of the paper."""

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnlib import RunSpec
from pinnlib.analysis import ntk
from pinnlib.gates import GATES
from pinnlib.models import MODELS
from pinnlib.training import initial_parameters, predict

TIMES = np.linspace(0.3, 10, 5)
EVERY = [(model, gate) for model in MODELS for gate in ("exp", "linear")]
some_run = st.builds(
    RunSpec,
    model=st.sampled_from(["fixed", "adaptive"]),
    gate=st.sampled_from(sorted(GATES)),
    k=st.floats(5, 130),
)


def residual(spec, theta):
    """R at TIMES from the engine's other way in."""
    return predict(spec, theta, TIMES)[["residual_r", "residual_theta"]].to_numpy().T


def drawn(spec, seed, size=0.05):
    """Random parameters near the initial ones, float64."""
    theta = initial_parameters(spec).double().numpy()
    return theta + size * np.random.default_rng(seed).standard_normal(len(theta))


@pytest.mark.parametrize("model, gate", EVERY)
def test_jacobian_equals_the_oracle(model, gate):
    spec = RunSpec(model=model, gate=gate, k=35.0, precision="float64")
    theta = drawn(spec, 1)
    plain = oracle.residual_jacobian(
        model, gate, 35.0, torch.tensor(theta), torch.tensor(TIMES)
    ).numpy()
    np.testing.assert_allclose(
        ntk.jacobian(spec, theta, TIMES), plain, rtol=1e-9, atol=1e-9 * np.abs(plain).max()
    )


@pytest.mark.parametrize("model, gate", EVERY)
def test_jacobian_equals_finite_differences(model, gate):
    spec, step = RunSpec(model=model, gate=gate, precision="float64"), 1e-5
    theta = drawn(spec, 2)
    J, e = ntk.linearise(spec, theta, TIMES)
    np.testing.assert_allclose(e, residual(spec, theta), rtol=1e-12)
    for i in np.random.default_rng(0).choice(len(theta), 12, replace=False):
        ahead, behind = (
            residual(spec, theta + sign * step * np.eye(len(theta), 1, -i).ravel())
            for sign in (1, -1)
        )
        np.testing.assert_allclose(
            (ahead - behind) / (2 * step), J[:, :, i], rtol=1e-5, atol=1e-7 * np.abs(J).max()
        )


@settings(max_examples=20, deadline=None)
@given(some_run, st.integers(0, 2**32 - 1))
def test_kernel_is_symmetric_positive_and_of_low_rank(spec, seed):
    t = np.linspace(0.05, 10, 100)
    J = ntk.jacobian(spec, drawn(spec, seed), t)
    K, values = ntk.residual_kernel(J), ntk.eigenvalues(J)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * values[0]
    assert np.linalg.matrix_rank(K) <= spec.trunk.size(2)
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values.sum(), np.trace(K), rtol=1e-10)
    np.testing.assert_allclose(np.square(ntk.profile(J)).sum(), np.trace(K), rtol=1e-10)


@settings(max_examples=20, deadline=None)
@given(some_run, st.integers(0, 2**32 - 1))
def test_a_small_step_moves_residuals_by_the_kernel_up_to_second_order(spec, seed):
    t, theta = np.linspace(0.05, 10, 40), drawn(spec, seed)
    J, e = ntk.linearise(spec, theta, t)
    K, flat = ntk.residual_kernel(J), e.ravel()
    gradient = J.reshape(-1, J.shape[-1]).T @ flat
    step = 1e-3 / ntk.eigenvalues(J)[0]
    errors = []
    for eta in (step, step / 2):
        change = ntk.linearise(spec, theta - eta * gradient, t)[1].ravel() - flat
        errors.append(np.linalg.norm(change + eta * K @ flat))
    assert errors[0] < 0.05 * np.linalg.norm(step * K @ flat)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)  # half the step, a quarter


@settings(max_examples=20, deadline=None)
@given(some_run, st.integers(0, 2**32 - 1))
def test_latent_sensitivities_are_gated_and_obey_the_product_rule(spec, seed):
    t, theta = torch.tensor(TIMES)[None], torch.tensor(drawn(spec, seed), requires_grad=True)
    g = spec.gate_object.jet(t)
    latent = spec.ansatz().latent(theta[None], t)
    free = spec.trunk.jet(spec.trunk.blocks(theta[None], 2), t)
    second = g.value * free.second + 2 * g.first * free.first + g.second * free.value
    for ours, rule in ((latent.value, g.value * free.value), (latent.second, second)):
        for c, i in ((0, 0), (1, 4)):
            one, other = (
                torch.autograd.grad(x[0, c, i], theta, retain_graph=True)[0] for x in (ours, rule)
            )
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_scalars_of_known_kernels():
    assert ntk.effective_rank(np.array([3.0, 3.0, 3.0, 0.0])) == pytest.approx(3)
    assert ntk.effective_rank(np.array([1.0, 1e-30])) == pytest.approx(1)
    J = np.zeros((2, 2, 3))
    J[0, 0, 0], J[0, 1, 1], J[1, 1, 2] = 1.0, 2.0, 2.0  # eigenvalues 1, 4, 4, 0; norms 1 and √8
    found = ntk.kernel_summary(J, np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0]))
    assert found == pytest.approx(
        {
            "trace": 9 / 4,
            "rank": 3,
            "condition": 4,
            "effective_rank": np.exp(-(np.log(1 / 9) / 9 + 8 / 9 * np.log(4 / 9))),
            "late_over_early": np.sqrt(8),
            "alignment": (1 + 4) / (4 * 2),
            "rate_late_over_early": 4,
        }
    )
    weighted, e = ntk.balance(J, np.array([[3.0, 1.0], [0.5, 0.5]]))
    np.testing.assert_allclose(weighted[0] * np.sqrt(5), J[0])
    np.testing.assert_allclose(np.square(e).mean(axis=1), 1)


def test_shares_add_up_and_a_fixed_trunk_has_no_frequencies_to_train():
    for model, names in {
        "adaptive": {"weight", "bias", "raw"},
        "fixed": {"weight", "bias"},
    }.items():
        spec = RunSpec(model=model)
        found = ntk.shares(spec, ntk.jacobian(spec, drawn(spec, 0), TIMES))
        assert set(found) == names
        assert sum(found.values()) == pytest.approx(1)


def test_invalid_times_are_refused():
    with pytest.raises(ValueError, match="^times="):
        ntk.jacobian(RunSpec(), initial_parameters(RunSpec()), [0.0, np.nan])
