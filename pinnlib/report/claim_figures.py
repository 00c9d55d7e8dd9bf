"""The figure of notebook 10: the ledger at a glance."""

import re
import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pinnlib.report.claims import OURS, of_the_original
from pinnlib.report.evidence import VERDICTS
from pinnlib.style.figures import FULL, panels
from pinnlib.style.labels import METRIC_NAMES

LOOKS = {  # verdict → mark, colour of the tile, colour of the mark
    "reproduced": ("✓", "#d3ebdc", "#1b7a43"),
    "partly": ("◐", "#fdebc4", "#a56a00"),
    "not reproduced": ("✗", "#f8d0c4", "#b03a12"),
    "undecided": ("?", "#e3e3e3", "#4d4d4d"),
    "not testable": ("–", "#f4f4f4", "#4d4d4d"),
    "answered": ("", "#dcebf7", "#1f5f8f"),
}
GROUPS = {  # heading → kinds, tiles in a row
    "counts and identities": (["exact"], 5),
    "published tests": (["statistical"], 4),
    "statements about the runs": (["semi-quantitative", "qualitative"], 5),
    "what the original concludes": (["interpretation"], 5),
    "our questions, each with its answer": ([OURS], 4),
}
LETTERS = 110  # at 7 pt across the figure
TILE, HEADING, TITLE = 0.33, 0.21, 0.3  # inches


def plot_ledger(ledger: pd.DataFrame) -> Figure:
    """A tile for every claim and question, coloured by its verdict; a question has its answer."""
    groups = []
    for heading, (kinds, columns) in GROUPS.items():
        rows = ledger[ledger["kind"].isin(kinds)].to_dict("records")
        lines = [rows[start : start + columns] for start in range(0, len(rows), columns)]
        if lines:
            groups.append((heading, lines, columns))
    height = sum(HEADING + TILE * len(lines) for _, lines, _ in groups)
    figure, axes = panels(width=FULL, height=height + TITLE)
    axis = axes[0, 0]
    axis.axis("off")
    axis.set(xlim=(0, 1), ylim=(height, 0))
    y = 0.0
    for heading, lines, columns in groups:
        y += HEADING
        axis.text(0.002, y - 0.03, heading, fontsize=7.5, va="bottom", color="0.3")
        for line in lines:
            for place, row in enumerate(line):
                _tile(axis, place / columns, y, 1 / columns, row)
            y += TILE
    _title(figure, ledger)
    return figure


def _tile(axis: Axes, x: float, y: float, width: float, row: dict) -> None:
    mark, fill, ink = LOOKS[row["verdict"]]
    corner = (x + 0.002, y + 0.015)
    size = (width - 0.004, TILE - 0.03)
    axis.add_patch(Rectangle(corner, *size, facecolor=fill, edgecolor="none"))
    middle = y + TILE / 2
    if row["kind"] == OURS:
        answer = row["answer"] or row["verdict"]
        axis.text(x + 0.008, middle - 0.07, row["label"], fontsize=7, va="center")
        axis.text(x + 0.008, middle + 0.07, answer, fontsize=7, va="center", color=ink)
    else:
        axis.text(x + 0.016, middle, mark, fontsize=9, va="center", ha="center", color=ink)
        label = _wrapped(row["label"], round(LETTERS * (width - 0.032)))
        axis.text(x + 0.03, middle, label, fontsize=7, va="center", linespacing=1.15)


def _wrapped(label: str, letters: int) -> str:
    """The label in lines, with the names of metrics; mathematics is never broken."""
    for metric, name in METRIC_NAMES.items():
        label = label.replace(metric, name)
    label = re.sub(r"\$[^$]+\$", lambda found: found[0].replace(" ", ""), label)
    return "\n".join(textwrap.wrap(label, letters))


def _title(figure: Figure, ledger: pd.DataFrame) -> None:
    """The title: every verdict with its mark and its number of claims."""
    verdicts = of_the_original(ledger)["verdict"]
    texts = [f"{len(verdicts)} claims of the original:"]
    for verdict in VERDICTS:
        number = int((verdicts == verdict).sum())
        if number:
            texts.append(f"{LOOKS[verdict][0]} {number} {verdict}")
    figure.suptitle("   ".join(texts), fontsize=8.5, fontweight="bold")
