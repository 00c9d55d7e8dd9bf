"""Train what is missing, on as many cores or machines as there are, and keep every finished run."""

import contextlib
import multiprocessing
import os
import signal
import threading
import uuid
from dataclasses import dataclass, field
from multiprocessing import resource_tracker

from .journal import Journal
from .named import Told, check, is_whole
from .numerics import NUMERICS, origin
from .pace import Pace, in_words
from .paths import RECORDS, RUNS_CSV
from .progress import progress_bar, told
from .record import failure_of, record_of, same_formulas, table
from .spec import RunSpec
from .training import batches, train_batch

DASK = {
    "distributed.scheduler.worker-ttl": None,  # a pause of the whole sweep, such as a closed lid, is not the death of its workers; that is seen at once
    "distributed.worker.profile.enabled": False,  # this and the next two took a twentieth of the time, for monitoring
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}


FORMULAS = ("model", "gate", "system", "hard_velocity")  # fields that stand for code
PROGRESS = "pinnlib-progress"  # the topic under which workers tell how far they are
GUARD = 'a script that sweeps with several workers is run by each of them too: put the call under `if __name__ == "__main__":`'
FIRST = 8  # runs in the first batch of a process: a quarter of a minute of spectral runs
TRUSTED = 300  # seconds (or a tenth of the whole): how long a sweep goes on before its own pace outweighs that of the records


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
    `folder`: where the records are kept. `progress`: True or False; by default a bar, or a line a minute where nobody watches.
    A script that uses several workers calls it under `if __name__ == "__main__":`.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # a worker that is starting imports the script that started it
        raise SweepError(GUARD)
    specs, workers = list(dict.fromkeys([specs] if isinstance(specs, RunSpec) else specs)), os.cpu_count() if workers is None else workers
    check("workers", workers, is_whole(workers, 1), "a whole number >= 1")
    with Journal(folder).writing() as journal:
        report = Report(len(specs), set_aside=journal.damaged)
        _check_formulas(specs, journal.records)
        todo = missing(specs, journal.records, older)
        scheduler = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
        with _cluster(todo, int(workers), scheduler) as client:
            hands = len(client.scheduler_info(n_workers=-1)["workers"]) if client else 1
            pace = Pace(journal.records)
            parts = _in_order(batches(todo, max(hands, 1)), pace, max(hands, 1))
            with _bar(todo, pace, max(hands, 1), progress) as reached:
                finished = _on_cluster(client, parts, reached, elsewhere=bool(scheduler)) if client else _here(parts, reached)
                try:
                    for part, records in finished:
                        check("records", [r["key"] for r in records], [r["key"] for r in records] == [s.key for s in part], "those asked for")
                        journal.append(records)
                        report.trained += len(records)
                except KeyboardInterrupt:
                    kept, left = len(specs) - len(todo) + report.trained, len(todo) - report.trained
                    with told() as file:
                        print(f"\nstopped: {report.trained} runs trained now, {kept} on record, {left} left; the same command goes on from here", file=file)
                    raise
        report.records = {spec.key: journal.records[spec.key] for spec in specs if spec.key in journal.records}
    return report


def _in_order(parts, pace, hands):
    """The shortest batches first, and the first of every process cut: a sweep that is soon stopped has kept something."""
    parts = sorted(parts, key=pace.seconds)
    begin, later = parts[:hands], parts[hands:]
    return [part[:FIRST] for part in begin] + [part[FIRST:] for part in begin if part[FIRST:]] + later


def _check_formulas(specs, records):
    """Refuse to go on where there are runs of a gate, trunk or system whose formula is another now."""
    asked, made = {tuple(getattr(spec, name) for name in FORMULAS) for spec in specs}, {}
    for record in records.values():
        if record["status"] != "failed" and record["numerics"] == NUMERICS:
            made.setdefault(tuple(record["spec"].get(name, getattr(RunSpec, name)) for name in FORMULAS), record)
    for names, record in made.items():
        if names in asked and not same_formulas(record):
            what = ", ".join(f"{field} {name}" for field, name in zip(FORMULAS, names[:3]))
            raise SweepError(f"the runs on record of {what} were made by another formula of one of these names; give the changed class a new name, or its runs another folder")


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
                slower = (bar.format_dict["elapsed"] + trusted) / (done + trusted)  # than the records, so far
                state[2] = in_words((total / hands - done) * slower) if state[0] < len(todo) else "nothing"
                bar.update(pace.seconds(part) * more)

        yield reached


