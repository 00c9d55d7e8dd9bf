"""Figures of the motion and of the accuracy of its reference solutions (notebook 01).

`specs` maps a stiffness k to a RunSpec, which knows its own reference solution.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.reference import RTOL
from pinnlib.report.motion import Solutions, Specs, power_spectrum
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

DOTTED = {"color": "black", "linestyle": ":", "linewidth": 0.9}


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
