"""Figures of L-BFGS after Adam and of the cost of every method (notebook 09)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis.estimates import median_interval
from pinnlib.report.optimiser_answers import (
    ADAM,
    NEWTON,
    REFINED,
    SOLVER,
    Methods,
    median_costs,
)
from pinnlib.style.figures import (
    FULL,
    GATE_COLOURS,
    NOTE,
    STIFFNESS,
    STILL,
    add_legend,
    add_note,
    draw_seeds,
    panels,
    plain_ticks,
)
from pinnlib.style.labels import METRIC_LABELS

MARKERS = {ADAM: "o", REFINED: "s", NEWTON: "^"}
METHOD_SHIFTS = {ADAM: -0.22, REFINED: 0.0, NEWTON: 0.22}
GATE_SHIFTS = {"exp": -0.045, "linear": 0.045}
PANELS = {
    "rel_l2_u": METRIC_LABELS["rel_l2_u"],
    "rel_l2_theta": "relative $L^2$ error\nof the angle",
}
# Method → where its name stands: offset from the median [points], alignment
LABELS = {
    ADAM: ((-8, 0), "right", "center"),
    REFINED: ((9, 0), "left", "center"),
    NEWTON: ((-2, -9), "left", "top"),
}
SMALL = {"markersize": 2, "alpha": 0.5}
LARGE = {"markersize": 5, "markeredgecolor": "black", "markeredgewidth": 0.5}


def plot_refinement(methods: Methods, still: pd.DataFrame) -> Figure:
    """Errors of all seeds under every method against k, with medians; a panel per metric.

    `still` has the metrics of standing still by k.
    """
    figure, axes = panels(1, 2, height=2.6)
    ks = sorted(still["k"])
    places = np.arange(len(ks))
    for axis, (metric, label) in zip(axes[0], PANELS.items(), strict=True):
        for method, marker in MARKERS.items():
            ok = methods[method][methods[method]["status"] == "ok"]
            for gate, colour in GATE_COLOURS.items():
                for k, errors in ok[ok["gate"] == gate].groupby("k")[metric]:
                    place = ks.index(k) + METHOD_SHIFTS[method] + GATE_SHIFTS[gate]
                    draw_seeds(axis, place, errors, median_interval(errors), colour, marker)
                look = {"color": colour, "label": f"{method}, {gate}"}
                axis.plot([], [], marker, **LARGE, **look)
        axis.hlines(still[metric], places - 0.4, places + 0.4, **STILL)
        axis.text(-0.45, still[metric].iloc[0] * 1.06, "standing still", va="bottom", **NOTE)
        axis.set(yscale="log", ylabel=label, xlabel=STIFFNESS)
        axis.set_xticks(places, [f"{k:g}" for k in ks])
        plain_ticks(axis.yaxis)
    add_legend(figure, axes[0, 0], 3)
    add_note(figure, "Dots: single seeds; large: median with bootstrap 95% interval.")
    return figure


def _label_methods(axis: Axes, medians: pd.DataFrame, metric: str) -> None:
    """The name of every method beside its medians."""
    for method, (offset, horizontal, vertical) in LABELS.items():
        cluster = medians[medians["method"] == method]
        if not cluster.empty:
            lowest = cluster.loc[cluster[metric].idxmin()]
            place = (lowest["seconds"], lowest[metric])
            look = {"textcoords": "offset points", "ha": horizontal, "va": vertical}
            axis.annotate(method, place, offset, fontsize=7, **look)


def _tolerance(rtol: float) -> str:
    return f"rtol $10^{{{round(np.log10(rtol))}}}$"


def _plot_solver(axis: Axes, part: pd.DataFrame, metric: str) -> None:
    """DOP853 as a curve with its first and last tolerance."""
    if part.empty:
        return
    part = part.sort_values("rtol", ascending=False)
    axis.plot(part["seconds"], part[metric], "D-", color="black", markersize=2.5, linewidth=0.8)
    first, last = part.iloc[0], part.iloc[-1]
    labels = [(first, f"{SOLVER}, {_tolerance(first['rtol'])}"), (last, _tolerance(last["rtol"]))]
    for row, text in labels:
        place = (row["seconds"], row[metric])
        axis.annotate(text, place, (5, 0), textcoords="offset points", fontsize=7, va="center")


def _plot_methods(axis: Axes, seeds: pd.DataFrame, medians: pd.DataFrame, metric: str) -> None:
    """Every trained method and gate: seeds small, medians large."""
    variant = ["method", "gate"]
    for method, marker in MARKERS.items():
        for gate, colour in GATE_COLOURS.items():
            for table, look in ((seeds, SMALL), (medians, LARGE)):
                part = table[(table[variant] == [method, gate]).all(axis=1)]
                axis.plot(part["seconds"], part[metric], marker, color=colour, **look)
    _label_methods(axis, medians, metric)


def plot_costs(points: pd.DataFrame, still: pd.DataFrame, ks: Sequence[float]) -> Figure:
    """Errors of state (above) and angle against seconds of every method, a column per k.

    `points` is that of `cost_points`.
    """
    figure, axes = panels(2, len(ks), 0.85 * FULL, 3.3, sharex=True, sharey=True)
    timed = points[points["seconds"].notna()]
    medians = median_costs(points)
    at_rest = still.set_index("k")
    for row, (metric, label) in zip(axes, PANELS.items(), strict=True):
        for axis, k in zip(row, ks, strict=True):
            part = timed[timed["k"] == k]
            _plot_methods(axis, part, medians[medians["k"] == k], metric)
            _plot_solver(axis, part[part["method"] == SOLVER], metric)
            level = at_rest.loc[k, metric]
            axis.axhline(level, **STILL)
            place = (0.02, level * 1.15)
            axis.text(*place, "standing still", transform=axis.get_yaxis_transform(), **NOTE)
            axis.set(xscale="log", yscale="log")
            axis.grid(True, axis="x")
        row[0].set_ylabel(label)
    for axis, k in zip(axes[0], ks, strict=True):
        axis.set_title(f"$k={k:g}$")
    for axis in axes[-1]:
        axis.set_xlabel("seconds per solution")
    seconds = timed["seconds"] if len(timed) else pd.Series([0.01, 10])
    axes[0, 0].set_xlim(seconds.min() / 2, seconds.max() * 40)  # room for the labels
    _name_gates(axes[0, 0])
    note = (
        "Small: seeds; large: median. Seconds of Adam: a run's share of its batch; of"
        " Levenberg–Marquardt: evaluations × time of one."
    )
    add_note(figure, note)
    return figure


def _name_gates(axis: Axes) -> None:
    """The gates in their colours, in the lower right corner."""
    y = 0.12
    for gate, colour in GATE_COLOURS.items():
        look = {"color": colour, "fontsize": 7, "ha": "right", "transform": axis.transAxes}
        axis.text(0.98, y, f"{gate} gate", **look)
        y -= 0.1
