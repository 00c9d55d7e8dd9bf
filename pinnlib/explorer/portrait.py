"""Figures of single runs: the problem, untrained networks, trained runs against the reference."""

import dataclasses
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pinnlib.analysis.ntk import jacobian, profile
from pinnlib.metrics import state_error
from pinnlib.models import Trunk
from pinnlib.registry import validate
from pinnlib.result import Result, predict
from pinnlib.spec import RunSpec
from pinnlib.style.figures import shades, styles
from pinnlib.style.labels import path_axes
from pinnlib.training import initial_parameters

WIDTH, ROW, COLUMNS = 9.0, 2.1, 4  # inches, inches, panels in a row
SEEDS = 5  # untrained networks
REFERENCE = {"color": "0.78", "linewidth": 2.2, "solid_capstyle": "round"}
LABELS = {"r": "length $r$ [m]", "theta": r"angle $\theta$ [rad]"}
SETTING = {  # how the heading and the labels write a field of a RunSpec
    "k": "$k$ = {:g} N/m",
    "lambda_ic": r"$\lambda_\mathrm{{IC}}$ = {:g}",
    "loss": "{} loss",
    "seed": "seed {}",
    "steps": "{:,} updates",
}
UNUSUAL = {  # the same for fields that are written only if they differ from their default
    "lr": "learning rate {:g}",
    "schedule": "{} schedule",
    "lbfgs": "{:,} iterations of L-BFGS",
    "precision": "{}",
}
UNITS = {"r": "m", "theta": "rad"}
NOTE = {"ha": "center", "va": "center", "color": "0.4"}
TIME = "time $t$ [s]"


class Picture(Figure):
    """A figure outside pyplot, safe to draw in another thread; a notebook shows it as its value."""

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        self.savefig(data, format="png", dpi=110)
        return data.getvalue()


class Panels(NamedTuple):
    """The axes of a portrait; `states` has one per component."""

    path: Axes
    states: Sequence[Axes]
    error: Axes
    residual: Axes
    sensitivity: Axes
    frequencies: Axes
    learning: Axes


def plot_problem(spec: RunSpec) -> Picture:
    """The reference solution: the path, its start (dot), and the components against time."""
    figure, (path, *states) = _sheet(1 + len(spec.system_object.components))
    _plot_reference(spec, path, states)
    return figure


def plot_untrained(spec: RunSpec, gates: Sequence[str]) -> Picture:
    """The gates, the output of untrained networks, and the same networks under each gate.

    The networks differ, but all start at the initial position.
    """
    components = spec.system_object.components
    name = components[-1]
    t = torch.linspace(0, spec.horizon, 400, dtype=torch.float64)
    under = {gate: dataclasses.replace(spec, gate=gate) for gate in gates}
    figure, (left, free, *gated) = _sheet(2 + len(gates))
    for (_, gate), look in styles([spec.model], gates).items():
        look = look | {"marker": None}
        value = under[gate].gate_object.jet(t).value
        left.plot(t, value, **look)
        middle = len(t) // 2
        left.annotate(
            gate,
            (t[middle], value[middle]),
            (-4, 4),
            textcoords="offset points",
            ha="right",
            color=look["color"],
        )
    for seed, colour in shades(range(SEEDS)).items():
        theta = initial_parameters(dataclasses.replace(spec, seed=seed)).double()
        blocks = spec.trunk.blocks(theta[None], len(components))
        output = spec.trunk.jet(blocks, t[None]).value[0, -1]
        free.plot(t, output, color=colour, linewidth=0.8)
        for axis, gate in zip(gated, gates, strict=True):
            motion = predict(under[gate], theta.numpy(), t.numpy())[name]
            axis.plot(t, motion, color=colour, linewidth=0.8)
    for axis, gate in zip(gated, gates, strict=True):
        axis.plot(0, spec.initial_position[-1], "o", color="black", clip_on=False, zorder=3)
        axis.set(title=f"gated: {gate}", ylabel=LABELS.get(name, name))
    limits = [axis.get_ylim() for axis in gated]
    for axis in gated:
        axis.set_ylim(np.min(limits), np.max(limits))
    left.set(title="the gates", ylabel="$g(t)$")
    free.set(title=f"untrained networks, {SEEDS} seeds", ylabel="output")
    for axis in figure.axes:
        axis.set(xlabel=TIME, xlim=(0, spec.horizon))
    return figure


