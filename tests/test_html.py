"""The HTML of a notebook: one file, readable without a network, formulas included."""

import nbformat
import pytest
from bs4 import BeautifulSoup

from pinnlib.bundle import html
from pinnlib.bundle.html import data_uri, markdown, page
from pinnlib.paths import NOTEBOOKS


@pytest.fixture(
    scope="module", params=sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem
)
def rendered(request):
    source = "\n".join(
        cell.source
        for cell in nbformat.read(request.param, as_version=4).cells
        if cell.cell_type == "markdown"
    )
    return source, BeautifulSoup(page(request.param), "html.parser")


def test_nothing_is_fetched(rendered):
    _, soup = rendered
    assert not soup.find_all(["script", "link", "iframe", "object", "embed"])
    assert all(tag["src"].startswith("data:") for tag in soup.find_all(src=True))
    styles = "".join(style.string for style in soup.find_all("style")) + "".join(
        tag["style"] for tag in soup.find_all(style=True)
    )
    assert "@import" not in styles
    assert styles.count("url(") == styles.count("url(data:")


def test_every_formula_is_mathml_and_fully_converted(rendered):
    source, soup = rendered
    formulas = [formula.extract() for formula in soup.find_all("math")]
    if "$" in source:
        assert formulas
    assert not any("\\" in formula.text for formula in formulas)
    for verbatim in soup.find_all(["pre", "code", "style"]):
        verbatim.extract()
    assert "$" not in soup.text  # neither in the text nor in a table


def test_a_picture_of_the_repository_is_part_of_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "NOTEBOOKS", tmp_path / "notebooks")
    picture = tmp_path / "figures" / "a.png"
    picture.parent.mkdir()
    (tmp_path / "notebooks").mkdir()
    picture.write_bytes(b"a picture")
    image = BeautifulSoup(markdown("![some text](../figures/a.png)"), "html.parser").img
    assert image["src"] == data_uri(picture) == "data:image/png;base64,YSBwaWN0dXJl"
    assert image["alt"] == "some text"


@pytest.mark.parametrize("address", ["nowhere.png", f"data:image/png;base64,{'A' * 5000}"])
def test_other_pictures_keep_their_address(address):
    image = BeautifulSoup(markdown(f"![some text]({address})"), "html.parser").img
    assert image["src"] == address


def test_a_formula_in_a_line_and_on_its_own():
    assert markdown("so $x_0 = 1$.").startswith(
        '<p>so <math xmlns="http://www.w3.org/1998/Math/MathML" display="inline">'
    )
    for source in ("$$x^2$$", "$$\nx^2\n$$", "\\begin{align}x^2\\end{align}"):
        assert 'display="block"' in markdown(source)
        assert "<msup>" in markdown(source)


@pytest.mark.parametrize(
    "source",
    [
        "from $5 to $6",
        "`$x$` and `$y$`",
        "```\n$x$\n```",
        "```sh\necho $HOME $PATH\n```",
        r"\$5\$",
        "just $5",
    ],
)
def test_other_dollars_stay(source):
    soup = BeautifulSoup(markdown(source), "html.parser")
    assert not soup.find("math")
    assert soup.text.count("$") == source.count("$")
