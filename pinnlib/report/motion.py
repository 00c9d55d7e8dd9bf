"""The motion without a network (notebook 01): its frequencies and the accuracy of the reference.

`specs` maps a stiffness k to a RunSpec, which knows its own reference solution. `save_reference`
puts such a solution on file.
"""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.paths import REFERENCES
from pinnlib.reference import INDEX, POINTS, RTOL, Problem, Reference, read_reference, solve
from pinnlib.runs.files import replacing
from pinnlib.runs.studies import STUDIES
from pinnlib.spec import RunSpec
from pinnlib.style.figures import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    STIFFNESS,
    WIDE,
    add_legend,
    panels,
    shades,
)
from pinnlib.style.labels import path_axes
from pinnlib.systems import SpringPendulum, System

Specs = Mapping[float, RunSpec]  # by stiffness k
Solutions = Mapping[float, Reference]  # by stiffness k
NEGLIGIBLE = 1e-9  # relative difference of two reference solutions that count as equal
DOTTED = {"color": "black", "linestyle": ":", "linewidth": 0.9}


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


def largest_values(specs: Specs) -> pd.DataFrame:
    """Largest coordinates and velocities and the width of the path, one column per k."""
    values = {}
    for k, spec in specs.items():
        r, theta = spec.reference.q
        r_t, theta_t = spec.reference.v
        values[k] = {
            "largest r [m]": r.max(),
            "largest |theta| [rad]": np.abs(theta).max(),
            "largest r_t [m/s]": np.abs(r_t).max(),
            "largest theta_t [rad/s]": np.abs(theta_t).max(),
            "width of the path [m]": np.ptp(r * np.sin(theta)),
        }
    return pd.DataFrame(values).rename_axis(columns="k")


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


def plot_trajectories(specs: Specs) -> Figure:
    """Length and angle against time, one row per stiffness, each on its own scale."""
    figure, axes = panels(len(specs), 2, height=0.35 + 0.82 * len(specs), sharex=True)
    colours = shades(specs)
    for row, (k, spec) in zip(axes, specs.items(), strict=True):
        for axis, component in zip(row, spec.reference.q, strict=True):
            axis.plot(spec.reference.t, component, color=colours[k])
            axis.set_xlim(0, spec.horizon)
        row[0].set_ylabel(f"$k={k:g}$")
    axes[0, 0].set_title("length $r$ [m]")
    axes[0, 1].set_title(r"angle $\theta$ [rad]")
    for axis in axes[-1]:
        axis.set_xlabel("time $t$ [s]")
    return figure


def plot_paths(specs: Specs) -> Figure:
    """Path of the mass in the plane, its start (dot) and its equilibrium (cross)."""
    figure, axes = panels(1, len(specs), height=2.05, sharey=True, sharex=True)
    colours = shades(specs)
    for axis, (k, spec) in zip(axes[0], specs.items(), strict=True):
        system = spec.system_object
        x, y = path_axes(system, spec.reference.q, spec.reference.v).values()
        rest = -system.L0 - system.m * system.g / k
        axis.plot(x, y, color=colours[k], linewidth=0.7)
        axis.plot(x[0], y[0], "o", color="black", zorder=3)
        axis.plot(0, rest, "+", color="black", markersize=6, zorder=3)
        axis.set(title=f"$k={k:g}$", aspect="equal")
        axis.set_xlabel("$x$ [m]")
    axes[0, 0].set_ylabel("$y$ [m]")
    return figure


def plot_phase_portraits(specs: Specs) -> Figure:
    """Each coordinate against its velocity, each on its own scale."""
    figure, axes = panels(2, len(specs), height=3.0)
    colours = shades(specs)
    for column, (k, spec) in zip(axes.T, specs.items(), strict=True):
        for axis, q, v in zip(column, spec.reference.q, spec.reference.v, strict=True):
            axis.plot(q, v, color=colours[k], linewidth=0.7)
        column[0].set(title=f"$k={k:g}$", xlabel="$r$ [m]")
        column[1].set_xlabel(r"$\theta$ [rad]")
    axes[0, 0].set_ylabel(r"$\dot r$ [m/s]")
    axes[1, 0].set_ylabel(r"$\dot\theta$ [rad/s]")
    return figure


