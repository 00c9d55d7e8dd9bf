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
from pinnlib.spec import RunSpec
from pinnlib.style.figures import RED, shades, styles
from pinnlib.training import Result, initial_parameters, predict

WIDTH, ROW, COLUMNS = 9.0, 2.1, 4  # inches, inches, panels in a row
REFERENCE = {"color": "0.78", "linewidth": 2.2, "solid_capstyle": "round"}
LABELS = {"r": "length $r$ [m]", "theta": r"angle $\theta$ [rad]"}
SETTING = {  # how the heading and the labels write a field of a RunSpec
    "k": "$k$ = {:g} N/m",
    "lambda_ic": r"$\lambda_\mathrm{{IC}}$ = {:g}",
    "loss": "{} loss",
    "seed": "seed {}",
    "steps": "{:,} updates",
}
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


def plot_untrained(
    spec: RunSpec, gates: Sequence[str] = ("exp", "linear"), seeds: int = 5
) -> Picture:
    """The gates, the output of untrained networks, and the same networks under each gate.

    The networks differ, but all start at the initial position.
    """
    components = spec.system_object.components
    name = components[-1]
    t = torch.linspace(0, spec.horizon, 400, dtype=torch.float64)
    under = {gate: dataclasses.replace(spec, gate=gate) for gate in gates}
    figure, (left, free, *gated) = _sheet(2 + len(gates))
    for (_, gate), look in styles([spec.model], gates).items():
        look = look | {"marker": None, "color": "black"}
        left.plot(t, under[gate].gate_object.jet(t).value, **look, label=gate)
    for seed, colour in shades(range(seeds)).items():
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
    left.legend()
    free.set(title=f"untrained networks, {seeds} seeds", ylabel="output")
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
    specs = [run.spec for run in runs] or [problem]
    names = specs[0].system_object.components
    figure, (path, *axes) = _sheet(6 + len(names))
    panels = Panels(path, axes[: len(names)], *axes[len(names) :])
    problems = {(s.system_object, s.initial_position, s.initial_velocity): s for s in specs}
    for spec in problems.values():
        _plot_reference(spec, panels.path, panels.states)
    looks = _looks(specs, problem or specs[0])
    for run, look in zip(runs, looks[: len(runs)], strict=True):
        if run.parameters is not None and run.status == "ok":
            _plot_motion(run, look, panels)
        rms = np.sqrt(sum(run.history[f"rms_{name}"].astype(float) ** 2 for name in names))
        panels.learning.plot(run.history["update"], rms, **look)
    _label_axes(panels, specs[0])
    for axis in panels[2:]:
        if not axis.lines:
            _note_missing(axis, _reason_missing(runs, axis is panels.frequencies))
    lines = [
        Line2D([], [], **look, label=run_label(run.spec, specs))
        for run, look in zip(runs, looks[: len(runs)], strict=True)
    ]
    figure.legend(
        handles=[panels.path.lines[0], *lines],
        loc="outside upper center",
        ncols=1 + len(lines),
        title=_heading(specs),
        fontsize=7.5,
        title_fontsize=7.5,
    )
    return figure


def run_label(spec: RunSpec, others: Sequence[RunSpec] = ()) -> str:
    """Model and gate of a run, and the settings in which `others` differ."""
    differing = [
        form.format(getattr(spec, name))
        for name, form in SETTING.items()
        if len({getattr(other, name) for other in others}) > 1
    ]
    return ", ".join([spec.model, spec.gate, *differing])


def _heading(specs: Sequence[RunSpec]) -> str:
    """The settings that all runs share."""
    first = specs[0]
    shared = [
        form.format(getattr(first, name))
        for name, form in SETTING.items()
        if len({getattr(spec, name) for spec in specs}) == 1
    ]
    if first.system != RunSpec.system:  # its k may have another unit
        shared = [first.system, *(text.removesuffix(" N/m") for text in shared)]
    return ", ".join(shared)


