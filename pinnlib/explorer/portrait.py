"""Portraits: untrained networks under their gates, trained runs against the reference, and all runs of a setting against k."""

import dataclasses
import io

import numpy as np
import torch
from matplotlib.figure import Figure

from pinnlib.analysis.ntk import jacobian, profile
from pinnlib.metrics import state_error
from pinnlib.models import Trunk
from pinnlib.registry import validate
from pinnlib.spec import RunSpec
from pinnlib.style.figures import METRICS, RED, STIFFNESS, log_axis, shades, styles
from pinnlib.training import Result, initial_parameters, predict

WIDTH, ROW, COLUMNS = 9.0, 1.9, 4  # inches, inches, panels in a row
LEFT, BELOW = 0.6, 0.46  # inches beside and below an axis, for its labels
REFERENCE = {"color": "0.78", "linewidth": 2.2, "solid_capstyle": "round"}
LABELS = {"r": "length $r$ [m]", "theta": r"angle $\theta$ [rad]"}
PENALTY = r"$\lambda_\mathrm{{IC}}$ = {:g}"
SETTING = {
    "k": "$k$ = {:g} N/m",
    "lambda_ic": PENALTY,
    "loss": "{} loss",
    "seed": "seed {}",
    "steps": "{:,} updates",
}
TIME = "time $t$ [s]"


class Picture(Figure):
    """A figure outside pyplot, so that one drawn in another thread disturbs nobody; a notebook shows it as its value."""

    def _repr_png_(self):
        self.savefig(data := io.BytesIO(), format="png", dpi=110)
        return data.getvalue()


