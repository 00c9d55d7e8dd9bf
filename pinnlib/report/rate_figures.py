"""Figures of notebook 08: tuning, the gap between the gates, decay, ansatz forms, the recipe."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullLocator

from pinnlib.analysis.estimates import median_interval
from pinnlib.analysis.significance import LEVEL
from pinnlib.report.loss_figures import name_sides
from pinnlib.report.rate_rules import WINNERS
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    FULL,
    GATE_COLOURS,
    GREEN,
    ONE,
    PURPLE,
    STIFFNESS,
    STILL,
    add_legend,
    add_note,
    draw_ratio,
    draw_seeds,
    panels,
    plain_ticks,
)
from pinnlib.style.labels import ANGLE_LABEL, METRIC_LABELS, gate_formula

# The recipe has the gate exp(alpha=2.0), hence its colour.
COLOURS = GATE_COLOURS | {
    "exp(alpha=2.0)": GREEN,
    "shifted": "0.4",
    "soft": PURPLE,
    "recipe": GREEN,
}
MARKERS = {"exp": "o", "linear": "s", "exp(alpha=2.0)": "^"}
ERRORS = METRIC_LABELS | {"rel_l2_theta": ANGLE_LABEL}
LOSS_TITLES = {"balanced": "balanced loss (released code)", "mse": "mean-square loss (text)"}
RATIOS = {"rel_l2_u": "ratio of errors", "rel_l2_theta": "ratio of errors of $θ$"}
RATE_LOOKS = {
    "published": ("0.55", "o", "both gates at the published rate"),
    "own": ("black", "D", "each gate at its own rate"),
}
SEEDS_NOTE = (
    "Dots: single seeds; large dots: median with bootstrap 95% interval; dotted: standing still."
)
FORM_ERRORS = {"rel_l2_u": "relative $L^2$ error of the state", "rel_l2_theta": ANGLE_LABEL}
FORM_TICKS = {"rel_l2_u": (0.02, 0.1, 0.5), "rel_l2_theta": (0.1, 0.5, 2)}
PUBLISHED_RATE = RunSpec.lr
RING = {"markersize": 7, "markerfacecolor": "none"}  # around the chosen rate


def variant_label(variant: str) -> str:
    """A gate as a formula; a form of the ansatz or the recipe by its name."""
    return variant if variant in ("shifted", "soft", "recipe") else gate_formula(variant)


def plot_tuning(table: pd.DataFrame) -> Figure:
    """The median error against the rate, a curve per gate, a panel per loss and k.

    `table` is the part of `rate_contrasts.tuning_table` with a gate and a constant rate. Two rows
    of panels per loss; a ring marks the chosen rate, a line the published one.
    """
    ks = sorted(set(table["k"]))
    rates = sorted(set(table["lr"]))
    half = (len(ks) + 1) // 2
    figure, axes = panels(4, half, height=6, sharex=True, sharey=True)
    axes[0, 0].set(xscale="log", yscale="log", xlim=(rates[0] / 1.5, rates[-1] * 1.5))
    axes[0, 0].xaxis.set_minor_locator(NullLocator())
    plain_ticks(axes[0, 0].yaxis)
    for rows, (loss, of_loss) in zip((axes[:2], axes[2:]), table.groupby("loss"), strict=True):
        for axis, k in zip(rows.flat, ks, strict=False):
            axis.axvline(PUBLISHED_RATE, color="0.4", linewidth=0.7, label="published rate")
            for gate, part in of_loss[of_loss["k"] == k].groupby("gate"):
                _draw_rates(axis, gate, part)
            axis.set_title(f"$k={k:g}$", pad=2)
        for axis in rows.flat[len(ks) :]:
            axis.remove()
            rows[0, -1].tick_params(labelbottom=True)
        for axis in rows[:, 0]:
            axis.set_ylabel(loss)
    axes[0, 0].plot([], [], "o", **RING, color="0.3", label="chosen rate")
    legend = add_legend(figure, axes[0, 0], 5)
    for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True):
        text.set_color(handle.get_color())
    figure.supxlabel("learning rate", fontsize=7.5)
    figure.supylabel(f"{ERRORS['rel_l2_u']}, median of the tuning seeds", fontsize=7.5)
    return figure


def _draw_rates(axis: Axes, gate: str, part: pd.DataFrame) -> None:
    """One curve with a ring at the chosen rate."""
    finite = part[np.isfinite(part["rel_l2_u"])].sort_values("lr")
    colour = COLOURS[gate]
    look = {"marker": MARKERS[gate], "markersize": 2.5, "linewidth": 0.9, "color": colour}
    axis.plot(finite["lr"], finite["rel_l2_u"], **look, label=gate_formula(gate))
    chosen = finite[finite["chosen"]]
    axis.plot(chosen["lr"], chosen["rel_l2_u"], "o", **RING, color=colour)


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
        name_sides(row[-1])
        row[0].set(yscale="log", ylabel=f"linear / exp,\n{RATIOS[metric]}")
        plain_ticks(row[0].yaxis)
    for axis, loss in zip(axes[0], losses, strict=True):
        axis.set_title(LOSS_TITLES[loss])
    for axis in axes[-1]:
        axis.set_xlabel(STIFFNESS)
    add_legend(figure, axes[0, 0], 4)
    note = "Bars: bootstrap 95% intervals; filled: p after Holm < 0.05. Boxes: the published k."
    add_note(figure, note)
    return figure


def _draw_ratios(axis: Axes, table: pd.DataFrame, look: tuple[str, str, str], shift: float) -> None:
    """Ratios with their intervals at evenly spaced k; filled where significant."""
    colour, marker, label = look
    ks = sorted(set(table["k"]))
    for row in table.itertuples():
        draw_ratio(axis, ks.index(row.k) + shift, row, colour, row.p_holm < LEVEL, marker)
    axis.plot([], [], marker, color=colour, markersize=3.5, label=label)
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


def plot_decay(tables: dict[str, pd.DataFrame]) -> Figure:
    """The ratio constant/cosine as a forest: a row per rate, gate and k, a panel per error.

    `tables` maps an error to its contrasts.
    """
    figure, axes = panels(1, len(tables), height=2.9, sharex=True, sharey=True)
    for axis, (metric, table) in zip(axes[0], tables.items(), strict=True):
        rows = table.sort_values(["rate", "gate", "k"], ascending=[False, True, True])
        y = np.arange(len(rows)) + 0.8 * (rows["rate"] == "own").to_numpy()
        for place, row in zip(y, rows.itertuples(), strict=True):
            look = {"marker": MARKERS[row.gate], "sideways": True}
            draw_ratio(axis, place, row, COLOURS[row.gate], row.p_holm < LEVEL, **look)
        axis.axvline(1, **ONE)
        axis.set(xscale="log", xlabel=f"constant / cosine, {RATIOS[metric]}")
        for text, side in (("← constant better   ", "right"), ("   decay better →", "left")):
            top = axis.get_xaxis_transform()
            axis.text(1, 1.03, text, ha=side, fontsize=7, transform=top)
        axis.grid(visible=False)
        plain_ticks(axis.xaxis)
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7), numticks=50))
    labels = [f"{gate_formula(row.gate)}, $k={row.k:g}$" for row in rows.itertuples()]
    axes[0, 0].set_yticks(y, labels)
    for label, gate in zip(axes[0, 0].get_yticklabels(), rows["gate"], strict=True):
        label.set_color(COLOURS[gate])
    _name_rates(axes[0, -1], rows, y)
    axes[0, 0].invert_yaxis()
    add_note(
        figure, "Bars: bootstrap 95% intervals of the median ratio; filled: p after Holm < 0.05."
    )
    return figure


def _name_rates(axis: Axes, rows: pd.DataFrame, y: np.ndarray) -> None:
    """At the right edge, from which rate the rows decay."""
    for rate, name in (("published", "from the published rate"), ("own", "from its own rate")):
        middle = y[(rows["rate"] == rate).to_numpy()].mean()
        look = {"rotation": 90, "ha": "left", "va": "center", "fontsize": 7}
        axis.text(1.02, middle, name, transform=axis.get_yaxis_transform(), **look)


def plot_forms(runs: pd.DataFrame, variants: Sequence[str], still: pd.DataFrame) -> Figure:
    """Both errors of every run at its own rate: a panel per error, loss and k, a line per variant.

    `still` has the errors of standing still by k, drawn as a dotted line.
    """
    ks = sorted(set(runs["k"]))
    losses = sorted(set(runs["loss"]))
    figure = plt.figure(figsize=(FULL, 4.4), layout="constrained")
    blocks = figure.subfigures(len(FORM_ERRORS), 1)
    for block, (metric, label) in zip(blocks, FORM_ERRORS.items(), strict=True):
        axes = block.subplots(len(losses), len(ks), sharex=True, sharey=True, squeeze=False)
        block.supxlabel(label, fontsize=7.5)
        for row, loss in zip(axes, losses, strict=True):
            row[0].set_ylabel(f"{loss} loss")
            for axis, k in zip(row, ks, strict=True):
                cell = runs[(runs["loss"] == loss) & (runs["k"] == k)]
                for y, variant in enumerate(variants):
                    errors = _known_errors(cell[cell["variant"] == variant], metric)
                    look = {"sideways": True, "size": 5.5}
                    draw_seeds(axis, y, errors, median_interval(errors), COLOURS[variant], **look)
                axis.axvline(still[metric][k], **STILL)
                axis.grid(visible=False)
        for axis, k in zip(axes[0], ks, strict=True):
            axis.set_title(f"$k={k:g}$", pad=2)
        axes[0, 0].set(xscale="log", ylim=(len(variants) - 0.5, -0.5))
        axes[0, 0].set_xticks(FORM_TICKS[metric], map("{:g}".format, FORM_TICKS[metric]))
        axes[0, 0].minorticks_off()
        axes[0, 0].set_yticks(range(len(variants)), map(variant_label, variants))
    add_note(figure, SEEDS_NOTE)
    return figure


def plot_recipe(runs: pd.DataFrame, settings: Sequence[str], still: pd.DataFrame) -> Figure:
    """The errors against k of the recipe and the published settings; a panel per error."""
    figure, axes = panels(1, 2, height=2.4)
    ks = sorted(set(runs["k"]))
    shifts = np.linspace(-0.24, 0.24, len(settings))
    for axis, metric in zip(axes[0], ("rel_l2_u", "rel_l2_theta"), strict=True):
        for setting, shift in zip(settings, shifts, strict=True):
            of_setting = runs[runs["setting"] == setting]
            for place, k in enumerate(ks):
                errors = _known_errors(of_setting[of_setting["k"] == k], metric)
                draw_seeds(axis, place + shift, errors, median_interval(errors), COLOURS[setting])
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
