"""Errors of a run against the solution that starts with the run's own initial velocity."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pinnlib.metrics import error_metrics
from pinnlib.reference import solve
from pinnlib.runs.record import Record, Records, result_of
from pinnlib.spec import RunSpec

ERRORS = ("rel_l2_u", "rel_l2_theta")
OWN = [f"own_{name}" for name in ERRORS]
COLUMNS = ["gate", "k", "seed", "status", *ERRORS, *OWN, "speed"]


def own_trajectory(spec: RunSpec, record: Record) -> dict[str, float]:
    """`own_rel_l2_u` and `own_rel_l2_theta` of a run, and the `speed` at which it starts."""
    state = result_of(record).predict(spec.reference.t)
    system = spec.system_object
    names = list(system.components)
    velocities = state[[f"{name}_t" for name in names]]
    velocity = velocities.iloc[0].astype(float)
    own = solve(spec.problem._replace(velocity=tuple(velocity)))
    errors = error_metrics(system, state[names].to_numpy().T, own.q)
    found = {f"own_{name}": errors[name] for name in ERRORS}
    found["speed"] = float(np.linalg.norm(velocity))
    return found


def with_own_trajectory(specs: Sequence[RunSpec], records: Records) -> pd.DataFrame:
    """A table of runs with their errors; NaN where a run is missing or not ok."""
    rows = []
    for spec in specs:
        record = records.get(spec.key, {"status": "missing"})
        row = spec.select("gate", "k", "seed") | {"status": record["status"]}
        if record["status"] == "ok":
            for name in ERRORS:
                row[name] = record["metrics"][name]
            row |= own_trajectory(spec, record)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)
