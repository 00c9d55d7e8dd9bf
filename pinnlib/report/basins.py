"""Where seeds end: cells whose errors scatter, the basins of one cell, and plain networks beside a pendulum that stands still."""

import numpy as np
import pandas as pd

from pinnlib.analysis.paired import CELL
from pinnlib.metrics import error_metrics
from pinnlib.runs.record import result_of
from pinnlib.spec import RunSpec

LIMITS = {
    "near": 0.15,
    "wrong": 0.4,
}  # ReL2E below which a seed is in a basin; beyond the last it is lost
TURNED = 3.0  # rad: an error of the angle, which is wrapped, that is half a turn
ODD = np.log(2)  # a cell is odd if the logarithms of its errors scatter by more


def spreads(runs, means):
    """Per complete cell (as `stats.summary` tells): seeds, and the standard deviation of log ReL2E over them."""
    ok = runs[runs["status"] == "ok"]
    whole = means[means["complete"] & (means["metric"] == "rel_l2_u")].set_index(CELL).index
    return (
        np.log(ok["rel_l2_u"])
        .groupby([ok[name] for name in CELL])
        .agg(["size", "std"])
        .set_axis(["n", "spread"], axis=1)
        .loc[whole]
    )


def sorted_into(runs):
    """The finished runs of a cell with their `basin`: near the reference, on the wrong trajectory, or lost."""
    ok = runs[runs["status"] == "ok"]
    return ok.assign(
        basin=np.select([ok["rel_l2_u"] < limit for limit in LIMITS.values()], list(LIMITS), "lost")
    )


def basins(case):
    """Per gate and basin: seeds, smallest and largest error, median residual and initial angular velocity."""
    return case.groupby(["gate", "basin"]).agg(
        n=("seed", "size"),
        least=("rel_l2_u", "min"),
        most=("rel_l2_u", "max"),
        residual=("residual_mean", "median"),
        angular_velocity_at_zero=("velocity0_theta", "median"),
    )


def quoted(cell):
    """Name → value for the text: seeds and median residual in every basin of the runs of a cell; NaN where a run is not ok, or nobody has a residual."""
    case = sorted_into(cell)
    places = [(gate, basin) for gate in ("exp", "linear") for basin in (*LIMITS, "lost")]
    table = basins(case if len(case) == len(cell) else case[:0]).reindex(places)[["n", "residual"]]
    if len(case) == len(cell) > 0:
        table["n"] = table["n"].fillna(0).astype(int)
    return {
        f"basin_{gate}_{basin}_{name}": value
        for (gate, basin), row in table.iterrows()
        for name, value in row.items()
    }


def angles(case, records, times):
    """θ at the times (rows), a column per run, named by its key."""
    return pd.DataFrame(
        {key: result_of(records[key]).predict(times)["theta"].to_numpy() for key in case["key"]},
        index=times,
    )


def apart_and_away(curves, reference):
    """(how far curves (points, runs) are from their mean, how far that is from the reference), root mean square; NaN without a curve."""
    if not curves.shape[1]:
        return np.nan, np.nan
    middle = curves.mean(axis=1)
    return float(np.sqrt(np.mean(curves.sub(middle, axis=0).to_numpy() ** 2))), float(
        np.sqrt(np.mean((middle - reference) ** 2))
    )


def gaps(case):
    """Difference of the gates' mean errors, linear − exp: over `all` seeds, and over those `near` the reference."""
    parts = {"all": case, "near": case[case["basin"] == "near"]}
    means = {
        name: part.groupby("gate")["rel_l2_u"].mean().reindex(["exp", "linear"])
        for name, part in parts.items()
    }
    return {name: float(by_gate["linear"] - by_gate["exp"]) for name, by_gate in means.items()}


def standing_still(k):
    """ReL2E of a pendulum that stands still: r at its mean over time, θ = 0."""
    spec = RunSpec(k=k)
    q = np.array(
        [
            np.full_like(spec.reference.t, spec.reference.q[0].mean()),
            np.zeros_like(spec.reference.t),
        ]
    )
    return error_metrics(spec.system_object, q, spec.reference.q)["rel_l2_u"]


def networks(runs):
    """Per λ, k and gate: runs there and needed, median error, runs that turned over (both NaN where a run is not ok), and the error of standing still."""
    cells = runs.assign(ok=runs["status"] == "ok", turned=runs["max_ae_theta"] > TURNED).groupby(
        ["lambda_ic", "k", "gate"]
    )
    table = cells.agg(
        n=("ok", "sum"),
        needed=("ok", "size"),
        error=("rel_l2_u", "median"),
        turned=("turned", "sum"),
    )
    still = {k: standing_still(k) for k in runs["k"].unique()}
    table["standing_still"] = table.index.get_level_values("k").map(still).astype(float)
    table[["error", "turned"]] = table[["error", "turned"]].where(table["n"] == table["needed"])
    return table
