"""The finished runs that the explorer shows: those on record and those trained in this session."""

import dataclasses
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from pinnlib.paths import RECORDS
from pinnlib.runs.progress import TimeEstimate
from pinnlib.runs.record import history_of, metrics_of, result_of, same_formulas
from pinnlib.runs.store import Store
from pinnlib.spec import RunSpec
from pinnlib.style.labels import METRIC_LABELS
from pinnlib.training import Result

VARIED = ("model", "gate", "k", "seed")  # what differs between the runs of one view against k
SHARED = tuple(f.name for f in dataclasses.fields(RunSpec) if f.name not in VARIED)


class RunLibrary:
    """Finished runs by specification. `live` holds the runs of this session, in memory only."""

    def __init__(self, folder: str | Path = RECORDS):
        self.records = Store(folder).load()
        self.live: dict[RunSpec, Result] = {}
        self._timing = TimeEstimate(self.records)
        self._metrics = {
            RunSpec(**record["spec"]): record.get("metrics", {}) for record in self.records.values()
        }

    def find(self, spec: RunSpec) -> Result | None:
        """The Result of a run; its `parameters` are None if the record does not store them."""
        if spec in self.live:
            return self.live[spec]
        record = self.records.get(spec.key)
        if record is None or record["status"] == "failed" or not same_formulas(record):
            return None
        if record["parameters"] is not None:
            return result_of(record)
        return _result_without_parameters(spec, record)

    def has_parameters(self, spec: RunSpec) -> bool:
        """True if a run is finished and its parameters are available."""
        run = self.find(spec)
        return run is not None and run.parameters is not None

    def describe(self, spec: RunSpec) -> str:
        """One sentence: where a run comes from and its errors, or that it has to be trained."""
        run = self.find(spec)
        if run is None:
            duration = "minutes" if self._timing.seconds([spec]) > 60 else "seconds"
            formula = " with this formula" if spec.key in self.records else ""
            return f"Not on record{formula}: Train takes {duration}."
        origin = f"Trained here in {run.seconds:.1f} s" if spec in self.live else "On record"
        if run.status != "ok":
            return f"{origin}: {run.status}."
        l2, largest = run.metrics["rel_l2_u"], run.metrics["max_ae_u"]
        text = f"{origin}: relative L² error {l2:.4f}, maximum error {largest:.4f}."
        if run.parameters is None:
            text += " Its parameters are not stored: Train (minutes) computes its motion again."
        return text

    def values(self, name: str, **same: Any) -> list[Any]:
        """The distinct values of a setting on record, in runs whose other settings are `same`."""
        found = {}
        for spec in self._metrics:
            if spec.select(*same) == same:
                found[getattr(spec, name)] = None
        return list(found)

    def similar(
        self, spec: RunSpec, models: Collection[str], gates: Collection[str]
    ) -> pd.DataFrame:
        """Finished runs of these models and gates that share all other settings with `spec`.

        One row per run: the columns of VARIED, key, spec, and the metrics.
        """
        found = self._metrics | {s: run.metrics for s, run in self.live.items()}
        setting = spec.select(*SHARED)
        rows = []
        for run, metrics in found.items():
            if run.model in models and run.gate in gates and run.select(*SHARED) == setting:
                rows.append(run.select(*VARIED) | {"key": run.key, "spec": run} | metrics)
        table = pd.DataFrame(rows, columns=[*VARIED, "key", "spec", *METRIC_LABELS]).dropna()
        return table.sort_values(list(VARIED), ignore_index=True)


def _result_without_parameters(spec, record):
    history = history_of(record)
    status, metrics, seconds = record["status"], metrics_of(record), record["seconds"]
    return Result(spec, status, metrics, history, None, seconds, nodes=record["nodes"])
