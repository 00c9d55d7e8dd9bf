"""Train what is missing, on as many cores or machines as there are, and keep every finished run."""

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass, field

from .journal import Journal, failure_of, record_of, table
from .named import check, is_number
from .numerics import NUMERICS, origin
from .paths import RECORDS, ROOT, RUNS_CSV
from .progress import progress_bar
from .training import batches, train_batch


@dataclass
class Report:
    """What a sweep did; `records` holds every requested run that is on record."""

    requested: int
    trained: int = 0
    records: dict = field(default_factory=dict)
    set_aside: list = field(default_factory=list)

    def __str__(self):
        lines = [f"{len(self.records)} of {self.requested} runs on record, {self.trained} of them trained now"]
        if self.set_aside:
            lines.append(f"damaged and set aside: {', '.join(self.set_aside)}")
        for status in ("diverged", "failed"):
            runs = [r for r in self.records.values() if r["status"] == status]
            lines += [f"{status}: {len(runs)}"] * bool(runs) + [f"  {r['key']}  {_told(r['spec'])}  {r.get('error', '')}" for r in runs]
        return "\n".join(lines)


def _told(spec):
    return " ".join(f"{name}={spec[name]}" for name in ("model", "gate", "k", "lambda_ic", "loss", "seed"))


def train_records(specs):
    """Records of a batch, wherever this runs; a run that raises is recorded as failed and takes nobody with it."""
    made = origin()
    try:
        return [record_of(result, made) for result in train_batch(specs)]
    except Exception as error:  # one run's failure must not lose its batch: each is tried alone and the failure recorded
        if len(specs) > 1:
            return [record for spec in specs for record in train_records([spec])]
        return [failure_of(specs[0], f"{type(error).__name__}: {error}", made)]


def commit():
    """The last commit that touched the library or the records, with a + where the library differs from it, or 'unknown'."""
    git = ["git", "-C", ROOT]
    try:
        head = subprocess.run([*git, "log", "-1", "--format=%h", "--abbrev=12", "--", "pinnlib", "data/records"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain", "--", "pinnlib"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + "+" * bool(changed)


def missing(specs, records, older=False):
    """The specs without a record: never trained or failed; with `older`, also those made by older numerics."""
    on_record = {key for key, r in records.items() if r["status"] != "failed" and not (older and r["numerics"] != NUMERICS)}
    return [spec for spec in dict.fromkeys(specs) if spec.key not in on_record]


def sweep(specs, folder=RECORDS, workers=None, scheduler=None, older=False, progress=None):
    """Train the specs that have no record yet and return a Report; finished batches are on disk at once, so it can be stopped at any time.

    `workers`: local processes (default: one per core; 1 trains in this process). `scheduler`: address of a running
    Dask scheduler to use instead (default: DASK_SCHEDULER_ADDRESS, if set). `older`: also retrain what older numerics made.
    """
    specs, workers = list(dict.fromkeys(specs)), workers or os.cpu_count()
    check("workers", workers, is_number(workers) and workers == int(workers) and workers >= 1, "a whole number >= 1")
    scheduler = scheduler or os.environ.get("DASK_SCHEDULER_ADDRESS")
    with Journal(folder).writing() as journal:
        report = Report(len(specs), set_aside=journal.damaged)
        todo = missing(specs, journal.records, older)
        parts = sorted(batches(todo, workers), key=_cost, reverse=True)
        with _bar(parts, len(specs) - len(todo), len(specs), progress if parts else False) as done, _trainer(parts, workers, scheduler) as finished:
            made_at = commit()
            try:
                for part, records in finished:
                    for record in records:
                        record["made"]["commit"] = made_at
                    journal.append(records)
                    report.trained += len(records)
                    done(part)
            except KeyboardInterrupt:
                left = len(todo) - report.trained
                print(f"\nstopped: {report.trained} runs trained and kept, {left} left; the same command goes on from here", file=sys.stderr)
                raise
        report.records = {spec.key: journal.records[spec.key] for spec in specs if spec.key in journal.records}
    return report


def _cost(batch):
    return sum(spec.steps * spec.points * spec.trunk.cost for spec in batch)


@contextlib.contextmanager
def _bar(parts, present, total, progress):
    """One bar whose length is the work, not the number of runs, so that the time left is honest."""
    form = "{l_bar}{bar}| {postfix} runs [{elapsed}, {remaining} left]"
    runs = present
    with progress_bar(sum(map(_cost, parts)), progress, bar_format=form) as bar:
        bar.set_postfix_str(f"{runs}/{total}")

        def done(part):
            nonlocal runs
            runs += len(part)
            bar.set_postfix_str(f"{runs}/{total}", refresh=False)
            bar.update(_cost(part))

        yield done


@contextlib.contextmanager
def _trainer(parts, workers, scheduler):
    """Yields an iterator over (batch, its records) as they are finished: in this process, in local ones, or on a scheduler."""
    if not parts or (workers == 1 and not scheduler):
        yield ((part, train_records(part)) for part in parts)
        return
    from distributed import Client, LocalCluster, as_completed  # a second of imports that nothing else needs

    with contextlib.ExitStack() as stack:
        if not scheduler:
            workers = min(workers, len(parts))
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs="ERROR", preload="pinnlib.worker")
            stack.enter_context(cluster)
        client = stack.enter_context(Client(scheduler or cluster))
        futures = {client.submit(train_records, part, key=f"train-{part[0].key}-{len(part)}", retries=1, pure=False): part for part in parts}

        def finished():
            for future in as_completed(futures):
                part = futures.pop(future)
                if future.status == "error":  # the worker died under it, again and again
                    error, made = future.exception(), {"fingerprint": "unknown"}
                    yield part, [failure_of(spec, f"{type(error).__name__}: {error}", made) for spec in part]
                else:
                    yield part, future.result()
                future.release()

        yield finished()


def export(folder=RECORDS, path=RUNS_CSV):
    """Write the tidy table of all records; returns it."""
    frame = table(Journal(folder).load())
    frame.to_csv(path, index=False, lineterminator="\n")
    return frame
