"""What the records hold (notebook 02): coverage of the studies, training histories, frequencies."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.runs.record import Records, history_of, result_of
from pinnlib.runs.table import runs_of, specs_of
from pinnlib.spec import RunSpec
from pinnlib.style.figures import GATE_COLOURS, PURPLE, panels, styles

HISTORY = ["model", "gate", "k", "seed", "update"]
HISTORY += ["total", "physics", "velocity", "rms_r", "rms_theta"]
FREQUENCY = ["gate", "k", "seed", "number", "start", "learned"]


def study_runs(
    studies: Sequence[str],
    records: Records,
    seeds: int | None,
    steps: int,
) -> dict[str, pd.DataFrame]:
    """The runs of each study; a run without a record has status "missing"."""
    runs = {}
    for study in studies:
        specs = specs_of(study, seeds=seeds, steps=steps)
        runs[study] = runs_of(specs, records)
    return runs


def coverage_table(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Runs done of runs needed ("20/20") per study, λ, model and gate, one column per k.

    Diverged runs count as done, failed ones do not.
    """
    frame = pd.concat(runs, names=["study"]).reset_index("study")
    frame["done"] = frame["status"].isin(["ok", "diverged"])
    cells = frame.groupby(["study", "lambda_ic", "model", "gate", "k"])["done"]
    done = cells.sum().astype(str)
    needed = cells.size().astype(str)
    texts = done + "/" + needed
    table = texts.unstack("k", fill_value="").loc[list(runs)]
    return table.rename(columns="{:g}".format)


def status_counts(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Per study: runs ok, diverged, failed, missing and needed."""
    rows = {}
    for study, frame in runs.items():
        rows[study] = {}
        for status in ("ok", "diverged", "failed", "missing"):
            has_status = frame["status"] == status
            rows[study][status] = has_status.sum()
        rows[study]["needed"] = len(frame)
    table = pd.DataFrame.from_dict(rows, orient="index")
    return table.rename_axis("study")


def totals(
    studies: Sequence[str],
    records: Records,
    seeds: int | None = None,
    steps: int = RunSpec.steps,
) -> pd.DataFrame:
    """`status_counts` of the named studies."""
    return status_counts(study_runs(studies, records, seeds, steps))


def _ok_records(specs, records):
    for spec in specs:
        record = records.get(spec.key)
        if record is not None and record["status"] == "ok":
            yield spec, record


def training_histories(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """Loss terms and residuals of the finished runs in one long table, one row per update."""
    frames = []
    for spec, record in _ok_records(specs, records):
        identity = spec.select("model", "gate", "k", "seed")
        frames.append(history_of(record).assign(**identity))
    return _concatenate(frames, HISTORY)


def _concatenate(frames, columns):
    """The frames in one, or an empty table with the columns if there is none."""
    if not frames:
        return pd.DataFrame(columns=columns)
    return pd.concat(frames, ignore_index=True)


def learned_frequencies(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """One row per frequency of every finished adaptive run: its start and its learned value."""
    frames = []
    for spec, record in _ok_records(specs, records):
        if record["parameters"] is None:
            continue
        learned = result_of(record).frequencies
        if learned is None:
            continue
        columns = spec.select("gate", "k", "seed")
        columns["number"] = range(len(learned))
        columns["start"] = spec.trunk.start
        columns["learned"] = learned
        frames.append(pd.DataFrame(columns))
    return _concatenate(frames, FREQUENCY)


def _line_look(look, gate):
    """A look without markers, in the colour of the gate."""
    return look | {"marker": None, "color": GATE_COLOURS.get(gate, PURPLE)}


def _add_legend(axis, runs):
    """The legend of a panel, or a note where it has no runs."""
    if len(runs):
        axis.legend()
    else:
        axis.text(0.5, 0.5, "no runs on record", ha="center", transform=axis.transAxes)


def plot_learning_curves(history: pd.DataFrame, ks: Sequence[float]) -> Figure:
    """Residuals against the update, median and quartiles over seeds; one panel per k."""
    names = {
        "rms_r": "RMS of $R_r$ [m/s²]",
        "rms_theta": "RMS of $R_θ$ [rad/s²]",
    }
    figure, axes = panels(2, len(ks), height=3.6, sharex=True, sharey="row")
    looks = styles(sorted(set(history["model"])), sorted(set(history["gate"])))
    for column, k in zip(axes.T, ks, strict=True):
        at_k = history[history["k"] == k]
        for axis, name in zip(column, names, strict=True):
            for (model, gate), runs in at_k.groupby(["model", "gate"]):
                residuals = runs.groupby("update")[name]
                median = residuals.median()
                look = _line_look(looks[model, gate], gate)
                label = f"{model}, {gate} (n={runs['seed'].nunique()})"
                axis.plot(median, **look, label=label)
                axis.fill_between(
                    median.index,
                    residuals.quantile(0.25),
                    residuals.quantile(0.75),
                    color=look["color"],
                    alpha=0.15 if gate == "exp" else 0.3,
                    linewidth=0,
                )
            axis.set_yscale("log")
        column[0].set_title(f"$k={k:g}$")
        column[-1].set_xlabel("update")
        _add_legend(column[0], at_k)
    for axis, label in zip(axes[:, 0], names.values(), strict=True):
        axis.set_ylabel(label)
    return figure


def plot_frequency_shift(frequencies: pd.DataFrame, ks: Sequence[float]) -> Figure:
    """Learned minus initial against the initial frequency: runs as dots, the median as a line.

    One panel per k; the dotted line is √(k/m) with m = 1.
    """
    figure, axes = panels(1, len(ks), height=2.3, sharey=True)
    looks = styles(["adaptive"], sorted(set(frequencies["gate"])))
    shifts = frequencies.assign(shift=frequencies["learned"] - frequencies["start"])
    for axis, k in zip(axes[0], ks, strict=True):
        at_k = shifts[shifts["k"] == k]
        for gate, runs in at_k.groupby("gate"):
            look = _line_look(looks["adaptive", gate], gate)
            axis.plot(
                runs["start"],
                runs["shift"],
                ".",
                color=look["color"],
                markersize=1.5,
                alpha=0.35,
            )
            middle = runs.groupby("start")["shift"].median()
            label = f"{gate} (n={runs['seed'].nunique()})"
            axis.plot(middle, **look, label=label)
        axis.axvline(np.sqrt(k), color="0.6", linewidth=0.7, linestyle=":")
        axis.set(xscale="log", title=f"$k={k:g}$")
        axis.set_xlabel("initial frequency [rad/s]")
        _add_legend(axis, at_k)
    axes[0, 0].set_ylabel("learned − initial [rad/s]")
    return figure
