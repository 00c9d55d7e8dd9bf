"""The rules of notebook 09: other systems, and L-BFGS after Adam.

What each rule says in words is in system_rules.toml, under the name of its function. An answer is
"open" where a run is missing. Tables of gates have exp first and linear second.
"""

import tomllib
from pathlib import Path

import pandas as pd

from pinnlib.report.gate_rules import conditioning, helps, incomplete, significant_sides

WORDING = Path(__file__).with_suffix(".toml")
RULES = tomllib.loads(WORDING.read_text(encoding="utf-8"))
# The rule `conditioning` of notebook 06 has the same limits and other names for its answers.
GAP_ANSWERS = {
    "optimisation": "yes",
    "partly": "partly",
    "not conditioning": "no",
    "open": "open",
}


def is_solved(medians: pd.DataFrame, still: pd.Series) -> pd.Series:
    """Per cell, whether the smallest of its median errors (columns) beats standing still."""
    return medians.min(axis=1) < still


def reverses(table: pd.DataFrame) -> str:
    """From the solved stiffnesses of one system and loss. Answer: see the rule."""
    if table.empty:
        return "nothing solved"
    if incomplete(table):
        return "open"
    sides = set(significant_sides(table)) - {0}
    if len(sides) == 2:
        return "reverses"
    if sides:
        return "exp throughout" if sides == {1} else "linear throughout"
    return "no difference"


def lbfgs_helps(table: pd.DataFrame) -> str:
    """From Adam with L-BFGS against Adam alone. Answer: "helps", "hurts" or "mixed"."""
    return helps(table)


def gap_closes(adam: pd.DataFrame, refined: pd.DataFrame) -> str:
    """From the gates after either. Answer: "yes", "partly" or "no"."""
    return GAP_ANSWERS[conditioning(refined, adam)]