def plot_portrait(runs: Result | Sequence[Result], problem: RunSpec | None = None) -> Picture:
    """Finished runs against their reference: motion, errors, residual, learned frequencies.

    `problem`: the RunSpec whose reference is drawn if there are no runs yet.
    A Result without parameters shows its learning curve only.
    """
    runs = [runs] if isinstance(runs, Result) else list(runs)
    allowed = "at least one Result, unless a problem is given"
    validate("runs", runs, runs or problem is not None, allowed)
    specs = [run.spec for run in runs]
    first = problem or specs[0]
    names = first.system_object.components
    figure, (path, *axes) = _sheet(6 + len(names))
    panels = Panels(path, axes[: len(names)], *axes[len(names) :])
    problems = {
        (spec.system_object, spec.initial_position, spec.initial_velocity): spec
        for spec in specs or [first]
    }
    for spec in problems.values():
        _plot_reference(spec, path, panels.states)
    handles = [path.lines[0]]
    for run, look in zip(runs, _looks(specs, first), strict=True):
        if run.parameters is not None and run.status == "ok":
            _plot_motion(run, look, panels)
        rms = np.sqrt(sum(run.history[f"rms_{name}"].astype(float) ** 2 for name in names))
        panels.learning.plot(run.history["update"], rms, **look)
        handles.append(Line2D([], [], **look, label=run_label(run.spec, specs)))
    _label_axes(panels, first)
    for axis in panels[2:]:
        if not axis.lines:
            text = _reason_missing(runs, axis is panels.frequencies)
            axis.set_yscale("linear")
            axis.set(xticks=[], yticks=[])
            axis.text(0.5, 0.5, text, **NOTE, transform=axis.transAxes)
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        title=_heading(specs or [first]),
        fontsize=7.5,
        title_fontsize=7.5,
    )
    return figure


def run_label(spec: RunSpec, others: Sequence[RunSpec] = ()) -> str:
    """Model and gate (or form without a gate), and the settings in which `others` differ."""
    gate = spec.gate if spec.form == "gated" else spec.form
    return ", ".join([spec.model, gate, *_texts(spec, _differing(others))])


def _heading(specs):
    """The settings that all runs share."""
    first, differing = specs[0], _differing(specs)
    written = [*SETTING, *(name for name in UNUSUAL if name in first.overrides)]
    shared = _texts(first, [name for name in written if name not in differing])
    if first.system != RunSpec.system:  # its k may have another unit
        shared = [first.system, *(text.removesuffix(" N/m") for text in shared)]
    return ", ".join(shared)


def _texts(spec, names):
    forms = SETTING | UNUSUAL
    return [forms[name].format(getattr(spec, name)) for name in names]


def _differing(specs):
    """The names of SETTING and UNUSUAL in which runs differ."""
    names = [*SETTING, *UNUSUAL]
    return [name for name in names if len({getattr(spec, name) for spec in specs}) > 1]


