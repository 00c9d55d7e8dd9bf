"""The AUC, against scipy and by hand."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pytest import approx
from scipy.stats import mannwhitneyu

from pinnlib.analysis.association import auc

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
