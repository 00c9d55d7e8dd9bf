"""The house style of every picture, and the paper's error-against-stiffness panels, declared as data."""

import itertools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from pinnlib.registry import validate

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


def styles(models, gates):
    """(model, gate) → drawing options: colour and marker tell the model, line and fill the gate; other names take spare ones."""
    looks = []
    for field, names, fixed, spares in (
        ("models", models, MODEL_STYLES, SPARE_MODELS),
        ("gates", gates, GATE_STYLES, SPARE_GATES),
    ):
        others = [name for name in names if name not in fixed]
        validate(
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
