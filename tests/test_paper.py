"""The paper: no result is typed, macros are defined, generated files name their notebook."""

import re

import pytest

from pinnlib.paths import ROOT

PAPER = ROOT / "paper"
SOURCE = (PAPER / "main.tex").read_text(encoding="utf-8")
INPUTS = [(PAPER / f"{name}.tex").read_text(encoding="utf-8") for name in ("mlrc", "checklist")]
BODY = "\n".join([SOURCE.split(r"\begin{document}")[-1], *INPUTS])
TEXT = re.sub(r"(?<!\\)%.*", "", BODY)  # without comments
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
    r"\\theta=0|\\tilde u\(0\)",  # standing still, and the start of the shifted ansatz
    r"[_^]\{?\\?(?:min|mathrm\{\w+\})?-?\d?\}?",  # indices and exponents
    r"\\tfrac12|g'?\(0\)(?:=0)?|r\(0\)|1-e|\b2\\(?:dot|omega)|0\\le",  # parts of formulas
    r"\\mathrm\{1s\}|\(1\+e|\)\^2\+1|DOP853",  # more parts, and a method
    r"0\.\d+\\(?:line|text)(?:width|height)|[\d.]+(?:pt|em|in)\b",  # lengths
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
