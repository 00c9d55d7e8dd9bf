"""The append-only store of finished runs: JSON lines, each with a checksum.

A line is {"checksum": "<16 hex digits>", <rest>}; the checksum is that of <rest>, up to the end
of the line.
"""

import contextlib
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from pinnlib.paths import RECORDS
from pinnlib.runs.files import FileError, locked, replacing
from pinnlib.runs.record import (
    DEFAULTS,
    Record,
    Records,
    SettingsCheck,
    full_settings,
    has_all_fields,
)

LINE = re.compile(r'\{"checksum": "([0-9a-f]{16})", (.*)\n', re.DOTALL)
MOST_NAMED = 20  # lines that a message names


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def encode(record: Record) -> str:
    """The line of a record."""
    rest = json.dumps(record, allow_nan=False, separators=(",", ":"))[1:]
    return f'{{"checksum": "{_checksum(rest)}", {rest}\n'


def decode(line: str) -> Record | None:
    """The record of a line, or None if the line is torn or altered, or is no JSON."""
    match = LINE.fullmatch(line)
    if match is None or _checksum(match[2]) != match[1]:
        return None
    try:
        return json.loads("{" + match[2])
    except ValueError:
        return None


class Line(NamedTuple):
    """A line of a file of the store."""

    path: Path
    number: int
    text: str


def _read_lines(path: Path) -> Iterator[Line]:
    with path.open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for number, text in enumerate(lines, 1):
            yield Line(path, number, text)


class Store:
    """The records in a folder, one file per model, gate and loss; only `writing()` changes them."""

    def __init__(self, folder: Path | str = RECORDS) -> None:
        self.folder = Path(folder)

    def files(self) -> list[Path]:
        """The files of the store, without temporary ones (which begin with a dot)."""
        return sorted(self.folder.glob("[!.]*.jsonl"))

    def scan(self) -> tuple[Records, list[Line], list[Line]]:
        """Usable records by key, damaged lines, and intact lines of settings unknown here.

        Of several records of a run, the one by the newest numerics wins.
        """
        records: Records = {}
        damaged = []
        foreign = []
        is_known = SettingsCheck()
        for path in self.files():
            for line in _read_lines(path):
                record = decode(line.text)
                if record is None or not has_all_fields(record):
                    damaged.append(line)
                elif not is_known(record):
                    foreign.append(line)
                else:
                    _keep_better(records, record)
        return records, damaged, foreign

    def load(self) -> Records:
        """The usable records by key; a warning names the lines that are left out."""
        records, damaged, foreign = self.scan()
        if damaged:
            advice = "a sweep sets them aside and trains them again"
            warnings.warn(f"damaged records left out: {_places(damaged)}; {advice}", stacklevel=2)
        if foreign:
            problem = "records with settings that this version does not know, left alone"
            warnings.warn(f"{problem}: {_places(foreign)}", stacklevel=2)
        return records

    @contextlib.contextmanager
    def writing(self) -> Iterator["Writer"]:
        """Lock the store, set damaged lines aside and yield its Writer."""
        with locked(self.folder, "sweep"):
            yield Writer(self)


class Writer:
    """Appends to a locked store; `damaged` names the lines that were set aside at the start."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.records, damaged, _ = store.scan()
        self.damaged = _places(damaged)
        if damaged:
            with _as_file_error(store.folder):
                self._set_aside(damaged)

    def _set_aside(self, damaged: Sequence[Line]) -> None:
        """Move the damaged lines to a file of their own."""
        folder = self.store.folder / "set-aside"
        folder.mkdir(exist_ok=True)
        with open(folder / "lines.txt", "a", encoding="utf-8") as aside:
            for line in damaged:
                aside.write(f"{line.path.name}:{line.number}: {line.text.rstrip()}\n")
            _to_disk(aside)
        bad = set(damaged)
        for path in {line.path for line in damaged}:
            with replacing(path) as new_path, open(new_path, "w", encoding="utf-8") as new:
                new.writelines(line.text for line in _read_lines(path) if line not in bad)
                _to_disk(new)

    def append(self, records: Iterable[Record]) -> None:
        """Write finished runs to disk, each whole or not at all."""
        for record in records:
            settings = full_settings(record)
            fields = ["model", "gate", "loss"]
            if settings["system"] != DEFAULTS["system"]:
                fields.insert(0, "system")
            names = [settings[field].partition("(")[0] for field in fields]
            path = self.store.folder / f"{'_'.join(names)}.jsonl"
            with _as_file_error(self.store.folder):
                self._append(path, encode(record).encode())
            _keep_better(self.records, record)

    @staticmethod
    def _append(path: Path, data: bytes) -> None:
        with open(path, "ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                if file.write(data) != len(data):
                    raise OSError("the disk is full")
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise


def _rank(record: Record) -> tuple[bool, int, str]:
    return record["status"] != "failed", record["numerics"], record.get("parameters_sha256", "")


def _keep_better(records: Records, record: Record) -> None:
    other = records.get(record["key"])
    if other is None or _rank(record) > _rank(other):
        records[record["key"]] = record


def _places(lines: Sequence[Line]) -> str:
    places = [f"{line.path.name}:{line.number}" for line in lines[:MOST_NAMED]]
    if len(lines) > MOST_NAMED:
        places.append(f"{len(lines) - MOST_NAMED} more")
    return ", ".join(places)


def _to_disk(file: IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def _as_file_error(folder: Path) -> Iterator[None]:
    """Raise a FileError instead of an OSError."""
    try:
        yield
    except OSError as error:
        reason = f"cannot write to {folder}: {error.strerror or error}"
        raise FileError(f"{reason}; the records already there are intact") from error
