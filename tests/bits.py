"""Hashes of the bits of runs, to compare machines and versions of the library.

    python tests/bits.py             one line: hashes over every model and gate, and OTHERS
    python tests/bits.py --sample    one line of JSON: the hashes of a sample of the short runs
    python tests/bits.py --write     write tests/bits.json again

Run the last one only together with a new NUMERICS in pinnlib/runs/provenance.py: other bits mean
that the records in data/records are those of an older version.
"""

import hashlib
import itertools
import json
import sys
from pathlib import Path

import numpy as np

from pinnlib import RunSpec, train
from pinnlib.models import MODELS
from pinnlib.runs.provenance import NUMERICS

FILE = Path(__file__).with_suffix(".json")
SAMPLE = 7  # every seventh short run; together they have every trunk, gate, loss and optimiser
GATES = (
    "exp",
    "linear",
    "tanh",
    "rational",
    "exp(alpha=0.5, scale=2.0)",
)
RATES = {  # the gradient of the mean square is large
    ("adam", "balanced"): 1e-3,
    ("adam", "mse"): 1e-3,
    ("sgd", "balanced"): 1e-4,
    ("sgd", "mse"): 1e-8,
}
MIXED = (  # the two runs of a batch
    {"k": 20.0, "seed": 0},
    {"k": 60.0, "seed": 1},
)
DIVERGES = {"lr": 1e30}
OTHERS = (
    {"precision": "float64"},
    {"hard_velocity": True},
    {"points": 37, "lambda_ic": 0.0},
    DIVERGES,
    {"model": "baseline", "points": 37},
    {"model": "baseline(hidden=9, depth=2)"},
    {"form": "shifted"},
    {"form": "soft"},
    {"form": "shifted", "model": "baseline"},
    {"schedule": "cosine"},
    {"loss": "weighted(weights=(1.0, 0.1))"},
    {"loss": "balanced(frozen=True)"},
    {"system": "henon_heiles", "k": 4.0},
    {"system": "quartic", "k": 2.0},
    {"system": "van_der_pol", "k": 1.0},
)


def updates(model, spectral, network):
    """One of two numbers of updates, because a network takes ten times as long."""
    if model.startswith("baseline"):
        return network
    return spectral


def short_runs():
    """Every trunk, gate, loss and optimiser in batches of two, and a few other settings."""
    specs = []
    for model, gate, kind, numbers in itertools.product(MODELS, GATES, RATES, MIXED):
        optimiser, loss = kind
        spec = RunSpec(
            model=model,
            gate=gate,
            loss=loss,
            optimiser=optimiser,
            lr=RATES[kind],
            steps=updates(model, 10, 3),
            **numbers,
        )
        specs.append(spec)
    for settings in OTHERS:
        model = settings.get("model", "adaptive")
        steps = updates(model, 10, 3)
        specs.append(RunSpec(steps=steps, **settings))
    return specs


def long_runs():
    """Two runs of the study, whole."""
    adaptive = RunSpec()
    fixed = RunSpec(model="fixed", gate="linear", k=60)
    return [adaptive, fixed]


def label(spec):
    """The settings that tell a run from the default one."""
    settings = {"model": spec.model, "gate": spec.gate}
    settings |= spec.overrides
    words = [f"{name}={value}" for name, value in settings.items()]
    return ", ".join(words)


def bytes_of(numbers, precision):
    """Little-endian, with one NaN: processors differ in the bits of theirs."""
    kind = np.dtype(precision).newbyteorder("<")
    array = np.array(numbers, dtype=kind)
    array[np.isnan(array)] = np.nan
    return array.tobytes()


def parts_of(result):
    """The bits of a run: its parameters, its metrics and its history."""
    names = sorted(result.metrics)
    metrics = [result.metrics[name] for name in names]
    columns = sorted(result.history)
    history = result.history[columns].to_numpy()
    return (
        bytes_of(result.parameters, result.spec.precision),
        bytes_of(metrics, "float64"),
        bytes_of(history, "float64"),
    )


def digest(*parts):
    """The first quarter of the SHA-256 of some bytes."""
    joined = b"".join(parts)
    return hashlib.sha256(joined).hexdigest()[:16]


def hash_of(result):
    """The hash of all that a run gives, except its seconds."""
    rest = f"{result.status} {result.nodes}"
    return digest(*parts_of(result), rest.encode())


def hashes(specs):
    """Label → hash, of runs trained together."""
    table = {}
    for result in train(specs):
        table[label(result.spec)] = hash_of(result)
    return table


def sample(specs):
    """Every seventh of the runs in batches, and all others."""
    others = len(OTHERS)
    return specs[:-others:SAMPLE] + specs[-others:]


def summary_runs():
    """Every model and gate with two losses, and all other settings that converge."""
    specs = []
    for model, gate, loss in itertools.product(MODELS, GATES, ("balanced", "mse")):
        steps = updates(model, 200, 20)
        spec = RunSpec(model=model, gate=gate, loss=loss, steps=steps)
        specs.append(spec)
    for settings in OTHERS:
        if settings != DIVERGES:
            steps = updates(settings.get("model", "adaptive"), 200, 20)
            specs.append(RunSpec(steps=steps, **settings))
    return specs


def summary():
    """Hashes over the bits of runs with every portable feature."""
    specs = summary_runs()
    parts = [parts_of(result) for result in train(specs)]
    parameters, metrics, history = zip(*parts, strict=True)
    return (
        f"parameters {digest(*parameters)}, metrics {digest(*metrics)}, history {digest(*history)}"
    )


def write():
    """Put the hashes of this version on file."""
    table = {
        "numerics": NUMERICS,
        "short": hashes(short_runs()),
        "long": hashes(long_runs()),
    }
    text = json.dumps(table, indent=1)
    FILE.write_text(text + "\n")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    elif "--sample" in sys.argv:
        table = hashes(sample(short_runs()))
        print(json.dumps(table))
    else:
        print(summary())
