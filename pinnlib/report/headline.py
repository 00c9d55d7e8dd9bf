"""The main finding (notebook 03): the ratio of errors of the two gates under either loss.

Its figure, and what became of the published tests in a sentence each. Mathematics in the texts
stands between dollars.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from pinnlib.analysis.significance import LEVEL
from pinnlib.report.published import TESTED_K, agreement
from pinnlib.report.standing_still import ANGLE
from pinnlib.style.figures import (
    GATE_COLOURS,
    ONE,
    PURPLE,
    STIFFNESS,
    add_note,
    draw_ratio,
    panels,
    plain_ticks,
)

RATES = {
    "published": "published learning rate, 1e-3",
    "own": "each gate at its own rate",
}
SIDES = {"published": "left", "own": "right"}
PRINTED = 5.6  # inches, as in the paper
NEAR = 1.3  # intervals closer than this factor stand side by side
LOSSES = {  # loss → colour, marker, shift along k, label
    "balanced": ("0.1", "o", -1.1, "loss of the\nreleased code\n(balanced)"),
    "mse": (PURPLE, "D", 1.1, "loss of\nthe text\n(mean square)"),
}
TEXT_COLOURS = {"exp": "#1f6f9f", "linear": "#a34700", "balanced": "0.1", "mse": "#9c4a8c"}
ERRORS = {
    "rel_l2_u": "ratio of errors (ReL2E),\nlinear / exponential",
    ANGLE: "ratio of errors of $θ$,\nlinear / exponential",
}
WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}  # tests at one k
LABEL_HEIGHT = 0.3  # of a label of three lines, as a share of the upper panel


def headline_table(tests: pd.DataFrame, gaps: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The points of the figure, one row each: rate, loss, metric, k, n, ratio, interval and p.

    `tests` are `paired.tests_at_every_k` of both errors, of which the adaptive model with penalty
    is taken; `gaps` maps an error to its `rate_contrasts.gate_gaps`, of which the own rates are.
    """
    published = tests.query("model == 'adaptive' and lambda_ic == 50 and metric in @ERRORS")
    published = published.assign(
        rate="published",
        ratio=np.exp(published["median_log_ratio"]),
        low=np.exp(published["median_log_ratio_low"]),
        high=np.exp(published["median_log_ratio_high"]),
    )
    tables = [published]
    for metric, gap in gaps.items():
        tables.append(gap[gap["rate"] == "own"].assign(metric=metric))
    columns = ["rate", "loss", "metric", "k", "n", "ratio", "low", "high", "p_holm"]
    return pd.concat(tables, ignore_index=True)[columns]


def plot_headline(table: pd.DataFrame) -> Figure:
    """The ratio linear/exp against k under either loss: a row per error, a column per rate.

    `table` is that of `headline_table`; a point whose runs are not complete is left out. Filled
    points are significant; the published stiffnesses are boxed.
    """
    options = {"sharex": True, "sharey": "row", "height_ratios": (1.5, 1)}
    figure, axes = panels(2, 2, width=PRINTED, height=3.45, **options)
    known = table.dropna(subset="ratio")
    ks = sorted(set(known["k"]))
    for row, (metric, label) in zip(axes, ERRORS.items(), strict=True):
        for axis, rate in zip(row, RATES, strict=True):
            part = known[(known["metric"] == metric) & (known["rate"] == rate)]
            for loss in LOSSES:
                _draw_series(axis, part[part["loss"] == loss], loss, _crowded(part), ks)
        row[0].set(yscale="log", ylabel=label)
        low, high = _limits(known[known["metric"] == metric])
        row[0].set_ylim(low, high)
        plain_ticks(row[0].yaxis)
        for axis in row:
            _shade(axis, low, high)
    for axis, title in zip(axes[0], RATES.values(), strict=True):
        axis.set_title(title, fontweight="bold")
        axis.text(0.985, 0.97, "exponential better", **_word(axis, "exp", "top"))
        axis.text(0.985, 0.03, "linear better", **_word(axis, "linear", "bottom"))
    for axis in axes[1]:
        axis.set(xlim=(3, 137), xticks=range(20, 140, 20), xlabel=STIFFNESS)
    _label_ends(axes[0, 1], known.query("metric == 'rel_l2_u'"))
    add_note(figure, _note(known))
    return figure


