"""The error-against-stiffness panels of the original, declared as data (notebook 04)."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pinnlib.analysis.samples import summary_table
from pinnlib.analysis.significance import FEWEST
from pinnlib.registry import validate
from pinnlib.report.panel_answers import better_gates, gate_leads, leads_text, published_means
from pinnlib.report.published import PAPER_GATES
from pinnlib.report.standing_still import ANGLE, SUMMARISED, add_still_errors, still_errors
from pinnlib.style.figures import (
    COLUMN,
    NOTE,
    STIFFNESS,
    STILL,
    WIDE,
    add_note,
    label_ends,
    log_axis,
    panels,
    plot_intervals,
    styles,
    wrap_notes,
)
from pinnlib.style.labels import ANGLE_LABEL, GATE_WORDS, METRIC_LABELS

Pair = tuple[str, str]  # model, gate
SPECTRAL = ("adaptive", "fixed")
MODELS = (*SPECTRAL, "baseline")
COUNTS = ["ok", "needed", "diverged", "failed"]
ERROR_LABELS = METRIC_LABELS | {ANGLE: ANGLE_LABEL}
SEED = {"linestyle": "none", "marker": ".", "markersize": 3, "markeredgewidth": 0, "alpha": 0.4}
PUBLISHED = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 5.5,
    "markerfacecolor": "none",
    "color": "black",
}


@dataclass(frozen=True)
class Panel:
    """One panel of the paper: which study, which metric, which curves, how wide."""

    study: str
    metric: str
    models: tuple[str, ...] = MODELS
    omit: tuple[Pair, ...] = ()  # curves not drawn
    width: float = COLUMN


ZOOM = {"omit": (("baseline", "linear"),)}
PANELS = {  # path under figures/
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
        "expanded", "rel_l2_u", SPECTRAL
    ),
    "expanded_adaptive/max_ae_u_vs_k_all_models__zoom_spectralOnly": Panel(
        "expanded", "max_ae_u", SPECTRAL
    ),
}
ANGLE_PANELS = {  # not in the original
    "lamIC50/rel_l2_theta_vs_k_all_models__zoom_noBaselineLinear": Panel("main", ANGLE, **ZOOM),
}


def plot_panel(panel: Panel, runs: pd.DataFrame) -> Figure:
    """The figure of a Panel from the runs of its study."""
    curves = {"models": panel.models, "omit": panel.omit}
    return plot_error_vs_k(runs, panel.metric, **curves, width=panel.width)


def tidy_table(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The cells of every study behind the panels, for SUMMARISED, beside standing still."""
    tables = []
    for study, frame in runs.items():
        for metric in SUMMARISED:
            tables.append(summary_table(frame, metric).assign(study=study))
    return add_still_errors(pd.concat(tables))


