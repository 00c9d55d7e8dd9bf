"""Which arithmetic made a record: a version that we raise, and a fingerprint of the machine."""

import hashlib
import itertools
import json
import platform
import subprocess
from functools import lru_cache
from pathlib import Path

import numba
import torch

import pinnlib
from pinnlib.paths import MACHINES, ROOT
from pinnlib.spec import RunSpec
from pinnlib.training import train_batch

# Raised if and only if a change alters the bits of a run on the same machine (a test checks this).
NUMERICS = 1
CODE = ("pinnlib", "paper/main.tex", "paper/references.bib")  # what `commit` watches for changes


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """Hash of a few short runs: equal where machine and numerics give records with equal bits."""
    digest = hashlib.sha256()
    models = ("adaptive", "fixed", "baseline")
    for model, gate, loss in itertools.product(models, ("exp", "linear"), ("balanced", "mse")):
        (result,) = train_batch([RunSpec(model=model, gate=gate, loss=loss, steps=4)])
        digest.update(result.parameters.tobytes())
        digest.update(json.dumps(result.metrics).encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _cpuinfo() -> dict[str, str]:
    """What Linux says of the first processor; empty elsewhere."""
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    facts = {}
    for line in path.read_text().split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    return facts


def cpu() -> str:
    """The name of the processor."""
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def machine() -> str:
    """What decides the bits: processor model, vector width in use, versions of the compilers."""
    names = ("vendor_id", "cpu family", "model", "stepping")
    kind = "/".join(_cpuinfo().get(name, "?") for name in names)
    vectors = torch.backends.cpu.get_cpu_capability()
    return f"{kind} {vectors} torch {torch.__version__} numba {numba.__version__}"


def kinds() -> dict[str, str]:
    """Fingerprint → machine, for the machines that are on file."""
    return {line["fingerprint"]: line["machine"] for line in json.loads(MACHINES.read_text())}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    """The last commit that touched the library, the text of the report or the records.

    A + follows if library or text have changed since. "unknown" without git.
    """
    try:
        head = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *CODE, "data/records")
        changes = _git("status", "--porcelain", "--", *CODE)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}+" if changes else head


@lru_cache(maxsize=1)
def origin() -> dict[str, str]:
    """Where a record is made: versions, processor, fingerprint, commit."""
    return {
        "pinnlib": pinnlib.__version__,
        "torch": torch.__version__,
        "numba": numba.__version__,
        "cpu": cpu(),
        "fingerprint": fingerprint(),
        "commit": commit(),
    }
