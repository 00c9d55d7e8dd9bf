"""The paper: no result is typed, every number is quoted, generated files name their notebook, the
PDF builds and is the same twice."""

import json
import re
import shutil

import papermill
import pytest

from pinnlib import RunSpec
from pinnlib.bundle import pdf
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.report.findings import NOT_QUOTED
from pinnlib.runs.store import Store, decode, encode
from pinnlib.style.latex import macro_name

PAPER = ROOT / "paper"
SOURCE = (PAPER / "main.tex").read_text(encoding="utf-8")
TEXT = re.sub(r"(?<!\\)%.*", "", SOURCE.split(r"\begin{document}")[-1])  # without comments
GENERATED = {
    path.stem: path.read_text(encoding="utf-8") for path in (PAPER / "generated").glob("*.tex")
}

# What may stand in the text as a digit: names, not results.
COMMANDS = "label|ref|cite|input|includegraphics|begin|end|code|text|vspace|paragraph"
NAMES = rf"\\(?:{COMMANDS})\*?(?:\[[^\]]*\])?\{{[^}}]*\}}"
SETTINGS = (
    r"k=\d+",  # a stiffness named by the original
    r"\\lamIC=(?:0|50)\b",
    r"95\\%",  # the level of every interval
    r"below 0\.05",  # the level of every test
    r"\$1\{:\}2\$",  # the resonance
    r"ReL2E|rel\\_l2\\_u",  # a metric's name
    r"[_^]\{?\\?(?:min|mathrm\{\w+\})?-?\d?\}?",  # indices and exponents
    r"\\tfrac12|g'?\(0\)(?:=0)?|r\(0\)|1-e|\b2\\(?:dot|omega)|0\\le",  # parts of formulas
    r"\\mathrm\{1s\}|\(1\+e|\)\^2\+1|DOP853",  # more parts, and a method
    r"0\.\d+\\linewidth|\d+(?:pt|em|in)\b",  # lengths
)


def digits(text):
    """The digits of a LaTeX text that are neither names nor settings, with what surrounds them."""
    text = re.sub(NAMES, " ", text)
    text = re.sub("|".join(SETTINGS), " ", text)
    return re.findall(r".{0,25}\d[\d.,]*.{0,15}", text)


def test_no_result_is_typed_in_the_text():
    assert digits(TEXT) == []


TYPED = [
    "the error is 0.026",
    "$p=0.0012$",
    "wins 17 of 20 seeds",
    r"$7.6\times10^{-6}$",
    "a factor 2 better",
    r"by 12\%",
]


@pytest.mark.parametrize("result", TYPED)
def test_a_typed_result_would_be_found(result):
    assert digits(TEXT.replace(r"\section{Limits}", rf"\section{{Limits}} {result}."))


# Macros: \Word with a capital is a number of a notebook

LATEX_OWN = {"FloatBarrier"}
QUOTED = set(re.findall(r"\\([A-Z][A-Za-z]+)", TEXT)) - LATEX_OWN
DEFINED = re.findall(r"\\newcommand\{\\(\w+)\}", GENERATED["macros"])


def test_every_macro_is_defined_once():
    assert len(set(DEFINED)) == len(DEFINED)


def test_every_macro_of_the_text_is_defined():
    assert QUOTED - set(DEFINED) == set()


def test_every_defined_macro_is_in_the_text():
    assert set(DEFINED) - QUOTED == set()


NUMBERS = sorted((ROOT / "data" / "numbers").glob("*.json"))


@pytest.mark.parametrize("path", NUMBERS, ids=lambda path: path.stem)
def test_every_number_is_in_the_text_or_read_by_a_notebook(path):
    keys = set(json.loads(path.read_text())) - set(NOT_QUOTED)
    assert {key for key in keys if macro_name(key) not in QUOTED} == set()


def test_generated_files_are_all_used():
    assert set(re.findall(r"\\input\{generated/(\w+)\}", SOURCE)) == set(GENERATED)


