"""Finished runs at hand: those on record, and those trained in this session, which are kept in memory only."""

import dataclasses

import pandas as pd

from pinnlib.paths import RECORDS
from pinnlib.runs.record import result_of, same_formulas
from pinnlib.runs.store import Store
from pinnlib.runs.timing import TimeEstimate
from pinnlib.spec import RunSpec
from pinnlib.style.figures import METRICS
from pinnlib.training import Result

VARIED = ("model", "gate", "k", "seed")  # what differs between the runs of one error-against-k view


class RunLibrary:
    """Runs by specification; `live` is where a session puts what it trains."""

    def __init__(self, folder=RECORDS):
        self.records, self.live = Store(folder).load(), {}
        self.pace = TimeEstimate(self.records)
        self._specs = {key: RunSpec(**record["spec"]) for key, record in self.records.items()}

    def find(self, spec):
        """The Result of a run, or None; a record that kept no parameters gives a Result whose parameters are None."""
        record = self.records.get(spec.key)
        if (
            spec in self.live
            or record is None
            or record["status"] == "failed"
            or not same_formulas(record)
        ):
            return self.live.get(spec)
        if record["parameters"] is not None:
            return result_of(record)
        return Result(
            spec,
            record["status"],
            record["metrics"],
            pd.DataFrame(record["history"]),
            None,
            record["seconds"],
        )

    def whole(self, spec):
        """True if a run is finished and its parameters are at hand."""
        run = self.find(spec)
        return run is not None and run.parameters is not None

    def told(self, spec):
        """One sentence: what is known of a run, and from where."""
        run = self.find(spec)
        if run is None:
            return f"Not on record{' with this formula' * (spec.key in self.records)}: Train takes {'minutes' if self.pace.seconds([spec]) > 60 else 'seconds'}."
        where = f"Trained here in {run.seconds:.1f} s" if spec in self.live else "On record"
        if run.status != "ok":
            return f"{where}: {run.status}."
        kept = (
            ""
            if run.parameters is not None
            else " Its parameters are not kept: Train (minutes) makes its motion again."
        )
        return f"{where}: relative L² error {run.metrics['rel_l2_u']:.4f}, maximum error {run.metrics['max_ae_u']:.4f}.{kept}"

    def like(self, spec, models, gates):
        """One row per finished run of these models and gates with the other settings of `spec`: what varies, key, spec, metrics."""
        rest = [f.name for f in dataclasses.fields(RunSpec) if f.name not in VARIED]
        found = {s: self.records[key].get("metrics", {}) for key, s in self._specs.items()}
        found |= {s: run.metrics for s, run in self.live.items()}
        rows = [
            {name: getattr(s, name) for name in VARIED} | {"key": s.key, "spec": s} | metrics
            for s, metrics in found.items()
            if s.model in models
            and s.gate in gates
            and all(getattr(s, name) == getattr(spec, name) for name in rest)
        ]
        return (
            pd.DataFrame(rows, columns=[*VARIED, "key", "spec", *METRICS])
            .dropna()
            .sort_values(list(VARIED), ignore_index=True)
        )
