"""The paper: no result is typed, every macro exists, generated files name their notebook, the PDF builds and is the same twice."""

import re
import shutil

import papermill
import pytest
from chromium import alone

from pinnlib import RunSpec
from pinnlib.bundle import pdf
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.runs.store import Store, decode, encode

PAPER = ROOT / "paper"
SOURCE = (PAPER / "main.tex").read_text(encoding="utf-8")
GENERATED = sorted((PAPER / "generated").glob("*.tex"))

# What may stand in the text as a digit: names, not results.
NAMES = r"\\(?:label|ref|cite|input|includegraphics|begin|end|code|text|vspace|paragraph)\*?(?:\[[^\]]*\])?\{[^}]*\}"
SETTINGS = (
    r"k=\d+",  # a stiffness named by the original
    r"\\lamIC=(?:0|50)\b",
    r"95\\%",  # the level of every interval
    r"below 0\.05",  # the level of every test
    r"\$1\{:\}2\$",  # the resonance
    r"ReL2E|rel\\_l2\\_u",  # a metric's name
    r"[_^]\{?\\?(?:min|mathrm\{\w+\})?-?\d?\}?",  # indices and exponents
    r"\\tfrac12|g'?\(0\)(?:=0)?|r\(0\)|1-e|\b2\\(?:dot|omega)|0\\le|\\mathrm\{1s\}|\(1\+e|\)\^2\+1|DOP853",  # parts of formulas, and a method
    r"0\.\d+\\linewidth|\d+(?:pt|em|in)\b",  # lengths
)


def typed(source):
    """The digits of a LaTeX text that are neither names nor settings, each with what surrounds it."""
    body = source.split(r"\begin{document}")[-1]
    body = re.sub(r"(?<!\\)%.*", "", body)
    body = re.sub(NAMES, " ", body)
    body = re.sub("|".join(SETTINGS), " ", body)
    return [
        body[max(found.start() - 25, 0) : found.end() + 15]
        for found in re.finditer(r"\d[\d.,]*", body)
    ]


def test_no_result_is_typed_in_the_text():
    assert typed(SOURCE) == []


TYPED = [
    "the error is 0.026",
    "$p=0.0012$",
    "wins 17 of 20 seeds",
    r"$7.6\times10^{-6}$",
    "a factor 2 better",
    r"by 12\%",
]


@pytest.mark.parametrize("text", TYPED)
def test_a_typed_result_would_be_found(text):
    assert typed(SOURCE.replace(r"\section{Limits}", rf"\section{{Limits}} {text}."))


def test_words_for_numbers_of_results_are_not_typed_either():
    body = re.sub(r"(?<!\\)%.*", "", SOURCE.split(r"\begin{document}")[-1])
    counted = r"\b(?:all|none|seven|six|five) (?:of the )?(?:eight|published|sixteen) (?:tests|rows|means|claims)\b[^.]*(?:reproduce|agree)"
    assert not re.findall(counted, body)


def test_every_macro_of_the_text_is_defined_once_by_a_notebook():
    own = re.findall(
        r"\\newcommand\{\\(\w+)\}", (PAPER / "generated" / "macros.tex").read_text(encoding="utf-8")
    )
    assert len(set(own)) == len(own)
    assert all(name.isalpha() for name in own)
    used = set(re.findall(r"\\([A-Z][A-Za-z]{4,})", SOURCE.split(r"\begin{document}")[-1])) - {
        "FloatBarrier"
    }
    assert used and used <= set(own), used - set(own)


def test_generated_files_name_their_notebook_and_are_all_used():
    used = set(re.findall(r"\\input\{generated/(\w+)\}", SOURCE))
    assert used == {path.stem for path in GENERATED}
    for path in GENERATED:
        notebook = re.match(r"% Made by (notebooks/\w+\.ipynb);", path.read_text(encoding="utf-8"))[
            1
        ]
        assert (ROOT / notebook).exists()


