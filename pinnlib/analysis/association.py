"""How well a number tells which of two variants wins: AUC, rank correlation, permutation test; whole seeds are resampled."""

import numpy as np
import pandas as pd

from pinnlib.analysis.paired import LEVEL
from pinnlib.registry import validate

RESAMPLES = 9999


def _counts(seeds):
    """How often each seed is drawn, in so many bootstrap samples of whole seeds: (samples, seeds)."""
    return np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), RESAMPLES)


def _member(seed):
    """(rows, seeds): 1 where a row belongs to a seed."""
    return (np.asarray(seed)[:, None] == np.unique(seed)).astype(float)


def auc(x, wins, seed, group, level=LEVEL):
    """(AUC, low, high): the chance that x is larger where `wins` than where not, over pairs of the same group; seeds are resampled whole.

    0.5 is no knowledge, 0 and 1 are both perfect. NaN where no two can be compared.
    """
    x, wins, seed, group = map(np.asarray, (x, wins, seed, group))
    validate("x", x, np.isfinite(x).all(), "finite")
    comparable = (wins[:, None] & ~wins[None, :] & (group[:, None] == group[None, :])).astype(float)
    greater = (np.sign(x[:, None] - x[None, :]) + 1) / 2
    member = _member(seed)
    right, all_pairs = (
        member.T @ (comparable * form) @ member for form in (greater, np.ones_like(greater))
    )
    if not all_pairs.sum():
        return np.nan, np.nan, np.nan
    counts = _counts(len(right))
    above, below = (
        np.einsum("bs,st,bt->b", counts, form, counts, optimize=True) for form in (right, all_pairs)
    )
    return right.sum() / all_pairs.sum(), *np.quantile(
        (above / below.clip(1e-9))[below > 0], [level / 2, 1 - level / 2]
    )


def _centred_ranks(values, group):
    """Ranks within groups, as shares of the group, less the group's mean."""
    rank = pd.Series(np.asarray(values)).groupby(np.asarray(group)).rank(pct=True)
    return (rank - rank.groupby(np.asarray(group)).transform("mean")).to_numpy()


def rank_correlation(x, y, seed, group, level=LEVEL):
    """(Spearman's ρ of x and y, both ranked within groups, low, high): seeds are resampled whole; NaN if x or y is constant in each group."""
    a, b = _centred_ranks(x, group), _centred_ranks(y, group)
    if not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return np.nan, np.nan, np.nan
    sums = np.stack([a * b, a * a, b * b]) @ _member(seed)  # (3, seeds)
    ab, aa, bb = sums @ _counts(sums.shape[1]).T
    return float(sums[0].sum() / np.sqrt(sums[1].sum() * sums[2].sum())), *np.nanquantile(
        ab / np.sqrt(aa * bb), [level / 2, 1 - level / 2]
    )


def permutation_p(x, y, group, draws=9999):
    """p of `rank_correlation` if y were shuffled within its groups, two-sided."""
    a, b, level = (
        _centred_ranks(x, group),
        _centred_ranks(y, group),
        pd.factorize(np.asarray(group), sort=True)[0],
    )
    home = np.argsort(
        level, kind="stable"
    )  # shuffling within groups: sort by group, at random inside
    shuffled = np.argsort(level + np.random.default_rng(0).random((draws, len(a))), axis=1)
    null = np.abs((a[home] * b[shuffled]).sum(axis=1))
    return float((1 + (null >= np.abs((a * b).sum()) - 1e-12).sum()) / (1 + draws))
