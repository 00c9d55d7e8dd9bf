"""Where batches are trained: in this process, by local ones, or by the workers of a Dask scheduler."""

import contextlib
import signal
import threading
import uuid
from multiprocessing import resource_tracker

from pinnlib.registry import UserError
from pinnlib.runs.provenance import origin
from pinnlib.runs.record import failure_of, record_of
from pinnlib.training import train_batch

DASK = {
    "distributed.scheduler.worker-ttl": None,  # a pause of the whole sweep, such as a closed lid, is not the death of its workers; that is seen at once
    "distributed.worker.profile.enabled": False,  # this and the next two took a twentieth of the time, for monitoring
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "1s",
}
PROGRESS = "pinnlib-progress"  # the topic under which workers tell how far they are
GUARD = 'a script that sweeps with several workers is run by each of them too: put the call under `if __name__ == "__main__":`'


class SweepError(UserError):
    """The sweep cannot go on; what is finished is on record."""


def train_records(specs, advance=lambda updates: None, made=None):
    """Records of a batch, wherever this runs (`made` says where, if the caller knows); a run that raises is recorded as failed, alone."""
    made = origin() if made is None else made
    try:
        return [record_of(result, made) for result in train_batch(specs, advance=advance)]
    except Exception as error:  # one run's failure must not lose its batch: each is tried alone and the failure recorded
        if len(specs) > 1:
            return [record for spec in specs for record in train_records([spec], made=made)]
        return [failure_of(specs[0], f"{type(error).__name__}: {error}", made)]


def here(parts, reached):
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
    return train_records(
        part, _telling(part, lambda share: worker.log_event(PROGRESS, [task, share])), made
    )


def _telling(part, tell):
    """What `train_batch` advances, as shares of its work."""
    done = 0

    def advance(updates):
        nonlocal done
        done += updates
        tell(done / part[0].steps)

    return advance


@contextlib.contextmanager
def cluster(todo, workers, scheduler):
    """A Dask client: of the scheduler, or of local processes on loopback; None where this process does the work itself."""
    if not todo or (workers == 1 and not scheduler):
        yield None
        return
    import dask
    from distributed import Client  # a second of imports that nothing else needs

    with (
        dask.config.set(DASK),
        contextlib.nullcontext(scheduler) if scheduler else _local(min(workers, len(todo))) as home,
    ):
        try:
            client = Client(home)
        except OSError as error:
            raise SweepError(
                f"no Dask scheduler answers at {scheduler or 'loopback'}: {error}"
            ) from None
        with client:
            yield client


@contextlib.contextmanager
def _local(workers):
    """A cluster of processes on loopback."""
    from distributed import LocalCluster

    options = {
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": "CRITICAL",
    }
    with contextlib.ExitStack() as stack:
        try:
            with _undisturbed():
                local = stack.enter_context(LocalCluster(n_workers=workers, **options))
        except RuntimeError as error:
            raise SweepError(f"no worker could be started ({error}); {GUARD}") from None
        yield local


@contextlib.contextmanager
def _undisturbed():
    """A Ctrl-C or SIGTERM waits until what is started in here is up, and a Ctrl-C never reaches it: whoever started it shuts it down."""
    late, before, mask = [], {}, signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        if (
            threading.current_thread() is threading.main_thread()
        ):  # who alone may say what a signal does
            for name in (signal.SIGINT, signal.SIGTERM):
                before[name] = signal.signal(name, lambda number, _: late.append(number))
        resource_tracker.ensure_running()  # started later, it would lift what is blocked here
        signal.pthread_sigmask(
            signal.SIG_BLOCK, {signal.SIGINT}
        )  # threads and processes inherit that
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, handler in before.items():
            signal.signal(
                name, signal.SIG_DFL if handler is None else handler
            )  # None: one that was not set by Python, and cannot be
        for number in late[:1]:
            signal.raise_signal(number)


def on_cluster(client, parts, reached, elsewhere):
    """(batch, its records) as they are finished; a batch whose worker died again and again is tried run by run."""
    from distributed import as_completed

    def submit(part):
        future = client.submit(
            _there, part, None if elsewhere else {}, key=f"train-{uuid.uuid4()}", retries=1
        )
        waiting[future.key] = part
        return future

    def heard(event):
        task, share = event[1]
        if task in waiting:  # another sweep may use the same scheduler
            reached(waiting[task], share)

    waiting = {}
    client.subscribe_topic(PROGRESS, heard)
    completed = as_completed([submit(part) for part in parts])
    made = (
        {} if elsewhere else {"made": origin()}
    )  # our own workers need not find out where they are; others do
    for future in completed:
        part = waiting.pop(future.key)
        if future.status == "finished":
            reached(part, 1)
            yield part, [record | made for record in future.result()]
        elif future.status != "error":
            raise SweepError(
                f"the Dask scheduler was lost ({future.status}); the same command goes on from here"
            )
        elif len(part) > 1:
            reached(part, 0)
            for spec in part:
                completed.add(submit([spec]))
        else:
            error = future.exception()
            reached(part, 1)
            yield (
                part,
                [
                    failure_of(
                        part[0], f"{type(error).__name__}: {error}", {"fingerprint": "unknown"}
                    )
                ],
            )
