"""Figures of notebook 05: the residual Jacobian and its kernel."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis import ntk
from pinnlib.report.jacobian_profiles import closed_forms
from pinnlib.report.kernel_predictors import clear_sides
from pinnlib.style.figures import (
    GATE_COLOURS,
    GATE_STYLES,
    ONE,
    PURPLE,
    STIFFNESS,
    add_note,
    bar_lengths,
    filled,
    panels,
    shades,
)

LOOKS = {
    gate: {"color": GATE_COLOURS[gate], "linestyle": line}
    for gate, (line, _) in GATE_STYLES.items()
}
NAMES = {"exp": "exponential", "linear": "linear"}
SMALL = 7  # points: the smallest print
DOTS = {"marker": "o", "markersize": 2}


def plot_jacobian_in_time(profile: pd.DataFrame) -> Figure:
    """Norm of J_R(t), median over seeds: head and frequencies at the start, with their closed forms
    as dots, and all parameters at the end."""
    figure, axes = panels(1, 3, height=2.5)
    closed = closed_forms(profile, k=20)
    last = profile["update"].max()
    trained = profile[profile["update"] == last]
    end = trained.groupby(["gate", "k", "t"])["all"].median()
    for gate, look in LOOKS.items():
        forms = closed.loc[gate]
        for axis, part in zip(axes[0, :2], ("head", "frequencies"), strict=True):
            axis.plot(forms[part], **look, label=gate)
            dots = forms[f"{part}_closed"][::6]
            axis.plot(dots, "o", color=look["color"], markersize=2)
        for stiffness, width in ((20, 1.4), (60, 0.7)):
            label = f"{gate}, $k={stiffness}$"
            axes[0, 2].plot(end[gate, stiffness], **look, linewidth=width, label=label)
        middle = forms.iloc[len(forms) // 2 :]
        place = (middle.index[0], middle["head"].iloc[0] / 1.5)
        axes[0, 0].annotate(f"{NAMES[gate]} gate", place, color=look["color"], va="top")
    axes[0, 0].set(title="head, at the start", ylabel="norm of the Jacobian $J_R(t)$")
    axes[0, 1].set_title("frequencies, at the start")
    axes[0, 2].set_title(f"all parameters, {last:,} updates")
    for axis in axes[0]:
        axis.set(yscale="log", xlabel="time $t$ [s]")
    add_note(
        figure,
        f"Lines: median of {profile['seed'].nunique()} seeds, $k=20$; thin on the right: $k=60$."
        " Dots: closed form of the head,\nand $t\\,g(t)$ scaled to the last time.",
    )
    return figure


def plot_kernel_in_training(spectra: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Median eigenvalues of K at the two updates of `spectra` (of one k), and effective ranks of K,
    plain and balanced, along training."""
    figure, axes = panels(1, 3, height=2.5)
    eigenvalues = axes[0, 0]
    shares = spectra.groupby(["gate", "update", "number"])["share"].median()
    for gate, look in LOOKS.items():
        for update, curve in shares[gate].groupby("update"):
            width = 1.4 if update else 0.7
            label = f"{gate}, {update:,} updates"
            eigenvalues.plot(curve[update], **look, linewidth=width, label=label)
    eigenvalues.set(yscale="log", ylim=(ntk.SINGLE**2, 2), xlim=(0, 115))
    eigenvalues.set(xlabel="number of the eigenvalue", ylabel="eigenvalue of $K$ / largest")
    eigenvalues.set_title(f"spectrum, $k={spectra['k'].iloc[0]:g}$")
    eigenvalues.text(5, 1e-8, "exponential gate", color=GATE_COLOURS["exp"])
    eigenvalues.text(5, 1e-9, "linear gate", color=GATE_COLOURS["linear"])
    eigenvalues.text(5, 1e-11, "thin: at the start\nthick: at the end", va="top")
    _plot_ranks(axes[0, 1], measured, "effective_rank")
    axes[0, 1].set(title="effective rank of $K$", ylabel="effective rank")
    _plot_ranks(axes[0, 2], measured, "balanced_effective_rank")
    axes[0, 2].set_title("effective rank of the balanced $K$")
    add_note(
        figure,
        "Adaptive model, $\\lambda_{IC}=50$, median of 5 seeds at most; thin curves in the middle"
        " and on the right: each $k$, thick: their median.",
    )
    return figure


def _plot_ranks(axis: Axes, measured: pd.DataFrame, name: str) -> None:
    """Median of a quantity along training for every k (thin), and over k (thick), a colour per
    gate; updates equally spaced."""
    medians = measured.groupby(["gate", "k", "update"])[name].median()
    updates = sorted(set(measured["update"]))
    places = range(len(updates))
    for gate, look in LOOKS.items():
        by_k = medians[gate].unstack("update")
        axis.plot(places, by_k.T.to_numpy(), **look, linewidth=0.5, alpha=0.5)
        middle = by_k.median().set_axis(places)
        axis.plot(middle, **look, **DOTS, linewidth=1.6, label=gate)
    axis.set_xticks(places, updates)
    axis.set_xlabel("update")


def _window_middle(window: str) -> float:
    start, end = map(float, window.split("–"))
    return (start + end) / 2


