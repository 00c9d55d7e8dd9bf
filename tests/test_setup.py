"""Set-up: one list of pins, an environment built from it, system packages only by root."""

import ast
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import metadata

import pytest

from pinnlib.paths import ROOT

PIPS = re.findall(r"^ {6}- (.+)$", (ROOT / "environment.yml").read_text(), re.M)
OPTIONS = ["-c constraints.txt", "-e ."]
NOT_PINNED = ("pinnlib", "pip", "wheel")  # ours, and what installs packages
BY_PLATFORM = ("appnope", "colorama", "pywinpty", "nvidia-", "cuda-", "triton")  # not on ours


def test_every_dependency_is_pinned_once_and_installed_as_pinned():
    pins = dict(pip.split("==") for pip in PIPS if pip not in OPTIONS)
    assert len(pins) == len(PIPS) - len(OPTIONS)
    assert pins["torch"] == "2.13.0"
    assert {name: metadata.version(name).split("+")[0] for name in pins} == pins


def constraints():
    """Package → version in constraints.txt."""
    return dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_constraints_agree_with_the_pins():
    pins = {pip for pip in PIPS if pip not in OPTIONS}
    assert pins <= {f"{name}=={version}" for name, version in constraints().items()}


def test_everything_installed_is_constrained_to_its_version():
    installed = {}
    for package in metadata.distributions():
        name = canonical(package.name)
        if name not in NOT_PINNED and not name.startswith(BY_PLATFORM):
            installed[name] = package.version.split("+")[0]
    assert installed == {canonical(name): version for name, version in constraints().items()}


def imported_packages(path):
    """The top-level packages that a module imports, anywhere in its code."""
    packages = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            packages.add(node.module.split(".")[0])
    return packages


def test_the_library_imports_nothing_that_is_not_pinned():
    allowed = {pip.split("==")[0] for pip in PIPS} | set(sys.stdlib_module_names) | {"pinnlib"}
    paths = list((ROOT / "pinnlib").rglob("*.py"))
    assert ROOT / "pinnlib" / "bundle" / "html.py" in paths
    for path in paths:
        assert imported_packages(path) <= allowed, path


@pytest.mark.parametrize("path", ["run_all.sh", "data/records/adaptive_exp_mse.jsonl"])
def test_a_clone_that_converts_line_ends_leaves_ours_alone(path, tmp_path):
    """As git does by default on Windows: bash and the checksums of the records need LF."""
    git = ["git", "-c", "core.autocrlf=true", "-c", "init.defaultBranch=main"]
    for name in (".gitattributes", path):
        copy = tmp_path / "here" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run([*git, *command], cwd=tmp_path / "here", check=True)
    subprocess.run([*git, "clone", "-q", tmp_path / "here", tmp_path / "there"], check=True)
    assert (tmp_path / "there" / path).read_bytes() == (ROOT / path).read_bytes()


def test_ci_calls_the_tests():
    assert "./run_all.sh test" in (ROOT / ".ci" / "run").read_text()
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


# The environment


