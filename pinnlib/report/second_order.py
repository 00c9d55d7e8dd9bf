"""The Levenberg–Marquardt runs of the gate study."""

import pandas as pd

from pinnlib.analysis.levenberg_marquardt import minimised_runs
from pinnlib.registry import validate
from pinnlib.runs.studies import FOUR_K
from pinnlib.spec import RunSpec


def known(path, seeds, rounds):
    """The table of `outcomes` at `path`, for so many seeds; refused if nothing in it went on for so many rounds."""
    table = pd.read_csv(path).astype({"k": int})
    there = sorted(set(table["rounds"]))
    validate(
        "rounds",
        rounds,
        rounds in there,
        f"one of {', '.join(map(str, there))}, which are in {path.name}, unless what is missing is trained",
    )
    return table[table["seed"] < seeds]


def of_the_gate_study(seeds, rounds, evaluations, known=None, keep=lambda table: None):
    """`outcomes` for notebook 06: both spectral trunks, the published gates, at most ten seeds; three of the adaptive go on for four times the rounds."""
    cells = [
        (model, gate, k)
        for model in ("adaptive", "fixed")
        for gate in ("exp", "linear")
        for k in FOUR_K
    ]
    asked = [
        RunSpec(model=model, gate=gate, k=k, seed=seed)
        for model, gate, k in cells
        for seed in range(min(seeds, 10))
    ]
    few = [spec for spec in asked if spec.model == "adaptive" and spec.seed < 3]
    known = minimised_runs(few, (rounds, 2 * rounds, 4 * rounds), evaluations, known, keep)
    return minimised_runs(
        [spec for spec in asked if spec not in few], (rounds,), evaluations, known, keep
    )
