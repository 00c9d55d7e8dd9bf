"""Compare a rebuild with the committed tables, number by number."""

import csv
import io
import json
import math
import subprocess
from pathlib import Path

TOLERANCE = 1e-6  # relative
NOT_REBUILT = {"benchmark.json"}


def compare_with_committed(root: Path) -> str:
    """One line on data/*.csv and data/numbers/*.json against HEAD, or "" without git."""
    listing = _git(root, "ls-tree", "--name-only", "HEAD", "data/", "data/numbers/")
    if listing is None:
        return ""
    paths = {*root.glob("data/*.csv"), *root.glob("data/numbers/*.json")}
    paths |= {root / name for name in listing.split() if name.endswith((".csv", ".json"))}
    paths -= {root / "data" / name for name in NOT_REBUILT}
    differing = []
    for path in sorted(paths):
        name = path.relative_to(root).as_posix()
        committed = _git(root, "show", f"HEAD:./{name}")
        if committed is None:
            difference = "not committed"
        elif not path.exists():
            difference = "missing"
        else:
            difference = first_difference(path.read_text(), committed, path.suffix)
        if difference:
            differing.append(f"{name} ({difference})")
    if not differing:
        return f"{len(paths)} tables agree with the committed ones (relative {TOLERANCE:g})"
    count = f"{len(differing)} of {len(paths)} tables differ from the committed ones"
    return f"{count}: {', '.join(differing)}"


def first_difference(rebuilt: str, committed: str, suffix: str) -> str:
    """The first value that differs between two CSV or two JSON texts, in words, or ""."""
    ours = _values(rebuilt, suffix)
    theirs = _values(committed, suffix)
    if [column for column, _ in ours] != [column for column, _ in theirs]:
        return "other rows or columns"
    for (column, our_value), (_, their_value) in zip(ours, theirs, strict=True):
        if not _agree(our_value, their_value):
            return f"column {column}, {our_value} against {their_value}"
    return ""


def _values(text: str, suffix: str) -> list[tuple[str, str]]:
    """(column, value) of every cell of a CSV text, or (name, value) of a JSON object."""
    if suffix == ".json":
        return [(name, str(value)) for name, value in json.loads(text).items()]
    header, *rows = csv.reader(io.StringIO(text))
    return [pair for row in rows for pair in zip(header, row, strict=True)]


def _agree(one: str, other: str) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=TOLERANCE)
    except ValueError:  # text
        return False


def _git(root: Path, *arguments: str) -> str | None:
    """What a git command prints, or None if it fails."""
    command = ["git", *arguments]
    try:
        return subprocess.check_output(command, cwd=root, text=True, stderr=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        return None
