"""The PDF: built when it can be, the same bytes twice, other records make another one."""

import re
import shutil
import subprocess
import unicodedata

import papermill
import pytest

from pinnlib import RunSpec
from pinnlib.bundle import pdf
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.runs.store import Store, decode, encode

PAPER = ROOT / "paper"
needs_latex = pytest.mark.skipif(
    shutil.which("latexmk") is None,
    reason=f"latexmk is missing; on Debian or Ubuntu: sudo {pdf.INSTALL}",
)


def test_without_latexmk_the_message_has_the_command(monkeypatch):
    monkeypatch.setattr(pdf.shutil, "which", lambda name: None)
    message = pdf.build_pdf()
    assert message.startswith("skipped")
    assert message.endswith(pdf.INSTALL)


def test_run_all_installs_the_same_packages():
    packages = pdf.INSTALL.partition("--no-install-recommends ")[2]
    assert f"latexmk {packages.partition('latexmk ')[2]};" in (ROOT / "run_all.sh").read_text()


def test_the_first_error_of_a_log():
    log = "text\n! Undefined control sequence.\n<recently read> \\x\nl.2 \\x\n! Later.\nl.9 y\n"
    assert pdf.first_error(log) == r"Undefined control sequence. l.2 \x"
    warning = "LaTeX Warning: Reference `nowhere' on page 1 undefined on input line 3."
    assert pdf.first_error(f"a\n{warning}\n") == warning
    assert pdf.first_error("all is well\n") == ""


def test_only_lines_that_a_reader_sees_are_too_wide():
    log = "Overfull \\hbox (1.5pt too wide) in\nOverfull \\hbox (12.0pt too wide) in\n"
    assert pdf.overfull(log) == 1


@needs_latex
@pytest.mark.parametrize(
    "body, why", [("\n\\nonsense", r"l\.2"), (r"see \ref{nowhere}", "nowhere")]
)
def test_a_failure_names_the_first_error(tmp_path, body, why):
    source = rf"\documentclass{{article}}\begin{{document}}{body}" + "\n\\end{document}"
    (tmp_path / "main.tex").write_text(source)
    with pytest.raises(pdf.PdfError, match=why):
        pdf.compile_pdf(tmp_path, tmp_path / "build")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The paper and the log of LaTeX."""
    return pdf.compile_pdf(place=tmp_path_factory.mktemp("pdf"))


@needs_latex
@pytest.mark.slow
def test_two_builds_give_the_same_bytes(built, tmp_path):
    first, _ = built
    second, _ = pdf.compile_pdf(place=tmp_path / "two")
    assert first.read_bytes() == second.read_bytes()


@needs_latex
@pytest.mark.slow
def test_nothing_runs_off_the_page(built):
    _, log = built
    assert pdf.overfull(log) == 0
    assert "Overfull \\vbox" not in log
    assert "Float too large" not in log


def captions():
    """The first words of every caption in main.tex."""
    source = (PAPER / "main.tex").read_text(encoding="utf-8")
    return [words.strip() for words in re.findall(r"\\caption\{((?:[A-Za-z-]+ ){2,4})", source)]


@needs_latex
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is missing")
def test_every_caption_is_on_a_page(built):
    paper, _ = built
    done = subprocess.run(["pdftotext", paper, "-"], capture_output=True, text=True, check=True)
    letters = unicodedata.normalize("NFKC", done.stdout)  # without ligatures
    text = " ".join(letters.split())
    assert len(captions()) > 20
    assert [words for words in captions() if words not in text] == []


def change_record(folder, spec, added):
    """Add to the error of one recorded run."""
    (path,) = (path for path in Store(folder).files() if path.stem == "adaptive_exp_balanced")
    records = [decode(line) for line in path.read_text().splitlines(keepends=True)]
    for record in records:
        if record["key"] == spec.key:
            record["metrics"]["rel_l2_u"] += added
    path.write_text("".join(encode(record) for record in records))


def mean_in_table(paper):
    """The mean error of the exponential gate at k = 20 in the table of tests."""
    text = (paper / "generated" / "tests.tex").read_text(encoding="utf-8")
    row = re.search(r"^50 & 20 & ReL2E.*", text, re.M)[0]
    return float(row.split("&")[5])


@needs_latex
@pytest.mark.notebook
def test_another_record_makes_another_pdf(tmp_path):
    shutil.copytree(ROOT / "data", tmp_path / "data")
    shutil.copytree(PAPER, tmp_path / "paper")
    shutil.copytree(ROOT / "figures", tmp_path / "figures")
    one_of_twenty = RunSpec(gate="exp", k=20, seed=3)
    change_record(tmp_path / "data" / "records", one_of_twenty, added=2.0)
    for name in ("03_statistics", "10_claims"):
        papermill.execute_notebook(
            NOTEBOOKS / f"{name}.ipynb",
            tmp_path / f"{name}.ipynb",
            {"output": str(tmp_path)},
            kernel_name="python3",
            progress_bar=False,
        )
    assert mean_in_table(tmp_path / "paper") == pytest.approx(mean_in_table(PAPER) + 0.1, abs=2e-3)
    ours, _ = pdf.compile_pdf(PAPER, tmp_path / "ours")
    changed, _ = pdf.compile_pdf(tmp_path / "paper", tmp_path / "changed")
    assert ours.read_bytes() != changed.read_bytes()
