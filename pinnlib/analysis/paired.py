"""Gate against gate over common seeds: intervals, paired tests, effect sizes, and how they stand beside the published table.

The difference is always linear − exp of an error, so that positive means: the exponential gate is better. A run that is not ok is never
left out in silence: what depends on it is NaN, unless `partial=True` asks for the seeds that there are.
"""

import dataclasses

import numpy as np
import pandas as pd
from scipy import stats

from pinnlib.registry import validate
from pinnlib.spec import RunSpec

METRICS, STATUSES = ("max_ae_u", "rel_l2_u"), ("ok", "missing", "diverged", "failed")
SETTING = ["lambda_ic", "loss", "model"]  # one family of tests
CELL, TEST = [*SETTING, "k", "gate"], [*SETTING, "k", "metric"]
LEVEL, FEWEST = 0.05, 6  # with fewer pairs the smallest two-sided p, 2^(1 − n), is above the level
BOOTSTRAP = {
    "paired": True,
    "vectorized": True,
    "n_resamples": 9999,
    "method": "percentile",
}  # defined where all seeds agree, too


def t_interval(values):
    """(mean, half-width, n) of the Student-t 95% interval, mean ± t(0.975; n − 1)·s/√n; fewer than two values have no width (NaN)."""
    values = np.asarray(values, dtype=float)
    half_width = (
        stats.t.ppf(0.975, len(values) - 1) * stats.sem(values) if len(values) > 1 else np.nan
    )
    return float(values.mean()) if len(values) else np.nan, float(half_width), len(values)


def _valued(frame, metric):
    """The runs with the metric as `value`, NaN where a run is not ok; refuses what is not one run per cell and seed."""
    run = [*CELL, "seed"]
    validate(
        "frame",
        list(frame),
        {*run, "status"} <= {*frame},
        f"a table of runs with the columns {', '.join(run)}, status",
    )
    settings = {*run, *(field.name for field in dataclasses.fields(RunSpec)), "seconds", "numerics"}
    known = [c for c in frame.select_dtypes("number") if c not in settings]
    validate("metric", metric, metric in known, f"one of {', '.join(known)}")
    validate(
        "status",
        sorted(set(frame["status"])),
        set(frame["status"]) <= set(STATUSES),
        f"out of {', '.join(STATUSES)}",
    )
    twice = frame[frame.duplicated(run)][run].to_dict("records")
    validate("frame", twice[:1], not twice, f"a table with each {', '.join(run)} once")
    value = frame[metric].where(frame["status"] == "ok")
    broken = frame[(frame["status"] == "ok") & ~np.isfinite(value)][run].to_dict("records")
    validate(metric, broken[:1], not broken, "finite in every run that is ok")
    return frame.assign(value=value)


def summary_table(frame, metric, partial=False):
    """Per cell: runs needed and how they ended, mean, t_interval's half-width, median; NaN where not all are ok (`partial`: over those)."""
    rows = []
    for cell, runs in _valued(frame, metric).groupby(CELL):
        ended = {status: int((runs.status == status).sum()) for status in STATUSES}
        complete = ended["ok"] == len(runs)
        values = runs.value.dropna() if complete or partial else runs.value[:0]
        middle = (
            {"complete": complete}
            | dict(zip(("mean", "half_width"), t_interval(values)))
            | {"median": values.median()}
        )
        rows.append(
            dict(zip(CELL, cell)) | {"metric": metric, "needed": len(runs)} | ended | middle
        )
    return pd.DataFrame(rows)


def paired(frame, metric):
    """Per setting, k and seed: the errors `exp` and `linear`, their difference and log(linear/exp); NaN where a run is not ok."""
    wide = _valued(frame, metric).pivot(
        index=[*SETTING, "k", "seed"], columns="gate", values="value"
    )
    wide = (
        wide.reindex(columns=["exp", "linear"]).rename_axis(columns=None).reset_index()
    )  # other gates, if any, are not compared
    return wide.assign(
        metric=metric, difference=wide.linear - wide.exp, log_ratio=np.log(wide.linear / wide.exp)
    )


def known_by_k(pairs):
    """For every pair of `paired`: is the winner the gate that won most of the other seeds of its k? A draw among them counts for linear."""
    exp = pairs["log_ratio"] > 0
    wins = exp.groupby(pairs["k"])
    return ((wins.transform("sum") - exp) / (wins.transform("size") - 1) > 0.5) == exp


def _pairs(frame, ks, metrics):
    pairs = pd.concat([paired(frame, metric) for metric in metrics], ignore_index=True)
    known = sorted(set(pairs.k))
    validate("ks", ks, ks is None or set(ks) <= set(known), f"out of {known}")
    return pairs if ks is None else pairs[pairs.k.isin(ks)]


