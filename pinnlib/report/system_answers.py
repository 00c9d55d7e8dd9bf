"""The gates in other systems (notebook 09): the verdicts in words.

Mathematics in the texts stands between dollars.
"""

import numpy as np
import pandas as pd

from pinnlib.report.gate_rules import score, significant_sides
from pinnlib.report.phrases import (
    OPEN,
    both_p_phrase,
    effect_phrase,
    interval_phrase,
    join_words,
    p_phrase,
    share_phrase,
)
from pinnlib.report.system_rules import RULES
from pinnlib.report.system_tables import RATE_NAMES, compared_cells, widest_gap

SYSTEM_NAMES = {
    "henon_heiles": "Hénon–Heiles",
    "quartic": "the quartic oscillator",
    "van_der_pol": "van der Pol",
}
STIFFNESS_SYMBOLS = {"henon_heiles": "k", "quartic": "k", "van_der_pol": r"\mu"}
LOSS_NAMES = {"balanced": "balanced loss", "mse": "plain loss"}
# Answer of the rule → the clause before the cases that have it.
CLAUSES = {
    "reverses": "the winner changes with the stiffness in",
    "exp throughout": "only the exponential gate is ever significantly better in",
    "linear throughout": "only the linear gate is ever significantly better in",
    "no difference": "the gates do not differ significantly in",
    "nothing solved": "no stiffness is solved in",
    "open": "runs are missing in",
}


def rule_list() -> str:
    """The questions of notebook 09 and their rules, as a list in Markdown."""
    return "\n".join(f"- **{rule['question']}** {rule['rule'].strip()}" for rule in RULES.values())


def _cases(part: pd.DataFrame) -> str:
    """ "Hénon–Heiles (both losses) and van der Pol (plain loss)"."""
    texts = []
    for system, losses in part.groupby("system")["loss"]:
        loss = "both losses" if len(losses) > 1 else LOSS_NAMES[losses.iloc[0]]
        texts.append(f"{SYSTEM_NAMES[system]} ({loss})")
    if len(texts) == len(SYSTEM_NAMES) and len(part) == 2 * len(texts):
        return "all three systems under both losses"
    return join_words(texts)


def verdict_sentence(verdicts: pd.DataFrame, rate: str) -> str:
    """What each system and loss shows at one rate."""
    at_rate = verdicts[verdicts["rate"] == rate]
    clauses = []
    for answer, clause in CLAUSES.items():
        part = at_rate[at_rate["answer"] == answer]
        if not part.empty:
            clauses.append(f"{clause} {_cases(part)}")
    return f"At {RATE_NAMES[rate]}, {'; '.join(clauses)}."


def _reversing(verdicts: pd.DataFrame, rate: str) -> str:
    """In which systems the winner changes with the stiffness: "in none", "in van der Pol"."""
    found = verdicts[(verdicts["rate"] == rate) & (verdicts["answer"] == "reverses")]
    systems = [name for system, name in SYSTEM_NAMES.items() if system in set(found["system"])]
    if not systems:
        return "in none"
    return "in all" if len(systems) == len(SYSTEM_NAMES) else f"in {join_words(systems)}"


def _wins_phrase(own: pd.DataFrame) -> str:
    """Which gate is significantly better in how many solved cells."""
    exp, linear = score(own)
    if exp and linear:
        return (
            f"the exponential gate is significantly better in {exp} and the linear gate in {linear}"
            f" of {len(own)} solved cells"
        )
    if not exp and not linear:
        return f"neither gate is significantly better in any of {len(own)} solved cells"
    gate = "exponential" if exp else "linear"
    share = share_phrase(exp or linear, len(own), "solved cell")
    return f"only the {gate} gate is significantly better ({share})"


def cell_name(row: pd.Series) -> str:
    """A cell in words: "the quartic oscillator, balanced loss, $k = 8$"."""
    stiffness = f"${STIFFNESS_SYMBOLS[row['system']]} = {row['k']:g}$"
    return f"{SYSTEM_NAMES[row['system']]}, {LOSS_NAMES[row['loss']]}, {stiffness}"


