"""Pictures of one gate against the other: effect sizes, seed by seed, at every stiffness, under either loss, and where the seeds of a cell end."""

import textwrap

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from pinnlib.analysis.paired import LEVEL
from pinnlib.report.basins import LIMITS
from pinnlib.style.figures import (
    BROWN,
    GATE_COLOURS,
    GATE_STYLES,
    GREEN,
    METRICS,
    NOTE,
    ONE,
    PURPLE,
    STIFFNESS,
    filled,
    log_axis,
    panels,
)
from pinnlib.style.latex import NAMES

MARKERS = {"exp": "o", "linear": "s"}
RATIO = ["median_log_ratio_low", "median_log_ratio", "median_log_ratio_high"]
SETTINGS = [
    ("balanced", "adaptive"),
    ("balanced", "fixed"),
    ("balanced", "baseline"),
    ("mse", "adaptive"),
]


def _plain(axis):
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set(
        major_locator=LogLocator(subs=(1, 2, 5)),
        minor_locator=NullLocator(),
        major_formatter="{x:g}",
    )


def _test(row):
    return f"$\\lambda_{{IC}}$ = {row.lambda_ic:g}, k = {row.k:g}, {NAMES[row.metric]}"


def forest(effects, tests):
    """Three effect sizes with their paired bootstrap 95% intervals, a line per test, in the colour of the gate that wins the median seed."""
    titles = {
        "median_log_ratio": "median ratio\nlinear / exp",
        "rank_biserial": "rank-biserial\ncorrelation",
    }
    titles["hodges_lehmann"] = "Hodges–Lehmann difference\nlinear − exp [units of the metric]"
    names, gates = (
        [_test(row) for row in effects.itertuples()],
        tests["winner"].where(tests["winner"].isin(list(GATE_COLOURS)), "exp"),
    )
    figure, axes = panels(1, 3, height=2.4, sharey=True)
    for axis, (name, title) in zip(axes.flat, titles.items()):
        ratio = name == "median_log_ratio"
        for y, ends in enumerate(effects[[f"{name}_low", name, f"{name}_high"]].to_numpy()):
            low, middle, high = np.exp(ends) if ratio else ends
            axis.errorbar(
                middle,
                y,
                xerr=[[middle - low], [high - middle]],
                fmt=MARKERS[gates[y]],
                color=GATE_COLOURS[gates[y]],
                capsize=2,
            )
        axis.axvline(1 if ratio else 0, **ONE)
        axis.set(
            xlabel=title,
            xscale="log" if ratio else "linear",
            ylim=(len(names) - 0.5, -0.5),
            yticks=range(len(names)),
            yticklabels=names,
        )
    _plain(axes[0, 0].xaxis)
    axes[0, 1].set(xlim=(-1.15, 1.15))
    handles = [
        axes[0, 0].plot([], [], MARKERS[gate], color=c, label=f"{gate} gate wins the median seed")[
            0
        ]
        for gate, c in GATE_COLOURS.items()
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2)
    open_ = [f"{name} ({note})" for name, note in zip(names, tests["note"]) if note]
    note = (
        "Not shown or not to be trusted: " + "; ".join(open_)
        if open_
        else f"n = {effects['n'].min()} pairs in every test"
    )
    figure.supxlabel(
        "\n".join(textwrap.wrap(f"Bars: paired bootstrap 95% intervals. {note}", 150)),
        x=0.01,
        ha="left",
        **NOTE,
    )
    return figure


def seed_by_seed(pairs, seeds):
    """The paired differences, a panel per test; linear within ±0.01, logarithmic beyond; dashes: median, dots: mean, both where all pairs are there."""
    figure, axes = panels(2, 4, height=3.9, sharex=True, sharey=True)
    axes[0, 0].set_yscale("symlog", linthresh=0.01)
    for axis, (_, group) in zip(axes.flat, pairs.groupby(["lambda_ic", "k", "metric"])):
        there = group.dropna(subset="difference")
        for gate, colour in GATE_COLOURS.items():
            part = there[there["difference"].gt(0) == (gate == "exp")]
            axis.vlines(part["seed"], 0, part["difference"], color=colour, linewidth=0.8)
            axis.plot(
                part["seed"],
                part["difference"],
                MARKERS[gate],
                color=colour,
                markersize=2.8,
                label=f"{gate} better",
            )
        axis.axhline(0, color="0.3", linewidth=0.8)
        if len(there) == len(group):
            axis.axhline(
                there["difference"].median(),
                color="black",
                linestyle="--",
                linewidth=0.9,
                label="median",
            )
            axis.axhline(
                there["difference"].mean(),
                color="black",
                linestyle=":",
                linewidth=1.2,
                label="mean",
            )
        axis.set_title(f"{_test(next(group.itertuples()))}\nn = {len(there)} of {len(group)}")
    axes[0, 0].set(xlim=(-1, max(seeds, 2)), xticks=range(0, max(seeds, 2), 5))
    figure.supxlabel("seed", fontsize=7.5)
    figure.supylabel("error(linear) − error(exp), units of the metric", fontsize=7.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=4)
    return figure