def test_every_figure_and_reference_is_there():
    for name in re.findall(r"\\includegraphics\[[^\]]*\]\{([^}]*)\}", SOURCE):
        assert (ROOT / "figures" / f"{name}.pdf").exists(), name
    entries = set(
        re.findall(r"^@\w+\{(\w+),", (PAPER / "references.bib").read_text(encoding="utf-8"), re.M)
    )
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", SOURCE) for key in keys.split(",")}
    assert cited == entries


# The PDF


def test_only_the_committed_records_make_the_paper():
    assert (
        "results in the repository itself"
        in pdf.build_pdf("smoke", False)
        == pdf.build_pdf("paper", True)
    )


def test_without_latexmk_others_are_told_the_one_command(monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    told = pdf.build_pdf("paper", False)
    assert "everything else is finished" in told
    assert told.endswith("latexmk texlive-latex-extra texlive-fonts-recommended")


def test_root_on_debian_installs_and_nobody_else(monkeypatch):
    calls, there = [], {"apt-get"}
    monkeypatch.setattr(pdf.shutil, "which", lambda name: name if name in there else None)
    monkeypatch.setattr(
        pdf.subprocess,
        "run",
        lambda command, **_: calls.append(command) or "install" in command and there.add("latexmk"),
    )
    monkeypatch.setattr(pdf.os, "geteuid", lambda: 1000)
    assert not pdf.install()
    assert not calls
    monkeypatch.setattr(pdf.os, "geteuid", lambda: 0)
    assert pdf.install()
    assert [command[1] for command in calls] == ["update", "install"]


@pytest.fixture(scope="module")
def latex():
    with alone():
        found = pdf.install()
    if not found:
        pytest.skip(f"latexmk is missing; on Debian or Ubuntu: sudo {' '.join(pdf.INSTALL)}")


@pytest.mark.usefixtures("latex")
def test_a_failure_names_the_first_error(tmp_path):
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\n\\nonsense\n\\end{document}"
    )
    with pytest.raises(pdf.PdfError, match=r"Undefined control sequence.*l\.2"):
        pdf.compile_pdf(tmp_path, tmp_path / "build")
    (tmp_path / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}see \\ref{nowhere}\\end{document}"
    )
    with pytest.raises(pdf.PdfError, match="nowhere"):
        pdf.compile_pdf(tmp_path, tmp_path / "build")


@pytest.mark.usefixtures("latex")
def test_two_builds_give_the_same_bytes_without_a_line_that_sticks_out(tmp_path):
    (first, log), (second, _) = (pdf.compile_pdf(place=tmp_path / name) for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    assert pdf.overfull(log) == 0


@pytest.mark.usefixtures("latex")
def test_another_record_makes_another_pdf(tmp_path):
    shutil.copytree(ROOT / "data", tmp_path / "data")
    shutil.copytree(PAPER, tmp_path / "paper")
    changed = RunSpec(gate="exp", k=20, seed=3)  # one of the twenty behind a published row
    (path,) = (
        path
        for path in Store(tmp_path / "data" / "records").files()
        if path.stem == "adaptive_exp_balanced"
    )
    records = [decode(line) for line in path.read_text().splitlines(keepends=True)]
    for record in records:
        if record["key"] == changed.key:
            record["metrics"]["rel_l2_u"] += 2.0  # a mean of twenty moves by a tenth
    path.write_text("".join(map(encode, records)))
    papermill.execute_notebook(
        NOTEBOOKS / "07_claims.ipynb",
        tmp_path / "07.ipynb",
        {"output": str(tmp_path)},
        kernel_name="python3",
        progress_bar=False,
    )
    (tmp_path / "figures").symlink_to(ROOT / "figures")

    def mean(folder):
        row = re.search(
            r"^50 & 20 & ReL2E.*",
            (folder / "generated" / "tests.tex").read_text(encoding="utf-8"),
            re.M,
        )[0]
        return float(row.split("&")[5])

    assert mean(tmp_path / "paper") == pytest.approx(mean(PAPER) + 0.1, abs=2e-3)
    ours, theirs = (
        pdf.compile_pdf(source, tmp_path / name)[0].read_bytes()
        for name, source in (("a", PAPER), ("b", tmp_path / "paper"))
    )
    assert ours != theirs
