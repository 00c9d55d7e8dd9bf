"""Files that are written whole or not at all, and by one process at a time."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from pinnlib.registry import UserError


class FileError(UserError):
    """A file cannot be written or locked; what was there is intact."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; once it is written, it takes the place of `path`.

    A crash or an error in between leaves the old file as it was.
    """
    temporary = path.with_name(f".new-{os.getpid()}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path, work: str) -> Iterator[None]:
    """Hold the lock of a folder; a FileError if another process does, or if it cannot be had."""
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(folder / ".lock", "a+"))
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            other = f"another {work}, process {lock.read() or 'unknown'}, is writing to {folder}"
            raise FileError(f"{other}; wait for it or stop it, then start again") from None
        except OSError as error:
            raise FileError(f"cannot lock {folder}: {error.strerror or error}") from error
        with contextlib.suppress(OSError):  # the process id is for the message above only
            os.truncate(lock.fileno(), 0)
            os.write(lock.fileno(), str(os.getpid()).encode())
        yield
