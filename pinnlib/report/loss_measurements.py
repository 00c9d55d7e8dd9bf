"""Measurements of notebook 07: the gap between the gates under every loss, and effective weights.

A gap is a ratio of errors, linear over exp: above 1 the exponential gate is better. A cell is a
stiffness k and a weight λ of the velocity penalty.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pinnlib.analysis.contrasts import contrast, contrasts
from pinnlib.analysis.estimates import median_interval
from pinnlib.losses import LOSSES, Balanced, Weighted
from pinnlib.metrics import standing_still_metrics
from pinnlib.registry import lookup
from pinnlib.report.loss_rules import FROZEN
from pinnlib.runs.record import Records, history_of
from pinnlib.spec import RunSpec

GATES = [("exp", "linear")]
ERRORS = {"rel_l2_u": "state", "rel_l2_r": "radius", "rel_l2_theta": "angle"}
CELL = ["lambda_ic", "k"]
SAMPLES = 9999  # of the seeds behind `turning_weights`


def theta_weight(loss: str) -> float:
    """The weight of θ where r has 1; NaN if the loss chooses it itself."""
    match lookup("loss", LOSSES, loss):
        case Weighted(weights=(first, second)):
            return second / first
        case Balanced():
            return np.nan
    return 1.0


def loss_label(loss: str) -> str:
    """A short name, such as "weight 0.1", "mse", "frozen" or "balanced"."""
    if loss == FROZEN:
        return "frozen"
    return f"weight {theta_weight(loss):g}" if loss.startswith("weighted") else loss


def in_order(losses: Sequence[str]) -> list[str]:
    """The losses by their weight of θ, then frozen, then balanced."""
    fixed = [loss for loss in set(losses) if not np.isnan(theta_weight(loss))]
    balancing = set(losses) - set(fixed)
    return [*sorted(fixed, key=theta_weight), *sorted(balancing, reverse=True)]


def loss_gaps(runs: pd.DataFrame) -> pd.DataFrame:
    """The gap of every error, cell and loss; Holm runs over all cells and losses of an error."""
    tables = []
    for metric in ERRORS:
        table = contrasts(runs, GATES, by=(*CELL, "loss"), metric=metric)
        table.insert(0, "metric", metric)
        table.insert(4, "weight", table["loss"].map(theta_weight))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def seed_gaps(runs: pd.DataFrame, metric: str = "rel_l2_u") -> pd.DataFrame:
    """The gap of every seed: columns λ, k, loss, seed and ratio, NaN where a run is not ok."""
    errors = runs[metric].where(runs["status"] == "ok")
    index = [*CELL, "loss", "seed"]
    wide = runs.assign(error=errors).pivot(index=index, columns="gate", values="error")
    ratio = wide["linear"] / wide["exp"]
    return ratio.rename("ratio").reset_index()


def loss_medians(runs: pd.DataFrame) -> pd.DataFrame:
    """Median of every error per cell, loss and gate, with bootstrap interval; NaN if incomplete."""
    rows = []
    for labels, part in runs.groupby([*CELL, "loss", "gate"]):
        ok = part["status"] == "ok"
        for metric in ERRORS:
            low, median, high = median_interval(part[metric].where(ok))
            row = dict(zip([*CELL, "loss", "gate"], labels, strict=True))
            rows.append(row | {"metric": metric, "median": median, "low": low, "high": high})
    return pd.DataFrame(rows)


def errors_of_standing_still(specs: Sequence[RunSpec]) -> pd.DataFrame:
    """k × error → that of a motion that stands still."""
    problems = {spec.k: spec for spec in specs}
    rows = {}
    for k, spec in sorted(problems.items()):
        rows[k] = standing_still_metrics(spec.system_object, spec.reference.q)
    return pd.DataFrame(rows).T.rename_axis("k").filter(like="rel_l2")


def control_gaps(runs: pd.DataFrame) -> pd.DataFrame:
    """The gap of the one-component system at every k under either loss, one family of tests."""
    return contrasts(runs, GATES, by=("k", "loss"))


def _sign_changes(logs: np.ndarray, log_weights: np.ndarray) -> np.ndarray:
    """Logarithm of the weight at which the gap passes 1 between neighbours, else NaN.

    `logs` are (samples, weights), the result (samples, weights − 1).
    """
    left, right = logs[:, :-1], logs[:, 1:]
    drop = np.where(left * right < 0, left - right, np.nan)
    return log_weights[:-1] + left / drop * np.diff(log_weights)


def turning_weights(runs: pd.DataFrame) -> pd.DataFrame:
    """Per error and cell: at which weight of θ the median gap changes sign.

    `changes` counts the changes of sign between neighbouring weights. If there is one, `weight` is
    where, interpolated on logarithmic scales; `low` to `high` is its bootstrap 95% interval over
    those samples of seeds that have one change, which are the share `one_in`.
    """
    rows = []
    for metric in ERRORS:
        ratios = seed_gaps(runs, metric)
        ratios["weight"] = ratios["loss"].map(theta_weight)
        for cell, part in ratios.dropna(subset="weight").groupby(CELL):
            wide = part.pivot(index="seed", columns="weight", values="ratio")
            row = {"metric": metric} | dict(zip(CELL, cell, strict=True))
            rows.append(row | _turning_weight(np.log(wide)))
    return pd.DataFrame(rows)


def _turning_weight(logs: pd.DataFrame) -> dict[str, float]:
    """The row of one cell; `logs` is seeds × weights."""
    row = dict.fromkeys(["changes", "weight", "low", "high", "one_in"], np.nan)
    if logs.isna().any(axis=None):
        return row
    values = logs.to_numpy()
    log_weights = np.log(logs.columns.to_numpy(dtype=float))
    found = _sign_changes(np.median(values, axis=0)[None], log_weights)
    row["changes"] = np.isfinite(found).sum()
    draws = np.random.default_rng(0).integers(len(values), size=(SAMPLES, len(values)))
    places = _sign_changes(np.median(values[draws], axis=1), log_weights)
    one = np.isfinite(places).sum(axis=1) == 1
    row["one_in"] = one.mean()
    if row["changes"] == 1:
        row["weight"] = np.exp(np.nansum(found))
        if one.any():
            ends = np.quantile(np.nansum(places[one], axis=1), [0.025, 0.975])
            row["low"], row["high"] = np.exp(ends)
    return row


def effective_weights(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """The weights that a balancing loss amounts to, a row per run and recorded update.

    `weight` is that of θ where r has 1, (s_r/s_θ)²; `sum` is that of both, 1/s_r² + 1/s_θ², which
    is 1 for fixed weights: it counts against the velocity penalty. The scales are taken to be the
    root mean squares of the residuals at that update, or at the first one if they are frozen.
    """
    tables = []
    for spec in specs:
        record = records.get(spec.key, {})
        if not isinstance(spec.loss_object, Balanced) or "history" not in record:
            continue
        history = history_of(record)
        scales = history[["rms_r", "rms_theta"]]
        if spec.loss_object.frozen:
            scales = scales.iloc[[0] * len(scales)].reset_index(drop=True)
        inverse = scales**-2.0
        table = pd.DataFrame(spec.select(*CELL, "loss", "gate", "seed"), index=history.index)
        table["update"] = history["update"]
        table["weight"] = inverse["rms_theta"] / inverse["rms_r"]
        table["sum"] = inverse.sum(axis=1, skipna=False)
        tables.append(table)
    together = pd.concat(tables, ignore_index=True)
    return together.astype({"k": int, "lambda_ic": int})


def weight_bands(weights: pd.DataFrame) -> pd.DataFrame:
    """Per cell, loss, gate and update: median weight and sum, and the range `low` to `high`."""
    cells = weights.groupby([*CELL, "loss", "gate", "update"])
    weight = cells["weight"]
    bands = pd.DataFrame({"runs": cells.size(), "weight": weight.median()})
    bands["low"] = weight.min()
    bands["high"] = weight.max()
    bands["sum"] = cells["sum"].median()
    return bands.reset_index()


def _errors_at(runs: pd.DataFrame, weights: dict[str, float]) -> pd.DataFrame:
    """seed × gate → error of the state at the gate's own fixed weight of θ.

    Interpolated between the fixed weights of `runs` on logarithmic scales, NaN outside them.
    """
    error = runs["rel_l2_u"].where(runs["status"] == "ok")
    fixed = runs.assign(error=error, weight=runs["loss"].map(theta_weight))
    fixed = fixed.dropna(subset="weight")
    found: dict[str, dict[int, float]] = {}
    for gate, weight in weights.items():
        own = fixed[fixed["gate"] == gate]
        wide = own.pivot(index="seed", columns="weight", values="error")
        log_weights = np.log(wide.columns)
        found[gate] = {}
        for seed, logs in np.log(wide).iterrows():
            log_error = np.interp(np.log(weight), log_weights, logs, np.nan, np.nan)
            found[gate][seed] = float(np.exp(log_error))
    return pd.DataFrame(found)


def beside_fixed(
    runs: pd.DataFrame,
    gaps: pd.DataFrame,
    weights: pd.DataFrame,
) -> pd.DataFrame:
    """Per cell and balancing loss: its gap beside that of the fixed weights it amounts to.

    `weight_<gate>` is the median over runs and updates of what the loss gives to θ under that gate,
    from `…_low` to `…_high` in the middle 90%. `fixed` is the gap between exp and linear, each at
    that fixed weight. `inside`: it lies in the interval of the gap; `same_winner`: it is on the
    same side of 1.
    """
    state = gaps[gaps["metric"] == "rel_l2_u"].set_index([*CELL, "loss"])
    rows = []
    for (lambda_ic, k, loss), part in weights.groupby([*CELL, "loss"]):
        row = {"lambda_ic": lambda_ic, "k": k, "loss": loss}
        for gate, own in part.groupby("gate")["weight"]:
            low, row[f"weight_{gate}"], high = own.quantile([0.05, 0.5, 0.95])
            row |= {f"weight_{gate}_low": low, f"weight_{gate}_high": high}
        row["sum"] = part["sum"].median()
        cell = runs[(runs["lambda_ic"] == lambda_ic) & (runs["k"] == k)]
        middle = {gate: row.get(f"weight_{gate}", np.nan) for gate in GATES[0]}
        errors = _errors_at(cell, middle)
        row["fixed"] = contrast(errors["exp"], errors["linear"])["ratio"]
        row |= state.loc[(lambda_ic, k, loss), ["ratio", "low", "high"]].to_dict()
        rows.append(row)
    found = pd.DataFrame(rows)
    known = found[["fixed", "ratio"]].notna().all(axis=1)
    inside = found["fixed"].between(found["low"], found["high"])
    same = np.log(found["fixed"]) * np.log(found["ratio"]) > 0
    found["inside"] = inside.astype("boolean").where(known)
    found["same_winner"] = same.astype("boolean").where(known)
    return found
