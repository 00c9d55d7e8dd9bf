"""The error-against-stiffness panels of the original, declared as data (notebook 04)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.analysis.samples import summary_table
from pinnlib.analysis.significance import FEWEST
from pinnlib.registry import validate
from pinnlib.report.published import PAPER_GATES
from pinnlib.report.standing_still import SUMMARISED, add_still_errors
from pinnlib.style.figures import (
    COLUMN,
    NOTE,
    STIFFNESS,
    WIDE,
    add_note,
    log_axis,
    panels,
    styles,
    wrap_notes,
)
from pinnlib.style.labels import METRIC_LABELS

Pair = tuple[str, str]  # model, gate
SPECTRAL = ("adaptive", "fixed")
MODELS = (*SPECTRAL, "baseline")
COUNTS = ["ok", "needed", "diverged", "failed"]


@dataclass(frozen=True)
class Panel:
    """One panel of the paper: which study, which metric, which curves, how wide."""

    study: str
    metric: str
    models: tuple[str, ...] = MODELS
    omit: tuple[Pair, ...] = ()  # curves not drawn
    width: float = COLUMN

    @property
    def curves(self) -> list[Pair]:
        """The pairs (model, gate) drawn, gate by gate."""
        return [pair for pair in styles(self.models, PAPER_GATES) if pair not in self.omit]


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


def plot_panel(panel: Panel, runs: pd.DataFrame) -> Figure:
    """The figure of a Panel from the runs of its study."""
    curves = {"models": panel.models, "omit": panel.omit}
    return plot_error_vs_k(runs, panel.metric, **curves, width=panel.width)


def panel_table(panel: Panel, runs: pd.DataFrame) -> pd.DataFrame:
    """The numbers of a Panel as text, k × curve: "mean ± half-width (n)".

    A cell without a mean is "– (finished/needed)".
    """
    table = summary_table(runs, panel.metric)
    texts = []
    for cell in table.itertuples():
        text = f"– ({cell.ok}/{cell.needed})"
        if cell.complete:
            text = f"{cell.mean:.4f} ± {cell.half_width:.4f} ({cell.needed})"
        texts.append(text)
    table["text"] = texts
    wide = table.pivot(index="k", columns=["model", "gate"], values="text")
    return wide[panel.curves].rename("{:g}".format)


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
    """Mean ± Student-t 95% interval against k, one curve per model and gate not in `omit`.

    All runs have one setting. A cell that lacks a run gets no mean: its finished runs are small
    crosses, and a note below names it. The rows under the panel count the seeds per point.
    """
    _validate_runs(runs, gates)
    looks = {pair: look for pair, look in styles(models, gates).items() if pair not in omit}
    chosen = runs[[pair in looks for pair in zip(runs["model"], runs["gate"], strict=True)]]
    table = summary_table(chosen, metric)
    incomplete = table.loc[~table["complete"], ["model", "gate", "k"]]
    single = chosen[chosen["status"] == "ok"].merge(incomplete)

    counts = _seed_counts(table, models)
    notes = wrap_notes(_notes(table), width)
    longest = max(len(f"{model}, {gate}") for model, gate in looks)
    columns = max(1, min(len(gates), int(width / (0.45 + 0.05 * longest))))  # of the legend
    lines = len(looks) / columns + len(counts) + len(notes)
    figure, ((axes,), (below,)) = panels(
        2,
        1,
        width,
        height=0.55 * width + 0.6 + 0.125 * lines,
        height_ratios=(0.55 * width, 0.11 * len(counts)),  # inches: the curves, the seed counts
    )
    figure.get_layout_engine().set(hspace=0, h_pad=0.02)

    ks = np.sort(table["k"].unique())
    spacing = np.diff(ks).min() if len(ks) > 1 else 1.0
    reach = min(0.25, 0.05 * (len(looks) - 1)) * spacing  # the curves of one k stand side by side
    shifts = np.linspace(-reach, reach, len(looks))
    for ((model, gate), look), shift in zip(looks.items(), shifts, strict=True):
        cells = table[(table["model"] == model) & (table["gate"] == gate)]
        crosses = single[(single["model"] == model) & (single["gate"] == gate)]
        _plot_curve(axes, f"{model}, {gate}", cells, crosses[["k", metric]], look, shift)

    mean, half = table["mean"], table["half_width"].fillna(0)
    lowest = np.maximum(mean - half, mean / 3)
    log_axis(axes, np.concatenate([mean + half, lowest, single[metric]]))
    limits = ks[0] - 0.55 * spacing, ks[-1] + 0.55 * spacing
    every = 1 if len(ks) < 9 else 2
    axes.set_xticks(ks, [f"{k:g}" if i % every == 0 else "" for i, k in enumerate(ks)])
    label = METRIC_LABELS.get(metric, metric.replace("_", " "))
    axes.set(xlim=limits, xlabel=STIFFNESS, ylabel=label)
    title = rf"$\lambda_\mathrm{{IC}}={runs['lambda_ic'].iloc[0]:g}$; mean ± 95% interval"
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=columns,
        columnspacing=2.5,
        title=title,
    )
    _plot_counts(below, counts)
    below.set_xlim(limits)
    if notes:
        add_note(figure, "\n".join(notes))
    return figure


def _validate_runs(runs, gates):
    for setting in ("lambda_ic", "loss", "steps"):
        values = sorted(set(runs[setting]))
        validate(setting, values, len(values) == 1, "one and the same for all runs of a panel")
    known = sorted(set(runs["gate"]))
    allowed = f"among the gates of the runs: {', '.join(known)}"
    validate("gates", list(gates), set(gates) <= set(known), allowed)


def _plot_curve(axes, name, cells, single, look, shift):
    """One curve: means with their intervals, and single runs (k, error) as crosses."""
    has_mean = cells["mean"].notna().any()
    axes.errorbar(
        cells["k"] + shift,
        cells["mean"],
        cells["half_width"],
        elinewidth=0.8,
        capsize=1.5,
        capthick=0.8,
        label=name if has_mean else "_no mean",
        **look,
    )
    k, errors = single.to_numpy().T
    axes.plot(
        k + shift,
        errors,
        "+" if look["markerfacecolor"] == "white" else "x",
        color=look["color"],
        markersize=2.6,
        markeredgewidth=0.5,
        alpha=0.7,
        label="_runs" if has_mean or single.empty else f"{name}: single runs",
    )


def _seed_counts(table, models):
    """Seeds per point, row × k: one row per model, or per curve where its gates differ.

    A cell without a mean is "–".
    """
    table = table.assign(text=table["needed"].astype(str).where(table["complete"], "–"))
    rows = {}
    for model in models:
        cells = table[table["model"] == model]
        curves = cells.pivot(index="gate", columns="k", values="text")
        if len(curves.drop_duplicates()) == 1:
            rows[f"n {model}"] = curves.iloc[0]
        else:
            rows |= {f"n {model} {gate}": curve for gate, curve in curves.iterrows()}
    return pd.DataFrame(rows).T.fillna("")


def _plot_counts(axes, counts):
    """The seed counts as rows of text under the points."""
    for row, (_, numbers) in enumerate(counts.iterrows()):
        for k, number in numbers.items():
            axes.text(k, row, number, ha="center", va="center", **NOTE)
    axes.set_yticks(range(len(counts)), counts.index, **NOTE)
    axes.set(ylim=(len(counts) - 0.5, -0.5), xticks=[])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(False)


def _notes(table):
    """The small print: which cells lack runs, and whether there are too few seeds."""
    notes = []
    lacking = describe_incomplete(table)
    if lacking:
        text = "Incomplete, no mean drawn (crosses: single runs; finished/needed)"
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
