"""A progress bar where a person is watching, a terminal or a live notebook; a line a minute where it goes to a file or a pipe."""

import contextlib
import os
import sys

from tqdm import tqdm

HEADLESS = "PINNLIB_HEADLESS"  # set where a notebook runs without a reader: its bars go past it, to the stderr of the process; "quiet": nowhere


class Lines(tqdm):
    """Every state of the bar on a line of its own."""

    @staticmethod
    def status_printer(file):
        return lambda text: text and print(text, file=file, flush=True)


@contextlib.contextmanager
def progress_bar(total, progress=None, **options):
    """tqdm; `progress`: True or False to have it shown at once or not at all, wherever it goes."""
    headless = os.environ.get(HEADLESS)
    live = (
        headless is None and "ipykernel" in sys.modules
    )  # a notebook with somebody in front of it
    with message_stream() as file:
        if live:
            from tqdm.notebook import tqdm as kind  # needs widgets, which nobody but a notebook has

            options["mininterval"] = 0.2
        elif progress or file.isatty():
            kind, options["mininterval"] = tqdm, 1
        else:
            kind, options = Lines, options | {"mininterval": 60, "delay": 60}
        shown = headless != "quiet" if progress is None else progress
        with kind(total=total, file=file, disable=not shown, miniters=0, **options) as bar:
            try:
                yield bar
            except BaseException:
                bar.leave = False  # who is told why it stopped need not see it once more
                raise


@contextlib.contextmanager
def message_stream():
    """Where a person is told how work goes on: stderr, of a headless notebook that of its process."""
    if os.environ.get(HEADLESS, "quiet") == "quiet":
        yield sys.stderr
    else:
        with open(2, "w", closefd=False) as file:
            yield file
