"""Figures of the motion and of the accuracy of its reference solutions (notebook 01).

`specs` maps a stiffness k to a RunSpec, which knows its own reference solution.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pinnlib.reference import RTOL
from pinnlib.report.motion import Solutions, Specs, power_spectrum
from pinnlib.style.figures import (
    GREEN,
    PURPLE,
    STIFFNESS,
    WIDE,
    label_ends,
    panels,
    shades,
)
from pinnlib.style.labels import path_axes

COORDINATES = (GREEN, PURPLE)  # length, angle
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
    swings = {k: np.abs(spec.reference.q[1]).max() for k, spec in specs.items()}
    widest = max(swings, key=swings.get)
    _add_title(figure, f"The swing is largest at $k={widest:g}$: {swings[widest]:.2f} rad")
    return figure


def _add_title(figure, text):
    figure.suptitle(text, fontsize=7.5)


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
    widths = {k: np.ptp(r * np.sin(theta)) for k, (r, theta) in _coordinates(specs)}
    _add_title(figure, f"The path is widest at $k={max(widths, key=widths.get):g}$")
    return figure


def _coordinates(specs):
    return [(k, spec.reference.q) for k, spec in specs.items()]


def plot_spectra(specs: Specs, longer: Solutions, step: float, start: np.ndarray) -> Figure:
    """Spectra of r and θ, with the trunk's starting frequencies as ticks at the top.

    Dotted: the spring's own frequency. Grey: beyond the highest starting frequency.
    """
    height = 0.45 + 0.85 * len(specs)
    figure, axes = panels(len(specs), 1, height=height, sharex=True, sharey=True)
    for axis, (k, spec) in zip(axes[:, 0], specs.items(), strict=True):
        for signal, line, colour in zip(longer[k].q, ("-", "--"), COORDINATES, strict=True):
            axis.semilogy(*power_spectrum(signal, step), line, color=colour, linewidth=0.9)
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
    _label_spectrum(axes[0, 0])
    return figure


def _label_spectrum(axis):
    """The names of the two spectra and of the grey region, in the panel."""
    words = ("length $r$", r"angle $\theta$", "above the trunk's starting frequencies")
    colours = (*COORDINATES, "0.3")
    for text, colour, height in zip(words, colours, (0.9, 0.73, 0.56), strict=True):
        axis.text(0.99, height, text, color=colour, ha="right", va="top", transform=axis.transAxes)


def plot_power_above(frequencies: pd.DataFrame, top: float, resonant: float) -> Figure:
    """Shares of power above `top` against k; the vertical line is the 1:2 resonance."""
    figure, ((axis,),) = panels(1, 1, width=WIDE, height=2.5)
    green, purple = COORDINATES
    curves = {
        "above_r": ("o-", green, green, "$r$"),
        "above_theta": ("s-", purple, purple, r"$\theta$"),
        "above_r_tt": ("o--", green, "white", r"$\ddot r$"),
        "above_theta_tt": ("s--", purple, "white", r"$\ddot\theta$"),
    }
    ks = frequencies["k"]
    ends = []
    for column, (line, colour, fill, label) in curves.items():
        axis.semilogy(ks, frequencies[column], line, color=colour, markerfacecolor=fill)
        ends.append((label, frequencies[column].iloc[-1], colour))
    axis.axvline(resonant, **DOTTED)
    axis.annotate(" 1:2 resonance", (resonant, 0.04), xycoords=("data", "axes fraction"))
    axis.set(xlabel=STIFFNESS, ylabel=f"power above {top:g} rad/s (share)", xticks=ks)
    label_ends(axis, ends, gap=0.08)
    largest = frequencies[list(curves)].max(axis=None)
    axis.set_title(f"At most {largest:.1%} of the power lies above {top:g} rad/s", loc="left")
    return figure


def plot_accuracy(table: pd.DataFrame) -> Figure:
    """The columns of `accuracy_table` against k, one curve per tolerance; thick: RTOL."""
    figure, axes = panels(1, 2, height=2.4, sharex=True)
    colours = shades(table["rtol"].unique())
    labels = {
        "difference": "largest difference [m, rad]",
        "energy_drift": "energy drift (relative)",
    }
    for axis, (column, label) in zip(axes[0], labels.items(), strict=True):
        ends = []
        for rtol, rows in table.groupby("rtol", sort=False):
            values = rows[column].where(rows[column] > 0)  # the last differs from itself by 0
            width = 2 if rtol == RTOL else 0.9
            axis.semilogy(rows["k"], values, "o-", color=colours[rtol], linewidth=width)
            if values.notna().any():
                ends.append((f"rtol {rtol:.0e}", values.iloc[-1], colours[rtol]))
        axis.set(xlabel=STIFFNESS, ylabel=label)
        axis.set_xticks(table["k"].unique()[::2])
        label_ends(axis, ends, gap=0.08)
    used = table.loc[table["rtol"] == RTOL, list(labels)].max()
    axes[0, 0].set_title(f"At rtol {RTOL:.0e}: at most {used['difference']:.0e}", loc="left")
    axes[0, 1].set_title(f"At rtol {RTOL:.0e}: at most {used['energy_drift']:.0e}", loc="left")
    return figure
