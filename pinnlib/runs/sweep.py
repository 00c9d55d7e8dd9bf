"""Train the runs that have no record yet, and store every finished run at once."""

import contextlib
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pinnlib.paths import RECORDS
from pinnlib.registry import is_whole, validate
from pinnlib.runs.cluster import Scheduler, open_cluster
from pinnlib.runs.executors import (
    GUARD,
    Batch,
    Executor,
    InProcessExecutor,
    ProcessExecutor,
    SweepError,
)
from pinnlib.runs.progress import TimeEstimate, WorkBar, message_stream
from pinnlib.runs.provenance import NUMERICS
from pinnlib.runs.record import Record, Records, full_settings, same_formulas
from pinnlib.runs.store import Store, encode
from pinnlib.runs.table import missing
from pinnlib.spec import RunSpec
from pinnlib.training import batches

FORMULAS = ("model", "gate", "system", "hard_velocity", "form")  # fields that stand for code
FIRST = 8  # runs in the first batch of a process: a quarter of a minute of spectral runs


@dataclass
class Report:
    """What a sweep did; `records` holds every requested run that is on record."""

    requested: int
    trained: int = 0
    records: Records = field(default_factory=dict)
    set_aside: str = ""
    lost: list[str] = field(default_factory=list)  # keys of records deleted or replaced meanwhile

    def __str__(self) -> str:
        lines = [
            f"{len(self.records)} of {self.requested} runs on record, "
            f"{self.trained} of them trained now"
        ]
        if self.set_aside:
            lines.append(f"damaged and set aside: {self.set_aside}")
        if self.lost:
            gone = f"deleted or replaced by somebody else while the sweep ran: {len(self.lost)}"
            lines += [gone, *(f"  {key}" for key in self.lost)]
        lines += self._list_runs("diverged", "")
        lines += self._list_runs("failed", " (the next sweep tries them again)")
        return "\n".join(lines)

    def _list_runs(self, status: str, note: str) -> list[str]:
        lines = []
        for record in self.records.values():
            if record["status"] == status:
                names = ("model", "gate", "k", "lambda_ic", "loss", "seed")
                settings = full_settings(record)
                identity = " ".join(f"{name}={settings[name]}" for name in names)
                lines.append(f"  {record['key']}  {identity}  {record.get('error', '')}")
        if lines:
            lines.insert(0, f"{status}: {len(lines)}{note}")
        return lines


def sweep(
    specs: RunSpec | Iterable[RunSpec],
    folder: Path | str = RECORDS,
    workers: int | None = None,
    scheduler: str | Scheduler | None = None,
    older: bool = False,
    progress: bool | None = None,
) -> Report:
    """Train the specs that have no record yet, or failed.

    Finished batches are on disk at once: a sweep can be stopped at any time and started again.
    A script that uses several workers calls it under `if __name__ == "__main__":`.

    folder     where the records are kept
    workers    local processes (default: one per core; 1 trains in this process)
    scheduler  a running Dask scheduler to use instead: its address, or a Scheduler with options
               (default: DASK_SCHEDULER_ADDRESS, if set)
    older      also retrain runs made by older numerics
    progress   True or False; by default a bar, or a line a minute if stderr is no terminal
    """
    # A worker that starts imports the script that started it.
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SweepError(GUARD)
    if isinstance(specs, RunSpec):
        specs = [specs]
    specs = list(dict.fromkeys(specs))
    if workers is None:
        workers = os.cpu_count() or 1
    validate("workers", workers, is_whole(workers, 1), "a whole number >= 1")
    scheduler = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS") or None
    if isinstance(scheduler, str):
        scheduler = Scheduler(scheduler)
    with Store(folder).writing() as writer:
        _check_formulas(specs, writer.records)
        todo = missing(specs, writer.records, older)
        report = Report(len(specs), set_aside=writer.damaged)
        with open_executor(len(todo), int(workers), scheduler) as executor:
            estimate = TimeEstimate(writer.records)
            parts = order_batches(batches(todo, executor.processes), estimate, executor.processes)
            bar = WorkBar(todo, estimate, executor.processes)
            try:
                with bar.show(progress if todo else False):
                    for part, records in executor.run(parts, bar.reach):
                        keys = [record["key"] for record in records]
                        asked = [spec.key for spec in part]
                        validate("records", keys, keys == asked, f"those of the batch, {asked}")
                        writer.append(records)
                        report.trained += len(records)
            except (KeyboardInterrupt, SweepError):
                _print_stopped(report, len(todo))
                raise
        on_disk = Store(folder).scan()[0] if report.trained else writer.records
        for spec in specs:
            written, found = writer.records.get(spec.key), on_disk.get(spec.key)
            if found:
                report.records[spec.key] = found
            if written and not (found and encode(found) == encode(written)):
                report.lost.append(spec.key)
    return report


@contextlib.contextmanager
def open_executor(runs: int, workers: int, scheduler: Scheduler | None) -> Iterator[Executor]:
    """The executor of a number of runs: on the scheduler, local processes, or this process."""
    if runs == 0 or (workers == 1 and not scheduler):
        yield InProcessExecutor()
    elif scheduler:
        with open_cluster(scheduler) as executor:
            yield executor
    else:
        with contextlib.closing(ProcessExecutor(min(workers, runs))) as executor:
            yield executor


def _print_stopped(report: Report, missing_before: int) -> None:
    kept = report.requested - missing_before + report.trained
    left = missing_before - report.trained
    counts = f"{report.trained} runs trained now, {kept} on record, {left} left"
    with message_stream() as file:
        print(f"\nstopped: {counts}; the same command goes on from here", file=file)


def order_batches(parts: Iterable[Batch], estimate: TimeEstimate, processes: int) -> list[Batch]:
    """The batches, shortest first; the first of every process is cut, to be on disk soon."""
    parts = sorted(parts, key=estimate.seconds)
    first, later = parts[:processes], parts[processes:]
    heads = [part[:FIRST] for part in first]
    tails = [part[FIRST:] for part in first if len(part) > FIRST]
    return heads + tails + later


def _check_formulas(specs: Iterable[RunSpec], records: Records) -> None:
    """Raise if a requested gate, trunk or system has another formula than in its records."""
    requested = {tuple(spec.select(*FORMULAS).values()) for spec in specs}
    examples: dict[tuple, Record] = {}
    for record in records.values():
        if record["status"] != "failed" and record["numerics"] == NUMERICS:
            settings = full_settings(record)
            examples.setdefault(tuple(settings[name] for name in FORMULAS), record)
    for formulas in requested & examples.keys():
        if not same_formulas(examples[formulas]):
            model, gate, system, *_ = formulas
            raise SweepError(
                f"the runs on record of model {model}, gate {gate}, system {system} were made by "
                "another formula of one of these names; give the changed class a new name, "
                "or its runs another folder"
            )
