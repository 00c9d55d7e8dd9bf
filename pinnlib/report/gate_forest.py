"""The forest plot of notebook 06: one labelled row per contrast, grouped by question."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis.significance import LEVEL
from pinnlib.style.figures import ONE, PURPLE, panels, plain_ticks
from pinnlib.style.labels import gate_formula

SMALL = 7  # points
LINE = 0.13  # inches per row
DARK = "0.12"


class Group(NamedTuple):
    """The rows of one question: title, what is better left and right of 1, label and order."""

    title: str
    left: str
    right: str
    label: Callable[[Any], str]
    order: tuple[str, ...]


def _gates(row: Any) -> str:
    return f"{gate_formula(row.first)} and {gate_formula(row.second)}"


def _one_gate(row: Any) -> str:
    return gate_formula(row.gate)


def _updates(row: Any) -> str:
    return f"{row.steps:,.0f} updates"


def _trunk(row: Any) -> str:
    return f"{row.model} frequencies"


GATES = ("linear better", "exponential better")
GROUPS = {  # question in the table of contrasts → its rows
    "amplitude: original, changed": Group(
        "Amplitude", "changed amplitude better", "original better", _gates, ("first", "k")
    ),
    "shape: straight, saturating": Group(
        "Shape", "saturating better", "straight better", _gates, ("first", "k")
    ),
    "exp, linear: updates": Group("Number of updates", *GATES, _updates, ("steps", "k")),
    "hard, penalty": Group(
        "Hard velocity or penalty",
        "penalty better",
        "hard velocity better",
        _one_gate,
        ("gate", "k"),
    ),
    "exp, linear: hard velocity": Group("Gates with hard velocity", *GATES, _gates, ("k",)),
    "own, reference trajectory": Group(
        "Own trajectory (no penalty)",
        "nearer to the reference",
        "nearer to its own",
        _one_gate,
        ("gate", "k"),
    ),
    "exp, linear: Lev.–Marquardt": Group("Levenberg–Marquardt", *GATES, _trunk, ("model", "k")),
}


def plot_contrasts(table: pd.DataFrame) -> Figure:
    """Every ratio of GROUPS with its interval, filled where p after Holm is below 0.05; the ratio
    of the angle's errors as a diamond.

    `table` is one of `gate_contrasts.contrast_table`.
    """
    groups = {}
    for question, group in GROUPS.items():
        rows = table[table["question"] == question]
        if len(rows):
            groups[group] = rows.sort_values([*group.order], kind="stable")
    lines = sum(len(rows) + 1.25 for rows in groups.values())
    figure, ((axis,),) = panels(width=6.5, height=LINE * lines + 0.55)
    axis.set(xscale="log", ylim=(lines - 0.5, -0.8))
    axis.axvline(1, **ONE)
    top = 0.0
    ticks = {}
    for group, rows in groups.items():
        _name_group(axis, group, top)
        for place, row in enumerate(rows.itertuples()):
            y = top + 1 + place
            _draw_row(axis, y, row)
            ticks[y] = f"{group.label(row)},  $k={row.k}$"
        top += len(rows) + 1.25
    axis.set_yticks(list(ticks), list(ticks.values()), fontsize=SMALL)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False)
    axis.set_xlabel(
        "ratio of errors (circle: state, filled if p < 0.05 after Holm; diamond: angle)"
    )
    plain_ticks(axis.xaxis)
    return figure


def _name_group(axis: Axes, group: Group, y: float) -> None:
    """A grey band with the question left of the axis, and on it the words for both directions."""
    axis.axhspan(y - 0.5, y + 0.5, color="0.93", linewidth=0)
    across = axis.get_yaxis_transform()  # x as a share of the axis, y as in the data
    look = {"transform": across, "va": "center", "fontsize": SMALL}
    axis.text(-0.015, y, group.title, ha="right", fontweight="bold", **look)
    direction = look | {"color": "0.3"}
    axis.text(0.01, y, f"← {group.left}", ha="left", **direction)
    axis.text(0.99, y, f"{group.right} →", ha="right", **direction)


def _draw_row(axis: Axes, y: float, row: Any) -> None:
    axis.plot(row.angle_ratio, y, "D", color=PURPLE, markersize=2.6, alpha=0.8)
    axis.plot([row.low, row.high], [y, y], color=DARK, linewidth=1)
    sure = row.p_holm < LEVEL
    axis.plot(
        row.ratio, y, "o", color=DARK, markersize=4, markerfacecolor=DARK if sure else "white"
    )
