"""Training: lists of runs, in batches, and the result of each run."""

import itertools
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from tqdm.auto import tqdm

from pinnlib import ops
from pinnlib.ansatz import Series
from pinnlib.gates import Jet
from pinnlib.losses import total
from pinnlib.metrics import Metrics
from pinnlib.optimisers import lbfgs
from pinnlib.registry import UserError, is_whole, validate
from pinnlib.result import Result, evaluate
from pinnlib.spec import RunSpec, ansatz_of
from pinnlib.systems import stack

EARLIEST = 1e-6  # collocation points are clamped to at least this time
HISTORY_EVERY = 100  # updates
RESOLVE_EVERY = 100  # updates
# Largest tail of a Chebyshev series relative to its largest coefficient: the rounding of ũ''.
RESOLUTION = {"float32": 1e-6, "float64": 1e-13}
HEADLESS = "PINNLIB_HEADLESS"  # set where a notebook runs without a reader; see runs/progress.py
Row = dict[str, np.ndarray]  # a line of the histories of a batch: name → (runs,)
# Settings in which the runs of a batch may differ, besides the numbers of their system.
MAY_DIFFER = {"k", "lambda_ic", "lambda_phys", "seed", "initial_position", "initial_velocity"}


def streams(seed: int) -> tuple[torch.Generator, ...]:
    """Two independent generators: for the initial weights and for the collocation points."""
    seeds = np.random.SeedSequence(seed).generate_state(2, np.uint64)
    return tuple(torch.Generator().manual_seed(int(s) >> 1) for s in seeds)


def initial_parameters(spec: RunSpec) -> Tensor:
    """The flat initial parameters of a run, (size,)."""
    components = len(spec.system_object.components)
    blocks = spec.trunk.initial(components, streams(spec.seed)[0])
    rows = [blocks[name].flatten() for name in spec.trunk.shapes(components)]
    return torch.cat(rows).to(spec.dtype)


class Collocation:
    """Fresh uniform points on (0, T] per update, equal for equal seeds; and t = 0 at the end."""

    def __init__(self, specs: Sequence[RunSpec]):
        self.points = specs[0].points
        self.horizon = specs[0].horizon
        seeds = sorted({spec.seed for spec in specs})
        self.generators = [streams(seed)[1] for seed in seeds]
        self.rows = torch.tensor([seeds.index(spec.seed) for spec in specs])
        self.t = torch.zeros(len(seeds), self.points + 1, dtype=specs[0].dtype)

    def draw(self) -> Tensor:
        """The times of the next update, (runs, points + 1)."""
        for row, generator in zip(self.t, self.generators, strict=True):
            torch.rand(self.points, generator=generator, out=row[: self.points])
        inner = self.t[:, : self.points]
        inner.neg_().add_(1).mul_(self.horizon).clamp_(min=EARLIEST)  # from [0, 1) to (0, T]
        return self.t[self.rows]


class Objective:
    """The named loss terms of a batch of runs, which differ in MAY_DIFFER only."""

    def __init__(self, specs: Sequence[RunSpec], fixed: bool = False):
        """`fixed`: one and the same function, with the balancing scales of its first call."""
        dtype = specs[0].dtype
        system = stack([spec.system_object for spec in specs], dtype)
        self.ansatz = ansatz_of(specs, system, dtype)
        self.points = specs[0].points
        self.horizon = specs[0].horizon
        self.tolerance = RESOLUTION[specs[0].precision]
        nodes = self.ansatz.trunk.nodes
        self.nodes = None if nodes is None else [nodes] * len(specs)
        self.physics = specs[0].loss_object.start(fixed)
        self.position = torch.tensor([spec.initial_position for spec in specs], dtype=dtype)
        self.velocity = torch.tensor([spec.initial_velocity for spec in specs], dtype=dtype)
        self.lambda_phys = torch.tensor([spec.lambda_phys for spec in specs], dtype=dtype)
        self.lambda_ic = torch.tensor([spec.lambda_ic for spec in specs], dtype=dtype)

    def resolve(self, theta: Tensor) -> None:
        """Take more nodes for the runs that need them."""
        if self.nodes is not None:
            blocks = self.ansatz.blocks(theta.detach())
            trunk = self.ansatz.trunk
            self.nodes = trunk.resolve(blocks, self.horizon, self.nodes, self.tolerance)

    def terms(self, theta: Tensor, t: Tensor) -> dict[str, Tensor]:
        """The loss "total", its terms and the RMS of each residual component, each (runs,).

        total = λ_phys · physics + λ_IC · (velocity [+ position, if the form is "soft"])

        physics is the run's loss of the mean squares of R over the random times; velocity and
        position are mean squares over the components of u'(0) − v₀ and u(0) − q₀. Each row of t is
        the random times of a run, then t = 0 in the last column: t is (runs, points + 1).
        """
        series = None if self.nodes is None else Series(self.horizon, self.nodes)
        jets = self.ansatz.gated_jets(self.ansatz.trunk_jet(theta, t, series), t)
        residual = self.ansatz.residual(jets)
        mean_square = torch.stack([ops.mean_square(r, self.points) for r in residual], dim=1)
        physics = self.physics(mean_square)
        at_zero = [Jet(*(order[:, self.points] for order in jet)) for jet in jets]
        velocity = _mean_squares([jet.first for jet in at_zero], self.velocity)
        loss = self.lambda_phys * physics + self.lambda_ic * velocity
        terms = {"physics": physics, "velocity": velocity}
        if self.ansatz.form == "soft":
            terms["position"] = _mean_squares([jet.value for jet in at_zero], self.position)
            loss = loss + self.lambda_ic * terms["position"]
        for c, name in enumerate(self.ansatz.system.components):
            terms[f"rms_{name}"] = ops.sqrt(mean_square[:, c])
        return {"total": loss} | terms


