"""Which outputs are older than what they were made from, by content. Imports the standard library only: the command line answers at once."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAPER = "paper"  # the manifest of the PDF
SAVED = "data/provenance/saved.json"  # on which kind of machine the results were last made as a whole to be committed


def digest(path):
    """Short content hash of a file, of a notebook's code (its outputs are not inputs), or of the visible files of a folder."""
    if not path.exists():
        return "absent"
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
        data = "\0".join(f"{p.name} {digest(p)}" for p in files).encode()
    elif path.suffix == ".ipynb":
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        data = "\0".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        ).encode()
    else:
        data = path.read_bytes()
    return hashlib.sha256(data).hexdigest()[:16]


def relative(path):
    """A path as manifests tell it: from the repository root where it lies inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def stale(manifest):
    """Why the outputs of a manifest are not current: a list of sentences, empty if they are."""
    reasons = []
    for part, verb in (
        ("code", "changed"),
        ("read", "changed"),
        ("written", "altered since it was made"),
    ):
        for name, known in manifest[part].items():
            now = digest(ROOT / name)
            if now != known:
                reasons.append(f"{name} is gone" if now == "absent" else f"{name} {verb}")
    return reasons


def status(folder, notebooks):
    """Name → reasons, for every numbered notebook and the paper; None stands for: current."""
    found, late = {}, {}  # late: file → the stale notebook that writes it
    paper = [PAPER] * (notebooks.parent / "paper" / "main.tex").exists()
    for name in [
        *(notebook.stem for notebook in sorted(notebooks.glob("[0-9][0-9]_*.ipynb"))),
        *paper,
    ]:
        path = folder / f"{name}.json"
        manifest = json.loads(path.read_text()) if path.exists() else {"read": {}, "written": {}}
        reasons = stale(manifest) if path.exists() else ["never run: no manifest"]
        inherited = {
            late[file]
            for file in late
            for read in manifest["read"]
            if file == read or file.startswith(f"{read}/")
        }
        reasons += [
            f"reads what {other} writes, which is out of date"
            for other in sorted(inherited - {name})
        ]
        late |= dict.fromkeys(manifest["written"] if reasons else (), name)
        found[name] = reasons or None
    return found


def committed(here):
    """Whether the results in the repository are those of the last commit, in words, for a machine of the kind `here`; "" where git cannot tell."""
    if shutil.which("git") is None:
        return ""
    asked = subprocess.run(
        ["git", "status", "--porcelain", "--", "data", "figures", "paper"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    changed = len(asked.stdout.splitlines())
    told = "data/, figures/ and paper/ are the committed ones, byte for byte"
    differ = f"files in data/, figures/ and paper/ that are not as committed: {changed} (git status names them)"
    made = json.loads((ROOT / SAVED).read_text())["machine"] if (ROOT / SAVED).exists() else here
    if made != here:
        differ += f"; the committed ones were made on another kind of machine, {made}, and last digits may depend on it: this one is {here}"
    return "" if asked.returncode else differ if changed else told


def report():
    """Print the status of everything; 1 if something is out of date, else 0."""
    found = status(ROOT / "data" / "provenance", ROOT / "notebooks")
    for notebook, reasons in found.items():
        print(f"{notebook:<24} {'current' if reasons is None else 'OUT OF DATE'}")
        for reason in reasons or ():
            print(f"    {reason}")
    late = [notebook for notebook, reasons in found.items() if reasons]
    print(
        "everything is current (build/ is not looked at)"
        if not late
        else f"./run_all.sh makes them anew: {', '.join(late)}"
    )
    return int(bool(late))
