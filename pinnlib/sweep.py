"""Train what is missing, on as many cores or machines as there are, and keep every finished run."""

import contextlib
import multiprocessing
import os
import sys
import uuid
from dataclasses import dataclass, field
from statistics import median

from .journal import Journal, failure_of, record_of, table
from .named import Told, check, is_whole
from .numerics import NUMERICS, origin
from .paths import RECORDS, RUNS_CSV
from .progress import progress_bar
from .spec import RunSpec
from .training import batches, train_batch


DASK = {
    "distributed.scheduler.worker-ttl": None,  # a pause of the whole sweep, such as a closed lid, is not the death of its workers; that is seen at once
    "distributed.worker.profile.enabled": False,  # this and the next two took a twentieth of the time, for monitoring
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}


class SweepError(Told):
    """The sweep cannot go on; what is finished is on record."""


@dataclass
class Report:
    """What a sweep did; `records` holds every requested run that is on record."""

    requested: int
    trained: int = 0
    records: dict = field(default_factory=dict)
    set_aside: str = ""

    def __str__(self):
        lines = [f"{len(self.records)} of {self.requested} runs on record, {self.trained} of them trained now"]
        if self.set_aside:
            lines.append(f"damaged and set aside: {self.set_aside}")
        for status in ("diverged", "failed"):
            runs = [r for r in self.records.values() if r["status"] == status]
            lines += [f"{status}: {len(runs)}"] * bool(runs) + [f"  {r['key']}  {_told(r['spec'])}  {r.get('error', '')}" for r in runs]
        return "\n".join(lines)


def _told(spec):
    return " ".join(f"{name}={spec[name]}" for name in ("model", "gate", "k", "lambda_ic", "loss", "seed"))


def train_records(specs, advance=lambda updates: None, made=None):
    """Records of a batch, wherever this runs (`made` says where, if the caller knows); a run that raises is recorded as failed, alone."""
    made = origin() if made is None else made
    try:
        return [record_of(result, made) for result in train_batch(specs, advance=advance)]
    except Exception as error:  # one run's failure must not lose its batch: each is tried alone and the failure recorded
        if len(specs) > 1:
            return [record for spec in specs for record in train_records([spec], made=made)]
        return [failure_of(specs[0], f"{type(error).__name__}: {error}", made)]


def missing(specs, records, older=False):
    """The specs without a record: never trained or failed; with `older`, also those made by older numerics."""
    on_record = {key for key, r in records.items() if r["status"] != "failed" and not (older and r["numerics"] < NUMERICS)}
    return [spec for spec in dict.fromkeys(specs) if spec.key not in on_record]


