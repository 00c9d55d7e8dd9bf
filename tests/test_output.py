"""The files of a notebook: where they are read and written, and their manifest."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import IPython
import IPython.display
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from matplotlib.figure import Figure
from papermill.exceptions import PapermillExecutionError

from pinnlib import RunSpec
from pinnlib.bundle import output
from pinnlib.bundle.output import LAB, Output
from pinnlib.bundle.parameters import assignments, validate_parameter
from pinnlib.paths import ROOT
from pinnlib.registry import UserError
from pinnlib.runs.store import Store


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A repository of our own, with records and a table."""
    for place in ("data", LAB + "/data", "build/mine/data"):
        (tmp_path / place / "records").mkdir(parents=True)
        (tmp_path / place / "records" / "a.jsonl").touch()
        (tmp_path / place / "x.csv").write_text(place)
    (tmp_path / "build" / "empty").mkdir()
    monkeypatch.setattr(output, "ROOT", tmp_path)
    monkeypatch.setattr(output, "RECORDS", tmp_path / "data" / "records")
    return tmp_path


@pytest.mark.parametrize(
    "folder, train_missing, source",
    [
        ("", False, "data"),
        ("", True, "data"),
        (LAB, False, "data"),  # whatever was played there before
        (LAB, True, f"{LAB}/data"),
        ("build/mine", False, "build/mine/data"),
        ("build/mine", True, "build/mine/data"),
        ("build/empty", False, "data"),
        ("build/empty", True, "build/empty/data"),
    ],
)
def test_where_a_notebook_reads(root, folder, train_missing, source):
    out = Output("01_a", {"train_missing": train_missing}, folder)
    assert out.records == root / source / "records"
    assert out.source("x.csv") == root / source / "x.csv"


def test_by_default_a_notebook_writes_to_the_lab(root):
    out = Output("01_a", {})
    out.table(pd.DataFrame({"a": [1]}), "x")
    assert (root / LAB / "data" / "x.csv").read_text() == "a\n1\n"
    assert (root / "data" / "x.csv").read_text() == "data"


def test_what_a_notebook_prints_does_not_depend_on_the_folder(root):
    for folder in ("", LAB, "build/mine"):
        out = Output("01_a", {}, folder)
        out.table(pd.DataFrame({"a": [1]}), "x")
        out.numbers({"a": 1.5})
        assert out.close() == ["data/numbers/01_a.json", "data/x.csv"]


def test_the_manifest_names_what_was_read_and_written(tmp_path):
    out = Output("01_a", {"seeds": 3}, tmp_path)
    out.reads(ROOT / "README.md")
    out.table(pd.DataFrame({"a": [1]}), "x")
    out.message = "what came out"
    out.close()
    manifest = json.loads((tmp_path / "data" / "provenance" / "01_a.json").read_text())
    assert manifest["parameters"] == {"output": str(tmp_path), "seeds": 3}
    assert list(manifest["read"]) == ["README.md"]
    assert list(manifest["written"]) == [str(tmp_path / "data" / "x.csv")]
    assert manifest["message"] == "what came out"
    assert "pinnlib/bundle/output.py" in manifest["code"]


def test_a_figure_is_shown_in_a_notebook_and_closed(tmp_path, monkeypatch):
    figure, _ = plt.subplots()
    shown = []
    out = Output("01_a", {}, tmp_path)
    monkeypatch.setattr(IPython, "get_ipython", lambda: "a shell")
    monkeypatch.setattr(IPython.display, "display", shown.append)
    out.figure(figure, "a/b.c")
    assert shown == [figure]
    assert not plt.fignum_exists(figure.number)
    names = sorted(path.name for path in (tmp_path / "figures" / "a").iterdir())
    assert names == ["b.c.pdf", "b.c.png"]


def test_a_stop_while_a_figure_is_saved_leaves_the_old_one_whole(tmp_path):
    class Stopped:
        def savefig(self, path, **_):
            Path(path).write_text("half a")
            raise KeyboardInterrupt

    out = Output("01_a", {}, tmp_path)
    out.figure(Figure(), "panel")
    picture = tmp_path / "figures" / "panel.png"
    whole = picture.read_bytes()
    with contextlib.suppress(KeyboardInterrupt):
        out.figure(Stopped(), "panel")
    assert picture.read_bytes() == whole
    names = sorted(path.name for path in picture.parent.iterdir())
    assert names == ["panel.pdf", "panel.png"]


