"""How well a number predicts which of two variants wins: the AUC, with a bootstrap interval.

Arrays have one entry per run. Only runs of the same group (such as equal k) are compared; the
bootstrap resamples whole seeds.
"""

import numpy as np
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
