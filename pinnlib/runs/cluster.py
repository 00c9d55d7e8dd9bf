"""Batches of runs trained by the workers of a Dask scheduler, on this or on other machines."""

import contextlib
import uuid
from collections.abc import Iterable, Iterator
from functools import partial

from distributed import Client, Future, as_completed, get_worker

from pinnlib.runs.executors import Batch, Finished, Reach, SweepError, train_records
from pinnlib.runs.record import Record, failure_of

PROGRESS = "pinnlib-progress"  # the Dask topic under which workers report progress


@contextlib.contextmanager
def open_cluster(address: str) -> Iterator["DaskExecutor"]:
    """An executor on the scheduler at this address."""
    try:
        client = Client(address)
    except OSError as error:
        raise SweepError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        yield DaskExecutor(client)


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
