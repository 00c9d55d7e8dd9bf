"""What is stored of a finished run, and the Result that is made from it again."""

import base64
import dataclasses
import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import torch

from pinnlib.metrics import Metrics
from pinnlib.registry import lookup
from pinnlib.runs.provenance import NUMERICS
from pinnlib.spec import RANGES, START, WHOLE, RunSpec, key_of
from pinnlib.systems import SYSTEMS
from pinnlib.training import Result, begin_training

Record = dict[str, Any]  # one line of the store
Records = dict[str, Record]  # by key
DEFAULTS = dataclasses.asdict(RunSpec())
NUMBERS = RANGES | WHOLE  # name → smallest, largest
NAMES = tuple(name for name, value in DEFAULTS.items() if isinstance(value, str))
FAILURE_FIELDS = {"key": str, "numerics": int, "spec": dict, "error": str, "made": dict}
FIELDS = {
    "key": str,
    "numerics": int,
    "spec": dict,
    "metrics": dict,
    "nodes": int | None,
    "history": dict,
    "parameters": str | None,
    "parameters_sha256": str,
    "seconds": int | float,
    "made": dict,
}
METRICS = {"rel_l2_u", "max_ae_u", "residual_mean", "residual_p95", "residual_max"}  # and others
HISTORY = {"update", "physics", "velocity"}
LARGEST_KEPT = 1000  # parameters: a spectral model's are kept, a network's only as a hash
HISTORY_ROWS = 11  # the first update, then one row per tenth of the run


def _little_endian(precision: str) -> np.dtype:
    return np.dtype(precision).newbyteorder("<")


def _bytes_of(parameters: np.ndarray, precision: str) -> bytes:
    """Little-endian bytes, with one NaN: processors differ in the bits of theirs."""
    parameters = np.where(np.isnan(parameters), np.nan, parameters)
    return parameters.astype(_little_endian(precision)).tobytes()


def _hash(parameters: bytes) -> str:
    return hashlib.sha256(parameters).hexdigest()[:16]


def _round(values: Iterable[float]) -> list[float | None]:
    """Round to four significant digits; NaN and infinity, which JSON lacks, become None."""
    return [float(f"{v:.4g}") if math.isfinite(v) else None for v in values]


def _thin(history: pd.DataFrame) -> dict[str, list]:
    """The first row and those at, or next after, each tenth of a run; without the total loss."""
    updates = history["update"].to_numpy()
    tenths = np.linspace(0, updates[-1], HISTORY_ROWS)
    rows = history.iloc[np.unique(np.searchsorted(updates, tenths))]
    terms = rows.drop(columns=["update", "total"])
    return {"update": rows["update"].tolist()} | {n: _round(terms[n]) for n in terms}


def has_all_fields(record: Any) -> bool:
    """True if a record has the fields of its status, each of the right type."""
    try:
        status = record["status"]
        kinds = FAILURE_FIELDS if status == "failed" else FIELDS
        typed = all(isinstance(record[name], kind) for name, kind in kinds.items())
        if not typed or status not in ("ok", "diverged", "failed"):
            return False
        return status == "failed" or _has_numbers(record)
    except (AttributeError, KeyError, TypeError):
        return False


def _has_numbers(record: Record) -> bool:
    """True if metrics and history have their names, numbers or nulls, and columns of one length."""
    metrics, history = record["metrics"], record["history"]
    if not (metrics.keys() >= METRICS and history.keys() >= HISTORY):
        return False
    columns = [metrics.values(), *history.values()]
    lengths = {len(column) for column in history.values()}
    kinds = {type(value) for column in columns for value in column}
    return kinds <= {int, float, type(None)} and len(lengths) == 1 and 0 not in lengths


def expected_metrics(spec: RunSpec) -> set[str]:
    """The names of all metrics of a run."""
    parts = ("rel_l2", "max_ae", "velocity0")
    names = {f"{part}_{name}" for part in parts for name in spec.system_object.components}
    return METRICS | names


