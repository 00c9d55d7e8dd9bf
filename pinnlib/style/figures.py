"""The style of all figures: settings, colours, markers, lines, legends, notes, logarithmic axes."""

import textwrap
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.markers import CARETDOWNBASE
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator
from matplotlib.typing import ColorType
from numpy.typing import ArrayLike

from pinnlib.registry import validate

# Inches: half, three quarters, all of the text width; so a figure keeps its type sizes in the paper
COLUMN = 3.2
WIDE = 4.8
FULL = 6.5
# Set on import: all modules that draw import this one, and some settings, such as the type of PDF
# fonts, are read when a figure is saved, long after it was drawn.
mpl.rc("figure", dpi=110)
mpl.rc("savefig", dpi=200)
mpl.rc("pdf", fonttype=42)
mpl.rc("text", usetex=False)
mpl.rc("mathtext", fontset="dejavusans")
mpl.rc("font", family="DejaVu Sans", size=7.5)
mpl.rc("axes", labelsize=7.5, titlesize=7.5)
mpl.rc("axes", linewidth=0.6, grid=True, axisbelow=True)
mpl.rc("axes.spines", top=False, right=False)
mpl.rc("axes.grid", axis="y")
mpl.rc("grid", color="0.9", linewidth=0.5)
mpl.rc(("xtick", "ytick"), labelsize=7)
mpl.rc(("xtick.major", "ytick.major"), width=0.6, size=2.5)
mpl.rc("ytick.minor", width=0.4, size=1.5)
mpl.rc("lines", linewidth=1.1, markersize=3.6, markeredgewidth=0.8)
mpl.rc("legend", fontsize=7, title_fontsize=7, frameon=False, handlelength=3.0)
NOTE = {"fontsize": 7, "color": "0.2"}  # the small print under a panel

BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, PINK, *_ = sns.color_palette("colorblind").as_hex()
# Gate → line, filled part of the marker
GATE_STYLES = {
    "exp": ("-", "full"),
    "linear": ((0, (4, 1.6)), "none"),
}
GATE_COLOURS = {"exp": BLUE, "linear": RED}
# Model → marker, tone of the gate's colour: above 0 lighter, below 0 darker
MODEL_STYLES = {
    "baseline": ("s", -0.45),
    "fixed": ("^", 0.4),
    "adaptive": ("o", 0.0),
}
SPARE_GATES = (
    ((0, (1, 1.2)), "left"),
    ((0, (5, 1.5, 1, 1.5)), "bottom"),
    ((0, (8, 2)), "right"),
    ((0, (1, 3)), "top"),
)
SPARE_COLOURS = (PURPLE, GREEN, BROWN, PINK)
SPARE_MODELS = (
    ("D", -0.25),
    ("v", 0.2),
    ("P", -0.6),
    ("X", 0.55),
)
STIFFNESS = "spring stiffness $k$ [N/m]"
ONE = {"color": "0.4", "linewidth": 0.8, "linestyle": "--"}  # the line of equality
STILL = {"color": "0.45", "linewidth": 0.9, "linestyle": ":"}  # the error of standing still


def _looks(field: str, names: Sequence[str], fixed: dict, spares: tuple) -> dict:
    """Name → look; names without one of their own take the spare ones in order."""
    others = [name for name in names if name not in fixed]
    most = len(spares)
    allowed = f"at most {most} besides {', '.join(fixed)}"
    validate(field, others, len(others) <= most, allowed)
    looks = fixed | dict(zip(others, spares, strict=False))  # some spares may be left
    return {name: looks[name] for name in names}


def styles(models: Sequence[str], gates: Sequence[str]) -> dict[tuple[str, str], dict[str, Any]]:
    """(model, gate) → drawing options.

    Colour, line and fill show the gate, marker and tone of the colour the model.
    """
    model_looks = _looks("models", models, MODEL_STYLES, SPARE_MODELS)
    gate_looks = _looks("gates", gates, GATE_STYLES, SPARE_GATES)
    colours = _looks("gates", gates, GATE_COLOURS, SPARE_COLOURS)
    options = {}
    for gate, (line, part) in gate_looks.items():
        for model, (marker, tone) in model_looks.items():
            colour = shift_tone(colours[gate], tone)
            look = filled(colour, part)
            look["color"] = colour
            look["marker"] = marker
            look["linestyle"] = line
            options[model, gate] = look
    return options