def plot_spectra(specs: Specs, longer: Solutions, step: float, start: np.ndarray) -> Figure:
    """Spectra of r and θ, with the trunk's starting frequencies as ticks at the top.

    Dotted: the spring's own frequency. Grey: beyond the highest starting frequency.
    """
    height = 0.45 + 0.85 * len(specs)
    figure, axes = panels(len(specs), 1, height=height, sharex=True, sharey=True)
    looks = (("-", BLUE, "$r$"), ("--", ORANGE, r"$\theta$"))
    for axis, (k, spec) in zip(axes[:, 0], specs.items(), strict=True):
        for signal, (line, colour, label) in zip(longer[k].q, looks, strict=True):
            axis.semilogy(
                *power_spectrum(signal, step),
                line,
                color=colour,
                linewidth=0.9,
                label=label,
            )
        axis.axvline(np.sqrt(k / spec.system_object.m), **DOTTED)
        axis.axvspan(start.max(), 30, color="0.93", zorder=0)
        axis.eventplot(
            start,
            lineoffsets=0.95,
            linelengths=0.1,
            linewidths=0.6,
            colors="0.3",
            transform=axis.get_xaxis_transform(),
        )
        axis.set(ylabel=f"$k={k:g}$", xlim=(0, 30), ylim=(1e-12, 10))
        axis.set_yticks([1e-10, 1e-5, 1])
    axes[-1, 0].set_xlabel(r"angular frequency $\omega$ [rad/s]")
    figure.supylabel("share of the power", fontsize=7.5)
    add_legend(figure, axes[0, 0], 2)
    return figure


def plot_power_above(frequencies: pd.DataFrame, top: float, resonant: float) -> Figure:
    """Shares of power above `top` against k; the vertical line is the 1:2 resonance."""
    figure, ((axis,),) = panels(1, 1, width=WIDE, height=2.4)
    curves = {
        "above_r": ("o-", BLUE, BLUE, "$r$"),
        "above_theta": ("s--", ORANGE, "white", r"$\theta$"),
        "above_r_tt": ("^-", GREEN, GREEN, r"$\ddot r$"),
        "above_theta_tt": ("D--", PURPLE, "white", r"$\ddot\theta$"),
    }
    ks = frequencies["k"]
    for column, (line, colour, fill, label) in curves.items():
        axis.semilogy(
            ks,
            frequencies[column],
            line,
            color=colour,
            markerfacecolor=fill,
            label=label,
        )
    axis.axvline(resonant, **DOTTED)
    axis.annotate(
        " 1:2 resonance",
        (resonant, 0.04),
        xycoords=("data", "axes fraction"),
        fontsize=6.5,
    )
    axis.set(xlabel=STIFFNESS, ylabel=f"power above {top:g} rad/s (share)", xticks=ks)
    figure.legend(loc="outside right center")
    return figure


def plot_accuracy(table: pd.DataFrame, resonant: float) -> Figure:
    """The columns of `accuracy_table` against k; thick: RTOL, dotted: the resonance."""
    figure, axes = panels(1, 2, height=2.3, sharex=True)
    colours = shades(table["rtol"].unique())
    labels = {
        "difference": "largest difference [m, rad]",
        "energy_drift": "energy drift (relative)",
    }
    for axis, (column, label) in zip(axes[0], labels.items(), strict=True):
        solutions = table.groupby("rtol", sort=False)
        for (rtol, rows), marker in zip(solutions, "os^D", strict=False):
            values = rows[column].where(rows[column] > 0)  # the last differs from itself by 0
            axis.semilogy(
                rows["k"],
                values,
                marker + "-",
                color=colours[rtol],
                linewidth=2 if rtol == RTOL else 0.9,
                label=f"rtol {rtol:.0e}",
            )
        axis.axvline(resonant, **DOTTED)
        axis.set(xlabel=STIFFNESS, ylabel=label)
        axis.set_xticks(table["k"].unique()[::2])
    add_legend(figure, axes[0, 1], 4)
    return figure
