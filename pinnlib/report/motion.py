"""The motion itself, without a network: its frequencies, how accurately it is known, and pictures of both.

`specs` is {k: RunSpec}: a run's specification knows its own reference.
"""

import numpy as np
import pandas as pd

from pinnlib.reference import RTOL, reference_solution
from pinnlib.style.figures import BLUE, GREEN, ORANGE, PURPLE, STIFFNESS, panels, shades

DOTTED = {"color": "black", "linestyle": ":", "linewidth": 0.9}


def resonance(system):
    """The stiffness at which the spring beats twice as fast as the pendulum swings: √(k/m) = 2√(g/(L0 + mg/k)) at k = 3mg/L0."""
    return 3 * system.m * system.g / system.L0


def small_motions(specs):
    """Per k: the frequencies of small motions about the stretched equilibrium and their ratio, and how far the real motion goes."""
    rows = []
    for k, spec in specs.items():
        system, (r, theta) = spec.system_object, spec.reference.q
        omega = np.sqrt(k / system.m), np.sqrt(system.g / (system.L0 + system.m * system.g / k))
        rows.append([k, *omega, omega[0] / omega[1], r.max(), np.abs(theta).max()])
    return pd.DataFrame(
        rows, columns=["k", "omega_r", "omega_theta", "ratio", "r_max", "theta_max"]
    )


def continued(specs, horizon, step):
    """{k: the same motion to a longer horizon}, sampled every `step`; less strictly solved, since only its spectrum is asked for."""
    points = round(horizon / step) + 1
    return {
        k: reference_solution(
            s.system_object,
            s.initial_position,
            s.initial_velocity,
            horizon,
            points,
            rtol=1e-8,
            atol=1e-10,
        )
        for k, s in specs.items()
    }


def power_spectrum(signal, step):
    """(ω, share): the one-sided spectrum of a signal sampled every `step`, mean removed, Hann window; the shares sum to 1."""
    power = np.abs(np.fft.rfft((signal - np.mean(signal)) * np.hanning(len(signal)))) ** 2
    return 2 * np.pi * np.fft.rfftfreq(len(signal), step), power / power.sum()


def motion_frequencies(specs, longer, step, top):
    """Per k: the spring's own frequency, the strongest of r and θ, and the share of the power above `top` of r, θ and their accelerations."""
    rows = []
    for k, spec in specs.items():
        q, v = longer[k].q, longer[k].v
        spectra = [
            power_spectrum(signal, step) for signal in (*q, *spec.system_object.acceleration(q, v))
        ]
        peaks = [omega[share.argmax()] for omega, share in spectra[: len(q)]]
        rows.append(
            [
                k,
                np.sqrt(k / spec.system_object.m),
                *peaks,
                *(share[omega > top].sum() for omega, share in spectra),
            ]
        )
    return pd.DataFrame(
        rows,
        columns=[
            "k",
            "omega_r",
            "peak_r",
            "peak_theta",
            "above_r",
            "above_theta",
            "above_r_tt",
            "above_theta_tt",
        ],
    )


def accuracy(specs, tolerances):
    """Per k and tolerance (the absolute one is a hundredth of it): the drift of the energy, and the largest difference to the last, tightest solution."""
    rows = []
    for k, s in specs.items():
        solved = {
            rtol: reference_solution(
                s.system_object,
                s.initial_position,
                s.initial_velocity,
                s.horizon,
                rtol=rtol,
                atol=rtol / 100,
            )
            for rtol in tolerances
        }
        tightest = solved[tolerances[-1]].q
        rows += [
            [k, rtol, solution.energy_drift, np.abs(solution.q - tightest).max()]
            for rtol, solution in solved.items()
        ]
    return pd.DataFrame(rows, columns=["k", "rtol", "energy_drift", "difference"])


def trajectories(specs):
    """Length and angle against time, a row per stiffness, each on its own scale."""
    figure, axes = panels(len(specs), 2, height=0.35 + 0.82 * len(specs), sharex=True)
    for row, (k, spec), colour in zip(axes, specs.items(), shades(specs).values()):
        for axis, component in zip(row, spec.reference.q):
            axis.plot(spec.reference.t, component, color=colour)
        row[0].set_ylabel(f"$k={k:g}$")
    for axis, title in zip(axes[0], ("length $r$ [m]", r"angle $\theta$ [rad]")):
        axis.set_title(title)
    for axis in axes[-1]:
        axis.set(xlabel="time $t$ [s]", xlim=(0, spec.horizon))
    return figure


