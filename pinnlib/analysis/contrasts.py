"""Any two variants over common seeds: ratio of errors, interval, corrected p; families; regrets."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from pinnlib.analysis.paired import BOOTSTRAP, LEVEL, holm, summary_table, wilcoxon_row
from pinnlib.registry import validate

RESAMPLES = 99_999  # of the seeds behind `regrets`


def contrast(first: ArrayLike, second: ArrayLike) -> dict:
    """Errors of the same seeds under two variants: median ratio second/first, interval, wins, p.

    All but n are NaN if an error is missing or there are fewer than two.
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    log_ratio = np.log(second / first)
    known = np.isfinite(log_ratio)
    row = {"n": int(known.sum()), "ratio": np.nan, "low": np.nan, "high": np.nan}
    row |= {"first_wins": np.nan, "p_raw": np.nan}
    if len(log_ratio) < 2 or not known.all():
        return row
    interval = stats.bootstrap((log_ratio,), np.median, rng=0, **BOOTSTRAP).confidence_interval
    row["ratio"], row["low"], row["high"] = np.exp([np.median(log_ratio), *interval])
    row["first_wins"] = (log_ratio > 0).mean()
    row["p_raw"] = wilcoxon_row(first, second)["p_raw"]
    return row


def _with_error(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The runs with the metric as `error`, NaN where a run is not ok."""
    return runs.assign(error=runs[metric].where(runs["status"] == "ok"))


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
    variants = list(dict.fromkeys(name for pair in pairs for name in pair))
    allowed = f"pairs out of {', '.join(map(str, sorted(known)))}"
    validate("pairs", pairs, set(variants) <= known, allowed)
    rows = []
    for cell, part in _with_error(runs, metric).groupby(list(by)):
        wide = part.pivot(index="seed", columns=column, values="error").reindex(columns=variants)
        for first, second in pairs:
            row = dict(zip(by, cell, strict=True)) | {"first": first, "second": second}
            rows.append(row | contrast(wide[first], wide[second]))
    table = pd.DataFrame(rows)
    return table.assign(p_holm=holm(table["p_raw"]))


def family(*tables: pd.DataFrame, planned: int = 0) -> list[pd.DataFrame]:
    """The tables with Holm's correction over all their rows, at least `planned` tests."""
    p = np.concatenate([table["p_raw"] for table in tables])
    absent = max(planned - len(p), 0)
    adjusted = holm(np.append(p, np.full(absent, np.nan)))[: len(p)]
    ends = np.cumsum([len(table) for table in tables])
    parts = np.split(adjusted, ends[:-1])
    return [table.assign(p_holm=part) for table, part in zip(tables, parts, strict=True)]


def preferred(under: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """k × loss → the gate with the smallest median error; `under` maps a loss to its runs."""
    best = {}
    for loss, runs in under.items():
        medians = summary_table(runs, "rel_l2_u")
        best[loss] = smallest(medians.pivot(index="gate", columns="k", values="median"))
    return pd.DataFrame(best)


def smallest(table: pd.DataFrame) -> pd.Series:
    """Column → the index of its smallest value, None where a value is missing."""
    best = {}
    for name, column in table.items():
        best[name] = column.idxmin() if column.notna().all() else None
    return pd.Series(best, dtype=object)


def each_under_its_own(under: Mapping[str, pd.DataFrame], best: pd.DataFrame) -> pd.DataFrame:
    """Where the `preferred` gates of two losses differ: each against the other, under its own loss.

    Holm's correction counts the tests that were planned: one per loss at every k.
    """
    tables = []
    for k, gates in best[best.nunique(axis=1) > 1].iterrows():
        for loss, runs in under.items():
            pair = (gates[loss], gates.drop(loss).iloc[0])
            tables.append(contrasts(runs[runs["k"] == k], [pair]).assign(loss=loss))
    if not tables:  # no row, but the columns and their types
        row = {"k": 0, "first": "", "second": "", **contrast([], []), "p_holm": np.nan, "loss": ""}
        return pd.DataFrame([row])[:0]
    (table,) = family(pd.concat(tables, ignore_index=True), planned=len(under) * len(best))
    return table


def regrets(runs: pd.DataFrame) -> pd.DataFrame:
    """Per gate: `regret_<k>`, the median error over that of the best gate at this k; best first.

    `regret_worst` is the largest over k, with its bootstrap 95% interval `low` to `high` over whole
    seeds; `best_in` is the share of samples in which it is the smallest of all gates.
    """
    ks, gates = sorted(set(runs["k"])), sorted(set(runs["gate"]))
    wide = _with_error(runs, "rel_l2_u").pivot(index="seed", columns=["k", "gate"], values="error")
    wide = wide.reindex(columns=pd.MultiIndex.from_product([ks, gates]))
    errors = wide.to_numpy().reshape(len(wide), len(ks), len(gates))
    medians = np.median(errors, axis=0)  # (k, gates)
    regret = medians / medians.min(axis=1, keepdims=True)
    draws = np.random.default_rng(0).integers(len(errors), size=(RESAMPLES, len(errors)))
    worst = np.concatenate([_worst_regrets(errors[part]) for part in np.array_split(draws, 20)])
    index = pd.Index(gates, name="gate")
    table = pd.DataFrame(regret.T, index, [f"regret_{k:g}" for k in ks])
    table["regret_worst"] = regret.max(axis=0)
    table["low"], table["high"] = np.quantile(worst, [0.025, 0.975], axis=0)
    table["best_in"] = (worst == worst.min(axis=1, keepdims=True)).mean(axis=0)
    table = table.join(pd.DataFrame(medians.T, index, [f"median_{k:g}" for k in ks]))
    return table.sort_values("regret_worst", kind="stable")


def _worst_regrets(samples: np.ndarray) -> np.ndarray:
    """(samples, gates): the largest regret over k, of errors (samples, seeds, k, gates)."""
    medians = np.median(samples, axis=1)
    return (medians / medians.min(axis=2, keepdims=True)).max(axis=1)


def lost(table: pd.DataFrame) -> pd.Series:
    """Variant → how many of its contrasts it loses significantly after Holm's correction."""
    significant = table[(table["p_holm"] < LEVEL) & (table["ratio"] != 1)]
    losers = significant["second"].where(significant["ratio"] > 1, significant["first"])
    variants = pd.unique(table[["first", "second"]].to_numpy().ravel())
    return losers.value_counts().reindex(variants, fill_value=0)


def ratio_texts(table: pd.DataFrame) -> list[str]:
    """Each row as "1.52 [1.40, 1.60]*"; the star marks p below 0.05 after Holm's correction."""
    texts = []
    for row in table.itertuples():
        star = "*" if row.p_holm < LEVEL else ""
        texts.append(f"{row.ratio:.2f} [{row.low:.2f}, {row.high:.2f}]{star}")
    return texts
