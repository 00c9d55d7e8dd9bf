"""What is kept of a finished run, and what is made of it again: a result, or a row of a table."""

import dataclasses
import hashlib
import math
from typing import Any

import numpy as np
import pandas as pd
import torch

from pinnlib.runs.provenance import NUMERICS
from pinnlib.spec import RunSpec
from pinnlib.training import Result, start

Record = dict[str, Any]  # one line of the store
Records = dict[str, Record]  # by key
LARGEST_KEPT = 1000  # parameters: a spectral model's are kept, a network's only as a hash


def _hash(parameters):
    return hashlib.sha256(parameters.tobytes()).hexdigest()[:16]


def is_valid_record(record):
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


def full_settings(record):
    """All settings of a run; a field that is younger than its record has its default."""
    return dataclasses.asdict(RunSpec()) | record["spec"]
