"""Figures of one gate against the other (notebook 03).

The published tests seed by seed, every stiffness and model as a heatmap, the basins of a cell.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from pinnlib.analysis.significance import LEVEL
from pinnlib.report.basins import BASINS
from pinnlib.report.standing_still import ANGLE
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    BROWN,
    GATE_COLOURS,
    GREEN,
    ONE,
    PURPLE,
    STIFFNESS,
    bar_lengths,
    panels,
    plain_ticks,
    text_colour,
)
from pinnlib.style.labels import METRIC_NAMES

MARKERS = {"exp": "o", "linear": "s"}
ERROR_NAMES = METRIC_NAMES | {ANGLE: "angle $θ$"}
ROWS = ("max_ae_u", "rel_l2_u", ANGLE)  # of the forest plot, from top to bottom
SETTINGS = {  # rows of the heatmap: (model, loss, λ) → label
    ("adaptive", "balanced", 50): "adaptive, balanced, $λ_{IC}$ = 50",
    ("adaptive", "balanced", 0): "adaptive, balanced, $λ_{IC}$ = 0",
    ("adaptive", "mse", 50): "adaptive, mse, $λ_{IC}$ = 50",
    ("adaptive", "mse", 0): "adaptive, mse, $λ_{IC}$ = 0",
    ("fixed", "balanced", 50): "fixed, balanced, $λ_{IC}$ = 50",
    ("fixed", "balanced", 0): "fixed, balanced, $λ_{IC}$ = 0",
    ("baseline", "balanced", 50): "baseline, balanced, $λ_{IC}$ = 50",
    ("baseline", "balanced", 0): "baseline, balanced, $λ_{IC}$ = 0",
}
HEATMAPS = {"rel_l2_u": "Error of the state (ReL2E)", ANGLE: "Error of the angle $θ$ alone"}
DEEPEST = np.log(4)  # log-ratio of the deepest colour
BASIN_COLOURS = dict(zip(BASINS, (GREEN, PURPLE, BROWN), strict=True))
DARK = {"near": "#01724f", "wrong": "#9c4a8c", "lost": "#8a5a2b"}  # the same for text
BASIN_WORDS = {
    "near": ("near the reference", "near the reference"),
    "wrong": ("on a wrong trajectory", "on one wrong trajectory"),
    "lost": ("lost", "lost"),
}


def plot_forest(tests: pd.DataFrame, pairs: pd.DataFrame) -> Figure:
    """Ratio of errors of every seed and the median with its interval, one line per test.

    `tests` are `tests_of_both` of the published tests, `pairs` the same runs as `pair_table`; a
    test that is not complete has its seeds and no median. The colour is that of the better gate.
    """
    cells = sorted(set(zip(tests["lambda_ic"], tests["k"], strict=True)))
    height = 0.55 + 0.62 * len(cells)
    figure, ((axis, beside),) = panels(1, 2, height=height, sharey=True, width_ratios=(3, 1))
    beside.set_axis_off()
    labels = {}
    place = 0.0
    for lambda_ic, k in cells:
        for metric in ROWS:
            chosen = "lambda_ic == @lambda_ic and k == @k and metric == @metric"
            test = tests.query(chosen).iloc[0]
            _draw_test(axis, place, test, pairs.query(chosen))
            _write_test(beside, place, test)
            labels[place] = f"$λ_{{IC}}$ = {lambda_ic:g}, $k$ = {k:g}, {ERROR_NAMES[metric]}"
            place += 1
        place += 0.6
    axis.axvline(1, **ONE)
    axis.set(xscale="log", xlabel="ratio of errors, linear / exponential", ylim=(place - 1, -0.8))
    plain_ticks(axis.xaxis)
    axis.set_yticks(list(labels), labels.values())
    axis.tick_params("y", length=0)
    axis.grid(visible=False)
    head = {"va": "bottom", "fontsize": 7}
    beside.text(0, -0.8, "better in seeds", **head)
    beside.text(0.68, -0.8, "$p$ (Holm)", **head)
    head["transform"] = axis.get_yaxis_transform()
    axis.text(0, -0.8, "← linear better", color=GATE_COLOURS["linear"], **head)
    axis.text(0.98, -0.8, "exponential better →", color="#1f6f9f", ha="right", **head)
    return figure


def _draw_test(axis: Axes, place: float, test: pd.Series, pairs: pd.DataFrame) -> None:
    """One line of the forest plot: seeds, and the median with its interval."""
    ratios = np.exp(pairs["log_ratio"].dropna())
    for gate, colour in GATE_COLOURS.items():
        part = ratios[ratios.gt(1) == (gate == "exp")]
        heights = np.full(len(part), place)
        axis.plot(part, heights, ".", color=colour, markersize=3.5, alpha=0.55)
    if test["winner"] not in GATE_COLOURS:
        return
    names = ["median_log_ratio_low", "median_log_ratio", "median_log_ratio_high"]
    low, middle, high = np.exp(test[names].astype(float))
    axis.errorbar(
        middle,
        place,
        xerr=bar_lengths([low], [middle], [high]),
        fmt=MARKERS[test["winner"]],
        color="0.1",
        markerfacecolor=GATE_COLOURS[test["winner"]],
        markersize=5,
        capsize=2,
    )


def _write_test(axis: Axes, place: float, test: pd.Series) -> None:
    """The better gate, the seeds in which it is better, and p; or why there is no such."""
    look = {"va": "center", "fontsize": 7}
    if test["winner"] not in GATE_COLOURS:
        axis.text(0, place, test["note"] or test["winner"], **look)
        return
    won = round(test["frac_win"] * test["n"])
    axis.text(0, place, f"{test['winner']} ({won} of {test['n']})", **look)
    axis.text(0.68, place, f"{test['p_holm']:.1e}", **look)


def plot_every_k(tests: pd.DataFrame) -> Figure:
    """Median ratio linear/exp as heatmaps, a row per setting and a column per k.

    `tests` are `tests_of_both`; above ReL2E, below the angle. Bold with a star: significant; dots:
    runs are missing; hatched: no such runs were asked for.
    """
    ks = sorted(set(tests["k"]))
    figure, axes = panels(2, 1, height=4.3, sharex=True)
    for axis, (metric, title) in zip(axes[:, 0], HEATMAPS.items(), strict=True):
        colours = _draw_heatmap(axis, tests[tests["metric"] == metric], ks)
        axis.set_title(title, loc="left", fontweight="bold")
    axes[1, 0].set_xlabel(STIFFNESS)
    bar = figure.colorbar(colours, ax=axes, extend="both", aspect=40, pad=0.015)
    ticks = np.array([0.25, 0.5, 1, 2, 4])
    bar.set_ticks(np.log(ticks), labels=["1/4", "1/2", "1", "2", "4"])
    bar.set_label("ratio of errors, linear / exponential")
    bar.outline.set_visible(False)
    bar.ax.text(0.5, 1.05, "exp better", transform=bar.ax.transAxes, ha="center", fontsize=7)
    bar.ax.text(0.5, -0.07, "linear better", transform=bar.ax.transAxes, ha="center", fontsize=7)
    return figure


def _draw_heatmap(axis: Axes, tests: pd.DataFrame, ks: Sequence[float]) -> QuadMesh:
    """One heatmap with the ratio in each cell; returns its colours."""
    values = np.full((len(SETTINGS), len(ks)), np.nan)
    rows = list(SETTINGS)
    ends = [GATE_COLOURS["linear"], "white", GATE_COLOURS["exp"]]
    colours = LinearSegmentedColormap.from_list("gates", ends)
    depth = Normalize(-DEEPEST, DEEPEST)
    for test in tests.itertuples():
        row = rows.index((test.model, test.loss, test.lambda_ic))
        column = ks.index(test.k)
        values[row, column] = test.median_log_ratio
        text, weight = "…", "normal"
        if np.isfinite(test.median_log_ratio):
            text = _short(np.exp(test.median_log_ratio))
        if test.p_holm < LEVEL:
            text, weight = f"{text}*", "bold"
        look = {"ha": "center", "va": "center", "fontsize": 7, "fontweight": weight}
        look["color"] = text_colour(colours(depth(test.median_log_ratio)))
        axis.text(column + 0.5, row + 0.5, text, **look)
    axis.patch.set(facecolor="0.93", hatch="////", edgecolor="0.8")
    mesh = axis.pcolormesh(values, cmap=colours, norm=depth)
    mesh.set(edgecolor="white", linewidth=1)
    axis.set_yticks(np.arange(len(rows)) + 0.5, SETTINGS.values())
    axis.set_xticks(np.arange(len(ks)) + 0.5, [f"{k:g}" for k in ks])
    axis.set_ylim(len(rows), 0)
    axis.tick_params(length=0)
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    return mesh


def _short(ratio: float) -> str:
    """Two or three digits: 0.62, 1.5, 12."""
    if ratio < 1:
        return f"{ratio:.2f}"
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def plot_basins(case: pd.DataFrame, curves: pd.DataFrame, spec: RunSpec) -> Figure:
    """Left: the angles in `curves` (one column per key) in the colour of their basin.

    Right: the errors of the state and of the angle against the residual, both gates.
    """
    figure, axes = panels(2, 2, height=3.0, width_ratios=(2, 1), sharex="col")
    above, below = axes[:, 1]
    for axis in axes[:, 0]:
        axis.remove()
    left = figure.add_subplot(above.get_gridspec()[:, 0])
    linear = case[case["gate"] == "linear"]
    figure.suptitle(basin_title(linear, spec), x=0.01, ha="left", fontsize=9, fontweight="bold")
    _draw_angles(left, linear, curves, spec)
    for axis, metric in ((above, "rel_l2_u"), (below, ANGLE)):
        for gate, part in case.groupby("gate"):
            look = {"color": GATE_COLOURS[gate], "markersize": 3.2, "alpha": 0.8}
            axis.plot(part["residual_mean"], part[metric], MARKERS[gate], **look)
        axis.set(xscale="log", yscale="log", ylabel=f"error ({ERROR_NAMES[metric]})")
        plain_ticks(axis.xaxis)
        plain_ticks(axis.yaxis)
    above.set_title("every seed, both gates", loc="left")
    for height, gate in ((0.9, "exp"), (0.78, "linear")):
        colour = {"exp": "#1f6f9f", "linear": GATE_COLOURS["linear"]}[gate]
        above.text(0.04, height, f"{gate} gate", color=colour, transform=above.transAxes)
    below.set_xlabel("mean residual [m/s², rad/s²]")
    return figure


def basin_title(linear: pd.DataFrame, spec: RunSpec) -> str:
    """The message of `plot_basins`, from the runs of the linear gate."""
    wrong = int((linear["basin"] == "wrong").sum())
    where = f"$k$ = {spec.k:g}"
    if wrong == 0:
        return f"At {where} no seed of the linear gate is on a wrong trajectory"
    verb = "is" if wrong == 1 else "are"
    what = "a wrong trajectory" if wrong == 1 else "one and the same wrong trajectory"
    return f"At {where}, {wrong} of {len(linear)} seeds of the linear gate {verb} on {what}"


def _draw_angles(axis: Axes, linear: pd.DataFrame, curves: pd.DataFrame, spec: RunSpec) -> None:
    basins = linear.set_index("key")["basin"]
    for key, angle in curves.items():
        colour = BASIN_COLOURS[basins[key]]
        axis.plot(curves.index, angle, color=colour, linewidth=0.7, label=basins[key])
    reference = np.interp(curves.index, spec.reference.t, spec.reference.q[1])
    axis.plot(curves.index, reference, "--", color="black", linewidth=1.2, label="reference")
    axis.set(xlabel="time $t$ [s]", ylabel="angle $θ$ [rad]", ylim=(-0.65, 1.2))
    counts = basins.value_counts()
    texts = [("reference", "black")]
    for basin, (one, several) in BASIN_WORDS.items():
        n = counts.get(basin, 0)
        if n:
            text = f"{n} seed {one}" if n == 1 else f"{n} seeds {several}"
            texts.append((text, DARK[basin]))
    for number, (text, colour) in enumerate(texts):
        height = 0.97 - 0.065 * number
        mark = "– –" if text == "reference" else "—"
        axis.text(0.02, height, f"{mark} {text}", color=colour, va="top", transform=axis.transAxes)
    title = f"linear gate, $λ_{{IC}}$ = {spec.lambda_ic:g}: the angle of every seed"
    axis.set_title(title, loc="left")
