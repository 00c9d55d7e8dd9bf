"""index.html, the front page of a build: figure, answers, and links to all that was made."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat

from pinnlib.bundle.html import MATH_FONT, data_uri, markdown
from pinnlib.bundle.pipeline import numbered
from pinnlib.bundle.staleness import relative
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.runs.files import replacing

TITLE = "Which gate?"
SUMMARY = """A reproduction of *Gradient Scaling Effects in Adaptive Spectral PINNs for Stiff
Nonlinear ODEs* (Yepes and Protopapas, 2026, arXiv:2605.04502): which gate $g(t)$ should hold the
initial position of a physics-informed network, and why does it matter?"""
FIGURE = "figures/statistics/headline.png"
ALT = "Ratio of the errors, linear over exponential gate, against the stiffness k"
# Keys of data/numbers/*.json, which have the texts.
HEADLINES = ("headline_published", "headline_text_loss", "headline_own_rate")
ANSWERS = {  # key → the question that it answers
    "rate_answer": "Is it the learning rate?",
    "balancing_answer": "What in the balancing turns the winner?",
    "constraint_answer": "Is it the gate or the hard constraint?",
    "systems_answer": "Does it hold for other systems?",
    "practice_answer": "What do people do in practice?",
    "recipe_answer": "What should I use?",
    "kernel_answer": "Does the residual kernel explain it?",
    "gate_answer": "Which property of a gate decides?",
    "claims_answer": "Which claims of the paper hold?",
}
STYLE = f"""
body {{ max-width: 52rem; margin: 0 auto; padding: 1rem; color: #222; background: #fff;
       font: 1rem/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }}
h1, h2, h3 {{ line-height: 1.25; margin: 1.6em 0 0.4em; }}
h1 {{ margin-top: 0.5em; }}
h2 {{ border-bottom: 1px solid #ddd; padding-bottom: 0.2em; }}
h3 {{ font-size: 1.05rem; }}
p, ul {{ margin: 0.4em 0; }}
li {{ margin: 0.5em 0; overflow-wrap: anywhere; }}
a {{ color: #0b57a4; }}
.anchor-link {{ display: none; }}
img {{ max-width: 100%; height: auto; }}
code {{ font-size: 0.9em; }}
table {{ border-collapse: collapse; font-size: 0.9rem; }}
th, td {{ border-bottom: 1px solid #ddd; padding: 0.3em 0.6em 0.3em 0; text-align: left;
         vertical-align: top; overflow-wrap: anywhere; min-width: 4.5em; }}
math {{ white-space: nowrap; }}
{MATH_FONT}
"""
PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def write_index(place: Path, results: Path) -> Path:
    """Write `place`/index.html; returns its path.

    `place` has the pages of the notebooks, `results` the folders data, figures and paper.
    What the page links lies in `place` too, under the name that it has in `results`.
    """
    sections = [
        f"# {TITLE}\n\n{SUMMARY}",
        *_origin(results),
        *_headlines(results),
        *_report(place, results),
        *_answers(place, results),
        *_notebooks(place),
        *_tables(place, results),
    ]
    body = markdown("\n\n".join(sections))
    index = place / "index.html"
    with replacing(index) as temporary:
        temporary.write_text(PAGE.format(title=TITLE, style=STYLE, body=body), encoding="utf-8")
    return index


def _origin(results: Path) -> Iterator[str]:
    if results != ROOT:
        yield (
            f"**This build has runs or results of its own, in `{relative(results)}`.** "
            "Those of the repository may differ."
        )


def _headlines(results: Path) -> Iterator[str]:
    figure = results / FIGURE
    if figure.exists():
        yield f'<p><img src="{data_uri(figure)}" alt="{ALT}"></p>'
    texts = _texts(results)
    for key in HEADLINES:
        if key in texts:
            text, _ = texts[key]
            yield f"- {text}"


def _report(place: Path, results: Path) -> Iterator[str]:
    if (results / "paper" / "main.pdf").exists():
        link = _bring("paper/main.pdf", place, results)
        yield f"The whole study as a paper: [{link}]({link})."


def _answers(place: Path, results: Path) -> Iterator[str]:
    texts = _texts(results)
    keys = [key for key in ANSWERS if key in texts]
    if keys:
        yield "## Answers"
    for key in keys:
        text, notebook = texts[key]
        link = f"notebooks/{notebook}.html"
        source = f" ([notebook {notebook[:2]}]({link}))" if (place / link).exists() else ""
        yield f"### {ANSWERS[key]}\n\n{text}{source}"


def _texts(results: Path) -> dict[str, tuple[str, str]]:
    """Key → its text and the notebook that computed it; not those that are open."""
    found = {}
    for path in sorted(results.glob("data/numbers/*.json")):
        for key, value in json.loads(path.read_text(encoding="utf-8")).items():
            if isinstance(value, str) and value != "open":
                found[key] = (value, path.stem)
    return found


def _notebooks(place: Path) -> Iterator[str]:
    books = [*numbered(), NOTEBOOKS / "explorer.ipynb"]
    made = [book for book in books if (place / "notebooks" / f"{book.stem}.html").exists()]
    if made:
        yield "## Notebooks"
    for book in made:
        title, question = title_and_question(book)
        yield f"- [{title}](notebooks/{book.stem}.html)  \n  {question}"


def title_and_question(notebook: Path) -> tuple[str, str]:
    """What the first cell of a notebook says, or "" each."""
    text = nbformat.read(notebook, as_version=4).cells[0].source
    title = re.search(r"^# (.+)", text, re.M)
    question = re.search(r"^\*\*Question\.\*\* (.+)", text, re.M)
    return (title[1] if title else notebook.stem, question[1] if question else "")


def _tables(place: Path, results: Path) -> Iterator[str]:
    links = {}
    for path in sorted(results.glob("data/*.csv")):
        link = _bring(f"data/{path.name}", place, results)
        links[path.name] = f"[{path.name}]({link})"
    if not links:
        return
    lines = ["| table | one row is | made by |", "|---|---|---|"]
    for names, row, maker in _described():
        present = [links.pop(name) for name in names if name in links]
        if present:
            lines.append(f"| {', '.join(present)} | {row} | {maker} |")
    for link in links.values():
        lines.append(f"| {link} | | |")
    yield "## Tables\n\n" + "\n".join(lines)


def _described() -> Iterator[tuple[list[str], str, str]]:
    """The tables of each row of data/README.md, what one of their rows is, and what makes them."""
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    for names, row, maker in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|", text, re.M):
        yield re.findall(r"`([\w.]+\.csv)`", names), row, maker


def _bring(name: str, place: Path, results: Path) -> str:
    """Copy a file of the results to the place of the page; returns the link to it."""
    if results != place:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(results / name, place / name)
    return name
