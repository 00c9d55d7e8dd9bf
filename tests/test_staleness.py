"""Which outputs are out of date, and why."""

import json

import nbformat
import pytest

from pinnlib.bundle import staleness
from pinnlib.bundle.staleness import digest
from pinnlib.paths import NOTEBOOKS


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository of our own."""
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    return tmp_path


def manifest(root, **parts):
    digests = {part: {name: digest(root / name) for name in names} for part, names in parts.items()}
    return {"code": {}, "read": {}, "written": {}} | digests


def test_every_change_is_named(root):
    for name in ("code.py", "in.csv", "out.csv"):
        (root / name).write_text(name)
    (root / "records").mkdir()
    (root / "records" / "a.jsonl").write_text("1")
    saved = manifest(root, code=["code.py"], read=["in.csv", "records"], written=["out.csv"])
    assert staleness.stale_reasons(saved) == []
    (root / "code.py").write_text("else")
    (root / "records" / "b.jsonl").write_text("2")
    (root / "out.csv").write_text("forged")
    (root / "in.csv").unlink()
    assert staleness.stale_reasons(saved) == [
        "code.py changed",
        "in.csv is gone",
        "records changed",
        "out.csv altered since it was made",
    ]


def test_what_is_made_from_stale_outputs_is_stale_too(root, capsys):
    (root / "data" / "provenance").mkdir(parents=True)
    (root / "generated").mkdir()
    for name in ("in.csv", "generated/a.tex", "b.csv", "c.csv"):
        (root / name).write_text(name)
    books = {
        "01_a": ("in.csv", "generated/a.tex"),
        "02_b": ("generated", "b.csv"),
        "03_c": ("c.csv", "c.csv"),
    }
    for name, (read, written) in books.items():
        (root / "notebooks" / f"{name}.ipynb").write_text("{}")
        saved = manifest(root, read=[read], written=[written])
        (root / "data" / "provenance" / f"{name}.json").write_text(json.dumps(saved))
    assert staleness.report() == 0
    assert "everything is current" in capsys.readouterr().out
    (root / "in.csv").write_text("changed")
    found = staleness.status(root / "data" / "provenance", root / "notebooks")
    assert found == {
        "01_a": ["in.csv changed"],
        "02_b": ["reads what 01_a writes, which is out of date"],
        "03_c": [],
    }
    assert staleness.report() == 1
    assert "01_a, 02_b" in capsys.readouterr().out


def test_a_notebook_without_a_manifest_was_never_run(root):
    (root / "notebooks" / "01_a.ipynb").write_text("{}")
    assert staleness.status(root, root / "notebooks") == {"01_a": ["never run: no manifest"]}


def test_only_the_code_of_a_notebook_counts(tmp_path):
    source = NOTEBOOKS / "01_reference_solutions.ipynb"
    book = nbformat.read(source, as_version=4)
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    for cell in cells:
        cell.outputs = []
        cell.execution_count = None
    nbformat.write(book, tmp_path / "bare.ipynb")
    assert digest(tmp_path / "bare.ipynb") == digest(source)
    cells[-1].source += "\n# changed"
    nbformat.write(book, tmp_path / "bare.ipynb")
    assert digest(tmp_path / "bare.ipynb") != digest(source)


@pytest.mark.parametrize("text", ['{"code": {}, "re', "", "{}", "[]", '{"code": 1, "read": {}}'])
def test_a_damaged_manifest_is_out_of_date(root, text):
    (root / "notebooks" / "01_a.ipynb").touch()
    (root / "01_a.json").write_text(text)
    found = staleness.status(root, root / "notebooks")
    assert found["01_a"] == ["its manifest is damaged"]
