"""The error-against-stiffness panels of the original (figure 1 and the others), declared as data."""

import itertools
import textwrap
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from pinnlib.analysis.paired import FEWEST, summary_table
from pinnlib.registry import validate
from pinnlib.style.figures import COLUMN, METRICS, NOTE, STIFFNESS, WIDE, log_axis, styles

LINE = 0.11  # inches from one of its lines to the next


@dataclass(frozen=True)
class Panel:
    """One panel of the paper: which study, which metric, which curves, how wide."""

    study: str
    metric: str
    models: tuple = ("adaptive", "fixed", "baseline")
    gates: tuple = ("exp", "linear")
    omit: tuple = ()  # pairs (model, gate) not drawn
    width: float = COLUMN


ZOOM, SPECTRAL = {"omit": (("baseline", "linear"),)}, {"models": ("adaptive", "fixed")}


PANELS = {  # path under figures/ → panel
    "lamIC50/rel_l2_u_vs_k_all_models__zoom_noBaselineLinear": Panel("main", "rel_l2_u", **ZOOM),
    "lamIC50/max_ae_u_vs_k_all_models__zoom_noBaselineLinear": Panel("main", "max_ae_u", **ZOOM),
    "lamIC50/rel_l2_u_vs_k_all_models": Panel("main", "rel_l2_u", width=WIDE),
    "lamIC0/rel_l2_u_vs_k_all_models__zoom_noBaselineLinear": Panel(
        "no_penalty", "rel_l2_u", **ZOOM
    ),
    "lamIC0/max_ae_u_vs_k_all_models__zoom_noBaselineLinear": Panel(
        "no_penalty", "max_ae_u", **ZOOM
    ),
    "expanded_adaptive/rel_l2_u_vs_k_all_models__zoom_spectralOnly": Panel(
        "expanded", "rel_l2_u", **SPECTRAL
    ),
    "expanded_adaptive/max_ae_u_vs_k_all_models__zoom_spectralOnly": Panel(
        "expanded", "max_ae_u", **SPECTRAL
    ),
}


def incomplete(table, most=4):
    """The cells of a `summary` without a mean, in words: "adaptive exp k=20 (3/10, 1 diverged)"; equal neighbours as one, many summed."""
    told = {}  # what is lacking → the curves that lack it
    for (model, gate), curve in table.groupby(["model", "gate"], sort=False):
        rows = curve[["k", "ok", "needed", "diverged", "failed"]].itertuples(index=False, name=None)
        spans = [
            list(alike)
            for (ok, needed, *_), alike in itertools.groupby(rows, key=lambda row: row[1:])
            if ok < needed
        ]
        parts = [
            _span([k for k, *_ in span], *span[0][1:], " each" * (len(span) > 1)) for span in spans
        ]
        if len(spans) > most:
            ks, *counts = zip(*itertools.chain(*spans))
            parts = [_span(ks, *map(sum, counts), f" over {len(ks)} cells")]
        told.setdefault(", ".join(parts), []).append(f"{model} {gate}")
    return "; ".join(f"{' & '.join(curves)} k={parts}" for parts, curves in told.items() if parts)


def _span(ks, ok, needed, diverged, failed, scope):
    where = f"{ks[0]:g}" if len(ks) == 1 else f"{ks[0]:g}–{ks[-1]:g}"
    bad = "".join(
        f", {count} {status}"
        for count, status in ((diverged, "diverged"), (failed, "failed"))
        if count
    )
    return f"{where} ({ok}/{needed}{scope}{bad})"