def _sheet(count, top=0.15):
    """(figure, one axis per panel) with fixed margins, which is twice as fast as fitting them; `top` inches for a title or a legend."""
    rows, columns = -(-count // COLUMNS), min(count, COLUMNS)
    height = ROW * rows + top
    figure = Picture(figsize=(WIDTH, height))
    wide, high = WIDTH / columns - LEFT - 0.1, ROW - BELOW  # inches of an axis
    place = {"left": LEFT / WIDTH, "right": 1 - 0.1 / WIDTH, "wspace": (LEFT + 0.1) / wide}
    place |= {"bottom": BELOW / height, "top": 1 - top / height, "hspace": BELOW / high}
    axes = figure.subplots(rows, columns, squeeze=False, gridspec_kw=place).flatten()
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def problem(spec):
    """What a network is to find: the reference path, its start (dot), and the components against time."""
    figure, (path, *states) = _sheet(1 + len(spec.system_object.components))
    _reference(spec, path, states)
    return figure


def before_training(spec, gates=("exp", "linear"), seeds=5):
    """The gates, the output of untrained networks, and what each gate makes of it: whatever the network, the start is the same."""
    name, n = spec.system_object.components[-1], len(spec.system_object.components)
    t, start = torch.linspace(0, spec.horizon, 400, dtype=torch.float64), spec.initial_position[-1]
    colours = shades(range(seeds))
    figure, (left, free, *gated) = _sheet(2 + len(gates), top=0.25)
    for (model, gate), look in styles([spec.model], gates).items():
        left.plot(
            t,
            dataclasses.replace(spec, gate=gate).gate_object.jet(t).value,
            **look | {"marker": None, "color": "black"},
            label=gate,
        )
    for seed, colour in colours.items():
        theta, look = (
            initial_parameters(dataclasses.replace(spec, seed=seed)).double(),
            {"color": colour, "linewidth": 0.8},
        )
        free.plot(
            t, spec.trunk.jet(spec.trunk.blocks(theta[None], n), t[None]).value[0, -1], **look
        )
        for axis, gate in zip(gated, gates):
            axis.plot(
                t,
                predict(dataclasses.replace(spec, gate=gate), theta.numpy(), t.numpy())[name],
                **look,
            )
    for axis, gate in zip(gated, gates):
        axis.plot(0, start, "o", color="black", clip_on=False, zorder=3)
        axis.set(title=f"gated: {gate}", ylabel=LABELS.get(name, name))
    low, high = min(axis.get_ylim()[0] for axis in gated), max(axis.get_ylim()[1] for axis in gated)
    _ = [axis.set_ylim(low, high) for axis in gated]
    left.set(title="the gates", ylabel="$g(t)$")
    left.legend()
    free.set(title=f"untrained networks, {seeds} seeds", ylabel="output")
    _ = [axis.set(xlabel=TIME, xlim=(0, spec.horizon)) for axis in figure.axes]
    return figure


def label(spec, runs=()):
    """Model and gate of a run, and whatever else tells it from the other runs."""
    differing = [
        form.format(getattr(spec, name))
        for name, form in SETTING.items()
        if len({getattr(run, name) for run in runs}) > 1
    ]
    return ", ".join([spec.model, spec.gate, *differing])


def portrait(runs, problem=None):
    """Finished runs against their reference: path, components, error, residual, sensitivity, frequencies, learning curve.

    `runs`: a Result or a list of them; `problem`: a RunSpec whose reference is drawn where no run is there yet.
    A Result without parameters (a network's record) shows its learning curve only.
    """
    runs = [runs] if isinstance(runs, Result) else list(runs)
    validate(
        "runs", runs, runs or problem is not None, "at least one Result, unless a problem is given"
    )
    specs = [run.spec for run in runs] or [problem]
    names = specs[0].system_object.components
    figure, (path, *states, error, residual, sensitivity, frequencies, learning) = _sheet(
        6 + len(names), top=0.42
    )
    for spec in {
        (s.system_object, s.initial_position, s.initial_velocity): s for s in specs
    }.values():
        _reference(spec, path, states)
    looks = _looks(specs, problem or specs[0])
    for run, look in zip(runs, looks):
        if _whole(run):
            _motion(run, look, path, states, error, residual, sensitivity, frequencies)
        rms = np.sqrt(sum(run.history[f"rms_{name}"].astype(float) ** 2 for name in names))
        learning.plot(run.history["update"], rms, **look)
    for axis in (error, residual, sensitivity):
        axis.set(xlabel=TIME, xlim=(0, specs[0].horizon))
    error.set(ylabel=f"error of the state{_units(names)}", yscale="log")
    residual.set(ylabel=rf"residual $\|R\|${_units(names, '/s²')}", yscale="log")
    sensitivity.set(ylabel=r"sensitivity $\|J_R(t)\|$", ylim=(0, None))
    frequencies.set(xlabel="initial frequency [rad/s]", ylabel="learned − initial [rad/s]")
    learning.set(xlabel="update", ylabel="RMS residual in training", yscale="log")
    for axis in (error, residual, sensitivity, frequencies, learning):
        if not axis.lines:
            axis.set_yscale("linear")
            axis.set(xticks=[], yticks=[])
            axis.text(
                0.5,
                0.5,
                _lacking(axis is frequencies, runs),
                ha="center",
                va="center",
                color="0.4",
                transform=axis.transAxes,
            )
    _heading(figure, path, runs, specs, looks)
    return figure


def _units(names, per=""):
    """ " [m, rad]", or nothing where the unit of a component is not known."""
    units = [LABELS[name].partition("[")[2].rstrip("]") + per for name in names if name in LABELS]
    return f" [{', '.join(units)}]" if len(units) == len(names) else ""


def _reference(spec, path, states):
    ref, axes = spec.reference, spec.system_object.path(spec.reference.q, spec.reference.v)
    path.plot(*axes.values(), **REFERENCE, label="reference")
    path.plot(*(axis[0] for axis in axes.values()), "o", color="black", zorder=3)
    path.set(**dict(zip(("xlabel", "ylabel"), axes)))
    path.locator_params(nbins=5)
    if len({name.partition("[")[2] for name in axes} - {""}) == 1:  # one unit: true to scale
        path.set_aspect("equal", adjustable="datalim")
    for axis, name, q in zip(states, spec.system_object.components, ref.q):
        axis.plot(ref.t, q, **REFERENCE)
        axis.set(xlabel=TIME, xlim=(0, spec.horizon), ylabel=LABELS.get(name, name))


def _looks(specs, first):
    """One look per run: as in every figure, but runs of one model apart in colour too, that of `first` its own."""
    looks = styles(
        [*dict.fromkeys(s.model for s in specs)], [*dict.fromkeys(s.gate for s in specs)]
    )
    chosen = [looks[s.model, s.gate] | {"marker": None} for s in specs]
    alike = {s.model for s in specs} == {first.model}
    return [
        look | {"color": RED} if alike and s != first else look for s, look in zip(specs, chosen)
    ]


def _motion(run, look, path, states, error, residual, sensitivity, frequencies):
    spec, ref, system = run.spec, run.spec.reference, run.spec.system_object
    table = run.predict(ref.t)
    q, v, r = (
        table[[form.format(name) for name in system.components]].to_numpy().T
        for form in ("{}", "{}_t", "residual_{}")
    )
    path.plot(*system.path(q, v).values(), **look)
    for axis, component in zip(states, q):
        axis.plot(ref.t, component, **look)
    later = ref.t > 0  # at the start the error is exactly zero
    error.plot(ref.t[later], np.linalg.norm(state_error(system, q, ref.q), axis=0)[later], **look)
    residual.plot(ref.t, np.linalg.norm(r, axis=0), **look)
    times = np.linspace(0, spec.horizon, 201)[1:]
    sensitivity.plot(times, profile(jacobian(spec, run.parameters, times)), **look)
    if run.frequencies is not None:
        initial = dataclasses.replace(run, parameters=initial_parameters(spec).numpy()).frequencies
        frequencies.axhline(0, **REFERENCE | {"linewidth": 1})
        frequencies.plot(
            initial,
            run.frequencies - initial,
            "o",
            color=look["color"],
            markersize=3,
            markerfacecolor="none",
        )


def _whole(run):
    return run.parameters is not None and run.status == "ok"


def _lacking(of_frequencies, runs):
    if not runs:
        return "not trained yet"
    if of_frequencies and all(
        type(run.spec.trunk).frequencies is Trunk.frequencies for run in runs
    ):
        return "a trunk without\nfrequencies"
    return "diverged" if any(run.status != "ok" for run in runs) else "parameters\nnot on record"


def _heading(figure, path, runs, specs, looks):
    same = [
        form.format(getattr(specs[0], name))
        for name, form in SETTING.items()
        if len({getattr(s, name) for s in specs}) == 1
    ]
    if specs[0].system != RunSpec.system:
        same = [specs[0].system, *(text.removesuffix(" N/m") for text in same)]
    lines = [
        path.plot([], [], **look, label=label(s, specs))[0] for s, look in zip(specs, looks) if runs
    ]
    handles, size = [path.lines[0], *lines], {"fontsize": 7.5, "title_fontsize": 7.5}
    figure.legend(
        handles=handles,
        loc="upper center",
        ncols=len(handles),
        title=", ".join(same),
        borderaxespad=0.1,
        **size,
    )


def against_k(axis, frame, metric, chosen=()):
    """Every run a point, seeds side by side, and each cell's mean a line; `chosen` keys are ringed. Returns the frame and the points' x."""
    looks = styles([*dict.fromkeys(frame["model"])], [*dict.fromkeys(frame["gate"])])
    spacing = np.diff(np.unique(frame["k"])).min() if frame["k"].nunique() > 1 else 10.0
    shifts = dict(
        zip(looks, (np.arange(len(looks)) + 0.5) / len(looks) - 0.5)
    )  # each curve its own strip of the space around k
    strip = frame["seed"] / (frame["seed"].max() + 1) * 0.7 / len(looks) - 0.35 / len(looks)
    centre = frame["k"] + spacing * 0.9 * np.array(
        [shifts[pair] for pair in zip(frame["model"], frame["gate"])]
    )
    frame = frame.assign(x=centre + spacing * 0.9 * strip, centre=centre)
    for pair, runs in frame.groupby(["model", "gate"], sort=False):
        look, means = looks[pair], runs.groupby("centre")[metric].mean()
        axis.plot(means.index, means, **look | {"marker": None})
        axis.plot(
            runs["x"],
            runs[metric],
            **look | {"linestyle": "", "markersize": 3.2, "mew": 0.5, "alpha": 0.6},
        )
        axis.plot([], [], **look, label=", ".join(pair))
    ringed = frame[frame["key"].isin(chosen)]
    axis.plot(ringed["x"], ringed[metric], "o", markersize=9, markerfacecolor="none", color="black")
    ks = np.unique(frame["k"])
    for k in ks:
        axis.axvspan(k - 0.45 * spacing, k + 0.45 * spacing, color="0.96", zorder=0)
    axis.set(xlabel=STIFFNESS, ylabel=METRICS[metric], xticks=ks)
    log_axis(axis, frame[metric].to_numpy(dtype=float))
    axis.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=min(4, len(looks)),
        title="points: single runs, side by side in the band of their k; lines: means over seeds; ringed: what the other tab shows",
    )
    return frame
