"""Pictures of the residual Jacobian and its kernel."""

import numpy as np
import pandas as pd

from pinnlib.analysis import ntk
from pinnlib.report.kernel_measurements import envelope, gate_of
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    GATE_COLOURS,
    GATE_STYLES,
    METRICS,
    NOTE,
    ONE,
    PURPLE,
    STIFFNESS,
    WIDE,
    filled,
    panels,
    shades,
)

LOOKS = {
    gate: {"color": colour, "linestyle": GATE_STYLES[gate][0]}
    for gate, colour in GATE_COLOURS.items()
}
SCALARS = {  # of the kernel, as they are shown in a table
    "effective_rank": "{:.2f}",
    "condition": "{:.0e}",
    "rank": "{:.0f}",
    "late_over_early": "{:.2f}",
    "share_raw": "{:.3f}",
    "balanced_effective_rank": "{:.2f}",
    "balanced_alignment": "{:.2f}",
}


def growth(profile):
    """Per gate, k and update: the mean norm of J_R in the last fifth of the horizon over that in the second, for all parameters and either part."""
    end = profile["t"].max()
    windows = (
        profile[profile["t"].between(a * end, b * end, inclusive="right")]
        for a, b in ((0.8, 1), (0.2, 0.4))
    )
    late, early = (
        window.groupby(["gate", "k", "update"])[["all", "head", "frequencies"]].mean()
        for window in windows
    )
    return late / early


def closed_forms(profile, k):
    """Per gate and time, at one k and the start: the median norms of `head` and `frequencies`, and what they should be (`…_closed`).

    That is `envelope` for the head, and t·g(t), scaled to the last time, for the frequencies.
    """
    norms = (
        profile[(profile["update"] == 0) & (profile["k"] == k)]
        .groupby(["gate", "t"])[["head", "frequencies"]]
        .median()
    )
    forms = []
    for gate, part in norms.groupby("gate"):
        spec, times = RunSpec(gate=gate, k=k), np.array(part.index.get_level_values("t"))
        factor = times * gate_of(spec, times)
        forms.append(
            part.assign(
                head_closed=envelope(spec, times),
                frequencies_closed=factor * part["frequencies"].iloc[-1] / factor[-1],
            )
        )
    return pd.concat(forms)


def jacobian_in_time(profile, k=20):
    """Norm of J_R(t), median over seeds: head and frequencies at the start, with their closed forms as dots, and all parameters at the end."""
    figure, axes = panels(1, 3, height=2.3)
    closed, last, seeds = (
        closed_forms(profile, k),
        profile["update"].max(),
        profile["seed"].nunique(),
    )
    end = profile[profile["update"] == last].groupby(["gate", "k", "t"])["all"].median()
    for gate, look in LOOKS.items():
        for axis, part in zip(axes[0], ("head", "frequencies")):
            axis.plot(closed[part][gate], **look, label=gate)
            axis.plot(closed[f"{part}_closed"][gate][::6], "o", color=look["color"], markersize=2)
        for stiffness, width in ((20, 1.4), (60, 0.7)):
            axes[0, 2].plot(
                end[gate, stiffness], **look, linewidth=width, label=f"{gate}, $k={stiffness}$"
            )
    for axis, title in zip(
        axes[0],
        (
            "head, at the start",
            "frequencies, at the start",
            f"all parameters, after {last:,} updates",
        ),
    ):
        axis.set(
            title=title,
            yscale="log",
            xlabel="time $t$ [s]",
            ylabel="norm of the Jacobian $J_R(t)$" if axis is axes[0, 0] else "",
        )
        axis.legend(handlelength=2.2)
    note = f"Lines: median of {seeds} seeds; left and middle $k={k}$. Dots: closed form of the head, and $t\\,g(t)$ scaled to the last time."
    figure.supxlabel(note, x=0.01, ha="left", **NOTE)
    return figure


def scalars(measured, by):
    """The median of every scalar of SCALARS that the table has, per group of `by`, as text."""
    middle = measured.groupby(by)[[name for name in SCALARS if name in measured]].median()
    return middle.apply(lambda column: column.map(SCALARS[column.name].format))


def kernel_in_training(spectra, measured, ks=(20, 60, 100)):
    """Median eigenvalues of K at the two updates of `spectra` (of one k), and effective ranks of K, plain and balanced, along training."""
    figure, axes = panels(1, 3, height=2.4)
    values, ends = (
        spectra.groupby(["gate", "update", "number"])["share"].median(),
        sorted(set(spectra["update"])),
    )
    for gate, look in LOOKS.items():
        for width, update in zip((0.7, 1.4), ends):
            axes[0, 0].plot(
                values[gate, update], **look, linewidth=width, label=f"{gate}, {update:,} updates"
            )
    axes[0, 0].set(
        yscale="log",
        ylim=(ntk.SINGLE**2, 2),
        xlim=(0, 115),
        xlabel="number of the eigenvalue",
        ylabel="eigenvalue of $K$ / largest",
    )
    axes[0, 0].legend(title=f"$k={spectra['k'].iloc[0]:g}$", handlelength=2.2)
    ranks = {
        "effective_rank": "effective rank of $K$",
        "balanced_effective_rank": "effective rank, balanced $K$",
    }
    middle, updates, shade = (
        measured.groupby(["k", "gate", "update"])[[*ranks]].median(),
        sorted(set(measured["update"])),
        shades(ks),
    )
    for axis, (name, title) in zip(axes[0, 1:], ranks.items()):
        for k, gate in ((k, gate) for k in ks for gate in LOOKS):
            look = {
                "color": shade[k],
                "linestyle": GATE_STYLES[gate][0],
                "marker": "o",
                "markersize": 2,
            }
            axis.plot(middle[name][k, gate].to_numpy(), **look, label=f"{gate}, $k={k}$")
        axis.set(ylabel=title, xticks=range(len(updates)), xticklabels=updates, xlabel="update")
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    note = "Median of 5 seeds at most, adaptive model, $\\lambda_{IC}=50$; the frame on the left ends at single precision."
    figure.supxlabel(note, x=0.01, ha="left", **NOTE)
    return figure


