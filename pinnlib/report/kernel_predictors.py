"""Quantities of the residual kernel as predictors of the winning gate (notebook 05): their
association with the winner, and the rule that answers."""

import numpy as np
import pandas as pd

from pinnlib.analysis.association import auc
from pinnlib.analysis.samples import known_by_k, pair_runs
from pinnlib.analysis.significance import LEVEL
from pinnlib.report.kernel_measurements import Updates
from pinnlib.report.standing_still import ANGLE

_SCALARS = ["trace", "rank", "condition", "effective_rank", "late_over_early", "alignment"]
QUANTITIES = [*_SCALARS, *(f"balanced_{name}" for name in _SCALARS), "share_raw"]
STRONG = 0.25  # distance of an AUC from 0.5 that the rule of notebook 05 asks for


def predictors(measured: pd.DataFrame, pairs: pd.DataFrame, updates: Updates) -> pd.DataFrame:
    """Does log(linear/exp) of a quantity predict in which (k, seed) the exponential gate wins?

    `measured` is a table of `kernel_measurements.kernels`, `pairs` one of `samples.pair_runs`. One
    row per update and quantity: the AUC over all pairs and within k. The intervals share one level
    over all rows (Bonferroni).
    """
    outcome = pairs.dropna(subset="log_ratio").set_index(["k", "seed"])["log_ratio"]
    exp_wins = (outcome > 0).rename("exp_wins")
    level = LEVEL / (len(QUANTITIES) * len(updates))
    by_update = measured.set_index(["update", "gate", "k", "seed"])[QUANTITIES]
    rows = []
    for update in updates:
        now = by_update.loc[update]
        ratios = np.log(now.loc["linear"] / now.loc["exp"])
        both = ratios.join(exp_wins, how="inner").dropna()
        for quantity in QUANTITIES:
            row = {"update": update, "quantity": quantity, "n": len(both)}
            rows.append(row | _areas(both[quantity], both["exp_wins"], level))
    return pd.DataFrame(rows)


def _areas(x: pd.Series, wins: pd.Series, level: float) -> dict[str, float]:
    """AUC of `x` for `wins`, both by (k, seed), with its interval: over all pairs and within k."""
    k = x.index.get_level_values("k")
    seed = x.index.get_level_values("seed")
    groups = {"all": np.zeros(len(x)), "within_k": k}
    row = {}
    for scope, group in groups.items():
        area, low, high = auc(x, wins, seed, group, level)
        row[f"auc_{scope}"] = area
        row[f"low_{scope}"] = low
        row[f"high_{scope}"] = high
    return row


def clear_sides(found: pd.DataFrame, scope: str) -> pd.Series:
    """1 where the interval of the AUC lies above 0.5, −1 where it lies below, else 0."""
    above = found[f"low_{scope}"] > 0.5
    below = found[f"high_{scope}"] < 0.5
    return above.astype(int) - below.astype(int)


def verdict(found: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """The rule of notebook 05: "yes", "no" or "unclear", and the rows of `predictors` behind it.

    "open" if there is nothing to compare.
    """
    if found[["auc_all", "auc_within_k"]].isna().any(axis=None):
        return "open", found[:0]
    over_all = clear_sides(found, "all")
    within = clear_sides(found, "within_k")
    distance = (found["auc_all"] - 0.5).abs()
    strong = (over_all != 0) & (distance >= STRONG)
    confirmed = strong & (over_all == within)
    if confirmed.any():
        return "yes", found[confirmed]
    partial = strong | (within != 0)
    answer = "unclear" if partial.any() else "no"
    return answer, found[partial]


def verdict_numbers(found: pd.DataFrame) -> dict[str, int | str]:
    """The numbers that the paper and the claims quote of `verdict`."""
    answer, deciding = verdict(found)
    clear = clear_sides(found, "all") != 0
    clear_within_k = clear_sides(found, "within_k") != 0
    return {
        "kernel_predicts": answer,
        "kernel_asked": len(found),
        "kernel_quantities": found["quantity"].nunique(),
        "kernel_strong": len(deciding),
        "kernel_clear": clear.sum(),
        "kernel_clear_within_k": clear_within_k.sum(),
    }


def pair_numbers(runs: pd.DataFrame) -> dict[str, float | int | str]:
    """Of the pairs that are asked: how many are complete, how often k alone knows the winner, and
    in how many the error of the angle has the same winner as that of the state."""
    asked = pair_runs(runs, "rel_l2_u")
    by_angle = pair_runs(runs, ANGLE)["log_ratio"]
    complete = asked["log_ratio"].notna()
    known = known_by_k(asked[complete])
    same = (asked["log_ratio"] > 0) == (by_angle > 0)
    return {
        "kernel_pairs": int(complete.sum()),
        "kernel_pairs_needed": len(asked),
        "kernel_fewest_seeds": asked.groupby("k").size().min(),
        "kernel_exp_wins": int((asked["log_ratio"] > 0).sum()),
        "kernel_angle_same_winner": f"{same[complete].sum()} of {complete.sum()}",
        "kernel_by_k_alone": known.mean(),
        "kernel_minority": int((~known).sum()),
    }
