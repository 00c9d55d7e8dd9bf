"""Figures of notebook 08: tuning, the gap between the gates, decay, ansatz forms, the recipe."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator
from scipy import stats

from pinnlib.analysis.contrasts import BOOTSTRAP
from pinnlib.report.gate_rules import significant_sides
from pinnlib.report.rate_rules import WINNERS
from pinnlib.style.figures import (
    BROWN,
    GATE_COLOURS,
    GREEN,
    ONE,
    PURPLE,
    SKY,
    STIFFNESS,
    add_legend,
    add_note,
    bar_lengths,
    panels,
    plain_ticks,
)
from pinnlib.style.labels import METRIC_LABELS, gate_formula

COLOURS = GATE_COLOURS | {"exp(alpha=2.0)": SKY, "shifted": BROWN, "soft": PURPLE, "recipe": GREEN}
MARKERS = {"exp": "o", "linear": "s", "exp(alpha=2.0)": "^"}
ERRORS = METRIC_LABELS | {"rel_l2_theta": "relative $L^2$ error of the angle"}
RATIOS = {"rel_l2_u": "ratio of errors", "rel_l2_theta": "ratio of errors of $θ$"}
RATE_LOOKS = {"published": ("0.15", "o", "published rate"), "own": (GREEN, "D", "own rates")}
SEEDS_NOTE = (
    "Dots: single seeds; large dots: median with bootstrap 95% interval; dotted: standing still."
)
STILL = {"color": "0.45", "linewidth": 0.8, "linestyle": ":"}  # the error of standing still


def variant_label(variant: str) -> str:
    """A gate as a formula; a form of the ansatz or the recipe by its name."""
    return variant if variant in ("shifted", "soft", "recipe") else gate_formula(variant)


def plot_tuning(table: pd.DataFrame) -> Figure:
    """The median error against the rate, a curve per gate, a panel per loss and k.

    `table` is the part of `rate_contrasts.tuning_table` with a gate and a constant rate; a ring
    marks the chosen rate.
    """
    ks = sorted(set(table["k"]))
    half = (len(ks) + 1) // 2
    figure, axes = panels(4, half, height=5.4, sharex=True, sharey=True)
    for rows, (loss, of_loss) in zip((axes[:2], axes[2:]), table.groupby("loss"), strict=True):
        for axis, k in zip(rows.flat, ks, strict=False):
            for gate, part in of_loss[of_loss["k"] == k].groupby("gate"):
                _draw_rates(axis, gate, part)
            axis.set_title(f"{loss}, $k={k:g}$", pad=2)
    axes[0, 0].set(xscale="log", yscale="log")
    axes[0, 0].xaxis.set_minor_locator(NullLocator())
    plain_ticks(axes[0, 0].yaxis)
    figure.supxlabel("learning rate", fontsize=7.5)
    figure.supylabel(f"{ERRORS['rel_l2_u']}, median of the tuning seeds", fontsize=7.5)
    add_legend(figure, axes[0, 0], 4)
    return figure


def _draw_rates(axis: Axes, gate: str, part: pd.DataFrame) -> None:
    finite = part[np.isfinite(part["rel_l2_u"])]
    colour = COLOURS[gate]
    axis.plot(
        finite["lr"],
        finite["rel_l2_u"],
        marker=MARKERS[gate],
        markersize=2.5,
        linewidth=0.9,
        color=colour,
        label=gate_formula(gate),
    )
    chosen = finite[finite["chosen"]]
    axis.plot(
        chosen["lr"],
        chosen["rel_l2_u"],
        "o",
        markersize=7,
        markerfacecolor="none",
        color=colour,
    )


def plot_gaps(tables: dict[str, pd.DataFrame]) -> Figure:
    """The ratio linear/exp against k, at the published rate and at own rates.

    `tables` maps an error to its contrasts; a row per error, a column per loss. The published k
    are boxed.
    """
    losses = sorted(set(next(iter(tables.values()))["loss"]))
    figure, axes = panels(len(tables), len(losses), height=3.9, sharex=True, sharey="row")
    for row, (metric, table) in zip(axes, tables.items(), strict=True):
        for axis, loss in zip(row, losses, strict=True):
            of_loss = table[table["loss"] == loss]
            for shift, (rate, look) in zip((-0.14, 0.14), RATE_LOOKS.items(), strict=True):
                _draw_ratios(axis, of_loss[of_loss["rate"] == rate], look, shift)
            axis.axhline(1, **ONE)
            _box_published(axis, sorted(set(table["k"])))
        row[0].set(yscale="log", ylabel=f"linear / exp,\n{RATIOS[metric]}")
        plain_ticks(row[0].yaxis)
    for axis, loss in zip(axes[0], losses, strict=True):
        axis.set_title(f"{loss} loss")
    for axis in axes[-1]:
        axis.set_xlabel(STIFFNESS)
    add_legend(figure, axes[0, 0], 4)
    add_note(
        figure,
        "Above 1 the exponential gate is better. Bars: bootstrap 95% intervals; filled: p after"
        " Holm < 0.05. Boxes: the k of the published tests.",
    )
    return figure


def _draw_ratios(axis: Axes, table: pd.DataFrame, look: tuple[str, str, str], shift: float) -> None:
    """Ratios with their intervals at evenly spaced k; filled where significant."""
    colour, marker, label = look
    ks = sorted(set(table["k"]))
    places = table["k"].map(ks.index) + shift
    bars = bar_lengths(table["low"], table["ratio"], table["high"])
    axis.errorbar(places, table["ratio"], bars, fmt="none", ecolor=colour, elinewidth=0.8)
    sure = significant_sides(table) != 0
    style = {"color": colour, "markersize": 3.4, "linestyle": "none"}
    axis.plot(places, table["ratio"], marker, markerfacecolor="white", **style)
    axis.plot(places[sure], table["ratio"][sure], marker, label=label, **style)
    axis.set_xticks(range(len(ks)), [f"{k:g}" for k in ks])


def _box_published(axis: Axes, ks: Sequence[float]) -> None:
    for k in WINNERS:
        if k in ks:
            box = Rectangle(
                (ks.index(k) - 0.38, 0.02),
                0.76,
                0.96,
                transform=axis.get_xaxis_transform(),
                fill=False,
                edgecolor="0.6",
                linewidth=0.7,
            )
            axis.add_patch(box)


def plot_decay(table: pd.DataFrame) -> Figure:
    """The ratio constant/cosine against k, a panel for either rate, a marker per gate."""
    figure, axes = panels(1, 2, width=4.9, height=2.2, sharey=True)
    titles = {"published": "from the published rate", "own": "from each gate's own rate"}
    for axis, (rate, title) in zip(axes[0], titles.items(), strict=True):
        of_rate = table[table["rate"] == rate]
        for shift, (gate, part) in zip((-0.1, 0.1), of_rate.groupby("gate"), strict=True):
            look = (COLOURS[gate], MARKERS[gate], gate_formula(gate))
            _draw_ratios(axis, part, look, shift)
        axis.axhline(1, **ONE)
        axis.set(title=title, xlabel=STIFFNESS)
    axes[0, 0].set(yscale="log", ylabel="constant / cosine,\nratio of errors")
    plain_ticks(axes[0, 0].yaxis)
    add_legend(figure, axes[0, 0], 2)
    add_note(figure, "Above 1 decay is better. Filled: p after Holm < 0.05.")
    return figure


def plot_forms(runs: pd.DataFrame, variants: Sequence[str], still: pd.DataFrame) -> Figure:
    """The error of every run at its own rate; a row per variant, a panel per loss and k.

    `still` has the errors of standing still by k, drawn as a dotted line.
    """
    ks = sorted(set(runs["k"]))
    losses = sorted(set(runs["loss"]))
    figure, axes = panels(len(losses), len(ks), height=3.4, sharex=True, sharey=True)
    for row, loss in zip(axes, losses, strict=True):
        for axis, k in zip(row, ks, strict=True):
            cell = runs[(runs["loss"] == loss) & (runs["k"] == k)]
            for y, variant in enumerate(variants):
                errors = _known_errors(cell[cell["variant"] == variant], "rel_l2_u")
                _draw_seeds(axis, errors, y, COLOURS[variant], sideways=True)
            axis.axvline(still["rel_l2_u"][k], **STILL)
            axis.set_title(f"{loss}, $k={k:g}$", pad=2)
            axis.grid(visible=False)
    axes[0, 0].set(xscale="log", ylim=(len(variants) - 0.5, -0.5))
    axes[0, 0].set_yticks(range(len(variants)), map(variant_label, variants))
    axes[0, 0].set_xticks([0.02, 0.1, 0.5], ["0.02", "0.1", "0.5"])
    axes[0, 0].minorticks_off()
    for axis in axes[-1]:
        axis.set_xlabel(ERRORS["rel_l2_u"])
    add_note(figure, SEEDS_NOTE)
    return figure


def plot_recipe(runs: pd.DataFrame, settings: Sequence[str], still: pd.DataFrame) -> Figure:
    """The errors against k of the recipe and the published settings; a panel per error."""
    figure, axes = panels(1, 2, height=2.6)
    ks = sorted(set(runs["k"]))
    shifts = np.linspace(-0.24, 0.24, len(settings))
    for axis, metric in zip(axes[0], ("rel_l2_u", "rel_l2_theta"), strict=True):
        for setting, shift in zip(settings, shifts, strict=True):
            of_setting = runs[runs["setting"] == setting]
            for place, k in enumerate(ks):
                errors = _known_errors(of_setting[of_setting["k"] == k], metric)
                _draw_seeds(axis, errors, place + shift, COLOURS[setting])
            label = "recipe" if setting == "recipe" else f"published, {gate_formula(setting)}"
            axis.plot([], [], "o", color=COLOURS[setting], label=label)
        axis.plot(range(len(ks)), still[metric][ks], label="standing still", **STILL)
        axis.set(yscale="log", ylabel=ERRORS[metric], xlabel=STIFFNESS)
        axis.set_xticks(range(len(ks)), [f"{k:g}" for k in ks])
        plain_ticks(axis.yaxis)
    add_legend(figure, axes[0, 0], 4)
    add_note(figure, SEEDS_NOTE)
    return figure


def _known_errors(runs: pd.DataFrame, metric: str) -> np.ndarray:
    """The errors of the runs that are ok."""
    return runs.loc[runs["status"] == "ok", metric].to_numpy()


def _median_interval(errors: np.ndarray) -> tuple[float, float, float]:
    """(low, median, high): the median with its bootstrap 95% interval; NaN without errors."""
    if len(errors) < 2:
        middle = float(errors[0]) if len(errors) else np.nan
        return middle, middle, middle
    sample = stats.bootstrap((errors,), np.median, rng=0, **BOOTSTRAP)
    low, high = sample.confidence_interval
    return float(low), float(np.median(errors)), float(high)


def _draw_seeds(
    axis: Axes, errors: np.ndarray, place: float, colour: str, sideways: bool = False
) -> None:
    """Every seed as a pale dot, the median with its interval on top."""
    low, middle, high = _median_interval(errors)
    dots = (np.full(len(errors), place), errors)
    ends = ([place, place], [low, high])
    centre = ([place], [middle])
    if sideways:
        dots, ends, centre = dots[::-1], ends[::-1], centre[::-1]
    axis.plot(*dots, "o", color=colour, markersize=2, alpha=0.4, markeredgewidth=0)
    axis.plot(*ends, "-", color="black", linewidth=1)
    axis.plot(*centre, "o", color=colour, markersize=4, markeredgecolor="black")