def _mean_squares(components: Sequence[Tensor], target: Tensor) -> Tensor:
    """The mean over components of (component − target)², (runs,)."""
    columns = zip(components, target.unbind(1), strict=True)
    return total([(column - goal).square() for column, goal in columns]) / len(components)


def batches(specs: Iterable[RunSpec], parts: int = 1) -> Iterator[list[RunSpec]]:
    """Lists of specs that train together: they differ in MAY_DIFFER only, equal seeds side by side.

    Runs of one kind are cut into about `parts` lists, of at most `trunk.batch` runs each.
    """
    names = [field.name for field in fields(RunSpec) if field.name not in {*MAY_DIFFER, "system"}]
    groups: dict[tuple, list[RunSpec]] = {}
    for spec in specs:
        kind = (type(spec.system_object), *spec.select(*names).values())
        groups.setdefault(kind, []).append(spec)
    for group in groups.values():
        group.sort(key=lambda spec: spec.seed)
        width = min(group[0].trunk.batch, math.ceil(len(group) / parts))
        for i in range(0, len(group), width):
            yield group[i : i + width]


def begin_training(specs: Sequence[RunSpec]) -> tuple[Tensor, Collocation, Objective]:
    """Parameters (runs, size), collocation and objective before the first update."""
    theta = torch.stack([initial_parameters(spec) for spec in specs])
    return theta.requires_grad_(), Collocation(specs), Objective(specs)


def train_batch(
    specs: Sequence[RunSpec],
    snapshots: Sequence[int] = (),
    advance: Callable[[int], object] = lambda updates: None,
) -> list[Result]:
    """Train one batch; `advance` is called with the updates of all its runs since the last call.

    During L-BFGS it is called with 0. If it raises, the training ends.
    """
    for spec in specs:
        _ = spec.reference  # a problem without a solution is noticed before the training
    began = time.perf_counter()
    steps = specs[0].steps
    theta, collocation, objective = begin_training(specs)
    step = specs[0].optimiser_object.start(theta)
    schedule = specs[0].schedule_object
    ones = torch.ones(len(specs), dtype=theta.dtype)
    history: list[Row] = []
    kept = {0: theta.detach().clone()} if 0 in snapshots else {}  # update → parameters
    last_logged = 0
    for update in range(1, steps + 1):
        if update % RESOLVE_EVERY == 1:
            objective.resolve(theta)
        terms = objective.terms(theta, collocation.draw())
        (gradient,) = torch.autograd.grad(terms["total"], theta, ones)
        step(gradient, specs[0].lr * schedule.factor((update - 1) / steps))
        if update in snapshots:
            kept[update] = theta.detach().clone()
        if update in (1, steps) or update % HISTORY_EVERY == 0:
            row = {name: term.detach().numpy().copy() for name, term in terms.items()}
            history.append({"update": np.full(len(specs), update)} | row)
            advance((update - last_logged) * len(specs))
            last_logged = update
    seconds = (time.perf_counter() - began) / len(specs)
    results = []
    for i, spec in enumerate(specs):
        rows = [{name: column[i].item() for name, column in row.items()} for row in history]
        result = _finish(spec, theta.detach()[i], rows, seconds, advance)
        own_snapshots = {update: copy[i].numpy() for update, copy in kept.items()}
        nodes = None if objective.nodes is None else objective.nodes[i]
        results.append(replace(result, snapshots=own_snapshots, nodes=nodes))
    return results


def _finish(
    spec: RunSpec,
    parameters: Tensor,
    rows: list[dict[str, float]],
    seconds: float,
    advance: Callable[[int], object],
) -> Result:
    """The result of a run after its updates: L-BFGS, if the run has it, then the metrics."""
    if spec.lbfgs:
        began = time.perf_counter()
        parameters, last_row = _refine(spec, parameters, advance)
        rows = [*rows, last_row]
        seconds += time.perf_counter() - began
    numbers = parameters.numpy().copy()
    numbers[np.isnan(numbers)] = np.nan  # the bits of a computed NaN differ by machine
    status, metrics = _outcome(spec, numbers)
    return Result(spec, status, metrics, pd.DataFrame(rows), numbers, seconds)


