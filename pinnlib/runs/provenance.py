"""Which arithmetic made a record: a version that we raise, and a fingerprint that each machine computes."""

import hashlib
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

# Raised when, and only when, a change alters the bits of a run on the same machine (a test holds it to that).
NUMERICS = 1


@lru_cache(maxsize=1)
def fingerprint():
    """Hash of the bits of a few short runs, one per trunk × gate × loss: equal where machine and numerics give equal records."""
    digest = hashlib.sha256()
    for model in ("adaptive", "fixed", "baseline"):
        for gate in ("exp", "linear"):
            for loss in ("balanced", "mse"):
                (result,) = train_batch([RunSpec(model=model, gate=gate, loss=loss, steps=4)])
                digest.update(result.parameters.tobytes())
                digest.update(json.dumps(result.metrics).encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def cpu():
    """The processor's name, as the system tells it."""
    path = Path("/proc/cpuinfo")
    names = (
        [
            line.split(":")[1].strip()
            for line in path.read_text().splitlines()
            if line.startswith("model name")
        ]
        if path.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def machine():
    """What decides which machine instructions run: processor model, vector width in use, versions of what compiles."""
    path = Path("/proc/cpuinfo")
    facts = (
        dict(line.split(":", 1) for line in path.read_text().split("\n\n")[0].splitlines())
        if path.exists()
        else {}
    )
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    kind = "/".join(
        facts.get(name, "?") for name in ("vendor_id", "cpu family", "model", "stepping")
    )
    return f"{kind} {torch.backends.cpu.get_cpu_capability()} torch {torch.__version__} numba {numba.__version__}"


def kinds():
    """Fingerprint → kind of machine, as `machine` tells it, for those that are known."""
    return {line["fingerprint"]: line["machine"] for line in json.loads(MACHINES.read_text())}


def commit():
    """The last commit that touched library, records or the text of the report, with a + where library or text differ from it, or 'unknown'."""
    git = ["git", "-C", ROOT]
    code, records = ["pinnlib", "paper/main.tex", "paper/references.bib"], ["data/records"]
    try:
        head = subprocess.run(
            [*git, "log", "-1", "--format=%h", "--abbrev=12", "--", *code, *records],
            capture_output=True,
            text=True,
            check=True,
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", *code], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + "+" * bool(changed)


@lru_cache(maxsize=1)
def origin():
    """Where a record is made: versions, processor, fingerprint, commit."""
    return {
        "pinnlib": pinnlib.__version__,
        "torch": torch.__version__,
        "numba": numba.__version__,
        "cpu": cpu(),
        "fingerprint": fingerprint(),
        "commit": commit(),
    }
