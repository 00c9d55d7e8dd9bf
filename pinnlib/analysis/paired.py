"""The exponential against the linear gate over common seeds: intervals, paired tests, effect sizes.

Differences are linear − exp of an error, so a positive one means that the exponential gate is
better. A run that is not ok is never dropped silently: results that depend on it are NaN, unless
`partial=True` asks for the seeds that are complete.
"""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from pinnlib.registry import validate
from pinnlib.spec import RunSpec

METRICS = ("max_ae_u", "rel_l2_u")
STATUSES = ("ok", "missing", "diverged", "failed")
SETTING = ["lambda_ic", "loss", "model"]  # one family of tests
CELL = [*SETTING, "k", "gate"]
TEST = [*SETTING, "k", "metric"]
LEVEL = 0.05
FEWEST = 6  # with fewer pairs the smallest two-sided p, 2^(1 − n), is above LEVEL
Ks = Sequence[float] | None  # None: every k
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


def _with_value(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The runs with the metric as `value`, NaN where a run is not ok; validates the table."""
    run = [*CELL, "seed"]
    columns = [*run, "status"]
    has_columns = set(columns) <= set(frame)
    validate("frame", list(frame), has_columns, f"runs with {', '.join(columns)}")
    settings = {field.name for field in fields(RunSpec)}
    numbers = frame.select_dtypes("number").columns
    known = [name for name in numbers if name not in settings | {"seconds", "numerics"}]
    validate("metric", metric, metric in known, f"one of {', '.join(known)}")
    unknown = set(frame["status"]) - set(STATUSES)
    validate("status", sorted(unknown), not unknown, f"out of {', '.join(STATUSES)}")
    repeated = frame[frame.duplicated(run)]
    validate("frame", _first_run(repeated), repeated.empty, f"one row per {', '.join(run)}")
    ok = frame["status"] == "ok"
    value = frame[metric].where(ok)
    broken = frame[ok & ~np.isfinite(value)]
    validate(metric, _first_run(broken), broken.empty, "finite in every run that is ok")
    return frame.assign(value=value)


def _first_run(frame: pd.DataFrame) -> list[dict]:
    """The settings of the first run of a table, for a message; empty if it has none."""
    return frame[[*CELL, "seed"]][:1].to_dict("records")


def summary_table(frame: pd.DataFrame, metric: str, partial: bool = False) -> pd.DataFrame:
    """Per cell: the number of runs needed and of each status, mean, half-width and median.

    The last three are NaN unless all runs are ok (`partial`: they are over those that are).
    """
    rows = []
    for cell, runs in _with_value(frame, metric).groupby(CELL):
        row = dict(zip(CELL, cell, strict=True))
        row["metric"] = metric
        row["needed"] = len(runs)
        for status in STATUSES:
            has_status = runs["status"] == status
            row[status] = int(has_status.sum())
        row["complete"] = row["ok"] == len(runs)
        values = runs["value"].dropna()
        if not (row["complete"] or partial):
            values = values[:0]
        row["mean"], row["half_width"], _ = t_interval(values)
        row["median"] = values.median()
        rows.append(row)
    return pd.DataFrame(rows)


def pair_runs(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Per setting, k and seed: the errors `exp` and `linear`, their difference and log-ratio."""
    wide = _with_value(frame, metric).pivot(
        index=[*SETTING, "k", "seed"],
        columns="gate",
        values="value",
    )
    wide = wide.reindex(columns=["exp", "linear"])
    wide = wide.rename_axis(columns=None).reset_index()
    wide["metric"] = metric
    wide["difference"] = wide["linear"] - wide["exp"]
    wide["log_ratio"] = np.log(wide["linear"] / wide["exp"])
    return wide


def known_by_k(pairs: pd.DataFrame) -> pd.Series:
    """Per row of `pair_runs`: did the gate win that wins most of the other seeds at the same k?"""
    exp_wins = pairs["log_ratio"] > 0
    at_same_k = exp_wins.groupby(pairs["k"])
    others = at_same_k.transform("size") - 1
    wins_of_others = at_same_k.transform("sum") - exp_wins
    share = wins_of_others / others
    return (share > 0.5) == exp_wins  # a draw among the others counts for the linear gate


def _all_pairs(frame: pd.DataFrame, ks: Ks) -> pd.DataFrame:
    """The pairs of both metrics."""
    tables = [pair_runs(frame, metric) for metric in METRICS]
    pairs = pd.concat(tables, ignore_index=True)
    if ks is None:
        return pairs
    known = sorted(set(pairs["k"]))
    validate("ks", ks, set(ks) <= set(known), f"out of {known}")
    return pairs[pairs["k"].isin(ks)]


def _samples(exp, linear, partial):
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
    exp, linear, n, needed = _samples(exp, linear, partial)
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


def _test_table(pairs: pd.DataFrame, partial: bool = False) -> pd.DataFrame:
    """The tests of all pairs, Holm within each setting."""
    rows = []
    for label, group in pairs.groupby(TEST):
        row = dict(zip(TEST, label, strict=True))
        row |= wilcoxon_row(group["exp"], group["linear"], partial)
        rows.append(row)
    table = pd.DataFrame(rows)
    p_holm = table.groupby(SETTING)["p_raw"].transform(holm)
    after_raw = table.columns.get_loc("p_raw") + 1
    table.insert(after_raw, "p_holm", p_holm)
    return table


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


def _estimates(pairs, statistics, partial=False):
    """Per test: each statistic and its bootstrap 95% interval `_low` to `_high`, over seeds."""
    rows = []
    for label, group in pairs.groupby(TEST):
        exp, linear, n, needed = _samples(group["exp"], group["linear"], partial)
        row = dict(zip(TEST, label, strict=True))
        row["n"] = n
        row["needed"] = needed
        for name, statistic in statistics.items():
            value, low, high = _with_interval(statistic, exp, linear)
            row[name] = value
            row[f"{name}_low"] = low
            row[f"{name}_high"] = high
        rows.append(row)
    return pd.DataFrame(rows)


def _with_interval(statistic, exp, linear):
    """(value, low, high) of a statistic; NaN where there are too few seeds."""
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


def gate_tests(frame: pd.DataFrame, ks: Ks = (20, 60), partial: bool = False) -> pd.DataFrame:
    """Per setting, k and metric: the test, Holm over the setting, bootstrap intervals of means."""
    pairs = _all_pairs(frame, ks)
    tests = _test_table(pairs, partial)
    means = _estimates(pairs, MEANS, partial)
    intervals = means.drop(columns=[*MEANS, "n", "needed"])
    return tests.merge(intervals, on=TEST, validate="1:1")


def effect_sizes(
    frame: pd.DataFrame,
    ks: Ks = (20, 60),
    effects: Sequence[str] = tuple(EFFECTS),
) -> pd.DataFrame:
    """Per test: effect sizes with bootstrap 95% intervals; positive: exp is better."""
    unknown = set(effects) - set(EFFECTS)
    validate("effects", effects, not unknown, f"out of {', '.join(EFFECTS)}")
    statistics = {name: EFFECTS[name] for name in effects}
    return _estimates(_all_pairs(frame, ks), statistics)


def tests_at_every_k(frame: pd.DataFrame) -> pd.DataFrame:
    """`gate_tests` at every k with the median log-ratio; Holm over all k and metrics."""
    tests = gate_tests(frame, ks=None)
    sizes = effect_sizes(frame, ks=None, effects=["median_log_ratio"])
    sizes = sizes.drop(columns=["n", "needed"])
    return tests.merge(sizes, on=TEST, validate="1:1")


def count_crossovers(tests: pd.DataFrame) -> pd.DataFrame:
    """Per setting and metric: k, k with a winner, and changes of winner between neighbours."""
    by = [*SETTING, "metric"]
    table = tests[[*by, "k"]].copy()
    known = tests["winner"].isin(["exp", "linear"])
    table["winner"] = tests["winner"].where(known)
    before = table.groupby(by)["winner"].shift()
    table["decided"] = known
    table["crossover"] = known & before.notna() & (table["winner"] != before)
    return table.groupby(by).agg(
        k_needed=("k", "size"),
        k_decided=("decided", "sum"),
        crossovers=("crossover", "sum"),
    )


def seeds_to_lose(exp: ArrayLike, linear: ArrayLike) -> float:
    """The smallest number of seeds whose removal gives raw p ≥ 0.05 or another winner.

    NaN if there is no test. Removing the winner's largest differences is optimal: the ranks of the
    loser's differences stay as they are.
    """
    exp, linear, _, _ = _samples(exp, linear, partial=False)
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


def leave_one_out(frame: pd.DataFrame, ks: Ks = (20, 60)) -> pd.DataFrame:
    """Per test: how many single seeds change the winner or the significance when left out.

    A seed is left out of the whole setting. `p_holm_worst` is the largest p that results.
    """
    pairs = _all_pairs(frame, ks)
    whole = _test_table(pairs).set_index(TEST)
    tested = whole["p_holm"].notna()
    significant = whole["p_holm"] < LEVEL
    table = whole[["winner", "p_holm", "n", "needed", "note"]].assign(
        winner_changes=0,
        significance_changes=0,
        p_holm_worst=np.nan,
    )
    for seed in sorted(set(pairs["seed"])):
        others = pairs["seed"] != seed
        rest = pairs.assign(exp=pairs["exp"].where(others))
        without = _test_table(rest, partial=True).set_index(TEST)
        p_raw = without["p_raw"].where(tested)
        p_holm = p_raw.groupby(SETTING).transform(holm)
        table["winner_changes"] += without["winner"] != whole["winner"]
        table["significance_changes"] += (p_holm < LEVEL) != significant
        table["p_holm_worst"] = np.fmax(table["p_holm_worst"], p_holm)
    fewest = []
    for _, group in pairs.groupby(TEST):
        fewest.append(seeds_to_lose(group["exp"], group["linear"]))
    table["seeds_to_lose"] = fewest
    for count in ("winner_changes", "significance_changes", "seeds_to_lose"):
        table[count] = table[count].where(tested).astype("Int64")
    table["p_holm_worst"] = table["p_holm_worst"].where(tested)
    return table.reset_index()
