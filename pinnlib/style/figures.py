"""The house style of every picture, and the paper's error-against-stiffness panels, declared as data."""

import itertools
import textwrap
from dataclasses import dataclass

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from .named import check
from .stats import FEWEST, summary

COLUMN, WIDE, FULL = 3.3, 4.9, 6.75  # inches: half, three quarters and the whole of a line of text
STYLE = {
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "text.usetex": False,
    "mathtext.fontset": "dejavusans",
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "ytick.minor.width": 0.4,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "ytick.minor.size": 1.5,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.6,
    "lines.markeredgewidth": 0.8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.title_fontsize": 6.5,
    "legend.handlelength": 3.0,
}
mpl.rcParams.update(
    STYLE
)  # on import, since the type of PDF fonts is read when a picture is saved, not when it is drawn
NOTE = {"fontsize": 6, "color": "0.2"}  # the small print under a panel
LINE = 0.11  # inches from one of its lines to the next

BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, PINK, _, _, SKY = sns.color_palette("colorblind").as_hex()
MODEL_STYLES = {
    "baseline": (ORANGE, "s"),
    "fixed": (GREEN, "^"),
    "adaptive": (BLUE, "o"),
}  # colour, marker
GATE_STYLES = {
    "exp": ("-", "full"),
    "linear": ((0, (4, 1.6)), "none"),
}  # line, which part of the marker is filled
GATE_COLOURS = {"exp": SKY, "linear": RED}  # where colour does not have to tell the model
SPARE_MODELS = ((PURPLE, "D"), (BROWN, "v"), (PINK, "P"), (SKY, "X"))
SPARE_GATES = (
    ((0, (1, 1.2)), "left"),
    ((0, (5, 1.5, 1, 1.5)), "bottom"),
    ((0, (8, 2)), "right"),
    ((0, (1, 3)), "top"),
)
STIFFNESS = "spring stiffness $k$ [N/m]"
ONE = {"color": "0.4", "linewidth": 0.8, "linestyle": "--"}  # the line where two things are alike
METRICS = {"rel_l2_u": "relative $L^2$ error", "max_ae_u": "maximum absolute error [m, rad]"}


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


def styles(models, gates):
    """(model, gate) → drawing options: colour and marker tell the model, line and fill the gate; other names take spare ones."""
    looks = []
    for field, names, fixed, spares in (
        ("models", models, MODEL_STYLES, SPARE_MODELS),
        ("gates", gates, GATE_STYLES, SPARE_GATES),
    ):
        others = [name for name in names if name not in fixed]
        check(
            field,
            others,
            len(others) <= len(spares),
            f"at most {len(spares)} besides {', '.join(fixed)}",
        )
        known = fixed | dict(zip(others, spares))
        looks.append({name: known[name] for name in names})
    return {
        (model, gate): {"color": colour, "marker": marker, "linestyle": line} | filled(colour, part)
        for (gate, (line, part)), (model, (colour, marker)) in itertools.product(
            looks[1].items(), looks[0].items()
        )
    }


def filled(colour, part):
    """Drawing options of a marker of which a part is filled: "full", "none", or a half, such as "left"."""
    if part in ("full", "none"):
        return {"markerfacecolor": colour if part == "full" else "white"}
    return {"markerfacecolor": colour, "markerfacecoloralt": "white", "fillstyle": part}


def shades(values):
    """value → colour, from dark to light in the given order: for curves that differ by a number such as k."""
    return dict(
        zip(values, sns.color_palette("viridis", len(values) + 1).as_hex())
    )  # one more, since the last is too pale


def panels(rows=1, columns=1, width=FULL, height=2.2, **options):
    """(figure, axes (rows, columns)): empty panels, the whole `width` × `height` inches."""
    return plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options
    )


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
        check(
            setting,
            sorted(set(frame[setting])),
            frame[setting].nunique() == 1,
            "one and the same for all runs of a panel",
        )
    known = sorted(set(frame["gate"]))
    check(
        "gates",
        list(gates),
        set(gates) <= set(known),
        f"out of those of the runs, written as there: {', '.join(known)}",
    )
    looks = {pair: look for pair, look in styles(models, gates).items() if pair not in omit}
    frame = frame[[pair in looks for pair in zip(frame["model"], frame["gate"])]]
    table = summary(frame, metric)
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


def log_axis(axes, drawn):
    """Limits from the positive values drawn, and ticks as plain numbers; an interval that reaches zero runs out at the bottom."""
    drawn = drawn[np.isfinite(drawn) & (drawn > 0)]
    low, high = (drawn.min() / 1.15, drawn.max() * 1.15) if len(drawn) else (0.01, 1)
    axes.set(yscale="log", ylim=(low, high))
    axes.yaxis.set_major_locator(
        mpl.ticker.LogLocator(subs=(1, 2, 5) if high / low < 300 else (1,))
    )
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(mpl.ticker.NullFormatter())


def draw(panel, frame):
    """The figure of a Panel from the runs of its study."""
    return error_vs_k(frame, panel.metric, panel.models, panel.gates, panel.omit, panel.width)


def numbers(panel, frame, digits=4):
    """What `draw` shows, as text: k × curve → "mean ± half-width (n)", or "– (finished/needed)" where there is no mean."""
    table = summary(frame, panel.metric)
    value = f"{{0.mean:.{digits}f}} ± {{0.half_width:.{digits}f}} ({{0.needed}})"
    table["text"] = [
        (value if cell.complete else "– ({0.ok}/{0.needed})").format(cell)
        for cell in table.itertuples()
    ]
    wide = table.pivot(index="k", columns=["model", "gate"], values="text").rename("{:g}".format)
    return wide[[pair for pair in styles(panel.models, panel.gates) if pair not in panel.omit]]
