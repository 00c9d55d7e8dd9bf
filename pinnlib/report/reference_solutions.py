"""The reference solutions (notebook 01): their accuracy, and the files that hold them.

`save_reference` puts the solution of a problem on file.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from pinnlib.paths import REFERENCES
from pinnlib.reference import INDEX, POINTS, RTOL, Problem, Reference, read_reference, solve
from pinnlib.report.motion import Specs, beyond_trunk
from pinnlib.runs.files import replacing
from pinnlib.runs.studies import STUDIES
from pinnlib.spec import RunSpec
from pinnlib.systems import System

NEGLIGIBLE = 1e-9  # relative difference of two reference solutions that count as equal


def energy_drift(system: System, solution: Reference) -> float:
    """max |E(t) − E(0)| / max(1, |E(0)|)."""
    energy = system.energy(solution.q, solution.v)
    return np.abs(energy - energy[0]).max() / max(1, abs(energy[0]))


def accuracy_table(specs: Specs, tolerances: Sequence[float]) -> pd.DataFrame:
    """Per k and relative tolerance: energy drift, and largest difference to the last solution.

    The absolute tolerance is a hundredth of the relative one.
    """
    rows = []
    for k, spec in specs.items():
        solutions = {}
        for rtol in tolerances:
            solutions[rtol] = solve(spec.problem, rtol=rtol)
        last = solutions[tolerances[-1]]
        for rtol, solution in solutions.items():
            differences = np.abs(solution.q - last.q)
            row = {"k": k, "rtol": rtol}
            row["energy_drift"] = energy_drift(spec.system_object, solution)
            row["difference"] = differences.max()
            rows.append(row)
    return pd.DataFrame(rows)


def studied_problems() -> list[Problem]:
    """The problems of all studies, each once."""
    problems = {}
    for study in STUDIES.values():
        for settings in study.settings(steps=1, seeds=1):
            problems[RunSpec(**settings).problem] = None
    return list(problems)


def save_reference(problem: Problem, folder: Path = REFERENCES) -> Reference:
    """The solution as it is on file in `folder`; if there is none, it is computed and saved."""
    on_file = read_reference(problem, folder)
    if on_file is not None:
        return on_file
    solution = solve(problem)
    data = io.BytesIO()
    np.save(data, np.concatenate([solution.q, solution.v]))
    entry = {
        "problem": str(problem),
        "solver": f"DOP853, rtol {RTOL:g}, atol {RTOL / 100:g}, {POINTS} points",
        "sha256": hashlib.sha256(data.getvalue()).hexdigest(),
    }
    index = folder / INDEX
    entries = json.loads(index.read_text()) if index.exists() else {}
    entries[problem.file] = entry
    with replacing(index) as temporary:
        temporary.write_text(json.dumps(entries, indent=1) + "\n")
    with replacing(folder / problem.file) as temporary:
        temporary.write_bytes(data.getvalue())
    return solution


def keep_references(problems: Iterable[Problem], folder: Path) -> pd.DataFrame:
    """Per problem: its file, and the relative difference of the file to a fresh solution.

    The problems that are not on file yet are saved in `folder`.
    """
    rows = []
    for problem in problems:
        kept = read_reference(problem) or save_reference(problem, folder)
        fresh = solve(problem)
        differences = [
            np.abs(new - old).max() / np.abs(old).max()
            for new, old in ((fresh.q, kept.q), (fresh.v, kept.v))
        ]
        rows.append({"file": problem.file, "difference": max(differences)})
    return pd.DataFrame(rows)


def reference_numbers(
    resonant: float, frequencies: pd.DataFrame, accuracy: pd.DataFrame
) -> dict[str, float]:
    """The numbers of notebook 01 that the report quotes."""
    used = accuracy[accuracy["rtol"] == RTOL]
    share = frequencies[["above_r", "above_theta"]].max(axis=None)
    share_tt = frequencies[["above_r_tt", "above_theta_tt"]].max(axis=None)
    return {
        "resonance_k": round(resonant, 2),
        "largest_share_above_trunk": float(f"{share:.2g}"),
        "largest_acceleration_share_above_trunk": float(f"{share_tt:.2g}"),
        "largest_reference_energy_drift": float(f"{used['energy_drift'].max():.1e}"),
        "largest_reference_difference": float(f"{used['difference'].max():.1e}"),
    }


def reference_answer(
    small: pd.DataFrame,
    frequencies: pd.DataFrame,
    files: pd.DataFrame,
    numbers: dict[str, float],
    top: float,
) -> str:
    """What the pendulum does, how accurate its reference is, and whether the trunk reaches it.

    `small` is the table of `small_motions`, `files` that of `keep_references`.
    """
    widest, stiffest = small.loc[small["theta_max"].idxmax()], small.iloc[-1]
    agree = (files["difference"] < NEGLIGIBLE).sum()
    on_file = "every file in `data/reference/` agrees"
    if agree < len(files):
        on_file = f"only {agree} of {len(files)} files in `data/reference/` agree"
    beyond = beyond_trunk(frequencies, top)
    reach = "The trunk's starting frequencies reach the motion at every $k$"
    if beyond:
        listed = ", ".join(f"{k:g}" for k in beyond)
        reach = f"The trunk's starting frequencies do not reach the motion at $k$ = {listed}"
    return (
        "Spring and pendulum exchange energy near their 1:2 resonance, "
        f"$k$ = {numbers['resonance_k']:g}: the angle, 0.2 rad at the start, "
        f"reaches {widest['theta_max']:.2f} rad at $k$ = {widest['k']:g}, "
        f"but {stiffest['theta_max']:.2f} rad at $k$ = {stiffest['k']:g}. "
        f"The reference is accurate to {numbers['largest_reference_difference']:.2g} m or rad, "
        f"and {on_file} with a new solution. "
        f"{reach}: at most {numbers['largest_share_above_trunk']:.2g} of the power of $r$ or "
        f"$\\theta$ lies above {top:g} rad/s."
    )