def _samples(exp, linear, partial):
    """The errors of seeds that have both, or none if a seed lacks one and `partial` is not asked for; pairs there, pairs needed."""
    exp, linear = np.asarray(exp, dtype=float), np.asarray(linear, dtype=float)
    shapes = exp.shape, linear.shape
    validate(
        "exp, linear",
        f"shapes {shapes}",
        exp.ndim == 1 and shapes[0] == shapes[1],
        "two lists of errors, one per seed in the same order",
    )
    both = np.isfinite(exp) & np.isfinite(linear)
    keep = both & (both.all() or partial)
    return exp[keep], linear[keep], int(both.sum()), len(both)


def wilcoxon_row(exp, linear, partial=False):
    """Wilcoxon signed-rank test (zeros dropped), two-sided and towards the winner: the sign of the median difference."""
    exp, linear, n, needed = _samples(exp, linear, partial)
    note = (
        f"incomplete: {n} of {needed} pairs"
        if n < needed
        else f"too few seeds: n < {FEWEST}"
        if n < FEWEST
        else ""
    )
    row = dict.fromkeys(
        ("winner", "mean_exp", "mean_linear", "frac_win", "p_raw", "p_one_sided"), np.nan
    )
    row |= {"winner": "", "n": n, "needed": needed, "note": note}
    if not len(exp):
        return row
    sign = np.sign(np.median(linear - exp))
    row |= {
        "winner": {1: "exp", -1: "linear", 0: "tie"}[sign],
        "mean_exp": exp.mean(),
        "mean_linear": linear.mean(),
    }
    row["p_raw"] = (
        stats.wilcoxon(linear - exp, zero_method="wilcox").pvalue if (linear != exp).any() else 1.0
    )  # nothing to rank
    if sign:
        gain = sign * (linear - exp)
        row |= {
            "frac_win": (gain > 0).mean(),
            "p_one_sided": stats.wilcoxon(gain, zero_method="wilcox", alternative="greater").pvalue,
        }
    return row


def holm(p_values):
    """Holm's adjusted p, max over j ≤ i of (m − j + 1)·p_(j), at most 1; a NaN stays NaN but counts in m: the test was planned."""
    p = np.asarray(p_values, dtype=float)
    validate(
        "p_values",
        list(p_values),
        p.ndim == 1 and (np.isnan(p) | ((p >= 0) & (p <= 1))).all(),
        "numbers from 0 to 1, or NaN",
    )
    order = np.argsort(p)  # NaN comes last
    return np.minimum(np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]), 1)[
        np.argsort(order)
    ]


def _verdicts(pairs, partial):
    """The tests of all pairs, Holm within each setting."""
    table = pd.DataFrame(
        [
            dict(zip(TEST, label)) | wilcoxon_row(group.exp, group.linear, partial)
            for label, group in pairs.groupby(TEST)
        ]
    )
    table.insert(
        table.columns.get_loc("p_raw") + 1,
        "p_holm",
        table.groupby(SETTING)["p_raw"].transform(holm),
    )
    return table


def hodges_lehmann(exp, linear, axis=-1):
    """Median of the means (d_i + d_j)/2, i ≤ j, of the differences."""
    difference = linear - exp
    i, j = np.triu_indices(difference.shape[-1])
    return np.median((difference[..., i] + difference[..., j]) / 2, axis)


def rank_biserial(exp, linear, axis=-1):
    """(W⁺ − W⁻)/(W⁺ + W⁻) over the non-zero differences: from 1, exp better in every seed, to −1, linear in every seed."""
    sign = np.sign(linear - exp)
    zeros = (sign == 0).sum(axis, keepdims=True)  # they hold the lowest ranks
    ranks = (stats.rankdata(np.abs(linear - exp), axis=axis) - zeros) * sign
    return ranks.sum(axis) / np.maximum(np.abs(ranks).sum(axis), 1)


MEANS = {
    "mean_exp": lambda exp, linear, axis=-1: exp.mean(axis),
    "mean_linear": lambda exp, linear, axis=-1: linear.mean(axis),
}
EFFECTS = {
    "median_difference": lambda exp, linear, axis=-1: np.median(linear - exp, axis),
    "hodges_lehmann": hodges_lehmann,
    "rank_biserial": rank_biserial,
    "median_log_ratio": lambda exp, linear, axis=-1: np.median(np.log(linear / exp), axis),
}