def _here(parts, reached):
    """(batch, its records), one after the other, in this process."""
    for part in parts:
        records = train_records(part, _telling(part, lambda share, part=part: reached(part, share)))
        reached(part, 1)
        yield part, records


def _there(part, made):
    """The records of a batch, by a worker, who tells on its way how far it is."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.get_current_task()
    return train_records(part, _telling(part, lambda share: worker.log_event(PROGRESS, [task, share])), made)


def _telling(part, tell):
    """What `train_batch` advances, as shares of its work."""
    done = 0

    def advance(updates):
        nonlocal done
        done += updates
        tell(done / part[0].steps)

    return advance


@contextlib.contextmanager
def _cluster(todo, workers, scheduler):
    """A Dask client: of the scheduler, or of local processes on loopback; None where this process does the work itself."""
    if not todo or (workers == 1 and not scheduler):
        yield None
        return
    import dask
    from distributed import Client  # a second of imports that nothing else needs

    with dask.config.set(DASK), contextlib.nullcontext(scheduler) if scheduler else _local(min(workers, len(todo))) as home:
        try:
            client = Client(home)
        except OSError as error:
            raise SweepError(f"no Dask scheduler answers at {home}: {error}") from None
        with client:
            yield client


@contextlib.contextmanager
def _local(workers):
    """A cluster of processes on loopback."""
    from distributed import LocalCluster

    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": "CRITICAL"}
    with contextlib.ExitStack() as stack:
        try:
            with _undisturbed():
                cluster = stack.enter_context(LocalCluster(n_workers=workers, **options))
        except RuntimeError as error:
            raise SweepError(f"no worker could be started ({error}); {GUARD}") from None
        yield cluster


@contextlib.contextmanager
def _undisturbed():
    """A Ctrl-C waits until what is started in here is up, and never reaches it: whoever started it shuts it down."""
    late, before = [], {}
    if threading.current_thread() is threading.main_thread():  # who alone may say what a signal does
        before = {name: signal.signal(name, lambda number, _: late.append(number)) for name in (signal.SIGINT, signal.SIGTERM)}
    resource_tracker.ensure_running()  # started later, it would lift what is blocked here
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # threads and processes inherit that
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, handler in before.items():
            signal.signal(name, handler)
        for number in late[:1]:
            signal.raise_signal(number)


def _on_cluster(client, parts, reached, elsewhere):
    """(batch, its records) as they are finished; a batch whose worker died again and again is tried run by run."""
    from distributed import as_completed

    def submit(part):
        future = client.submit(_there, part, None if elsewhere else {}, key=f"train-{uuid.uuid4()}", retries=1)
        waiting[future.key] = part
        return future

    def heard(event):
        task, share = event[1]
        if task in waiting:  # another sweep may use the same scheduler
            reached(waiting[task], share)

    waiting = {}
    client.subscribe_topic(PROGRESS, heard)
    completed = as_completed([submit(part) for part in parts])
    made = {} if elsewhere else {"made": origin()}  # our own workers need not find out where they are; others do
    for future in completed:
        part = waiting.pop(future.key)
        if future.status == "finished":
            reached(part, 1)
            yield part, [record | made for record in future.result()]
        elif future.status != "error":
            raise SweepError(f"the Dask scheduler was lost ({future.status}); the same command goes on from here")
        elif len(part) > 1:
            reached(part, 0)
            for spec in part:
                completed.add(submit([spec]))
        else:
            error = future.exception()
            reached(part, 1)
            yield part, [failure_of(part[0], f"{type(error).__name__}: {error}", {"fingerprint": "unknown"})]


def export(folder=RECORDS, path=RUNS_CSV):
    """Write the tidy table of all records; returns it."""
    frame = table(Journal(folder).load())
    frame.to_csv(f"{path}.new", index=False, lineterminator="\n")
    os.replace(f"{path}.new", path)
    return frame
