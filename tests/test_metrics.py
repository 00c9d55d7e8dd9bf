"""The metrics: by hand, against plain formulas, of diverged runs, and the laws they obey."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.linalg import norm
from pytest import approx

from pinnlib import SpringPendulum
from pinnlib.metrics import error_metrics, residual_metrics, state_error

SYSTEM = SpringPendulum()
AT_REST = np.zeros((2, 3))
lengths = st.floats(0.1, 5)
small_angles = st.floats(-1.5, 1.5)  # the difference of two of them is not wrapped


def trajectories(angles=small_angles):
    """Rows r and θ at seven times."""
    r = arrays(float, 7, elements=lengths)
    theta = arrays(float, 7, elements=angles)
    return st.tuples(r, theta).map(np.array)


def plain_errors(q, q_ref):
    """The formulas of the paper with NumPy's sums and library functions."""
    e = q - q_ref
    e[1] = np.arctan2(np.sin(e[1]), np.cos(e[1]))
    return {
        "rel_l2_u": norm(e) / norm(q_ref),
        "max_ae_u": norm(e, axis=0).max(),
        "rel_l2_r": norm(e[0]) / norm(q_ref[0]),
        "max_ae_r": np.abs(e[0]).max(),
        "rel_l2_theta": norm(e[1]) / norm(q_ref[1]),
        "max_ae_theta": np.abs(e[1]).max(),
    }


def plain_residuals(residual, velocity):
    size = norm(residual, axis=0)
    return {
        "residual_mean": size.mean(),
        "residual_p95": np.quantile(size, 0.95),
        "residual_max": size.max(),
        "velocity0_r": velocity[0, 0],
        "velocity0_theta": velocity[1, 0],
    }


def waves(points=2000):
    """A trajectory, and another one near it that makes a few turns more."""
    t = np.linspace(0, 10, points)
    reference = np.array([1.5 + 0.4 * np.cos(4.4 * t), 0.5 * np.sin(2.5 * t)])
    drift = np.array([0.01 * np.sin(7 * t), 1.3 * t])
    return reference + drift, reference


def test_errors_by_hand():
    reference = np.array([[1.0, 2.0], [0.0, 2.0]])
    q = np.array([[1.0, 2.3], [2 * np.pi, 2.4]])  # a whole turn is no error
    metrics = error_metrics(SYSTEM, q, reference)
    assert metrics["rel_l2_u"] == approx(0.5 / 3)
    assert metrics["max_ae_u"] == approx(0.5)
    assert metrics["max_ae_r"] == approx(0.3)
    assert metrics["max_ae_theta"] == approx(0.4)
    assert metrics["rel_l2_r"] == approx(0.3 / np.sqrt(5))
    assert metrics["rel_l2_theta"] == approx(0.2)


def test_residual_metrics_by_hand():
    residual = np.array([[3.0, 0.0], [4.0, 0.0]])
    velocity = np.array([[0.1, 9], [-0.2, 9]])
    metrics = residual_metrics(SYSTEM, residual, velocity)
    assert metrics["residual_mean"] == 2.5
    assert metrics["residual_max"] == 5
    assert metrics["residual_p95"] == approx(4.75)
    assert metrics["velocity0_r"] == 0.1
    assert metrics["velocity0_theta"] == -0.2


def test_metrics_are_those_of_the_plain_formulas():
    q, reference = waves()
    errors = error_metrics(SYSTEM, q, reference)
    assert errors == approx(plain_errors(q, reference), rel=1e-12)
    assert list(errors) == list(plain_errors(q, reference))
    residuals = residual_metrics(SYSTEM, q, reference)
    assert residuals == approx(plain_residuals(q, reference), rel=1e-12)
    assert list(residuals) == list(plain_residuals(q, reference))


@given(trajectories(), trajectories())
def test_any_metrics_are_those_of_the_plain_formulas(q, reference):
    reference[1] += 2  # away from zero, where a relative error is undefined
    q[1] += 2
    errors = error_metrics(SYSTEM, q, reference)
    residuals = residual_metrics(SYSTEM, q, reference)
    assert errors == approx(plain_errors(q, reference), rel=1e-12, abs=1e-14)
    assert residuals == approx(plain_residuals(q, reference), rel=1e-12)