def error_vs_k(
    frame,
    metric,
    models=("adaptive", "fixed", "baseline"),
    gates=("exp", "linear"),
    omit=(),
    width=COLUMN,
):
    """Mean ± Student-t 95% interval against k, one curve per model and gate except those in `omit`, from the runs of one setting.

    A cell that lacks a run gets no mean: its finished runs are small crosses, one by one, and a note under the panel names it.
    """
    for setting in ("lambda_ic", "loss", "steps"):
        validate(
            setting,
            sorted(set(frame[setting])),
            frame[setting].nunique() == 1,
            "one and the same for all runs of a panel",
        )
    known = sorted(set(frame["gate"]))
    validate(
        "gates",
        list(gates),
        set(gates) <= set(known),
        f"out of those of the runs, written as there: {', '.join(known)}",
    )
    looks = {pair: look for pair, look in styles(models, gates).items() if pair not in omit}
    frame = frame[[pair in looks for pair in zip(frame["model"], frame["gate"])]]
    table = summary_table(frame, metric)
    single = frame[frame["status"] == "ok"].merge(
        table.loc[~table["complete"], ["model", "gate", "k"]]
    )
    ks = np.sort(table["k"].unique())
    notes, counts = _notes(table, width), _counts(table, models)

    columns = max(
        1, min(len(gates), int(width / (0.45 + 0.05 * max(len(", ".join(pair)) for pair in looks))))
    )  # of the legend: a handle and its letters
    above, inside, below = (
        0.23 + 0.125 * -(-len(looks) // columns),
        0.55 * width,
        0.38 + LINE * (len(counts) + len(notes) + 1.2 * bool(notes)),
    )
    left, right, total = 0.7, 0.05, above + inside + below
    figure = plt.figure(figsize=(width, total))
    axes = figure.add_axes(
        (left / width, below / total, 1 - (left + right) / width, inside / total)
    )
    spacing = np.diff(ks).min() if len(ks) > 1 else 1.0
    reach = min(0.25, 0.05 * (len(looks) - 1)) * spacing  # the curves of one k stand side by side
    for (pair, look), shift in zip(looks.items(), np.linspace(-reach, reach, len(looks))):
        means, runs = (
            rows[(rows["model"] == pair[0]) & (rows["gate"] == pair[1])] for rows in (table, single)
        )
        bars = {"elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8}
        name, drawn = ", ".join(pair), means["mean"].notna().any()
        axes.errorbar(
            means["k"] + shift,
            means["mean"],
            means["half_width"],
            **look,
            **bars,
            label=name if drawn else "_no mean",
        )
        cross = "+" if look["markerfacecolor"] == "white" else "x"
        label = "_runs" if drawn or runs.empty else f"{name}: single runs"
        axes.plot(
            runs["k"] + shift,
            runs[metric],
            cross,
            color=look["color"],
            markersize=2.6,
            mew=0.5,
            alpha=0.7,
            label=label,
        )
    mean, half = table["mean"], table["half_width"].fillna(0)
    log_axis(axes, np.concatenate([mean + half, np.maximum(mean - half, mean / 3), single[metric]]))
    axes.set(
        xlim=(ks[0] - 0.55 * spacing, ks[-1] + 0.55 * spacing),
        ylabel=METRICS.get(metric, metric.replace("_", " ")),
    )
    axes.set_xticks(ks, [f"{k:g}" if len(ks) < 9 or i % 2 == 0 else "" for i, k in enumerate(ks)])
    title = rf"$\lambda_\mathrm{{IC}}={frame['lambda_ic'].iloc[0]:g}$; mean ± 95% interval"
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="upper center",
        ncols=columns,
        title=title,
        borderaxespad=0.1,
        columnspacing=2.5,
    )

    at = (below - 0.25) / total  # from here downwards: name of the axis, seeds per point, notes
    figure.text((left + width - right) / 2 / width, at, STIFFNESS, ha="center", va="center")
    column = mpl.transforms.blended_transform_factory(axes.transData, figure.transFigure)
    for i, (label, numbers) in enumerate(counts, 1):
        y = at - (0.04 + LINE * i) / total
        figure.text((left - 0.04) / width, y, label, ha="right", va="center", **NOTE)
        for k, number in numbers.items():
            axes.text(k, y, number, ha="center", va="center", transform=column, **NOTE)
    figure.text(0.04 / width, 0.03 / total, "\n".join(notes), va="bottom", linespacing=1.15, **NOTE)
    return figure


def _notes(table, width):
    """The lines of small print: what is lacking, said plainly."""
    lacking = incomplete(table)
    notes = (
        [f"Incomplete, no mean drawn (crosses: single runs; finished/needed): {lacking}."]
        if lacking
        else []
    )
    few = (table["complete"] & (table["needed"] < FEWEST)).any()
    notes += (
        [f"Too few seeds (n < {FEWEST}): the interval is wide; a single seed would have none."]
        if few
        else []
    )
    return [line for note in notes for line in textwrap.wrap(note, round(20 * width))]


def _counts(table, models):
    """[(label, {k: text})]: seeds per point, a row per model, or per curve where the gates differ; "–" in a cell without a mean."""
    rows = {}
    for model, of_model in table.assign(
        text=table["needed"].astype(str).where(table["complete"], "–")
    ).groupby("model"):
        curves = {
            gate: dict(zip(curve["k"], curve["text"])) for gate, curve in of_model.groupby("gate")
        }
        same = len({tuple(texts.items()) for texts in curves.values()}) == 1
        labels = (
            [f"n {model}"]
            if same
            else [f"n {model} {gate}" if i == 0 else gate for i, gate in enumerate(curves)]
        )
        rows[model] = list(zip(labels, curves.values()))
    return [row for model in models for row in rows.get(model, [])]


def draw(panel, frame):
    """The figure of a Panel from the runs of its study."""
    return error_vs_k(frame, panel.metric, panel.models, panel.gates, panel.omit, panel.width)


def numbers(panel, frame, digits=4):
    """What `draw` shows, as text: k × curve → "mean ± half-width (n)", or "– (finished/needed)" where there is no mean."""
    table = summary_table(frame, panel.metric)
    value = f"{{0.mean:.{digits}f}} ± {{0.half_width:.{digits}f}} ({{0.needed}})"
    table["text"] = [
        (value if cell.complete else "– ({0.ok}/{0.needed})").format(cell)
        for cell in table.itertuples()
    ]
    wide = table.pivot(index="k", columns=["model", "gate"], values="text").rename("{:g}".format)
    return wide[[pair for pair in styles(panel.models, panel.gates) if pair not in panel.omit]]
