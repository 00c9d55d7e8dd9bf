"""How well a number predicts which of two variants wins: AUC, rank correlation, permutation test.

Arrays have one entry per run. Only runs of the same group (such as equal k) are compared; the
bootstrap resamples whole seeds.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pinnlib.analysis.paired import LEVEL
from pinnlib.registry import validate

RESAMPLES = 9999
Interval = tuple[float, float, float]  # estimate, low, high
UNKNOWN: Interval = (np.nan, np.nan, np.nan)


def _draw_counts(seeds: int) -> np.ndarray:
    """How often each seed occurs in each bootstrap sample; (samples, seeds)."""
    return np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)


def _membership(seed: ArrayLike) -> np.ndarray:
    """1 where a run has a seed, else 0; (runs, seeds)."""
    return (np.asarray(seed)[:, None] == np.unique(seed)).astype(float)


def auc(
    x: ArrayLike, wins: ArrayLike, seed: ArrayLike, group: ArrayLike, level: float = LEVEL
) -> Interval:
    """(AUC, low, high): the probability that x is larger at a win than at a loss.

    0.5 means no association, 0 and 1 perfect separation. NaN if no two runs can be compared.
    """
    x, wins, group = np.asarray(x), np.asarray(wins), np.asarray(group)
    validate("x", x, np.isfinite(x).all(), "finite")
    same_group = group[:, None] == group[None, :]  # (runs, runs)
    comparable = (wins[:, None] & ~wins[None, :] & same_group).astype(float)
    greater = (np.sign(x[:, None] - x[None, :]) + 1) / 2  # 1/2 for a tie
    member = _membership(seed)
    # (seeds, seeds): sums over the pairs of runs of two seeds
    ordered = member.T @ (comparable * greater) @ member
    compared = member.T @ comparable @ member
    if compared.sum() == 0:
        return UNKNOWN
    counts = _draw_counts(len(compared))
    ordered_drawn = np.einsum("bs,st,bt->b", counts, ordered, counts, optimize=True)
    compared_drawn = np.einsum("bs,st,bt->b", counts, compared, counts, optimize=True)
    usable = compared_drawn > 0
    estimates = ordered_drawn[usable] / compared_drawn[usable]
    low, high = np.quantile(estimates, [level / 2, 1 - level / 2])
    return ordered.sum() / compared.sum(), low, high


def _centred_ranks(values: ArrayLike, group: ArrayLike) -> np.ndarray:
    """Ranks within groups as fractions of the group size, minus the mean of the group."""
    group = np.asarray(group)
    rank = pd.Series(np.asarray(values)).groupby(group).rank(pct=True)
    return (rank - rank.groupby(group).transform("mean")).to_numpy()


def rank_correlation(
    x: ArrayLike, y: ArrayLike, seed: ArrayLike, group: ArrayLike, level: float = LEVEL
) -> Interval:
    """(Spearman's ρ, low, high) of ranks within groups; NaN if x or y is constant in each."""
    a, b = _centred_ranks(x, group), _centred_ranks(y, group)
    if np.isnan([a, b]).any() or np.ptp(a) == 0 or np.ptp(b) == 0:
        return UNKNOWN
    sums = np.stack([a * b, a * a, b * b]) @ _membership(seed)  # (3, seeds)
    ab, aa, bb = sums.sum(axis=1)
    ab_drawn, aa_drawn, bb_drawn = sums @ _draw_counts(sums.shape[1]).T  # (3, samples)
    estimates = ab_drawn / np.sqrt(aa_drawn * bb_drawn)
    low, high = np.nanquantile(estimates, [level / 2, 1 - level / 2])
    return float(ab / np.sqrt(aa * bb)), low, high


def permutation_p(x: ArrayLike, y: ArrayLike, group: ArrayLike) -> float:
    """Two-sided p of `rank_correlation`, with y shuffled within its groups."""
    a, b = _centred_ranks(x, group), _centred_ranks(y, group)
    number = pd.factorize(np.asarray(group), sort=True)[0]  # of the group, from 0
    # Sorting by the number of the group plus a random part of 1 shuffles within groups.
    in_order = np.argsort(number, kind="stable")
    keys = number + np.random.default_rng(0).random((RESAMPLES, len(a)))
    shuffled = np.argsort(keys, axis=1)  # (samples, runs)
    products = np.abs((a[in_order] * b[shuffled]).sum(axis=1))
    observed = np.abs((a * b).sum())
    as_large = (products >= observed - 1e-12).sum()
    return float((1 + as_large) / (1 + RESAMPLES))
