"""Batches of runs trained by the workers of a Dask scheduler, on this or on other machines."""

import contextlib
import queue
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from distributed import Client, Future, KilledWorker, Security, get_worker

from pinnlib.registry import is_number, validate
from pinnlib.runs.executors import Batch, Finished, Reach, SweepError, train_records
from pinnlib.runs.progress import message_stream
from pinnlib.runs.provenance import CORE
from pinnlib.runs.record import Record, failure_of

PROGRESS = "pinnlib-progress"  # the Dask topic under which workers report progress
NOTICE = 30  # seconds without a worker, or without an answer, after which a message says so
LOOK = 1  # seconds between two looks for workers
ANSWER = 10  # seconds in which a scheduler says who its workers are


class ClosingClient(Client):
    """A Dask client that closes itself if it cannot start.

    Dask leaves that to the garbage collector. If it comes in the middle of the start of the next
    client, it waits without end for the lock that this start holds.
    """

    def start(self, **options: float) -> None:
        try:
            super().start(**options)
        except Exception:
            self.close()
            raise


@dataclass(frozen=True)
class Scheduler:
    """A running Dask scheduler.

    address   such as tcp://host:8786
    patience  seconds after which a sweep without any worker stops
    tls_…     files of the certificate authority and of our certificate and key, for tls://
    """

    address: str
    patience: float = 300.0
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None

    def __post_init__(self) -> None:
        ok = is_number(self.patience) and self.patience > 0
        validate("patience", self.patience, ok, "a number > 0")
        files = {"tls_ca": self.tls_ca, "tls_cert": self.tls_cert, "tls_key": self.tls_key}
        if any(files.values()):
            for name, file in files.items():
                ok = file is not None and Path(file).is_file()
                validate(name, file, ok, "a file, as all three of tls_ca, tls_cert, tls_key")
            encrypted = self.address.startswith("tls://")
            validate("scheduler", self.address, encrypted, "a tls:// address with TLS files")

    def connect(self) -> Client:
        """A client of this scheduler; a SweepError if there is no answer for `patience` seconds."""
        found: futures.Future[Client] = futures.Future()
        # In a thread of its own: Dask waits without limit for the answer to its first message.
        threading.Thread(target=self._connect_into, args=(found,), daemon=True).start()
        # A refused connection has failed after NOTICE seconds; what takes longer is silence.
        quiet = min(NOTICE + LOOK, self.patience / 2)
        try:
            if not futures.wait([found], quiet).done:
                limit = f"waiting for one, up to {self.patience:g} s (--patience)"
                _say(f"no answer from {self.address}: {limit}")
            return found.result(self.patience - quiet)
        except Exception as error:  # of any kind: bytes that are not Dask's mean anything
            reason = str(error) or f"silence for {self.patience:g} s"
            raise SweepError(f"no Dask scheduler answers at {self.address}: {reason}") from None
        finally:
            found.cancel()  # no effect on a client that was found in time

    def _connect_into(self, found: "futures.Future[Client]") -> None:
        security = None
        try:
            if self.tls_ca:
                security = Security(
                    tls_ca_file=self.tls_ca,
                    tls_client_cert=self.tls_cert,
                    tls_client_key=self.tls_key,
                    require_encryption=True,
                )
            timeout = min(NOTICE, self.patience)
            client = ClosingClient(self.address, timeout=timeout, security=security)
        except Exception as error:
            with contextlib.suppress(futures.InvalidStateError):
                found.set_exception(error)
            return
        try:
            found.set_result(client)
        except futures.InvalidStateError:  # nobody waits any more
            client.close()


@contextlib.contextmanager
def open_cluster(scheduler: Scheduler) -> Iterator["DaskExecutor"]:
    """An executor on this scheduler."""
    with scheduler.connect() as client:
        yield DaskExecutor(client, scheduler)


class OtherVersionError(Exception):
    """The library of the worker with this address is another one."""


