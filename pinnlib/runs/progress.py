"""Progress bars, and how long runs take at the pace of those on record.

A bar is drawn in a terminal or a live notebook; a file or a pipe gets a line a minute. Where the
environment variable HEADLESS is set, a notebook runs without a reader: its bars go to the stderr of
the process instead of the notebook's output, and nowhere if it is "quiet".
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

import pandas as pd
from tqdm import tqdm
from tqdm.auto import tqdm as notebook_tqdm  # the notebook's bar in a Jupyter kernel

from pinnlib.paths import RUNS_CSV
from pinnlib.runs.record import Records, full_settings
from pinnlib.runs.streams import Unblocking
from pinnlib.spec import RunSpec
from pinnlib.training import HEADLESS, Result, batches, train_batch

UNKNOWN = 3e-7  # seconds per update and point of a model without records: as a spectral model
LONG = 1e6  # updates × points; shorter runs are mostly start-up and do not show the pace
COLUMNS = ["model", "steps", "points", "seconds"]
TRUSTED = 300  # seconds (at most a tenth of a sweep) that the pace of the records counts for
BAR = (
    "{percentage:3.0f}% of the work |{bar}| {postfix[0]} of {postfix[1]} missing runs trained, "
    "{elapsed} so far, {postfix[2]} left"
)


class Lines(tqdm):
    """Every state of the bar on a line of its own."""

    @staticmethod
    def status_printer(file: TextIO) -> Callable[[str], None]:
        def print_line(text: str) -> None:
            if text:
                print(text, file=file, flush=True)

        return print_line


@contextlib.contextmanager
def progress_bar(total: float, progress: bool | None = None, **options: Any) -> Iterator[tqdm]:
    """A tqdm bar. `progress`: True shows it at once, False never, None where it is of use."""
    headless = os.environ.get(HEADLESS)
    shown = headless != "quiet" if progress is None else progress
    with message_stream() as file:
        if headless is None and "ipykernel" in sys.modules:  # a live notebook
            kind, pace = notebook_tqdm, {"mininterval": 0.2}
        elif progress or file.isatty():
            kind, pace = tqdm, {"mininterval": 1}
        else:
            kind, pace = Lines, {"mininterval": 60, "delay": 60}
        with kind(total=total, file=file, disable=not shown, miniters=0, **pace, **options) as bar:
            try:
                yield bar
            except BaseException:
                bar.leave = False  # the error message replaces it
                raise


def train_with_progress(specs: Sequence[RunSpec], snapshots: Sequence[int] = ()) -> list[Result]:
    """`train` with a progress bar that headless processes and log files show too."""
    results = {}
    with progress_bar(sum(spec.steps for spec in specs), unit="update") as bar:
        for batch in batches(specs):
            for result in train_batch(batch, snapshots, bar.update):
                results[result.spec] = result
    return [results[spec] for spec in specs]


@contextlib.contextmanager
def message_stream() -> Iterator[Any]:
    """Where messages about the progress of work go: stderr, or that of a headless process.

    Work, which may hold a lock, never waits for their reader.
    """
    if os.environ.get(HEADLESS, "quiet") == "quiet":
        yield Unblocking(sys.stderr)
    else:
        file = os.fdopen(2, "w", closefd=False)
        yield Unblocking(file)
        with contextlib.suppress(OSError):
            file.close()


class TimeEstimate:
    """Median seconds per update and point, by model.

    It is taken from the given records or, for a model that they lack, from data/runs.csv.
    """

    def __init__(self, records: Records) -> None:
        rows = []
        for record in records.values():
            rows.append(full_settings(record) | {"seconds": record.get("seconds")})
        self.known = _pace_by_model(pd.DataFrame(rows, columns=COLUMNS))
        with contextlib.suppress(OSError, ValueError):  # an optional, derived table
            self.known = _pace_by_model(pd.read_csv(RUNS_CSV, usecols=COLUMNS)) | self.known

    def seconds(self, specs: Iterable[RunSpec]) -> float:
        """Duration of the runs in one process."""
        total = 0.0
        for spec in specs:
            pace = self.known.get(spec.model) or self.known.get(spec.trunk.name, UNKNOWN)
            total += pace * spec.steps * spec.points
        return total

    def describe(
        self, specs: Sequence[RunSpec], workers: int | None = None, elsewhere: bool = False
    ) -> str:
        """The duration in words, for local workers or, `elsewhere`, for an unknown number."""
        if not specs:
            return "nothing to train"
        unknown = sorted({spec.trunk.name for spec in specs} - set(self.known))
        if unknown:
            return f"how long that takes is not known: no run of {', '.join(unknown)} is on record"
        if elsewhere:
            duration = f"{describe_duration(self.seconds(specs))} of one process's work"
        else:
            workers = min(workers or os.cpu_count() or 1, len(specs))
            processes = "1 local process" if workers == 1 else f"{workers} local processes"
            duration = f"{describe_duration(self.seconds(specs) / workers)} with {processes}"
        return f"{duration}, at the pace of the records"


def _pace_by_model(frame: pd.DataFrame) -> dict[str, float]:
    work = (frame["steps"] * frame["points"]).astype(float)
    pace = frame["seconds"].astype(float) / work
    return pace[work >= LONG].groupby(frame["model"]).median().dropna().to_dict()


def describe_duration(seconds: float) -> str:
    """A duration in the unit that suits it."""
    minutes = seconds / 60
    if minutes < 2:
        return "less than two minutes"
    if minutes < 100:
        return f"about {minutes:.0f} minutes"
    return f"about {minutes / 60:.1f} hours"


class WorkBar:
    """A progress bar whose length is work: seconds of one process at the pace of the records."""

    bar: tqdm

    def __init__(self, todo: Sequence[RunSpec], estimate: TimeEstimate, processes: int) -> None:
        self.estimate = estimate
        self.processes = processes
        self.total = estimate.seconds(todo)
        self.work: dict[RunSpec, float] = {}  # first run of a batch → work done of the batch
        self.trained: dict[RunSpec, int] = {}  # first run of a batch → finished runs of the batch
        self.lock = threading.Lock()  # workers report in another thread
        # Finished runs, all runs and the time left, which the bar shows.
        self.state = [0, len(todo), describe_duration(self.total / processes)]

    @contextlib.contextmanager
    def show(self, progress: bool | None) -> Iterator[None]:
        """Show the bar; `progress` as for `progress_bar`."""
        with progress_bar(self.total, progress, bar_format=BAR, postfix=self.state) as bar:
            self.bar = bar
            yield

    def reach(self, part: Sequence[RunSpec], share: float) -> None:
        """Note that this share of a batch's work is done (0 again if its worker died)."""
        with self.lock:
            self.work[part[0]] = share * self.estimate.seconds(part)
            self.trained[part[0]] = len(part) if share == 1 else 0
            done = sum(self.work.values())
            self.state[0] = sum(self.trained.values())
            self.state[2] = self._time_left(done)
            self.bar.update(min(done, self.total) - self.bar.n)  # a sum may round up

    def _time_left(self, done: float) -> str:
        if self.state[0] == self.state[1]:
            return "nothing"
        done = done / self.processes
        total = self.total / self.processes
        trusted = min(TRUSTED, total / 10)
        slowdown = (self.bar.format_dict["elapsed"] + trusted) / (done + trusted)
        return describe_duration((total - done) * slowdown)