def _sheet(count):
    """A figure and one axis per panel."""
    rows, columns = -(-count // COLUMNS), min(count, COLUMNS)
    figure = Picture(figsize=(WIDTH, ROW * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def _looks(specs, first):
    """Drawing options of each run; another run of the model and gate of `first` is black."""
    models = dict.fromkeys(spec.model for spec in specs)
    gates = dict.fromkeys(spec.gate for spec in specs)
    looks = styles(models, gates)
    chosen = []
    for spec in specs:
        look = looks[spec.model, spec.gate] | {"marker": None}
        same = (spec.model, spec.gate) == (first.model, first.gate)
        if same and spec != first:
            look["color"] = "black"
        chosen.append(look)
    return chosen


def _plot_reference(spec, path, states):
    ref = spec.reference
    (x_label, x), (y_label, y) = path_axes(spec.system_object, ref.q, ref.v).items()
    path.plot(x, y, **REFERENCE, label="reference")
    path.plot(x[0], y[0], "o", color="black", zorder=3)
    path.set(xlabel=x_label, ylabel=y_label)
    path.locator_params(nbins=5)
    unit = x_label.partition("[")[2]
    if unit and y_label.endswith(unit):
        path.set_aspect("equal", adjustable="datalim")
    for axis, name, q in zip(states, spec.system_object.components, ref.q, strict=True):
        axis.plot(ref.t, q, **REFERENCE)
        axis.set(xlabel=TIME, xlim=(0, spec.horizon), ylabel=LABELS.get(name, name))


def _plot_motion(run, look, panels):
    """Everything that needs the parameters of a run."""
    spec, ref, system = run.spec, run.spec.reference, run.spec.system_object
    table = run.predict(ref.t)
    q, v, residual = (
        table[[form.format(name) for name in system.components]].to_numpy().T
        for form in ("{}", "{}_t", "residual_{}")
    )
    panels.path.plot(*path_axes(system, q, v).values(), **look)
    for axis, component in zip(panels.states, q, strict=True):
        axis.plot(ref.t, component, **look)
    later = ref.t > 0  # at the start the error is exactly zero
    error = np.linalg.norm(state_error(system, q, ref.q), axis=0)
    panels.error.plot(ref.t[later], error[later], **look)
    panels.residual.plot(ref.t, np.linalg.norm(residual, axis=0), **look)
    times = np.linspace(0, spec.horizon, 201)[1:]
    panels.sensitivity.plot(times, profile(jacobian(spec, run.parameters, times)), **look)
    if run.frequencies is not None:
        untrained = dataclasses.replace(run, parameters=initial_parameters(spec).numpy())
        change = run.frequencies - untrained.frequencies
        circles = {"color": look["color"], "markersize": 3, "markerfacecolor": "none"}
        panels.frequencies.axhline(0, **REFERENCE | {"linewidth": 1})
        panels.frequencies.plot(untrained.frequencies, change, "o", **circles)


def _label_axes(panels, spec):
    names = spec.system_object.components
    for axis in (panels.error, panels.residual, panels.sensitivity):
        axis.set(xlabel=TIME, xlim=(0, spec.horizon))
    panels.error.set(ylabel=f"error of the state{_units(names)}", yscale="log")
    panels.residual.set(ylabel=rf"residual $\|R\|${_units(names, '/s²')}", yscale="log")
    panels.sensitivity.set(ylabel=r"sensitivity $\|J_R(t)\|$", ylim=(0, None))
    panels.frequencies.set(xlabel="initial frequency [rad/s]", ylabel="learned − initial [rad/s]")
    panels.learning.set(xlabel="update", ylabel="RMS residual in training", yscale="log")


def _units(names, per=""):
    """`" [m, rad]"`, or nothing if the unit of a component is not known."""
    units = [UNITS[name] + per for name in names if name in UNITS]
    return f" [{', '.join(units)}]" if len(units) == len(names) else ""


def _reason_missing(runs, of_frequencies):
    """Why a panel is empty."""
    if not runs:
        return "not trained yet"
    trunks = {type(run.spec.trunk) for run in runs}
    if of_frequencies and all(trunk.frequencies is Trunk.frequencies for trunk in trunks):
        return "a trunk without\nfrequencies"
    if any(run.status != "ok" for run in runs):
        return "diverged"
    return "parameters\nnot on record"
