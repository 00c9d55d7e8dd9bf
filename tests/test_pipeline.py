"""The pipeline: parameters, failures, saving back, and everything from nothing."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import nbformat
import psutil
import pytest
from bs4 import BeautifulSoup

from pinnlib.bundle import pipeline, staleness
from pinnlib.paths import ROOT
from pinnlib.training import HEADLESS

# Notebooks of our own


def write_notebook(path, *sources):
    """A notebook of these code cells; the first one has the parameters."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    cells[0].metadata["tags"] = ["parameters"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


@pytest.fixture
def good(tmp_path, monkeypatch):
    """A notebook with parameters, in a repository of its own."""
    path = tmp_path / "notebooks" / "01_good.ipynb"
    path.parent.mkdir()
    parameters = 'output = "build/lab"\nseeds = 20\nlr = 1e-3\nstudies = ["main"]'
    write_notebook(path, parameters, "print(seeds)", "output")
    monkeypatch.setattr(pipeline, "NOTEBOOKS", path.parent)
    monkeypatch.setattr(pipeline, "ROOT", tmp_path)
    return path


@pytest.mark.parametrize(
    "given, why",
    [
        ({"seeds": "2"}, "^seeds='2' .*20"),
        ({"lr": "1e-3"}, "^lr='1e-3' "),
        ({"studies": "main"}, "^studies='main' "),
    ],
)
def test_a_wrong_parameter_is_an_error_before_anything_runs(good, given, why):
    with pytest.raises(ValueError, match=why):
        pipeline.plan(**given)


def test_a_whole_number_is_a_number(good):
    assert pipeline.plan(lr=1) == [(good, {"output": "", "lr": 1})]


def test_an_option_that_no_notebook_reads_is_an_error(good):
    with pytest.raises(ValueError, match="^workers=3 "):
        pipeline.plan(workers=3)


def test_a_fresh_run_trains_all_studies_before_their_results_are_shown():
    first = {notebook.name[:2]: own for notebook, own in pipeline.plan("fresh")}
    assert first["02"]["all_studies"] is True
    of_table = {notebook.name[:2]: own for notebook, own in pipeline.plan("fresh", study="table")}
    assert of_table["02"]["all_studies"] is False
    assert of_table["02"]["studies"] == ["table"]


def test_only_the_paper_profile_writes_to_the_committed_folders(good):
    assert pipeline.plan() == [(good, {"output": ""})]
    smoke = {"output": "build/smoke", "seeds": 2}
    assert pipeline.plan("smoke") == [(good, smoke)]
    assert pipeline.plan("fresh") == [(good, {"output": "build/fresh"})]
    assert pipeline.plan(output="build/mine") == [(good, {"output": "build/mine"})]


@pytest.mark.notebook
def test_parameters_arrive_and_such_a_notebook_is_not_saved(good):
    executions = pipeline.execute([(good, {"output": "out", "seeds": 3})])
    executed = executions[0].executed
    assert nbformat.read(executed, as_version=4).cells[2].outputs[0].text == "3\n"
    assert executed.with_suffix(".html").exists()
    with pytest.raises(pipeline.PipelineError, match="^01_good"):
        pipeline.save_back(executions)


@pytest.mark.notebook
def test_a_failure_names_notebook_and_cell_and_keeps_the_execution(tmp_path, good):
    bad = good.with_name("02_bad.ipynb")
    write_notebook(bad, 'output = ""', "x = 1", "1 / 0")
    with pytest.raises(pipeline.PipelineError, match="^02_bad, cell 4 .*ZeroDivisionError"):
        pipeline.execute([(bad, {"output": "out"})])
    assert (tmp_path / "out" / "notebooks" / "02_bad.ipynb").exists()


@pytest.mark.notebook
def test_a_saved_notebook_has_no_trace_of_the_run(good):
    before = staleness.digest(good)
    executions = pipeline.execute(pipeline.plan())
    executed = executions[0].executed
    book = nbformat.read(executed, as_version=4)
    for text in ("one", " line\n"):  # a print that arrived in two pieces
        book.cells[2].outputs.append(nbformat.v4.new_output("stream", text=text))
    nbformat.write(book, executed)
    pipeline.save_back(executions)
    saved = nbformat.read(good, as_version=4)
    assert staleness.digest(good) == before
    assert [cell.execution_count for cell in saved.cells] == [1, 2, 3]
    assert saved.cells[1].outputs[0].text == "20\none line\n"
    assert saved.cells[2].outputs[0].execution_count == 3
    text = good.read_text()
    for noise in ("start_time", "papermill", "injected"):
        assert noise not in text


