"""Figures and tables of notebook 05: the residual Jacobian and its kernel."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinnlib.analysis import ntk
from pinnlib.report.jacobian_profiles import closed_forms
from pinnlib.style.figures import (
    GATE_COLOURS,
    GATE_STYLES,
    ONE,
    PURPLE,
    STIFFNESS,
    WIDE,
    add_legend,
    add_note,
    bar_lengths,
    filled,
    panels,
    shades,
)
from pinnlib.style.labels import METRIC_LABELS

LOOKS = {
    gate: {"color": GATE_COLOURS[gate], "linestyle": line}
    for gate, (line, _) in GATE_STYLES.items()
}
DOTS = {"marker": "o", "markersize": 2}
SCALARS = {  # of the kernel, with their formats in a table
    "effective_rank": "{:.2f}",
    "condition": "{:.0e}",
    "rank": "{:.0f}",
    "late_over_early": "{:.2f}",
    "share_raw": "{:.3f}",
    "balanced_effective_rank": "{:.2f}",
    "balanced_alignment": "{:.2f}",
}


def plot_jacobian_in_time(profile: pd.DataFrame) -> Figure:
    """Norm of J_R(t), median over seeds: head and frequencies at the start, with their closed forms
    as dots, and all parameters at the end."""
    figure, axes = panels(1, 3, height=2.3)
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
    axes[0, 0].set(title="head, at the start", ylabel="norm of the Jacobian $J_R(t)$")
    axes[0, 1].set_title("frequencies, at the start")
    axes[0, 2].set_title(f"all parameters, after {last:,} updates")
    for axis in axes[0]:
        axis.set(yscale="log", xlabel="time $t$ [s]")
        axis.legend(handlelength=2.2)
    add_note(
        figure,
        f"Lines: median of {profile['seed'].nunique()} seeds; left and middle $k=20$. Dots: closed"
        " form of the head, and $t\\,g(t)$ scaled to the last time.",
    )
    return figure


def scalars(measured: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Median of every scalar of SCALARS that the table has, per group of `by`, as text."""
    names = [name for name in SCALARS if name in measured]
    medians = measured.groupby(by)[names].median()
    texts = {}
    for name, column in medians.items():
        texts[name] = column.map(SCALARS[name].format)
    return pd.DataFrame(texts)