def _refine(
    spec: RunSpec, parameters: Tensor, advance: Callable[[int], object]
) -> tuple[Tensor, dict[str, float]]:
    """The parameters after L-BFGS at equally spaced times, and the last row of the history."""
    objective = Objective([spec], fixed=True)
    objective.resolve(parameters[None])
    shares = torch.arange(1, spec.points + 1, dtype=torch.float64) / spec.points
    t = torch.cat([shares * spec.horizon, torch.zeros(1, dtype=torch.float64)])[None]
    evaluations = itertools.count()

    def loss(theta: Tensor) -> Tensor:
        if next(evaluations) % HISTORY_EVERY == 0:
            advance(0)
        return objective.terms(theta, t)["total"]

    best, iterations = lbfgs(loss, parameters[None], spec.lbfgs)
    terms = objective.terms(best, t)
    row = {"update": spec.steps + iterations}
    return best[0], row | {name: term.item() for name, term in terms.items()}


def _outcome(spec: RunSpec, parameters: np.ndarray) -> tuple[str, Metrics]:
    """("ok", metrics), or ("diverged", NaNs) if parameters, error or residual are not finite."""
    metrics = evaluate(spec, parameters)
    worst = metrics["rel_l2_u"] + metrics["residual_max"]
    if np.isfinite(parameters).all() and np.isfinite(worst):
        return "ok", metrics
    return "diverged", dict.fromkeys(metrics, math.nan)


class TrainingError(UserError):
    """Some of the runs raised an error; `results` are the others."""

    def __init__(self, message: str, results: list[Result]) -> None:
        super().__init__(message)
        self.results = results


def train_outcomes(
    specs: Sequence[RunSpec],
    snapshots: Sequence[int] = (),
    advance: Callable[[int], object] = lambda updates: None,
) -> list[Result | Exception]:
    """`train_batch`; if it raises an error, its runs one by one: a Result or an error for each."""
    try:
        return list(train_batch(specs, snapshots, advance))
    except Exception as error:
        if len(specs) == 1:
            return [error]
    return [outcome for spec in specs for outcome in train_outcomes([spec], snapshots)]


def train(
    specs: RunSpec | Iterable[RunSpec], snapshots: Iterable[int] = (), progress: bool | None = None
) -> list[Result]:
    """Train a RunSpec, or several, and return one Result each, in the same order.

    `snapshots` are updates after which the parameters are kept (0: before the first).
    `progress`: True or False; by default a bar in a terminal or a live notebook.
    If one of several runs raises an error, the others are trained all the same; then a
    TrainingError names it, whose `results` are theirs.
    """
    allowed = "a RunSpec or a list of at least one RunSpec"
    given_as_list = isinstance(specs, Iterable) and not isinstance(specs, str)
    validate("specs", specs, given_as_list or isinstance(specs, RunSpec), allowed)
    specs = [specs] if isinstance(specs, RunSpec) else list(specs)
    ok = specs and all(isinstance(spec, RunSpec) for spec in specs)
    validate("specs", specs, ok, allowed)
    snapshots = list(snapshots)
    least = min(spec.steps for spec in specs)
    ok = all(is_whole(update, 0) and update <= least for update in snapshots)
    validate("snapshots", snapshots, ok, f"whole numbers from 0 to steps={least}")

    distinct = list(dict.fromkeys(specs))
    total = sum(spec.steps for spec in distinct)
    label = "training 1 run" if len(distinct) == 1 else f"training {len(distinct)} runs"
    if progress is None:
        progress = HEADLESS not in os.environ and (
            "ipykernel" in sys.modules or sys.stderr.isatty()
        )
    outcomes: dict[RunSpec, Result | Exception] = {}
    with tqdm(total=total, unit="update", desc=label, disable=not progress) as bar:
        for batch in batches(distinct):
            trained = train_outcomes(batch, snapshots, bar.update)
            outcomes.update(zip(batch, trained, strict=True))
    results, errors = [], {}
    for spec in specs:
        outcome = outcomes[spec]
        if isinstance(outcome, Exception):
            errors[spec] = outcome
        else:
            results.append(outcome)
    if len(distinct) == 1 and errors:
        raise errors[specs[0]]
    if errors:
        failed = [f"{spec}: {type(error).__name__}: {error}" for spec, error in errors.items()]
        counts = f"{len(errors)} of {len(distinct)} runs failed; `results` holds the others"
        raise TrainingError("\n".join([counts, *failed]), results)
    return results
