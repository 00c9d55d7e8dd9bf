"""The rules of notebook 06: from tables of contrasts to answers, "open" where a run is missing.

What each rule says in words is in gate_rules.toml, under the name of its function. Whether the
seeds are enough to answer at all is asked before, by `too_few_seeds`.
"""

import tomllib
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import lost
from pinnlib.analysis.significance import LEVEL

WORDING = Path(__file__).with_suffix(".toml")
RULES = tomllib.loads(WORDING.read_text(encoding="utf-8"))
LARGE = 1.5  # the factor by which effects or errors must differ
MOST_OF_EIGHT = 6  # contrasts
TOO_FEW = "open: too few seeds"  # the answer to a question of which no contrast can be significant


def incomplete(table: pd.DataFrame) -> bool:
    """True if a contrast lacks a run."""
    return table["ratio"].isna().any()


def too_few_seeds(table: pd.DataFrame, planned: int = 0) -> bool:
    """True if no contrast can be significant, though all n seeds are on one side.

    Wilcoxon's p is then 2^(1 − n), and Holm's correction multiplies it by the number of tests,
    which is at least `planned`. False without any run.
    """
    seeds = table["n"].max()
    smallest = max(len(table), planned) * 2.0 ** (1 - seeds)
    return bool(seeds > 0 and smallest >= LEVEL)


def _log_sizes(table: pd.DataFrame) -> pd.Series:
    """The distance of every ratio from 1 on a logarithmic scale."""
    return np.log(table["ratio"]).abs()


def significant_sides(table: pd.DataFrame) -> pd.Series:
    """1 where the first is significantly better, −1 where the second is, else 0."""
    return np.sign(np.log(table["ratio"])).where(table["p_holm"] < LEVEL, 0)


def score(table: pd.DataFrame) -> tuple[int, int]:
    """How often the first is significantly better, and how often the second."""
    sides = significant_sides(table)
    return int((sides == 1).sum()), int((sides == -1).sum())


def factor_sizes(table: pd.DataFrame) -> pd.DataFrame:
    """Per `factor`: median `size` of the effects on a log scale, how many are `clear`, and how
    many there are (`of`)."""
    effects = table.assign(size=_log_sizes(table), clear=significant_sides(table) != 0, of=1)
    return effects.groupby("factor").agg({"size": "median", "clear": "sum", "of": "sum"})


def amplitude_or_shape(table: pd.DataFrame) -> str:
    """Answer: "amplitude", "shape", "both" or "undecided"."""
    if incomplete(table):
        return "open"
    factors = factor_sizes(table).sort_values("size", ascending=False)
    larger, smaller = factors["size"]
    enough = factors["clear"] >= 5
    if larger > LARGE * smaller:
        return factors.index[0] if enough.iloc[0] else "undecided"
    return "both" if enough.all() else "undecided"


def never_beaten(table: pd.DataFrame) -> str:
    """The variants that lose no contrast significantly, or "none"."""
    if incomplete(table):
        return "open"
    losses = lost(table)
    return ", ".join(losses.index[losses == 0]) or "none"


def changes(table: pd.DataFrame, ks: Collection[float]) -> str:
    """At how many of `ks` each preferred gate is significantly better under its own loss."""
    if incomplete(table):
        return "open"
    both = (significant_sides(table) == 1).groupby(table["k"]).all()
    return f"at {int(both.sum())} of {len(ks)} $k$"


def budget_decides(table: pd.DataFrame) -> str:
    """Answer: "yes", "no" or "undecided"."""
    if incomplete(table):
        return "open"
    winners = table.assign(winner=np.sign(np.log(table["ratio"])))
    winners = winners.sort_values("steps").groupby("k")
    before = winners["p_holm"].first() < LEVEL
    after = winners["p_holm"].last() < LEVEL
    if not before.any():
        return "undecided"
    another = winners["winner"].nunique() > 1
    no_longer = before & ~after
    return "yes" if (another | no_longer).any() else "no"


def helps(table: pd.DataFrame) -> str:
    """Answer: "helps", "hurts" or "mixed"."""
    if incomplete(table):
        return "open"
    better, worse = score(table)
    if better >= MOST_OF_EIGHT and worse == 0:
        return "helps"
    if worse >= MOST_OF_EIGHT and better == 0:
        return "hurts"
    return "mixed"


def count_nearer(table: pd.DataFrame) -> int:
    """How often the first is better by more than a factor 1.5, significantly."""
    return int(((significant_sides(table) == 1) & (table["ratio"] > LARGE)).sum())


def elsewhere(table: pd.DataFrame) -> str:
    """Answer: "yes" or "no"."""
    if incomplete(table):
        return "open"
    return "yes" if count_nearer(table) >= 4 else "no"


def gap(table: pd.DataFrame) -> float:
    """The median size of the gap between two variants, on a logarithmic scale."""
    return float(_log_sizes(table).median())


def gaps_not_narrowed(undone: pd.DataFrame, usual: pd.DataFrame) -> pd.DataFrame:
    """The rows of `usual` in which the gap is at least as large in the same row of `undone`."""
    return usual[_log_sizes(undone).to_numpy() >= _log_sizes(usual).to_numpy()]


def conditioning(undone: pd.DataFrame, usual: pd.DataFrame) -> str:
    """Answer: "optimisation", "partly" or "not conditioning"."""
    if incomplete(undone) or incomplete(usual):
        return "open"
    left = gap(undone) / gap(usual)
    if left < 0.5:
        return "optimisation"
    return "partly" if left < 1 else "not conditioning"