@pytest.fixture
def project(tmp_path):
    """A project with the same run_all.sh and one small dependency, which constraints.txt pins."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(ROOT / "run_all.sh", folder)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "pinnlib", folder / "pinnlib", ignore=ignored)
    (folder / "pyproject.toml").write_text("")
    pips = "      - tqdm>=4\n      - -c constraints.txt\n"
    (folder / "environment.yml").write_text(f"name: other\ndependencies:\n  - pip:\n{pips}")
    (folder / "constraints.txt").write_text("tqdm==4.67.1\n")
    return folder


def start(project, *arguments, **changes):
    env = os.environ | changes
    for name in ("VIRTUAL_ENV", "CONDA_DEFAULT_ENV"):
        if name not in changes:
            env.pop(name, None)
    command = [project / "run_all.sh", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, text=True, env=env, cwd="/", start_new_session=True)


def call(project, *arguments, **changes):
    process = start(project, *arguments, **changes)
    out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def replace(path, old, new):
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.environment
def test_the_environment_is_built_kept_and_rebuilt(project):
    first = call(project, "status")
    assert "Setting up .venv" in first.stderr
    assert "everything is current" in first.stdout
    config = project / ".venv" / "pyvenv.cfg"
    built = config.stat().st_mtime_ns
    again = call(project, "status")
    assert "Setting up" not in again.stderr
    assert config.stat().st_mtime_ns == built
    replace(project / "constraints.txt", "4.67.1", "4.67.0")
    with (project / ".venv.lock").open("w") as in_use:  # as a sweep holds it
        fcntl.flock(in_use, fcntl.LOCK_SH)
        waiting = start(project, "status")
        assert "Waiting" in waiting.stderr.readline()
        assert config.stat().st_mtime_ns == built
    _, printed = waiting.communicate()
    assert "Setting up" in printed
    assert waiting.returncode == 0
    assert config.stat().st_mtime_ns != built
    assert list((project / ".venv").glob("lib/python*/site-packages/tqdm-4.67.0.dist-info"))


@pytest.mark.environment
def test_a_failed_installation_is_not_taken_for_an_environment(project):
    replace(project / "environment.yml", "tqdm>=4", "tqdm>=404")
    done = call(project, "status")
    assert done.returncode != 0
    assert "tqdm>=404" in (project / "build" / "set-up.log").read_text()
    assert not (project / ".venv").exists()


# No package can be found: the only index is a closed port.
OFFLINE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/",
    "PIP_RETRIES": "0",
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_NO_CACHE_DIR": "1",
}


@pytest.mark.environment
def test_a_changed_pin_offline_is_one_line_and_leaves_what_was_there(project):
    call(project, "status")
    replace(project / "environment.yml", "tqdm>=4", "tqdm>=4.1")
    done = call(project, "status", **OFFLINE)
    assert done.returncode != 0
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2
    assert "network" in done.stderr.splitlines()[-1]
    replace(project / "environment.yml", "tqdm>=4.1", "tqdm>=4")
    again = call(project, "status", **OFFLINE)
    assert again.returncode == 0
    assert again.stderr == ""


@pytest.mark.environment
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_set_up_leaves_what_was_there(project, number):
    call(project, "status")
    replace(project / "constraints.txt", "4.67.1", "4.67.0")
    process = start(project, "status")
    while not (project / ".venv").exists() or not (project / ".venv.old").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, number)
    process.communicate()
    if number != signal.SIGKILL:  # after which nobody can tidy up but the next call
        assert not (project / ".venv.old").exists()
        assert (project / ".venv" / "stamp").exists()
    replace(project / "constraints.txt", "4.67.0", "4.67.1")
    again = call(project, "status", **OFFLINE)
    assert again.returncode == 0
    assert again.stderr == ""


@pytest.mark.environment
@pytest.mark.parametrize("number", [None, signal.SIGKILL])
def test_a_failed_set_up_leaves_an_environment_that_is_not_ours(project, number):
    own = project / ".venv" / "own"
    own.parent.mkdir()
    own.touch()
    process = start(project, "status", **OFFLINE)
    if number is not None:
        while not (project / ".venv.old").exists():
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, number)
        process.communicate()
        process = start(project, "status", **OFFLINE)
    _, printed = process.communicate()
    assert process.returncode != 0
    assert "what was there is kept" in printed
    assert list((project / ".venv").iterdir()) == [own]
    assert not (project / ".venv.old").exists()


@pytest.mark.environment
def test_a_broken_environment_is_built_again(project):
    call(project, "status")
    (project / ".venv" / "bin" / "python").unlink()
    done = call(project, "status", PYTHONPATH="/nowhere", PYTHONHOME="/nowhere")
    assert done.returncode == 0
    assert "Setting up" in done.stderr


@pytest.mark.environment
def test_an_active_conda_environment_of_that_name_is_used_as_it_is(project):
    done = call(project, "status", CONDA_DEFAULT_ENV="other")
    assert done.returncode == 0
    assert not (project / ".venv").exists()


@pytest.mark.environment
@pytest.mark.parametrize("environment", ["conda", ".venv"])
def test_another_library_or_python_of_the_shell_is_not_used(project, tmp_path, environment):
    python = tmp_path / "bin" / "python"
    if environment == ".venv":
        python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "${PYTHONPATH-unset} ${PYTHONHOME-unset}"\n')
    python.chmod(0o755)
    pins = [project / name for name in ("environment.yml", "constraints.txt", "pyproject.toml")]
    text = b"".join(path.read_bytes() for path in pins)
    total = subprocess.run("cksum", input=text, capture_output=True, check=True).stdout.decode()
    changes = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": "/nowhere",
        "PYTHONHOME": "/nowhere",
    }
    if environment == ".venv":
        (project / ".venv" / "stamp").write_text(f"{project} {total}")
    else:
        changes["CONDA_DEFAULT_ENV"] = "other"
    done = call(project, "status", **changes)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "unset unset"


@pytest.mark.environment
def test_help_and_an_unknown_verb_need_no_environment(project):
    done = call(project, "--help")
    assert done.returncode == 0
    for word in (
        "test --fast",
        "bench",
        "lab",
        "status",
        "sweep",
        "verify",
        "audit",
        "--fresh",
        "--profile",
    ):
        assert word in done.stdout
    wrong = call(project, "tset")
    assert wrong.returncode == 2
    assert "unknown verb 'tset'" in wrong.stderr
    assert not (project / ".venv").exists()


def test_the_stated_times_agree():
    readme = (ROOT / "README.md").read_text()
    rebuild, tests = re.search(
        r"rebuild .* (\d+) minutes and the tests about (\d+)", readme
    ).groups()
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    program = (ROOT / "run_all.sh").read_text()
    assert f"set-up (about {tests} minutes)" in contributing
    assert f"all tests (about {tests} minutes on two cores)" in program
    assert f"`./run_all.sh --save` (about {rebuild} minutes)" in contributing
    for text in (readme, contributing, program):
        assert re.search("--fast.*one to two minutes", text)


# System packages


@pytest.fixture
def system(tmp_path, project):
    """call(*arguments) of run_all.sh in a system of stubs: a function, and its apt-get log."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "sed", "cat", "mkdir"):
        (programs / name).symlink_to(shutil.which(name))
    log = tmp_path / "apt.log"

    def stub(name, line):
        (programs / name).write_text(f"#!{shutil.which('bash')}\n{line}\n")
        (programs / name).chmod(0o755)

    stub("python", 'echo "python $*"')

    def call_with(*arguments, user=0, apt="exit 0", found=()):
        stub("id", f"echo {user}")
        stub("apt-get", f'echo "$*" >>{log}; {apt}')
        for name in found:
            stub(name, "")
        env = {"PATH": str(programs), "CONDA_DEFAULT_ENV": "other"}
        command = [shutil.which("bash"), project / "run_all.sh", *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        calls = log.read_text().splitlines() if log.exists() else []
        return done, calls

    return call_with


LATEX = "latexmk texlive-latex-extra texlive-fonts-recommended"


@pytest.mark.environment
def test_root_installs_latex_for_the_main_command(system):
    done, calls = system()
    assert calls == ["update", f"install -y --no-install-recommends {LATEX}"]
    assert LATEX in done.stderr
    assert done.stdout == "python -m pinnlib reproduce\n"


@pytest.mark.environment
def test_root_installs_latex_and_chromium_for_the_tests(system):
    done, calls = system("test", "-x")
    installed = [call.split()[-1] for call in calls]
    assert installed == ["update", "texlive-fonts-recommended", "update", "chromium"]
    assert done.stdout == "python -m pytest -x\n"


@pytest.mark.environment
def test_a_failing_installation_does_not_stop_the_run(system):
    done, _ = system(apt="exit 100")
    assert done.returncode == 0
    assert "build/apt.log" in done.stderr
    assert done.stdout == "python -m pinnlib reproduce\n"


@pytest.mark.environment
def test_others_read_the_command(system):
    done, calls = system(user=1000)
    assert calls == []
    assert f"sudo apt-get install --no-install-recommends {LATEX}" in done.stderr
    assert done.stdout == "python -m pinnlib reproduce\n"


@pytest.mark.environment
@pytest.mark.parametrize("line", ["--no-pdf --only 03", "reproduce --no-pdf --only 03"])
def test_the_verb_reproduce_may_be_left_out(system, line):
    done, _ = system(*line.split())
    assert done.stdout == "python -m pinnlib reproduce --no-pdf --only 03\n"


@pytest.mark.environment
@pytest.mark.parametrize(
    "line", ["--no-pdf", "--profile smoke", "--fresh", "--output build/mine", "status"]
)
def test_nothing_is_installed_that_is_not_needed(system, line):
    done, calls = system(*line.split())
    assert calls == []
    assert done.stderr == ""


@pytest.mark.environment
def test_nothing_is_installed_for_the_lab(system):
    done, calls = system("lab", found=["jupyter"])
    assert calls == []
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.environment
def test_what_is_there_is_not_installed(system):
    done, calls = system("test", found=["latexmk", "google-chrome"])
    assert calls == []
    assert done.stderr == ""


@pytest.mark.environment
def test_the_fast_tests_leave_out_what_is_marked(system):
    done, calls = system("test", "--fast", "-x")
    assert calls == []
    assert done.stderr == ""
    for marker in ("notebook", "browser", "cluster", "environment", "slow"):
        assert f"not {marker}" in done.stdout
    assert done.stdout.endswith("-x\n")
