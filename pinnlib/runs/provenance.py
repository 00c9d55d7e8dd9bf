"""What made a record: the version of the numerics, the processor, the versions, the commit."""

import hashlib
import platform
import re
import subprocess
from functools import lru_cache
from pathlib import Path

import numba
import torch

import pinnlib
from pinnlib.paths import ROOT

# Raise it with every change that alters the bits of a run; tests/test_bits.py notices such changes.
NUMERICS = 2
CODE = ("pinnlib", "paper/main.tex", "paper/references.bib")  # what `commit` watches for changes


def hash_of_core() -> str:
    """Hash of the source that decides the bits of a run: the core and its compiled loops."""
    folder = Path(pinnlib.__file__).parent
    files = sorted([*folder.glob("*.py"), *folder.glob("compiled/*.py")])
    parts = [path.relative_to(folder).as_posix().encode() + path.read_bytes() for path in files]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


CORE = hash_of_core()  # when this process loaded the library


def cpu() -> str:
    """The name of the processor."""
    path = Path("/proc/cpuinfo")  # Linux only
    facts = path.read_text() if path.exists() else ""
    named = re.search(r"^model name\s*: (.+)", facts, re.M)
    return named[1] if named else platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    """The last commit that touched the library, the text of the report or the records.

    A + follows if library or text have changed since. "unknown" without git.
    """
    try:
        head = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *CODE, "data/records")
        changes = _git("status", "--porcelain", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}+" if changes else head


@lru_cache(maxsize=1)
def origin() -> dict[str, str]:
    """Where a record is made: versions, processor, commit."""
    return {
        "pinnlib": pinnlib.__version__,
        "torch": torch.__version__,
        "numba": numba.__version__,
        "cpu": cpu(),
        "commit": commit(),
    }
