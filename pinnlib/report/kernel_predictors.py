"""Quantities of the residual kernel as predictors of the winning gate (notebook 05): their
association with the winner, and the rule that answers."""

import numpy as np
import pandas as pd

from pinnlib.analysis.association import auc, permutation_p, rank_correlation
from pinnlib.analysis.samples import known_by_k, pair_runs
from pinnlib.analysis.significance import LEVEL
from pinnlib.report.kernel_measurements import Updates
from pinnlib.report.standing_still import ANGLE

_SCALARS = ["trace", "rank", "condition", "effective_rank", "late_over_early", "alignment"]
QUANTITIES = [*_SCALARS, *(f"balanced_{name}" for name in _SCALARS), "share_raw"]
STRONG = 0.25  # distance of an AUC from 0.5 that the rule of notebook 05 asks for


def predictors(measured: pd.DataFrame, pairs: pd.DataFrame, updates: Updates) -> pd.DataFrame:
    """Does log(linear/exp) of a quantity predict in which (k, seed) the exponential gate wins?

    `measured` is a table of `kernel_measurements.kernels`, `pairs` one of `samples.pair_runs`.
    AUC, and rank correlation with log(error linear/error exp), over all pairs and within k; their
    intervals share one level over all quantities and updates (Bonferroni), `p_within_k` is not
    corrected.
    """
    level = LEVEL / (len(QUANTITIES) * len(updates))
    outcome = pairs.set_index(["k", "seed"])[["log_ratio"]]
    rows = []
    by_update = measured.set_index(["update", "gate", "k", "seed"])[QUANTITIES]
    for update in updates:
        now = by_update.loc[update]
        ratios = np.log(now.loc["linear"] / now.loc["exp"])
        both = outcome.join(ratios, how="inner").dropna()
        for quantity in QUANTITIES:
            row = {"update": update, "quantity": quantity}
            row["n"] = len(both)
            row |= _association(both[quantity], both["log_ratio"], level)
            rows.append(row)
    return pd.DataFrame(rows)


def _association(x: pd.Series, outcome: pd.Series, level: float) -> dict[str, float]:
    """AUC and rank correlation of two series by (k, seed), over all pairs and within k."""
    k = x.index.get_level_values("k")
    seed = x.index.get_level_values("seed")
    groups = {"all": np.zeros(len(x)), "within_k": k}
    row = {}
    for scope, group in groups.items():
        area, low, high = auc(x, outcome > 0, seed, group, level)
        row[f"auc_{scope}"] = area
        row[f"low_{scope}"] = low
        row[f"high_{scope}"] = high
        rho, low, high = rank_correlation(x, outcome, seed, group, level)
        row[f"rho_{scope}"] = rho
        row[f"rho_low_{scope}"] = low
        row[f"rho_high_{scope}"] = high
    row["p_within_k"] = permutation_p(x, outcome, k)
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
    in_time = deciding["quantity"].str.endswith("late_over_early")
    clear = clear_sides(found, "all") != 0
    clear_within_k = clear_sides(found, "within_k") != 0
    return {
        "kernel_predicts": answer,
        "kernel_asked": len(found),
        "kernel_strong": len(deciding),
        "kernel_strong_in_time": in_time.sum(),
        "kernel_clear": clear.sum(),
        "kernel_clear_within_k": clear_within_k.sum(),
    }


def notable_rows(found: pd.DataFrame) -> pd.DataFrame:
    """The row with the AUC over all pairs farthest from 0.5 (`best`) and the one with the smallest
    p within k (`within`); `p_corrected` is that p times the number of rows."""
    distance = (found["auc_all"] - 0.5).abs()
    farthest = distance.fillna(-1).idxmax()
    clearest = found["p_within_k"].fillna(1).idxmin()
    rows = found.loc[[farthest, clearest]].set_axis(["best", "within"])
    names = rows["quantity"].replace("share_raw", "share of the frequencies in the trace")
    rows["quantity"] = names.str.replace("_", " ")
    corrected = rows["p_within_k"] * len(found)
    rows["p_corrected"] = corrected.clip(upper=1.0)
    return rows


def notable_numbers(found: pd.DataFrame) -> dict[str, float | int | str]:
    """The numbers that the paper quotes of `notable_rows`."""
    rows = notable_rows(found)
    best = rows.loc["best", ["quantity", "update", "auc_all"]]
    within = rows.loc["within"].rename(
        {"rho_within_k": "rho", "rho_low_within_k": "low", "rho_high_within_k": "high"}
    )
    within["p"] = within["p_corrected"]
    quoted = ["quantity", "update", "auc_all", "auc_within_k", "rho", "low", "high", "p"]
    numbers = best.add_prefix("kernel_best_").to_dict()
    return numbers | within[quoted].add_prefix("kernel_within_").to_dict()


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