def linear_win(table: pd.DataFrame) -> pd.Series | None:
    """The widest significant win of the linear gate at the published rate, in a solved cell."""
    compared = compared_cells(table)
    compared = compared[compared["rate"] == "published"]
    wins = compared[significant_sides(compared) == -1]
    return None if wins.empty else wins.loc[wins["ratio"].idxmin()]


def systems_answer(verdicts: pd.DataFrame, table: pd.DataFrame) -> str:
    """Does it hold elsewhere? Where the winner changes at either rate, and an effect.

    `table` is that of `system_contrasts`.
    """
    if (verdicts["answer"] == "open").any():
        return OPEN
    compared = compared_cells(table)
    own = compared[compared["rate"] == "own"]
    if own.empty:
        return "Nothing can be compared: no gate beats standing still."
    text = (
        "Of three other systems, the winner changes with the stiffness"
        f" {_reversing(verdicts, 'published')} at the published learning rate,"
        f" {_reversing(verdicts, 'own')} with its own rate for each gate. Then {_wins_phrase(own)}"
    )
    before = linear_win(table)
    if before is None:
        row = widest_gap(own)
        return f"{text}; the widest gap is linear/exp {effect_phrase(row)} ({cell_name(row)})."
    at_own = table[table["rate"] == "own"]
    same = (at_own[["system", "loss", "k"]] == before[["system", "loss", "k"]]).all(axis=1)
    after = at_own[same].iloc[0]
    p = both_p_phrase(before["p_holm"], after["p_holm"])
    return (
        f"{text}; the widest linear win moves from {interval_phrase(before)} to"
        f" {interval_phrase(after)} (linear/exp, {cell_name(before)}, {p})."
    )


def linear_wins_sentence(table: pd.DataFrame) -> str:
    """The wins of the linear gate at the published rate: how wide in each system."""
    compared = compared_cells(table)
    published = compared[compared["rate"] == "published"]
    wins = published[significant_sides(published) == -1]
    if wins.empty:
        return "At the published rate the linear gate wins in no solved cell."
    texts = []
    for system, part in wins.groupby("system", sort=False):
        row = part.loc[part["ratio"].idxmin()]
        better = f"{100 * (1 - row['ratio']):.0f}% smaller"
        texts.append(f"at most {better} in {SYSTEM_NAMES[system]}")
    return (
        "Where the linear gate wins at the published rate, its error is"
        f" {join_words(texts)} (medians over seeds)."
    )


def widest_sentence(table: pd.DataFrame) -> str:
    """How many cells are solved, and the widest gap among them."""
    solved = (table["solved"] == "yes").sum()
    if solved == 0:
        return f"No gate beats standing still in any of {len(table)} cells: nothing is compared."
    share = share_phrase(solved, len(table), "cell")
    text = f"At least one gate beats standing still in {share}"
    row = widest_gap(table)
    if row is None:
        return f"{text}."
    winner = "exponential" if row["ratio"] > 1 else "linear"
    ends = np.array([row["low"], row["ratio"], row["high"]])
    if row["ratio"] < 1:
        ends = 1 / ends[::-1]
    low, factor, high = ends
    return (
        f"{text}; the widest gap among these is a factor {factor:.2f} [{low:.2f}, {high:.2f}] in"
        f" favour of the {winner} gate ({cell_name(row)}, at {RATE_NAMES[row['rate']]},"
        f" {p_phrase(row['p_holm'])})."
    )


def system_numbers(verdicts: pd.DataFrame, table: pd.DataFrame) -> dict[str, object]:
    """What the paper quotes of the other systems."""
    return {
        "systems_answer": systems_answer(verdicts, table),
        "system_cells": len(table),
        "system_solved": (table["solved"] == "yes").sum(),
    }