@given(trajectories(), trajectories(), st.permutations(range(7)))
def test_the_order_of_the_times_changes_no_bit(q, reference, order):
    velocity = q
    there = residual_metrics(SYSTEM, q, velocity)
    back = residual_metrics(SYSTEM, q[:, order], velocity)
    assert there == back
    shuffled = error_metrics(SYSTEM, q[:, order], reference[:, order])
    np.testing.assert_equal(shuffled, error_metrics(SYSTEM, q, reference))


@given(trajectories(), trajectories(), st.integers(-3, 3))
def test_whole_turns_change_no_error(q, reference, turns):
    turned = q + np.array([[0.0], [2 * np.pi * turns]])
    there = state_error(SYSTEM, turned, reference)
    np.testing.assert_allclose(there, state_error(SYSTEM, q, reference), atol=1e-13)


@given(trajectories(), trajectories(), st.sampled_from([0.25, 0.5]))
def test_metrics_scale_with_the_state(q, reference, factor):
    """A power of two changes no digit: relative errors stay, the others are multiplied."""
    whole = error_metrics(SYSTEM, q, reference)
    scaled = error_metrics(SYSTEM, factor * q, factor * reference)
    for name, value in whole.items():
        expected = value * factor if name.startswith("max") else value
        assert scaled[name] == approx(expected, rel=1e-15, abs=1e-150, nan_ok=True)


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_the_wrapped_angle_is_the_shortest_way_round(a, b):
    one = np.array([[1.0], [a]])
    other = np.array([[1.0], [b]])
    _, (error,) = state_error(SYSTEM, one, other)
    turns = (a - b - error) / (2 * np.pi)
    assert abs(error) <= np.pi + 1e-12
    assert turns == approx(round(turns), abs=1e-9)


def test_an_error_keeps_the_arrays_it_is_given():
    q, reference = waves(10)
    before = q.copy()
    reference.setflags(write=False)
    state_error(SYSTEM, q, reference)
    assert np.array_equal(q, before)


def test_a_reference_at_zero_has_no_relative_error():
    moved = np.array([[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
    metrics = error_metrics(SYSTEM, moved, AT_REST)
    for name in ("rel_l2_u", "rel_l2_r", "rel_l2_theta"):
        assert math.isnan(metrics[name])
    assert metrics["max_ae_u"] == approx(0.3)


@pytest.mark.filterwarnings("error")
def test_a_diverged_run_has_infinite_metrics_or_none():
    q, reference = waves(100)
    lost = q.copy()
    lost[0, 50] = np.inf
    lost[1, 60] = np.nan
    metrics = error_metrics(SYSTEM, lost, reference)
    assert metrics["rel_l2_r"] == math.inf
    assert metrics["max_ae_r"] == math.inf
    assert math.isnan(metrics["rel_l2_theta"])
    assert math.isnan(metrics["rel_l2_u"])
    residuals = residual_metrics(SYSTEM, lost, q)
    assert math.isnan(residuals["residual_mean"])
    assert math.isnan(residuals["residual_p95"])
    assert math.isnan(residuals["residual_max"])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("huge", [1e154, 1e200, np.inf, -np.inf])
def test_a_sum_that_overflows_is_infinite(huge):
    q, reference = waves(100)
    metrics = error_metrics(SYSTEM, np.array([np.full(100, huge), q[1]]), reference)
    residuals = residual_metrics(SYSTEM, np.full((2, 100), huge), q)
    assert metrics["rel_l2_r"] == math.inf
    assert metrics["rel_l2_theta"] < math.inf
    assert residuals["residual_mean"] > 1e153


@settings(max_examples=20)
@given(st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 1), st.integers(0, 99))
def test_one_bad_number_spoils_the_norm_of_the_state(bad, row, column):
    q, reference = waves(100)
    q[row, column] = bad
    metrics = error_metrics(SYSTEM, q, reference)
    assert not math.isfinite(metrics["rel_l2_u"])
    assert not math.isfinite(metrics["max_ae_u"])
