"""The pipeline and its notebooks: what papermill and nbval let pass in silence is caught here."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from pinnlib.bundle import pipeline, staleness
from pinnlib.paths import NOTEBOOKS, ROOT
from pinnlib.progress import HEADLESS

BOOKS = sorted(NOTEBOOKS.glob("*.ipynb"))
each = pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)


def code_cells(path):
    return [
        cell
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code" and cell.source.strip()
    ]


@each
def test_it_was_executed_from_top_to_bottom_without_error(path):
    cells = code_cells(path)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not [
        out
        for cell in cells
        for out in cell.outputs
        if out.output_type == "error" or out.get("name") == "stderr"
    ]


@each
def test_it_has_one_parameters_cell_and_the_plain_kernel(path):
    book = nbformat.read(path, as_version=4)
    assert book.metadata.kernelspec.name == "python3"
    if path.name[:2].isdigit():
        assert sum("parameters" in cell.metadata.get("tags", []) for cell in book.cells) == 1
        assert {"output"} <= set(pipeline.own_parameters(path))
    assert not any("injected-parameters" in cell.metadata.get("tags", []) for cell in book.cells)


@each
def test_its_cells_are_plain(path):
    """No definitions, no shell or magic that fails in silence, no trailing semicolon, no path or address of a machine."""
    for cell in code_cells(path):
        assert not re.search(r"^\s*(def|class|async def) ", cell.source, re.M)
        assert not re.search(r"^\s*[!%]", cell.source, re.M)
        assert not cell.source.rstrip().endswith(";")
        told = re.sub(
            r'"image/png": "[^"]*"', "", json.dumps(cell.outputs)
        )  # the letters of a picture may spell anything
        assert str(ROOT) not in told
        assert f"{Path.home()}/" not in told
        assert not re.search(r"0x[0-9a-f]{6,}|/home/|/tmp/", told)


@each
def test_its_cells_are_short_and_each_has_a_sentence(path):
    """But for parameters and imports: at most ten lines, 650 letters, 150 of them in a line, right after some prose."""
    book = nbformat.read(path, as_version=4).cells
    for before, cell in zip(book, book[1:]):
        lines = [
            line
            for line in cell.source.splitlines()
            if not line.startswith(("import ", "from ", "pd.set_option")) and line
        ]
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", []) and lines:
            assert (
                len(lines) <= 10
                and len(cell.source) <= 650
                and max(map(len, lines)) <= 150
                and before.cell_type == "markdown"
            ), cell.source


@each
def test_it_opens_with_its_question(path):
    first = nbformat.read(path, as_version=4).cells[0]
    assert first.cell_type == "markdown"
    assert "?" in first.source
    if path.name[:2].isdigit():
        assert re.search("reads", first.source, re.I)
        assert re.search("writes", first.source, re.I)


# Parameters


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder of notebooks of our own: 01 with parameters, 02 whose second cell fails."""

    def book(*sources):
        cells = [nbformat.v4.new_code_cell(source) for source in sources]
        cells[0].metadata["tags"] = ["parameters"]
        return nbformat.v4.new_notebook(
            cells=cells,
            metadata={
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
            },
        )

    shelf = tmp_path / "notebooks"
    shelf.mkdir()
    nbformat.write(
        book('output = ""\nseeds = 20\nlr = 1e-3\nstudies = ["main"]', "print(seeds)"),
        shelf / "01_good.ipynb",
    )
    nbformat.write(book('output = ""', "x = 1", "1 / 0"), shelf / "02_bad.ipynb")
    monkeypatch.setattr(pipeline, "NOTEBOOKS", shelf)
    monkeypatch.setattr(pipeline, "ROOT", tmp_path)
    return shelf


@pytest.mark.parametrize(
    "given, why",
    [
        ({"seed": 2}, "seed=2.*01_good, which has output, seeds, lr, studies"),
        ({"seeds": "2"}, "seeds='2'.*type of its default 20"),
        ({"lr": "1e-3"}, "lr='1e-3'.*type"),
        ({"studies": "main"}, "studies='main'.*type"),
    ],
)
def test_a_wrong_parameter_is_an_error_before_anything_runs(shelf, given, why):
    with pytest.raises(ValueError, match=why):
        pipeline.check_parameters(shelf / "01_good.ipynb", given)


def test_an_option_that_no_notebook_reads_is_an_error(shelf):
    with pytest.raises(ValueError, match="workers=3"):
        pipeline.plan(workers=3)


def test_a_whole_number_is_a_number(shelf):
    pipeline.check_parameters(shelf / "01_good.ipynb", {"lr": 1})


