"""Which solution a seed converges to (notebook 03).

Cells with scattered errors, the basins of one cell, and plain networks beside standing still.
Mathematics in the sentences stands between dollars.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pinnlib.analysis.samples import CELL
from pinnlib.report.standing_still import ANGLE, still_errors
from pinnlib.runs.record import Records, result_of

LIMITS = {"near": 0.15, "wrong": 0.4}  # largest ReL2E of a basin; beyond the last a seed is lost
BASINS = (*LIMITS, "lost")
TURNED = 3.0  # rad: an error of the wrapped angle that is half a turn
ODD = np.log(2)  # a cell is odd if the logarithms of its errors scatter by more


def error_spreads(runs: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Per complete cell of `means`: seeds, and the standard deviation of log ReL2E over them."""
    complete = means.query("complete and metric == 'rel_l2_u'")
    ok = runs[runs["status"] == "ok"]
    logs = ok.assign(log_error=np.log(ok["rel_l2_u"]))
    cells = logs.groupby(CELL)["log_error"]
    table = cells.agg(n="size", spread="std")
    return table.loc[complete.set_index(CELL).index]


def odd_numbers(spreads: pd.DataFrame) -> dict[str, int]:
    """How many cells of `error_spreads` are odd, in all, under the linear gate and at soft k."""
    odd = spreads[spreads["spread"] > ODD]
    return {
        "odd_cells": len(odd),
        "all_cells": len(spreads),
        "odd_linear": len(odd.query("gate == 'linear'")),
        "odd_soft": len(odd.query("k <= 20")),
    }


def odd_text(numbers: Mapping[str, float]) -> str:
    """Where errors scatter over seeds; `numbers` are `odd_numbers`."""
    count = numbers["odd_cells"]
    cells = f"{numbers['all_cells']} cells"
    if count == 0:
        return f"In none of {cells} do the errors scatter over seeds by more than a factor of two."
    text = f"In {count} of {cells} the errors scatter over seeds by more than a factor of two"
    return f"{text}: {numbers['odd_linear']} with the linear gate, {numbers['odd_soft']} at k ≤ 20."


def assign_basins(runs: pd.DataFrame) -> pd.DataFrame:
    """The finished runs with a column `basin`: near the reference, wrong trajectory, or lost."""
    ok = runs[runs["status"] == "ok"]
    error = ok["rel_l2_u"]
    below = [error < limit for limit in LIMITS.values()]
    basin = np.select(below, list(LIMITS), "lost")
    return ok.assign(basin=basin)


def basin_table(case: pd.DataFrame) -> pd.DataFrame:
    """Per gate and basin: seeds, smallest and largest error, median residual and θ'(0)."""
    return case.groupby(["gate", "basin"]).agg(
        n=("seed", "size"),
        least=("rel_l2_u", "min"),
        most=("rel_l2_u", "max"),
        residual=("residual_mean", "median"),
        angular_velocity_at_zero=("velocity0_theta", "median"),
    )


def basin_numbers(cell: pd.DataFrame) -> dict[str, float]:
    """Of the linear gate: seeds per basin, median residual of the first two; all NaN where a run
    of the cell is not ok."""
    case = assign_basins(cell)
    basin = case[case["gate"] == "linear"].groupby("basin")
    seeds = basin.size().reindex(BASINS, fill_value=0)
    residuals = basin["residual_mean"].median().reindex(list(LIMITS))
    numbers = {f"basin_linear_{name}_n": n for name, n in seeds.items()}
    numbers |= {f"basin_linear_{name}_residual": value for name, value in residuals.items()}
    if cell.empty or len(case) < len(cell):
        return dict.fromkeys(numbers, np.nan)
    return numbers


def basin_text(numbers: Mapping[str, float]) -> str:
    """Which basins the seeds of the linear gate are in, and what that does to the gap of means.

    `numbers` are `basin_numbers`, `wrong_apart`, `wrong_away` and the gaps `basin_gap_…`.
    """
    wrong = numbers["basin_linear_wrong_n"]
    if not np.isfinite(wrong):
        return "Which basins the seeds fall into remains open: runs are missing."
    near = numbers["basin_linear_near_n"]
    total = near + wrong + numbers["basin_linear_lost_n"]
    if not (near and wrong):
        return f"Under the linear gate {near} of {total} seeds lie near the reference."
    return (
        f"Under the linear gate {near} of {total} seeds lie near the reference and {wrong} on a"
        f" wrong trajectory, {numbers['wrong_away']:.2f} rad from the reference and"
        f" {numbers['wrong_apart']:.3f} rad from their own mean (root mean squares). In the median"
        f" seed the mean residual is {numbers['basin_linear_near_residual']:.2f} near the"
        f" reference and {numbers['basin_linear_wrong_residual']:.2f} on the wrong trajectory."
        f" The mean errors of the gates differ by {numbers['basin_gap_all']:.3f} over all seeds"
        f" and by {numbers['basin_gap_near']:.3f} over those near the reference: the"
        f" basin accounts for {numbers['basin_gap_share']:.0%} of the gap."
    )


