"""Figures of L-BFGS after Adam and of the cost of every method (notebook 09)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.report.optimiser_answers import (
    ADAM,
    NEWTON,
    REFINED,
    SOLVER,
    Methods,
    median_costs,
)
from pinnlib.style.figures import (
    GATE_COLOURS,
    NOTE,
    STIFFNESS,
    add_legend,
    add_note,
    panels,
    plain_ticks,
)
from pinnlib.style.labels import METRIC_LABELS

MARKERS = {ADAM: "o", REFINED: "s", NEWTON: "^"}
METHOD_SHIFTS = {ADAM: -0.22, REFINED: 0.0, NEWTON: 0.22}
GATE_SHIFTS = {"exp": -0.045, "linear": 0.045}
PANELS = {
    "rel_l2_u": METRIC_LABELS["rel_l2_u"],
    "rel_l2_theta": "relative $L^2$ error of the angle",
}
# Method → where its name stands: offset from the median [points], alignment
LABELS = {
    ADAM: ((-8, 0), "right", "center"),
    REFINED: ((9, 0), "left", "center"),
    NEWTON: ((0, -14), "center", "top"),
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
                part = ok[ok["gate"] == gate]
                medians = part.groupby("k")[metric].median()
                shift = METHOD_SHIFTS[method] + GATE_SHIFTS[gate]
                x = part["k"].map(ks.index) + shift
                axis.plot(x, part[metric], marker, color=colour, **SMALL)
                x = [ks.index(k) + shift for k in medians.index]
                look = {"color": colour, "label": f"{method}, {gate}"}
                axis.plot(x, medians, marker, **LARGE, **look)
        axis.hlines(still[metric], places - 0.4, places + 0.4, color="0.4", linestyle=":")
        axis.text(-0.45, still[metric].iloc[0] * 1.06, "standing still", va="bottom", **NOTE)
        axis.set(yscale="log", ylabel=label, xlabel=STIFFNESS)
        axis.set_xticks(places, [f"{k:g}" for k in ks])
        plain_ticks(axis.yaxis)
    add_legend(figure, axes[0, 0], 3)
    add_note(figure, "Small: seeds; large: median.")
    return figure


def _label_methods(axis: Axes, medians: pd.DataFrame) -> None:
    """The name of every method beside its medians."""
    for method, (offset, horizontal, vertical) in LABELS.items():
        cluster = medians[medians["method"] == method]
        if not cluster.empty:
            lowest = cluster.loc[cluster["rel_l2_u"].idxmin()]
            axis.annotate(
                method,
                (lowest["seconds"], lowest["rel_l2_u"]),
                offset,
                textcoords="offset points",
                fontsize=6.5,
                ha=horizontal,
                va=vertical,
            )


def _tolerance(rtol: float) -> str:
    return f"rtol $10^{{{round(np.log10(rtol))}}}$"


def _plot_solver(axis: Axes, part: pd.DataFrame) -> None:
    """DOP853 as a curve with its first and last tolerance."""
    if part.empty:
        return
    part = part.sort_values("rtol", ascending=False)
    axis.plot(part["seconds"], part["rel_l2_u"], "D-", color="black", markersize=2.5, linewidth=0.8)
    first, last = part.iloc[0], part.iloc[-1]
    labels = [(first, f"{SOLVER}\n{_tolerance(first['rtol'])}"), (last, _tolerance(last["rtol"]))]
    for row, text in labels:
        place = (row["seconds"], row["rel_l2_u"])
        axis.annotate(text, place, (5, 0), textcoords="offset points", fontsize=6.5, va="center")


def _plot_methods(axis: Axes, seeds: pd.DataFrame, medians: pd.DataFrame) -> None:
    """Every trained method and gate: seeds small, medians large."""
    variant = ["method", "gate"]
    for method, marker in MARKERS.items():
        for gate, colour in GATE_COLOURS.items():
            for table, look in ((seeds, SMALL), (medians, LARGE)):
                part = table[(table[variant] == [method, gate]).all(axis=1)]
                axis.plot(part["seconds"], part["rel_l2_u"], marker, color=colour, **look)
    _label_methods(axis, medians)


def plot_costs(points: pd.DataFrame, still: pd.DataFrame, ks: Sequence[float]) -> Figure:
    """Error against seconds of every method, a panel per k; `points` is that of `cost_points`."""
    figure, axes = panels(1, len(ks), height=2.9, sharex=True, sharey=True)
    timed = points[points["seconds"].notna()]
    medians = median_costs(points)
    at_rest = still.set_index("k")["rel_l2_u"]
    for axis, k in zip(axes[0], ks, strict=True):
        part = timed[timed["k"] == k]
        _plot_methods(axis, part, medians[medians["k"] == k])
        _plot_solver(axis, part[part["method"] == SOLVER])
        axis.axhline(at_rest[k], color="0.4", linestyle=":", linewidth=0.9)
        place = (0.02, at_rest[k] * 1.15)
        axis.text(*place, "standing still", transform=axis.get_yaxis_transform(), **NOTE)
        axis.set(xscale="log", yscale="log", title=f"$k={k:g}$", xlabel="seconds per solution")
        axis.grid(True, axis="x")
    seconds = timed["seconds"] if len(timed) else pd.Series([0.01, 10])
    axes[0, 0].set_xlim(seconds.min() / 2, seconds.max() * 40)  # room for the labels
    axes[0, 0].set_ylabel(METRIC_LABELS["rel_l2_u"])
    y = 0.1
    for gate, colour in GATE_COLOURS.items():
        corner = axes[0, 0].transAxes
        axes[0, 0].text(0.02, y, f"{gate} gate", color=colour, fontsize=6.5, transform=corner)
        y -= 0.07
    add_note(
        figure,
        "Small: seeds; large: median. Adam: a run's share of its batch. Levenberg–Marquardt:"
        " evaluations × measured time of one.",
    )
    return figure