def _estimates(pairs, statistics, partial):
    """Per test, each statistic and its bootstrap 95% interval `_low` to `_high`, seeds drawn as pairs."""
    rows = []
    for label, group in pairs.groupby(TEST):
        exp, linear, n, needed = _samples(group.exp, group.linear, partial)
        rows.append(row := dict(zip(TEST, label)) | {"n": n, "needed": needed})
        for name, statistic in statistics.items():
            drawn = (
                stats.bootstrap((exp, linear), statistic, rng=0, **BOOTSTRAP)
                if len(exp) > 1
                else None
            )
            low, high = drawn.confidence_interval if drawn else (np.nan, np.nan)
            row |= {
                name: float(statistic(exp, linear)) if len(exp) else np.nan,
                f"{name}_low": low,
                f"{name}_high": high,
            }
    return pd.DataFrame(rows)


def gate_tests(frame, ks=(20, 60), metrics=METRICS, partial=False):
    """Per setting, k (None: every k) and metric: the paired test, Holm over the setting, and bootstrap 95% intervals of the means."""
    pairs = _pairs(frame, ks, metrics)
    means = _estimates(pairs, MEANS, partial).drop(columns=[*MEANS, "n", "needed"])
    return _verdicts(pairs, partial).merge(means, on=TEST, validate="1:1")


def effect_sizes(frame, ks=(20, 60), metrics=METRICS, partial=False, effects=tuple(EFFECTS)):
    """How large, beside how sure: effect sizes with bootstrap 95% intervals; positive means that the exponential gate is better."""
    validate("effects", list(effects), set(effects) <= set(EFFECTS), f"out of {', '.join(EFFECTS)}")
    return _estimates(
        _pairs(frame, ks, metrics), {name: EFFECTS[name] for name in effects}, partial
    )


def tests_at_every_k(frame):
    """`gate_tests` at every k with the median log-ratio and its interval; exploratory: Holm over all k and metrics of a setting."""
    sizes = effect_sizes(frame, ks=None, effects=["median_log_ratio"]).drop(columns=["n", "needed"])
    return gate_tests(frame, ks=None).merge(sizes, on=TEST, validate="1:1")


def count_crossovers(tests):
    """Per setting and metric: k needed, k with a winner, and changes of winner from one k to the next where both have one."""
    by = [*SETTING, "metric"]
    won = tests["winner"].where(tests["winner"].isin(["exp", "linear"]))
    before = won.groupby([tests[name] for name in by]).shift()
    decided = tests.assign(
        decided=won.notna(), crossover=won.notna() & before.notna() & (won != before)
    )
    return decided.groupby(by).agg(
        k_needed=("k", "size"), k_decided=("decided", "sum"), crossovers=("crossover", "sum")
    )


def seeds_to_lose(exp, linear, partial=False):
    """How few seeds an adversary must take away for raw p ≥ 0.05 or another winner (0: p is there already; NaN: no test)."""
    # He takes the winner's largest differences: the loser's ranks then stay as they are, so no other choice of as many seeds does better.
    exp, linear, n, _ = _samples(exp, linear, partial)
    winner = wilcoxon_row(exp, linear)["winner"]
    order = np.argsort(linear - exp if winner == "exp" else exp - linear)
    rows = (
        wilcoxon_row(exp[order[: n - gone]], linear[order[: n - gone]]) for gone in range(len(exp))
    )
    return next(
        (gone for gone, row in enumerate(rows) if row["p_raw"] >= LEVEL or row["winner"] != winner),
        np.nan,
    )


def leave_one_out(frame, ks=(20, 60), metrics=METRICS, partial=False):
    """Per test: how many single seeds, left out of the whole setting, change the winner or the significance after Holm; `seeds_to_lose`."""
    pairs = _pairs(frame, ks, metrics)
    whole = _verdicts(pairs, partial).set_index(TEST)
    table = whole[["winner", "p_holm", "n", "needed", "note"]].assign(
        winner_changes=0, significance_changes=0, p_holm_worst=np.nan
    )
    for seed in sorted(set(pairs.seed)):
        without = _verdicts(
            pairs.assign(exp=pairs.exp.where(pairs.seed != seed)), partial=True
        ).set_index(TEST)
        without["p_holm"] = (
            without["p_raw"].where(whole["p_holm"].notna()).groupby(SETTING).transform(holm)
        )  # what had no p gets none here
        table["winner_changes"] += without["winner"] != whole["winner"]
        table["significance_changes"] += (without["p_holm"] < LEVEL) != (whole["p_holm"] < LEVEL)
        table["p_holm_worst"] = np.fmax(table["p_holm_worst"], without["p_holm"])
    table["seeds_to_lose"] = [
        seeds_to_lose(group.exp, group.linear, partial) for _, group in pairs.groupby(TEST)
    ]
    counts = ["winner_changes", "significance_changes", "seeds_to_lose", "p_holm_worst"]
    return table.assign(
        **table[counts].where(whole["p_holm"].notna()).astype(dict.fromkeys(counts[:3], "Int64"))
    ).reset_index()