def shift_tone(colour: str, tone: float) -> str:
    """The colour mixed with white (`tone` above 0) or black (below 0)."""
    end = np.ones(3) if tone > 0 else np.zeros(3)
    mixed = (1 - abs(tone)) * np.array(to_rgb(colour)) + abs(tone) * end
    return to_hex(mixed)


def text_colour(background: ColorType) -> str:
    """White on a dark background, else black: whichever has the larger contrast."""
    parts = np.array(to_rgb(background))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    luminance = linear @ (0.2126, 0.7152, 0.0722)  # as in WCAG 2
    return "white" if luminance < 0.18 else "black"


def filled(colour: str, part: str) -> dict[str, str]:
    """Drawing options of a marker filled in part: "full", "none", or a half such as "left"."""
    if part == "full":
        return {"markerfacecolor": colour}
    if part == "none":
        return {"markerfacecolor": "white"}
    return {"markerfacecolor": colour, "markerfacecoloralt": "white", "fillstyle": part}


def shades(values: Iterable[Hashable]) -> dict[Hashable, str]:
    """value → colour, from dark to light: for curves that differ by a number such as k."""
    values = list(values)
    palette = sns.color_palette("viridis", len(values) + 1)
    colours = palette.as_hex()[:-1]  # the last is too pale
    return dict(zip(values, colours, strict=True))


def panels(
    rows: int = 1,
    columns: int = 1,
    width: float = FULL,
    height: float = 2.2,
    **options: Any,
) -> tuple[Figure, np.ndarray]:
    """(figure, axes (rows, columns)): empty panels on `width` × `height` inches."""
    return plt.subplots(
        rows,
        columns,
        figsize=(width, height),
        layout="constrained",
        squeeze=False,
        **options,
    )


def add_legend(figure: Figure, axis: Axes, columns: int, place: str = "center") -> Legend:
    """The legend of one panel, with each label once, above the whole figure."""
    handles, labels = axis.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    return figure.legend(
        unique.values(),
        unique,
        loc=f"outside upper {place}",
        ncols=columns,
    )


def wrap_notes(notes: Sequence[str], width: float = FULL) -> list[str]:
    """The notes as lines that fit into a figure of `width` inches."""
    lines = []
    for note in notes:
        lines += textwrap.wrap(note, round(17 * width), break_on_hyphens=False)
    return lines


def add_note(figure: Figure, text: str, **options: Any) -> None:
    """Small print under a figure, in lines that fit; `options` of the text, such as `fontsize`."""
    lines = wrap_notes(text.splitlines(), figure.get_figwidth())
    figure.supxlabel("\n".join(lines), x=0.01, ha="left", **NOTE | options)


def bar_lengths(low: ArrayLike, middle: ArrayLike, high: ArrayLike) -> np.ndarray:
    """The lengths of error bars below and above, as `errorbar` wants them; (2, points)."""
    below = np.subtract(middle, low)
    above = np.subtract(high, middle)
    return np.array([below, above])


def draw_ratio(
    axes: Axes,
    place: float,
    row: Any,
    colour: str,
    filled: bool,
    marker: str = "o",
    sideways: bool = False,
) -> None:
    """A ratio with its interval, `row.ratio`, `row.low` and `row.high`; hollow unless `filled`.

    Drawn upwards, or along x if `sideways`.
    """
    bar = bar_lengths([row.low], row.ratio, [row.high])
    where = {"x": place, "y": row.ratio, "yerr": bar}
    if sideways:
        where = {"x": row.ratio, "y": place, "xerr": bar}
    axes.errorbar(
        **where,
        fmt=marker,
        color=colour,
        markerfacecolor=colour if filled else "white",
        markersize=3.5,
        elinewidth=0.9,
    )