def plot_kernel_in_training(spectra: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Median eigenvalues of K at the two updates of `spectra` (of one k), and effective ranks of K,
    plain and balanced, along training."""
    figure, axes = panels(1, 3, height=2.4)
    eigenvalues = axes[0, 0]
    shares = spectra.groupby(["gate", "update", "number"])["share"].median()
    for gate, look in LOOKS.items():
        for update, curve in shares[gate].groupby("update"):
            width = 1.4 if update else 0.7
            label = f"{gate}, {update:,} updates"
            eigenvalues.plot(curve[update], **look, linewidth=width, label=label)
    eigenvalues.set(yscale="log", ylim=(ntk.SINGLE**2, 2), xlim=(0, 115))
    eigenvalues.set(xlabel="number of the eigenvalue", ylabel="eigenvalue of $K$ / largest")
    eigenvalues.legend(title=f"$k={spectra['k'].iloc[0]:g}$", handlelength=2.2)
    _plot_ranks(axes[0, 1], measured, "effective_rank")
    axes[0, 1].set_ylabel("effective rank of $K$")
    _plot_ranks(axes[0, 2], measured, "balanced_effective_rank")
    axes[0, 2].set_ylabel("effective rank, balanced $K$")
    add_legend(figure, axes[0, 1], 3, "right")
    add_note(
        figure,
        "Median of 5 seeds at most, adaptive model, $\\lambda_{IC}=50$;"
        " the frame on the left ends at single precision.",
    )
    return figure


def _plot_ranks(axis: Axes, measured: pd.DataFrame, name: str) -> None:
    """Median of a quantity along training, a curve per gate and three k; updates equally spaced."""
    medians = measured.groupby(["k", "gate", "update"])[name].median()
    for k, colour in shades((20, 60, 100)).items():
        for gate, look in LOOKS.items():
            axis.plot(
                medians[k, gate].to_numpy(),
                **DOTS,
                color=colour,
                linestyle=look["linestyle"],
                label=f"{gate}, $k={k}$",
            )
    updates = sorted(set(measured["update"]))
    axis.set_xticks(range(len(updates)), updates)
    axis.set_xlabel("update")


def plot_sizes_in_time(timed: pd.DataFrame) -> Figure:
    """Median residual (above) and error (below) in each window of the horizon, a curve per update;
    a column per k and gate."""
    columns = list(itertools.product(sorted(set(timed["k"])), LOOKS))
    figure, axes = panels(2, len(columns), height=3.4, sharex=True, sharey="row")
    cells = timed.groupby(["k", "gate", "update", "window"])
    sizes = cells[["residual", "error"]].median()
    colours = shades(sorted(set(timed["update"])))
    for (k, gate), column in zip(columns, axes.T, strict=True):
        for axis, name in zip(column, ("residual", "error"), strict=True):
            for update, colour in colours.items():
                curve = sizes.loc[(k, gate, update), name]
                label = f"{update:,} updates"
                axis.plot(curve, **DOTS, color=colour, label=label)
            axis.set_yscale("log")
        column[0].set_title(f"{gate}, $k={k:g}$")
        column[1].set_xlabel("time $t$ [s]")
        column[1].tick_params(axis="x", labelsize=6, rotation=35)
    axes[0, 0].set_ylabel("RMS residual\n[m/s², rad/s²]")
    axes[1, 0].set_ylabel("RMS error\n[m, rad]")
    add_legend(figure, axes[0, 0], 5)
    return figure


def plot_predictors(found: pd.DataFrame, pairs: int) -> Figure:
    """AUC of every quantity with its interval, over all pairs and within k, a mark per update.

    `found` is a table of `kernel_predictors.predictors` from that many pairs.
    """
    figure, axes = panels(1, 2, height=3.3, sharey=True)
    names = list(dict.fromkeys(found["quantity"]))
    for axis, scope in zip(axes[0], ("all", "within_k"), strict=True):
        for place, (update, rows) in enumerate(found.groupby("update")):
            middle = rows[f"auc_{scope}"]
            bars = bar_lengths(rows[f"low_{scope}"], middle, rows[f"high_{scope}"])
            shift = (-0.17, 0.17)[place]
            axis.errorbar(
                middle,
                np.arange(len(rows)) + shift,
                xerr=np.clip(bars, 0, 1),
                fmt="os"[place],
                color=PURPLE if update else "0.2",
                capsize=1.5,
                label=f"after {update} updates",
            )
        axis.axvline(0.5, **ONE)
        axis.set(xlabel="AUC for “the exponential gate wins”", xlim=(-0.03, 1.03))
        axis.set_ylim(len(names) - 0.5, -0.5)
    axes[0, 0].set_title("all pairs")
    axes[0, 1].set_title("pairs of the same $k$")
    words = pd.Series(names).replace("share_raw", "share_of_frequencies")
    axes[0, 0].set_yticks(range(len(names)), words.str.replace("_", " "))
    add_legend(figure, axes[0, 0], 2)
    add_note(
        figure,
        f"{pairs} pairs. Bars: seeds resampled, level 5% over all {len(found)} quantities and"
        " moments.",
    )
    return figure


def predictor_texts(found: pd.DataFrame) -> pd.DataFrame:
    """`kernel_predictors.predictors` as text: "value [low, high]" of AUC and rank correlation."""
    texts = found[["update", "quantity"]].copy()
    for kind, ends in (("auc", ""), ("rho", "rho_")):
        for scope in ("all", "within_k"):
            name = f"{kind}_{scope}"
            low = found[f"{ends}low_{scope}"]
            high = found[f"{ends}high_{scope}"]
            text = "{:.2f} [{:.2f}, {:.2f}]".format
            texts[name] = list(map(text, found[name], low, high))
    texts["p_within_k"] = found["p_within_k"].map("{:.1g}".format)
    return texts


def plot_floors(floors: pd.DataFrame) -> Figure:
    """Median error against k that training reached, and the best of any head with the frequencies
    at the start and with the learned ones."""
    figure, ((axis,),) = panels(1, 1, width=WIDE, height=2.7)
    curves = {
        "reached": ("o", "reached by training"),
        "floor_start": ("v", "floor, starting frequencies"),
        "floor_learned": ("^", "floor, learned frequencies"),
    }
    medians = floors.groupby(["gate", "k"])[[*curves]].median()
    for gate, (line, part) in GATE_STYLES.items():
        colour = GATE_COLOURS[gate]
        for name, (marker, title) in curves.items():
            axis.plot(
                medians.loc[gate, name],
                color=colour,
                linestyle=line,
                marker=marker,
                label=f"{gate}: {title}",
                **filled(colour, part),
            )
    axis.set(yscale="log", xlabel=STIFFNESS)
    axis.set_ylabel(f"{METRIC_LABELS['rel_l2_u']}, median")
    add_legend(figure, axis, 2)
    return figure
