"""paper/main.pdf by latexmk: the same bytes from the same inputs, installed where that is allowed, a plain word where it is not."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from pinnlib.bundle import staleness
from pinnlib.bundle.staleness import digest, relative
from pinnlib.paths import ROOT
from pinnlib.registry import UserError
from pinnlib.runs.provenance import commit

PAPER, PLACE = ROOT / "paper", ROOT / "build" / "pdf"
INSTALL = [
    "apt-get",
    "install",
    "--no-install-recommends",
    "latexmk",
    "texlive-latex-extra",
    "texlive-fonts-recommended",
]
STILL = {
    "SOURCE_DATE_EPOCH": "0",
    "FORCE_SOURCE_DATE": "1",
    "TZ": "UTC",
    "max_print_line": "1000",
}  # no clock, no cut line


class PdfError(UserError):
    """LaTeX failed; the message is its first complaint."""


def install():
    """True if latexmk is there, if need be after installing it: root on a Debian-like machine only."""
    if not shutil.which("latexmk") and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"capture_output": True, "env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run(["apt-get", "update"], **quiet)
        subprocess.run([*INSTALL[:2], "-y", *INSTALL[2:]], **quiet)
    return shutil.which("latexmk") is not None


def complaint(log):
    """The first error of a LaTeX log, with the line of the source it names, or the first reference that leads nowhere; else ""."""
    error = re.search(r"^! (.*(?:\n(?!l\.\d).*){0,6}?)\n(l\.\d+.*)$", log, re.M) or re.search(
        r"^! (.*)()$", log, re.M
    )
    if error:
        return " ".join(f"{error[1].splitlines()[0]} {error[2]}".split())
    undefined = re.search(
        r"^(?:LaTeX|Package natbib) Warning: (?:Reference|Citation).*undefined.*$", log, re.M
    )
    return undefined[0] if undefined else ""


def overfull(log, points=2.0):
    """How many lines stick out by more than a reader would overlook."""
    return sum(
        float(width) > points
        for width in re.findall(r"^Overfull \\hbox \(([\d.]+)pt too wide", log, re.M)
    )


def compile_pdf(source=PAPER, place=PLACE):
    """Build `source`/main.tex from nothing in `place`; returns (pdf, log) or raises PdfError."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    command = [
        "latexmk",
        "-norc",
        "-pdf",
        "-interaction=nonstopmode",
        "-halt-on-error",
        f"-outdir={place}",
        "main.tex",
    ]
    done = subprocess.run(
        command,
        cwd=source,
        env=os.environ | STILL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    kept = place / "main.log"
    log = kept.read_text(errors="replace") if kept.exists() else done.stdout + done.stderr
    said = ["latexmk failed", *f"{done.stdout}\n{done.stderr}".split("\n")]
    wrong = complaint(log) or (done.returncode and [line for line in said if line.strip()][-1])
    if wrong:
        raise PdfError(f"paper/main.tex: {wrong}\nthe log is kept: {kept}")
    return place / "main.pdf", log


def _record():
    """data/provenance/paper.json: what the PDF was made from, by content, for ./run_all.sh status."""
    source = (PAPER / "main.tex").read_text(encoding="utf-8")
    figures = [
        ROOT / "figures" / f"{name}.pdf"
        for name in re.findall(r"\\includegraphics\[[^\]]*\]\{([^}]*)\}", source)
    ]
    read = [PAPER / "main.tex", PAPER / "references.bib", PAPER / "generated", *figures]
    parts = {"code": [Path(__file__).resolve()], "read": read, "written": [PAPER / "main.pdf"]}
    told = {
        part: {relative(path): digest(path) for path in sorted(set(paths))}
        for part, paths in parts.items()
    }
    text = json.dumps(
        {"notebook": staleness.PAPER, "parameters": {}, "commit": commit()} | told, indent=1
    )
    (ROOT / "data" / "provenance" / f"{staleness.PAPER}.json").write_text(text + "\n")


def build_pdf(profile, fresh):
    """paper/main.pdf, from the tables and figures of the repository; says what came of it."""
    if profile != "paper" or fresh:
        return "none: it is made from the results in the repository itself only"
    if not (PAPER / "generated" / "macros.tex").exists():
        return "skipped: paper/generated is not there; notebook 07 makes it"
    if not install():
        return f"skipped: latexmk is missing; everything else is finished. On Debian or Ubuntu: sudo {' '.join(INSTALL)}"
    pdf, log = compile_pdf()
    shutil.copyfile(pdf, PAPER / "main.pdf")
    _record()
    wide = overfull(log)
    return "paper/main.pdf" + (f" ({wide} lines stick out: see build/pdf/main.log)" if wide else "")
