"""The Levenberg–Marquardt runs of the gate study."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from pinnlib.analysis.levenberg_marquardt import minimised_runs
from pinnlib.registry import validate
from pinnlib.report.published import PAPER_GATES
from pinnlib.runs.studies import FOUR_K
from pinnlib.spec import RunSpec


def read_minimised_runs(path: Path, seeds: int, rounds: int) -> pd.DataFrame:
    """The table of `minimised_runs` at `path`, for the first `seeds` seeds."""
    table = pd.read_csv(path).astype({"k": int})
    known = sorted(set(table["rounds"]))
    allowed = f"one of {', '.join(map(str, known))}, as in {path.name}, unless train_missing"
    validate("rounds", rounds, rounds in known, allowed)
    return table[table["seed"] < seeds]


def minimise_gate_study(
    seeds: int,
    rounds: int,
    evaluations: int,
    known: pd.DataFrame | None = None,
    keep: Callable[[pd.DataFrame], object] = lambda table: None,
) -> pd.DataFrame:
    """`minimised_runs` for both spectral trunks, the published gates and at most ten seeds.

    Three seeds of the adaptive trunk continue to four times the rounds.
    """
    cells = itertools.product(("adaptive", "fixed"), PAPER_GATES, FOUR_K, range(min(seeds, 10)))
    specs = [RunSpec(model=model, gate=gate, k=k, seed=seed) for model, gate, k, seed in cells]
    longer = [spec for spec in specs if spec.model == "adaptive" and spec.seed < 3]
    others = [spec for spec in specs if spec not in longer]
    stages = (rounds, 2 * rounds, 4 * rounds)
    known = minimised_runs(longer, stages, evaluations, known, keep)
    return minimised_runs(others, (rounds,), evaluations, known, keep)
