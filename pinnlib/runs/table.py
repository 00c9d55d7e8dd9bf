"""Specifications of studies and the tables of their runs."""

import dataclasses
import math
import os

import pandas as pd

from pinnlib.paths import RECORDS, RUNS_CSV
from pinnlib.registry import is_whole, validate
from pinnlib.runs.provenance import NUMERICS
from pinnlib.runs.record import full_settings
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.spec import RunSpec


def specs_of(*studies, seeds=None, steps=None):
    """The distinct runs that the named studies need, in order; `seeds` caps the number of seeds, `steps` are the updates of a whole run (few in a smoke test)."""

    validate(
        "seeds", seeds, seeds is None or is_whole(seeds, 1), "a whole number >= 1, or None for all"
    )
    validate(
        "steps",
        steps,
        steps is None or is_whole(steps, 1),
        "a whole number >= 1, or None for those of the study",
    )
    for study in studies:
        validate("study", study, study in STUDIES, f"one of {', '.join(STUDIES)}")
    updates = RunSpec.steps if steps is None else int(steps)
    specs = [
        RunSpec(**settings)
        for study in studies
        for settings in STUDIES[study].settings(updates, seeds)
    ]
    return list(dict.fromkeys(specs))


def runs_of(specs, records):
    """One row per spec, as `record.table` gives it; a run without a record is there too, with status "missing"."""

    validate(
        "records",
        type(records).__name__,
        isinstance(records, dict),
        "records by key, as Store(folder).load() and sweep(…).records are",
    )
    found = {spec.key: records[spec.key] for spec in specs if spec.key in records}
    absent = {
        s.key: {"key": s.key, "spec": dataclasses.asdict(s), "status": "missing", "numerics": None}
        for s in specs
        if s.key not in records
    }
    return runs_table(found | absent)


COLUMNS = [  # at least
    "key",
    "model",
    "gate",
    "k",
    "lambda_ic",
    "loss",
    "seed",
    "steps",
    "status",
    "rel_l2_u",
    "max_ae_u",
    "max_ae_theta",
    "residual_mean",
    "velocity0_theta",
    "numerics",
]


def runs_table(records):
    """One row per record: the settings, status, metrics, seconds and version of the numerics, in a fixed order."""
    rows = []
    for record in records.values():
        told = {
            name: str(value) if isinstance(value, (list, tuple)) else value
            for name, value in full_settings(record).items()
        }
        cost = {"seconds": record.get("seconds"), "numerics": record["numerics"]}
        metrics = {
            name: math.nan if value is None else value
            for name, value in record.get("metrics", {}).items()
        }
        rows.append({"key": record["key"]} | told | {"status": record["status"]} | metrics | cost)
    order = ["loss", "lambda_ic", "model", "k", "seed", "gate", "key"]
    frame = pd.DataFrame(rows)
    return frame.reindex(
        columns=[*frame.columns, *(c for c in COLUMNS if c not in frame)]
    ).sort_values(order, ignore_index=True)


def mixed_versions(frame):
    """A sentence if not all rows were made by the present version of the numerics, else an empty string."""
    counts = frame["numerics"].value_counts().sort_index()
    if set(counts.index) <= {NUMERICS}:
        return ""
    told = ", ".join(f"{n} by version {version:g}" for version, n in counts.items())
    return f"Mixed numerics: {told} (now: {NUMERICS}). './run_all.sh sweep --older' trains the older ones again."


def export(folder=RECORDS, path=RUNS_CSV):
    """Write the tidy table of all records; returns it."""
    frame = runs_table(Store(folder).load())
    frame.to_csv(f"{path}.new", index=False, lineterminator="\n")
    os.replace(f"{path}.new", path)
    return frame
