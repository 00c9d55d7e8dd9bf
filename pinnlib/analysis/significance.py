"""Wilcoxon's signed-rank test of paired errors, Holm's correction, and the seeds that decide.

Differences are linear − exp of an error, so a positive one means that the exponential gate is
better.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from pinnlib.registry import validate

LEVEL = 0.05
FEWEST = 6  # with fewer pairs the smallest two-sided p, 2^(1 − n), is above LEVEL


def complete_pairs(
    exp: ArrayLike, linear: ArrayLike, partial: bool = False
) -> tuple[np.ndarray, np.ndarray, int, int]:
    """(exp, linear, complete pairs, pairs needed): the errors of the seeds that have both.

    Both arrays are empty if a seed lacks one, unless `partial`.
    """
    exp = np.asarray(exp, dtype=float)
    linear = np.asarray(linear, dtype=float)
    same = exp.ndim == 1 and exp.shape == linear.shape
    shapes = f"shapes {exp.shape}, {linear.shape}"
    validate("exp, linear", shapes, same, "two lists with one error per seed, in the same order")
    both = np.isfinite(exp) & np.isfinite(linear)
    n = int(both.sum())
    needed = len(both)
    if n < needed and not partial:
        both = np.zeros_like(both)
    return exp[both], linear[both], n, needed


def wilcoxon_row(exp: ArrayLike, linear: ArrayLike, partial: bool = False) -> dict:
    """Wilcoxon's signed-rank test without zeros, two-sided and towards the winner by the median."""
    exp, linear, n, needed = complete_pairs(exp, linear, partial)
    row = {
        "winner": "",
        "mean_exp": np.nan,
        "mean_linear": np.nan,
        "frac_win": np.nan,
        "p_raw": np.nan,
        "p_one_sided": np.nan,
        "n": n,
        "needed": needed,
        "note": "",
    }
    if n < needed:
        row["note"] = f"incomplete: {n} of {needed} pairs"
    elif n < FEWEST:
        row["note"] = f"too few seeds: n < {FEWEST}"
    if len(exp) == 0:
        return row
    difference = linear - exp
    sign = np.sign(np.median(difference))
    row["winner"] = {1: "exp", -1: "linear", 0: "tie"}[sign]
    row["mean_exp"] = exp.mean()
    row["mean_linear"] = linear.mean()
    row["p_raw"] = 1.0  # if all differences are zero
    if difference.any():
        row["p_raw"] = stats.wilcoxon(difference).pvalue
    if sign:
        gain = sign * difference
        test = stats.wilcoxon(gain, alternative="greater")
        row["frac_win"] = (gain > 0).mean()
        row["p_one_sided"] = test.pvalue
    return row


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's adjusted p: the maximum over j ≤ i of (m − j + 1)·p_(j), at most 1.

    A NaN stays NaN but counts in m: the test was planned.
    """
    p = np.asarray(p_values, dtype=float)
    in_range = np.isnan(p) | ((p >= 0) & (p <= 1))
    valid = p.ndim == 1 and bool(in_range.all())
    validate("p_values", list(p_values), valid, "numbers from 0 to 1, or NaN")
    order = np.argsort(p)  # NaN comes last
    factors = len(p) - np.arange(len(p))
    rising = np.maximum.accumulate(factors * p[order])
    adjusted = np.minimum(rising, 1)
    return adjusted[np.argsort(order)]


def seeds_to_lose(exp: ArrayLike, linear: ArrayLike) -> float:
    """The smallest number of seeds whose removal gives raw p ≥ 0.05 or another winner.

    NaN if there is no test. Removing the winner's largest differences is optimal: the ranks of the
    loser's differences stay as they are.
    """
    exp, linear, _, _ = complete_pairs(exp, linear)
    winner = wilcoxon_row(exp, linear)["winner"]
    gain = linear - exp
    if winner != "exp":
        gain = exp - linear
    order = np.argsort(gain)
    for removed in range(len(exp)):
        rest = order[: len(exp) - removed]
        row = wilcoxon_row(exp[rest], linear[rest])
        if row["p_raw"] >= LEVEL or row["winner"] != winner:
            return removed
    return np.nan
