"""The rules of notebook 07: from contrasts of the gates under several losses to answers.

What each rule says in words is in loss_rules.toml, under the name of its function. An answer is
"open" where a run is missing. Every table has exp first and linear second.
"""

import tomllib
from pathlib import Path

import pandas as pd

from pinnlib.report.gate_rules import incomplete, significant_sides

WORDING = Path(__file__).with_suffix(".toml")
RULES = tomllib.loads(WORDING.read_text(encoding="utf-8"))
FROZEN = "balanced(frozen=True)"
MOST = 0.75  # share of the turned cells that decides


def sides_by_loss(table: pd.DataFrame) -> pd.DataFrame:
    """(k, λ) × loss → 1 where exp is significantly better, −1 where linear is, else 0."""
    sides = table.assign(side=significant_sides(table))
    return sides.pivot(index=["k", "lambda_ic"], columns="loss", values="side")


def causes(table: pd.DataFrame) -> pd.Series:
    """Cause of every turned cell (k, λ): "weights", "initial scales" or "moving scales"."""
    sides = sides_by_loss(table)
    turned = sides[sides["mse"] * sides["balanced"] == -1]
    weighted = [loss for loss in sides if loss.startswith("weighted")]
    found = {}
    for cell, row in turned.iterrows():
        if (row[weighted] == row["balanced"]).any():
            found[cell] = "weights"
        elif row[FROZEN] == row["balanced"]:
            found[cell] = "initial scales"
        else:
            found[cell] = "moving scales"
    return pd.Series(found, dtype=object)


def cause(table: pd.DataFrame) -> str:
    """Answer: one of `causes`, "undecided", or "nothing turns"."""
    if incomplete(table):
        return "open"
    shares = causes(table).value_counts(normalize=True)
    if shares.empty:
        return "nothing turns"
    return shares.index[0] if shares.iloc[0] >= MOST else "undecided"


def control(table: pd.DataFrame) -> str:
    """From the quartic oscillator, k and loss. Answer: "yes" or "no"."""
    if incomplete(table):
        return "open"
    sides = table.assign(side=significant_sides(table)).pivot(
        index="k", columns="loss", values="side"
    )
    return "yes" if (sides["mse"] * sides["balanced"] == -1).any() else "no"
