"""paper/main.pdf by latexmk: the same bytes from the same inputs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from pinnlib.bundle import staleness
from pinnlib.bundle.output import save_manifest
from pinnlib.bundle.staleness import Manifest, digest, relative
from pinnlib.paths import ROOT
from pinnlib.registry import UserError
from pinnlib.runs.provenance import commit

PAPER = ROOT / "paper"
INSTALL = (  # also in run_all.sh, which runs it as root
    "apt-get install --no-install-recommends latexmk texlive-latex-extra texlive-fonts-recommended"
)
NO_CLOCK = {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1", "TZ": "UTC"}
LONG_LINES = {"max_print_line": "1000"}  # in the log
LATEXMK = ["latexmk", "-norc", "-pdf", "-interaction=nonstopmode", "-halt-on-error"]


class PdfError(UserError):
    """LaTeX failed; the message is its first error."""


def first_error(log: str) -> str:
    """The first error or undefined reference of a LaTeX log, with its source line, or ""."""
    error = re.search(r"^! (.*)(?:\n(?!l\.\d).*){0,6}?\n(l\.\d+.*)$", log, re.M)
    error = error or re.search(r"^! (.*)()$", log, re.M)
    if error:
        return " ".join(f"{error[1]} {error[2]}".split())
    warning = r"^(?:LaTeX|Package natbib) Warning: (?:Reference|Citation).*undefined.*$"
    undefined = re.search(warning, log, re.M)
    return undefined[0] if undefined else ""


def overfull(log: str, points: float = 2.0) -> int:
    """How many lines are too wide by more than `points`."""
    widths = re.findall(r"^Overfull \\hbox \(([\d.]+)pt too wide", log, re.M)
    return sum(float(width) > points for width in widths)


def compile_pdf(source: Path = PAPER, place: Path = ROOT / "build" / "pdf") -> tuple[Path, str]:
    """Build `source`/main.tex from nothing in `place`; returns (pdf, log) or raises PdfError."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    done = subprocess.run(
        [*LATEXMK, f"-outdir={place}", "main.tex"],
        cwd=source,
        env=os.environ | NO_CLOCK | LONG_LINES,
        capture_output=True,
        text=True,
        errors="replace",
    )
    log_file = place / "main.log"
    printed = f"{done.stdout}\n{done.stderr}".strip()
    log = log_file.read_text(errors="replace") if log_file.exists() else printed
    error = first_error(log)
    if done.returncode and not error:
        error = printed.splitlines()[-1] if printed else "latexmk failed"
    if error:
        raise PdfError(f"paper/main.tex: {error}\nthe log is kept: {log_file}")
    return place / "main.pdf", log


def paper_manifest() -> Manifest:
    """What paper/main.pdf was made from, by content, for ./run_all.sh status."""
    source = (PAPER / "main.tex").read_text(encoding="utf-8")
    figures = re.findall(r"\\includegraphics\[[^\]]*\]\{([^}]*)\}", source)
    read = {*PAPER.glob("*.tex"), PAPER / "references.bib", PAPER / "generated"}
    read |= {ROOT / "figures" / f"{name}.pdf" for name in figures}
    code = Path(__file__).resolve()
    return {
        "notebook": staleness.PAPER,
        "parameters": {},
        "commit": commit(),
        "code": {relative(code): digest(code)},
        "read": {relative(path): digest(path) for path in sorted(read)},
        "written": {"paper/main.pdf": digest(PAPER / "main.pdf")},
    }


def build_pdf() -> str:
    """Build paper/main.pdf from the repository's tables and figures; returns what happened."""
    if not (PAPER / "generated" / "macros.tex").exists():
        return "skipped: paper/generated is not there; notebook 10 makes it"
    if shutil.which("latexmk") is None:
        return f"skipped: latexmk is missing. On Debian or Ubuntu: sudo {INSTALL}"
    pdf, log = compile_pdf()
    shutil.copyfile(pdf, PAPER / "main.pdf")
    save_manifest(paper_manifest(), ROOT / "data" / "provenance" / f"{staleness.PAPER}.json")
    wide = overfull(log)
    note = f" ({wide} lines too wide: see build/pdf/main.log)" if wide else ""
    return f"paper/main.pdf{note}"