def basin_answer(numbers: Mapping[str, float]) -> str:
    """What the gap at k = 20 consists of, in a sentence; `numbers` as in `basin_text`."""
    wrong = numbers["basin_linear_wrong_n"]
    if not np.isfinite(wrong):
        return "Which basins the seeds fall into remains open: runs are missing."
    near = numbers["basin_linear_near_n"]
    total = near + wrong + numbers["basin_linear_lost_n"]
    return (
        f"At $k = 20$ the gap reflects failed seeds: under the linear gate {near} of {total} come"
        f" near the reference and {wrong} converge to the same wrong trajectory, on which the swing"
        f" dies out. This accounts for {numbers['basin_gap_share']:.0%} of the gap between the mean"
        " errors."
    )


def angles(case: pd.DataFrame, records: Records, times: np.ndarray) -> pd.DataFrame:
    """θ at the times (rows), one column per run, named by its key."""
    curves = {}
    for key in case["key"]:
        result = result_of(records[key])
        curves[key] = result.predict(times)["theta"].to_numpy()
    return pd.DataFrame(curves, index=times)


def spread_and_offset(curves: pd.DataFrame, reference: np.ndarray) -> tuple[float, float]:
    """RMS distance of the curves from their mean, and of that mean from the reference.

    `curves` is (points, runs); both are NaN if it has no runs.
    """
    if curves.shape[1] == 0:
        return np.nan, np.nan
    middle = curves.mean(axis=1)
    distances = curves.sub(middle, axis=0).to_numpy()
    spread = np.sqrt(np.mean(distances**2))
    offset = np.sqrt(np.mean((middle - reference) ** 2))
    return float(spread), float(offset)


def wrong_numbers(
    linear: pd.DataFrame, curves: pd.DataFrame, reference: np.ndarray
) -> dict[str, float]:
    """How far the angles of the wrong runs are from their mean, and that from the reference."""
    wrong = curves[linear.loc[linear["basin"] == "wrong", "key"]]
    apart, away = spread_and_offset(wrong, reference)
    return {"wrong_apart": apart, "wrong_away": away}


def mean_gaps(case: pd.DataFrame) -> dict[str, float]:
    """Gap of the gates' mean errors, linear − exp, over all seeds and near the reference."""
    gaps = {}
    parts = {"all": case, "near": case[case["basin"] == "near"]}
    for name, part in parts.items():
        means = part.groupby("gate")["rel_l2_u"].mean()
        gap = means.get("linear", np.nan) - means.get("exp", np.nan)
        gaps[name] = float(gap)
    return gaps


def gap_numbers(case: pd.DataFrame) -> dict[str, float]:
    """`mean_gaps`, and the share of the gap that disappears near the reference."""
    gaps = mean_gaps(case)
    share = 1 - gaps["near"] / gaps["all"]
    return {
        "basin_gap_all": gaps["all"],
        "basin_gap_near": gaps["near"],
        "basin_gap_share": share,
    }


def plain_networks(runs: pd.DataFrame) -> pd.DataFrame:
    """Per λ, k and gate: runs done and needed, median errors, runs that turned over.

    The last three are NaN where a run is not ok. Beside them: the error of standing still, which
    is 1 for the angle.
    """
    frame = runs.assign(
        ok=runs["status"] == "ok",
        turned=runs["max_ae_theta"] > TURNED,
    )
    table = frame.groupby(["lambda_ic", "k", "gate"]).agg(
        n=("ok", "sum"),
        needed=("ok", "size"),
        error=("rel_l2_u", "median"),
        angle_error=(ANGLE, "median"),
        turned=("turned", "sum"),
    )
    ks = table.index.get_level_values("k")
    still = {k: still_errors(k)["rel_l2_u"] for k in set(ks)}
    table["standing_still"] = ks.map(still).astype(float)
    complete = table["n"] == table["needed"]
    outcomes = ["error", "angle_error", "turned"]
    table[outcomes] = table[outcomes].where(complete)
    return table


def network_numbers(networks: pd.DataFrame) -> dict[str, float | str]:
    """Per gate: runs turned over; of exp: median error over that of standing still; or "open"."""
    numbers = {}
    for gate, part in networks.groupby("gate"):
        values = {"turned": f"{part['turned'].sum():.0f} of {part['n'].sum()}"}
        if gate == "exp":
            share = part["error"] / part["standing_still"]
            values |= {"over_still_low": share.min(), "over_still_high": share.max()}
        if part["error"].isna().any():
            values = dict.fromkeys(values, "open")
        numbers |= {f"baseline_{gate}_{name}": value for name, value in values.items()}
    return numbers


def network_text(networks: pd.DataFrame) -> str:
    """What plain networks do under either gate; `networks` is `plain_networks`."""
    numbers = network_numbers(networks)
    if not numbers or "open" in numbers.values():
        return "What the plain networks do remains open: runs are missing."
    angle = networks.query("gate == 'exp'")["angle_error"]
    return (
        "With the exponential gate the median error of the plain networks is"
        f" {numbers['baseline_exp_over_still_low']:.0%} to"
        f" {numbers['baseline_exp_over_still_high']:.0%} of that of standing still (of the angle"
        f" alone {angle.min():.0%} to {angle.max():.0%}), and the angle turns over in"
        f" {numbers['baseline_exp_turned']} runs; with the linear gate it turns over in"
        f" {numbers['baseline_linear_turned']}."
    )
