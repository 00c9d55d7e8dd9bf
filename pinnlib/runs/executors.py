"""Where batches of runs are trained: in this process, or by the workers of a Dask cluster.

An executor has `processes`, the number of batches that it trains at once, and
`run(parts, reach)`, which yields (batch, its records) as batches finish and calls
reach(batch, share) when a share of a batch's work is done.
"""

import contextlib
import signal
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing import resource_tracker

import dask
from distributed import Client, Future, LocalCluster, as_completed, get_worker

from pinnlib.registry import UserError
from pinnlib.runs.provenance import origin
from pinnlib.runs.record import Record, failure_of, record_of
from pinnlib.spec import RunSpec
from pinnlib.training import train_batch

DASK = {
    # Dask sees the death of a worker at once; a pause of the whole sweep (a closed lid) is none.
    "distributed.scheduler.worker-ttl": None,
    # A worker is given one batch at a time: batches are long, and none is moved between workers.
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.scheduler.work-stealing": False,
    # Monitoring, which took 5% of the time.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}
LOCAL = {
    "threads_per_worker": 1,
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "silence_logs": "CRITICAL",
}
PROGRESS = "pinnlib-progress"  # the Dask topic under which workers report progress
GUARD = (
    "a script that sweeps with several workers is run by each of them too: "
    'put the call under `if __name__ == "__main__":`'
)

Batch = list[RunSpec]
Finished = Iterator[tuple[Batch, list[Record]]]
Reach = Callable[[Batch, float], None]
ReportShare = Callable[[float], None]


class SweepError(UserError):
    """The sweep cannot go on; finished runs are on record."""


class ShareReporter:
    """The `advance` callback of `train_batch`; reports the share of the updates done so far."""

    def __init__(self, part: Batch, report: ReportShare) -> None:
        self.total = part[0].steps * len(part)
        self.done = 0
        self.report = report

    def __call__(self, updates: int) -> None:
        self.done += updates
        self.report(self.done / self.total)


def train_records(part: Batch, report: ReportShare) -> list[Record]:
    """The records of a batch; if it raises, those of its runs trained one by one."""
    try:
        results = train_batch(part, advance=ShareReporter(part, report))
        return [record_of(result, origin()) for result in results]
    except Exception as error:
        if len(part) == 1:
            return [failure_of(part[0], error, origin())]
    records = []
    for spec in part:
        records += train_records([spec], lambda share: None)
    return records


class InProcessExecutor:
    """Trains one batch after the other in this process."""

    processes = 1

    def run(self, parts: Iterable[Batch], reach: Reach) -> Finished:
        for part in parts:
            records = train_records(part, partial(reach, part))
            reach(part, 1)
            yield part, records


class DaskExecutor:
    """Trains batches on the workers of a Dask client."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.waiting: dict[str, Batch] = {}  # by key of the Dask task
        self.processes = max(1, len(client.scheduler_info(n_workers=-1)["workers"]))

    def run(self, parts: Iterable[Batch], reach: Reach) -> Finished:
        """A batch whose workers died is trained again run by run."""
        self.client.subscribe_topic(PROGRESS, partial(self._on_progress, reach))
        completed = as_completed([self._submit(part) for part in parts])
        for future in completed:
            part = self.waiting.pop(future.key)
            if future.status == "finished":
                reach(part, 1)
                yield part, future.result()
            elif future.status != "error":
                lost = f"the Dask scheduler was lost ({future.status})"
                raise SweepError(f"{lost}; the same command goes on from here")
            elif len(part) > 1:
                reach(part, 0)
                for spec in part:
                    completed.add(self._submit([spec]))
            else:
                reach(part, 1)
                yield part, [failure_of(part[0], future.exception(), {})]

    def _submit(self, part: Batch) -> Future:
        key = f"train-{uuid.uuid4()}"
        self.waiting[key] = part
        return self.client.submit(_train_on_worker, part, key=key, retries=1)

    def _on_progress(self, reach: Reach, event: tuple) -> None:
        task, share = event[1]
        part = self.waiting.get(task)
        if part is not None:  # else it is a task of another sweep on the same scheduler
            reach(part, share)


def _train_on_worker(part: Batch) -> list[Record]:
    worker = get_worker()
    task = worker.get_current_task()
    return train_records(part, lambda share: worker.log_event(PROGRESS, [task, share]))


Executor = InProcessExecutor | DaskExecutor


@contextlib.contextmanager
def open_executor(runs: int, workers: int, scheduler: str | None) -> Iterator[Executor]:
    """The executor of a number of runs: on the scheduler, local processes, or this process."""
    if runs == 0 or (workers == 1 and not scheduler):
        yield InProcessExecutor()
        return
    with dask.config.set(DASK), contextlib.ExitStack() as stack:
        home = scheduler or _start_local_cluster(min(workers, runs), stack)
        yield DaskExecutor(stack.enter_context(_connect(home)))


def _connect(home: str | LocalCluster) -> Client:
    try:
        return Client(home)
    except OSError as error:
        address = home if isinstance(home, str) else "loopback"
        raise SweepError(f"no Dask scheduler answers at {address}: {error}") from None


def _start_local_cluster(workers: int, stack: contextlib.ExitStack) -> LocalCluster:
    """Processes on loopback. `stack` shuts them down, also after a Ctrl-C while they start."""
    try:
        with _signals_delayed():
            return stack.enter_context(LocalCluster(n_workers=workers, **LOCAL))
    except RuntimeError as error:
        raise SweepError(f"no worker could be started ({error}); {GUARD}") from None


@contextlib.contextmanager
def _signals_delayed() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM to the end of the block, and hide Ctrl-C from what it starts.

    Threads and processes that start in the block inherit the blocked signal: a Ctrl-C reaches
    this process only, which then shuts them down.
    """
    delayed = []
    handlers = {}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        if threading.current_thread() is threading.main_thread():  # others may not set handlers
            for number in (signal.SIGINT, signal.SIGTERM):
                handlers[number] = signal.signal(number, lambda n, _: delayed.append(n))
        resource_tracker.ensure_running()  # started later, it would unblock the signal
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            # None: the handler was not set by Python and cannot be restored.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if delayed:
            signal.raise_signal(delayed[0])
