"""What is kept of a finished run, and what is made of it again: a result, or a row of a table."""

import dataclasses
import hashlib
import math

import numpy as np
import pandas as pd
import torch

from .numerics import NUMERICS
from .spec import RunSpec
from .training import Result, start

LARGEST_KEPT = 1000  # parameters: a spectral model's are kept, a network's only as a hash
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


def _hash(parameters):
    return hashlib.sha256(parameters.tobytes()).hexdigest()[:16]


def understood(record):
    """False for a record whose settings this version of the library does not know, or whose key is not that of its settings."""
    try:
        return RunSpec(**record["spec"]).key == record["key"]
    except (KeyError, TypeError, ValueError):
        return False


def _rounded(values, digits):
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values]


def record_of(result, origin):
    """What is kept of a run: everything for a spectral model, all but the parameters for a network."""
    finite = result.status == "ok"
    parameters = result.parameters
    return {
        "key": result.spec.key,
        "numerics": NUMERICS,
        "status": result.status,
        "spec": dataclasses.asdict(result.spec),
        "metrics": {
            name: value if math.isfinite(value) else None for name, value in result.metrics.items()
        },
        "frequencies": _rounded(result.frequencies, 7)
        if finite and result.frequencies is not None
        else None,
        "history": {
            name: (list(column) if name == "update" else _rounded(column, 5))
            for name, column in result.history.items()
        },
        "parameters": [float(str(p)) for p in parameters]
        if finite and len(parameters) <= LARGEST_KEPT
        else None,
        "parameters_sha256": _hash(parameters),
        "seconds": round(result.seconds, 3),
        "made": origin,
    }


def failure_of(spec, error, origin):
    """The record of a run that raised."""
    return {
        "key": spec.key,
        "numerics": NUMERICS,
        "status": "failed",
        "spec": dataclasses.asdict(spec),
        "error": error,
        "made": origin,
    }


def result_of(record):
    """The Result of a record that kept its parameters, ready to predict."""
    if record.get("parameters") is None:
        raise ValueError(
            f"record {record['key']} ({record['status']}) holds no parameters; train(RunSpec(**{record['spec']})) makes them again"
        )
    spec = RunSpec(**record["spec"])
    parameters = np.array(record["parameters"], dtype=spec.precision)
    if _hash(parameters) != record["parameters_sha256"]:
        raise ValueError(f"record {record['key']}: its parameters are not those that were trained")
    return Result(
        spec,
        record["status"],
        record["metrics"],
        pd.DataFrame(record["history"]),
        parameters,
        record["seconds"],
    )


def same_formulas(record):
    """True if the run begins as its record says: its gate, trunk and system are those that it was trained with, and not others of the same name."""
    theta, collocation, objective = start([RunSpec(**record["spec"])])
    with torch.no_grad():
        now = {
            name: term.item()
            for name, term in objective.terms(theta, collocation.draw()).items()
            if name.startswith("rms_")
        }
    then = {
        name: column[0] for name, column in record["history"].items() if name.startswith("rms_")
    }
    return now.keys() == then.keys() and all(
        then[name] is None or math.isclose(now[name], then[name], rel_tol=1e-3) for name in now
    )


def settings(record):
    """All settings of a run; a field that is younger than its record has its default."""
    return dataclasses.asdict(RunSpec()) | record["spec"]


def table(records):
    """One row per record: the settings, status, metrics, seconds and version of the numerics, in a fixed order."""
    rows = []
    for record in records.values():
        told = {
            name: str(value) if isinstance(value, (list, tuple)) else value
            for name, value in settings(record).items()
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
