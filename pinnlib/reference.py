"""Reference solutions: DOP853 at strict tolerances, float64."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.integrate import solve_ivp

from pinnlib.systems import System

RTOL = 1e-10  # of every reference that errors are measured against


@dataclass(frozen=True)
class Reference:
    """Positions q and velocities v, each (components, points), at the times t."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    energy_drift: float  # max |E(t) − E(0)| / max(1, |E(0)|)


@lru_cache(maxsize=256)
def reference_solution(
    system: System,
    position: tuple[float, ...],
    velocity: tuple[float, ...],
    horizon: float = 10.0,
    points: int = 2000,
    rtol: float = RTOL,
    atol: float = RTOL / 100,
) -> Reference:
    """The trajectory from the given start on `points` equally spaced times of [0, horizon]."""
    n = len(system.components)
    t = np.linspace(0, horizon, points)

    def right_hand_side(_: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[n:], system.acceleration(state[:n], state[n:])])

    start = [*position, *velocity]
    solution = solve_ivp(right_hand_side, (0, horizon), start, "DOP853", t, rtol=rtol, atol=atol)
    if not solution.success:
        problem = f"{system} from {position}, {velocity}"
        raise RuntimeError(f"no reference solution for {problem}: {solution.message}")
    q, v = solution.y[:n], solution.y[n:]
    for array in (t, q, v):
        array.setflags(write=False)  # the cache hands out the same arrays again
    energy = system.energy(q, v)
    drift = np.abs(energy - energy[0]).max() / max(1, abs(energy[0]))
    return Reference(t, q, v, float(drift))
