"""The bits of a run depend on its specification alone: the hashes on file, on every machine.

A difference here is an error, or a new version of the numerics: see tests/bits.py.
"""

import json
import os
import platform
import subprocess
import sys

import bits
import pytest
from llvmlite.binding import get_host_cpu_features

from pinnlib import SYSTEMS, train
from pinnlib.ansatz import FORMS
from pinnlib.losses import LOSSES
from pinnlib.optimisers import SCHEDULES
from pinnlib.paths import ROOT
from pinnlib.runs.provenance import NUMERICS

ON_FILE = json.loads(bits.FILE.read_text())
SHORT = {bits.label(spec): spec for spec in bits.short_runs()}
LONG = {bits.label(spec): spec for spec in bits.long_runs()}
SAMPLE = {bits.label(spec): spec for spec in bits.sample(bits.short_runs())}
PROCESSORS = {  # Numba's name → what torch and NumPy may use of the processor
    "x86-64-v2": {
        "ATEN_CPU_CAPABILITY": "default",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX512_ICL,AVX512_SPR",
    },
    "x86-64-v3": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512_SPR",
    },
    "x86-64-v4": {
        "ATEN_CPU_CAPABILITY": "avx512",
    },
}
NEEDS = {
    "x86-64-v2": "sse4.2",
    "x86-64-v3": "avx2",
    "x86-64-v4": "avx512f",
}


def test_the_hashes_are_those_of_this_version():
    advice = "run python tests/bits.py --write"
    assert ON_FILE["numerics"] == NUMERICS, advice
    assert list(ON_FILE["short"]) == list(SHORT), advice
    assert list(ON_FILE["long"]) == list(LONG), advice


FIELDS = [
    "model",
    "gate",
    "loss",
    "precision",
    "form",
    "schedule",
    "system",
    "hard_velocity",
]


@pytest.mark.parametrize("field", [*FIELDS, "optimiser"])
def test_the_sample_has_everything(field):
    seen = {getattr(spec, field) for spec in SAMPLE.values()}
    every = {getattr(spec, field) for spec in SHORT.values()}
    assert seen == every


@pytest.mark.parametrize("field", FIELDS)
def test_the_summary_has_everything(field):
    seen = {getattr(spec, field) for spec in bits.summary_runs()}
    every = {getattr(spec, field) for spec in SHORT.values()}
    assert seen == every


@pytest.mark.parametrize(
    "field, registry",
    [
        ("loss", LOSSES),
        ("schedule", SCHEDULES),
        ("system", SYSTEMS),
        ("form", FORMS),
    ],
)
def test_the_short_runs_have_every_feature(field, registry):
    seen = {getattr(spec, field).partition("(")[0] for spec in SHORT.values()}
    assert seen == set(registry)


def test_the_summary_has_portable_runs_only():
    specs = bits.summary_runs()
    assert len(set(specs)) == len(specs)
    assert {spec.lbfgs for spec in specs} == {0}
    assert max(spec.lr for spec in specs) < 1
    assert {spec.steps for spec in specs} == {20, 200}


@pytest.fixture(scope="module")
def trained():
    """All short runs, trained together."""
    results = train(SHORT.values())
    return {bits.label(result.spec): result for result in results}


@pytest.mark.parametrize("label", SHORT)
def test_a_run_in_a_batch_has_the_bits_on_file(label, trained):
    assert bits.hash_of(trained[label]) == ON_FILE["short"][label]


def test_one_run_diverges(trained):
    diverged = []
    for result in trained.values():
        if result.status == "diverged":
            diverged.append(result.spec.lr)
    assert diverged == [1e30]


@pytest.mark.parametrize("label", SAMPLE)
def test_a_run_alone_has_the_bits_on_file(label):
    (result,) = train(SHORT[label])
    assert bits.hash_of(result) == ON_FILE["short"][label]


@pytest.mark.slow
@pytest.mark.parametrize("label", LONG)
def test_a_whole_run_has_the_bits_on_file(label):
    (result,) = train(LONG[label])
    assert bits.hash_of(result) == ON_FILE["long"][label]


def test_a_hash_sees_every_bit(trained):
    result = next(iter(trained.values()))
    before = bits.hash_of(result)
    assert bits.hash_of(result) == before
    for numbers in (result.parameters, result.history["physics"].array):
        kept = numbers[0]
        numbers[0] = kept * (1 + 2e-7)
        assert bits.hash_of(result) != before
        numbers[0] = kept
    result.metrics["max_ae_u"] *= 1 + 3e-16
    assert bits.hash_of(result) != before


def differences(found):
    """The runs of a sample whose hashes are not those on file."""
    return [label for label in SAMPLE if found.get(label) != ON_FILE["short"][label]]


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROCESSORS)
def test_older_processors_have_the_bits_on_file(kind):
    """Numba, torch and NumPy compute as on a processor with fewer instructions."""
    if platform.machine() != "x86_64":
        pytest.skip("stands in for processors of the family x86-64 only")
    if not get_host_cpu_features().get(NEEDS[kind]):
        pytest.skip(f"needs a processor with {NEEDS[kind]}")
    settings = {
        "NUMBA_CPU_NAME": kind,
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_CACHE_DIR": str(ROOT / "build" / "numba" / kind),
    }
    done = subprocess.run(
        [sys.executable, bits.__file__, "--sample"],
        env=os.environ | settings | PROCESSORS[kind],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert differences(found) == []
