"""Progress: a bar in a terminal or a live notebook, a line a minute in a file or a pipe."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from tqdm import tqdm
from tqdm.auto import tqdm as notebook_tqdm  # the notebook's bar in a Jupyter kernel

# Set where a notebook runs without a reader: its bars go to the stderr of the process instead of
# the notebook's output. "quiet": no bars.
HEADLESS = "PINNLIB_HEADLESS"


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


@contextlib.contextmanager
def message_stream() -> Iterator[TextIO]:
    """Where messages about the progress of work go: stderr, or that of a headless process."""
    if os.environ.get(HEADLESS, "quiet") == "quiet":
        yield sys.stderr
    else:
        with open(2, "w", closefd=False) as file:
            yield file
