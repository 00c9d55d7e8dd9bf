"""Answers of notebook 08: the verdict of every rule as a sentence with its numbers.

Mathematics in the texts stands between dollars. `Tables` are `rate_contrasts.comparisons`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from pinnlib.report import rate_rules
from pinnlib.report.gate_rules import incomplete, score, significant_sides
from pinnlib.report.phrases import count_noun, effect_phrase, join_words, share_phrase
from pinnlib.report.rate_contrasts import published_and_own
from pinnlib.style import latex
from pinnlib.style.labels import gate_formula

Tables = Mapping[str, pd.DataFrame]
Texts = dict[str, str]  # by rule
Recipe = Mapping[str, Any]
ON_TUNING = ("one_rate",)  # answered on the tuning seeds, by ReL2E only
BETTER = {
    1: "the exponential gate is better",
    -1: "the linear gate is better",
    0: "neither gate is significantly better",
}
LOSSES = {"balanced": "balanced loss", "mse": "plain mean-square loss"}
SCHEDULES = {"constant": "a constant rate of", "cosine": "cosine decay from"}
OWN_RATE = "when each gate has its own learning rate"
LEADS = {  # rule → answer → how the sentence begins
    "reversal_survives": {
        "yes": f"The reversal survives {OWN_RATE}",
        "partly": f"The reversal survives only in part {OWN_RATE}",
        "no": f"The reversal does not survive {OWN_RATE}",
    },
    "reversal_without_penalty": {
        "yes": f"Without penalty, too, the reversal survives {OWN_RATE}",
        "partly": f"Without penalty the reversal survives only in part {OWN_RATE}",
        "no": f"Without penalty the reversal does not survive {OWN_RATE}",
    },
    "rate_or_gate": {
        "rate": "By the rule, the gaps at the published rate are mostly a matter of the rate",
        "gate": "By the rule, the gaps at the published rate are mostly a matter of the gate",
        "both": "By the rule, the gaps at the published rate are a matter of both rate and gate",
    },
    "one_rate": {
        "yes": "One learning rate per gate suffices for all $k$",
        "for one gate only": "One learning rate suffices for all $k$ under one gate only",
        "no": "No learning rate suffices for all $k$ under either gate",
    },
    "decay_helps": {
        "helps": "Cosine decay helps",
        "hurts": "Cosine decay hurts",
        "mixed": "Cosine decay neither helps nor hurts throughout",
    },
    "gate_or_constraint": {
        "needed": "The factor $g(t)$ is needed",
        "not needed": "The factor $g(t)$ is not needed",
        "undecided": "Whether the factor $g(t)$ is needed is undecided",
    },
    "exact_start": {
        "helps": "An exact start helps",
        "hurts": "An exact start hurts",
        "mixed": "An exact start neither helps nor hurts throughout",
    },
}


def verdicts(tables: Tables, tuning: pd.DataFrame) -> Texts:
    """The answer of every rule; `tuning` are the runs of `rates_tuning`."""
    published, own = published_and_own(tables["gap"])
    _, free = published_and_own(tables["free"])
    gaps = tables["decay_gap"]
    constant = gaps[gaps["schedule"] == "constant"]
    cosine = gaps[gaps["schedule"] == "cosine"]
    return {
        "reversal_survives": rate_rules.reversal_survives(own[own["loss"] == "balanced"]),
        "reversal_without_penalty": rate_rules.reversal_without_penalty(
            free[free["loss"] == "balanced"]
        ),
        "rate_or_gate": rate_rules.rate_or_gate(published, own),
        "one_rate": rate_rules.one_rate(tuning),
        "decay_helps": rate_rules.decay_helps(tables["decay"]),
        "decay_turns": rate_rules.decay_turns(constant, cosine),
        "gate_or_constraint": rate_rules.gate_or_constraint(tables["factor"]),
        "exact_start": rate_rules.exact_start(tables["start"]),
        "recipe": rate_rules.recipe(tables["recipe"]),
    }


def sentences(found: Texts, tables: Tables, tuning: pd.DataFrame, recipe: Recipe) -> Texts:
    """Every verdict of `found` as a sentence with the numbers that it rests on."""
    published, own = published_and_own(tables["gap"])
    _, free = published_and_own(tables["free"])
    reversals = {"reversal_survives": own, "reversal_without_penalty": free}
    texts = {}
    for name, table in reversals.items():
        texts[name] = reversal_text(name, found[name], table[table["loss"] == "balanced"])
    return texts | {
        "rate_or_gate": share_text(found["rate_or_gate"], published, own),
        "one_rate": one_rate_text(found["one_rate"], tuning),
        "decay_helps": decay_text(found["decay_helps"], tables["decay"]),
        "decay_turns": turn_text(found["decay_turns"], tables["decay_gap"]),
        "gate_or_constraint": factor_text(found["gate_or_constraint"], tables["factor"]),
        "exact_start": start_text(found["exact_start"], tables["start"]),
        "recipe": recipe_text(found["recipe"], tables["recipe"], recipe),
    }


def open_text(name: str) -> str:
    """The question of a rule that has no answer yet."""
    return f"{rate_rules.RULES[name]['question']} This is open: a run is missing or diverged."


def reversal_text(name: str, verdict: str, own: pd.DataFrame) -> str:
    """Which gate wins at the two published k; `own` is of the balanced loss."""
    if verdict == "open":
        return open_text(name)
    sides = significant_sides(own)
    parts = []
    for k in rate_rules.WINNERS:
        row = own[own["k"] == k].iloc[0]
        winner = BETTER[int(sides[row.name])]
        parts.append(f"at $k = {k}$ {winner} (linear/exp {effect_phrase(row)})")
    return f"{LEADS[name][verdict]}: {' and '.join(parts)}."


def share_text(verdict: str, published: pd.DataFrame, own: pd.DataFrame) -> str:
    """Which of the significant gaps lose more than half of their size with a rate per gate."""
    if verdict == "open":
        return open_text("rate_or_gate")
    shares = rate_rules.removed_shares(published, own)
    if shares.empty:
        return "No gap between the gates is significant at the published rate."
    removed = shares.index[shares > 0.5]
    winners = set(significant_sides(published)[removed])
    text = (
        f"{LEADS['rate_or_gate'][verdict]}: of {count_noun(len(shares), 'significant gap')}, a"
        f" rate of its own for each gate removes more than half in {len(removed) or 'none'}."
    )
    if len(winners) == 1:
        gate = "exponential" if winners == {1} else "linear"
        wins = (significant_sides(published) == winners.pop()).sum()
        which = share_phrase(len(removed), wins, "win")
        text += f" Seen afterwards, these are {which} of the {gate} gate."
    return text


def one_rate_text(verdict: str, tuning: pd.DataFrame) -> str:
    """The best single rate of either gate, and the largest factor that it costs."""
    if verdict == "open":
        return open_text("one_rate")
    texts = []
    for gate, name in (("exp", "exponential"), ("linear", "linear")):
        own = tuning[(tuning["gate"] == gate) & (tuning["loss"] == "balanced")]
        cases = rate_rules.worst_cases(own, ["lr"])
        factor = cases.min()
        texts.append(f"{cases.idxmin():g} for the {name} gate (at most a factor {factor:.2f})")
    return (
        f"{LEADS['one_rate'][verdict]}: the best single rates, with their cost against the best"
        f" rate at each $k$, are {' and '.join(texts)}."
    )


def decay_text(verdict: str, table: pd.DataFrame) -> str:
    """How often cosine decay is better or worse than the constant rate."""
    if verdict == "open":
        return open_text("decay_helps")
    lead = LEADS["decay_helps"][verdict]
    return f"{lead}: it is {_counts(table)} (constant/cosine {_spread(table)})."


def turn_text(verdict: str, gaps: pd.DataFrame) -> str:
    """The cells in which the two schedules have opposite winners."""
    if verdict == "open":
        return open_text("decay_turns")
    if verdict == "no":
        return "Cosine decay reverses no significant winner."
    sides = gaps.assign(side=significant_sides(gaps))
    wide = sides.pivot(index=["rate", "k"], columns="schedule", values="side")
    turned = wide[wide["constant"] * wide["cosine"] < 0]
    cells = [f"$k = {k}$ ({rate} rate)" for rate, k in turned.index]
    return f"Cosine decay reverses the winner at {join_words(cells)}."


def factor_text(verdict: str, table: pd.DataFrame) -> str:
    """In how many cells the shifted ansatz is worse than neither gate, and than both."""
    if verdict == "open":
        return open_text("gate_or_constraint")
    worse = (significant_sides(table) == -1).groupby([table["loss"], table["k"]])
    both = int(worse.all().sum())
    neither = int((~worse.any()).sum())
    return (
        f"{LEADS['gate_or_constraint'][verdict]}: the shifted ansatz, which starts exactly without"
        " it, is significantly worse than neither published gate in"
        f" {share_phrase(neither, len(worse), 'cell')}, and worse than both in {both or 'none'}"
        f" (gate/shifted {_spread(table)})."
    )


def start_text(verdict: str, table: pd.DataFrame) -> str:
    """How often the shifted ansatz is better or worse than the soft one."""
    if verdict == "open":
        return open_text("exact_start")
    lead = LEADS["exact_start"][verdict]
    return (
        f"{lead}: compared with the soft ansatz, the shifted one is {_counts(table)} (soft/shifted"
        f" {_spread(table)})."
    )


def recipe_text(verdict: str, table: pd.DataFrame, recipe: Recipe) -> str:
    """The recipe in words, and how often it is better or worse than a published setting."""
    if verdict == "open":
        return open_text("recipe")
    return (
        f"The setting with the smallest worst case on the tuning seeds is {recipe_words(recipe)}."
        f" Against the two published settings it is {_counts(table)} (published/recipe"
        f" {_spread(table)})."
    )


def recipe_words(recipe: Recipe) -> str:
    """Gate, loss, schedule and rate of a recipe in words."""
    gate = gate_formula(recipe["gate"])
    loss = LOSSES[recipe["loss"]]
    return f"the gate {gate} with the {loss} and {SCHEDULES[recipe['schedule']]} {recipe['lr']:g}"


def gain_text(table: pd.DataFrame) -> str:
    """By which factor its own rate lowers the error of every gate, over losses and k."""
    if incomplete(table):
        return "How much each gate gains is open: a run is missing or diverged."
    texts = []
    for gate, part in table.groupby("gate", sort=False):
        better, _ = score(part)
        factor = np.exp(np.log(part["ratio"]).median())
        share = share_phrase(better, len(part), "cell")
        texts.append(f"{gate_formula(gate)} by a factor {factor:.2f} (significantly in {share})")
    return f"Its own rate lowers the median error of {join_words(texts)}."


def rate_rules_text() -> str:
    """Questions and rules, as a list in Markdown."""
    rules = rate_rules.RULES.values()
    return "\n".join(f"- **{rule['question']}** {rule['rule'].strip()}" for rule in rules)


def answer_rows(found: Texts, texts: Texts, angle: Texts) -> pd.DataFrame:
    """Question, Answer, For the angle (the verdict by its error alone), Rests on and Rule."""
    rows = []
    for name, text in texts.items():
        rule = rate_rules.RULES[name]
        of_angle = "" if name in ON_TUNING else angle[name]
        rows.append((rule["question"], found[name], of_angle, text, rule["rule"]))
    columns = ["Question", "Answer", "For the angle", "Rests on", "Rule"]
    return pd.DataFrame(rows, columns=columns)


def answer_values(texts: Texts) -> dict[str, str]:
    """The sentences that the report quotes, by the name of their macro."""
    return {f"rate_text_{name}": text for name, text in texts.items()}


def latex_rate_rules(table: pd.DataFrame) -> str:
    """The rules of `answer_rows` as LaTeX."""
    caption = (
        "The rules of the questions on the rate in Table~\\ref{tab:questions}; Holm's correction"
        " runs over each question."
    )
    columns = table[["Question", "Rule"]].map(latex.escape)
    return latex.longtable(columns, [0.3, 0.65], caption, "tab:raterules")


def _spread(table: pd.DataFrame) -> str:
    """The smallest and the largest ratio, or "open"."""
    if incomplete(table):
        return "open"
    return f"{table['ratio'].min():.2f} to {table['ratio'].max():.2f}"


def _counts(table: pd.DataFrame) -> str:
    better, worse = score(table)
    share = share_phrase(better, len(table), "comparison")
    return f"significantly better in {share} and worse in {worse or 'none'}"
