"""Figures of the gates in other systems (notebook 09)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis.significance import LEVEL
from pinnlib.report.system_answers import LOSS_NAMES, STIFFNESS_SYMBOLS
from pinnlib.report.system_tables import RATE_NAMES
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    GATE_COLOURS,
    NOTE,
    ONE,
    PURPLE,
    STILL,
    add_legend,
    add_note,
    draw_ratio,
    draw_seeds,
    log_axis,
    panels,
    plain_ticks,
)
from pinnlib.style.labels import METRIC_LABELS

TITLES = {
    "henon_heiles": "Hénon–Heiles",
    "quartic": "quartic oscillator",
    "van_der_pol": "van der Pol",
}
# Loss → colour, marker, shift from the tick; as in the figures of notebook 03
LOSS_LOOKS = {"balanced": ("black", "o", -0.12), "mse": (PURPLE, "D", 0.12)}
GATE_SHIFTS = {"exp": -0.15, "linear": 0.15}
SHORT_RATES = {"published": "published rate", "own": "its own rate"}
UNSOLVED = "0.65"  # grey
BACKGROUND = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
UNSOLVED_NOTE = "× no better than standing still"
Stiffnesses = Mapping[str, Sequence[float]]


def _places(axis: Axes, system: str, ks: Sequence[float]) -> dict[float, int]:
    """k → its place on an axis with one tick per stiffness."""
    axis.set_xticks(range(len(ks)), [f"{k:g}" for k in ks])
    axis.set_xlim(-0.5, len(ks) - 0.5)
    axis.set_xlabel(f"${STIFFNESS_SYMBOLS[system]}$")
    return {k: place for place, k in enumerate(ks)}


def plot_solutions(stiffnesses: Stiffnesses, still: pd.DataFrame) -> Figure:
    """The reference of every system (column) and stiffness (row), with the error of standing still
    in its corner."""
    rows = max(map(len, stiffnesses.values()))
    figure, axes = panels(rows, len(stiffnesses), height=3.9, sharex=True, sharey="col")
    at_rest = still.set_index(["system", "k"])["rel_l2_u"]
    for column, (system, ks) in zip(axes.T, stiffnesses.items(), strict=True):
        column[0].set_title(TITLES[system], loc="left")
        column[-1].set_xlabel("$t$")
        for axis, k in zip(column, ks, strict=True):
            reference = RunSpec(system=system, k=k).reference
            for values, line in zip(reference.q, ("-", "--"), strict=False):  # one or two
                axis.plot(reference.t, values, line, color="0.2", linewidth=0.9)
            label = f"${STIFFNESS_SYMBOLS[system]}={k:g}$, still {at_rest[system, k]:.2f}"
            axis.set_title(label, loc="right", **NOTE)
    add_note(
        figure,
        "Hénon–Heiles: $x$ solid, $y$ dashed. still: ReL2E of standing still at the mean.",
    )
    return figure


def _plot_ratios(axis: Axes, rows: pd.DataFrame, place: Mapping[float, int], loss: str) -> None:
    """Ratio and interval at each k; filled where significant, a grey cross where unsolved."""
    colour, marker, shift = LOSS_LOOKS[loss]
    for row in rows.itertuples():
        look = {"colour": colour, "marker": marker, "filled": row.p_holm < LEVEL}
        if row.solved == "no":
            look = {"colour": UNSOLVED, "marker": "x", "filled": True}
        draw_ratio(axis, place[row.k] + shift, row, **look)


def _ratio_limits(table: pd.DataFrame) -> tuple[float, float]:
    """Limits of the ratios, with room for the words on either side of 1."""
    ends = table[["low", "high"]].to_numpy()
    ends = ends[np.isfinite(ends) & (ends > 0)]
    low = min(ends.min(), 0.7) if len(ends) else 0.7
    high = max(ends.max(), 1.4) if len(ends) else 1.4
    return low / 2, high * 3


def _name_losses(axis: Axes, answers: pd.Series) -> None:
    """A line per loss in the upper left corner: its marker, name and verdict."""
    y = 0.955
    for loss, (colour, marker, _) in LOSS_LOOKS.items():
        axis.plot(0.03, y, marker, color=colour, markersize=3, transform=axis.transAxes)
        text = f"{LOSS_NAMES[loss]}: {answers[loss]}"
        look = {"color": colour, "fontsize": 7, "va": "center", "bbox": BACKGROUND}
        axis.text(0.06, y, text, transform=axis.transAxes, **look)
        y -= 0.095


def plot_system_gaps(
    table: pd.DataFrame, verdicts: pd.DataFrame, stiffnesses: Stiffnesses
) -> Figure:
    """Error linear over exp against stiffness: a column per system, a row per rate.

    `table` is that of `system_contrasts`; every panel says its verdicts.
    """
    figure, axes = panels(2, len(stiffnesses), height=3.8, sharey=True)
    answers = verdicts.set_index(["system", "rate", "loss"])["answer"]
    limits = _ratio_limits(table)
    for line, rate in zip(axes, RATE_NAMES, strict=True):
        line[0].set_ylabel("ReL2E, linear / exp\n(above 1: exp is better)")
        for axis, (system, ks) in zip(line, stiffnesses.items(), strict=True):
            place = _places(axis, system, ks)
            rows = table[(table["system"] == system) & (table["rate"] == rate)]
            axis.axhline(1, **ONE)
            for loss in LOSS_LOOKS:
                _plot_ratios(axis, rows[rows["loss"] == loss], place, loss)
            axis.set(yscale="log", ylim=limits, title=f"{TITLES[system]}, {SHORT_RATES[rate]}")
            plain_ticks(axis.yaxis)
            _name_losses(axis, answers[system, rate])
            if (rows["solved"] == "no").any():
                look = {"color": "0.45", "fontsize": 7, "ha": "right"}
                axis.text(0.98, 0.03, UNSOLVED_NOTE, transform=axis.transAxes, **look)
    note = (
        "Median ratio over common seeds with bootstrap 95% interval; filled: p after Holm < 0.05."
    )
    add_note(figure, note)
    return figure


def _plot_gate(
    axis: Axes, seeds: pd.DataFrame, medians: pd.DataFrame, place: Mapping[float, int], gate: str
) -> None:
    """Errors of one gate: seeds as dots, medians with intervals on top."""
    for row in medians.itertuples():
        errors = seeds.loc[seeds["k"] == row.k, "rel_l2_u"]
        interval = (row.low, row.rel_l2_u, row.high)
        draw_seeds(axis, place[row.k] + GATE_SHIFTS[gate], errors, interval, GATE_COLOURS[gate])
    axis.plot([], [], "o", color=GATE_COLOURS[gate], label=f"{gate} gate")


def plot_system_errors(
    runs: pd.DataFrame, errors: pd.DataFrame, rate: str, stiffnesses: Stiffnesses
) -> Figure:
    """Errors of all seeds against stiffness at one rate, medians with intervals, standing still.

    A column per system, a row per loss; `errors` is the table of `system_errors`.
    """
    figure, axes = panels(2, len(stiffnesses), height=3.9, sharey="col")
    seeds = runs[(runs["status"] == "ok") & (runs["rate"] == rate)]
    medians = errors[errors["rate"] == rate]
    cell = ["system", "loss", "gate"]
    for line, loss in zip(axes, LOSS_LOOKS, strict=True):
        line[0].set_ylabel(METRIC_LABELS["rel_l2_u"])
        for axis, (system, ks) in zip(line, stiffnesses.items(), strict=True):
            place = _places(axis, system, ks)
            for gate in GATE_COLOURS:
                chosen = [system, loss, gate]
                own_seeds = seeds[(seeds[cell] == chosen).all(axis=1)]
                own_medians = medians[(medians[cell] == chosen).all(axis=1)]
                _plot_gate(axis, own_seeds, own_medians, place, gate)
            still = errors[errors["system"] == system].groupby("k")["still_rel_l2_u"].first()
            x = still.index.map(place)
            axis.hlines(still, x - 0.4, x + 0.4, **STILL)
            axis.text(x[0] - 0.45, still.iloc[0] * 1.06, "standing still", va="bottom", **NOTE)
            axis.set_title(f"{TITLES[system]}, {LOSS_NAMES[loss]}")
    for axis, system in zip(axes[0], stiffnesses, strict=True):  # the limits of a column
        drawn = seeds.loc[seeds["system"] == system, "rel_l2_u"]
        log_axis(axis, np.append(drawn, [0.1, 2]))  # also where no run is ok
    add_legend(figure, axes[0, 0], 2)
    note = (
        f"At {RATE_NAMES[rate]}. Dots: single seeds; circles: median with bootstrap 95% interval."
    )
    add_note(figure, note)
    return figure