def _draw_series(
    axis: Axes, part: pd.DataFrame, loss: str, crowded: Sequence[float], ks: Sequence[float]
) -> None:
    """Ratios with their intervals, filled where significant; a thin line joins neighbours in `ks`.

    At `crowded` k the points of both losses stand side by side, elsewhere on their k.
    """
    colour, marker, shift, _ = LOSSES[loss]
    part = part.set_index("k", drop=False)
    places = part["k"] + np.where(part["k"].isin(crowded), shift, 0)
    joined = pd.DataFrame({"place": places, "ratio": part["ratio"]}).reindex(ks)
    axis.plot(joined["place"], joined["ratio"], color=colour, linewidth=0.7, alpha=0.45)
    for place, row in zip(places, part.itertuples(), strict=True):
        draw_ratio(axis, place, row, colour, row.p_holm < LEVEL, marker)


def _crowded(part: pd.DataFrame) -> list[float]:
    """The k at which the intervals of the losses overlap or nearly touch."""
    ends = part.groupby("k").agg(low=("low", "max"), high=("high", "min"), losses=("low", "size"))
    close = ends["low"] < NEAR * ends["high"]
    return list(ends.index[close & (ends["losses"] > 1)])


def _limits(part: pd.DataFrame) -> tuple[float, float]:
    """Limits of an axis of ratios: the intervals, and at least a factor of two either way."""
    ends = part[["low", "ratio", "high"]].to_numpy()
    smallest = np.nanmin(ends, initial=0.5)
    largest = np.nanmax(ends, initial=2)
    return smallest / 1.5, largest * 1.3


def _shade(axis: Axes, low: float, high: float) -> None:
    """Half-planes in the colours of the gates, the line of equality, boxes at the published k."""
    axis.axhspan(1, high, color=GATE_COLOURS["exp"], alpha=0.13, linewidth=0, zorder=0)
    axis.axhspan(low, 1, color=GATE_COLOURS["linear"], alpha=0.1, linewidth=0, zorder=0)
    axis.axhline(1, **ONE)
    axis.grid(visible=False)
    for k in TESTED_K:
        box = Rectangle(
            (k - 4.2, 0.015),
            8.4,
            0.97,
            transform=axis.get_xaxis_transform(),
            fill=False,
            edgecolor="0.35",
            linewidth=0.8,
        )
        axis.add_patch(box)


def _word(axis: Axes, gate: str, place: str) -> dict:
    """Look of the words in a half-plane."""
    return {
        "transform": axis.transAxes,
        "ha": "right",
        "va": place,
        "fontsize": 7.5,
        "fontstyle": "italic",
        "color": TEXT_COLOURS[gate],
    }


def _label_ends(axis: Axes, known: pd.DataFrame) -> None:
    """The names of the losses right of the panel, at the last point of each series.

    Without points at the own rates they stand at the height of the last points at the published.
    """
    own = known[known["rate"] == "own"]
    last = (known if own.empty else own).sort_values("k").groupby("loss")["ratio"].last()
    heights = {}
    for loss, ratio in last.items():
        low, high = np.log(axis.get_ylim())
        heights[loss] = (np.log(ratio) - low) / (high - low)
    for loss, height in _apart(heights).items():
        *_, label = LOSSES[loss]
        axis.text(
            1.02,
            height,
            label,
            color=TEXT_COLOURS[loss],
            va="center",
            transform=axis.transAxes,
            fontsize=7.5,
        )


def _apart(heights: Mapping[str, float]) -> dict[str, float]:
    """At most two heights, moved apart until their labels do not overlap."""
    if len(heights) < 2:
        return dict(heights)
    (lower, below), (upper, above) = sorted(heights.items(), key=lambda item: item[1])
    missing = max(LABEL_HEIGHT - (above - below), 0)
    return {lower: below - missing / 2, upper: above + missing / 2}


def _note(known: pd.DataFrame) -> str:
    """What the marks mean, and how many seeds are behind a point."""
    text = (
        "Median with bootstrap 95% interval; filled: p < 0.05 after Holm; boxes: the published k."
    )
    text += "\nAdaptive model, $λ_{IC}$ = 50"
    counts = known["n"].value_counts()
    if counts.empty:
        return f"{text}. No runs on record."
    usual = counts.index[0]
    text += f", {usual} seeds per point"
    others = known[known["n"] != usual]
    for (n, rate, loss), part in others.groupby(["n", "rate", "loss"]):
        ks = " and ".join(f"{k:g}" for k in sorted(set(part["k"])))
        text += f"; {n} at k = {ks} ({SIDES[rate]}, {loss})"
    return f"{text}."


