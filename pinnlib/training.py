"""Training: a list of runs in batches, and what comes out of each."""

import time
import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch

from pinnlib.losses import LOSSES
from pinnlib.metrics import error_metrics, residual_metrics
from pinnlib.progress import progress_bar
from pinnlib.registry import is_whole, validate
from pinnlib.spec import RunSpec, ansatz_of
from pinnlib.systems import stack

VECTOR = 32  # rows are padded to whole vectors of the CPU, so that a run's bits do not depend on its place in a batch
EARLIEST = 1e-6  # collocation points are clamped below at this time
HISTORY_EVERY = 100  # updates
ALIKE = (
    "model",
    "gate",
    "loss",
    "steps",
    "lr",
    "points",
    "horizon",
    "precision",
    "optimiser",
    "hard_velocity",
)  # within a batch


def streams(seed):
    """Two independent generators: initial weights and collocation points."""
    seeds = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return tuple(torch.Generator().manual_seed(int(s) >> 1) for s in seeds)


def initial_parameters(spec):
    """The flat initial parameters of a run, (size,)."""
    components = len(spec.system_object.components)
    blocks = spec.trunk.initial(components, streams(spec.seed)[0])
    return torch.cat([blocks[name].flatten() for name in spec.trunk.shapes(components)]).to(
        spec.dtype
    )


