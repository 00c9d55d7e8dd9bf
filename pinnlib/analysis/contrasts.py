"""Variant against variant over common seeds, for questions with more than two gates: effect, interval, corrected p."""

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from pinnlib.analysis import paired
from pinnlib.registry import validate


def contrast(first, second):
    """Errors of the same seeds under two variants: n, median ratio second/first with bootstrap 95% interval, share of seeds that `first` wins, p."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    row = paired.wilcoxon_row(first, second)
    log = np.log(second / first)
    if len(log) < 2 or not np.isfinite(log).all():
        return {
            "n": int(np.isfinite(log).sum()),
            "ratio": np.nan,
            "low": np.nan,
            "high": np.nan,
            "first_wins": np.nan,
            "p_raw": np.nan,
        }
    drawn = scipy_stats.bootstrap(
        (log,), np.median, rng=0, vectorized=True, n_resamples=9999, method="percentile"
    ).confidence_interval
    ends = np.exp([np.median(log), drawn.low, drawn.high])
    return (
        {"n": len(log)}
        | dict(zip(("ratio", "low", "high"), ends))
        | {"first_wins": (log > 0).mean(), "p_raw": row["p_raw"]}
    )


def contrasts(runs, pairs, column="gate", by=("k",), metric="rel_l2_u"):
    """One row per cell of `by` and pair (first, second) of values of `column`; Holm over all rows: one call is one family of tests.

    A ratio above 1 means that the first is better. The interval is that of the median ratio, p Wilcoxon's on the differences, in which large errors
    weigh more: a ratio that is clear in most seeds may have a p that is not, and the other way round. A pair that lacks a run has NaN. With n seeds p_raw is never below 2/2^n: five cannot reach 0.05.
    """
    known = set(runs[column])
    validate(
        "pairs",
        pairs,
        all(set(pair) <= known for pair in pairs),
        f"pairs out of {', '.join(map(str, sorted(known)))}",
    )
    error = runs.assign(error=runs[metric].where(runs["status"] == "ok"))
    rows = []
    for cell, part in error.groupby(list(by)):
        wide = part.pivot(index="seed", columns=column, values="error").reindex(
            columns=[*dict.fromkeys(name for pair in pairs for name in pair)]
        )
        rows += [
            dict(zip(by, cell)) | {"first": a, "second": b} | contrast(wide[a], wide[b])
            for a, b in pairs
        ]
    table = pd.DataFrame(rows)
    return table.assign(p_holm=paired.holm(table["p_raw"]))


def family(*tables, planned=0):
    """The same tables with Holm over all of them, and over as many more as were `planned`: one question, one family of tests."""
    p = np.concatenate([table["p_raw"] for table in tables])
    adjusted = paired.holm([*p, *[np.nan] * (planned - len(p))])
    ends = np.cumsum([len(table) for table in tables])
    return [
        table.assign(p_holm=adjusted[end - len(table) : end]) for table, end in zip(tables, ends)
    ]


def preferred(under, metric="rel_l2_u"):
    """k × loss → the gate with the smallest median error, None where a run is missing; `under` has a table of runs per loss."""
    medians = {
        loss: paired.summary_table(runs, metric).pivot(index="gate", columns="k", values="median")
        for loss, runs in under.items()
    }
    return pd.DataFrame({loss: smallest(table) for loss, table in medians.items()})


def smallest(table):
    """Column → the index of its smallest value, None where one is not known."""
    return pd.Series(
        {name: column.idxmin() if column.notna().all() else None for name, column in table.items()},
        dtype=object,
    )


def each_under_its_own(under, best):
    """Where the `preferred` gates of two losses differ: the own one against the other's, under either loss; Holm as if they differed at every k."""
    tables = []
    for k, own in best[best.nunique(axis=1) > 1].iterrows():
        tables += [
            contrasts(runs[runs["k"] == k], [(own[loss], own.drop(loss).iloc[0])]).assign(loss=loss)
            for loss, runs in under.items()
        ]
    nothing = pd.DataFrame([{"k": 0, "first": "", "second": "", "loss": ""} | contrast([], [])])[
        :0
    ]  # with the types that a row would have
    (table,) = family(
        pd.concat(tables or [nothing], ignore_index=True), planned=len(under) * len(best)
    )
    return table


def regrets(runs, column="gate", by="k", metric="rel_l2_u", resamples=99_999):
    """Per variant: median error at each k (`median_…`), the same over that of the best variant there (`regret_…`), the worst of those, and its
    95% interval `low` to `high` and the share of samples in which it is the smallest of all (`best_in`), whole seeds resampled; best worst case first.
    """
    wide = runs.assign(error=runs[metric].where(runs["status"] == "ok")).pivot(
        index="seed", columns=[by, column], values="error"
    )
    errors = np.stack(
        [wide[k].to_numpy() for k in wide.columns.levels[0]], axis=1
    )  # (seeds, k, variants)
    names, ks = wide[wide.columns.levels[0][0]].columns, [f"{k:g}" for k in wide.columns.levels[0]]
    medians = np.median(errors, axis=0)
    regret = medians / medians.min(axis=1, keepdims=True)
    draws = np.random.default_rng(0).integers(len(errors), size=(resamples, len(errors)))
    middle = np.concatenate(
        [np.median(errors[part], axis=1) for part in np.array_split(draws, 20)]
    )  # (samples, k, variants)
    worst = (middle / middle.min(axis=2, keepdims=True)).max(axis=1)
    table = (
        pd.DataFrame(regret.T, names, [f"regret_{k}" for k in ks])
        .rename_axis(column)
        .assign(regret_worst=regret.max(axis=0))
    )
    low, high = np.quantile(worst, [0.025, 0.975], axis=0)
    table = table.assign(
        low=low, high=high, best_in=(worst == worst.min(axis=1, keepdims=True)).mean(axis=0)
    )
    return table.join(pd.DataFrame(medians.T, names, [f"median_{k}" for k in ks])).sort_values(
        "regret_worst", kind="stable"
    )


def lost(table):
    """Variant → how many of its contrasts it loses significantly after Holm."""
    worse = table["second"].where(table["ratio"] > 1, table["first"])[
        (table["p_holm"] < paired.LEVEL) & (table["ratio"] != 1)
    ]
    return worse.value_counts().reindex(
        pd.unique(table[["first", "second"]].values.ravel()), fill_value=0
    )


def ratio_texts(table):
    """The same as text: "1.52 [1.40, 1.60]*", the star for p after Holm below 0.05."""
    star = np.where(table["p_holm"] < paired.LEVEL, "*", "")
    return [
        f"{ratio:.2f} [{low:.2f}, {high:.2f}]{s}"
        for (ratio, low, high), s in zip(table[["ratio", "low", "high"]].values, star)
    ]
