"""AUC, rank correlation and permutation test, against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import mannwhitneyu, spearmanr

from pinnlib.analysis.association import auc, permutation_p, rank_correlation

POINTS = st.tuples(st.integers(0, 5), st.booleans())


@settings(max_examples=50, deadline=None)
@given(st.lists(POINTS, min_size=2, max_size=30))
def test_auc_is_the_statistic_of_mann_and_whitney(points):
    x = np.array([float(value) for value, _ in points])
    wins = np.array([won for _, won in points])
    assume(wins.any() and not wins.all())
    one_group = np.zeros(len(x))
    found, low, high = auc(x, wins, np.arange(len(x)), one_group)
    pairs = wins.sum() * (~wins).sum()
    statistic = mannwhitneyu(x[wins], x[~wins]).statistic
    assert found == approx(statistic / pairs)
    assert 0 <= low <= high <= 1


K = np.repeat([10, 20], 4)
WINS = np.array([1, 1, 1, 0, 0, 0, 0, 1], dtype=bool)
SEED = np.tile(np.arange(4), 2)


def test_auc_over_all_k_uses_what_k_knows():
    found, _, _ = auc(-K, WINS, SEED, np.zeros(8))
    assert found > 0.5


@pytest.mark.parametrize(
    "x, expected",
    [
        (-K, 0.5),  # the same k, the same x
        (WINS.astype(float), 1),
    ],
)
def test_auc_within_groups_ignores_what_the_group_knows(x, expected):
    found, _, _ = auc(x, WINS, SEED, K)
    assert found == expected


def test_auc_is_open_if_one_gate_wins_everywhere():
    always = np.ones(8, dtype=bool)
    assert np.isnan(auc(K, always, SEED, K)).all()


X, Y = np.random.default_rng(0).standard_normal((2, 40))
SEEDS = np.tile(np.arange(20), 2)
GROUP = np.repeat([0, 100], 20)


def test_rank_correlation_is_spearmans():
    found, low, high = rank_correlation(X, Y, SEEDS, np.zeros(40))
    assert found == approx(spearmanr(X, Y).statistic)
    assert low < found < high


def test_rank_correlation_within_groups_removes_their_level():
    plain = rank_correlation(X, Y, SEEDS, GROUP)
    shifted = rank_correlation(X + GROUP, Y + GROUP, SEEDS, GROUP)
    assert shifted == approx(plain)


def test_rank_correlation_of_a_function_is_one_and_of_a_constant_is_open():
    assert rank_correlation(X, 2 * X, SEEDS, GROUP) == approx((1, 1, 1))
    assert np.isnan(rank_correlation(GROUP, Y, SEEDS, GROUP)).all()


def test_shuffling_within_groups_finds_what_is_there_and_nothing_else():
    group = np.repeat([0.0, 1.0, 2.0], 15)
    x, noise = np.random.default_rng(2).standard_normal((2, 45))
    related = x + 0.5 * noise
    by_group = group + 0.01 * noise
    assert permutation_p(x, related, group) < 0.01
    assert permutation_p(group, by_group, group) > 0.99
    assert 0.01 < permutation_p(x, noise, group) <= 1