def _sheet(count: int) -> tuple[Picture, Sequence[Axes]]:
    """A figure and one axis per panel."""
    rows, columns = -(-count // COLUMNS), min(count, COLUMNS)
    figure = Picture(figsize=(WIDTH, ROW * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flatten()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def _looks(specs: Sequence[RunSpec], first: RunSpec) -> list[dict]:
    """Drawing options of each run. If all are of one model, those other than `first` are red."""
    looks = styles(dict.fromkeys(s.model for s in specs), dict.fromkeys(s.gate for s in specs))
    one_model = {spec.model for spec in specs} == {first.model}
    chosen = []
    for spec in specs:
        look = looks[spec.model, spec.gate] | {"marker": None}
        if one_model and spec != first:
            look["color"] = RED
        chosen.append(look)
    return chosen


def _plot_reference(spec: RunSpec, path: Axes, states: Sequence[Axes]) -> None:
    ref = spec.reference
    coordinates = spec.system_object.path(ref.q, ref.v)  # label → values
    x_label, y_label = coordinates
    path.plot(*coordinates.values(), **REFERENCE, label="reference")
    path.plot(*(values[0] for values in coordinates.values()), "o", color="black", zorder=3)
    path.set(xlabel=x_label, ylabel=y_label)
    path.locator_params(nbins=5)
    units = {label.partition("[")[2] for label in coordinates} - {""}
    if len(units) == 1:
        path.set_aspect("equal", adjustable="datalim")
    for axis, name, q in zip(states, spec.system_object.components, ref.q, strict=True):
        axis.plot(ref.t, q, **REFERENCE)
        axis.set(xlabel=TIME, xlim=(0, spec.horizon), ylabel=LABELS.get(name, name))


def _plot_motion(run: Result, look: dict, panels: Panels) -> None:
    """Everything that needs the parameters of a run."""
    spec, ref, system = run.spec, run.spec.reference, run.spec.system_object
    table = run.predict(ref.t)
    q, v, residual = (
        table[[form.format(name) for name in system.components]].to_numpy().T
        for form in ("{}", "{}_t", "residual_{}")
    )
    panels.path.plot(*system.path(q, v).values(), **look)
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


def _label_axes(panels: Panels, spec: RunSpec) -> None:
    names = spec.system_object.components
    for axis in (panels.error, panels.residual, panels.sensitivity):
        axis.set(xlabel=TIME, xlim=(0, spec.horizon))
    panels.error.set(ylabel=f"error of the state{_units(names)}", yscale="log")
    panels.residual.set(ylabel=rf"residual $\|R\|${_units(names, '/s²')}", yscale="log")
    panels.sensitivity.set(ylabel=r"sensitivity $\|J_R(t)\|$", ylim=(0, None))
    panels.frequencies.set(xlabel="initial frequency [rad/s]", ylabel="learned − initial [rad/s]")
    panels.learning.set(xlabel="update", ylabel="RMS residual in training", yscale="log")


def _units(names: Sequence[str], per: str = "") -> str:
    """`" [m, rad]"`, or nothing if the unit of a component is not known."""
    if not all(name in LABELS for name in names):
        return ""
    units = [LABELS[name].partition("[")[2].rstrip("]") + per for name in names]
    return f" [{', '.join(units)}]"


def _note_missing(axis: Axes, text: str) -> None:
    axis.set_yscale("linear")
    axis.set(xticks=[], yticks=[])
    axis.text(0.5, 0.5, text, ha="center", va="center", color="0.4", transform=axis.transAxes)


def _reason_missing(runs: Sequence[Result], of_frequencies: bool) -> str:
    """Why a panel is empty."""
    if not runs:
        return "not trained yet"
    if of_frequencies and not any(_has_frequencies(run) for run in runs):
        return "a trunk without\nfrequencies"
    if any(run.status != "ok" for run in runs):
        return "diverged"
    return "parameters\nnot on record"


def _has_frequencies(run: Result) -> bool:
    return type(run.spec.trunk).frequencies is not Trunk.frequencies
