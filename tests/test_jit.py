"""How Numba compiles the loops: where it keeps their code, and for which processor."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.codegen import get_host_cpu_features

from pinnlib import compiled
from pinnlib.compiled import jit

LIST_SETTINGS = """
import json
import jit
print(json.dumps([jit.config.CACHE_DIR, jit.config.CPU_FEATURES, jit.LISTS_AVX512]))
"""


def settings_of(folder, **environment):
    """(folder of the code, features of the processor, AVX-512?) of a new process in `folder`."""
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("NUMBA")}
    done = subprocess.run(
        [sys.executable, "-c", LIST_SETTINGS],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def room(tmp_path):
    """A copy of the sources of pinnlib.compiled."""
    for path in Path(compiled.__file__).parent.glob("*.py"):
        shutil.copy(path, tmp_path)
    return tmp_path


def test_a_change_in_another_file_changes_the_folder(room):
    before, _, _ = settings_of(room)
    again, _, _ = settings_of(room)
    assert again == before
    with (room / "lanes.py").open("a") as file:
        file.write("# changed\n")
    after, _, _ = settings_of(room)
    assert after != before
    assert Path(after).parent == Path(before).parent == room / "__pycache__"


def test_the_code_is_kept_where_the_environment_says(room, tmp_path):
    folder, _, _ = settings_of(room, NUMBA_CACHE_DIR=str(tmp_path / "elsewhere"))
    assert Path(folder).parent == tmp_path / "elsewhere"


def test_the_code_is_kept_at_home_if_the_source_is_read_only(monkeypatch):
    monkeypatch.setattr(jit.config, "CACHE_DIR", "")
    monkeypatch.setattr(jit.os, "access", lambda path, mode: False)
    assert jit.cache_folder() == Path.home() / ".cache" / "pinnlib"


def test_loops_are_compiled_for_this_processor(room):
    _, features, has_avx512 = settings_of(room)
    assert features.startswith(get_host_cpu_features())
    assert has_avx512 == ("+avx512f" in features.split(","))
    assert has_avx512 == features.endswith(",-prefer-256-bit")


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v4"])
def test_a_processor_named_in_the_environment_is_left_as_it_is(room, name):
    _, features, has_avx512 = settings_of(room, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="")
    assert features == ""
    assert not has_avx512
