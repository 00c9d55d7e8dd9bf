"""The rules of notebook 08: choices on the tuning seeds, answers from contrasts on the test seeds.

What each rule says in words is in rate_rules.toml, under the name of its function. An answer is
"open" where a run is missing.
"""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd

from pinnlib.report.gate_rules import LARGE, incomplete, score, significant_sides

WORDING = Path(__file__).with_suffix(".toml")
RULES = tomllib.loads(WORDING.read_text(encoding="utf-8"))
SETTING = ["system", "form", "gate", "loss", "lambda_ic"]
CHOICE = ["gate", "loss", "schedule", "lr"]  # what a recipe fixes
WINNERS = {20: 1, 60: -1}  # k → side of the published winner: 1 for exp, −1 for linear
MOST = 0.75  # share of cells that decides
MOST_OF_TWELVE = 9
MOST_OF_EIGHT = 6


def median_errors(runs: pd.DataFrame, by: list[str]) -> pd.Series:
    """Median ReL2E per cell of `by`; a run that diverged counts as infinite."""
    error = runs["rel_l2_u"].where(runs["status"] == "ok", np.inf)
    return runs.assign(error=error).groupby(by)["error"].median()


def choose_rates(runs: pd.DataFrame) -> pd.Series:
    """(system, form, gate, loss, λ, k) → the rate of the smallest median error."""
    medians = median_errors(runs, [*SETTING, "k", "lr"]).unstack("lr")
    in_order = medians.sort_index(axis=1)  # of equal errors, the lower rate
    return in_order.idxmin(axis=1).rename("lr")


def reversal_survives(own: pd.DataFrame) -> str:
    """From exp against linear at own rates, balanced loss. Answer: "yes", "no" or "partly"."""
    if incomplete(own):
        return "open"
    sides = significant_sides(own).groupby(own["k"]).first()
    kept = sum(sides[k] == side for k, side in WINNERS.items())
    return {0: "no", 1: "partly", 2: "yes"}[kept]


def reversal_without_penalty(own: pd.DataFrame) -> str:
    """The same rule for runs without velocity penalty."""
    return reversal_survives(own)


def removed_shares(published: pd.DataFrame, own: pd.DataFrame) -> pd.Series:
    """Of each significant gap in `published`, the share that is gone in the same row of `own`."""
    gaps = np.log(published["ratio"].to_numpy())
    left = np.log(own["ratio"].to_numpy())
    shares = pd.Series(1 - left / gaps, index=published.index)
    return shares[significant_sides(published) != 0]


def rate_or_gate(published: pd.DataFrame, own: pd.DataFrame) -> str:
    """Answer: "rate", "gate" or "both"."""
    if incomplete(published) or incomplete(own):
        return "open"
    shares = removed_shares(published, own)
    if (shares > 0.5).mean() >= MOST:
        return "rate"
    return "gate" if (shares < 0.5).mean() >= MOST else "both"


def worst_cases(runs: pd.DataFrame, choice: list[str]) -> pd.Series:
    """Per choice, its largest median error over that of the best choice at the same k."""
    medians = median_errors(runs, [*choice, "k"]).unstack("k")
    return (medians / medians.min()).max(axis=1).rename("worst_case")


def one_rate(tuning: pd.DataFrame) -> str:
    """Answer: "yes", "no" or "for one gate only"."""
    if (tuning["status"] == "missing").any():
        return "open"
    found = []
    for gate in ("exp", "linear"):
        own = tuning[(tuning["gate"] == gate) & (tuning["loss"] == "balanced")]
        found.append(worst_cases(own, ["lr"]).min() <= LARGE)
    if any(found):
        return "yes" if all(found) else "for one gate only"
    return "no"


def _helps(table: pd.DataFrame, most: int) -> str:
    if incomplete(table):
        return "open"
    better, worse = score(table)
    if better >= most and worse == 0:
        return "helps"
    return "hurts" if worse >= most and better == 0 else "mixed"


def decay_helps(table: pd.DataFrame) -> str:
    """From cosine against constant. Answer: "helps", "hurts" or "mixed"."""
    return _helps(table, MOST_OF_TWELVE)


def decay_turns(constant: pd.DataFrame, cosine: pd.DataFrame) -> str:
    """From exp against linear, in the same cells. Answer: "yes" or "no"."""
    if incomplete(constant) or incomplete(cosine):
        return "open"
    opposite = significant_sides(constant).to_numpy() * significant_sides(cosine).to_numpy() < 0
    return "yes" if opposite.any() else "no"


def gate_or_constraint(table: pd.DataFrame) -> str:
    """From shifted against each gate. Answer: "needed", "not needed" or "undecided"."""
    if incomplete(table):
        return "open"
    worse = (significant_sides(table) == -1).groupby([table["loss"], table["k"]])
    if worse.all().sum() >= MOST_OF_EIGHT:
        return "needed"
    return "not needed" if (~worse.any()).sum() >= MOST_OF_EIGHT else "undecided"


def exact_start(table: pd.DataFrame) -> str:
    """From shifted against soft. Answer: "helps", "hurts" or "mixed"."""
    return _helps(table, MOST_OF_EIGHT)


def choose_recipe(tuning: pd.DataFrame) -> dict:
    """The gate, loss, schedule and rate with the smallest worst case."""
    cases = worst_cases(tuning, CHOICE).sort_index()
    return dict(zip(CHOICE, cases.idxmin(), strict=True))


def recipe(table: pd.DataFrame) -> str:
    """From the recipe against each published setting: in how many contrasts it is better."""
    if incomplete(table):
        return "open"
    better, worse = score(table)
    return f"better in {better}, worse in {worse} of {len(table)} contrasts"