class SettingsCheck:
    """Tells whether this version of the library knows a record's settings and they give its key.

    Every combination of NAMES is tried once with RunSpec; the numbers of every record must be in
    their ranges, and no setting may repeat its default.
    """

    def __init__(self) -> None:
        self.known: set[tuple] = set()

    def __call__(self, record: Record) -> bool:
        try:
            settings = record["spec"]
            names = tuple(settings.get(name) for name in NAMES)
            if names not in self.known:
                RunSpec(**settings)
                self.known.add(names)
            for name, (low, high) in NUMBERS.items():
                if not low <= settings.get(name, low) <= high:
                    return False
            repeated = any(DEFAULTS[name] == value for name, value in settings.items())
            return not repeated and key_of(settings) == record["key"]
        except (AttributeError, KeyError, TypeError, ValueError):
            return False


def record_of(result: Result, origin: dict[str, str]) -> Record:
    """The record of a finished run; of a diverged or a large one only a hash of the parameters."""
    metrics: dict[str, float | None] = {}
    for name, value in result.metrics.items():
        metrics[name] = value if math.isfinite(value) else None
    raw = _bytes_of(result.parameters, result.spec.precision)
    kept = result.status == "ok" and len(result.parameters) <= LARGEST_KEPT
    return {
        "key": result.spec.key,
        "numerics": NUMERICS,
        "status": result.status,
        "spec": result.spec.overrides,
        "metrics": metrics,
        "nodes": result.nodes,
        "history": _thin(result.history),
        "parameters": base64.b64encode(raw).decode() if kept else None,
        "parameters_sha256": _hash(raw),
        "seconds": round(result.seconds, 3),
        "made": origin,
    }


def failure_of(spec: RunSpec, error: BaseException, origin: dict[str, str]) -> Record:
    """The record of a run that raised `error`."""
    return {
        "key": spec.key,
        "numerics": NUMERICS,
        "status": "failed",
        "spec": spec.overrides,
        "error": f"{type(error).__name__}: {error}",
        "made": origin,
    }


def parameters_of(record: Record) -> np.ndarray:
    """The parameters of a record; a ValueError if it did not keep them, or they are altered."""
    if record.get("parameters") is None:
        raise ValueError(
            f"record {record['key']} ({record['status']}) holds no parameters; "
            f"train(RunSpec(**{record['spec']})) makes them again"
        )
    raw = base64.b64decode(record["parameters"])
    if _hash(raw) != record["parameters_sha256"]:
        raise ValueError(f"record {record['key']}: its parameters do not match their checksum")
    precision = record["spec"].get("precision", RunSpec.precision)
    return np.frombuffer(raw, _little_endian(precision)).astype(precision)


def result_of(record: Record) -> Result:
    """The Result of a record that kept its parameters, ready to predict."""
    parameters, spec = parameters_of(record), RunSpec(**record["spec"])
    status, metrics, history = record["status"], metrics_of(record), history_of(record)
    seconds, nodes = record["seconds"], record["nodes"]
    return Result(spec, status, metrics, history, parameters, seconds, nodes=nodes)


def metrics_of(record: Record) -> Metrics:
    """The metrics of a record; JSON has null where they are NaN."""
    metrics = record["metrics"]
    return {name: math.nan if value is None else value for name, value in metrics.items()}


def history_of(record: Record) -> pd.DataFrame:
    """The history of a record, with the total loss."""
    settings = full_settings(record)
    history = pd.DataFrame(record["history"], dtype=float).astype({"update": int})
    physics = settings["lambda_phys"] * history["physics"]
    start = history["velocity"] + history.get("position", 0)
    history.insert(1, "total", physics + settings["lambda_ic"] * start)
    return history


def same_formulas(record: Record) -> bool:
    """True if the residuals of the untrained run are those that its record begins with.

    If not, its gate, trunk or system has another formula now, under the same name.
    """
    theta, collocation, objective = begin_training([RunSpec(**record["spec"])])
    objective.resolve(theta)  # as before the first update of a training
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
    """All settings of a run; those that its record does not name have their defaults."""
    given = record["spec"]
    system = lookup("system", SYSTEMS, given.get("system", RunSpec.system))
    start = {field: getattr(system, field) for field in START}
    return DEFAULTS | start | given
