"""The index page of a build: answers, and links to what there is."""

import json

import nbformat
import pytest
from bs4 import BeautifulSoup

from pinnlib.bundle import index, pipeline
from pinnlib.bundle.index import ANSWERS, FIGURE, HEADLINES, title_and_question, write_index
from pinnlib.paths import NOTEBOOKS, ROOT

QUESTION = "# 08 · Rates\n\n**Question.** Is $k = 20$ special?\n\n**Reads** nothing."


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A build with nothing in it, of a repository with one notebook."""
    notebooks = tmp_path / "books"
    notebooks.mkdir()
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(QUESTION)])
    nbformat.write(book, notebooks / "08_rate.ipynb")
    monkeypatch.setattr(pipeline, "NOTEBOOKS", notebooks)
    place = tmp_path / "build"
    place.mkdir()
    return place


def save(folder, name, content="x"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def built(place, results=None):
    path = write_index(place, results or place)
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def links(soup):
    """The addresses that lead out of the page."""
    found = [tag["href"] for tag in soup.find_all(href=True)]
    return [address for address in found if not address.startswith("#")]


def test_an_empty_build_has_a_page_without_links_and_pictures(place):
    soup = built(place)
    assert soup.h1.text.startswith(index.TITLE)
    assert links(soup) == []
    assert not soup.find_all(src=True)
    assert [heading.text for heading in soup.find_all(["h2", "h3"])] == []


def test_answers_are_those_of_the_numbers_in_the_order_of_the_questions(place):
    headlines = {key: f"text of {key}" for key in HEADLINES}
    answers = {key: f"text of {key}" for key in reversed(ANSWERS)}
    save(place, "data/numbers/03_statistics.json", json.dumps(headlines))
    save(place, "data/numbers/08_rate.json", json.dumps(answers | {"other_text": "not quoted"}))
    text = built(place).text
    places = [text.find(f"text of {key}") for key in [*HEADLINES, *ANSWERS]]
    assert -1 not in places
    assert places == sorted(places)
    assert "not quoted" not in text


def test_open_and_missing_answers_are_left_out(place):
    numbers = {"rate_answer": "open", "recipe_answer": "Take $g(t) = t$.", "kernel_answer": 3}
    save(place, "data/numbers/08_rate.json", json.dumps(numbers))
    soup = built(place)
    (heading,) = soup.find_all("h3")
    assert ANSWERS["recipe_answer"] in heading.text
    assert "$" not in soup.text
    assert heading.find_next("p").find("math")


def test_an_answer_links_its_notebook_if_the_page_of_it_is_there(place):
    save(place, "data/numbers/08_rate.json", json.dumps({"rate_answer": "No."}))
    assert links(built(place)) == []
    save(place, "notebooks/08_rate.html")
    assert links(built(place)) == ["notebooks/08_rate.html"] * 2  # answer and list


def test_notebooks_are_listed_with_title_and_question(place):
    save(place, "notebooks/08_rate.html")
    save(place, "notebooks/09_removed.html")  # of an older build
    (item,) = built(place).find_all("li")
    assert item.a.text == "08 · Rates"
    assert item.text.split("\n")[1].startswith("Is ")
    assert item.find("math")


def test_a_notebook_without_title_and_question_is_called_by_its_file(tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("text")])
    nbformat.write(book, tmp_path / "01_plain.ipynb")
    assert title_and_question(tmp_path / "01_plain.ipynb") == ("01_plain", "")


def test_the_headline_figure_is_part_of_the_page(place):
    save(place, FIGURE, "a picture")
    (image,) = built(place).find_all("img")
    assert image["src"].startswith("data:image/png;base64,")
    assert image["alt"]


def test_pdf_and_tables_are_copied_to_the_build(place, tmp_path):
    results = tmp_path / "results"
    names = ["paper/main.pdf", "data/runs.csv", "data/mine.csv"]
    for name in names:
        save(results, name, name)
    soup = built(place, results)
    assert sorted(links(soup)) == sorted(names)
    for name in names:
        assert (place / name).read_text() == name
    rows = [[cell.text for cell in row.find_all("td")] for row in soup.find_all("tr")[1:]]
    runs, mine = rows
    assert runs[0] == "runs.csv"
    assert "run" in runs[1]
    assert "02" in runs[2]
    assert mine == ["mine.csv", "", ""]  # data/README.md does not know it


def test_only_a_build_with_results_of_its_own_says_so(place):
    assert "results of its own" in built(place).text
    assert "results of its own" not in built(place, ROOT).text


def test_every_committed_table_is_described(place):
    soup = built(place, ROOT)
    rows = [[cell.text for cell in row.find_all("td")] for row in soup.find_all("tr")[1:]]
    tables = {path.name for path in (ROOT / "data").glob("*.csv")}
    assert {name for row in rows for name in row[0].split(", ")} == tables
    assert [row[0] for row in rows if not row[1] or not row[2]] == []


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_committed_notebook_has_a_title_and_a_question(path):
    title, question = title_and_question(path)
    assert title != path.stem
    assert question.endswith("?")
