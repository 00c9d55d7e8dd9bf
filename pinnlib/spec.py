"""A run's specification: everything that decides it, frozen and checked when it is built."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from pinnlib.ansatz import FORMS, Ansatz
from pinnlib.gates import GATES, NO_GATES, Gate, NoGate, validate_gate
from pinnlib.losses import LOSSES, Loss
from pinnlib.models import MODELS, Trunk
from pinnlib.optimisers import OPTIMISERS, SCHEDULES, Optimiser, Schedule
from pinnlib.reference import Problem, Reference, reference_solution
from pinnlib.registry import Registry, is_number, is_whole, lookup, overrides, set_numbers, validate
from pinnlib.systems import STIFFNESS, SYSTEMS, System

PRECISIONS: Registry = {"float32": torch.float32, "float64": torch.float64}
REGISTRIES = {
    "model": MODELS,
    "gate": GATES,
    "loss": LOSSES,
    "optimiser": OPTIMISERS,
    "schedule": SCHEDULES,
    "system": SYSTEMS,
}
CHOICES = {"precision": tuple(PRECISIONS), "form": FORMS}
START = ("initial_position", "initial_velocity")  # of the system, unless given
RANGES = {  # of the real numbers; beyond them a run makes no sense, or takes hours
    "k": STIFFNESS,
    "lr": (1e-12, 1e300),
    "horizon": (1e-3, 1e4),
    "lambda_ic": (0, 1e300),
    "lambda_phys": (0, 1e300),
}
WHOLE = {"seed": (0, 2**64), "steps": (1, 10**8), "points": (1, 10**5), "lbfgs": (0, 10**6)}
MOST_PARAMETERS = 10**7  # of a trunk


@cache
def _with_stiffness(system: System, k: float) -> System:
    return dataclasses.replace(system, k=k)


def key_of(settings: dict[str, Any]) -> str:
    """The key of the run whose settings differ from their defaults in these."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a run, and nothing else; defaults of the authors' released code.

    model             the trunk: "adaptive", "fixed" or "baseline"
    gate              "exp" (1 − e^{−t}), "linear" (t), "tanh" or "rational" (t/(1 + t));
                      with options: "exp(alpha=2)", "linear(scale=0.1)"
    k                 stiffness of the spring [N/m]
    lambda_ic         weight of the penalty on the initial velocity
    loss              "balanced" (the released code's), "mse" (the one in the paper's text),
                      "balanced(frozen=True)" or "weighted(weights=(1.0, 0.1))", by component
    seed              of the initial weights and of the random times
    steps, lr         number of updates, and the learning rate
    points            random times per update
    horizon           length of the time interval [s]
    initial_position  (r [m], θ [rad]) at t = 0; (): the usual start of the system
    initial_velocity  (r' [m/s], θ' [rad/s]) at t = 0, target of the velocity penalty; () as above
    lambda_phys       weight of the physics loss
    precision         "float32" or "float64"
    system            "spring_pendulum", "henon_heiles", "quartic" or "van_der_pol" (k is its μ)
    optimiser         "adam", or "sgd" (with momentum)
    hard_velocity     True: the ansatz u0 + (g/g'(0)) v0 + g² ũ also holds the initial velocity
    form              of the ansatz: "gated"; "shifted", u0 + ũ − ũ(0); or "soft", ũ with a penalty
                      on the initial position too. The last two have no gate: it becomes "none"
    schedule          of the learning rate: "constant", or "cosine" (decay to zero)
    lbfgs             iterations of L-BFGS after the updates, at fixed times; needs float64

    Fields such as `model` or `gate` hold text, as records and tables do; an object such as
    `Exponential(2)` is accepted and stored as its text. The objects they stand for are `trunk`,
    `gate_object`, `loss_object`, `optimiser_object`, `schedule_object` and `system_object`
    (with this k).
    """

    model: str = "adaptive"
    gate: str = "exp"
    k: float = 20.0
    lambda_ic: float = 50.0
    loss: str = "balanced"
    seed: int = 0
    steps: int = 5000
    lr: float = 1e-3
    points: int = 2000
    horizon: float = 10.0
    initial_position: tuple[float, ...] = ()
    initial_velocity: tuple[float, ...] = ()
    lambda_phys: float = 1.0
    precision: str = "float32"
    system: str = "spring_pendulum"
    optimiser: str = "adam"
    hard_velocity: bool = False
    form: str = "gated"
    schedule: str = "constant"
    lbfgs: int = 0

    def __post_init__(self) -> None:
        """Check every field and bring it into one form, so that equal runs have equal specs."""
        self._check_choices()
        self._check_objects()
        self._check_numbers()
        self._check_initial_state()
        self._check_combinations()

    def _check_choices(self) -> None:
        for field, choices in CHOICES.items():
            value = getattr(self, field)
            ok = isinstance(value, str) and value in choices
            validate(field, value, ok, f"one of {', '.join(choices)}")
        is_bool = isinstance(self.hard_velocity, bool)
        validate("hard_velocity", self.hard_velocity, is_bool, "True or False")

    def _check_objects(self) -> None:
        has_k = re.search(r"\bk *=", str(self.system))
        validate("system", self.system, not has_k, "given without k, which is a field of its own")
        if self.form != "gated":
            object.__setattr__(self, "gate", NoGate.name)
        for field, registry in (REGISTRIES | {"gate": self._gates}).items():
            object.__setattr__(self, field, str(lookup(field, registry, getattr(self, field))))

    def _check_numbers(self) -> None:
        set_numbers(self, RANGES)
        for field, (least, most) in WHOLE.items():
            value = getattr(self, field)
            ok = is_whole(value, least, most)
            validate(field, value, ok, f"a whole number from {least} to {most}")
            object.__setattr__(self, field, int(value))

    def _check_initial_state(self) -> None:
        system = self.system_object
        for field in START:
            value = getattr(self, field)
            if value == ():
                value = getattr(system, field)
            ok = isinstance(value, (tuple, list)) and all(map(is_number, value))
            allowed = f"one finite number for each of {', '.join(system.components)}"
            validate(field, value, ok and len(value) == len(system.components), allowed)
            object.__setattr__(self, field, tuple(float(x) + 0.0 for x in value))
        position = self.initial_position
        for name, start, positive in zip(system.components, position, system.positive, strict=True):
            ok = start > system.floor or not positive
            validate("initial_position", position, ok, f"such that {name} > {system.floor}")

    def _check_combinations(self) -> None:
        ok = self.lbfgs == 0 or self.precision == "float64"
        validate("precision", self.precision, ok, "float64 with lbfgs > 0")
        small = self.trunk.size(len(self.system_object.components)) <= MOST_PARAMETERS
        validate("model", self.model, small, f"a trunk of at most {MOST_PARAMETERS} parameters")
        self.loss_object.validate_components(self.system_object.components)
        if self.form == "gated":
            validate_gate(self.gate_object, self.horizon)
        else:
            allowed = f"False with form={self.form!r}, which has no gate"
            validate("hard_velocity", self.hard_velocity, not self.hard_velocity, allowed)

    def select(self, *names: str) -> dict[str, Any]:
        """{name: value} of the named settings, to identify the run in a table."""
        return {name: getattr(self, name) for name in names}

    @property
    def trunk(self) -> Trunk:
        return lookup("model", MODELS, self.model)

    @property
    def gate_object(self) -> Gate:
        return lookup("gate", self._gates, self.gate)

    @property
    def _gates(self) -> Registry:
        return GATES if self.form == "gated" else NO_GATES

    @property
    def system_object(self) -> System:
        return _with_stiffness(lookup("system", SYSTEMS, self.system), self.k)

    @property
    def optimiser_object(self) -> Optimiser:
        return lookup("optimiser", OPTIMISERS, self.optimiser)

    @property
    def loss_object(self) -> Loss:
        return lookup("loss", LOSSES, self.loss)

    @property
    def schedule_object(self) -> Schedule:
        return lookup("schedule", SCHEDULES, self.schedule)

    @property
    def dtype(self) -> torch.dtype:
        return PRECISIONS[self.precision]

    @property
    def overrides(self) -> dict[str, Any]:
        """{name: value} of the settings that differ from their defaults."""
        settings = overrides(self)
        for field in START:
            if settings[field] == getattr(self.system_object, field):
                del settings[field]
        return settings

    @property
    def key(self) -> str:
        """Hash of the settings that differ from their defaults; it survives new fields."""
        return key_of(self.overrides)

    @property
    def problem(self) -> Problem:
        position, velocity = self.initial_position, self.initial_velocity
        return Problem(self.system_object, position, velocity, self.horizon)

    @property
    def reference(self) -> Reference:
        """The reference solution of this run's problem (read once per process)."""
        return reference_solution(self.problem)

    def ansatz(self, dtype: torch.dtype = torch.float64) -> Ansatz:
        """The ansatz of this run alone."""
        return ansatz_of([self], self.system_object, dtype)


def ansatz_of(specs: Sequence[RunSpec], system: System, dtype: torch.dtype) -> Ansatz:
    """The ansatz of a batch; `system` holds the numbers of all its runs (`systems.stack`)."""
    first = specs[0]
    positions = [spec.initial_position for spec in specs]
    velocities = [spec.initial_velocity for spec in specs] if first.hard_velocity else None
    gate = first.gate_object
    return Ansatz(first.trunk, gate, system, positions, dtype, velocities, first.form)