class DaskExecutor:
    """Trains batches on the workers of a Dask client."""

    def __init__(self, client: Client, scheduler: Scheduler) -> None:
        self.client = client
        self.scheduler = scheduler
        self.refused: set[str] = set()  # addresses of workers with another version
        self.waiting: dict[str, tuple[Batch, Future]] = {}  # by key of the Dask task
        self.done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self.processes = max(1, len(self._workers()))

    def run(self, parts: Iterable[Batch], reach: Reach) -> Finished:
        """A batch whose workers died is trained again run by run."""
        self.client.subscribe_topic(PROGRESS, partial(self._on_progress, reach))
        for part in parts:
            self._submit(part)
        while self.waiting:
            future = self._next_done()
            part, _ = self.waiting.pop(str(future.key))
            error = future.exception() if future.status == "error" else None
            if future.status == "finished":
                reach(part, 1)
                yield part, future.result()
            elif error is None:
                lost = f"the Dask scheduler was lost ({future.status})"
                raise SweepError(f"{lost}; the same command goes on from here")
            elif isinstance(error, OtherVersionError):
                self._refuse(str(error))
                self._submit(part)
            elif not isinstance(error, KilledWorker):
                problem = f"a worker cannot train: {type(error).__name__}: {error}"
                raise SweepError(f"{problem}; do all workers have this version of the library?")
            elif len(part) > 1:
                reach(part, 0)
                for spec in part:
                    self._submit([spec])
            else:
                reach(part, 1)
                yield part, [failure_of(part[0], error, {})]

    def _submit(self, part: Batch) -> None:
        """Hand a batch to the workers; those that are refused get none."""
        key = f"train-{uuid.uuid4()}"
        allowed = self._workers() if self.refused else None
        if allowed == []:
            names = ", ".join(sorted(self.refused))
            raise SweepError(f"every worker has another version of the library: {names}")
        options = {"key": key, "retries": 1, "workers": allowed, "pure": False}
        future = self.client.submit(_train_on_worker, part, CORE, **options)
        self.waiting[key] = (part, future)
        future.add_done_callback(self.done.put)

    def _refuse(self, worker: str) -> None:
        if worker not in self.refused:
            self.refused.add(worker)
            _say(f"worker {worker} gets no runs: its version of the library is another one")

    def _workers(self) -> list[str]:
        """The addresses of the workers that may be used."""
        ask = self.client.scheduler.identity
        try:
            answer = self.client.sync(ask, n_workers=-1, callback_timeout=ANSWER)
        except (OSError, TimeoutError):
            return []
        return [address for address in answer["workers"] if address not in self.refused]

    def _next_done(self) -> Future:
        """The next task that is done; a SweepError if for too long there is no worker."""
        last_seen = time.monotonic()
        said = False
        while True:
            with contextlib.suppress(queue.Empty):
                return self.done.get(timeout=LOOK)
            if self._workers():
                last_seen = time.monotonic()
                said = False
            alone = time.monotonic() - last_seen
            if alone > self.scheduler.patience:
                nobody = f"no worker at {self.scheduler.address} for {alone:.0f} s"
                raise SweepError(f"{nobody}; the same command goes on from here")
            if alone > min(NOTICE, self.scheduler.patience / 2) and not said:
                limit = f"waiting for one, up to {self.scheduler.patience:g} s (--patience)"
                _say(f"no worker at {self.scheduler.address}: {limit}")
                said = True

    def _on_progress(self, reach: Reach, event: tuple) -> None:
        task, share = event[1]
        part, _ = self.waiting.get(task, (None, None))
        if part is not None:  # else it is a task of another sweep on the same scheduler
            reach(part, share)


def _say(message: str) -> None:
    with message_stream() as file:
        print(f"\n{message}", file=file, flush=True)


def _train_on_worker(part: Batch, core: str) -> list[Record]:
    worker = get_worker()
    if core != CORE:
        raise OtherVersionError(worker.address)
    task = worker.get_current_task()
    return train_records(part, lambda share: worker.log_event(PROGRESS, [task, share]))
