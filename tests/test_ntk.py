"""The residual Jacobian and its kernel: oracle, finite differences, identities of the paper."""

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pinnlib import RunSpec
from pinnlib.analysis import ntk
from pinnlib.gates import GATES
from pinnlib.models import MODELS
from pinnlib.result import predict
from pinnlib.training import initial_parameters

TIMES = np.linspace(0.3, 10, 5)
EVERY = [(model, gate) for model in MODELS for gate in ("exp", "linear")]
seeds = st.integers(0, 2**32 - 1)
some_run = st.builds(
    RunSpec,
    model=st.sampled_from(["fixed", "adaptive"]),
    gate=st.sampled_from(sorted(GATES)),
    k=st.floats(5, 130),
)


def residual(spec, theta):
    """R at TIMES from the engine's other way in."""
    table = predict(spec, theta, TIMES)
    return table[["residual_r", "residual_theta"]].to_numpy().T


def random_parameters(spec, seed):
    """Random parameters near the initial ones, float64."""
    theta = initial_parameters(spec).double().numpy()
    noise = np.random.default_rng(seed).standard_normal(len(theta))
    return theta + 0.05 * noise


@pytest.mark.parametrize("model, gate", EVERY)
def test_jacobian_equals_the_oracle(model, gate):
    spec = RunSpec(model=model, gate=gate, k=35.0, precision="float64")
    theta = random_parameters(spec, 1)
    expected = oracle.residual_jacobian(spec, torch.tensor(theta), torch.tensor(TIMES)).numpy()
    J = ntk.jacobian(spec, theta, TIMES)
    largest = np.abs(expected).max()
    assert_allclose(J, expected, rtol=1e-9, atol=1e-9 * largest)


@pytest.mark.parametrize("model, gate", EVERY)
def test_jacobian_equals_finite_differences(model, gate):
    spec = RunSpec(model=model, gate=gate, precision="float64")
    theta = random_parameters(spec, 2)
    J, e = ntk.linearise(spec, theta, TIMES)
    assert_allclose(e, residual(spec, theta), rtol=1e-12)
    largest = np.abs(J).max()
    draw = np.random.default_rng(0)
    for i in draw.choice(len(theta), 12, replace=False):
        step = np.zeros_like(theta)
        step[i] = 1e-5
        ahead = residual(spec, theta + step)
        behind = residual(spec, theta - step)
        slope = (ahead - behind) / 2e-5
        assert_allclose(slope, J[:, :, i], rtol=1e-5, atol=1e-7 * largest)


@settings(max_examples=20, deadline=None)
@given(some_run, seeds)
def test_kernel_is_symmetric_positive_and_of_low_rank(spec, seed):
    t = np.linspace(0.05, 10, 100)
    J = ntk.jacobian(spec, random_parameters(spec, seed), t)
    K = ntk.residual_kernel(J)
    values = ntk.eigenvalues(J)
    squared_norms = np.square(ntk.profile(J))
    assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12 * values[0]
    assert np.linalg.matrix_rank(K) <= spec.trunk.size(2)
    assert (np.diff(values) <= 0).all()
    assert_allclose(values.sum(), np.trace(K), rtol=1e-10)
    assert_allclose(squared_norms.sum(), np.trace(K), rtol=1e-10)


@settings(max_examples=20, deadline=None)
@given(some_run, seeds)
def test_a_small_step_moves_residuals_by_the_kernel_up_to_second_order(spec, seed):
    t = np.linspace(0.05, 10, 40)
    theta = random_parameters(spec, seed)
    J, e = ntk.linearise(spec, theta, t)
    gradient = np.tensordot(e, J, axes=2)
    rate = ntk.residual_kernel(J) @ e.ravel()
    step = 1e-3 / ntk.eigenvalues(J)[0]

    def error(step):
        _, moved = ntk.linearise(spec, theta - step * gradient, t)
        change = (moved - e).ravel()
        return np.linalg.norm(change + step * rate)

    assert error(step) < 0.05 * step * np.linalg.norm(rate)
    assert error(step) / error(step / 2) == pytest.approx(4, rel=0.1)  # half the step, a quarter


@pytest.mark.parametrize(
    "values, rank",
    [
        ([3.0, 3.0, 3.0, 0.0], 3),
        ([1.0, 1e-30], 1),
    ],
)
def test_effective_rank_by_hand(values, rank):
    assert ntk.effective_rank(np.array(values)) == pytest.approx(rank)


KNOWN = np.zeros((2, 2, 3))  # eigenvalues 1, 4, 4, 0; norms 1 and √8
KNOWN[0, 0, 0] = 1
KNOWN[0, 1, 1] = 2
KNOWN[1, 1, 2] = 2


def test_scalars_of_a_known_kernel():
    residuals = np.array([[1.0, 1.0], [0.0, 0.0]])
    found = ntk.kernel_summary(KNOWN, residuals, np.array([0.0, 1.0]))
    entropy = -np.log(1 / 9) / 9 - 8 / 9 * np.log(4 / 9)
    expected = {
        "trace": 9 / 4,
        "rank": 3,
        "condition": 4,
        "effective_rank": np.exp(entropy),
        "late_over_early": np.sqrt(8),
        "alignment": (1 + 4) / (4 * 2),
        "rate_late_over_early": 4,
    }
    assert found == pytest.approx(expected)


def test_balanced_residuals_have_mean_square_one():
    J, e = ntk.balance(KNOWN, np.array([[3.0, 1.0], [0.5, 0.5]]))
    assert_allclose(J[0] * np.sqrt(5), KNOWN[0])
    assert_allclose(np.square(e).mean(axis=1), 1)


@pytest.mark.parametrize(
    "model, names",
    [
        ("adaptive", {"weight", "bias", "raw"}),
        ("fixed", {"weight", "bias"}),
    ],
)
def test_shares_add_up_and_a_fixed_trunk_has_no_frequencies_to_train(model, names):
    spec = RunSpec(model=model)
    J = ntk.jacobian(spec, random_parameters(spec, 0), TIMES)
    found = ntk.shares(spec, J)
    assert set(found) == names
    assert sum(found.values()) == pytest.approx(1)


def test_invalid_times_are_refused():
    with pytest.raises(ValueError, match="^times="):
        ntk.jacobian(RunSpec(), initial_parameters(RunSpec()), [0.0, np.nan])