def plane(specs):
    """The path of the mass, its start (dot) and its equilibrium (cross)."""
    figure, axes = panels(1, len(specs), height=2.05, sharey=True, sharex=True)
    for axis, (k, spec), colour in zip(axes[0], specs.items(), shades(specs).values()):
        system, (x, y) = (
            spec.system_object,
            spec.system_object.path(spec.reference.q, spec.reference.v).values(),
        )
        axis.plot(x, y, color=colour, linewidth=0.7)
        axis.plot(x[0], y[0], "o", color="black", zorder=3)
        axis.plot(
            0, -system.L0 - system.m * system.g / k, "+", color="black", markersize=6, zorder=3
        )
        axis.set(title=f"$k={k:g}$", aspect="equal", xlabel="$x$ [m]")
    axes[0, 0].set_ylabel("$y$ [m]")
    return figure


def phase_portraits(specs):
    """Each coordinate against its velocity, each on its own scale."""
    figure, axes = panels(2, len(specs), height=3.0)
    for column, (k, spec), colour in zip(axes.T, specs.items(), shades(specs).values()):
        for axis, q, v in zip(column, spec.reference.q, spec.reference.v):
            axis.plot(q, v, color=colour, linewidth=0.7)
        column[0].set(title=f"$k={k:g}$", xlabel="$r$ [m]")
        column[1].set_xlabel(r"$\theta$ [rad]")
    for axis, label in zip(axes[:, 0], (r"$\dot r$ [m/s]", r"$\dot\theta$ [rad/s]")):
        axis.set_ylabel(label)
    return figure


def plot_spectra(specs, longer, step, start):
    """Spectra of r and θ over the trunk's starting frequencies (ticks on top); dotted: the spring's own; grey: beyond the highest of the trunk's."""
    figure, axes = panels(len(specs), 1, height=0.45 + 0.85 * len(specs), sharex=True, sharey=True)
    for axis, (k, spec) in zip(axes[:, 0], specs.items()):
        for component, label, line, colour in zip(
            longer[k].q, ("$r$", r"$\theta$"), ("-", "--"), (BLUE, ORANGE)
        ):
            axis.semilogy(
                *power_spectrum(component, step), line, color=colour, label=label, linewidth=0.9
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
        axis.set(ylabel=f"$k={k:g}$", xlim=(0, 30), ylim=(1e-12, 10), yticks=[1e-10, 1e-5, 1])
    axes[-1, 0].set_xlabel(r"angular frequency $\omega$ [rad/s]")
    figure.supylabel("share of the power", fontsize=7.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def above_trunk(table, top, resonant):
    """The shares of `frequencies` above `top` against k; the vertical line is the 1:2 resonance."""
    figure, ((axis,),) = panels(1, 1, width=4.9, height=2.4)
    names = {
        "above_r": "$r$",
        "above_theta": r"$\theta$",
        "above_r_tt": r"$\ddot r$",
        "above_theta_tt": r"$\ddot\theta$",
    }
    for (column, label), line, colour in zip(
        names.items(), ("o-", "s--", "^-", "D--"), (BLUE, ORANGE, GREEN, PURPLE)
    ):
        axis.semilogy(
            table["k"],
            table[column],
            line,
            color=colour,
            label=label,
            markerfacecolor="white" if "--" in line else colour,
        )
    axis.axvline(resonant, **DOTTED)
    axis.annotate(
        " 1:2 resonance", (resonant, 0.04), xycoords=("data", "axes fraction"), fontsize=6.5
    )
    axis.set(xlabel=STIFFNESS, ylabel=f"power above {top:g} rad/s (share)", xticks=table["k"])
    figure.legend(loc="outside right center")
    return figure


def tolerances(table, resonant):
    """What `accuracy` found, against k: difference to the tightest solution, drift of the energy; thick: the tolerance used; dotted: the resonance."""
    figure, axes = panels(1, 2, height=2.3, sharex=True)
    for (rtol, rows), colour, marker in zip(
        table.groupby("rtol", sort=False), shades(table["rtol"].unique()).values(), "os^D"
    ):
        for axis, column in zip(axes[0], ("difference", "energy_drift")):
            values = rows[column].where(
                rows[column] > 0
            )  # the tightest does not differ from itself
            axis.semilogy(
                rows["k"],
                values,
                marker + "-",
                color=colour,
                label=f"rtol {rtol:.0e}",
                linewidth=2 if rtol == RTOL else 0.9,
            )
    for axis, label in zip(axes[0], ("largest difference [m, rad]", "energy drift (relative)")):
        axis.axvline(resonant, **DOTTED)
        axis.set(xlabel=STIFFNESS, xticks=table["k"].unique()[::2], ylabel=label)
    figure.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
