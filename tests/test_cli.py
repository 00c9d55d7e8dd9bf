"""The command line: help and errors come at once, without torch, and say what is allowed."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from pinnlib import MODELS
from pinnlib.bundle import cli, commands, pipeline
from pinnlib.paths import ROOT
from pinnlib.registry import UserError
from pinnlib.runs.files import locked
from pinnlib.runs.store import Store
from pinnlib.runs.studies import STUDIES
from pinnlib.training import HEADLESS

# Modules that take long to load.
HEAVY = {"torch", "numpy", "pandas", "numba", "matplotlib", "papermill", "pinnlib.spec"}


@pytest.fixture(autouse=True)
def leave_signals_alone(monkeypatch):
    monkeypatch.setattr(cli.Interrupt, "install", lambda self: None)


@pytest.mark.parametrize(
    "line, code",
    [
        ("-m pinnlib --help", 0),
        ("-m pinnlib reproduce --help", 0),
        ("-m pinnlib sweep --help", 0),
        ("-m pinnlib audit --help", 0),
        ("-m pinnlib status --help", 0),
        ("-m pinnlib reproduce --colour", 2),
        ("tests/bench.py --help", 0),
    ],
)
def test_help_and_errors_do_not_load_the_library(line, code):
    command = [sys.executable, "-X", "importtime", *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == code
    assert "usage: ./run_all.sh" in done.stdout + done.stderr
    listed = [text for text in done.stderr.splitlines() if text.startswith("import time:")]
    modules = {text.split("|")[-1].strip() for text in listed}
    assert "argparse" in modules
    assert not modules & HEAVY


def call_help():
    command = [sys.executable, "-m", "pinnlib", "--help"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout


def test_help_takes_less_than_a_second():
    """Of CPU time: other processes may keep the machine busy."""
    before = os.times()
    call_help()
    after = os.times()
    user = after.children_user - before.children_user
    system = after.children_system - before.children_system
    assert 0 < user + system < 1


def test_help_lists_the_verbs():
    printed = call_help()
    for verb in cli.VERBS:
        assert re.search(rf"^ +{verb}\b", printed, re.M)


NUMBERS = ".*".join(path.name[:2] for path in pipeline.numbered())
REFUSED = [
    ("reproduce --profile huge", "--profile: .*'huge'.*paper.*smoke"),
    ("reproduce --only 99", f"--only: .*'99'.*{NUMBERS}"),
    ("reproduce --study budget", "--study: .*'budget'.*" + ".*".join(cli.STATISTICS_STUDIES)),
    ("reproduce --workers 4", "--workers: .*--fresh.*--profile smoke.*sweep"),
    ("reproduce --scheduler tcp://host:1", "--scheduler: .*--fresh"),
    ("reproduce -x", "unrecognized arguments: -x"),
    ("reproduce --fresh --workers 0", "--workers: '0'.*whole number >= 1"),
    ("reproduce --fresh --profile smoke", "--fresh: not with --profile smoke"),
    ("reproduce --study table --only 03", "--study: not with --only"),
    ("reproduce --study table --only 3", "--study: not with --only"),  # 3 is 03
    (
        "reproduce --fresh --output build/nowhere --only 03 --only 05",
        "--only: .*build/nowhere/data/records for 03 to read: add --only 02",
    ),
    ("reproduce --output README.md", "--output: 'README.md'"),
    ("reproduce --output /", "--output: '/' holds the repository itself"),
    ("reproduce --save --profile smoke", "--save: only with the repository's own records"),
    ("reproduce --save --output build/paper --only 01", "--save: only with"),
    ("reproduce --study main", "--study: 'main' needs --fresh or --profile smoke.*table"),
    ("sweep --records README.md/mine", "--records: 'README.md/mine'"),
    ("sweep --study tables", "--study: .*'tables'.*" + ".*".join(STUDIES)),
    ("sweep --model transformer", "--model: .*'transformer'.*" + ".*".join(MODELS)),
    ("sweep --scheduler host", "--scheduler: 'host'.*tcp://host:8786"),
    ("sweep --patience 0", "--patience: '0' is not a number of seconds > 0"),
    ("sweep --patience soon", "--patience: 'soon' is not a number"),
    ("sweep --scheduler tcp://host:1 --tls-ca README.md", "--tls-ca: only with .* tls://"),
    ("sweep --tls-key README.md", "--tls-key: only with a scheduler at tls://"),
    (
        "sweep --scheduler tls://host:1 --tls-ca README.md --tls-key README.md",
        "--tls-cert: None is not a file; all three",
    ),
    (
        "sweep --scheduler tls://host:1 --tls-ca nowhere --tls-key README.md --tls-cert README.md",
        "--tls-ca: 'nowhere' is not a file",
    ),
    ("sweep main", "unrecognized arguments: main"),
    ("audit --sample few", "--sample: 'few'.*whole number >= 1"),
    ("audit --records build/nowhere", "--records: .*build/nowhere"),
    ("status foo", "unrecognized arguments: foo"),
    ("tset", "'tset'.*" + ".*".join(cli.VERBS)),
]


@pytest.mark.parametrize("line, why", REFUSED, ids=[line for line, _ in REFUSED])
def test_an_error_names_the_option_and_what_is_allowed(line, why, capsys, monkeypatch):
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)
    with pytest.raises(SystemExit) as stopped:
        cli.parse(line.split())
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert printed.startswith("usage: ./run_all.sh")
    assert re.search(why, printed)


@pytest.mark.parametrize(
    "line",
    [
        "reproduce",
        "reproduce --study table",
        "reproduce --profile smoke --study main --workers 2",
        "reproduce --fresh --only 1",
        "reproduce --fresh --output build/nowhere --only 05 --only 07 --only 09",
        "reproduce --save --only 03",
        "reproduce --output build/mine --only 03",
        "sweep --study main --study table --model adaptive --dry-run",
        "audit --sample 2 --model adaptive",
        "status",
    ],
)
def test_a_valid_call_is_accepted(line):
    assert cli.parse(line.split()).verb == line.split()[0]


def test_a_notebook_needs_records_if_it_reads_and_does_not_train_them():
    needy = set()
    for path in pipeline.numbered():
        (reads,) = re.findall(r"\*\*Reads\*\* ([^\n]*)", nbformat.read(path, 4).cells[0].source)
        if "the records" in reads and "train_missing" not in pipeline.default_parameters(path):
            needy.add(path.name[:2])
    assert needy == cli.NEED_RECORDS


@pytest.mark.parametrize("error", [UserError, ValueError])
def test_an_error_of_the_user_is_one_line_and_code_2(error, monkeypatch, capsys):
    def fail(options):
        raise error(f"no file {ROOT}/data/x")

    monkeypatch.setattr(commands, "reproduce", fail)
    assert commands.run(argparse.Namespace(verb="reproduce")) == 2
    assert capsys.readouterr().err == "run_all.sh: no file data/x\n"


def test_errors_that_only_the_library_finds_name_the_field(capsys):
    assert cli.main(["audit", "--model", "transformer"]) == 2
    assert capsys.readouterr().err.startswith("run_all.sh: model='transformer' is not allowed")


def test_two_rebuilds_into_one_folder_do_not_mix(tmp_path, capsys):
    with locked(tmp_path, "rebuild"):
        assert cli.main(["reproduce", "--only", "01", "--output", str(tmp_path)]) == 2
    (message,) = capsys.readouterr().err.splitlines()
    assert f"another rebuild, process {os.getpid()}, is writing to {tmp_path}" in message
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock"]


@pytest.mark.parametrize("by_environment", [False, True])
def test_the_options_of_a_scheduler_reach_the_sweep(by_environment, tmp_path, monkeypatch):
    seen = []

    def stop(specs, folder, workers, scheduler, older):
        seen.append(scheduler)
        raise UserError("enough")

    monkeypatch.setattr(commands, "sweep", stop)
    for name in ("ca", "cert", "key"):
        (tmp_path / name).touch()
    files = [f"--tls-{path.name}={path}" for path in sorted(tmp_path.iterdir())]
    line = ["sweep", "--patience", "7", *files]
    if by_environment:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tls://host:1")
    else:
        line += ["--scheduler", "tls://host:1"]
    assert cli.main([*line, "--records", str(tmp_path / "records")]) == 2
    (scheduler,) = seen
    assert scheduler.address == "tls://host:1"
    assert scheduler.patience == 7
    names = [Path(file).name for file in (scheduler.tls_ca, scheduler.tls_cert, scheduler.tls_key)]
    assert names == ["ca", "cert", "key"]


# The verb `sweep`, whose studies ask for two short runs. The folder comes first, then options.
SHORT_SWEEP = """
import sys
from pinnlib import RunSpec
from pinnlib.bundle import cli, commands
commands.specs_of = lambda study: [RunSpec(steps=2, points=5, seed=seed) for seed in (0, 1)]
if __name__ == "__main__":
    sys.exit(cli.main(["sweep", "--study", "main", "--records", *sys.argv[1:]]))
