"""What is stored of a finished run, and the Result that is made from it again."""

import dataclasses
import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch

from pinnlib.runs.provenance import NUMERICS
from pinnlib.spec import RunSpec
from pinnlib.training import Result, start

Record = dict[str, Any]  # one line of the store
Records = dict[str, Record]  # by key
DEFAULTS = dataclasses.asdict(RunSpec())
LARGEST_KEPT = 1000  # parameters: a spectral model's are kept, a network's only as a hash


def _hash(parameters: np.ndarray) -> str:
    return hashlib.sha256(parameters.tobytes()).hexdigest()[:16]


def _round(values: Iterable[float], digits: int) -> list[float | None]:
    """Round to significant digits; NaN and infinity, which JSON lacks, become None."""
    return [float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values]


def is_valid_record(record: Record) -> bool:
    """True if this version of the library knows the settings and the key belongs to them."""
    try:
        return RunSpec(**record["spec"]).key == record["key"]
    except (KeyError, TypeError, ValueError):
        return False


def record_of(result: Result, origin: dict[str, str]) -> Record:
    """The record of a finished run; the parameters of a network are left out."""
    metrics: dict[str, float | None] = {}
    for name, value in result.metrics.items():
        metrics[name] = value if math.isfinite(value) else None
    history: dict[str, list] = {}
    for name, column in result.history.items():
        history[name] = list(column) if name == "update" else _round(column, 5)
    frequencies = parameters = None
    if result.status == "ok":
        if result.frequencies is not None:
            frequencies = _round(result.frequencies, 7)
        if len(result.parameters) <= LARGEST_KEPT:
            parameters = [float(str(p)) for p in result.parameters]  # shortest exact decimals
    return {
        "key": result.spec.key,
        "numerics": NUMERICS,
        "status": result.status,
        "spec": dataclasses.asdict(result.spec),
        "metrics": metrics,
        "frequencies": frequencies,
        "history": history,
        "parameters": parameters,
        "parameters_sha256": _hash(result.parameters),
        "seconds": round(result.seconds, 3),
        "made": origin,
    }


def failure_of(spec: RunSpec, error: BaseException, origin: dict[str, str]) -> Record:
    """The record of a run that raised `error`."""
    return {
        "key": spec.key,
        "numerics": NUMERICS,
        "status": "failed",
        "spec": dataclasses.asdict(spec),
        "error": f"{type(error).__name__}: {error}",
        "made": origin,
    }


def result_of(record: Record) -> Result:
    """The Result of a record that kept its parameters, ready to predict."""
    if record.get("parameters") is None:
        raise ValueError(
            f"record {record['key']} ({record['status']}) holds no parameters; "
            f"train(RunSpec(**{record['spec']})) makes them again"
        )
    spec = RunSpec(**record["spec"])
    parameters = np.array(record["parameters"], dtype=spec.precision)
    if _hash(parameters) != record["parameters_sha256"]:
        raise ValueError(f"record {record['key']}: its parameters do not match their checksum")
    history = pd.DataFrame(record["history"])
    status, metrics, seconds = record["status"], record["metrics"], record["seconds"]
    return Result(spec, status, metrics, history, parameters, seconds)


def same_formulas(record: Record) -> bool:
    """True if the residuals of the untrained run are those that its record begins with.

    If not, its gate, trunk or system has another formula now, under the same name.
    """
    theta, collocation, objective = start([RunSpec(**record["spec"])])
    with torch.no_grad():
        terms = objective.terms(theta, collocation.draw())
    now = {name: term.item() for name, term in terms.items() if name.startswith("rms_")}
    history = record["history"]
    then = {name: column[0] for name, column in history.items() if name.startswith("rms_")}
    if now.keys() != then.keys():
        return False
    comparable = [name for name in now if then[name] is not None]
    return all(math.isclose(now[name], then[name], rel_tol=1e-3) for name in comparable)


def full_settings(record: Record) -> dict[str, Any]:
    """All settings of a run; a field that is newer than the record has its default."""
    return DEFAULTS | record["spec"]