def test_the_messages_of_notebooks_are_printed(tmp_path, good):
    folder = tmp_path / "out" / "data" / "provenance"
    folder.mkdir(parents=True)
    manifest = {"written": {"out/a.csv": "1"}, "message": "what came out"}
    (folder / "01_good.json").write_text(json.dumps(manifest))
    execution = pipeline.Execution(good, tmp_path / "out" / "a.ipynb", {"output": "out"}, 1.5)
    text = pipeline.summary([execution])
    assert text.startswith("what came out\n")
    assert re.search(r"01_good +1\.5 s +1 files", text)


# The notebooks of the repository, from nothing


def smoke_command(name, *options):
    output = ["--output", f"build/{name}"]
    return [ROOT / "run_all.sh", "--profile", "smoke", *output, "--no-pdf", *options]


def interrupt(command, place):
    """Start the command, press Ctrl-C three times once a run is on record.

    Returns exit code, what it printed, how many processes it had, and which are still there.
    """
    env = {name: value for name, value in os.environ.items() if name != HEADLESS}
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        env=env,
    )
    deadline = time.monotonic() + 240
    while not any((place / "data" / "records").glob("*.jsonl")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Jupyter kernels and workers live in sessions of their own.
    family = psutil.Process(process.pid).children(recursive=True)
    for _ in range(3):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.2)
    printed, _ = process.communicate(timeout=60)
    _, alive = psutil.wait_procs(family, timeout=1)
    alive = [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
    return process.returncode, printed, family, alive


@pytest.fixture(scope="module")
def smoke():
    """The whole pipeline, from nothing, after its training was interrupted in the middle."""
    place = ROOT / "build" / "test-smoke"
    shutil.rmtree(place, ignore_errors=True)
    interrupted = interrupt(smoke_command("test-smoke", "--only", "02"), place)
    done = subprocess.run(smoke_command("test-smoke"), capture_output=True, text=True, cwd="/")
    yield place, interrupted, done
    shutil.rmtree(place, ignore_errors=True)


def written(place, notebook):
    """The files that a notebook wrote according to its manifest."""
    path = place / "data" / "provenance" / f"{notebook}.json"
    return [ROOT / name for name in json.loads(path.read_text())["written"]]


@pytest.mark.notebook
@pytest.mark.environment
def test_ctrl_c_leaves_no_process_behind_and_no_traceback(smoke):
    code, printed, family, alive = smoke[1]
    assert code == 130, printed
    assert len(family) > 1
    assert not alive
    assert "Traceback" not in printed
    assert re.search(r"stopped: \d+ runs trained now, \d+ on record, \d+ left", printed)
    assert printed.splitlines()[-1].startswith("run_all.sh: stopped; started again")


@pytest.mark.notebook
@pytest.mark.environment
def test_the_smoke_profile_makes_every_notebook(smoke):
    place, _, done = smoke
    assert done.returncode == 0, done.stdout + done.stderr
    for book in pipeline.numbered():
        assert book.stem in done.stdout
        assert (place / "notebooks" / book.name).exists()
        assert (place / "notebooks" / f"{book.stem}.html").exists()
        files = written(place, book.stem)
        assert files
        for path in files:
            assert path.exists()
            assert path.is_relative_to(place)
    assert len(list((place / "figures").rglob("rel_l2_u_vs_k_all_models*.png"))) == 4
    assert f"{place.relative_to(ROOT)}/index.html" in done.stdout.splitlines()[-1]
    soup = BeautifulSoup((place / "index.html").read_text(encoding="utf-8"), "html.parser")
    links = {tag["href"] for tag in soup.find_all(href=True) if not tag["href"].startswith("#")}
    assert links >= {f"notebooks/{book.stem}.html" for book in pipeline.numbered()}
    assert [link for link in links if not (place / link).is_file()] == []


@pytest.mark.notebook
@pytest.mark.environment
def test_the_same_records_give_the_same_bytes(smoke):
    place = smoke[0]
    before = {path: path.read_bytes() for path in written(place, "04_figures")}
    assert len(before) > 10
    for path in before:
        path.unlink()
    command = smoke_command("test-smoke", "--only", "04")
    subprocess.run(command, check=True, capture_output=True)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.notebook
@pytest.mark.environment
@pytest.mark.parametrize("study", ["table", "as_written"])  # neither has runs of every model
def test_one_study_goes_all_the_way(study):
    place = ROOT / "build" / f"test-{study}"
    shutil.rmtree(place, ignore_errors=True)
    command = smoke_command(place.name, "--study", study)
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (place / "data" / "statistics_tests.csv").exists()
    assert ("under the loss of the paper's text" in done.stdout) == (study == "as_written")
    table = done.stdout.partition("beside the paper's:\n")[2].partition("\n\n")[0]
    assert len(table.splitlines()) == 9
    assert "nan" not in table
    shutil.rmtree(place)
