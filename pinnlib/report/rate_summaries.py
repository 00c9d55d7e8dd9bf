"""Short answers of notebook 08, which README, index page and paper quote word for word.

First the answer in words, then its evidence: effect size, interval and corrected p. Mathematics
stands between dollars. Ratios of the gates are linear over exponential.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pinnlib.report.gate_rules import incomplete, score
from pinnlib.report.phrases import (
    OPEN,
    effect_phrase,
    interval_phrase,
    p_phrase,
    share_phrase,
)
from pinnlib.report.rate_answers import recipe_words, share_text
from pinnlib.report.rate_contrasts import published_and_own
from pinnlib.runs.studies import PUBLISHED_RATE

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


def _cell(table: pd.DataFrame, k: float) -> pd.Series:
    """The contrast of the balanced loss at k."""
    return table[(table["loss"] == BALANCED) & (table["k"] == k)].iloc[0]


def rate_answer(verdict: str, gap: pd.DataFrame, tuning: pd.DataFrame) -> str:
    """Is it the learning rate? The verdict of `rate_or_gate`, the wins left, and the chosen rates.

    `gap` is that of `rate_contrasts.comparisons`, `tuning` is `rate_contrasts.tuning_table`.
    """
    if incomplete(gap):
        return OPEN
    published, own = published_and_own(gap)
    before, after = _cell(published, 60), _cell(own, 60)
    return (
        f"{share_text(verdict, published, own)} {_own_rate_wins(own)}; linear/exp moves at"
        f" $k = 60$ from {before['ratio']:.2f} to {interval_phrase(after)}"
        f" ({p_phrase(after['p_holm'])}). {chosen_rates(tuning)}"
    )


def _own_rate_wins(own: pd.DataFrame) -> str:
    exp, linear = score(own)
    return (
        "When each gate has its own rate, the linear gate is significantly better in"
        f" {share_phrase(linear, len(own), 'comparison')}, the exponential gate in {exp or 'none'}"
    )


def chosen_rates(tuning: pd.DataFrame) -> str:
    """In how many settings the published rate is the best of the grid, for either gate."""
    rates = tuning[tuning["chosen"]]
    best = rates["lr"] == PUBLISHED_RATE
    linear, exp = best[rates["gate"] == "linear"], best[rates["gate"] == "exp"]
    higher = (rates["lr"][rates["gate"] == "exp"] > PUBLISHED_RATE).sum()
    return (
        f"The published rate is the linear gate's best in {linear.sum()} of {len(linear)} settings"
        f" and the exponential gate's in {exp.sum()}; the exponential gate wants a higher one in"
        f" {higher}."
    )


def own_rate_headline(gap: pd.DataFrame, free: pd.DataFrame) -> str:
    """What is left of the wins of either gate when each has its own learning rate.

    `free` are the gaps without velocity penalty.
    """
    if incomplete(gap) or incomplete(free):
        return OPEN
    published, own = published_and_own(gap)
    before, after = _cell(published, 60), _cell(own, 60)
    moves = f"{before['ratio']:.2f} at the published rate to {after['ratio']:.2f}"
    moves = f"{moves} ({p_phrase(after['p_holm'])})"
    _, own_free = published_and_own(free)
    exp, linear = score(own_free)
    return (
        f"{_own_rate_wins(own)}; at $k = 60$ linear/exp moves from {moves}. Without velocity"
        f" penalty, at the two published $k$ under both losses, the linear gate is significantly"
        f" better in {share_phrase(linear, len(own_free), 'comparison')}, the exponential gate in"
        f" {exp or 'none'}."
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


def constraint_answer(
    verdict: str, start_verdict: str, factor: pd.DataFrame, start: pd.DataFrame
) -> str:
    """Gate or hard constraint? From the shifted ansatz against both gates and the soft one."""
    if "open" in (verdict, start_verdict):
        return OPEN
    lead = f"{FACTOR[verdict]}, {START[start_verdict][verdict != 'not needed']}."
    _, worse = score(factor)
    better, _ = score(start)
    least = factor.loc[factor["ratio"].idxmin()]
    most = start.loc[start["ratio"].idxmax()]
    smallest = "smallest" if least["p_holm"] < 0.05 else "smallest, though not significant:"
    return (
        f"{lead} The shifted ansatz, exact without a gate, is significantly worse than a published"
        f" gate in {share_phrase(worse, len(factor), 'comparison')} ({smallest} gate/shifted"
        f" {effect_phrase(least)}, $k = {least['k']:g}$) and better than a soft start in"
        f" {share_phrase(better, len(start), 'comparison')} (largest soft/shifted"
        f" {effect_phrase(most)})."
    )


def recipe_answer(table: pd.DataFrame, tuned: pd.DataFrame, recipe: Recipe) -> str:
    """What should I use? The recipe against the published settings and the tuned gates."""
    if incomplete(table) or incomplete(tuned):
        return OPEN
    better, worse = score(table)
    lead = "For this pendulum, use"
    if better <= worse:
        lead = "Nothing is clearly better than the published settings; the best tried is"
    low, high = table.loc[table["ratio"].idxmin()], table.loc[table["ratio"].idxmax()]
    ends = f"{interval_phrase(low)} ({p_phrase(low['p_holm'])}) to"
    ends = f"{ends} {interval_phrase(high)} ({p_phrase(high['p_holm'])})"
    exp = tuned[tuned["second"] == "exp"]
    ahead, behind = score(exp)
    return (
        f"{lead} {recipe_words(recipe)}. Chosen on other seeds, it is significantly"
        f" better than the published settings in {share_phrase(better, len(table), 'comparison')}"
        f" and worse in {worse or 'none'}; published/recipe ranges from {ends}. The gate"
        f" $1-e^{{-t}}$ with its rate tuned for every $k$ has {exp['ratio'].min():.2f} to"
        f" {exp['ratio'].max():.2f} times the error of the recipe (significantly worse in"
        f" {ahead or 'none'} of {len(exp)}, better in {behind or 'none'})."
    )


def rate_headlines(
    tables: Mapping[str, pd.DataFrame],
    verdicts: Mapping[str, str],
    runs: pd.DataFrame,
    tuning: pd.DataFrame,
    recipe: Recipe,
) -> dict[str, str]:
    """All short answers, by the key under which they are quoted.

    `runs` are at own rates; `tuning` is `rate_contrasts.tuning_table`.
    """
    parts = tables["factor"], tables["start"]
    of_constraint = verdicts["gate_or_constraint"], verdicts["exact_start"]
    return {
        "headline_own_rate": own_rate_headline(tables["gap"], tables["free"]),
        "rate_answer": rate_answer(verdicts["rate_or_gate"], tables["gap"], tuning),
        "rate_interval_note": interval_note(tables["gap"], runs),
        "constraint_answer": constraint_answer(*of_constraint, *parts),
        "recipe_answer": recipe_answer(tables["recipe"], tables["tuned"], recipe),
    }