def plot_sizes_in_time(timed: pd.DataFrame) -> Figure:
    """Median residual (above) and error (below) in each window of the horizon, a curve per update;
    a column per k and gate."""
    columns = list(itertools.product(sorted(set(timed["k"])), LOOKS))
    figure, axes = panels(2, len(columns), height=3.6, sharex=True, sharey="row")
    placed = timed.assign(t=timed["window"].map(_window_middle))
    cells = placed.groupby(["k", "gate", "update", "t"])
    sizes = cells[["residual", "error"]].median()
    colours = shades(sorted(set(timed["update"])))
    for (k, gate), column in zip(columns, axes.T, strict=True):
        for axis, name in zip(column, ("residual", "error"), strict=True):
            for update, colour in colours.items():
                curve = sizes.loc[(k, gate, update), name]
                axis.plot(curve, **DOTS, color=colour, label=f"{update:,} updates")
            axis.set_yscale("log")
        column[0].set_title(f"{NAMES[gate]}, $k={k:g}$", color=GATE_COLOURS[gate])
        column[1].set(xlabel="time $t$ [s]", xlim=(0, 10), xticks=[0, 2.5, 5, 7.5, 10])
        column[1].set_xticklabels(["0", "", "5", "", "10"])
    axes[0, 0].set_ylabel("RMS residual\n[m/s², rad/s²]")
    axes[1, 0].set_ylabel("RMS error\n[m, rad]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5, fontsize=SMALL)
    return figure


def plot_predictors(found: pd.DataFrame, pairs: int) -> Figure:
    """AUC of every quantity with its interval, over all pairs and within k, a mark per update;
    filled where the interval is clear of 0.5.

    `found` is a table of `kernel_predictors.predictors` from that many pairs.
    """
    figure, axes = panels(1, 2, height=3.7, sharey=True)
    names = list(dict.fromkeys(found["quantity"]))
    titles = {"all": "across stiffnesses", "within_k": "within one stiffness"}
    for axis, (scope, title) in zip(axes[0], titles.items(), strict=True):
        clear = clear_sides(found, scope) != 0
        for place, (update, rows) in enumerate(found.groupby("update")):
            colour = PURPLE if update else "0.2"
            heights = np.arange(len(rows)) + (-0.17, 0.17)[place]
            middle = rows[f"auc_{scope}"]
            bars = bar_lengths(rows[f"low_{scope}"], middle, rows[f"high_{scope}"])
            look = {"color": colour, "fmt": "os"[place], "capsize": 1.5}
            axis.errorbar(
                middle,
                heights,
                xerr=np.clip(bars, 0, 1),
                markerfacecolor="white",
                label=f"after {update} updates",
                **look,
            )
            sure = clear[rows.index].to_numpy()
            axis.plot(middle[sure], heights[sure], "os"[place], color=colour, zorder=4)
        axis.axvline(0.5, **ONE)
        axis.set(xlabel="AUC for “the exponential gate wins”", xlim=(-0.03, 1.03))
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_title(f"{title}: {clear.sum()} of {len(found)} clear of 0.5")
    words = pd.Series(names).replace("share_raw", "share_of_frequencies")
    axes[0, 0].set_yticks(range(len(names)), words.str.replace("_", " "))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, fontsize=SMALL)
    add_note(
        figure,
        f"{pairs} pairs of runs. Bars: seeds resampled, level 5% over all {len(found)} quantities"
        " and moments; filled: clear of 0.5.",
    )
    return figure


def plot_floors(floors: pd.DataFrame) -> Figure:
    """Median errors of state and angle against k that training reached, and the best of any head
    with the frequencies at the start and with the learned ones."""
    figure, axes = panels(1, 2, height=2.9)
    titles = {"": "relative $L^2$ error", "_theta": "relative $L^2$ error of $θ$"}
    for axis, (suffix, title) in zip(axes[0], titles.items(), strict=True):
        _draw_floors(axis, floors, suffix)
        axis.set(yscale="log", xlabel=STIFFNESS, ylabel=f"{title}, median")
        axis.set_xlim(right=floors["k"].max() * 1.36)
        axis.set_xticks(sorted(set(floors["k"]))[1::2])
    add_note(
        figure,
        "Blue: exponential gate; red, dashed: linear gate. Best head: least-squares fit of the"
        " reference with the frequencies\nat the start, or with the learned ones.",
    )
    return figure


def _draw_floors(axis: Axes, floors: pd.DataFrame, suffix: str) -> None:
    """The three curves of either gate; the names stand beside those of the exponential gate."""
    curves = {
        "reached": ("o", "trained"),
        "floor_start": ("v", "best head,\nat the start"),
        "floor_learned": ("^", "best head,\nlearned"),
    }
    columns = [f"{name}{suffix}" for name in curves]
    medians = floors.groupby(["gate", "k"])[columns].median()
    for gate, (line, part) in GATE_STYLES.items():
        colour = GATE_COLOURS[gate]
        for name, (marker, text) in curves.items():
            curve = medians.loc[gate, f"{name}{suffix}"]
            look = filled(colour, part) | {"color": colour, "linestyle": line, "marker": marker}
            axis.plot(curve, **look, label=f"{gate}: {name}")
            if gate == "exp":
                place = (curve.index[-1] * 1.04, curve.iloc[-1])
                axis.annotate(text, place, fontsize=SMALL, va="center", color="0.2")
