"""Where batches of runs are trained on this machine: in this process, or in others."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Protocol

from pinnlib.registry import UserError
from pinnlib.runs.provenance import CORE, origin
from pinnlib.runs.record import Record, failure_of, record_of
from pinnlib.spec import RunSpec
from pinnlib.training import train_outcomes

SPAWN = multiprocessing.get_context("spawn")
MOST_DEATHS = 10  # of workers in a row
GUARD = (
    "a script that sweeps with several workers is run by each of them too: "
    'put the call under `if __name__ == "__main__":`'
)

Batch = list[RunSpec]
Finished = Iterator[tuple[Batch, list[Record]]]
Reach = Callable[[Batch, float], None]
ReportShare = Callable[[float], None]


class Executor(Protocol):
    """Trains batches, `processes` of them at once."""

    processes: int

    def run(self, parts: Iterable[Batch], reach: Reach) -> Finished:
        """Yield (batch, its records) as batches finish; reach(batch, share) tells of progress."""
        ...


class SweepError(UserError):
    """The sweep cannot go on; finished runs are on record."""


class ShareReporter:
    """The `advance` callback of a training; reports the share of the updates done so far."""

    def __init__(self, part: Batch, report: ReportShare) -> None:
        self.total = part[0].steps * len(part)
        self.done = 0
        self.report = report

    def __call__(self, updates: int) -> None:
        self.done += updates
        self.report(self.done / self.total)


def train_records(part: Batch, report: ReportShare) -> list[Record]:
    """The records of a batch; a run that raises an error has a record of that."""
    records = []
    outcomes = train_outcomes(part, advance=ShareReporter(part, report))
    for spec, outcome in zip(part, outcomes, strict=True):
        if isinstance(outcome, Exception):
            records.append(failure_of(spec, outcome, origin()))
        else:
            records.append(record_of(outcome, origin()))
    return records


class InProcessExecutor:
    """Trains one batch after the other in this process."""

    processes = 1

    def run(self, parts: Iterable[Batch], reach: Reach) -> Finished:
        for part in parts:
            records = train_records(part, partial(reach, part))
            reach(part, 1)
            yield part, records


def serve_batches(pipe: Connection) -> None:
    """The work of a worker: answer each batch with shares of the work done, then its records.

    The first message is the hash of its core. The process ends with the one that started it.
    """

    def report(share: float | str) -> None:
        try:
            pipe.send(share)
        except OSError:
            os._exit(1)  # nobody waits for the results any more

    report(CORE)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(train_records(pipe.recv(), report))


class Worker:
    """A process that trains one batch at a time, at the other end of a pipe."""

    work = staticmethod(serve_batches)

    def __init__(self) -> None:
        self.pipe, far_end = SPAWN.Pipe()
        self.process = SPAWN.Process(target=self.work, args=(far_end,), daemon=True)
        self.process.start()
        far_end.close()  # the process has its own copy: if it dies, reading the pipe fails
        self.started = False
        self.part: Batch = []  # in training

    def take(self, part: Batch) -> None:
        self.part = part
        with contextlib.suppress(OSError):  # a dead process is noticed when its news are read
            self.pipe.send(part)

    def news(self) -> str | float | list[Record] | SweepError:
        """Hash of its core, share of the work done, records of the batch, or its death."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return SweepError(f"its process ended with exit code {self.process.exitcode}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


class ProcessExecutor:
    """Trains batches in processes of this machine, which share nothing: no lock and no socket."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self.workers: list[Worker] = []
        self.deaths = 0  # since a batch was finished
        self.ever_started = False

    def run(self, parts: Iterable[Batch], reach: Reach) -> Finished:
        """A batch whose process dies is trained again run by run.

        A run that loses its process a second time has failed. The sweep ends if many processes
        in a row die.
        """
        waiting = deque(parts)
        lost: set[RunSpec] = set()
        while waiting or any(worker.part for worker in self.workers):
            self._hand_out(waiting)
            for worker in self._workers_with_news():
                news, part = worker.news(), worker.part
                if isinstance(news, SweepError):
                    self._bury(worker, news)
                elif isinstance(news, str):
                    self._admit(worker, news)
                    continue
                if not part:
                    continue
                if isinstance(news, float):
                    reach(part, news)
                    continue
                if isinstance(news, SweepError):
                    if lost.isdisjoint(part):
                        lost.update(part)
                        waiting.extend([spec] for spec in part)
                        reach(part, 0)
                        continue
                    news = [failure_of(spec, news, {}) for spec in part]
                else:
                    self.deaths = 0
                worker.part = []
                reach(part, 1)
                yield part, news

    def _hand_out(self, waiting: deque[Batch]) -> None:
        """Start the processes that are missing, and give a batch to each that has none."""
        if len(self.workers) < self.processes:
            with _signals_delayed():
                while len(self.workers) < self.processes:
                    self.workers.append(Worker())
        for worker in self.workers:
            if waiting and worker.started and not worker.part:
                worker.take(waiting.popleft())

    def _workers_with_news(self) -> list[Worker]:
        ready = wait([worker.pipe for worker in self.workers])
        return [worker for worker in self.workers if worker.pipe in ready]

    def _admit(self, worker: Worker, core: str) -> None:
        if core != CORE:
            changed = "the library has changed since this process loaded it"
            raise SweepError(f"worker {worker.process.pid} has another version: {changed}")
        worker.started = True
        self.ever_started = True

    def _bury(self, worker: Worker, death: SweepError) -> None:
        self.workers.remove(worker)
        self.deaths += 1
        if not self.ever_started:
            raise SweepError(f"no worker could be started ({death}); {GUARD}")
        if self.deaths >= MOST_DEATHS:
            lost = f"{self.deaths} workers in a row were lost (the last: {death}; out of memory?)"
            raise SweepError(f"{lost}; the same command goes on from here")

    def close(self) -> None:
        for worker in self.workers:
            worker.stop()


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
