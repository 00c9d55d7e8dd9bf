"""Set-up: one list of pins, an environment that is built from it, kept while it is current and rebuilt when it changes."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

import pytest

from pinnlib.paths import ROOT

PIPS = re.findall(r"^ {6}- (.+)$", (ROOT / "environment.yml").read_text(), re.M)


def test_every_dependency_is_pinned_once_and_installed_as_pinned():
    pins = dict(pip.split("==") for pip in PIPS if pip != "-e .")
    assert len(pins) == len(PIPS) - 1
    assert pins["torch"] == "2.13.0"
    assert {name: metadata.version(name).split("+")[0] for name in pins} == pins


def test_the_library_imports_nothing_that_is_not_pinned():
    pinned = {pip.split("==")[0] for pip in PIPS}
    own = {path.stem: path.read_text() for path in (ROOT / "pinnlib").glob("*.py")}
    imported = {
        name for name in re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(own.values()), re.M)
    }
    assert imported - set(sys.stdlib_module_names) - {"pinnlib", *own} <= pinned


def test_ci_calls_the_tests_and_nothing_cleverer():
    assert "./run_all.sh test" in (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


@pytest.fixture
def house(tmp_path):
    """A house with the same door and one small dependency."""
    shutil.copy(ROOT / "run_all.sh", tmp_path)
    shutil.copytree(
        ROOT / "pinnlib", tmp_path / "pinnlib", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "environment.yml").write_text(
        "name: other\ndependencies:\n  - pip\n  - pip:\n      - tqdm==4.67.1\n"
    )
    return tmp_path


def start(house, *arguments, **changes):
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("VIRTUAL_ENV", "CONDA_DEFAULT_ENV")
    } | changes
    return subprocess.Popen(
        [house / "run_all.sh", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        cwd="/",
    )


def call(house, *arguments, **changes):
    process = start(house, *arguments, **changes)
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_the_environment_is_built_kept_and_rebuilt(house):
    first = call(house, "status")
    assert "Setting up .venv" in first.stderr
    assert "everything is current" in first.stdout
    built = (house / ".venv" / "pyvenv.cfg").stat().st_mtime_ns
    again = call(house, "status")
    assert "Setting up" not in again.stderr
    assert (house / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == built
    (house / "environment.yml").write_text(
        (house / "environment.yml").read_text().replace("4.67.1", "4.67.0")
    )
    with (house / ".venv.lock").open("w") as in_use:  # as a sweep holds it
        fcntl.flock(in_use, fcntl.LOCK_SH)
        waiting = start(house, "status")
        assert "Waiting" in waiting.stderr.readline()
        assert (house / ".venv" / "pyvenv.cfg").stat().st_mtime_ns == built
    told = waiting.communicate()[1]
    assert "Setting up" in told
    assert waiting.returncode == 0
    assert (house / ".venv" / "pyvenv.cfg").stat().st_mtime_ns != built
    assert list((house / ".venv").glob("lib/python*/site-packages/tqdm-4.67.0.dist-info"))


def test_a_failed_installation_is_not_taken_for_an_environment(house):
    (house / "environment.yml").write_text(
        (house / "environment.yml").read_text().replace("4.67.1", "0.0.0.404")
    )
    for _ in range(2):
        done = call(house, "status")
        assert done.returncode != 0
        assert "the installation failed" in done.stderr


def test_an_active_conda_environment_of_that_name_is_used_as_it_is(house):
    done = call(house, "status", CONDA_DEFAULT_ENV="other")
    assert done.returncode == 0
    assert not (house / ".venv").exists()


def test_help_needs_no_environment_and_an_unknown_verb_is_refused(house):
    told = call(house, "--help")
    assert told.returncode == 0
    assert all(
        verb in told.stdout
        for verb in ("test", "bench", "lab", "status", "sweep", "audit", "--fresh", "--profile")
    )
    wrong = call(house, "tset")
    assert wrong.returncode == 2
    assert "unknown verb 'tset'" in wrong.stderr
    assert not (house / ".venv").exists()
