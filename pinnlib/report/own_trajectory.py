"""Errors of a run against the solution that starts with the run's own initial velocity."""

import numpy as np
import pandas as pd

from pinnlib.metrics import error_metrics
from pinnlib.reference import reference_solution
from pinnlib.runs.record import result_of

OWN = ("rel_l2_u", "own_rel_l2_u", "speed")


def own_trajectory(spec, record):
    """Errors of a run against the solution that starts with the velocity that the run itself has at 0, and that velocity."""
    times = spec.reference.t
    state = result_of(record).predict(times)
    names = list(spec.system_object.components)
    velocity = tuple(float(state[f"{name}_t"].iloc[0]) for name in names)
    own = reference_solution(spec.system_object, spec.initial_position, velocity, spec.horizon)
    errors = error_metrics(spec.system_object, state[names].to_numpy().T, own.q)
    return {"own_rel_l2_u": errors["rel_l2_u"], "speed": float(np.linalg.norm(velocity))}


def with_own_trajectory(specs, records):
    """A table of runs with their own trajectories' errors beside those against the reference; NaN where a run is not ok, or missing."""
    rows = []
    for spec in specs:
        record = records.get(spec.key, {"status": "missing"})
        run = {name: getattr(spec, name) for name in ("gate", "k", "seed")} | {
            "status": record["status"]
        }
        found = (
            {"rel_l2_u": record["metrics"]["rel_l2_u"]} | own_trajectory(spec, record)
            if record["status"] == "ok"
            else {}
        )
        rows.append(dict.fromkeys(OWN, np.nan) | run | found)
    return pd.DataFrame(rows)[["gate", "k", "seed", "status", *OWN]]
