"""Any two variants over common seeds: ratio of errors, interval, corrected p; families; regrets."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from pinnlib.analysis.estimates import BOOTSTRAP
from pinnlib.analysis.samples import summary_table
from pinnlib.analysis.significance import LEVEL, holm, wilcoxon_row
from pinnlib.registry import validate

RESAMPLES = 99_999  # of the seeds behind `regrets`


def contrast(first: ArrayLike, second: ArrayLike) -> dict:
    """Errors of the same seeds under two variants: median ratio second/first, interval, wins, p.

    All but n are NaN if an error is missing or there are fewer than two.
    """
    first = np.asarray(first, dtype=float)
    second = np.asarray(second, dtype=float)
    log_ratio = np.log(second / first)
    known = np.isfinite(log_ratio)
    row = {
        "n": int(known.sum()),
        "ratio": np.nan,
        "low": np.nan,
        "high": np.nan,
        "first_wins": np.nan,
        "p_raw": np.nan,
    }
    if len(log_ratio) < 2 or not known.all():
        return row
    sample = stats.bootstrap((log_ratio,), np.median, rng=0, **BOOTSTRAP)
    low, high = sample.confidence_interval
    ends = np.exp([low, np.median(log_ratio), high])
    row["low"], row["ratio"], row["high"] = ends
    row["first_wins"] = (log_ratio > 0).mean()
    row["p_raw"] = wilcoxon_row(first, second)["p_raw"]
    return row


def _with_error(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The runs with the metric as `error`, NaN where a run is not ok."""
    ok = runs["status"] == "ok"
    return runs.assign(error=runs[metric].where(ok))


def contrasts(
    runs: pd.DataFrame,
    pairs: Sequence[tuple],
    column: str = "gate",
    by: Sequence[str] = ("k",),
    metric: str = "rel_l2_u",
) -> pd.DataFrame:
    """One row per cell of `by` and pair (first, second) of values of `column`.

    A ratio above 1 means that the first is better. One call is one family of tests for Holm's
    correction; a pair that lacks a run has NaN and still counts. The interval is that of the median
    ratio, p that of Wilcoxon's test on the differences: the two can disagree.
    """
    known = set(runs[column])
    variants = set(itertools.chain(*pairs))
    names = ", ".join(map(str, sorted(known)))
    validate("pairs", pairs, variants <= known, f"pairs out of {names}")
    rows = []
    for cell, part in _with_error(runs, metric).groupby(list(by)):
        wide = part.pivot(index="seed", columns=column, values="error")
        wide = wide.reindex(columns=list(variants))
        for first, second in pairs:
            row = dict(zip(by, cell, strict=True))
            row |= {"first": first, "second": second}
            row |= contrast(wide[first], wide[second])
            rows.append(row)
    table = pd.DataFrame(rows)
    return table.assign(p_holm=holm(table["p_raw"]))


def family(*tables: pd.DataFrame, planned: int = 0) -> list[pd.DataFrame]:
    """The tables with Holm's correction over all their rows, at least `planned` tests."""
    p = np.concatenate([table["p_raw"] for table in tables])
    absent = max(planned - len(p), 0)
    nothing = np.full(absent, np.nan)
    adjusted = holm(np.append(p, nothing))
    corrected = []
    for table in tables:
        own = adjusted[: len(table)]
        adjusted = adjusted[len(table) :]
        corrected.append(table.assign(p_holm=own))
    return corrected


