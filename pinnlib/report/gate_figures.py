"""Figures of notebook 06: ten gates, the family of α, three optimisers, and all contrasts."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis.significance import LEVEL
from pinnlib.runs.studies import FOUR_K
from pinnlib.style.figures import (
    COLUMN,
    GATE_COLOURS,
    ONE,
    PURPLE,
    RED,
    STIFFNESS,
    add_legend,
    add_note,
    bar_lengths,
    panels,
    shades,
)
from pinnlib.style.labels import METRIC_LABELS, gate_formula

MARKERS = {"SGD": "s", "Adam": "o", "Levenberg–Marquardt": "^", "floor": "_"}
# Question in the table of contrasts → the same in two lines, and what circle and square mean where
# a stiffness has two points.
QUESTIONS = {
    "amplitude: original, changed": ("amplitude:\noriginal, changed", "○ exp  □ linear"),
    "shape: straight, saturating": ("shape: straight,\nsaturating", "○ 10  □ 1"),
    "exp, linear: updates": ("exp, linear:\nupdates", "○ 1×  □ 5×"),
    "hard, penalty": ("hard, penalty\n", "○ exp  □ linear"),
    "exp, linear: hard velocity": ("exp, linear:\nhard velocity", ""),
    "own, reference trajectory": ("own, reference\ntrajectory", "○ exp  □ linear"),
    "exp, linear: Lev.–Marquardt": ("exp, linear:\nLev.–Marquardt", "○ adaptive  □ fixed"),
}


def _gate_colour(gate: str) -> str:
    if gate.startswith("linear"):
        return RED
    if "scale" in gate:
        return PURPLE
    return GATE_COLOURS["exp"]


def _add_key(axis: Axes, label: str, marker: str, colour: str, **options: object) -> None:
    """A marker that stands in the legend only."""
    axis.plot([], [], marker, color=colour, label=label, **options)


def plot_ten_gates(runs: pd.DataFrame, gates: Sequence[str]) -> Figure:
    """The error of every run that is ok as a stroke, the median as a dot; a row per gate, in the
    given order from the top, and a panel per k."""
    ks = sorted(set(runs["k"]))
    figure, axes = panels(1, len(ks), height=2.5, sharex=True, sharey=True)
    ticks = [0.02, 0.1, 0.5, 2]
    ok = runs[runs["status"] == "ok"]
    for axis, k in zip(axes[0], ks, strict=True):
        at_k = ok[ok["k"] == k]
        for y, gate in enumerate(gates):
            error = at_k.loc[at_k["gate"] == gate, "rel_l2_u"]
            colour = _gate_colour(gate)
            axis.plot(error, [y] * len(error), "|", color=colour, markersize=5)
            axis.plot(error.median(), y, "o", color="black", markersize=2.5)
        axis.set(xscale="log", title=f"$k={k}$")
        axis.set_xlabel(METRIC_LABELS["rel_l2_u"])
        axis.set_xticks(ticks, map(str, ticks))
    axes[0, 0].set_ylim(len(gates) - 0.5, -0.5)
    axes[0, 0].set_yticks(range(len(gates)), [gate_formula(gate) for gate in gates])
    add_note(
        figure,
        f"Strokes: single seeds (n = {runs['seed'].nunique()}); dots: median. Red: straight; blue:"
        " saturating at 1; purple: saturating at 10. Best worst case on top.",
    )
    return figure


def plot_alphas(runs: pd.DataFrame) -> Figure:
    """The median error against `alpha`, with a band for the middle half of the seeds; a curve per
    k."""
    figure, ((axis,),) = panels(1, 1, width=COLUMN, height=2.3)
    alphas = sorted(set(runs["alpha"]))
    for k, colour in shades(sorted(set(runs["k"]))).items():
        errors = runs[runs["k"] == k].groupby("alpha")["rel_l2_u"]
        low = errors.quantile(0.25)
        high = errors.quantile(0.75)
        axis.fill_between(
            low.index,
            low,
            high,
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
        axis.plot(errors.median(), color=colour, marker="o", label=f"$k={k}$")
    axis.set(xscale="log", xlabel="$α$ of the gate $1-e^{-αt}$ [1/s]")
    axis.set(yscale="log", ylabel=METRIC_LABELS["rel_l2_u"])
    axis.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    axis.minorticks_off()
    ticks = [0.02, 0.05, 0.1, 0.2]
    axis.set_yticks(ticks, map(str, ticks))
    axis.legend(ncols=2)
    return figure


def plot_optimisers(errors: pd.DataFrame) -> Figure:
    """Errors by (k, gate), a column per optimiser and one for the `floor`, against k; a panel per
    gate."""
    figure, axes = panels(1, 2, height=2.4, sharey=True)
    ks = sorted(set(errors.index.get_level_values("k")))
    look = {"linestyle": ":", "linewidth": 0.6, "markersize": 4}
    for axis, (gate, gate_colour) in zip(axes[0], GATE_COLOURS.items(), strict=True):
        of_gate = errors.xs(gate, level="gate")
        for method, marker in MARKERS.items():
            colour = "black" if method == "floor" else gate_colour
            axis.plot(of_gate[method], marker, color=colour, **look)
        axis.set(title=f"{gate} gate, {gate_formula(gate)}", xlabel=STIFFNESS)
        axis.set(xscale="log", yscale="log")
        axis.set_xticks(ks, ks)
        axis.minorticks_off()
    axes[0, 0].set_ylabel(f"{METRIC_LABELS['rel_l2_u']}, median")
    for method, marker in MARKERS.items():
        name = method.replace("floor", "best head")
        _add_key(axes[0, 1], name, marker, "0.3", markersize=4)
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    add_note(
        figure,
        "Adaptive model, ten seeds at most; best head: least squares with the learned frequencies.",
    )
    return figure


def plot_contrasts(table: pd.DataFrame) -> Figure:
    """Every ratio with its interval, a column per `question` of QUESTIONS, colours by k; filled
    where p after Holm is below 0.05."""
    figure, ((axis,),) = panels(height=2.8)
    colours = shades(FOUR_K)
    for x, question in enumerate(QUESTIONS):
        rows = table[table["question"] == question]
        rows = rows.sort_values("k", kind="stable")
        rows["place"] = np.linspace(x - 0.35, x + 0.35, len(rows))
        rows["second_of_k"] = rows.duplicated("k")
        for row in rows.itertuples():
            colour = colours[row.k]
            axis.errorbar(
                row.place,
                row.ratio,
                bar_lengths([row.low], row.ratio, [row.high]),
                fmt="s" if row.second_of_k else "o",
                color=colour,
                markerfacecolor=colour if row.p_holm < LEVEL else "white",
                markersize=3,
                elinewidth=0.8,
            )
    axis.axhline(1, **ONE)
    axis.set(yscale="log", ylabel="ratio of errors, second / first")
    labels = [f"{lines}\n{points}" for lines, points in QUESTIONS.values()]
    axis.set_xticks(range(len(QUESTIONS)), labels, fontsize=6.5)
    for k, colour in colours.items():
        _add_key(axis, f"$k={k}$", "o", colour)
    add_legend(figure, axis, 4)
    return figure
