"""Which part of the horizon loses its residual first (notebook 05): measured in windows of time,
and predicted by the kernel."""

import itertools

import numpy as np
import pandas as pd

from pinnlib.metrics import state_error
from pinnlib.report.kernel_measurements import (
    Specs,
    Updates,
    concatenate_stages,
    stages_on_record,
)
from pinnlib.result import predict
from pinnlib.runs.record import Records


def in_time(specs: Specs, updates: Updates, records: Records, windows: int = 4) -> pd.DataFrame:
    """One row per run, update and window of the horizon: RMS of the state's error and residual."""
    frames = []
    for row, spec, parameters in stages_on_record(specs, updates, records):
        system = spec.system_object
        reference = spec.reference
        names = list(system.components)
        state = predict(spec, parameters, reference.t[::10])
        error = state_error(system, state[names].to_numpy().T, reference.q[:, ::10])
        residual = state[[f"residual_{name}" for name in names]]
        ends = np.linspace(0, spec.horizon, windows + 1)
        pairs = itertools.pairwise(ends)
        row["window"] = [f"{start:g}–{end:g}" for start, end in pairs]
        row["error"] = _window_rms(error, windows)
        row["residual"] = _window_rms(residual.to_numpy().T, windows)
        frames.append(pd.DataFrame(row))
    return concatenate_stages(frames)


def _window_rms(values: np.ndarray, windows: int) -> list[float]:
    """Root mean square over time of the norm of `values` (components, times), window by window."""
    squares = np.square(values).sum(axis=0)
    sizes = []
    for part in np.array_split(squares, windows):
        sizes.append(np.sqrt(part.mean()))
    return sizes


def early_first(timed: pd.DataFrame) -> pd.DataFrame:
    """Per gate and update: in how many runs the early half has less of its first residual left.

    `timed` is a table of `in_time` with two windows.
    """
    run = ["gate", "k", "seed"]
    halves = timed.pivot(
        index=[*run, "update"],
        columns="window",
        values="residual",
    )
    first = halves.groupby(run).transform("first")  # update 0 comes first
    left = halves / first
    early, late = left.columns
    ahead = left[early] < left[late]
    later = ahead.drop(0, level="update")
    by_moment = later.groupby(["gate", "update"])
    columns = {"early half ahead": by_moment.sum(), "of": by_moment.size()}
    return pd.DataFrame(columns)


def late_first(measured: pd.DataFrame) -> pd.DataFrame:
    """Per gate: in how many runs the kernel makes the late half's residual fall faster.

    Beside it the smallest, median and largest ratio of the rates.
    """
    names = ["rate_late_over_early", "balanced_rate_late_over_early"]
    gates = measured["gate"]
    rates = measured[names].groupby(gates)
    ahead = (measured[names] > 1).groupby(gates).sum()
    columns = {
        "late half predicted ahead": ahead.assign(of=rates.size()),
        "ratio of rates, smallest": rates.min(),
        "ratio of rates, median": rates.median(),
        "ratio of rates, largest": rates.max(),
    }
    return pd.concat(columns, axis=1)
