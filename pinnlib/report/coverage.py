"""What the records hold: coverage of the studies, learning curves, learned frequencies."""

import numpy as np
import pandas as pd

from pinnlib.runs.table import runs_of, specs_of
from pinnlib.spec import RunSpec
from pinnlib.style.figures import FULL, GATE_COLOURS, PURPLE, panels, styles


def coverage_table(studies, records, seeds=None, steps=RunSpec.steps):
    """study × λ × model × gate → one column per k: runs done of runs needed, "20/20"; diverged runs are done, failed ones are not."""
    rows = []
    for study in studies:
        frame = runs_of(specs_of(study, seeds=seeds, steps=steps), records)
        done = frame["status"].isin(["ok", "diverged"])
        cells = (
            frame.assign(study=study, done=done)
            .groupby(["study", "lambda_ic", "model", "gate", "k"])["done"]
            .agg(["sum", "size"])
        )
        rows.append(cells["sum"].astype(str) + "/" + cells["size"].astype(str))
    table = pd.concat(rows).unstack("k", fill_value="")
    return table.loc[[study for study in studies if study in table.index.levels[0]]].rename(
        columns="{:g}".format
    )


def totals(studies, records, seeds=None, steps=RunSpec.steps):
    """study → needed, ok, diverged, failed, missing."""
    counts = {
        study: runs_of(specs_of(study, seeds=seeds, steps=steps), records)["status"].value_counts()
        for study in studies
    }
    table = (
        pd.DataFrame(counts)
        .T.reindex(columns=["ok", "diverged", "failed", "missing"])
        .fillna(0)
        .astype(int)
    )
    return table.assign(needed=table.sum(axis=1)).rename_axis("study")


def histories(specs, records):
    """Loss terms and residuals of the given runs in one long table: model, gate, k, seed, update, total, physics, velocity, rms_…"""
    frames = []
    for spec in specs:
        record = records.get(spec.key)
        if record is not None and record["status"] == "ok":
            told = {name: getattr(spec, name) for name in ("model", "gate", "k", "seed")}
            frames.append(pd.DataFrame(record["history"]).assign(**told))
    columns = [
        "model",
        "gate",
        "k",
        "seed",
        "update",
        "total",
        "physics",
        "velocity",
        "rms_r",
        "rms_theta",
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def _line(look, gate):
    """A look without markers, in the colour of the gate."""
    return look | {"marker": None, "color": GATE_COLOURS.get(gate, PURPLE)}


def learning_curves(history, ks, columns=("rms_r", "rms_theta")):
    """Median over seeds, with the band that holds the middle half of them, against the update; a row per column, a panel per k."""
    names = {
        "rms_r": "RMS of $R_r$ [m/s²]",
        "rms_theta": "RMS of $R_θ$ [rad/s²]",
        "velocity": "velocity penalty",
    }
    figure, axes = panels(
        len(columns), len(ks), FULL, 0.6 + 1.5 * len(columns), sharex=True, sharey="row"
    )
    looks = styles(sorted(set(history["model"])), sorted(set(history["gate"])))
    for i, (row, column) in enumerate(zip(axes, columns)):
        for axis, k in zip(row, ks):
            for (model, gate), runs in history[history["k"] == k].groupby(["model", "gate"]):
                low, middle, high = (
                    runs.groupby("update")[column].quantile(q) for q in (0.25, 0.5, 0.75)
                )
                look = _line(looks[model, gate], gate)
                axis.plot(
                    middle.index,
                    middle,
                    **look,
                    label=f"{model}, {gate} (n={runs['seed'].nunique()})",
                )
                axis.fill_between(
                    middle.index,
                    low,
                    high,
                    color=look["color"],
                    alpha=0.15 if gate == "exp" else 0.3,
                    linewidth=0,
                )
            axis.set(
                yscale="log",
                title=f"$k={k:g}$" if i == 0 else "",
                xlabel="update" if i == len(columns) - 1 else "",
            )
        row[0].set_ylabel(names.get(column, column))
    for axis in axes[0]:
        axis.legend() if axis.lines else axis.text(
            0.5, 0.5, "no runs on record", ha="center", transform=axis.transAxes
        )
    return figure


def learned_frequencies(specs, records):
    """One row per frequency of every adaptive run on record: gate, k, seed, start, learned."""
    rows = []
    for spec in specs:
        record = records.get(spec.key)
        if record is not None and record["status"] == "ok" and record["frequencies"] is not None:
            start = spec.trunk.start
            told = {
                "gate": spec.gate,
                "k": spec.k,
                "seed": spec.seed,
                "number": np.arange(len(start)),
            }
            rows.append(pd.DataFrame(told | {"start": start, "learned": record["frequencies"]}))
    return (
        pd.concat(rows, ignore_index=True)
        if rows
        else pd.DataFrame(columns=["gate", "k", "seed", "number", "start", "learned"])
    )


def frequency_shift(frequencies, ks):
    """Learned minus initial frequency against the initial one: every run a dot, the median over seeds a line; a panel per k."""
    figure, axes = panels(1, len(ks), FULL, 2.3, sharey=True)
    looks = styles(["adaptive"], sorted(set(frequencies["gate"])))
    for axis, k in zip(axes[0], ks):
        for gate, runs in frequencies[frequencies["k"] == k].groupby("gate"):
            shift, look = runs["learned"] - runs["start"], _line(looks["adaptive", gate], gate)
            axis.plot(runs["start"], shift, ".", color=look["color"], markersize=1.5, alpha=0.35)
            middle = shift.groupby(runs["start"]).median()
            axis.plot(middle.index, middle, **look, label=f"{gate} (n={runs['seed'].nunique()})")
        axis.axvline(np.sqrt(k), color="0.6", linewidth=0.7, linestyle=":")
        axis.set(xscale="log", title=f"$k={k:g}$", xlabel="initial frequency [rad/s]")
        axis.legend() if axis.lines[:-1] else axis.text(
            0.5, 0.5, "no runs on record", ha="center", transform=axis.transAxes
        )
    axes[0, 0].set_ylabel("learned − initial [rad/s]")
    return figure