"""


def call_short_sweep(folder, redirection, *options):
    """The exit code of a sweep into the folder, in a shell that redirects its output so."""
    script = folder / "script.py"
    script.write_text(SHORT_SWEEP)
    command = [sys.executable, script, folder, *options]
    line = f"set -o pipefail; {shlex.join(map(str, command))} {redirection}"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    for name in (HEADLESS, "DASK_SCHEDULER_ADDRESS"):
        env.pop(name, None)
    return subprocess.run(["bash", "-c", line], env=env, timeout=300).returncode


@pytest.mark.cluster
@pytest.mark.parametrize(
    "redirection, workers, unbuffered",
    [(">/dev/full 2>&1", 2, ""), ("2>&1 | head -n 1", 1, "1"), (">&- 2>&-", 1, "")],
)
def test_a_sweep_whose_messages_cannot_be_written_goes_on(
    redirection, workers, unbuffered, tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    assert call_short_sweep(tmp_path, redirection, "--workers", workers) == 0
    assert len(Store(tmp_path).load()) == 2
    assert (tmp_path / "runs.csv").exists()


@pytest.mark.cluster
def test_an_error_that_cannot_be_written_has_its_exit_code(tmp_path):
    with locked(tmp_path, "sweep"):
        assert call_short_sweep(tmp_path, ">/dev/full 2>&1") == 2


def test_a_dry_run_lists_the_studies_and_trains_nothing(capsys):
    assert cli.main(["sweep", "--study", "main", "--model", "adaptive", "--dry-run"]) == 0
    _, study, total = capsys.readouterr().out.splitlines()
    assert re.match(rf"main +\d+ of +\d+ +{re.escape(STUDIES['main'].title)}", study)
    assert re.match(r"\d+ of \d+ distinct runs to train", total)


def test_a_second_interrupt_is_ignored_while_things_shut_down(capsys):
    interrupt = cli.Interrupt()
    with pytest.raises(KeyboardInterrupt):
        interrupt(2, None)
    interrupt(2, None)
    interrupt.last -= cli.GRACE
    with pytest.raises(KeyboardInterrupt):
        interrupt(2, None)
    assert capsys.readouterr().err.count("stopping") == 2


def test_an_interrupted_verb_returns_130(monkeypatch, capsys):
    def stop(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run", stop)
    assert cli.main(["sweep"]) == 130
    assert "the same command goes on from here" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line, in_repository, builds_pdf",
    [
        ("reproduce", True, True),
        ("reproduce --no-pdf", True, False),
        ("reproduce --output build/mine", False, False),
        ("reproduce --fresh", False, False),
        ("reproduce --profile smoke", False, False),
    ],
)
def test_only_results_in_the_repository_make_the_pdf(
    line, in_repository, builds_pdf, monkeypatch, capsys
):
    pages = []
    monkeypatch.setattr(commands, "write_page", lambda notebook, folder: pages.append(folder))
    monkeypatch.setattr(commands, "write_index", lambda place, results: place / "index.html")
    monkeypatch.setattr(pipeline, "execute", lambda steps, profile: [])
    monkeypatch.setattr(commands, "build_pdf", lambda: "built")
    monkeypatch.setattr(commands, "compare_with_committed", lambda root: "tables compared")
    monkeypatch.setattr(commands, "compare_records", lambda folder: f"{folder.name} compared")
    assert commands.run(cli.parse(line.split())) == 0
    printed = capsys.readouterr().out
    assert ("PDF: built" in printed) == builds_pdf
    assert ("tables compared" in printed) == in_repository
    assert ("records compared" in printed) == (not in_repository)
    assert pages == ([ROOT / "build" / "paper" / "notebooks"] if in_repository else [])
    assert re.search(r"^open in a browser: build/\w+/index.html$", printed, re.M)