def sizes_in_time(timed):
    """Median residual (above) and error (below) in each window of the horizon, a curve per update; a column per k and gate."""
    columns = [(k, gate) for k in sorted(set(timed["k"])) for gate in LOOKS]
    figure, axes = panels(2, len(columns), height=3.4, sharex=True, sharey="row")
    sizes, shade = (
        timed.groupby(["k", "gate", "update", "window"])[["residual", "error"]].median(),
        shades(sorted(set(timed["update"]))),
    )
    for (k, gate), column in zip(columns, axes.T):
        for axis, name in zip(column, ("residual", "error")):
            for update, colour in shade.items():
                axis.plot(
                    sizes[name].loc[k, gate, update],
                    color=colour,
                    marker="o",
                    markersize=2,
                    label=f"{update:,} updates",
                )
            axis.set(
                yscale="log",
                title=f"{gate}, $k={k:g}$" if name == "residual" else "",
                xlabel="time $t$ [s]" if name == "error" else "",
            )
    for axis in axes[1]:
        axis.tick_params(axis="x", labelsize=6, rotation=35)
    axes[0, 0].set_ylabel("RMS residual\n[m/s², rad/s²]")
    axes[1, 0].set_ylabel("RMS error\n[m, rad]")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return figure


def areas(found, pairs):
    """AUC of every quantity with its interval, a mark per update, over all pairs and within k; `found` as from `scaling.predictors`."""
    figure, axes = panels(1, 2, height=3.3, sharey=True)
    for axis, (scope, title) in zip(
        axes[0], (("all", "all pairs"), ("within_k", "pairs of the same $k$"))
    ):
        for shift, mark, (update, rows) in zip((-0.17, 0.17), "os", found.groupby("update")):
            middle, low, high = (rows[f"{end}_{scope}"] for end in ("auc", "low", "high"))
            look = {
                "fmt": mark,
                "color": PURPLE if update else "0.2",
                "capsize": 1.5,
                "label": f"after {update} updates",
            }
            axis.errorbar(
                middle,
                np.arange(len(rows)) + shift,
                xerr=np.clip([middle - low, high - middle], 0, 1),
                **look,
            )
        axis.axvline(0.5, **ONE)
        axis.set(
            title=title,
            xlabel="AUC for “the exponential gate wins”",
            xlim=(-0.03, 1.03),
            ylim=(len(rows) - 0.5, -0.5),
        )
    names = rows["quantity"].str.replace("_", " ").str.replace("share raw", "share of frequencies")
    axes[0, 0].set_yticks(range(len(rows)), names)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    note = f"{len(pairs)} pairs. Bars: seeds resampled, level 5% over all {len(found)} quantities and moments."
    figure.supxlabel(note, x=0.01, ha="left", **NOTE)
    return figure


def areas_told(found):
    """What `areas` shows and the rank correlations beside it, as text: "value [low, high]" over all pairs and within k, and p within k."""
    told = found[["update", "quantity"]].copy()
    for kind, ends in (("auc", ""), ("rho", "rho_")):
        for scope in ("all", "within_k"):
            values = found[
                [f"{kind}_{scope}", f"{ends}low_{scope}", f"{ends}high_{scope}"]
            ].to_numpy()
            told[f"{kind}_{scope}"] = ["{:.2f} [{:.2f}, {:.2f}]".format(*row) for row in values]
    return told.assign(p_within_k=found["p_within_k"].map("{:.1g}".format))


def floors_against_k(floors):
    """Median error against k that training reached, and the best of any head with the frequencies at the start and those learned."""
    figure, axes = panels(1, 1, width=WIDE, height=2.7)
    titles = {
        "reached": "reached by training",
        "floor_start": "floor, starting frequencies",
        "floor_learned": "floor, learned frequencies",
    }
    middle = floors.groupby(["gate", "k"])[[*titles]].median()
    for gate, look in LOOKS.items():
        fill = filled(look["color"], GATE_STYLES[gate][1])
        for mark, (name, title) in zip("ov^", titles.items()):
            axes[0, 0].plot(
                middle[name][gate], **look, **fill, marker=mark, label=f"{gate}: {title}"
            )
    axes[0, 0].set(yscale="log", xlabel=STIFFNESS, ylabel=f"{METRICS['rel_l2_u']}, median")
    figure.legend(loc="outside upper center", ncols=2)
    return figure
