"""Reference solutions, computed once by DOP853 in float64 and then read from data/reference.

DOP853 uses BLAS, so its last digits depend on the machine; those of a file do not.
"""

import hashlib
import io
import itertools
import json
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from pinnlib.paths import REFERENCES
from pinnlib.registry import UserError, validate
from pinnlib.systems import System

INDEX = "index.json"  # the checksum of every file
POINTS = 2000
RTOL = 1e-10  # of every reference that errors are measured against
MOST_EVALUATIONS = 1_000_000  # of the right-hand side, about ten seconds


class NotOnFileWarning(UserWarning):
    """A reference solution was computed: its last digits may depend on the machine."""


class Problem(NamedTuple):
    """A system, its initial position and velocity, and the length of the time interval."""

    system: System
    position: tuple[float, ...]
    velocity: tuple[float, ...]
    horizon: float = 10.0

    def __str__(self) -> str:
        """With all numbers, also the defaults of the system; the module tells namesakes apart."""
        position, velocity = [float(x) for x in self.position], [float(x) for x in self.velocity]
        system = f"{type(self.system).__module__}.{self.system!r}"
        return f"{system} from {position}, {velocity} to t = {float(self.horizon)}"

    @property
    def file(self) -> str:
        """Name of the file that holds the solution."""
        digest = hashlib.sha256(f"{self} {POINTS} {RTOL}".encode()).hexdigest()
        return f"{self.system.name}_k{self.system.k:g}_{digest[:8]}.npy"


@dataclass(frozen=True)
class Reference:
    """Positions q and velocities v, each (components, points), at the times t."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    on_file: bool  # read from a file: the same bits on every machine


@lru_cache(maxsize=256)
def reference_solution(problem: Problem) -> Reference:
    """The solution at 2,000 equally spaced times, from its file or else computed with a warning."""
    reference = read_reference(problem)
    if reference is None:
        advice = "its reference is computed here, and its last digits may depend on the machine"
        warnings.warn(f"not on file: {problem}; {advice}", NotOnFileWarning, stacklevel=3)
        reference = solve(problem)
    return reference


def solve(problem: Problem, points: int = POINTS, rtol: float = RTOL) -> Reference:
    """The solution by DOP853; the absolute tolerance is a hundredth of the relative one.

    A ValueError if there is none, if it costs too much, or if it leaves the domain of the system.
    """
    system, position, velocity, horizon = problem
    n = len(position)
    evaluations = itertools.count(1)

    def right_hand_side(time: float, state: np.ndarray) -> np.ndarray:
        if next(evaluations) > MOST_EVALUATIONS:
            reached = f"{MOST_EVALUATIONS} evaluations of its right-hand side reach t = {time:.3g}"
            validate("problem", str(problem), False, f"easier to solve: {reached} only")
        return np.concatenate([state[n:], system.acceleration(state[:n], state[n:])])

    times = np.linspace(0, horizon, points)
    options = {"t_eval": times, "rtol": rtol, "atol": rtol / 100}
    start = [*position, *velocity]
    with np.errstate(over="ignore", invalid="ignore"):  # a motion that escapes to infinity
        solution = solve_ivp(right_hand_side, (0, horizon), start, "DOP853", **options)
    reason = f"such that there is a solution; no reference solution: {solution.message}"
    validate("problem", str(problem), solution.success, reason)
    for name, positive, q in zip(system.components, system.positive, solution.y[:n], strict=True):
        if positive:
            allowed = f"such that {name} stays > {system.floor}; it reaches {q.min():.3g}"
            validate("initial_position", position, q.min() > system.floor, allowed)
    return _reference(problem, solution.y, on_file=False)


def read_reference(problem: Problem, folder: Path = REFERENCES) -> Reference | None:
    """The solution on file, or None if there is no file; a UserError if the file is damaged."""
    path = folder / problem.file
    if not path.exists():
        return None
    data = path.read_bytes()
    index = json.loads((folder / INDEX).read_text())
    if hashlib.sha256(data).hexdigest() != index.get(path.name, {}).get("sha256"):
        raise UserError(
            f"{path} is damaged: its SHA-256 is not the one in {INDEX}. Restore it with "
            "git checkout, or delete it and run ./run_all.sh --only 01 to compute it again."
        )
    return _reference(problem, np.load(io.BytesIO(data), allow_pickle=False), on_file=True)


def _reference(problem: Problem, states: np.ndarray, on_file: bool) -> Reference:
    """`states` has the positions, then the velocities, as rows."""
    states.setflags(write=False)  # the cache hands out the same arrays again
    t = np.linspace(0, problem.horizon, states.shape[1])
    q, v = np.split(states, 2)
    return Reference(t, q, v, on_file)
