"""The committed notebooks: executed, plain, and with the question at the top."""

import ast
import json
import re
from pathlib import Path

import nbformat
import pytest

from pinnlib.bundle import pipeline
from pinnlib.bundle.output import LAB
from pinnlib.paths import NOTEBOOKS, ROOT

BOOKS = sorted(NOTEBOOKS.glob("*.ipynb"))
each = pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
each_numbered = pytest.mark.parametrize("path", pipeline.numbered(), ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(path):
    return [cell for cell in read(path).cells if cell.cell_type == "code" and cell.source.strip()]


def tags(cell):
    return cell.metadata.get("tags", [])


def lines_without_imports(source):
    """The lines of a cell that are neither blank nor part of an import."""
    lines = dict(enumerate(source.splitlines(), 1))
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for number in range(node.lineno, node.end_lineno + 1):
                lines.pop(number)
    return [line for line in lines.values() if line.strip()]


@each
def test_it_was_executed_from_top_to_bottom(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@each
def test_no_cell_failed_or_warned(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"


@each
def test_it_has_the_plain_kernel_and_no_injected_cell(path):
    book = read(path)
    assert book.metadata.kernelspec.name == "python3"
    assert not any(pipeline.INJECTED in tags(cell) for cell in book.cells)


@each_numbered
def test_it_has_one_parameters_cell_and_writes_to_the_lab(path):
    assert sum("parameters" in tags(cell) for cell in read(path).cells) == 1
    assert pipeline.default_parameters(path)["output"] == LAB


@each
def test_its_cells_have_no_definitions_magic_or_trailing_semicolon(path):
    for cell in code_cells(path):
        assert not re.search(r"^\s*(def|class|async def) ", cell.source, re.M)
        assert not re.search(r"^\s*[!%]", cell.source, re.M)
        assert not cell.source.rstrip().endswith(";")


@each
def test_its_outputs_name_no_path_or_address_of_a_machine(path):
    for cell in code_cells(path):
        text = re.sub(r'"image/png": "[^"]*"', "", json.dumps(cell.outputs))
        assert str(ROOT) not in text
        assert f"{Path.home()}/" not in text
        assert not re.search(r"0x[0-9a-f]{6,}|/home/|/tmp/", text)


@each
def test_its_cells_are_short_and_follow_a_sentence(path):
    cells = read(path).cells
    for before, cell in zip(cells, cells[1:], strict=False):  # pairs of neighbours
        if cell.cell_type != "code" or "parameters" in tags(cell):
            continue
        lines = lines_without_imports(cell.source)
        assert len(lines) <= 10, cell.source
        assert all(len(line) <= 100 for line in lines), cell.source
        if lines:
            assert before.cell_type == "markdown", cell.source


@each
def test_it_opens_with_its_question(path):
    first = read(path).cells[0]
    assert first.cell_type == "markdown"
    assert re.search(r"^\*\*Question\.\*\* .*\?$", first.source, re.M)


@each_numbered
def test_it_says_what_it_reads_and_writes(path):
    first = read(path).cells[0].source
    assert re.search(r"^\*\*Reads\*\* \S", first, re.M)
    assert re.search(r"^\*\*Writes\*\* \S", first, re.M)