def plot_error_vs_k(
    runs: pd.DataFrame,
    metric: str,
    models: Sequence[str] = MODELS,
    gates: Sequence[str] = PAPER_GATES,
    omit: Sequence[Pair] = (),
    width: float = COLUMN,
) -> Figure:
    """Mean and Student-t 95% interval against k, one curve per model and gate not in `omit`.

    Behind them the seeds as dots, the published means as diamonds and the error of standing still.
    All runs have one setting. A cell that lacks a run gets no mean, and a note below names it.
    """
    _validate_runs(runs, gates)
    looks = {pair: look for pair, look in styles(models, gates).items() if pair not in omit}
    chosen = runs[[pair in looks for pair in zip(runs["model"], runs["gate"], strict=True)]]
    finished = chosen[chosen["status"] == "ok"]
    table = summary_table(chosen, metric)
    ks = np.sort(table["k"].unique())
    still = [still_errors(k)[metric] for k in ks]

    title = _title(table, width)
    notes = wrap_notes([_seed_note(table, models), *_notes(table)], width)
    height = 0.6 * width + 0.65 + 0.14 * (len(title) + len(notes))
    figure, ((axes,),) = panels(1, 1, width, height)
    _set_axes(axes, ks, metric, np.concatenate([_drawn(table), finished[metric], still]))
    axes.plot(ks, still, **STILL, label="_standing still")
    _label_still(axes, ks[len(ks) // 2], still[len(ks) // 2])

    shifts = dict(zip(looks, _shifts(ks, len(looks)), strict=True))
    for (model, gate), look in looks.items():
        of_curve = (table["model"] == model) & (table["gate"] == gate)
        seeds = finished[(finished["model"] == model) & (finished["gate"] == gate)]
        shift = shifts[model, gate]
        _plot_curve(axes, f"{model}, {gate}", table[of_curve], seeds[["k", metric]], look, shift)
    published = table[table["model"] == "adaptive"].merge(published_means())
    places = [cell.k + shifts["adaptive", cell.gate] for cell in published.itertuples()]
    axes.plot(places, published["published"], **PUBLISHED, zorder=5, label="published mean")
    _label_curves(axes, table, looks, gap=0.2 / width)
    _add_key(figure, "\n".join(title), looks, has_published=len(published) > 0)
    add_note(figure, "\n".join(notes))
    return figure


def _validate_runs(runs, gates):
    for setting in ("lambda_ic", "loss", "steps"):
        values = sorted(set(runs[setting]))
        validate(setting, values, len(values) == 1, "one and the same for all runs of a panel")
    known = sorted(set(runs["gate"]))
    allowed = f"among the gates of the runs: {', '.join(known)}"
    validate("gates", list(gates), set(gates) <= set(known), allowed)


def _title(table, width):
    """Setting and message: which gate of the adaptive model is better at which k."""
    short = f"λ={table['lambda_ic'].iloc[0]:g}"
    setting = rf"${short}$".replace("λ", r"\lambda_\mathrm{IC}")
    leads = leads_text(gate_leads(better_gates(table)))
    if not leads:
        return [setting]
    text = f"Better gate, adaptive model ({short}): {leads}"
    lines = textwrap.wrap(text, round(17 * width))
    return [line.replace(short, setting) for line in lines]


def _drawn(table):
    """The ends of the intervals that the axis has to hold: low ones down to a third of the mean."""
    mean, half = table["mean"], table["half_width"].fillna(0)
    return np.concatenate([mean + half, np.maximum(mean - half, mean / 3)])


def _set_axes(axes, ks, metric, drawn):
    spacing = _spacing(ks)
    log_axis(axes, drawn)
    every = 1 if len(ks) < 9 else 2
    axes.set_xticks(ks, [f"{k:g}" if i % every == 0 else "" for i, k in enumerate(ks)])
    axes.set_xlim(ks[0] - 0.55 * spacing, ks[-1] + 0.55 * spacing)
    axes.set_xlabel(STIFFNESS)
    axes.set_ylabel(ERROR_LABELS.get(metric, metric.replace("_", " ")))


def _spacing(ks):
    return np.diff(ks).min() if len(ks) > 1 else 1.0


def _shifts(ks, curves):
    """Where the curves of one k are drawn, side by side."""
    reach = min(0.3, 0.07 * (curves - 1)) * _spacing(ks)
    return np.linspace(-reach, reach, curves)


def _plot_curve(axes, name, cells, seeds, look, shift):
    """One curve: seeds (k, error) as dots, and means with their intervals."""
    k, errors = seeds.to_numpy().T
    axes.plot(k + shift, errors, **SEED, color=look["color"], label="_seeds")
    x, mean, half = cells["k"] + shift, cells["mean"], cells["half_width"]
    plot_intervals(axes, x, mean - half, mean, mean + half, look["color"])
    axes.plot(x, mean, **look, label=name)


def _label_still(axes, k, error):
    """Above the line and to the right, where it falls."""
    axes.annotate("standing still", (k, error), (2, 5), textcoords="offset points", **NOTE)


def _label_curves(axes, table, looks, gap):
    """The model at the end of each curve."""
    ends = []
    for (model, gate), look in looks.items():
        cells = table[(table["model"] == model) & (table["gate"] == gate)].dropna(subset="mean")
        if len(cells):
            ends.append((model, cells.sort_values("k")["mean"].iloc[-1], look["color"]))
    label_ends(axes, ends, gap)


def _add_key(figure, title, looks, has_published):
    """Above the panel: the title, the gates in their colours, and the mark of published means."""
    handles = []
    for (model, gate), look in looks.items():
        if model == "adaptive":
            handles.append(Line2D([], [], **look, label=f"{GATE_WORDS.get(gate, gate)} gate"))
    if has_published:
        handles.append(Line2D([], [], **PUBLISHED, label="published mean"))
    key = figure.legend(
        handles=handles,
        loc="outside upper left",
        title=title,
        title_fontsize=7.5,
        alignment="left",
        ncols=len(handles),
        handlelength=1.9,
        handletextpad=0.4,
        columnspacing=1,
        borderpad=0,
    )
    for text, handle in zip(key.get_texts(), handles, strict=True):
        text.set_color(handle.get_color())


def _seed_note(table, models):
    """What is drawn, and how many seeds a mean has: "fixed 10, adaptive 10–20"."""
    parts = []
    for model in models:
        needed = table.loc[table["model"] == model, "needed"]
        low, high = needed.min(), needed.max()
        parts.append(f"{model} {low}" if low == high else f"{model} {low}–{high}")
    return f"Means with 95% intervals; dots: seeds ({', '.join(parts)})."


def _notes(table):
    """The small print: which cells lack runs, and whether there are too few seeds."""
    notes = []
    lacking = describe_incomplete(table)
    if lacking:
        text = "Incomplete, no mean drawn (finished/needed)"
        notes.append(f"{text}: {lacking}.")
    if (table["complete"] & (table["needed"] < FEWEST)).any():
        text = "the interval is wide; a single seed would have none"
        notes.append(f"Too few seeds (n < {FEWEST}): {text}.")
    return notes


def describe_incomplete(table: pd.DataFrame, most: int = 4) -> str:
    """The cells of a `summary_table` without a mean: "adaptive exp k=20 (3/10, 1 diverged)".

    Equal neighbours are merged; more than `most` parts of a curve are summed.
    """
    curves = {}  # description: curves
    for (model, gate), cells in table.groupby(["model", "gate"], sort=False):
        counts = cells[COUNTS]
        block = counts.ne(counts.shift()).any(axis=1).cumsum()  # neighbours with equal counts
        lacking = cells[cells["ok"] < cells["needed"]]
        parts = [_describe_cells(part) for _, part in lacking.groupby(block)]
        if len(parts) > most:
            parts = [_describe_cells(lacking, summed=True)]
        if parts:
            curves.setdefault(", ".join(parts), []).append(f"{model} {gate}")
    return "; ".join(f"{' & '.join(names)} k={text}" for text, names in curves.items())


def _describe_cells(cells, summed=False):
    counts, scope = cells[COUNTS].iloc[0], ""
    where = f"{cells['k'].iloc[0]:g}"
    if len(cells) > 1:
        where += f"–{cells['k'].iloc[-1]:g}"
        scope = " each"
    if summed:
        counts, scope = cells[COUNTS].sum(), f" over {len(cells)} cells"
    text = f"{where} ({counts['ok']}/{counts['needed']}{scope}"
    for status in ("diverged", "failed"):
        if counts[status]:
            text += f", {counts[status]} {status}"
    return text + ")"
