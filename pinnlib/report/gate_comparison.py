"""Figures of one gate against the other (notebook 03).

Effect sizes, seed by seed, at every stiffness, under both losses, and the basins of a cell.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.analysis.significance import LEVEL
from pinnlib.report.basins import BASINS
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    BROWN,
    GATE_COLOURS,
    GATE_STYLES,
    GREEN,
    ONE,
    PURPLE,
    STIFFNESS,
    add_legend,
    add_note,
    bar_lengths,
    filled,
    log_axis,
    panels,
    plain_ticks,
    wrap_notes,
)
from pinnlib.style.labels import METRIC_LABELS, METRIC_NAMES

MARKERS = {"exp": "o", "linear": "s"}
EFFECTS = {  # labels of `plot_forest`
    "median_log_ratio": "median ratio\nlinear / exp",
    "rank_biserial": "rank-biserial\ncorrelation",
    "hodges_lehmann": "Hodges–Lehmann difference\nlinear − exp [units of the metric]",
}
SETTINGS = [("balanced", "adaptive"), ("balanced", "fixed"), ("balanced", "baseline")]
SETTINGS += [("mse", "adaptive")]


def _penalty(lambda_ic):
    return f"$\\lambda_{{IC}}$ = {lambda_ic:g}"


def _test_names(tests):
    return [
        f"{_penalty(t.lambda_ic)}, k = {t.k:g}, {METRIC_NAMES[t.metric]}"
        for t in tests.itertuples()
    ]


def _interval(table, name):
    """An estimate (tests,) and the lengths (2, tests) of its bars; a log-ratio becomes a ratio."""
    ends = table[[f"{name}_low", name, f"{name}_high"]].to_numpy()
    if name == "median_log_ratio":
        ends = np.exp(ends)
    low, middle, high = ends.T
    return middle, bar_lengths(low, middle, high)


def plot_forest(effects: pd.DataFrame, tests: pd.DataFrame) -> Figure:
    """Three effect sizes with paired bootstrap 95% intervals, one line per test.

    Colour and marker are those of the gate that wins the median seed.
    """
    names = _test_names(effects)
    rows = np.arange(len(names))
    winners = tests["winner"].where(tests["winner"].isin(list(GATE_COLOURS)), "exp").to_numpy()
    figure, axes = panels(1, 3, height=2.4, sharey=True)
    for axis, (effect, title) in zip(axes[0], EFFECTS.items(), strict=True):
        middle, bars = _interval(effects, effect)
        for gate, colour in GATE_COLOURS.items():
            won = winners == gate
            axis.errorbar(
                middle[won],
                rows[won],
                xerr=bars[:, won],
                fmt=MARKERS[gate],
                color=colour,
                capsize=2,
                label=f"{gate} gate wins the median seed",
            )
        axis.axvline(1 if effect == "median_log_ratio" else 0, **ONE)
        axis.set_xlabel(title)
    axes[0, 0].set_xscale("log")
    plain_ticks(axes[0, 0].xaxis)
    axes[0, 0].set_yticks(rows, names)
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    axes[0, 1].set_xlim(-1.15, 1.15)
    add_legend(figure, axes[0, 0], 4, "right")
    problems = [f"{name} ({note})" for name, note in zip(names, tests["note"], strict=True) if note]
    note = f"n = {effects['n'].min()} pairs in every test"
    if problems:
        note = "Not shown or not to be trusted: " + "; ".join(problems)
    lines = wrap_notes([f"Bars: paired bootstrap 95% intervals. {note}"])
    add_note(figure, "\n".join(lines))
    return figure


def plot_seed_by_seed(pairs: pd.DataFrame, seeds: int) -> Figure:
    """Paired differences, one panel per test; linear within ±0.01, logarithmic beyond.

    Dashes: median, dots: mean, both only where all pairs are complete.
    """
    figure, axes = panels(2, 4, height=3.9, sharex=True, sharey=True)
    axes[0, 0].set_yscale("symlog", linthresh=0.01)
    groups = pairs.groupby(["lambda_ic", "k", "metric"])
    for axis, (_, group) in zip(axes.flat, groups, strict=False):  # panels may stay empty
        known = group.dropna(subset="difference")
        for gate, colour in GATE_COLOURS.items():
            part = known[known["difference"].gt(0) == (gate == "exp")]
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
        if len(known) == len(group):
            median, mean = known["difference"].median(), known["difference"].mean()
            axis.axhline(median, color="black", linestyle="--", linewidth=0.9, label="median")
            axis.axhline(mean, color="black", linestyle=":", linewidth=1.2, label="mean")
        axis.set_title(f"{_test_names(group)[0]}\nn = {len(known)} of {len(group)}")
    last = max(seeds, 2)
    axes[0, 0].set(xlim=(-1, last), xticks=range(0, last, 5))
    figure.supxlabel("seed", fontsize=7.5)
    figure.supylabel("error(linear) − error(exp), units of the metric", fontsize=7.5)
    add_legend(figure, axes[0, 0], 4, "right")
    return figure


def plot_every_k(tests: pd.DataFrame) -> Figure:
    """Median ratio of `tests_at_every_k` against k: one row per λ, one column per loss and model.

    Filled markers are significant; a cross at the bottom marks a k with missing runs.
    """
    figure, axes = panels(2, 4, height=3.9, sharex=True, sharey=True)
    axes[0, 0].set(yscale="log", xlim=(0, 140), xticks=range(20, 140, 40))
    for row, lambda_ic in zip(axes, (0, 50), strict=True):
        for axis, (loss, model) in zip(row, SETTINGS, strict=True):
            part = tests.query("lambda_ic == @lambda_ic and loss == @loss and model == @model")
            max_ae, rel_l2 = (part[part["metric"] == name] for name in ("max_ae_u", "rel_l2_u"))
            title = model if loss == "balanced" else f"{model} ({loss})"
            axis.axhline(1, **ONE)
            _plot_ratios(axis, max_ae, METRIC_NAMES["max_ae_u"], "o", "0.1", shift=-1.5)
            _plot_ratios(axis, rel_l2, METRIC_NAMES["rel_l2_u"], "D", PURPLE, shift=1.5)
            counts = _mark_incomplete(axis, rel_l2)
            axis.set_title(f"{_penalty(lambda_ic)}, {title}\n{counts}")
    plain_ticks(axes[0, 0].yaxis)
    figure.supxlabel(STIFFNESS, fontsize=7.5)
    figure.supylabel("median ratio of errors, linear / exp", fontsize=7.5)
    add_legend(figure, axes[0, 0], 4, "center")
    return figure


def _plot_ratios(axis, tests, name, symbol, hue, shift):
    """Median ratios with their intervals; filled: significant, open: not."""
    k = tests["k"].to_numpy() + shift
    sure = (tests["p_holm"] < LEVEL).to_numpy()
    middle, bars = _interval(tests, "median_log_ratio")
    axis.errorbar(k, middle, yerr=bars, fmt="none", ecolor=hue, elinewidth=0.8, capsize=1.2)
    look = {"color": hue, "markersize": 3}
    axis.plot(k, middle, symbol, **look, mfc="white", label=f"{name}, not significant")
    axis.plot(k[sure], middle[sure], symbol, **look, label=f"{name}, p (Holm) < {LEVEL}")


def _mark_incomplete(axis, tests):
    """Put a cross at each k whose runs are not complete; returns how many k are, and on n seeds."""
    complete = tests["n"] == tests["needed"]
    missing = tests["k"][~complete]
    axis.plot(
        missing,
        np.full(len(missing), 0.04),
        "x",
        color="black",
        markersize=3,
        transform=axis.get_xaxis_transform(),
    )
    text = f"{complete.sum()} of {len(tests)} k"
    if complete.any():
        text += ", n = " + " or ".join(map(str, sorted(set(tests["n"][complete]))))
    return text


def plot_both_losses(tests: pd.DataFrame, means: pd.DataFrame) -> Figure:
    """Ratio linear/exp (above) and median errors (below) under both losses; one column per λ.

    `tests` are those of `tests_at_every_k`, `means` the cells of `summary_table`, of one metric.
    """
    figure, axes = panels(2, 2, height=3.9, sharex=True, sharey="row")
    for (above, below), lambda_ic in zip(axes.T, (0, 50), strict=True):
        for loss, colour, marker in (("balanced", "black", "o"), ("mse", PURPLE, "D")):
            part = tests.query("lambda_ic == @lambda_ic and loss == @loss")
            middle, bars = _interval(part, "median_log_ratio")
            above.errorbar(
                part["k"],
                middle,
                bars,
                fmt=f"-{marker}",
                color=colour,
                capsize=1.5,
                linewidth=0.8,
                markersize=3,
                label=loss,
            )
            for gate, (line, fill) in GATE_STYLES.items():
                curve = means.query("lambda_ic == @lambda_ic and loss == @loss and gate == @gate")
                below.plot(
                    curve["k"],
                    curve["median"],
                    marker=marker,
                    linestyle=line,
                    color=colour,
                    label=f"{loss}, {gate}",
                    **filled(colour, fill),
                )
        above.axhline(1, **ONE)
        above.set_title(_penalty(lambda_ic))
        below.set_xlabel(STIFFNESS)
    axes[0, 0].set_ylabel("ratio of errors, linear / exp")
    axes[1, 0].set_ylabel(f"{METRIC_LABELS['rel_l2_u']}, median")
    log_axis(axes[0, 0], np.exp(tests.filter(like="median_log_ratio").to_numpy().ravel()))
    log_axis(axes[1, 0], means["median"].to_numpy())
    for axis in axes[:, 1]:
        axis.legend(ncols=2, columnspacing=1)
    return figure


def plot_basins(case: pd.DataFrame, curves: pd.DataFrame, spec: RunSpec) -> Figure:
    """Left: the angles in `curves` (one column per key) in the colour of their basin.

    Right: error against residual, both gates.
    """
    figure, ((left, right),) = panels(1, 2, height=2.4, width_ratios=(2, 1))
    hues = dict(zip(BASINS, (GREEN, PURPLE, BROWN), strict=True))
    basins = case.set_index("key")["basin"]
    for key, angle in curves.items():
        basin = basins[key]
        left.plot(curves.index, angle, color=hues[basin], linewidth=0.6, label=basin)
    reference = np.interp(curves.index, spec.reference.t, spec.reference.q[1])
    left.plot(curves.index, reference, "--", color="black", linewidth=1, label="reference")
    title = f"linear gate, $k={spec.k:g}$, $\\lambda_{{IC}}={spec.lambda_ic:g}$: every seed"
    left.set(xlabel="time $t$ [s]", ylabel="angle $θ$ [rad]", ylim=(-0.65, 0.9), title=title)
    add_legend(figure, left, 4, "left")
    for gate, part in case.groupby("gate"):
        right.plot(
            part["residual_mean"],
            part["rel_l2_u"],
            MARKERS[gate],
            color=GATE_COLOURS[gate],
            label=gate,
        )
    right.set(xscale="log", yscale="log", ylabel=METRIC_LABELS["rel_l2_u"])
    right.set_xlabel("mean residual [m/s², rad/s²]")
    plain_ticks(right.xaxis)
    plain_ticks(right.yaxis)
    right.legend(loc="upper left")
    return figure
