"""What the records hold (notebook 02): coverage of the studies, training histories, frequencies."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.runs.record import Records
from pinnlib.runs.table import runs_of, specs_of
from pinnlib.spec import RunSpec
from pinnlib.style.figures import GATE_COLOURS, PURPLE, panels, styles

HISTORY = ["model", "gate", "k", "seed", "update"]
HISTORY += ["total", "physics", "velocity", "rms_r", "rms_theta"]
FREQUENCY = ["gate", "k", "seed", "number", "start", "learned"]


def study_runs(
    studies: Sequence[str], records: Records, seeds: int | None, steps: int
) -> dict[str, pd.DataFrame]:
    """The runs of each study; a run without a record has status "missing"."""
    return {s: runs_of(specs_of(s, seeds=seeds, steps=steps), records) for s in studies}


def coverage_table(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Runs done of runs needed ("20/20") per study, λ, model and gate, one column per k.

    Diverged runs count as done, failed ones do not.
    """
    frame = pd.concat(runs, names=["study"]).reset_index("study")
    frame["done"] = frame["status"].isin(["ok", "diverged"])
    cells = frame.groupby(["study", "lambda_ic", "model", "gate", "k"])["done"]
    counts = cells.agg(["sum", "size"]).astype(str)
    table = (counts["sum"] + "/" + counts["size"]).unstack("k", fill_value="")
    return table.loc[list(runs)].rename(columns="{:g}".format)


def status_counts(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Per study: runs ok, diverged, failed, missing and needed."""
    counts = {study: frame["status"].value_counts() for study, frame in runs.items()}
    table = pd.DataFrame(counts).T.reindex(columns=["ok", "diverged", "failed", "missing"])
    table = table.fillna(0).astype(int)
    return table.assign(needed=table.sum(axis=1)).rename_axis("study")


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
    frames = [pd.DataFrame(columns=HISTORY)]
    for spec, record in _ok_records(specs, records):
        identity = spec.select("model", "gate", "k", "seed")
        frames.append(pd.DataFrame(record["history"]).assign(**identity))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def learned_frequencies(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """One row per frequency of every finished adaptive run: its start and its learned value."""
    frames = [pd.DataFrame(columns=FREQUENCY)]
    for spec, record in _ok_records(specs, records):
        if record["frequencies"] is None:
            continue
        frame = pd.DataFrame({"start": spec.trunk.start, "learned": record["frequencies"]})
        frame = frame.assign(number=frame.index, **spec.select("gate", "k", "seed"))
        frames.append(frame[FREQUENCY])
    return pd.concat(frames[1:] or frames, ignore_index=True)


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
    names = {"rms_r": "RMS of $R_r$ [m/s²]", "rms_theta": "RMS of $R_θ$ [rad/s²]"}
    figure, axes = panels(2, len(ks), height=3.6, sharex=True, sharey="row")
    looks = styles(sorted(set(history["model"])), sorted(set(history["gate"])))
    for column, k in zip(axes.T, ks, strict=True):
        at_k = history[history["k"] == k]
        for axis, name in zip(column, names, strict=True):
            for (model, gate), runs in at_k.groupby(["model", "gate"]):
                quartiles = runs.groupby("update")[name].quantile([0.25, 0.5, 0.75]).unstack()
                look = _line_look(looks[model, gate], gate)
                label = f"{model}, {gate} (n={runs['seed'].nunique()})"
                axis.plot(quartiles.index, quartiles[0.5], **look, label=label)
                axis.fill_between(
                    quartiles.index,
                    quartiles[0.25],
                    quartiles[0.75],
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
            axis.plot(middle.index, middle, **look, label=f"{gate} (n={runs['seed'].nunique()})")
        axis.axvline(np.sqrt(k), color="0.6", linewidth=0.7, linestyle=":")
        axis.set(xscale="log", title=f"$k={k:g}$", xlabel="initial frequency [rad/s]")
        _add_legend(axis, at_k)
    axes[0, 0].set_ylabel("learned − initial [rad/s]")
    return figure
