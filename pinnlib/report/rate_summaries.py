"""Short answers of notebook 08, which README, index page and paper quote word for word.

First the answer in words, then its evidence: effect size, interval and corrected p. Mathematics
stands between dollars. Ratios of the gates are linear over exponential.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pinnlib.report.gate_rules import incomplete, score, significant_sides
from pinnlib.report.phrases import (
    OPEN,
    effect_phrase,
    interval_phrase,
    p_phrase,
    share_phrase,
)
from pinnlib.report.rate_answers import recipe_words
from pinnlib.report.rate_contrasts import published_and_own

Recipe = Mapping[str, Any]
BALANCED = "balanced"
FACTOR = {
    "needed": "A factor $g(t)$ is needed",
    "not needed": "A factor $g(t)$ is not needed",
    "undecided": "Whether a factor $g(t)$ is needed is undecided",
}
# Of the exact start: the second half of the sentence after "not needed", and after the others
START = {
    "helps": ("but an exact start helps", "and an exact start helps"),
    "hurts": ("and an exact start hurts", "but an exact start hurts"),
    "mixed": ("and an exact start helps in places only", "and an exact start helps in places only"),
}


class Wins(NamedTuple):
    """In how many comparisons either gate is significantly better."""

    exp: int
    linear: int


def rate_lead(published: Wins, own: Wins) -> str:
    """Whose wins at the common learning rate are a matter of that rate, as a sentence."""
    if own == (0, 0):
        if published == (0, 0):
            return "No: neither gate ever wins, at the common learning rate or at its own."
        return "The wins of either gate are a matter of the learning rate."
    if published.linear and not own.linear:
        return (
            "The wins of the linear gate are a matter of the learning rate; those of the"
            " exponential gate are not."
        )
    if published.exp and not own.exp:
        return (
            "The wins of the exponential gate are a matter of the learning rate; those of the"
            " linear gate are not."
        )
    if own.exp and own.linear:
        return "It is not the learning rate alone: each gate keeps wins when both have their own."
    winner = "exponential" if own.exp else "linear"
    return f"It is not the learning rate: only the {winner} gate wins, whichever rate it has."


def _cell(table: pd.DataFrame, k: float) -> pd.Series:
    """The contrast of the balanced loss at k."""
    return table[(table["loss"] == BALANCED) & (table["k"] == k)].iloc[0]


def rate_answer(gap: pd.DataFrame) -> str:
    """Is it the learning rate? `gap` is that of `rate_contrasts.comparisons`."""
    if incomplete(gap):
        return OPEN
    published, own = published_and_own(gap)
    lead = rate_lead(Wins(*score(published)), Wins(*score(own)))
    _, linear = score(own)
    count = share_phrase(linear, len(own), "comparison")
    parts = []
    for k in (60, 20):
        before, after = _cell(published, k), _cell(own, k)
        p = p_phrase(after["p_holm"])
        parts.append(f"at $k = {k}$ from {before['ratio']:.2f} to {interval_phrase(after)} ({p})")
    return (
        f"{lead} With its own rate for each gate, the linear gate is significantly better in"
        f" {count}; linear/exp moves {' and '.join(parts)}."
    )


def own_rate_headline(gap: pd.DataFrame) -> str:
    """One sentence: what is left of the wins of either gate when each has its own learning rate."""
    if incomplete(gap):
        return OPEN
    published, own = published_and_own(gap)
    exp, linear = score(own)
    before, after = _cell(published, 60), _cell(own, 60)
    subject = "the ratio of errors (linear/exp) at $k = 60$"
    start = f"{subject} moves from {before['ratio']:.2f}"
    if significant_sides(published)[before.name] == -1:
        start = (
            f"the published win of the linear gate at $k = 60$ (linear/exp {before['ratio']:.2f})"
        )
        start = f"{start} becomes"
    else:
        start = f"{start} to"
    return (
        "With its own learning rate for each gate, the linear gate is significantly better in"
        f" {share_phrase(linear, len(own), 'comparison')} on the pendulum, the exponential gate in"
        f" {exp}; {start} {after['ratio']:.2f} ({p_phrase(after['p_holm'])})."
    )


def interval_note(gap: pd.DataFrame, runs: pd.DataFrame, k: float = 60) -> str:
    """Why the interval leaves out 1 where p is not small; "" unless that is so at k.

    `runs` are those at the gates' own rates. The interval is of the median ratio over seeds, the
    test ranks the differences.
    """
    _, own = published_and_own(gap)
    row = _cell(own, k)
    leaves_out = row["low"] > 1 or row["high"] < 1
    if incomplete(own) or not leaves_out or row["p_holm"] < 0.05:
        return ""
    cell = runs[(runs["loss"] == BALANCED) & (runs["k"] == k)]
    wide = cell.pivot(index="seed", columns="gate", values="rel_l2_u")
    gain = wide["linear"] - wide["exp"]
    names = ("exponential", "linear")
    if row["ratio"] < 1:
        gain, names = -gain, names[::-1]
    most, few = gain[gain > 0], -gain[gain <= 0]
    sizes = f"(median difference {few.median():.2g} against {most.median():.2g})"
    by_more = "by more" if few.median() > most.median() else "too"
    return (
        f"At $k = {k:g}$ the interval leaves out 1 although {p_phrase(row['p_holm'])}"
        f" ({row['p_raw']:.1g} before Holm's correction): it is the interval of the median ratio,"
        f" while Wilcoxon's test ranks the differences, and {len(most)} of {len(gain)} seeds favour"
        f" the {names[0]} gate but the other {len(few)} favour the {names[1]} gate {by_more}"
        f" {sizes}."
    )


def _extreme(table: pd.DataFrame, side: int, name: str) -> str:
    """The largest effect on one side (1 or −1), among the significant ones if there are any."""
    logs = side * np.log(table["ratio"])
    significant = logs[significant_sides(table) == side]
    start = {0: "at most ", 1: ""}.get(len(significant), "up to ")
    row = table.loc[(significant if len(significant) else logs).idxmax()]
    return f"({name} {start}{effect_phrase(row)})"


def constraint_answer(
    verdict: str, start_verdict: str, factor: pd.DataFrame, start: pd.DataFrame
) -> str:
    """Gate or hard constraint? From the shifted ansatz against both gates and the soft one."""
    if "open" in (verdict, start_verdict):
        return OPEN
    lead = f"{FACTOR[verdict]}, {START[start_verdict][verdict != 'not needed']}."
    _, worse = score(factor)
    better, _ = score(start)
    return (
        f"{lead} The shifted ansatz, exact without a gate, is significantly worse than a published"
        f" gate in {share_phrase(worse, len(factor), 'comparison')}"
        f" {_extreme(factor, -1, 'gate/shifted')} and better than a soft start in"
        f" {share_phrase(better, len(start), 'comparison')} {_extreme(start, 1, 'soft/shifted')}."
    )


def recipe_answer(table: pd.DataFrame, recipe: Recipe) -> str:
    """What should I use? The recipe, and how it compares with the two published settings."""
    if incomplete(table):
        return OPEN
    better, worse = score(table)
    lead = "For this pendulum, use"
    if better <= worse:
        lead = "Nothing is clearly better than the published settings; the best tried is"
    low, high = table.loc[table["ratio"].idxmin()], table.loc[table["ratio"].idxmax()]
    ends = f"{interval_phrase(low)} ({p_phrase(low['p_holm'])}) to"
    ends = f"{ends} {interval_phrase(high)} ({p_phrase(high['p_holm'])})"
    return (
        f"{lead} {recipe_words(recipe)}. Chosen on other seeds, it is significantly"
        f" better than the published settings in {share_phrase(better, len(table), 'comparison')}"
        f" and worse in {worse or 'none'}; published/recipe ranges from {ends}."
    )


def rate_headlines(
    tables: Mapping[str, pd.DataFrame],
    verdicts: Mapping[str, str],
    runs: pd.DataFrame,
    recipe: Recipe,
) -> dict[str, str]:
    """All short answers, by the key under which they are quoted; `runs` are at own rates."""
    parts = tables["factor"], tables["start"]
    of_constraint = verdicts["gate_or_constraint"], verdicts["exact_start"]
    return {
        "headline_own_rate": own_rate_headline(tables["gap"]),
        "rate_answer": rate_answer(tables["gap"]),
        "rate_interval_note": interval_note(tables["gap"], runs),
        "constraint_answer": constraint_answer(*of_constraint, *parts),
        "recipe_answer": recipe_answer(tables["recipe"], recipe),
    }