def plot_intervals(
    axes: Axes,
    x: ArrayLike,
    low: ArrayLike,
    middle: ArrayLike,
    high: ArrayLike,
    colour: str,
) -> None:
    """Error bars on an axis whose limits are set; one that leaves it below ends in an arrow."""
    floor, _ = axes.get_ylim()
    x, low = np.asarray(x), np.asarray(low)
    below = low < floor
    bars = bar_lengths(np.maximum(low, floor), middle, high)
    axes.errorbar(
        x, middle, bars, fmt="none", ecolor=colour, elinewidth=0.8, capsize=1.5, capthick=0.8
    )
    for place in x[below]:
        axes.plot(
            place,
            floor,
            marker=CARETDOWNBASE,
            markersize=4.5,
            color=colour,
            clip_on=False,
            zorder=4,
            label="_arrow",
        )


def label_ends(axes: Axes, ends: Sequence[tuple[str, float, str]], gap: float) -> None:
    """Name curves at their right ends: (text, last value, colour) each.

    The limits of the axis are set; the texts are at least `gap` of its height apart.
    """
    to_fraction = axes.transData + axes.transAxes.inverted()
    heights = [to_fraction.transform((1, value))[1] for _, value, _ in ends]
    places = spread(heights, gap)
    for (text, _, colour), place in zip(ends, places, strict=True):
        axes.annotate(
            text,
            (1, place),
            (2, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=7,
        )


def spread(values: Sequence[float], gap: float) -> np.ndarray:
    """The values moved apart, in their order, until neighbours differ by at least `gap`.

    Values that would be too close share their mean as the middle of a group.
    """
    order = np.argsort(values, kind="stable")
    groups = [[value] for value in np.array(values, dtype=float)[order]]
    i = 1
    while i < len(groups):
        lower, upper = groups[i - 1], groups[i]
        reach = gap * (len(lower) + len(upper)) / 2
        if np.mean(upper) - np.mean(lower) < reach:
            groups[i - 1 : i + 1] = [lower + upper]
            i = max(1, i - 1)
        else:
            i += 1
    places = np.empty(len(values))
    start = 0
    for group in groups:
        steps = np.arange(len(group)) - (len(group) - 1) / 2
        places[order[start : start + len(group)]] = np.mean(group) + gap * steps
        start += len(group)
    return places


def plain_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis as plain numbers: 1, 2 and 5 times powers of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def log_axis(axes: Axes, drawn: np.ndarray) -> None:
    """Logarithmic y axis with limits from the positive values drawn and plain numbers as ticks."""
    positive = np.isfinite(drawn) & (drawn > 0)
    low = 0.01
    high = 1.0
    if positive.any():
        low = drawn[positive].min() / 1.15
        high = drawn[positive].max() * 1.15
    axes.set(yscale="log", ylim=(low, high))
    multiples = (1, 2, 5) if high / low < 1000 else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=multiples))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_seeds(
    axes: Axes,
    place: float,
    errors: ArrayLike,
    interval: tuple[float, float, float],
    colour: str,
    marker: str = "o",
    sideways: bool = False,
    size: float = 4,
) -> None:
    """All seeds as pale dots at `place`, on top their median with `interval`, (low, median, high).

    Drawn upwards, or along x if `sideways`.
    """
    low, median, high = interval
    errors = np.asarray(errors, dtype=float)
    dots = (np.full(len(errors), place), errors)
    ends = ([place, place], [low, high])
    centre = ([place], [median])
    if sideways:
        dots, ends, centre = dots[::-1], ends[::-1], centre[::-1]
    axes.plot(*dots, ".", color=colour, markersize=3.2, alpha=0.45, markeredgewidth=0)
    axes.plot(*ends, "-", color="black", linewidth=0.9)
    edge = {"markeredgecolor": "black", "markeredgewidth": 0.6}
    axes.plot(*centre, marker, color=colour, markersize=size, **edge)
