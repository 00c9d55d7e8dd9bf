"""What the panels show (notebook 04): published means beside ours, and which gate leads at which k.

`cells` are rows of `panels.tidy_table`: one per study, metric, model, gate and k.
"""

from itertools import groupby, pairwise
from typing import NamedTuple

import pandas as pd

from pinnlib.report.published import PAPER_GATES, published
from pinnlib.report.standing_still import ANGLE
from pinnlib.style.labels import GATE_WORDS, METRIC_NAMES

BEYOND = 60  # the largest stiffness of the main study
MANY = 4  # more stretches than this are counted, not listed


class Lead(NamedTuple):
    """Neighbouring stiffnesses at which one gate has the smaller mean error."""

    gate: str
    first: float
    last: float


def published_means() -> pd.DataFrame:
    """One published mean of the adaptive model per row: lambda_ic, k, metric, gate, published."""
    table = published()
    tables = []
    for gate in PAPER_GATES:
        means = table[["lambda_ic", "k", "metric"]]
        tables.append(means.assign(gate=gate, published=table[f"mean_{gate}"]))
    return pd.concat(tables, ignore_index=True)


def means_beside_published(cells: pd.DataFrame) -> pd.DataFrame:
    """The published means beside ours and their Student-t 95% intervals, where ours are known."""
    keys = ["lambda_ic", "k", "metric", "gate"]
    ours = cells[cells["model"] == "adaptive"].dropna(subset="half_width")
    both = published_means().merge(ours.drop_duplicates(keys), on=keys)
    both["low"] = both["mean"] - both["half_width"]
    both["high"] = both["mean"] + both["half_width"]
    both["inside"] = both["published"].between(both["low"], both["high"])
    return both[[*keys, "published", "mean", "low", "high", "inside"]]


def beside_overview(beside: pd.DataFrame) -> pd.DataFrame:
    """`means_beside_published` as text: two columns per gate, a star where it is outside."""
    texts = beside[["lambda_ic", "k", "metric", "gate"]].copy()
    star = beside["inside"].map({True: "", False: "*"})
    texts["published"] = beside["published"].map("{:.3f}".format) + star
    ours = zip(beside["mean"], beside["low"], beside["high"], strict=True)
    texts["ours"] = [f"{mean:.3f} [{low:.3f}, {high:.3f}]" for mean, low, high in ours]
    texts["metric"] = texts["metric"].map(METRIC_NAMES)
    wide = texts.pivot(index=["lambda_ic", "k", "metric"], columns="gate")
    return wide.swaplevel(axis=1).sort_index(axis=1, ascending=[True, False])


def better_gates(cells: pd.DataFrame) -> pd.Series:
    """k → gate of the adaptive model with the smaller mean, where both means are known.

    `cells` have one study and one metric.
    """
    adaptive = cells[cells["model"] == "adaptive"]
    means = adaptive.pivot(index="k", columns="gate", values="mean")
    means = means.reindex(columns=PAPER_GATES).dropna()
    return means["linear"].lt(means["exp"]).map({True: "linear", False: "exp"})


def gate_leads(better: pd.Series) -> list[Lead]:
    """The stretches of k on which one gate is better, from `better_gates`."""
    leads = []
    for gate, stretch in groupby(better.items(), key=lambda item: item[1]):
        ks = [k for k, _ in stretch]
        leads.append(Lead(gate, ks[0], ks[-1]))
    return leads


def leads_text(leads: list[Lead]) -> str:
    """The leads in words: "exponential at $k=10$–30, linear at 40–60"."""
    if len(leads) > MANY:
        return f"the better gate changes {len(leads) - 1} times"
    parts = []
    for lead in leads:
        first = f"{lead.first:g}" if parts else f"$k={lead.first:g}$"
        last = f"–{lead.last:g}" if lead.last > lead.first else ""
        parts.append(f"{GATE_WORDS[lead.gate]} at {first}{last}")
    return ", ".join(parts)


def panels_answer(cells: pd.DataFrame) -> str:
    """Do our panels show what the original's show? In sentences."""
    beside = means_beside_published(cells)
    if beside.empty:
        return "No cell with a published mean is complete, so nothing can be compared."
    sentences = [
        _published_sentence(beside),
        _leads_sentence(cells),
        _beyond_sentence(cells),
        _angle_sentence(cells),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _published_sentence(beside):
    inside, known = beside["inside"].sum(), len(beside)
    verdict, number = "agree in part with", f"{inside} of {known}"
    if inside == known:
        verdict, number = "agree with", f"all {known}"
    elif inside == 0:
        verdict, number = "disagree with", f"none of {known}"
    return (
        f"Where the original gives numbers, our panels {verdict} it: "
        f"{number} published means are inside our 95% intervals."
    )


def _of(cells, study, metric="rel_l2_u"):
    return better_gates(cells[(cells["study"] == study) & (cells["metric"] == metric)])


def _leads_sentence(cells):
    """Which gate is better at which k, with and without the velocity penalty."""
    parts = []
    for study, words in (("main", "with the velocity penalty"), ("no_penalty", "without it")):
        leads = gate_leads(_of(cells, study))
        if leads:
            parts.append(f"{words}, {_better_clause(leads)}")
    if not parts:
        return ""
    return f"By the mean ReL2E of the adaptive model, {'; '.join(parts)}."


def _better_clause(leads):
    """ "the exponential gate is better at $k=10$–30 and the linear gate at 40–60"."""
    if len(leads) > MANY:
        return leads_text(leads)
    first, *others = (text.replace(" at", " gate at") for text in leads_text(leads).split(", "))
    clause = f"the {first.replace(' at', ' is better at')}"
    return clause + "".join(f" and the {other}" for other in others)


def _beyond_sentence(cells):
    """How often the better gate changes above the stiffnesses of the main study."""
    better = _of(cells, "expanded")
    above = gate_leads(better[better.index >= BEYOND])
    if not above:
        return ""
    times = {0: "does not change again", 1: "changes once more"}
    changes = [f"{a.last:g} and {b.first:g}" for a, b in pairwise(above)]
    text = times.get(len(changes), f"changes {len(changes)} times more")
    if changes:
        text += f" (between $k$ = {', '.join(changes)})"
    return f"Above $k$ = {BEYOND} it {text}; the original reports several crossovers there."


def _angle_sentence(cells):
    """Is the better gate the same by the error of the angle?"""
    studies = ("main", "no_penalty", "expanded")
    state = pd.concat({study: _of(cells, study) for study in studies})
    angle = pd.concat({study: _of(cells, study, ANGLE) for study in studies})
    differing = (state != angle).sum()
    if differing == 0:
        return "By the error of the angle alone the better gate is the same in every panel and $k$."
    return (
        f"By the error of the angle alone the better gate is another in {differing} "
        f"of {len(state)} cells."
    )
