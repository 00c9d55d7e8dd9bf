"""What the records hold (notebook 02): coverage of the studies, training histories, frequencies."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.runs.record import Records, history_of, result_of
from pinnlib.runs.table import runs_of, specs_of
from pinnlib.spec import RunSpec
from pinnlib.style.figures import RED, STIFFNESS, add_note, panels, plain_ticks, styles
from pinnlib.style.labels import GATE_WORDS

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


def coverage_answer(
    runs: Mapping[str, pd.DataFrame], stored: pd.DataFrame, checked: pd.DataFrame
) -> str:
    """Which runs the studies need, whether they are on record, and how they ended.

    `stored` are all runs of the store, `checked` those that `audit` trained again.
    """
    needed = pd.concat(runs.values()).drop_duplicates("key")
    missing = (needed["status"] == "missing").sum()
    subject = "The study needs" if len(runs) == 1 else f"The {len(runs)} studies need"
    on_record = "all of them are on record"
    if missing:
        on_record = f"{missing:,} of them are not on record"
    sentences = [
        f"{subject} {len(needed):,} distinct runs, and {on_record}.",
        f"{_endings(stored)} among the {len(stored):,} runs of all studies in the store.",
    ]
    if len(checked):
        wrong = (checked["verdict"] == "MISMATCH").sum()
        outcome = "came out as recorded, to the bit"
        if wrong:
            outcome = f"did not all come out as recorded ({wrong} did not)"
        sentences.append(f"{len(checked)} drawn at random and trained again here {outcome}.")
    return " ".join(sentences)


def _endings(stored):
    """ "No run diverged and none failed", or the numbers."""
    diverged = (stored["status"] == "diverged").sum()
    failed = (stored["status"] == "failed").sum()
    if diverged == failed == 0:
        return "No run diverged and none failed"
    return f"{diverged:,} diverged and {failed:,} failed"


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
        columns["start"] = spec.trunk.initial_frequencies
        columns["learned"] = learned
        frames.append(pd.DataFrame(columns))
    return _concatenate(frames, FREQUENCY)


def plot_coverage(runs: Mapping[str, pd.DataFrame]) -> Figure:
    """Runs on record, one row per study, λ and model, one column per k, both gates together.

    A cell has the number of runs needed; where some are not done, it is red: "done/needed".
    """
    frame = pd.concat(runs, names=["study"]).reset_index("study")
    frame["done"] = frame["status"].isin(["ok", "diverged"])
    rows = ["study", "lambda_ic", "model"]
    cells = frame.groupby([*rows, "k"], sort=False)["done"].agg(["sum", "size"])
    names = list(dict.fromkeys(cells.index.droplevel("k")))
    ks = sorted(frame["k"].unique())
    figure, ((axis,),) = panels(1, 1, height=0.8 + 0.2 * len(names))
    for (*row, k), (done, needed) in zip(cells.index, cells.to_numpy(), strict=True):
        complete = done == needed
        axis.text(
            ks.index(k),
            names.index(tuple(row)),
            f"{needed}" if complete else f"{done}/{needed}",
            ha="center",
            va="center",
            color="black" if complete else "white",
            bbox={"facecolor": "0.9" if complete else RED, "linewidth": 0, "pad": 2.5},
        )
    labels = [
        rf"{study}: {model}, $\lambda_\mathrm{{IC}}={value:g}$" for study, value, model in names
    ]
    axis.set_yticks(range(len(names)), labels)
    axis.set_xticks(range(len(ks)), [f"{k:g}" for k in ks])
    axis.set(xlim=(-0.6, len(ks) - 0.4), ylim=(len(names) - 0.4, -0.6), xlabel=STIFFNESS)
    axis.grid(False)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    missing = (~frame["done"]).sum()
    axis.set_title(
        f"{missing} runs are missing" if missing else "Every run is on record", loc="left"
    )
    note = "Numbers of runs, both gates together"
    add_note(figure, f"{note}; red: done/needed." if missing else f"{note}.")
    return figure


def _line_look(look):
    return look | {"marker": None}


def _label_gates(axis, looks, runs, side="right"):
    """The gates in their colours, or a note where a panel has no runs."""
    if runs.empty:
        axis.text(0.5, 0.5, "no runs on record", ha="center", transform=axis.transAxes)
    x, y = {"left": 0.02, "right": 0.98}[side], 0.97
    for gate, of_gate in runs.groupby("gate"):
        words = f"{GATE_WORDS.get(gate, gate)} gate ({of_gate['seed'].nunique()} seeds)"
        axis.text(
            x,
            y,
            words,
            ha=side,
            va="top",
            color=looks["adaptive", gate]["color"],
            transform=axis.transAxes,
        )
        y -= 0.11


def plot_learning_curves(history: pd.DataFrame, ks: Sequence[float]) -> Figure:
    """Residuals of the adaptive model against the update, one panel per k.

    Lines are medians over seeds, bands their middle half.
    """
    names = {
        "rms_r": "RMS of $R_r$ [m/s²]",
        "rms_theta": r"RMS of $R_\theta$ [rad/s²]",
    }
    figure, axes = panels(2, len(ks), height=3.6, sharex=True, sharey="row")
    looks = styles(["adaptive"], sorted(set(history["gate"])))
    for column, k in zip(axes.T, ks, strict=True):
        at_k = history[history["k"] == k]
        for axis, name in zip(column, names, strict=True):
            for gate, runs in at_k.groupby("gate"):
                residuals = runs.groupby("update")[name]
                median = residuals.median()
                look = _line_look(looks["adaptive", gate])
                axis.plot(median, **look)
                axis.fill_between(
                    median.index,
                    residuals.quantile(0.25),
                    residuals.quantile(0.75),
                    color=look["color"],
                    alpha=0.2,
                    linewidth=0,
                )
            axis.set_yscale("log")
        column[0].set_title(f"$k={k:g}$")
        column[-1].set_xlabel("update")
        _label_gates(column[0], looks, at_k)
    for axis, label in zip(axes[:, 0], names.values(), strict=True):
        axis.set_ylabel(label)
    figure.suptitle(early_fall_sentence(history), fontsize=7.5)
    add_note(figure, "Lines: median over seeds; bands: the middle half of the seeds.")
    return figure


def early_fall_sentence(history: pd.DataFrame) -> str:
    """How much of the fall of the residuals happens in the first tenth of the updates."""
    last = history["update"].max()
    kept = history[history["update"].isin([1, last // 10, last])]
    medians = kept.groupby(["k", "gate", "update"])[["rms_r", "rms_theta"]].median()
    logs = np.log(medians.stack().unstack("update"))
    if logs.shape[1] < 3:
        return ""
    start, early, end = logs.to_numpy().T
    share = ((start - early) / (start - end)).min()
    return (
        f"At least {share:.0%} of the fall (log scale) happens in the first tenth of the training"
    )


def plot_frequency_shift(frequencies: pd.DataFrame, ks: Sequence[float]) -> Figure:
    """Learned minus initial against the initial frequency: runs as dots, the median as a line.

    One panel per k; the dotted line is √(k/m) with m = 1.
    """
    figure, axes = panels(1, len(ks), height=2.5, sharey=True)
    looks = styles(["adaptive"], sorted(set(frequencies["gate"])))
    shifts = frequencies.assign(shift=frequencies["learned"] - frequencies["start"])
    for axis, k in zip(axes[0], ks, strict=True):
        at_k = shifts[shifts["k"] == k]
        for gate, runs in at_k.groupby("gate"):
            look = _line_look(looks["adaptive", gate])
            axis.plot(
                runs["start"],
                runs["shift"],
                ".",
                color=look["color"],
                markersize=1.5,
                alpha=0.35,
            )
            middle = runs.groupby("start")["shift"].median()
            axis.plot(middle, **look)
        axis.axvline(np.sqrt(k), color="0.4", linewidth=0.8, linestyle=":")
        axis.annotate(
            r"$\sqrt{k/m}$ ",
            (np.sqrt(k), 0.03),
            xycoords=("data", "axes fraction"),
            ha="right",
        )
        axis.set(xscale="log", title=f"$k={k:g}$")
        plain_ticks(axis.xaxis)
        axis.set_xlabel("initial frequency [rad/s]")
        _label_gates(axis, looks, at_k, "left")
    axes[0, 0].set_ylabel("learned − initial [rad/s]")
    figure.suptitle(shift_sentence(shifts), fontsize=7.5)
    add_note(figure, "Dots: runs; lines: median over seeds.")
    return figure


def shift_sentence(shifts: pd.DataFrame) -> str:
    """How far the frequencies move, over all k and gates."""
    if shifts.empty:
        return ""
    sizes = shifts["shift"].abs()
    medians = sizes.groupby([shifts["k"], shifts["gate"]]).median()
    return (
        f"The median frequency moves by {medians.min():.2f} to {medians.max():.2f} rad/s, "
        f"the farthest by {sizes.max():.2f} rad/s"
    )