def test_parameters_arrive(shelf, tmp_path):
    ((_, executed, *_),) = pipeline.run(
        [(shelf / "01_good.ipynb", {"output": "out", "seeds": 3})], say=lambda _: None
    )
    assert "3" in json.dumps(nbformat.read(executed, as_version=4).cells[-1].outputs)
    assert executed.with_suffix(".html").exists()
    with pytest.raises(pipeline.PipelineError, match="01_good was run with other parameters"):
        pipeline.save_back([(shelf / "01_good.ipynb", executed, {}, 0)])


def test_a_failure_names_notebook_and_cell_and_keeps_the_execution(shelf, tmp_path):
    with pytest.raises(
        pipeline.PipelineError,
        match=r"02_bad, cell 4 .*ZeroDivisionError(.|\n)*kept: (.*02_bad\.ipynb)",
    ):
        pipeline.run([(shelf / "02_bad.ipynb", {"output": "out"})], say=lambda _: None)
    assert (tmp_path / "out" / "notebooks" / "02_bad.ipynb").exists()


def test_save_back_leaves_no_noise(shelf, tmp_path):
    ((_, executed, *_),) = pipeline.run([(shelf / "01_good.ipynb", {})], say=lambda _: None)
    torn = nbformat.read(executed, as_version=4)
    torn.cells[-1].outputs += [
        nbformat.v4.new_output("stream", text=text) for text in ("one", " line\n")
    ]
    nbformat.write(torn, executed)
    pipeline.save_back([(shelf / "01_good.ipynb", executed, {}, 0)])
    text = (shelf / "01_good.ipynb").read_text()
    assert '"one line\\n"' in text
    assert '"execution_count": 2' in text
    assert "start_time" not in text
    assert "papermill" not in text
    assert staleness.digest(shelf / "01_good.ipynb") == staleness.digest(
        executed
    )  # which is of the code alone


# Status


def test_status_names_what_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    for name in ("code.py", "in.csv", "out.csv"):
        (tmp_path / name).write_text(name)
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "a.jsonl").write_text("1")
    told = {"code": ["code.py"], "read": ["in.csv", "records"], "written": ["out.csv"]}
    told = {
        part: {name: staleness.digest(tmp_path / name) for name in names}
        for part, names in told.items()
    }
    assert staleness.stale(told) == []
    (tmp_path / "code.py").write_text("else")
    (tmp_path / "records" / "b.jsonl").write_text("2")
    (tmp_path / "out.csv").write_text("forged")
    (tmp_path / "in.csv").unlink()
    assert staleness.stale(told) == [
        "code.py changed",
        "in.csv is gone",
        "records changed",
        "out.csv altered since it was made",
    ]


