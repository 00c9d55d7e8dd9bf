"""The motion without a network (notebook 01): its frequencies and its size.

`specs` maps a stiffness k to a RunSpec, which knows its own reference solution.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pinnlib.reference import Reference, solve
from pinnlib.spec import RunSpec
from pinnlib.systems import SpringPendulum

Specs = Mapping[float, RunSpec]  # by stiffness k
Solutions = Mapping[float, Reference]  # by stiffness k


def resonance(system: SpringPendulum) -> float:
    """Stiffness of the 1:2 resonance: √(k/m) = 2√(g/(L0 + mg/k)) holds at k = 3mg/L0."""
    return 3 * system.m * system.g / system.L0


def small_motions(specs: Specs) -> pd.DataFrame:
    """Per k: frequencies of small motions at the equilibrium, their ratio, and largest r, |θ|."""
    rows = []
    for k, spec in specs.items():
        system = spec.system_object
        r, theta = spec.reference.q
        omega_r = np.sqrt(k / system.m)
        omega_theta = np.sqrt(system.g / (system.L0 + system.m * system.g / k))
        rows.append(
            {
                "k": k,
                "omega_r": omega_r,
                "omega_theta": omega_theta,
                "ratio": omega_r / omega_theta,
                "r_max": r.max(),
                "theta_max": np.abs(theta).max(),
            }
        )
    return pd.DataFrame(rows)


def trajectory_table(specs: Specs, every: int) -> pd.DataFrame:
    """Every n-th point of the reference trajectories: k, t, r, theta, r_t, theta_t."""
    frames = []
    for k, spec in specs.items():
        reference = spec.reference
        columns = {"k": k, "t": reference.t}
        columns["r"], columns["theta"] = reference.q
        columns["r_t"], columns["theta_t"] = reference.v
        frame = pd.DataFrame(columns)
        frames.append(frame[::every])
    return pd.concat(frames, ignore_index=True)


def long_solutions(specs: Specs, horizon: float, step: float) -> dict[float, Reference]:
    """The motions to a longer horizon, sampled every `step`, at tolerances that suit a spectrum."""
    points = round(horizon / step) + 1
    solutions = {}
    for k, spec in specs.items():
        problem = spec.problem._replace(horizon=horizon)
        solutions[k] = solve(problem, points=points, rtol=1e-8)
    return solutions


def power_spectrum(signal: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    """(ω, share): one-sided spectrum, mean removed, Hann window; the shares sum to 1."""
    points = len(signal)
    centred = signal - np.mean(signal)
    amplitudes = np.fft.rfft(centred * np.hanning(points))
    power = np.abs(amplitudes) ** 2
    omega = 2 * np.pi * np.fft.rfftfreq(points, step)
    return omega, power / power.sum()


def motion_frequencies(specs: Specs, longer: Solutions, step: float, top: float) -> pd.DataFrame:
    """Per k: √(k/m), the strongest frequencies of r and θ, and the shares of power above `top`.

    The shares are given for r, θ and their accelerations.
    """
    rows = []
    for k, spec in specs.items():
        system = spec.system_object
        q = longer[k].q
        accelerations = system.acceleration(q, longer[k].v)
        row = {"k": k, "omega_r": np.sqrt(k / system.m)}
        for name, signal in zip(("r", "theta"), q, strict=True):
            omega, share = power_spectrum(signal, step)
            row[f"peak_{name}"] = omega[share.argmax()]
        names = ("r", "theta", "r_tt", "theta_tt")
        for name, signal in zip(names, (*q, *accelerations), strict=True):
            omega, share = power_spectrum(signal, step)
            row[f"above_{name}"] = share[omega > top].sum()
        rows.append(row)
    return pd.DataFrame(rows)


def beyond_trunk(frequencies: pd.DataFrame, top: float) -> list[float]:
    """The stiffnesses that need frequencies above `top`, the highest that a trunk starts with.

    The spring's own frequency is above it, or at least 1% of the power of r or θ.
    """
    too_fast = frequencies["omega_r"] > top
    too_strong = frequencies[["above_r", "above_theta"]].max(axis=1) >= 0.01
    return frequencies.loc[too_fast | too_strong, "k"].tolist()
