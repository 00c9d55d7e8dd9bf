"""Wilcoxon's test, Holm's correction and the seeds that decide: by hand, and for any errors."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx

from pinnlib.analysis import significance

ERRORS = st.floats(1e-3, 10)
PAIRS = st.lists(st.tuples(ERRORS, ERRORS), min_size=1, max_size=20)
P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(np.nan)), min_size=1, max_size=8)


# --- by hand ---


def row_of(*differences):
    """The test of errors 30 under the exponential gate, and 30 + differences under the linear."""
    exp = np.full(len(differences), 30.0)
    return significance.wilcoxon_row(exp, exp + differences)


def test_wilcoxon_by_hand():
    # d = 1, 2, 3, 4, −5: ranks 1…5, W⁻ = 5. Of the 32 subsets of {1…5} those with sum ≤ 5 are
    # ∅ | 1 | 2 | 3, 12 | 4, 13 | 5, 14, 23 = 10. One-sided 10/32, two-sided 20/32.
    # The median is 2, so the exponential gate wins, 4 of 5.
    row = row_of(1, 2, 3, 4, -5)
    assert row["winner"] == "exp"
    assert row["frac_win"] == 0.8
    assert row["n"] == 5
    assert row["p_raw"] == approx(20 / 32)
    assert row["p_one_sided"] == approx(10 / 32)


def test_wilcoxon_by_hand_with_a_zero_and_a_tie():
    # d = 1, 1, −2, 3, 0: the zero goes, |d| = 1, 1, 2, 3 has ranks 1.5, 1.5, 3, 4, W⁻ = 3.
    # Of the 16 subsets those with sum ≤ 3 are ∅, 1.5, 1.5, 1.5 + 1.5, 3 = 5.
    # One-sided 5/16, two-sided 10/16. Nobody wins the seed with the zero: 3 of 5.
    row = row_of(1, 1, -2, 3, 0)
    assert row["winner"] == "exp"
    assert row["frac_win"] == 0.6
    assert row["n"] == 5
    assert row["p_raw"] == approx(10 / 16)
    assert row["p_one_sided"] == approx(5 / 16)


def test_wilcoxon_of_twenty_seeds_that_agree():
    # W⁻ = 0 for one of 2^20 signs: the p behind the published "<1e-4" with frac(win) = 1.
    row = row_of(*range(-20, 0))
    assert row["winner"] == "linear"
    assert row["frac_win"] == 1
    assert row["note"] == ""
    assert row["p_raw"] == approx(2 * 2.0**-20)
    assert row["p_one_sided"] == approx(2.0**-20)


def test_no_difference_is_a_tie():
    row = row_of(0, 0, 0, 0, 0, 0, 0, 0)
    assert row["winner"] == "tie"
    assert row["p_raw"] == 1
    assert np.isnan(row["frac_win"])
    assert np.isnan(row["p_one_sided"])


def test_few_seeds_are_noted():
    five = row_of(1, 2, 3, 4, 5)
    six = row_of(1, 2, 3, 4, 5, 6)
    assert five["note"] == "too few seeds: n < 6"
    assert five["p_raw"] > 0.05
    assert six["note"] == ""
    assert six["p_raw"] < 0.05


def test_without_seeds_nobody_wins():
    row = significance.wilcoxon_row([], [])
    assert row["winner"] == ""
    assert row["n"] == 0
    assert np.isnan(row["p_raw"])


@pytest.mark.parametrize(
    "p, adjusted",
    [
        # sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.04 → running maximum
        ([0.03, 0.01, 0.04, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.6, 0.5], [1.0, 1.0]),
        ([], []),
        # the published λ = 0 rows: two below 1e-4, then 0.0010·2 and max(0.0020, 0.0012·1)
        ([0.0012, 0.0010, 2e-6, 2e-6], [0.0020, 0.0020, 8e-6, 8e-6]),
        # a test that is still missing counts
        ([0.01, np.nan, 0.02], [0.03, np.nan, 0.04]),
    ],
)
def test_holm_by_hand(p, adjusted):
    assert significance.holm(p).tolist() == approx(adjusted, nan_ok=True)


# --- for any errors ---


@settings(deadline=None)
@given(P_VALUES, st.randoms())
def test_holm_properties(p, random):
    p = np.array(p)
    adjusted = significance.holm(p)
    known = ~np.isnan(p)
    assert np.array_equal(np.isnan(adjusted), ~known)
    assert (adjusted[known] >= p[known]).all()
    assert (adjusted[known] <= 1).all()
    ascending = np.argsort(p[known])
    assert (np.diff(adjusted[known][ascending]) >= 0).all()
    order = random.sample(range(len(p)), len(p))
    assert np.array_equal(significance.holm(p[order]), adjusted[order], equal_nan=True)


@pytest.mark.slow  # the exact p of ties
@settings(max_examples=40, deadline=None)
@given(PAIRS)
def test_exchange_of_the_gates(pairs):
    exp, linear = np.array(pairs).T
    one = significance.wilcoxon_row(exp, linear)
    other = significance.wilcoxon_row(linear, exp)
    exchanged = {"exp": "linear", "linear": "exp", "tie": "tie"}
    assert other["winner"] == exchanged[one["winner"]]
    assert one["mean_exp"] == other["mean_linear"]
    assert one["mean_linear"] == other["mean_exp"]
    for name in ("p_raw", "p_one_sided", "frac_win"):
        assert one[name] == approx(other[name], nan_ok=True)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(-2, 12), min_size=6, max_size=8, unique_by=abs))
def test_no_adversary_needs_fewer_seeds(differences):
    assume(0 not in differences)
    exp = np.full(len(differences), 20.0)
    linear = exp + differences
    whole = significance.wilcoxon_row(exp, linear)
    assume(whole["p_raw"] < 0.05)
    fewest = significance.seeds_to_lose(exp, linear)
    for lost in range(1, fewest):
        for kept in itertools.combinations(range(len(exp)), len(exp) - lost):
            row = significance.wilcoxon_row(exp[[*kept]], linear[[*kept]])
            assert row["p_raw"] < 0.05
            assert row["winner"] == whole["winner"]


# --- invalid input ---


@pytest.mark.parametrize(
    "field, function, arguments",
    [
        ("exp, linear", significance.wilcoxon_row, {"exp": [1, 2], "linear": [1]}),
        ("p_values", significance.holm, {"p_values": [0.1, 1.2]}),
    ],
)
def test_invalid_input_is_refused(field, function, arguments):
    with pytest.raises(ValueError, match=f"^{field}="):
        function(**arguments)