def padded(n):
    return -(-n // VECTOR) * VECTOR


class Collocation:
    """Fresh uniform points on (0, T] per update, the same for all runs of a seed; the columns beyond `points` are t = 0."""

    def __init__(self, specs):
        self.points, self.horizon = specs[0].points, specs[0].horizon
        seeds = sorted({s.seed for s in specs})
        self.generators = [streams(seed)[1] for seed in seeds]
        self.rows = torch.tensor([seeds.index(s.seed) for s in specs])
        self.t = torch.zeros(len(seeds), padded(self.points + 1), dtype=specs[0].dtype)

    def draw(self):
        """(runs, padded points)"""
        for row, generator in zip(self.t, self.generators):
            torch.rand(self.points, generator=generator, out=row[: self.points])
        inner = self.t[:, : self.points]
        inner.neg_().add_(1).mul_(self.horizon).clamp_(min=EARLIEST)
        return self.t[self.rows]


class Objective:
    """The named loss terms of a batch of runs that differ in numbers only."""

    def __init__(self, specs):
        first, dtype = specs[0], specs[0].dtype
        self.ansatz = ansatz_of(specs, stack([s.system_object for s in specs], dtype), dtype)
        self.points, self.physics = first.points, LOSSES[first.loss]()
        self.velocity = torch.tensor([s.initial_velocity for s in specs], dtype=dtype)
        self.lambda_phys = torch.tensor([s.lambda_phys for s in specs], dtype=dtype)
        self.lambda_ic = torch.tensor([s.lambda_ic for s in specs], dtype=dtype)

    def terms(self, theta, t):
        """Name → (runs,) for the three loss terms, and the RMS of each residual, for t as drawn by Collocation."""
        jets = self.ansatz.jets(theta, t)
        mean_square = torch.stack(
            [r[:, : self.points].square().mean(dim=1) for r in self.ansatz.residual(jets)], dim=1
        )
        start = torch.stack([jet.first[:, self.points] for jet in jets], dim=1)  # velocity at t = 0
        physics = self.physics(mean_square)
        velocity = (start - self.velocity).square().mean(dim=1)
        total = self.lambda_phys * physics + self.lambda_ic * velocity
        return {"total": total, "physics": physics, "velocity": velocity} | {
            f"rms_{name}": mean_square[:, c].sqrt()
            for c, name in enumerate(self.ansatz.system.components)
        }


@dataclass(frozen=True)
class Result:
    """A finished run: `status` is "ok" or "diverged" (then its metrics are NaN)."""

    spec: RunSpec
    status: str
    metrics: dict
    history: pd.DataFrame = field(
        repr=False
    )  # one row per 100 updates: update, total, physics, velocity, rms_<component>
    parameters: np.ndarray = field(repr=False)  # flat, in the order of `spec.trunk.shapes`
    seconds: float  # this run's share of its batch
    snapshots: dict = field(default_factory=dict, repr=False)  # update → flat parameters

    def predict(self, times):
        """Table of the state, its two time derivatives and the residual at any times, in float64; it warns of times that lie outside those it was trained on."""
        return predict(self.spec, self.parameters, times)

    @property
    def frequencies(self):
        """The trunk's angular frequencies after training, or None if it has none."""
        rows = torch.as_tensor(self.parameters[None], dtype=torch.float64)
        omega = self.spec.trunk.frequencies(
            self.spec.trunk.blocks(rows, len(self.spec.system_object.components))
        )
        return None if omega is None else omega[0].numpy()


def predict(spec, parameters, times):
    """Columns t, then <component>, <component>_t, <component>_tt and residual_<component>, for given flat parameters."""
    t = torch.from_numpy(np.array(times, dtype=float, ndmin=1))
    validate(
        "times",
        times,
        t.ndim == 1 and bool(torch.isfinite(t).all()),
        "a number or a list of finite numbers",
    )
    if ((t < 0) | (t > spec.horizon)).any():
        warnings.warn(
            f"times outside [0, {spec.horizon:g}], where the run was trained: what it predicts there means little",
            stacklevel=3,
        )
    ansatz = spec.ansatz()
    with torch.no_grad():
        jets = ansatz.jets(torch.as_tensor(parameters[None], dtype=torch.float64), t[None])
        residual = ansatz.residual(jets)
    columns = {"t": t}
    for name, jet, r in zip(spec.system_object.components, jets, residual):
        columns |= {
            name: jet.value[0],
            f"{name}_t": jet.first[0],
            f"{name}_tt": jet.second[0],
            f"residual_{name}": r[0],
        }
    return pd.DataFrame({name: column.numpy() for name, column in columns.items()})


def evaluate(spec, parameters):
    """All metrics of a run on the reference grid."""
    ref, system = spec.reference, spec.system_object
    table = predict(spec, parameters, ref.t)
    forms = ("{}", "{}_t", "residual_{}")
    q, velocity, residual = (
        table[[form.format(name) for name in system.components]].to_numpy().T for form in forms
    )
    return error_metrics(system, q, ref.q) | residual_metrics(system, residual, velocity)


def batches(specs, parts=1):
    """The specs cut into lists that train together: alike but for numbers, same seeds side by side, at most `trunk.batch` long.

    Each kind of run is cut into lists of equal length, as nearly `parts` of them as that allows, or more.
    """
    groups = {}
    for spec in specs:
        alike = tuple(getattr(spec, name) for name in ALIKE) + (type(spec.system_object),)
        groups.setdefault(alike, []).append(spec)
    for group in groups.values():
        group.sort(key=lambda spec: spec.seed)
        width = min(group[0].trunk.batch, -(-len(group) // parts))
        yield from (group[i : i + width] for i in range(0, len(group), width))


def start(specs):
    """(parameters (runs, padded size), collocation, objective) of a batch before its first update."""
    rows = [initial_parameters(spec) for spec in specs]
    theta = torch.zeros(len(specs), padded(len(rows[0])), dtype=specs[0].dtype)
    theta[:, : len(rows[0])] = torch.stack(rows)
    return theta.requires_grad_(), Collocation(specs), Objective(specs)


def train_batch(specs, snapshots=(), advance=lambda updates: None):
    """Train one batch; `advance` is told of every stretch of updates done."""
    began, steps, size = (
        time.perf_counter(),
        specs[0].steps,
        specs[0].trunk.size(len(specs[0].system_object.components)),
    )
    theta, collocation, objective = start(specs)
    history = []
    step = specs[0].optimiser_object.start(theta, specs[0].lr)
    kept = {0: theta.detach().clone()} if 0 in snapshots else {}
    for update in range(1, steps + 1):
        terms = objective.terms(theta, collocation.draw())
        step(*torch.autograd.grad(terms["total"].sum(), theta))
        if update in snapshots:
            kept[update] = theta.detach().clone()
        if update == 1 or update % HISTORY_EVERY == 0 or update == steps:
            advance(update - (history[-1]["update"] if history else 0))
            history.append(
                {"update": update}
                | {name: term.detach().numpy().copy() for name, term in terms.items()}
            )
    seconds = (time.perf_counter() - began) / len(specs)
    final = theta.detach()[:, :size].numpy()
    return [
        _result(spec, i, final, history, seconds, {u: k[i, :size].numpy() for u, k in kept.items()})
        for i, spec in enumerate(specs)
    ]


def _result(spec, i, final, history, seconds, snapshots):
    parameters = final[i].copy()
    rows = pd.DataFrame(
        [
            {name: v if name == "update" else float(v[i]) for name, v in row.items()}
            for row in history
        ]
    )
    metrics = evaluate(spec, parameters)
    status = (
        "ok"
        if np.isfinite(parameters).all()
        and np.isfinite(metrics["rel_l2_u"] + metrics["residual_max"])
        else "diverged"
    )
    if status == "diverged":
        metrics = dict.fromkeys(metrics, float("nan"))
    return Result(spec, status, metrics, rows, parameters, seconds, snapshots)


def train(specs, snapshots=(), progress=None):
    """Train a RunSpec, or a list of them, and return one Result each, in the same order.

    `snapshots` are updates after which the parameters are kept (0: before the first).
    `progress`: True or False; by default a bar where somebody is watching, and elsewhere a line a minute.
    """
    specs = [specs] if isinstance(specs, RunSpec) else list(specs)
    validate(
        "specs",
        specs,
        specs and all(isinstance(spec, RunSpec) for spec in specs),
        "a RunSpec or a list of at least one RunSpec",
    )
    least = min(spec.steps for spec in specs)
    snapshots = list(snapshots)
    validate(
        "snapshots",
        snapshots,
        all(is_whole(u, 0) and u <= least for u in snapshots),
        f"whole numbers from 0 to steps={least}",
    )
    distinct, results = dict.fromkeys(specs), {}
    with progress_bar(
        sum(s.steps for s in distinct),
        progress,
        unit="update",
        desc=f"training {len(distinct)} run{'s' * (len(distinct) > 1)}",
    ) as bar:
        for batch in batches(distinct):
            done = train_batch(batch, snapshots, lambda updates: bar.update(updates * len(batch)))
            results |= {result.spec: result for result in done}
    return [results[spec] for spec in specs]
