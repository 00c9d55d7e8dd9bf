"""A progress bar, where a person is watching: a terminal, a live notebook, or the terminal behind a headless notebook."""

import contextlib
import os
import sys

from tqdm import tqdm

TERMINAL = "PINNLIB_TERMINAL"  # set by ./run_all.sh while notebooks run headless: where the bar goes instead of into their output


@contextlib.contextmanager
def progress_bar(total, progress=None, **options):
    """tqdm, shown if `progress`, or if that is None and somebody is watching."""
    with contextlib.ExitStack() as stack:
        file = sys.stderr
        if os.environ.get(TERMINAL):
            file = stack.enter_context(open(os.environ[TERMINAL], "w"))
        shown = file.isatty() if progress is None else progress
        yield stack.enter_context(tqdm(total=total, file=file, disable=not shown, mininterval=1, **options))