def test_whether_the_results_are_the_committed_ones_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert staleness.committed("here") == ""  # no repository
    for name in ("data", "figures", "paper"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").write_text("1")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert staleness.committed("here").endswith("byte for byte")
    (tmp_path / "data" / "a").write_text("2")
    assert staleness.committed("here").endswith("not as committed: 1 (git status names them)")
    (tmp_path / "data" / "provenance").mkdir()
    (tmp_path / staleness.SAVED).write_text('{"machine": "there"}')
    assert "the committed ones were made on another kind of machine, there" in staleness.committed(
        "here"
    )
    assert staleness.committed("there").endswith("(git status names them)")


def test_what_is_made_from_stale_outputs_is_stale_too(tmp_path, monkeypatch):
    monkeypatch.setattr(staleness, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "generated").mkdir()
    for name in ("in.csv", "generated/a.tex", "b.csv", "c.csv"):
        (tmp_path / name).write_text(name)
    for name, read, written in (
        ("01_a", "in.csv", "generated/a.tex"),
        ("02_b", "generated", "b.csv"),
        ("03_c", "c.csv", "c.csv"),
    ):
        (tmp_path / "notebooks" / f"{name}.ipynb").write_text("{}")
        told = {
            "code": {},
            "read": {read: staleness.digest(tmp_path / read)},
            "written": {written: staleness.digest(tmp_path / written)},
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(told))
    assert staleness.status(tmp_path, tmp_path / "notebooks") == {
        "01_a": None,
        "02_b": None,
        "03_c": None,
    }
    (tmp_path / "in.csv").write_text("changed")
    found = staleness.status(tmp_path, tmp_path / "notebooks")
    assert found == {
        "01_a": ["in.csv changed"],
        "02_b": ["reads what 01_a writes, which is out of date"],
        "03_c": None,
    }


def test_a_notebooks_outputs_are_not_its_inputs(tmp_path):
    source = BOOKS[0]
    book = nbformat.read(source, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(book, tmp_path / "bare.ipynb")
    assert staleness.digest(tmp_path / "bare.ipynb") == staleness.digest(source)
    book.cells[-1].source += "\n# changed"
    nbformat.write(book, tmp_path / "bare.ipynb")
    assert book.cells[-1].cell_type == "markdown" or staleness.digest(
        tmp_path / "bare.ipynb"
    ) != staleness.digest(source)


# From nothing to everything


@pytest.fixture(scope="module")
def smoke():
    """The whole pipeline, from nothing, by the command, after its training was interrupted in the middle."""
    place = ROOT / "build" / "test-smoke"
    shutil.rmtree(place, ignore_errors=True)
    command = [
        ROOT / "run_all.sh",
        "--profile",
        "smoke",
        "--output",
        "build/test-smoke",
        "--no-pdf",
    ]
    env = {name: value for name, value in os.environ.items() if name != HEADLESS}
    first = subprocess.Popen(
        [*command, "--only", "02"],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        env=env,
    )
    deadline = time.monotonic() + 240
    while (
        not list((place / "data" / "records").glob("*.jsonl"))
        and first.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    family = psutil.Process(first.pid).children(
        recursive=True
    )  # kernels and workers live in sessions of their own
    for _ in range(3):  # an impatient person
        os.killpg(first.pid, signal.SIGINT)
        time.sleep(0.2)
    told, _ = first.communicate(timeout=60)
    _, left = psutil.wait_procs(family, timeout=1)
    left = [process for process in left if process.status() != psutil.STATUS_ZOMBIE]
    second = subprocess.run(command, capture_output=True, text=True, cwd="/")
    yield {
        "place": place,
        "interrupted": (first.returncode, told, left, len(family)),
        "done": second,
    }
    shutil.rmtree(place, ignore_errors=True)


def test_ctrl_c_in_the_middle_leaves_no_process_behind_and_no_traceback(smoke):
    code, told, left, family = smoke["interrupted"]
    assert code == 130 and family > 3 and not left, told
    assert told.endswith(
        "run_all.sh: stopped; started again, the notebooks begin anew and training goes on from the runs kept\n"
    )
    assert "Traceback" not in told
    assert re.search(
        r"stopped: \d+ runs trained now, \d+ on record, \d+ left", told
    )  # said by the notebook's kernel, past the notebook


def test_smoke_makes_every_notebook_and_says_so(smoke):
    done = smoke["done"]
    assert done.returncode == 0, done.stdout + done.stderr
    for book in pipeline.numbered():
        assert book.stem in done.stdout
        assert (smoke["place"] / "notebooks" / book.name).exists()
        assert (smoke["place"] / "notebooks" / f"{book.stem}.html").exists()
        written = json.loads(
            (smoke["place"] / "data" / "provenance" / f"{book.stem}.json").read_text()
        )
        assert written["written"]
        assert all(
            (ROOT / name).exists() and name.startswith("build/test-smoke/")
            for name in written["written"]
        )
        assert written["parameters"]["output"] == "build/test-smoke"
        assert written["commit"]
    assert "ours (of tiny runs, which mean nothing) beside the paper's" in done.stdout
    assert len(list((smoke["place"] / "figures").rglob("rel_l2_u_vs_k_all_models*.png"))) == 4


def test_the_same_records_give_the_same_bytes(smoke):
    books, folder = ("03_statistics", "04_figures"), smoke["place"] / "data" / "provenance"
    before = {
        ROOT / name: (ROOT / name).read_bytes()
        for book in books
        for name in json.loads((folder / f"{book}.json").read_text())["written"]
    }
    for path in before:
        path.unlink()
    only = [part for book in books for part in ("--only", book[:2])]
    subprocess.run(
        [
            ROOT / "run_all.sh",
            "--profile",
            "smoke",
            "--output",
            "build/test-smoke",
            "--no-pdf",
            *only,
        ],
        check=True,
        capture_output=True,
    )
    assert len(before) > 30
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("study", ["table", "as_written"])  # neither has runs of every model
def test_one_study_goes_all_the_way(study):
    place = ROOT / "build" / f"test-{study}"
    shutil.rmtree(place, ignore_errors=True)
    command = [
        ROOT / "run_all.sh",
        "--profile",
        "smoke",
        "--study",
        study,
        "--output",
        f"build/test-{study}",
        "--no-pdf",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.partition("beside the paper's:\n")[2].partition("\n\n")[0]
    assert ("under the loss of the paper's text" in done.stdout) == (study == "as_written")
    assert (place / "data" / "statistics_tests.csv").exists()
    assert len(told.splitlines()) == 9
    assert "nan" not in told
