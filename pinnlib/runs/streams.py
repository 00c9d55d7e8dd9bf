"""Messages of work that goes on whether or not they can be written."""

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from typing import Any, TextIO

PAUSE = 20  # milliseconds that a message waits for its reader


class Unfailing:
    """A text stream whose reader may go away: what cannot be written is dropped."""

    def __init__(self, file: TextIO | None) -> None:
        self.file = io.StringIO() if file is None else file  # None: closed before Python started

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return self.file.write(text)
        return 0

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.file.flush()

    def __getattr__(self, name: str) -> Any:  # encoding, isatty, fileno …
        return getattr(self.file, name)


class Unblocking(Unfailing):
    """An unfailing stream whose reader may pause: short texts that would have to wait are dropped.

    A pipe and a terminal count as writable only while they have room for a line.
    """

    def write(self, text: str) -> int:
        return super().write(text) if self._has_room() else 0

    def flush(self) -> None:
        if self._has_room():
            super().flush()

    def _has_room(self) -> bool:
        try:
            number = self.file.fileno()
        except (OSError, ValueError, AttributeError):  # a stream in memory
            return True
        poll = select.poll()
        poll.register(number, select.POLLOUT)
        return bool(poll.poll(PAUSE))


@contextlib.contextmanager
def unfailing_output() -> Iterator[None]:
    """In this block, stdout and stderr drop what they cannot write.

    What is left of it would change the exit code when Python ends, and is dropped as well.
    """
    files = [file for file in (sys.stdout, sys.stderr) if file is not None]
    out, err = Unfailing(sys.stdout), Unfailing(sys.stderr)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield
    finally:
        for file in files:
            _drop_what_cannot_be_written(file)


def _drop_what_cannot_be_written(file: TextIO) -> None:
    try:
        file.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, file.fileno())
            os.close(nowhere)