# What became of the published tests, in a sentence each


def headline_published(beside: pd.DataFrame) -> str:
    """Does the published table come out again with the loss of the released code?

    `beside` is `published.beside_published` of that loss.
    """
    known = beside.dropna(subset="p_holm")
    if known.empty:
        return "Whether the published table reproduces is open: no test has all of its runs."
    same = int(_kept(known).sum())
    lead = "The published table reproduces in part"
    subject = f"{same} of {len(known)} tests have the published winner and are"
    if same == 0:
        lead = "The published table does not reproduce"
        subject = f"none of {len(known)} tests has the published winner and is"
    if same == len(known):
        lead = "The published table reproduces"
        subject = f"all {same} tests have the published winner and are"
        if same < len(beside):
            lead += f" as far as its runs are complete ({same} of {len(beside)} tests)"
    means = agreement(beside).loc[["mean_exp_inside", "mean_linear_inside"]].sum()
    inside = means["agree"]
    compared = inside + means["differ"]
    lie = "lies" if inside == 1 else "lie"
    return (
        f"{lead}: with the loss of the released code {subject} significant after Holm's"
        f" correction, and {inside} of {compared} published means {lie} in our 95% intervals."
    )


def headline_text_loss(written: pd.DataFrame) -> str:
    """What becomes of the published tests under the loss that the text describes?

    `written` is `published.beside_published` of that loss.
    """
    known = written.dropna(subset="p_holm")
    if known.empty:
        return "What happens under the loss that the text describes is open: runs are missing."
    lead = "Under the loss that the text describes"
    if len(known) < len(written):
        lead += f" ({len(known)} of {len(written)} tests are complete)"
    kept = int(_kept(known).sum())
    if kept == len(known):
        return f"{lead}, every test keeps its winner and significance."
    subject = "no test keeps its winner and significance"
    if kept:
        verb, whose = ("keeps", "its") if kept == 1 else ("keep", "their")
        subject = f"{kept} of {len(known)} tests {verb} {whose} winner and significance"
    reversals = _reversed(known).groupby(known["k"]).sum()
    order = reversals.sort_values(ascending=False, kind="stable").index
    parts = [f"at $k = {k:g}$ {_outcome(known[known['k'] == k])}" for k in order]
    return f"{lead}, {subject}: {', '.join(parts)}."


def _kept(tests: pd.DataFrame) -> pd.Series:
    return (tests["winner"] == tests["winner_published"]) & (tests["p_holm"] < LEVEL)


def _reversed(tests: pd.DataFrame) -> pd.Series:
    other = tests["winner_published"].map({"exp": "linear", "linear": "exp"})
    return (tests["winner"] == other) & (tests["p_holm"] < LEVEL)


def _outcome(tests: pd.DataFrame) -> str:
    """What became of the tests at one k; beside reversals the largest p among them."""
    turned = _reversed(tests)
    kept = _kept(tests)
    lost = ~turned & ~kept
    if lost.all() and len(tests) > 1:
        return f"none of the {WORDS[len(tests)]} is significant any more"
    parts = []
    if turned.any():
        largest = tests["p_holm"][turned].max()
        verb = f"{_subject(turned, 'reverses', 'reverse')} significantly"
        parts.append(f"{verb} (largest $p$: {largest:.2g}, after Holm over four tests)")
    if lost.any():
        parts.append(f"{_subject(lost, 'is', 'are')} no longer significant")
    if kept.any():
        parts.append(f"{_subject(kept, 'keeps', 'keep')} winner and significance")
    return " and ".join(parts)


def _subject(which: pd.Series, singular: str, plural: str) -> str:
    """ "all four reverse", "one of four reverses", "the one complete test reverses"."""
    count = int(which.sum())
    total = len(which)
    if total == 1:
        return f"the one complete test {singular}"
    if count == total:
        return f"all {WORDS[total]} {plural}"
    return f"{WORDS[count]} of {WORDS[total]} {singular if count == 1 else plural}"