def plot_every_k(table):
    """The median ratio of `stats.every_k` against k, a row per λ, a column per loss and model; filled: significant; a cross below: runs are missing."""
    figure, axes = panels(2, 4, height=3.9, sharex=True, sharey=True)
    axes[0, 0].set(yscale="log", xlim=(0, 140), xticks=range(20, 140, 40))
    for row, lambda_ic in zip(axes, (0, 50)):
        for axis, (loss, model) in zip(row, SETTINGS):
            axis.axhline(1, **ONE)
            part = table.query("lambda_ic == @lambda_ic and loss == @loss and model == @model")
            for metric, symbol, hue, shift in (
                ("max_ae_u", "o", "0.1", -1.5),
                ("rel_l2_u", "D", PURPLE, 1.5),
            ):
                _ratios(axis, part[part["metric"] == metric], symbol, hue, shift)
            axis.set_title(
                f"$\\lambda_{{IC}}$ = {lambda_ic}, {model}{' (mse)' * (loss == 'mse')}\n{_complete(axis, part[part['metric'] == 'rel_l2_u'])}"
            )
    _plain(axes[0, 0].yaxis)
    figure.supxlabel(STIFFNESS, fontsize=7.5)
    figure.supylabel("median ratio of errors, linear / exp", fontsize=7.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _ratios(axis, part, symbol, hue, shift):
    low, middle, high = np.exp(part[RATIO].to_numpy().T)
    x, sure, look = (
        part["k"].to_numpy() + shift,
        (part["p_holm"] < LEVEL).to_numpy(),
        {"color": hue, "markersize": 3},
    )
    name = NAMES[part["metric"].iloc[0]] if len(part) else ""
    axis.errorbar(
        x,
        middle,
        yerr=[middle - low, high - middle],
        fmt="none",
        ecolor=hue,
        elinewidth=0.8,
        capsize=1.2,
    )
    axis.plot(x, middle, symbol, **look, markerfacecolor="white", label=f"{name}, not significant")
    axis.plot(x[sure], middle[sure], symbol, **look, label=f"{name}, p (Holm) < {LEVEL}")


def _complete(axis, part):
    """Mark the k whose runs are not all there, and say how many are, on how many seeds."""
    there = part["n"] == part["needed"]
    axis.plot(
        part["k"][~there],
        np.full((~there).sum(), 0.04),
        "x",
        color="black",
        markersize=3,
        transform=axis.get_xaxis_transform(),
    )
    n = ", n = " + " or ".join(map(str, sorted(set(part["n"][there])))) if there.any() else ""
    return f"{there.sum()} of {len(part)} k{n}"


def both_losses(ratios, medians):
    """The ratio linear/exp with its interval (above) and the median errors (below) under either loss, against k; a column per λ.

    `ratios` has median_log_ratio and its interval, `medians` the median, per lambda_ic, loss, k (and gate).
    """
    figure, axes = panels(2, 2, height=3.9, sharex=True, sharey="row")
    for column, lambda_ic in zip(axes.T, (0, 50)):
        for loss, colour, mark in (("balanced", "black", "o"), ("mse", PURPLE, "D")):
            part = ratios.query("lambda_ic == @lambda_ic and loss == @loss")
            low, middle, high = np.exp(part[RATIO].to_numpy().T)
            bars = {
                "yerr": [middle - low, high - middle],
                "capsize": 1.5,
                "linewidth": 0.8,
                "markersize": 3,
            }
            column[0].errorbar(part["k"], middle, **bars, fmt=f"-{mark}", color=colour, label=loss)
            for gate, (line, fill) in GATE_STYLES.items():
                curve = medians.query("lambda_ic == @lambda_ic and loss == @loss and gate == @gate")
                look = {"marker": mark, "linestyle": line, "color": colour} | filled(colour, fill)
                column[1].plot(curve["k"], curve["median"], **look, label=f"{loss}, {gate}")
        column[0].axhline(1, **ONE)
        column[0].set(title=f"$\\lambda_{{IC}}$ = {lambda_ic}")
        column[1].set(xlabel=STIFFNESS)
    intervals = np.exp(ratios.filter(like="median_log_ratio").to_numpy().ravel())
    for axis, label, drawn in zip(
        axes[:, 0],
        ("ratio of errors, linear / exp", f"{METRICS['rel_l2_u']}, median"),
        (intervals, medians["median"].to_numpy()),
    ):
        axis.set_ylabel(label)
        log_axis(axis, drawn)
    for axis in axes[:, 1]:
        axis.legend(ncols=2, columnspacing=1)
    return figure


def where_seeds_end(case, curves, spec):
    """Left: the angle of every run in `curves` (one column per key), in the colour of its basin, and the reference; right: error against residual."""
    figure, axes = panels(1, 2, height=2.4, width=6.75, width_ratios=(2, 1))
    hue, basin = (
        dict(zip((*LIMITS, "lost"), (GREEN, PURPLE, BROWN))),
        case.set_index("key")["basin"],
    )
    for key, angle in curves.items():
        axes[0, 0].plot(curves.index, angle, color=hue[basin[key]], linewidth=0.6, label=basin[key])
    reference = np.interp(curves.index, spec.reference.t, spec.reference.q[1])
    axes[0, 0].plot(
        curves.index, reference, color="black", linewidth=1, linestyle="--", label="reference"
    )
    title = f"linear gate, $k={spec.k:g}$, $\\lambda_{{IC}}={spec.lambda_ic:g}$: every seed"
    axes[0, 0].set(xlabel="time $t$ [s]", ylabel="angle $θ$ [rad]", ylim=(-0.65, 0.9), title=title)
    lines = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1]))
    figure.legend(lines.values(), lines, loc="outside upper left", ncols=4)
    for gate, part in case.groupby("gate"):
        axes[0, 1].plot(
            part["residual_mean"],
            part["rel_l2_u"],
            MARKERS[gate],
            color=GATE_COLOURS[gate],
            label=gate,
        )
    axes[0, 1].set(
        xscale="log",
        yscale="log",
        xlabel="mean residual [m/s², rad/s²]",
        ylabel=METRICS["rel_l2_u"],
    )
    for line in (axes[0, 1].xaxis, axes[0, 1].yaxis):
        _plain(line)
    axes[0, 1].legend(loc="upper left")
    return figure
