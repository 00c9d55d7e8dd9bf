"""How well a number predicts which of two variants wins: AUC, rank correlation, permutation test.

Arrays have one entry per run. Only runs of the same group (such as equal k) are compared; the
bootstrap resamples whole seeds.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pinnlib.analysis.significance import LEVEL
from pinnlib.registry import validate

RESAMPLES = 9999
Interval = tuple[float, float, float]  # estimate, low, high
UNKNOWN: Interval = (np.nan, np.nan, np.nan)


def _draw_counts(seeds: int) -> np.ndarray:
    """How often each seed occurs in each bootstrap sample; (samples, seeds)."""
    chances = np.full(seeds, 1 / seeds)
    rng = np.random.default_rng(0)
    return rng.multinomial(seeds, chances, RESAMPLES)


def _membership(seed: ArrayLike) -> np.ndarray:
    """1 where a run has a seed, else 0; (runs, seeds)."""
    seed = np.asarray(seed)
    return np.equal.outer(seed, np.unique(seed)).astype(float)


def _ends(estimates: np.ndarray, level: float) -> tuple[float, float]:
    """(low, high): the percentile interval of bootstrap estimates, which may be NaN."""
    low, high = np.nanquantile(estimates, [level / 2, 1 - level / 2])
    return low, high


def auc(
    x: ArrayLike,
    wins: ArrayLike,
    seed: ArrayLike,
    group: ArrayLike,
    level: float = LEVEL,
) -> Interval:
    """(AUC, low, high): the probability that x is larger at a win than at a loss.

    0.5 means no association, 0 and 1 perfect separation. NaN if no two runs can be compared.
    """
    x = np.asarray(x)
    wins = np.asarray(wins)
    group = np.asarray(group)
    validate("x", x, np.isfinite(x).all(), "finite")
    # (runs, runs): a win with a loss of the same group, and whether x is larger at the win
    differ = np.logical_and.outer(wins, ~wins)
    comparable = differ & np.equal.outer(group, group)
    signs = np.sign(np.subtract.outer(x, x))
    greater = (signs + 1) / 2  # 1/2 for a tie
    # (seeds, seeds): sums over the pairs of runs of two seeds
    member = _membership(seed)
    ordered = member.T @ (comparable * greater) @ member
    compared = member.T @ comparable.astype(float) @ member
    if compared.sum() == 0:
        return UNKNOWN
    counts = _draw_counts(len(compared))
    ordered_drawn = _drawn_sums(counts, ordered)
    compared_drawn = _drawn_sums(counts, compared)
    usable = compared_drawn > 0
    estimates = ordered_drawn[usable] / compared_drawn[usable]
    low, high = _ends(estimates, level)
    return ordered.sum() / compared.sum(), low, high


def _drawn_sums(counts: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """The sum over all pairs of seeds in each bootstrap sample; (samples,)."""
    return np.einsum(
        "bs,st,bt->b",
        counts,
        sums,
        counts,
        optimize=True,
    )


def _centred_ranks(values: ArrayLike, group: ArrayLike) -> np.ndarray:
    """Ranks within groups as fractions of the group size, minus the mean of the group."""
    group = np.asarray(group)
    values = pd.Series(np.asarray(values))
    rank = values.groupby(group).rank(pct=True)
    mean = rank.groupby(group).transform("mean")
    return (rank - mean).to_numpy()


def rank_correlation(
    x: ArrayLike,
    y: ArrayLike,
    seed: ArrayLike,
    group: ArrayLike,
    level: float = LEVEL,
) -> Interval:
    """(Spearman's ρ, low, high) of ranks within groups; NaN if x or y is constant in each."""
    a = _centred_ranks(x, group)
    b = _centred_ranks(y, group)
    for ranks in (a, b):
        if np.isnan(ranks).any() or np.ptp(ranks) == 0:
            return UNKNOWN
    products = np.stack([a * b, a * a, b * b])
    sums = products @ _membership(seed)  # (3, seeds)
    ab, aa, bb = sums.sum(axis=1)
    counts = _draw_counts(sums.shape[1])
    ab_drawn, aa_drawn, bb_drawn = sums @ counts.T  # (3, samples)
    estimates = ab_drawn / np.sqrt(aa_drawn * bb_drawn)
    low, high = _ends(estimates, level)
    return float(ab / np.sqrt(aa * bb)), low, high


def permutation_p(x: ArrayLike, y: ArrayLike, group: ArrayLike) -> float:
    """Two-sided p of `rank_correlation`, with y shuffled within its groups."""
    a = _centred_ranks(x, group)
    b = _centred_ranks(y, group)
    number, _ = pd.factorize(np.asarray(group), sort=True)  # of the group, from 0
    # Sorting by the number of the group plus a random part of 1 shuffles within groups.
    in_order = np.argsort(number, kind="stable")
    rng = np.random.default_rng(0)
    keys = number + rng.random((RESAMPLES, len(a)))
    shuffled = np.argsort(keys, axis=1)  # (samples, runs)
    products = a[in_order] * b[shuffled]
    sizes = np.abs(products.sum(axis=1))
    observed = np.abs((a * b).sum())
    as_large = (sizes >= observed - 1e-12).sum()
    return float((1 + as_large) / (1 + RESAMPLES))
