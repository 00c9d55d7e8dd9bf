"""Figures of notebook 07: gaps and errors against the weight of θ, effective weights, the control.

A gap is a ratio of errors, linear over exp; a panel is a stiffness k and a weight λ.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis.significance import LEVEL
from pinnlib.report.loss_measurements import in_order, loss_label
from pinnlib.report.loss_tables import turned_cells
from pinnlib.style.figures import (
    BROWN,
    COLUMN,
    GATE_COLOURS,
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

# Error → label, colour, marker, shift of its points; the state is drawn last, on top
LOOKS = {
    "rel_l2_r": ("radius $r$", BROWN, "^", -0.16),
    "rel_l2_theta": ("angle $θ$", PURPLE, "s", 0.16),
    "rel_l2_u": ("state (ReL2E)", "black", "o", 0.0),
}
GATE_SHIFTS = {"exp": -0.1, "linear": 0.1}
CONTROL_LOOKS = {"mse": (PURPLE, "D", -0.08), "balanced": ("black", "o", 0.08)}
TICKS = {"mse": "1\nmse", "frozen": "frozen", "balanced": "\nbalanced"}
GAP_LABEL = "error, linear / exp"
FILLED = "Filled: p after Holm below 0.05"


def _places(losses: pd.Series) -> dict[str, float]:
    """loss → place on the axis: fixed weights side by side, a gap, then the balancing losses."""
    ordered = in_order(losses)
    places = dict(zip(ordered, np.arange(len(ordered), dtype=float), strict=True))
    balancing = [loss for loss in places if loss.startswith("balanced")]
    for i, loss in enumerate(balancing):
        places[loss] += 0.6 + 0.5 * i
    return places


def _weight_axis(axis: Axes, places: dict[str, float]) -> None:
    labels = []
    for loss in places:
        name = loss_label(loss).removeprefix("weight ")
        labels.append(TICKS.get(name, name))
    axis.set_xticks(list(places.values()), labels)
    balancing = [place for loss, place in places.items() if loss.startswith("balanced")]
    if balancing:
        axis.axvline(min(balancing) - 0.75, color="0.8", linewidth=0.6)


def name_sides(axis: Axes) -> None:
    """Which gate is better above and below 1, at the right edge."""
    for gate, y, place in (("exp", 1, "top"), ("linear", 0, "bottom")):
        options = {"fontsize": 7, "transform": axis.transAxes, "rotation": 90}
        axis.text(1.02, y, f"{gate} better", color=GATE_COLOURS[gate], va=place, **options)


def _gap_axis(axis: Axes) -> None:
    axis.axhline(1, **ONE)
    axis.set(yscale="log")
    plain_ticks(axis.yaxis)


def plot_loss_gaps(gaps: pd.DataFrame, seeds: pd.DataFrame, compared: pd.DataFrame) -> Figure:
    """The gap of state, radius and angle against the weight of θ, beside frozen and balanced.

    `seeds` are the gaps of the state by seed (dots), `compared` tells the effective weights of the
    balanced loss under either gate (bands).
    """
    ks = sorted(set(gaps["k"]))
    lambdas = sorted(set(gaps["lambda_ic"]), reverse=True)
    places = _places(gaps["loss"])
    turned = turned_cells(gaps[gaps["metric"] == "rel_l2_u"])
    figure, axes = panels(len(lambdas), len(ks), height=4.0, sharex=True, sharey=True)
    for i, lambda_ic in enumerate(lambdas):
        for j, k in enumerate(ks):
            axis = axes[i, j]
            cell = f"lambda_ic == {lambda_ic} and k == {k}"
            _draw_band(axis, compared.query(cell), gaps)
            dots = seeds.query(cell).dropna()
            x = dots["loss"].map(places)
            axis.plot(x, dots["ratio"], ".", color="0.6", markersize=1.8)
            _draw_gaps(axis, gaps.query(cell), places)
            _gap_axis(axis)
            axis.set_title(f"$k={k:g}$, $λ={lambda_ic:g}${_turned_mark(turned, lambda_ic, k)}")
            _weight_axis(axis, places)
        axes[i, 0].set_ylabel(GAP_LABEL)
        name_sides(axes[i, -1])
    for axis in axes[-1]:
        axis.set_xlabel("weight of $θ$ ($r$: 1), or scales")
    add_legend(figure, axes[0, 0], 3)
    note = (
        f"{FILLED}. Bars: bootstrap 95% intervals of the median; small dots: single seeds, state."
        " Shaded: the middle 90% of the weights that the balanced loss took in training, in the"
        " colour of the gate."
    )
    add_note(figure, note)
    return figure


def _turned_mark(turned: pd.DataFrame, lambda_ic: float, k: float) -> str:
    """Words for the title of a turned cell, else none."""
    here = (turned["lambda_ic"] == lambda_ic) & (turned["k"] == k)
    return ": the winner turns" if here.any() else ""


def _draw_band(axis: Axes, compared: pd.DataFrame, gaps: pd.DataFrame) -> None:
    """The weights that the balanced loss took under either gate, on the axis of fixed weights."""
    fixed = np.unique(gaps["weight"].dropna())
    if len(fixed) < 2:
        return
    balanced = compared[compared["loss"] == "balanced"]
    for gate, colour in GATE_COLOURS.items():
        ends = balanced[[f"weight_{gate}_low", f"weight_{gate}_high"]]
        for low_high in np.log(ends.to_numpy()):
            low, high = np.interp(low_high, np.log(fixed), np.arange(len(fixed)))
            axis.axvspan(low, high, color=colour, alpha=0.15, linewidth=0, zorder=0)


def _draw_gaps(axis: Axes, gaps: pd.DataFrame, places: dict[str, float]) -> None:
    for metric, (label, colour, marker, shift) in LOOKS.items():
        table = gaps[gaps["metric"] == metric]
        x = table["loss"].map(places) + shift
        table = table.assign(x=x).sort_values("x")
        fixed = table[table["weight"].notna()]
        axis.plot(fixed["x"], fixed["ratio"], color=colour, linewidth=0.8)
        for row in table.itertuples():
            draw_ratio(axis, row.x, row, colour, row.p_holm < LEVEL, marker)
        axis.plot([], [], marker, color=colour, label=label)


def plot_loss_errors(
    runs: pd.DataFrame,
    medians: pd.DataFrame,
    still: pd.DataFrame,
    lambda_ic: float,
) -> Figure:
    """Errors of radius and angle under every loss at one λ, with the error of standing still."""
    ks = sorted(set(runs["k"]))
    places = _places(runs["loss"])
    figure, axes = panels(2, len(ks), height=3.6, sharex=True, sharey="row")
    ok = runs[(runs["status"] == "ok") & (runs["lambda_ic"] == lambda_ic)]
    table = medians[medians["lambda_ic"] == lambda_ic]
    for metric, row in zip(("rel_l2_r", "rel_l2_theta"), axes, strict=True):
        for axis, k in zip(row, ks, strict=True):
            for gate, colour in GATE_COLOURS.items():
                cell = f"k == {k} and gate == '{gate}'"
                part = table[table["metric"] == metric].query(cell)
                dots = ok.query(cell).groupby("loss")[metric]
                for at in part.itertuples():
                    place = places[at.loss] + GATE_SHIFTS[gate]
                    errors = dots.get_group(at.loss) if at.loss in dots.groups else []
                    interval = (at.low, at.median, at.high)
                    draw_seeds(axis, place, errors, interval, colour)
                axis.plot([], [], "o", color=colour, label=f"{gate} gate")
            axis.axhline(still.loc[k, metric], **STILL, label="standing still")
            axis.set(yscale="log")
            plain_ticks(axis.yaxis)
            _weight_axis(axis, places)
        row[0].set_ylabel(f"error of the {LOOKS[metric][0]}")
    for axis, k in zip(axes[0], ks, strict=True):
        axis.set_title(f"$k={k:g}$, $λ={lambda_ic:g}$")
    add_legend(figure, axes[0, 0], 3)
    add_note(figure, "Dots: single seeds; circles: median with bootstrap 95% interval.")
    return figure


def plot_effective_weights(bands: pd.DataFrame) -> Figure:
    """The weight of θ that the balanced loss amounts to, in training; a band over the runs."""
    ks = sorted(set(bands["k"]))
    lambdas = sorted(set(bands["lambda_ic"]), reverse=True)
    figure, axes = panels(len(lambdas), len(ks), height=3.4, sharex=True, sharey=True)
    for i, lambda_ic in enumerate(lambdas):
        for j, k in enumerate(ks):
            axis = axes[i, j]
            cell = bands.query(f"lambda_ic == {lambda_ic} and k == {k}")
            for gate, colour in GATE_COLOURS.items():
                part = cell[(cell["gate"] == gate) & (cell["loss"] == "balanced")]
                ends = part["low"], part["high"]
                axis.fill_between(part["update"], *ends, color=colour, alpha=0.2, linewidth=0)
                axis.plot(part["update"], part["weight"], color=colour, label=f"{gate} gate")
            frozen = cell[cell["loss"] != "balanced"].groupby("update")["weight"].median()
            axis.plot(frozen, color="0.3", linestyle=":", label="frozen scales")
            axis.set_title(f"$k={k:g}$, $λ={lambda_ic:g}$")
        axes[i, 0].set_ylabel("weight of $θ$ ($r$: 1)")
    for axis in axes[-1]:
        axis.set_xlabel("update")
    log_axis(axes[0, 0], bands[["low", "high"]].to_numpy())
    add_legend(figure, axes[0, 0], 3)
    add_note(figure, "Lines: median over the runs; bands: smallest to largest.")
    return figure


def plot_loss_control(table: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """The gap of the one-component system at every k under either loss; seeds as dots."""
    figure, ((axis,),) = panels(1, 1, width=COLUMN, height=2.3)
    ks = sorted(set(table["k"]))
    wide = runs[runs["status"] == "ok"].pivot(
        index=["k", "loss", "seed"],
        columns="gate",
        values="rel_l2_u",
    )
    dots = (wide["linear"] / wide["exp"]).rename("ratio").dropna().reset_index()
    for loss, (colour, marker, shift) in CONTROL_LOOKS.items():
        own = dots[dots["loss"] == loss]
        x = own["k"].map(ks.index) + shift
        axis.plot(x, own["ratio"], ".", color=colour, markersize=1.8, alpha=0.6)
        for row in table[table["loss"] == loss].itertuples():
            draw_ratio(axis, ks.index(row.k) + shift, row, colour, row.p_holm < LEVEL, marker)
        axis.plot([], [], marker, color=colour, label=loss)
    _gap_axis(axis)
    name_sides(axis)
    axis.set_xticks(range(len(ks)), [f"{k:g}" for k in ks])
    axis.set(xlabel="stiffness $k$ of the quartic oscillator", ylabel=GAP_LABEL)
    add_legend(figure, axis, 2)
    return figure
