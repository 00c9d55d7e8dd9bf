"""The append-only journal of finished runs: JSON lines, each with the checksum of its own bytes.

A line is {"checksum": "<16 hex digits>", <the rest>}; the checksum is that of <the rest> up to the end of the line.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import warnings
from pathlib import Path

from pinnlib.paths import RECORDS
from pinnlib.registry import UserError
from pinnlib.runs.record import is_valid_record

LINE = re.compile(r'\{"checksum": "([0-9a-f]{16})", (.*)', re.DOTALL)


class StoreError(UserError):
    """The journal cannot be written; what it holds is still valid."""


def _checksum(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode(record):
    """A record as its line."""
    rest = json.dumps(record, allow_nan=False, separators=(",", ":"))[1:]
    return f'{{"checksum": "{_checksum(rest)}", {rest}\n'


def decode(line):
    """The record of a line, or None if a byte of it is not as it was written."""
    match = LINE.fullmatch(line.removesuffix("\n"))
    if not line.endswith("\n") or not match or _checksum(match[2]) != match[1]:
        return None
    return json.loads("{" + match[2])


class Store:
    """The records under a folder, one file per model, gate and loss; only `writing()` changes them."""

    def __init__(self, folder=RECORDS):
        self.folder = Path(folder)
        self.aside = self.folder / "set-aside" / "lines.txt"

    def files(self):
        return sorted(self.folder.glob("*.jsonl"))

    def scan(self):
        """(good records by key, torn or altered lines, sound records that this version does not understand), as (file, number, line).

        Of several records of a run the newest numerics wins, in any order of lines.
        """
        good, damaged, foreign = {}, [], []
        for path in self.files():
            with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
                for number, line in enumerate(lines, 1):
                    record = decode(line)
                    if record is None:
                        damaged.append((path, number, line))
                    elif not is_valid_record(record):
                        foreign.append((path, number, line))
                    else:
                        _keep_better(good, record)
        return good, damaged, foreign

    def load(self):
        """Good records by key; the damaged ones are named in a warning and left out."""
        good, damaged, foreign = self.scan()
        if damaged:
            warnings.warn(
                f"damaged records left out: {_places(damaged)}; a sweep sets them aside and trains them again",
                stacklevel=2,
            )
        if foreign:
            warnings.warn(
                f"records with settings that this version does not know, left alone: {_places(foreign)}",
                stacklevel=2,
            )
        return good

    @contextlib.contextmanager
    def writing(self):
        """Hold the journal for writing, alone: damaged lines are set aside first. Yields a Writer."""
        with _clear_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / ".lock", "a+")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise StoreError(
                    f"another sweep, process {lock.read() or 'unknown'}, is writing to {self.folder}; wait for it or stop it, then start again"
                ) from None
            with contextlib.suppress(
                OSError
            ):  # who holds it is told as a courtesy, which a full disk may spare us
                os.truncate(lock.fileno(), 0)
                os.write(lock.fileno(), str(os.getpid()).encode())
            yield Writer(self)


class Writer:
    """The one who may write: `damaged` names what was set aside at the start."""

    def __init__(self, journal):
        self.journal = journal
        self.records, damaged, _ = journal.scan()
        self.damaged = _places(damaged)
        with _clear_errors(journal.folder):
            self._set_aside(damaged)

    def _set_aside(self, damaged):
        if damaged:
            self.journal.aside.parent.mkdir(exist_ok=True)
            with open(self.journal.aside, "a", encoding="utf-8") as aside:
                aside.writelines(
                    f"{path.name}:{number}: {line.rstrip()}\n" for path, number, line in damaged
                )
                _to_disk(aside)
            for path in {path for path, _, _ in damaged}:
                bad = {number for p, number, _ in damaged if p == path}
                with (
                    path.open(encoding="utf-8", errors="replace", newline="\n") as lines,
                    open(f"{path}.new", "w", encoding="utf-8") as new,
                ):
                    new.writelines(
                        line for number, line in enumerate(lines, 1) if number not in bad
                    )
                    _to_disk(new)
                os.replace(f"{path}.new", path)

    def append(self, records):
        """Write finished runs to disk, each whole or not at all."""
        for record in records:
            spec = record["spec"]
            name = "_".join(spec[field].partition("(")[0] for field in ("model", "gate", "loss"))
            with _clear_errors(self.journal.folder):
                self._append(self.journal.folder / f"{name}.jsonl", encode(record).encode())
            _keep_better(self.records, record)

    @staticmethod
    def _append(path, data):
        with open(path, "ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                if file.write(data) != len(data):
                    raise OSError("the disk is full")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise


def _rank(record):
    return record["status"] != "failed", record["numerics"], record.get("parameters_sha256", "")


def _keep_better(records, record):
    if record["key"] not in records or _rank(record) > _rank(records[record["key"]]):
        records[record["key"]] = record


def _places(lines):
    return ", ".join(f"{path.name}:{number}" for path, number, _ in lines)


def _to_disk(file):
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def _clear_errors(folder):
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror or error}; the records already there are intact"
        ) from error