def sweep(specs, folder=RECORDS, workers=None, scheduler=None, older=False, progress=None):
    """Train the specs that have no record yet and return a Report; finished batches are on disk at once, so it can be stopped at any time.

    `workers`: local processes (default: one per core; 1 trains in this process). `scheduler`: address of a running
    Dask scheduler to use instead (default: DASK_SCHEDULER_ADDRESS, if set). `older`: also retrain what older numerics made.
    A script that uses several workers calls it under `if __name__ == "__main__":`.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker that is starting imports the script that started it
        raise SweepError("a script that sweeps with several workers is run by each of them too: put the call under `if __name__ == \"__main__\":`")
    specs, workers = list(dict.fromkeys([specs] if isinstance(specs, RunSpec) else specs)), os.cpu_count() if workers is None else workers
    check("workers", workers, is_whole(workers, 1), "a whole number >= 1")
    with Journal(folder).writing() as journal:
        report = Report(len(specs), set_aside=journal.damaged)
        todo = missing(specs, journal.records, older)
        scheduler = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
        with _cluster(todo, int(workers), scheduler) as client:
            hands = len(client.scheduler_info(n_workers=-1)["workers"]) if client else 1
            parts = sorted(batches(todo, max(hands, 1)), key=_cost)  # the cheapest first: a sweep that is soon stopped has kept something
            with _bar(todo, progress) as advance:
                finished = _on_cluster(client, parts, advance, elsewhere=bool(scheduler)) if client else _here(parts, advance)
                try:
                    for part, records in finished:
                        check("records", [r["key"] for r in records], [r["key"] for r in records] == [s.key for s in part], "those asked for")
                        journal.append(records)
                        report.trained += len(records)
                except KeyboardInterrupt:
                    left = len(todo) - report.trained
                    print(f"\nstopped: {report.trained} runs trained and kept, {left} left; the same command goes on from here", file=sys.stderr)
                    raise
        report.records = {spec.key: journal.records[spec.key] for spec in specs if spec.key in journal.records}
    return report


def _cost(specs):
    return sum(spec.steps * spec.points * spec.trunk.cost for spec in specs)


@contextlib.contextmanager
def _bar(todo, progress):
    """One bar whose length is the work, not the number of runs, so that the time left is honest. Yields advance(runs, share of their work)."""
    form = "{l_bar}{bar}| {postfix[0]:.0f}/{postfix[1]} missing runs [{elapsed}, {remaining} left]"
    count = [0, len(todo)]
    with progress_bar(_cost(todo), progress if todo else False, bar_format=form, postfix=count) as bar:

        def advance(part, share=1.0):
            count[0] += len(part) * share
            bar.update(_cost(part) * share)

        yield advance


def _here(parts, advance):
    """(batch, its records), one after the other, in this process."""
    for part in parts:
        yield part, train_records(part, lambda updates, part=part: advance(part, updates / part[0].steps))


@contextlib.contextmanager
def _cluster(todo, workers, scheduler):
    """A Dask client: of the scheduler, or of local processes on loopback; None where this process does the work itself."""
    if not todo or (workers == 1 and not scheduler):
        yield None
        return
    import dask
    from distributed import Client, LocalCluster  # a second of imports that nothing else needs

    local = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": "ERROR", "preload": "pinnlib.worker"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(DASK))
        try:
            client = Client(scheduler or stack.enter_context(LocalCluster(n_workers=min(workers, len(todo)), **local)))
        except OSError as error:
            raise SweepError(f"no Dask scheduler answers at {scheduler}: {error}") from None
        yield stack.enter_context(client)


def _on_cluster(client, parts, advance, elsewhere):
    """(batch, its records) as they are finished; a batch whose worker died again and again is tried run by run."""
    from distributed import as_completed

    def submit(part):
        future = client.submit(train_records, part, made=None if elsewhere else {}, key=f"train-{uuid.uuid4()}", retries=1)
        waiting[future] = part
        return future

    waiting = {}
    completed = as_completed([submit(part) for part in parts])
    made = {} if elsewhere else {"made": origin()}  # our own workers need not find out where they are; others do
    for future in completed:
        part = waiting.pop(future)
        if future.status == "finished":
            advance(part)
            yield part, [record | made for record in future.result()]
        elif future.status != "error":
            raise SweepError(f"the Dask scheduler was lost ({future.status}); the same command goes on from here")
        elif len(part) > 1:
            for spec in part:
                completed.add(submit([spec]))
        else:
            error = future.exception()
            advance(part)
            yield part, [failure_of(part[0], f"{type(error).__name__}: {error}", {"fingerprint": "unknown"})]


def estimate(todo, records, workers=None):
    """How long the runs would take, in words, at the pace of the records, or of those of the repository for a model that these lack."""
    paces = {}
    for record in (records if {spec.model for spec in todo} <= {r["spec"]["model"] for r in records.values()} else Journal().load()).values():
        if "seconds" in record:
            paces.setdefault(record["spec"]["model"], []).append(record["seconds"] / record["spec"]["steps"])
    unknown = sorted({spec.model for spec in todo} - set(paces))
    if not todo or unknown:
        return f"how long that takes is not known: no run of {', '.join(unknown)} is on record" if todo else "nothing to train"
    workers = workers or os.cpu_count()
    minutes = sum(median(paces[spec.model]) * spec.steps for spec in todo) / workers / 60
    told = "less than two minutes" if minutes < 2 else f"about {minutes:.0f} minutes" if minutes < 100 else f"about {minutes / 60:.1f} hours"
    return f"{told} with {workers} local processes, at the pace of the records"


def export(folder=RECORDS, path=RUNS_CSV):
    """Write the tidy table of all records; returns it."""
    frame = table(Journal(folder).load())
    frame.to_csv(path, index=False, lineterminator="\n")
    return frame
