"""Means and effect sizes with their intervals: by hand, and for any errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

from pinnlib.analysis import estimates

ERRORS = st.floats(1e-3, 10)
PAIRS = st.lists(st.tuples(ERRORS, ERRORS), min_size=1, max_size=20)


@pytest.mark.parametrize(
    "values, interval",
    [
        # mean 2.5, s² = 5/3, s/√n = 0.645497, t(0.975; 3) = 3.182446
        ([1, 2, 3, 4], (2.5, 3.182446 * 0.645497, 4)),
        ([7], (7, np.nan, 1)),
        ([], (np.nan, np.nan, 0)),
    ],
)
def test_t_interval_by_hand(values, interval):
    assert estimates.t_interval(values) == approx(interval, rel=1e-6, nan_ok=True)


def test_a_missing_value_leaves_no_interval():
    mean, half_width, _ = estimates.t_interval([1, np.nan, 3])
    assert np.isnan(mean)
    assert np.isnan(half_width)


@settings(deadline=None)
@given(PAIRS)
def test_exchange_of_the_gates_changes_the_sign(pairs):
    exp, linear = np.array(pairs).T
    for effect in estimates.EFFECTS.values():
        assert effect(exp, linear) == approx(-effect(linear, exp))


@settings(deadline=None)
@given(PAIRS, st.floats(0.1, 10))
def test_scale_free(pairs, factor):
    exp, linear = np.round(np.array(pairs).T, 2) + 0.01
    for name in ("rank_biserial", "median_log_ratio"):
        effect = estimates.EFFECTS[name]
        assert effect(exp, linear) == approx(effect(exp * 4, linear * 4))
    hodges_lehmann = estimates.EFFECTS["hodges_lehmann"]
    larger = hodges_lehmann(exp * factor, linear * factor)
    assert larger == approx(factor * hodges_lehmann(exp, linear))


def test_the_median_has_an_interval_of_its_sample_or_none_at_all():
    low, median, high = estimates.median_interval([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (low, median, high) == (1, 3, 100)
    assert np.isnan(estimates.median_interval([1.0])).all()
    assert np.isnan(estimates.median_interval([1.0, np.nan, 3.0])).all()
