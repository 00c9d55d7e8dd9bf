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
        watched = device != "off" and (file.isatty() or "ipykernel" in sys.modules)
        shown = watched if progress is None else progress
        yield stack.enter_context(tqdm(total=total, file=file, disable=not shown, mininterval=1, **options))
