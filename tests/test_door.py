"""The door: help and refusals come at once, before the library is loaded, and say what is allowed."""

import re
import subprocess
import sys

import pytest

from pinnlib import MODELS
from pinnlib.bundle import pipeline
from pinnlib.paths import ROOT
from pinnlib.runs.studies import STUDIES

VERBS = ("reproduce", "sweep", "audit", "status", "bench")


def asked(verb, *options, python=()):
    command = [ROOT / "tests" / "bench.py"] if verb == "bench" else [ROOT / "pinnlib", verb]
    return subprocess.run(
        [sys.executable, *python, *command, *options], capture_output=True, text=True, cwd=ROOT
    )


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("option", ["--help", "--colour"])
def test_help_and_refusals_do_not_wait_for_the_library(verb, option):
    done = asked(verb, option, python=["-X", "importtime"])
    assert done.returncode == (0 if option == "--help" else 2)
    assert "usage: ./run_all.sh" in done.stdout + done.stderr
    loaded = {
        line.split("|")[-1].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "argparse" in loaded
    assert not loaded & {
        "torch",
        "numpy",
        "pandas",
        "papermill",
        "pinnlib",
    }


REFUSED = [
    ("reproduce", ["--profile", "huge"], "--profile: .*'huge'.*" + ".*".join(pipeline.PROFILES)),
    (
        "reproduce",
        ["--only", "99"],
        "--only: .*'99'.*" + ".*".join(path.name[:2] for path in pipeline.numbered()),
    ),
    (
        "reproduce",
        ["--study", "budget"],
        "--study: .*'budget'.*table.*main.*no_penalty.*expanded.*as_written",
    ),
    (
        "reproduce",
        ["--workers", "4"],
        "--workers: nothing is trained here.*--fresh.*--profile smoke.*sweep",
    ),
    ("reproduce", ["--scheduler", "tcp://host:1"], "--scheduler: nothing is trained here"),
    ("reproduce", ["-x"], "unrecognized arguments: -x"),
    ("reproduce", ["--fresh", "--workers", "0"], "--workers: '0'.*whole number >= 1"),
    ("reproduce", ["--fresh", "--profile", "smoke"], "--fresh: not with --profile smoke"),
    ("reproduce", ["--study", "table", "--only", "03"], "--study: not with --only"),
    (
        "reproduce",
        ["--study", "table", "--only", "3"],
        "--study: not with --only",
    ),  # 3 is 03, not an unknown notebook
    (
        "reproduce",
        ["--fresh", "--output", "build/nowhere", "--only", "03", "--only", "05"],
        "--only: there are no records in build/nowhere/data/records for 03 to read: add --only 02",
    ),
    ("reproduce", ["--output", "README.md"], "--output: 'README.md' is, or lies in, a file"),
    (
        "sweep",
        ["--records", "README.md/mine"],
        "--records: 'README.md/mine' is, or lies in, a file",
    ),
    ("reproduce", ["--output", "/"], "--output: '/' holds the repository itself"),
    (
        "reproduce",
        ["--save", "--profile", "smoke"],
        "--save: only with the repository's own records",
    ),
    ("reproduce", ["--save", "--output", "build/paper", "--only", "01"], "--save: only with"),
    ("reproduce", ["--study", "main"], "--study: 'main' needs --fresh or --profile smoke.*table"),
    ("sweep", ["--study", "tables"], "--study: .*'tables'.*" + ".*".join(STUDIES)),
    ("sweep", ["--model", "transformer"], "--model: .*'transformer'.*" + ".*".join(MODELS)),
    (
        "sweep",
        ["--scheduler", "host"],
        "--scheduler: 'host' is not an address like tcp://host:8786",
    ),
    ("sweep", ["main"], "unrecognized arguments: main"),
    ("audit", ["--sample", "few"], "--sample: 'few'.*whole number >= 1"),
    ("audit", ["--records", "build/nowhere"], "--records: there are no records in build/nowhere"),
    ("status", ["foo"], "unrecognized arguments: foo"),
]


@pytest.mark.parametrize(
    "verb, options, why",
    REFUSED,
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_and_what_is_allowed(verb, options, why):
    done = asked(verb, *options)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ./run_all.sh")
    assert re.search(why, done.stderr)


def test_what_only_the_library_knows_is_told_as_plainly():
    done = asked("audit", "--model", "transformer")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "run_all.sh: model='transformer' is not allowed: model must be one that is on record: "
    )
