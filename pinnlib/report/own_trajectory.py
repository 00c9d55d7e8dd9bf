"""Errors of a run against the solution that starts with the run's own initial velocity."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pinnlib.metrics import error_metrics
from pinnlib.reference import solve
from pinnlib.runs.record import Record, Records, result_of
from pinnlib.spec import RunSpec

COLUMNS = ["gate", "k", "seed", "status", "rel_l2_u", "own_rel_l2_u", "speed"]


def own_trajectory(spec: RunSpec, record: Record) -> dict[str, float]:
    """`own_rel_l2_u` of a run, and the `speed` at which it starts."""
    state = result_of(record).predict(spec.reference.t)
    system = spec.system_object
    names = list(system.components)
    velocities = state[[f"{name}_t" for name in names]]
    velocity = velocities.iloc[0].astype(float)
    own = solve(spec.problem._replace(velocity=tuple(velocity)))
    errors = error_metrics(system, state[names].to_numpy().T, own.q)
    speed = np.linalg.norm(velocity)
    return {
        "own_rel_l2_u": errors["rel_l2_u"],
        "speed": float(speed),
    }


def with_own_trajectory(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """A table of runs with both errors; NaN where a run is missing or not ok."""
    rows = []
    for spec in specs:
        record = records.get(spec.key, {"status": "missing"})
        row = spec.select("gate", "k", "seed") | {"status": record["status"]}
        if record["status"] == "ok":
            row["rel_l2_u"] = record["metrics"]["rel_l2_u"]
            row |= own_trajectory(spec, record)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)
