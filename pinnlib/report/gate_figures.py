"""Figures of notebook 06: ten gates, the family of α, and the gap under three optimisers."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from pinnlib.analysis.estimates import BOOTSTRAP
from pinnlib.report.gate_optimisers import NEWTON
from pinnlib.report.standing_still import ANGLE, still_errors
from pinnlib.style.figures import (
    GATE_COLOURS,
    GREEN,
    ONE,
    PURPLE,
    RED,
    STIFFNESS,
    add_note,
    bar_lengths,
    panels,
    plain_ticks,
    shades,
)
from pinnlib.style.labels import gate_formula

ERRORS = {"rel_l2_u": "relative $L^2$ error", ANGLE: "relative $L^2$ error of $θ$"}
TICKS = {"rel_l2_u": (0.02, 0.1, 0.5), ANGLE: (0.1, 0.5, 2, 10)}
SMALL = 7  # points: the smallest print
STILL = {"color": "0.45", "linewidth": 0.8, "linestyle": ":"}  # the error of standing still
METHODS = {  # optimiser → colour, marker, shift along the axis of k, place of its name
    "Adam": ("0.15", "o", -0.16, "bottom"),
    NEWTON: (GREEN, "^", 0.0, "top"),
    "SGD": (PURPLE, "s", 0.16, "center"),
}


def _gate_colour(gate: str) -> str:
    if gate.startswith("linear"):
        return RED
    if "scale" in gate:
        return PURPLE
    return GATE_COLOURS["exp"]


def plot_ten_gates(runs: pd.DataFrame, gates: Sequence[str]) -> Figure:
    """The errors of state and angle of every run that is ok as a stroke, the median as a dot.

    A row per gate, in the given order from the top, and a panel per k; dotted: standing still.
    """
    ks = sorted(set(runs["k"]))
    figure, axes = panels(2, len(ks), height=4.4, sharex="row", sharey=True)
    ok = runs[runs["status"] == "ok"]
    for row, (metric, label) in zip(axes, ERRORS.items(), strict=True):
        for axis, k in zip(row, ks, strict=True):
            at_k = ok[ok["k"] == k]
            for y, gate in enumerate(gates):
                error = at_k.loc[at_k["gate"] == gate, metric]
                axis.plot(error, [y] * len(error), "|", color=_gate_colour(gate), markersize=5)
                axis.plot(error.median(), y, "o", color="black", markersize=2.5)
            axis.axvline(still_errors(k)[metric], **STILL)
            axis.set(xscale="log", xlabel=label)
            axis.set_xticks(TICKS[metric], map(str, TICKS[metric]))
    for axis, k in zip(axes[0], ks, strict=True):
        axis.set_title(f"$k={k}$")
    axes[0, 0].set_ylim(len(gates) - 0.5, -0.5)
    for axis in axes[:, 0]:
        axis.set_yticks(range(len(gates)), [gate_formula(gate) for gate in gates])
    add_note(
        figure,
        f"Strokes: single seeds (n = {runs['seed'].nunique()}); dots: median; dotted: standing"
        " still. Best worst case (above) on top.\nRed: straight gates; blue: gates that saturate"
        " at 1; purple: saturates at 10.",
    )
    return figure


def plot_alphas(runs: pd.DataFrame) -> Figure:
    """The errors of state and angle against `alpha`, a colour per k: seeds, and their median with
    its bootstrap 95% interval."""
    figure, axes = panels(1, 2, height=2.7, sharex=True)
    alphas = sorted(set(runs["alpha"]))
    ks = sorted(set(runs["k"]))
    ok = runs[runs["status"] == "ok"]
    for axis, (metric, label) in zip(axes[0], ERRORS.items(), strict=True):
        for number, (k, colour) in enumerate(shades(ks).items()):
            shift = 1.06 ** (number - (len(ks) - 1) / 2)  # side by side
            _draw_medians(axis, ok[ok["k"] == k], metric, shift, colour)
        axis.set(xscale="log", yscale="log", ylabel=label)
        axis.set_xlabel("$α$ of the gate $1-e^{-αt}$ [1/s]")
        axis.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
        axis.xaxis.minorticks_off()
        axis.set_xlim(alphas[0] / 1.3, alphas[-1] * 2.1)
        plain_ticks(axis.yaxis)
    return figure


def _draw_medians(axis: Axes, runs: pd.DataFrame, metric: str, shift: float, colour: str) -> None:
    """Seeds as pale dots, medians with intervals, joined and labelled with their k at the end."""
    by_alpha = runs.groupby("alpha")[metric]
    medians = by_alpha.median()
    places = medians.index.to_numpy() * shift
    axis.plot(runs["alpha"] * shift, runs[metric], "o", color=colour, markersize=1.5, alpha=0.35)
    low, high = np.transpose([_median_interval(part) for _, part in by_alpha])
    axis.errorbar(
        places,
        medians,
        bar_lengths(low, medians, high),
        fmt="o-",
        color=colour,
        markersize=3,
        linewidth=0.8,
        elinewidth=1.4,
    )
    label = f"  $k={runs['k'].iloc[0]}$"
    axis.text(places[-1], medians.iloc[-1], label, color=colour, fontsize=SMALL, va="center")


def _median_interval(values: pd.Series) -> tuple[float, float]:
    """The bootstrap 95% interval of the median; the median twice if all values are the same."""
    if values.nunique() < 2:
        return values.median(), values.median()
    sample = stats.bootstrap((values.to_numpy(),), np.median, rng=0, **BOOTSTRAP)
    return sample.confidence_interval.low, sample.confidence_interval.high


def plot_gap_by_optimiser(
    tables: Mapping[str, pd.DataFrame], seeds: pd.DataFrame, counts: pd.DataFrame, rounds: int
) -> Figure:
    """The ratio linear/exp against k under each optimiser: a column per trunk, state above and
    angle below; seeds as dots, the median with its interval.

    `seeds` is a table of `gate_optimisers.optimiser_seed_gaps`, `counts` one of `convergence`:
    hollow where a run did not converge.
    """
    trunks = ("adaptive", "fixed")
    figure, axes = panels(2, 2, height=4.4, sharex=True, sharey="row")
    for row, prefix in zip(axes, ("", "angle_"), strict=True):
        for axis, trunk in zip(row, trunks, strict=True):
            axis.axhline(1, **ONE)
            for method, table in tables.items():
                part = table[table["model"] == trunk]
                dots = seeds[(seeds["method"] == method) & (seeds["model"] == trunk)]
                if len(part):
                    ended = counts.loc[(trunk, rounds)] if method == NEWTON else None
                    _draw_gaps(axis, method, part, dots, prefix, ended)
        row[0].set_yscale("log")
        plain_ticks(row[0].yaxis)
        _name_winners(row[1])
    axes[0, 0].set_ylabel("ratio of errors,\nlinear / exponential")
    axes[1, 0].set_ylabel("ratio of errors of $θ$,\nlinear / exponential")
    for axis, trunk in zip(axes[0], trunks, strict=True):
        axis.set_title(f"{trunk} frequencies")
    for axis in axes[1]:
        axis.set_xlabel(STIFFNESS)
    add_note(
        figure,
        "Dots: seeds; marks: median with bootstrap 95% interval, hollow where Levenberg–Marquardt"
        " did not converge.",
    )
    return figure


def _draw_gaps(
    axis: Axes,
    method: str,
    part: pd.DataFrame,
    dots: pd.DataFrame,
    prefix: str,
    ended: pd.Series | None,
) -> None:
    """The ratios of one optimiser at evenly spaced k, with its name beside the last.

    `ended` says how many runs converged, if that is known.
    """
    colour, marker, shift, va = METHODS[method]
    hollow = ended is not None and ended["converged"] < ended["of"]
    ratio = part[f"{prefix}ratio"]
    places = np.arange(len(part)) + shift
    of_seeds = dots["k"].map(list(part["k"]).index) + shift
    axis.plot(of_seeds, dots[f"{prefix}ratio"], "o", color=colour, markersize=1.6, alpha=0.35)
    axis.plot(places, ratio, ":", color=colour, linewidth=0.7)
    axis.errorbar(
        places,
        ratio,
        bar_lengths(part[f"{prefix}low"], ratio, part[f"{prefix}high"]),
        fmt=marker,
        color=colour,
        markersize=4.5,
        markerfacecolor="white" if hollow else colour,
        elinewidth=1.1,
    )
    axis.set_xticks(range(len(part)), part["k"])
    axis.set_xlim(-0.5, len(part) + 0.7)
    name = method.replace("–", "–\n")
    if ended is not None:
        name = f"{name}\n({ended['converged']} of {ended['of']}\nconverged)"
    look = {"color": colour, "fontsize": SMALL, "va": va}
    axis.text(places[-1] + 0.14, ratio.iloc[-1], name, **look)


def _name_winners(axis: Axes) -> None:
    """Words beside the line of equality: which gate is better above it, and which below."""
    look = {"fontsize": SMALL, "color": "0.35", "ha": "center", "transform": axis.transAxes}
    axis.text(0.45, 0.97, "↑ exponential better", va="top", **look)
    axis.text(0.45, 0.03, "↓ linear better", va="bottom", **look)
