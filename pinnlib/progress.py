"""A progress bar, where a person is watching: a terminal, a live notebook, or the terminal behind a headless notebook."""

import contextlib
import os
import sys

from tqdm import tqdm

TERMINAL = "PINNLIB_TERMINAL"  # a headless notebook's bar goes to this device instead of into its saved output; "off": nowhere


@contextlib.contextmanager
def progress_bar(total, progress=None, **options):
    """tqdm, shown if `progress`, or if that is None and somebody is watching."""
    device = os.environ.get(TERMINAL)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(device, "w")) if device and device != "off" else sys.stderr
        live = device is None and "ipykernel" in sys.modules  # a notebook with somebody in front of it
        shown = live or (device != "off" and file.isatty()) if progress is None else progress
        kind = _in_notebook() if live and shown else tqdm
        yield stack.enter_context(kind(total=total, file=file, disable=not shown, mininterval=0.2 if live else 1, **options))


def _in_notebook():
    from tqdm.notebook import tqdm as bar  # needs widgets, which nobody but a notebook has

    return bar