def test_a_notebook_whose_runs_are_all_missing_says_so(root):
    specs = [RunSpec(steps=1234), RunSpec(steps=1234, gate="linear")]
    with pytest.raises(UserError, match="2 runs"):
        Output("01_a", {}).load(specs)


@pytest.mark.parametrize(
    "value, expected",
    [
        (np.float64(1 / 3), 0.3333333333),
        (np.int64(7), 7),
        (np.nan, "open"),
        (pd.NA, "open"),
        ("", "open"),
        ("exp", "exp"),
        (2, 2),
    ],
)
def test_numbers_for_the_text_are_plain_and_what_is_not_known_is_open(tmp_path, value, expected):
    Output("01_a", {}, tmp_path).numbers({"a": value})
    path = tmp_path / "data" / "numbers" / "01_a.json"
    assert json.loads(path.read_text()) == {"a": expected}


def test_a_table_is_written_without_jupyter(tmp_path):
    code = (
        "import sys; import pandas as pd; from pinnlib.bundle.output import Output; "
        f"Output('01_a', {{}}, {str(tmp_path)!r}).table(pd.DataFrame({{'a': [1]}}), 'x'); "
        "print({'ipykernel', 'IPython'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    assert (tmp_path / "data" / "x.csv").exists()


# Parameters that papermill is called with directly


def run_with(folder, **given):
    """Execute a notebook of three parameters and an Output, as `papermill -p` does."""
    defaults = 'output = "build/lab"\ntrain_missing = False\nseeds = 20\nlr = 1.0\nworkers = None'
    use = f"from pinnlib.bundle.output import Output\nOutput('01_a', {{}}, {str(folder)!r})"
    cells = [nbformat.v4.new_code_cell(source) for source in (defaults, use)]
    cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "in.ipynb")
    paths = (str(folder / "in.ipynb"), str(folder / "out.ipynb"))
    options = {
        "kernel_name": "python3",
        "language": "python",
        "progress_bar": False,
        "cwd": str(ROOT),
    }
    papermill.execute_notebook(*paths, given, **options)


@pytest.mark.notebook
def test_a_notebook_takes_parameters_of_its_types(tmp_path):
    run_with(tmp_path, train_missing=True, seeds=2, lr=3, workers=2)


@pytest.mark.notebook
@pytest.mark.parametrize(
    "given, message",
    [
        ({"train_missing": "false"}, "train_missing='false' .* of type bool"),
        ({"seed": 3}, "parameter='seed' .* one of output, train_missing, seeds"),
    ],
)
def test_a_notebook_refuses_parameters_by_name(tmp_path, given, message):
    with pytest.raises(PapermillExecutionError, match=message):
        run_with(tmp_path, **given)


DEFAULTS = assignments('output = ""\ntrain_missing = False\nlr = 1.0\nworkers = None\nks = [1, 2]')


@pytest.mark.parametrize(
    "name, value",
    [
        ("train_missing", 0),
        ("train_missing", None),
        ("lr", "1e-3"),
        ("lr", True),
        ("workers", "2"),
        ("ks", 20),
    ],
)
def test_a_value_of_another_type_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^{name}="):
        validate_parameter(name, value, DEFAULTS, "01_a")
    fitting = {"train_missing": True, "lr": 2, "workers": None, "ks": []}
    validate_parameter(name, fitting[name], DEFAULTS, "01_a")


def test_a_value_that_is_no_literal_is_shown_as_it_is_written():
    assert assignments("lr = float('nan')") == {"lr": "float('nan')"}


def test_the_manifest_says_how_the_records_were_checked(tmp_path):
    record = next(iter(Store().load().values()))
    out = Output("01_a", {}, tmp_path)
    out.load([RunSpec(**record["spec"])])
    out.close()
    manifest = json.loads((tmp_path / "data" / "provenance" / "01_a.json").read_text())
    assert "all passed ./run_all.sh verify" in manifest["records"]
