"""Means and effect sizes of paired errors, with their intervals.

The mean of one sample has a Student-t interval. A statistic of pairs, (exp, linear) over seeds, has
a bootstrap interval. A positive effect size means that the exponential gate is better.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

BOOTSTRAP = {"n_resamples": 9999, "method": "percentile", "vectorized": True}


def t_interval(values: ArrayLike) -> tuple[float, float, int]:
    """(mean, half-width, n) of the Student-t 95% interval, mean ± t(0.975; n − 1)·s/√n."""
    values = np.asarray(values, dtype=float)
    n = len(values)
    mean = float(values.mean()) if n else np.nan
    if n < 2:
        return mean, np.nan, n
    half_width = stats.t.ppf(0.975, n - 1) * stats.sem(values)
    return mean, float(half_width), n


def bootstrap_interval(
    statistic: Callable, exp: np.ndarray, linear: np.ndarray
) -> tuple[float, float, float]:
    """(value, low, high) of a statistic, 95% interval; NaN where there are too few seeds."""
    if len(exp) == 0:
        return np.nan, np.nan, np.nan
    value = float(statistic(exp, linear))
    if len(exp) == 1:
        return value, np.nan, np.nan
    sample = stats.bootstrap(
        (exp, linear),
        statistic,
        paired=True,
        rng=0,
        **BOOTSTRAP,
    )
    low, high = sample.confidence_interval
    return value, low, high


# Statistics of paired errors (…, seeds), called by scipy.stats.bootstrap with axis=-1


def _mean_exp(exp, linear, axis=-1):
    return exp.mean(axis)


def _mean_linear(exp, linear, axis=-1):
    return linear.mean(axis)


def _median_difference(exp, linear, axis=-1):
    return np.median(linear - exp, axis)


def _median_log_ratio(exp, linear, axis=-1):
    return np.median(np.log(linear / exp), axis)


def _hodges_lehmann(exp, linear, axis=-1):
    """Median of the means (d_i + d_j)/2, i ≤ j, of the differences."""
    difference = linear - exp
    seeds = difference.shape[-1]
    i, j = np.triu_indices(seeds)
    sums = difference[..., i] + difference[..., j]
    return np.median(sums / 2, axis)


def _rank_biserial(exp, linear, axis=-1):
    """(W⁺ − W⁻)/(W⁺ + W⁻) over the non-zero differences: 1 if exp is better in every seed."""
    difference = linear - exp
    zeros = (difference == 0).sum(axis, keepdims=True)  # they have the lowest ranks
    sizes = np.abs(difference)
    ranks = stats.rankdata(sizes, axis=axis) - zeros
    signed = ranks * np.sign(difference)
    total = np.abs(signed).sum(axis)
    return signed.sum(axis) / np.maximum(total, 1)


MEANS = {"mean_exp": _mean_exp, "mean_linear": _mean_linear}
EFFECTS = {
    "median_difference": _median_difference,
    "hodges_lehmann": _hodges_lehmann,
    "rank_biserial": _rank_biserial,
    "median_log_ratio": _median_log_ratio,
}


def median_interval(values: ArrayLike) -> tuple[float, float, float]:
    """(low, median, high) with the bootstrap 95% interval; NaN if one is missing or n < 2."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2 or np.isnan(values).any():
        return np.nan, np.nan, np.nan
    sample = stats.bootstrap((values,), np.median, rng=0, **BOOTSTRAP)
    low, high = sample.confidence_interval
    return float(low), float(np.median(values)), float(high)
