"""Train what is missing, on as many cores or machines as there are, and keep every finished run."""

import contextlib
import multiprocessing
import os
import threading
from dataclasses import dataclass, field

from pinnlib.paths import RECORDS
from pinnlib.progress import message_stream, progress_bar
from pinnlib.registry import is_whole, validate
from pinnlib.runs.executors import GUARD, SweepError, cluster, here, on_cluster
from pinnlib.runs.provenance import NUMERICS
from pinnlib.runs.record import same_formulas
from pinnlib.runs.store import Store
from pinnlib.runs.timing import TimeEstimate, in_words
from pinnlib.spec import RunSpec
from pinnlib.training import batches

FORMULAS = ("model", "gate", "system", "hard_velocity")  # fields that stand for code
FIRST = 8  # runs in the first batch of a process: a quarter of a minute of spectral runs
TRUSTED = 300  # seconds (or a tenth of the whole): how long a sweep goes on before its own pace outweighs that of the records


@dataclass
class Report:
    """What a sweep did; `records` holds every requested run that is on record."""

    requested: int
    trained: int = 0
    records: dict = field(default_factory=dict)
    set_aside: str = ""

    def __str__(self):
        lines = [
            f"{len(self.records)} of {self.requested} runs on record, {self.trained} of them trained now"
        ]
        if self.set_aside:
            lines.append(f"damaged and set aside: {self.set_aside}")
        for status in ("diverged", "failed"):
            runs = [r for r in self.records.values() if r["status"] == status]
            again = " (the next sweep tries them again)" if status == "failed" else ""
            lines += [f"{status}: {len(runs)}{again}"] * bool(runs) + [
                f"  {r['key']}  {_told(r['spec'])}  {r.get('error', '')}" for r in runs
            ]
        return "\n".join(lines)


def _told(spec):
    return " ".join(
        f"{name}={spec[name]}" for name in ("model", "gate", "k", "lambda_ic", "loss", "seed")
    )


def missing(specs, records, older=False):
    """The specs without a record: never trained or failed; with `older`, also those made by older numerics."""
    on_record = {
        key
        for key, r in records.items()
        if r["status"] != "failed" and not (older and r["numerics"] < NUMERICS)
    }
    return [spec for spec in dict.fromkeys(specs) if spec.key not in on_record]


def sweep(specs, folder=RECORDS, workers=None, scheduler=None, older=False, progress=None):
    """Train the specs that have no record yet, or failed, and return a Report; finished batches are on disk at once, so it can be stopped at any time.

    `workers`: local processes (default: one per core; 1 trains in this process). `scheduler`: address of a running
    Dask scheduler to use instead (default: DASK_SCHEDULER_ADDRESS, if set). `older`: also retrain what older numerics made.
    `folder`: where the records are kept. `progress`: True or False; by default a bar, or a line a minute where nobody watches.
    A script that uses several workers calls it under `if __name__ == "__main__":`.
    """
    if getattr(
        multiprocessing.current_process(), "_inheriting", False
    ):  # a worker that is starting imports the script that started it
        raise SweepError(GUARD)
    specs, workers = (
        list(dict.fromkeys([specs] if isinstance(specs, RunSpec) else specs)),
        os.cpu_count() if workers is None else workers,
    )
    validate("workers", workers, is_whole(workers, 1), "a whole number >= 1")
    with Store(folder).writing() as journal:
        report = Report(len(specs), set_aside=journal.damaged)
        _check_formulas(specs, journal.records)
        todo = missing(specs, journal.records, older)
        scheduler = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
        with cluster(todo, int(workers), scheduler) as client:
            hands = len(client.scheduler_info(n_workers=-1)["workers"]) if client else 1
            pace = TimeEstimate(journal.records)
            parts = _in_order(batches(todo, max(hands, 1)), pace, max(hands, 1))
            with _bar(todo, pace, max(hands, 1), progress) as reached:
                finished = (
                    on_cluster(client, parts, reached, elsewhere=bool(scheduler))
                    if client
                    else here(parts, reached)
                )
                try:
                    for part, records in finished:
                        validate(
                            "records",
                            [r["key"] for r in records],
                            [r["key"] for r in records] == [s.key for s in part],
                            "those asked for",
                        )
                        journal.append(records)
                        report.trained += len(records)
                except KeyboardInterrupt:
                    kept, left = len(specs) - len(todo) + report.trained, len(todo) - report.trained
                    with message_stream() as file:
                        print(
                            f"\nstopped: {report.trained} runs trained now, {kept} on record, {left} left; the same command goes on from here",
                            file=file,
                        )
                    raise
        report.records = {
            spec.key: journal.records[spec.key] for spec in specs if spec.key in journal.records
        }
    return report


def _in_order(parts, pace, hands):
    """The shortest batches first, and the first of every process cut: a sweep that is soon stopped has kept something."""
    parts = sorted(parts, key=pace.seconds)
    begin, later = parts[:hands], parts[hands:]
    return (
        [part[:FIRST] for part in begin] + [part[FIRST:] for part in begin if part[FIRST:]] + later
    )


def _check_formulas(specs, records):
    """Refuse to go on where there are runs of a gate, trunk or system whose formula is another now."""
    asked, made = {tuple(getattr(spec, name) for name in FORMULAS) for spec in specs}, {}
    for record in records.values():
        if record["status"] != "failed" and record["numerics"] == NUMERICS:
            made.setdefault(
                tuple(record["spec"].get(name, getattr(RunSpec, name)) for name in FORMULAS), record
            )
    for names, record in made.items():
        if names in asked and not same_formulas(record):
            what = ", ".join(f"{field} {name}" for field, name in zip(FORMULAS, names[:3]))
            raise SweepError(
                f"the runs on record of {what} were made by another formula of one of these names; give the changed class a new name, or its runs another folder"
            )


@contextlib.contextmanager
def _bar(todo, pace, hands, progress):
    """One bar whose length is the work, not the number of runs. Yields reached(batch, share of its work)."""
    form = "{percentage:3.0f}% of the work |{bar}| {postfix[0]} of {postfix[1]} missing runs trained, {elapsed} so far, {postfix[2]} left"
    total, shares, lock = pace.seconds(todo), {}, threading.Lock()
    trusted = min(TRUSTED, total / hands / 10)
    state = [0, len(todo), in_words(total / hands)]  # whole runs, runs needed, time left
    with progress_bar(total, progress if todo else False, bar_format=form, postfix=state) as bar:

        def reached(part, share):
            with lock:  # workers report in another thread
                before, shares[part[0]] = shares.get(part[0], 0), share
                more = share - before
                state[0] += len(part) * (int(share) - int(before))
                done = (bar.n + pace.seconds(part) * more) / hands
                slower = (bar.format_dict["elapsed"] + trusted) / (
                    done + trusted
                )  # than the records, so far
                state[2] = (
                    in_words((total / hands - done) * slower) if state[0] < len(todo) else "nothing"
                )
                bar.update(pace.seconds(part) * more)

        yield reached