@pytest.mark.parametrize("name", GENERATED)
def test_generated_files_name_their_notebook(name):
    notebook = re.match(r"% Made by (notebooks/\w+\.ipynb);", GENERATED[name])
    assert notebook is not None
    assert (ROOT / notebook[1]).exists()


def test_every_figure_is_there():
    for name in re.findall(r"\\includegraphics\[[^\]]*\]\{([^}]*)\}", SOURCE):
        assert (ROOT / "figures" / f"{name}.pdf").exists(), name


def test_every_reference_is_cited():
    bibliography = (PAPER / "references.bib").read_text(encoding="utf-8")
    cited = ",".join(re.findall(r"\\cite\{([^}]*)\}", SOURCE)).split(",")
    assert set(cited) == set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M))


# The PDF

needs_latex = pytest.mark.skipif(
    shutil.which("latexmk") is None, reason="latexmk is missing (./run_all.sh tells how to get it)"
)


def test_only_the_committed_records_make_the_paper():
    assert pdf.build_pdf("smoke", False).startswith("none")
    assert pdf.build_pdf("paper", True).startswith("none")


def test_without_latexmk_the_pdf_is_skipped(monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    assert pdf.build_pdf("paper", False).startswith("skipped")


@needs_latex
@pytest.mark.parametrize(
    "text, error",
    [("\n\\nonsense\n", r"Undefined control sequence.*l\.2"), ("see \\ref{nowhere}", "nowhere")],
)
def test_a_failure_names_the_first_error(tmp_path, text, error):
    document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
    (tmp_path / "main.tex").write_text(document)
    with pytest.raises(pdf.PdfError, match=error):
        pdf.compile_pdf(tmp_path, tmp_path / "build")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The PDF of the repository and its log."""
    return pdf.compile_pdf(place=tmp_path_factory.mktemp("paper") / "build")


@needs_latex
@pytest.mark.slow
def test_two_builds_give_the_same_bytes(compiled, tmp_path):
    again, _ = pdf.compile_pdf(place=tmp_path / "build")
    assert again.read_bytes() == compiled[0].read_bytes()


@needs_latex
@pytest.mark.slow
def test_no_line_is_too_wide(compiled):
    assert pdf.overfull(compiled[1]) == 0


def change_record(folder, spec, metric, change):
    """Add to a metric of one record of the store in `folder`."""
    for path in Store(folder).files():
        records = [decode(line) for line in path.read_text().splitlines(keepends=True)]
        for record in records:
            if record["key"] == spec.key:
                record["metrics"][metric] += change
                path.write_text("".join(map(encode, records)))


def mean_error(paper):
    """Mean ReL2E of the exponential gate at k = 20 with penalty in the table of tests."""
    table = (paper / "generated" / "tests.tex").read_text(encoding="utf-8")
    row = re.search(r"^50 & 20 & ReL2E.*", table, re.M)
    return float(row[0].split("&")[5])


@needs_latex
@pytest.mark.notebook
def test_another_record_makes_another_pdf(compiled, tmp_path):
    for folder in ("data", "figures", "paper"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    spec = RunSpec(gate="exp", k=20, seed=3)  # one of the twenty behind a published row
    change_record(tmp_path / "data" / "records", spec, "rel_l2_u", 2.0)
    for name in ("03_statistics", "07_claims"):
        papermill.execute_notebook(
            NOTEBOOKS / f"{name}.ipynb",
            tmp_path / f"{name}.ipynb",
            {"output": str(tmp_path)},
            kernel_name="python3",
            progress_bar=False,
        )
    paper = tmp_path / "paper"
    assert mean_error(paper) == pytest.approx(mean_error(PAPER) + 0.1, abs=2e-3)  # 2.0 / 20 seeds
    changed, _ = pdf.compile_pdf(paper, tmp_path / "build")
    assert changed.read_bytes() != compiled[0].read_bytes()
