"""Which outputs are older than what they were made from, by content.

Imports the standard library and paths only, so that `status` answers at once.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from pinnlib.paths import ROOT

PAPER = "paper"  # the manifest of the PDF

Manifest = dict[str, Any]  # the parts code, read and written map a file name to its digest


def digest(path: Path) -> str:
    """Short content hash of a file, of a notebook's code, or of the visible files of a folder."""
    if not path.exists():
        return "absent"
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        data = "\0".join(f"{p.name} {digest(p)}" for p in files).encode()
    elif path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        data = "\0".join(sources).encode()
    else:
        data = path.read_bytes()
    return hashlib.sha256(data).hexdigest()[:16]


def relative(path: Path) -> str:
    """A path as manifests have it: from the repository root if it lies inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def stale_reasons(manifest: Manifest) -> list[str]:
    """Why the outputs of a manifest are not current; empty if they are."""
    changes = {"code": "changed", "read": "changed", "written": "altered since it was made"}
    reasons = []
    for part, change in changes.items():
        for name, known in manifest[part].items():
            now = digest(ROOT / name)
            if now == known:
                continue
            reasons.append(f"{name} is gone" if now == "absent" else f"{name} {change}")
    return reasons


def status(folder: Path, notebooks: Path) -> dict[str, list[str]]:
    """Notebook (or paper) → why it is out of date; `folder` has the manifests."""
    names = [path.stem for path in sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))]
    if (notebooks.parent / "paper" / "main.tex").exists():
        names.append(PAPER)
    found = {}
    stale_files: dict[str, str] = {}  # file → the stale notebook that writes it
    for name in names:
        path = folder / f"{name}.json"
        if not path.exists():
            found[name] = ["never run: no manifest"]
            continue
        manifest = read_manifest(path)
        if manifest is None:
            found[name] = ["its manifest is damaged"]
            continue
        sources = _stale_sources(manifest, stale_files) - {name}
        reasons = stale_reasons(manifest)
        for source in sorted(sources):
            reasons.append(f"reads what {source} writes, which is out of date")
        if reasons:
            stale_files |= dict.fromkeys(manifest["written"], name)
        found[name] = reasons
    return found


def read_manifest(path: Path) -> Manifest | None:
    """The manifest of a file, or None if it is torn or lacks a part."""
    try:
        manifest = json.loads(path.read_text())
        whole = all(isinstance(manifest[part], dict) for part in ("code", "read", "written"))
        return manifest if whole else None
    except (ValueError, KeyError, TypeError):
        return None


def _stale_sources(manifest: Manifest, stale_files: dict[str, str]) -> set[str]:
    """The stale notebooks that write something which this manifest reads."""
    sources = set()
    for read in manifest["read"]:
        for file, writer in stale_files.items():
            if file == read or file.startswith(f"{read}/"):
                sources.add(writer)
    return sources


def report() -> int:
    """Print the status of everything; 1 if something is out of date, else 0."""
    found = status(ROOT / "data" / "provenance", ROOT / "notebooks")
    for name, reasons in found.items():
        print(f"{name:<24} {'OUT OF DATE' if reasons else 'current'}")
        for reason in reasons:
            print(f"    {reason}")
    stale = [name for name, reasons in found.items() if reasons]
    if stale:
        print(f"./run_all.sh makes them anew: {', '.join(stale)}")
        return 1
    print("everything is current (build/ is not looked at)")
    return 0
