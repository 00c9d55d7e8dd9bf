"""Reference solutions: DOP853 at strict tolerances, float64."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class Reference:
    """Positions q and velocities v, each (components, points), at the times t."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    energy_drift: float  # max |E(t) − E(0)| / max(1, |E(0)|)


RTOL = 1e-10  # of every reference that errors are measured against


@lru_cache(maxsize=256)
def reference_solution(
    system, position, velocity, horizon=10.0, points=2000, rtol=RTOL, atol=RTOL / 100
):
    """The trajectory from the given start on `points` equally spaced times of [0, horizon]."""
    n, t = len(system.components), np.linspace(0, horizon, points)

    def right_hand_side(_, state):
        return np.concatenate([state[n:], system.acceleration(state[:n], state[n:])])

    solution = solve_ivp(
        right_hand_side, (0, horizon), [*position, *velocity], "DOP853", t, rtol=rtol, atol=atol
    )
    if not solution.success:
        raise RuntimeError(
            f"no reference solution for {system} from {position}, {velocity}: {solution.message}"
        )
    q, v = solution.y[:n], solution.y[n:]
    energy = system.energy(q, v)
    for array in (t, q, v):
        array.setflags(write=False)  # shared by all who ask
    return Reference(t, q, v, float(np.abs(energy - energy[0]).max() / max(1, abs(energy[0]))))