def preferred(under: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """k × loss → the gate with the smallest median error; `under` maps a loss to its runs."""
    best = {}
    for loss, runs in under.items():
        cells = summary_table(runs, "rel_l2_u")
        medians = cells.pivot(index="gate", columns="k", values="median")
        best[loss] = smallest(medians)
    return pd.DataFrame(best)


def smallest(table: pd.DataFrame) -> pd.Series:
    """Column → the index of its smallest value, None where a value is missing."""
    best = {}
    for name, column in table.items():
        complete = column.notna().all()
        best[name] = column.idxmin() if complete else None
    return pd.Series(best, dtype=object)


def each_under_its_own(under: Mapping[str, pd.DataFrame], best: pd.DataFrame) -> pd.DataFrame:
    """Where the `preferred` gates of two losses differ: each against the other, under its own loss.

    Holm's correction counts the tests that were planned: one per loss at every k.
    """
    tables = []
    differ = best[best.nunique(axis=1) > 1]
    for k, gates in differ.iterrows():
        for loss, runs in under.items():
            other = gates.drop(loss).iloc[0]
            at_k = runs[runs["k"] == k]
            table = contrasts(at_k, [(gates[loss], other)])
            tables.append(table.assign(loss=loss))
    if not tables:  # no row, but the columns and their types
        row = {"k": 0, "first": "", "second": ""}
        row |= contrast([], [])
        row |= {"p_holm": np.nan, "loss": ""}
        return pd.DataFrame([row])[:0]
    together = pd.concat(tables, ignore_index=True)
    (table,) = family(together, planned=best.size)
    return table


def regrets(runs: pd.DataFrame, metric: str = "rel_l2_u") -> pd.DataFrame:
    """Per gate: `regret_<k>`, the median error over that of the best gate at this k; best first.

    `regret_worst` is the largest over k, with its bootstrap 95% interval `low` to `high` over whole
    seeds; `best_in` is the share of samples in which it is the smallest of all gates.
    """
    ks = sorted(set(runs["k"]))
    gates = pd.Index(sorted(set(runs["gate"])), name="gate")
    cells = pd.MultiIndex.from_product([ks, gates])
    wide = _with_error(runs, metric).pivot(
        index="seed",
        columns=["k", "gate"],
        values="error",
    )
    errors = wide.reindex(columns=cells).to_numpy()
    errors = errors.reshape(-1, len(ks), len(gates))  # (seeds, k, gates)
    seeds = len(errors)
    medians = np.median(errors, axis=0)  # (k, gates)
    regret = _over_smallest(medians)
    rng = np.random.default_rng(0)
    draws = rng.integers(seeds, size=(RESAMPLES, seeds))
    parts = []
    for some in np.array_split(draws, 20):  # to save memory
        drawn = np.median(errors[some], axis=1)  # (samples, k, gates)
        parts.append(_over_smallest(drawn).max(axis=1))
    worst = np.concatenate(parts)  # (samples, gates)
    least = worst.min(axis=1, keepdims=True)
    is_best = worst == least
    table = pd.DataFrame(index=gates)
    for k, row in zip(ks, regret, strict=True):
        table[f"regret_{k:g}"] = row
    table["regret_worst"] = regret.max(axis=0)
    table["low"] = np.quantile(worst, 0.025, axis=0)
    table["high"] = np.quantile(worst, 0.975, axis=0)
    table["best_in"] = is_best.mean(axis=0)
    for k, row in zip(ks, medians, strict=True):
        table[f"median_{k:g}"] = row
    return table.sort_values("regret_worst", kind="stable")


def _over_smallest(medians: np.ndarray) -> np.ndarray:
    """Each median over the smallest of all gates, which are the last axis."""
    return medians / medians.min(axis=-1, keepdims=True)


def lost(table: pd.DataFrame) -> pd.Series:
    """Variant → how many of its contrasts it loses significantly after Holm's correction."""
    both = table[["first", "second"]].to_numpy()
    counts = dict.fromkeys(both.ravel(), 0)
    significant = table[table["p_holm"] < LEVEL]
    for row in significant.itertuples():
        if row.ratio > 1:
            counts[row.second] += 1
        elif row.ratio < 1:
            counts[row.first] += 1
    return pd.Series(counts)


def ratio_texts(table: pd.DataFrame) -> list[str]:
    """Each row as "1.52 [1.40, 1.60]*"; the star marks p below 0.05 after Holm's correction."""
    texts = []
    for row in table.itertuples():
        star = "*" if row.p_holm < LEVEL else ""
        text = f"{row.ratio:.2f} [{row.low:.2f}, {row.high:.2f}]{star}"
        texts.append(text)
    return texts
