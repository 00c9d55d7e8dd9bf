"""AUC, rank correlation and permutation test, against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, spearmanr

from pinnlib.analysis.association import auc, permutation_p, rank_correlation


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=30).filter(
        lambda rows: len({won for _, won in rows}) == 2
    )
)
def test_auc_is_the_statistic_of_mann_and_whitney(rows):
    x, wins = (np.array(column) for column in zip(*rows, strict=True))
    found, low, high = auc(x.astype(float), wins, np.arange(len(x)), np.zeros(len(x)))
    assert found == pytest.approx(
        mannwhitneyu(x[wins], x[~wins]).statistic / (wins.sum() * (~wins).sum())
    )
    assert 0 <= low <= high <= 1


def test_auc_within_groups_ignores_what_the_group_knows():
    k = np.repeat([10, 20], 4)
    wins = np.array([1, 1, 1, 0, 0, 0, 0, 1], dtype=bool)
    seed = np.tile(np.arange(4), 2)
    assert auc(-k, wins, seed, np.zeros(8))[0] > 0.5
    assert auc(-k, wins, seed, k)[0] == 0.5  # the same k, the same x
    assert auc(wins.astype(float), wins, seed, k)[0] == 1
    assert np.isnan(auc(k, np.ones(8, dtype=bool), seed, k)).all()


def test_rank_correlation_is_spearmans_and_within_groups_removes_their_level():
    x, y = np.random.default_rng(0).standard_normal((2, 40))
    seed, group = np.tile(np.arange(20), 2), np.repeat([0, 100], 20)
    found, low, high = rank_correlation(x, y, seed, np.zeros(40))
    assert found == pytest.approx(spearmanr(x, y).statistic)
    assert low < found < high
    assert rank_correlation(x + group, y + group, seed, group) == pytest.approx(
        rank_correlation(x, y, seed, group)
    )
    assert rank_correlation(x, 2 * x, seed, group) == pytest.approx((1, 1, 1))
    assert np.isnan(rank_correlation(group, y, seed, group)).all()


def test_shuffling_within_groups_finds_what_is_there_and_nothing_else():
    group = np.repeat([0, 1, 2], 15)
    x, noise = np.random.default_rng(2).standard_normal((2, 45))
    assert permutation_p(x, x + 0.5 * noise, group) < 0.01
    only_group = group.astype(float)
    assert permutation_p(only_group, group + 0.01 * noise, group) > 0.99
    assert 0.01 < permutation_p(x, noise, group) <= 1
