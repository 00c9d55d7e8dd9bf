"""Pictures of gates compared: ten gates, the family of α, three optimisers, and every contrast with its interval."""

import numpy as np

from pinnlib.analysis.paired import LEVEL
from pinnlib.runs.studies import FOUR_K
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    COLUMN,
    GATE_COLOURS,
    METRICS,
    NOTE,
    ONE,
    PURPLE,
    RED,
    SKY,
    STIFFNESS,
    panels,
    shades,
)

OPTIMISERS = {
    "SGD": "s",
    "Adam": "o",
    "Levenberg–Marquardt": "^",
    "floor": "_",
}  # marker of each, and of the best that the ansatz could do
QUESTIONS = {  # as in the table of contrasts → the same in two lines, and what circle and square are where a stiffness has two points
    "amplitude: original, changed": ("amplitude:\noriginal, changed", "○ exp  □ linear"),
    "shape: straight, saturating": ("shape: straight,\nsaturating", "○ 10  □ 1"),
    "exp, linear: updates": ("exp, linear:\nupdates", "○ 1×  □ 5×"),
    "hard, penalty": ("hard, penalty\n", "○ exp  □ linear"),
    "exp, linear: hard velocity": ("exp, linear:\nhard velocity", ""),
    "own, reference trajectory": ("own, reference\ntrajectory", "○ exp  □ linear"),
    "exp, linear: Lev.–Marquardt": ("exp, linear:\nLev.–Marquardt", "○ adaptive  □ fixed"),
}


def formula(gate):
    """g(t) for a label."""
    return f"${RunSpec(gate=gate).gate_object.formula}$"


def ten_gates(runs, gates):
    """The error of every run that is ok as a stroke, the median as a dot; a row per gate, in the given order from the top, and a panel per k."""
    ks = sorted(set(runs["k"]))
    figure, axes = panels(1, len(ks), height=2.5, sharex=True, sharey=True)
    for axis, k in zip(axes[0], ks):
        for y, gate in enumerate(gates):
            error = runs.query("gate == @gate and k == @k and status == 'ok'")["rel_l2_u"]
            colour = RED if gate.startswith("linear") else PURPLE if "scale" in gate else SKY
            axis.plot(error, np.full(len(error), y), "|", color=colour, markersize=5)
            axis.plot(error.median(), y, "o", color="black", markersize=2.5)
        axis.set(
            xscale="log",
            title=f"$k={k}$",
            xlabel=METRICS["rel_l2_u"],
            ylim=(len(gates) - 0.5, -0.5),
        )
        axis.set_xticks([0.02, 0.1, 0.5, 2], ["0.02", "0.1", "0.5", "2"])
    axes[0, 0].set_yticks(range(len(gates)), [formula(gate) for gate in gates])
    note = f"Strokes: single seeds (n = {runs['seed'].nunique()}); dots: median. Red: straight; blue: saturating at 1; purple: saturating at 10."
    figure.supxlabel(note + " Best worst case on top.", x=0.01, ha="left", **NOTE)
    return figure


def alpha_curves(runs):
    """The median error against `alpha`, with the band that holds the middle half of the seeds; a curve per k."""
    figure, ((axis,),) = panels(1, 1, width=COLUMN, height=2.3)
    alphas = sorted(set(runs["alpha"]))
    for k, shade in shades(sorted(set(runs["k"]))).items():
        band = (
            runs[runs["k"] == k].groupby("alpha")["rel_l2_u"].quantile([0.25, 0.5, 0.75]).unstack()
        )
        axis.fill_between(band.index, band[0.25], band[0.75], color=shade, alpha=0.2, linewidth=0)
        axis.plot(band.index, band[0.5], color=shade, marker="o", label=f"$k={k}$")
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="$α$ of the gate $1-e^{-αt}$ [1/s]",
        ylabel=METRICS["rel_l2_u"],
    )
    axis.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    axis.minorticks_off()
    axis.set_yticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
    axis.legend(ncols=2)
    return figure


def optimiser_errors(errors):
    """Errors by (k, gate), a column per optimiser and one for the `floor`, against k; a panel per gate."""
    figure, axes = panels(1, 2, height=2.4, sharey=True)
    ks = sorted(set(errors.index.get_level_values("k")))
    for axis, (gate, colour) in zip(axes[0], GATE_COLOURS.items()):
        for method, mark in OPTIMISERS.items():
            curve = errors[method].xs(gate, level="gate")
            axis.plot(
                curve.index,
                curve,
                mark,
                color="black" if method == "floor" else colour,
                linestyle=":",
                linewidth=0.6,
                markersize=4,
            )
        axis.set(
            yscale="log", title=f"{gate} gate, {formula(gate)}", xlabel=STIFFNESS, xscale="log"
        )
        axis.set_xticks(ks, ks)
        axis.minorticks_off()
    axes[0, 0].set_ylabel(f"{METRICS['rel_l2_u']}, median")
    names = {method: method.replace("floor", "best head") for method in OPTIMISERS}
    handles = [
        axes[0, 1].plot([], [], mark, color="0.3", markersize=4, label=names[method])[0]
        for method, mark in OPTIMISERS.items()
    ]
    axes[0, 1].legend(handles=handles, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.supxlabel(
        "Adaptive model, ten seeds at most; best head: least squares with the learned frequencies.",
        x=0.01,
        ha="left",
        **NOTE,
    )
    return figure


def all_contrasts(table):
    """Every ratio with its interval, a column per `question` of QUESTIONS, colours by k; filled where p after Holm is below 0.05."""
    figure, ((axis,),) = panels(height=2.8)
    shade = shades(FOUR_K)
    for x, question in enumerate(QUESTIONS):
        rows = table[table["question"] == question].sort_values("k", kind="stable")
        marks = rows.groupby("k").cumcount().map({0: "o", 1: "s"})
        for shift, row, mark in zip(np.linspace(-0.35, 0.35, len(rows)), rows.itertuples(), marks):
            look = {
                "color": shade[row.k],
                "markerfacecolor": shade[row.k] if row.p_holm < LEVEL else "white",
            }
            axis.errorbar(
                x + shift,
                row.ratio,
                [[row.ratio - row.low], [row.high - row.ratio]],
                fmt=mark,
                **look,
                markersize=3,
                elinewidth=0.8,
            )
    axis.axhline(1, **ONE)
    axis.set(yscale="log", ylabel="ratio of errors, second / first")
    axis.set_xticks(
        range(len(QUESTIONS)),
        [f"{lines}\n{points}" for lines, points in QUESTIONS.values()],
        fontsize=6.5,
    )
    handles = [axis.plot([], [], "o", color=shade[k], label=f"$k={k}$")[0] for k in FOUR_K]
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure
