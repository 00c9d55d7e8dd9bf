"""Samples of errors from a table of runs: cells with their mean, pairs of gates over common seeds.

A cell is a setting, a k and a gate; a pair is one seed under the exponential and the linear gate.
A run that is not ok is never dropped silently: results that depend on it are NaN, unless
`partial=True` asks for the seeds that are complete.
"""

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pandas as pd

from pinnlib.analysis.estimates import t_interval
from pinnlib.registry import validate
from pinnlib.spec import RunSpec

METRICS = ("max_ae_u", "rel_l2_u")
STATUSES = ("ok", "missing", "diverged", "failed")
SETTING = ["lambda_ic", "loss", "model"]  # one family of tests
CELL = [*SETTING, "k", "gate"]
TEST = [*SETTING, "k", "metric"]
Ks = Sequence[float] | None  # None: every k


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


def pairs_at(frame: pd.DataFrame, ks: Ks, metrics: Sequence[str] = METRICS) -> pd.DataFrame:
    """The pairs of the metrics at the stiffnesses `ks`."""
    tables = [pair_runs(frame, metric) for metric in metrics]
    pairs = pd.concat(tables, ignore_index=True)
    if ks is None:
        return pairs
    known = sorted(set(pairs["k"]))
    validate("ks", ks, set(ks) <= set(known), f"out of {known}")
    return pairs[pairs["k"].isin(ks)]


def known_by_k(pairs: pd.DataFrame) -> pd.Series:
    """Per row of `pair_runs`: did the gate win that wins most of the other seeds at the same k?"""
    exp_wins = pairs["log_ratio"] > 0
    at_same_k = exp_wins.groupby(pairs["k"])
    others = at_same_k.transform("size") - 1
    wins_of_others = at_same_k.transform("sum") - exp_wins
    share = wins_of_others / others
    return (share > 0.5) == exp_wins  # a draw among the others counts for the linear gate
