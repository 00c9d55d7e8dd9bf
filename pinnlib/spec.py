"""What decides a run: a frozen specification whose defaults are those of the original authors' released code."""

import dataclasses
import hashlib
import inspect
import json
import re
from dataclasses import dataclass
from typing import Any

import torch

from pinnlib.gates import GATES, validate_gate
from pinnlib.losses import LOSSES
from pinnlib.models import MODELS, Ansatz
from pinnlib.optimisers import OPTIMISERS
from pinnlib.reference import reference_solution
from pinnlib.registry import is_number, is_whole, lookup, validate
from pinnlib.systems import SYSTEMS

PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
NUMBERS = {  # field → (what is allowed, test)
    "k": ("> 0 and <= 1e6 (a stiffer reference takes hours)", lambda x: 0 < x <= 1e6),
    "lambda_ic": (">= 0", lambda x: x >= 0),
    "lambda_phys": (">= 0", lambda x: x >= 0),
    "lr": ("> 0", lambda x: x > 0),
    "horizon": ("> 0", lambda x: x > 0),
}
WHOLE = {"seed": 0, "steps": 1, "points": 1}  # field → least value


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides a run, and nothing else; the defaults are those of the original authors' released code.

    model             the trunk: "adaptive", "fixed" or "baseline"
    gate              "exp" (1 − e^{−t}), "linear" (t), "tanh", "rational", or with options: "exp(alpha=2)", "linear(scale=0.1)"
    k                 stiffness of the spring [N/m]
    lambda_ic         weight of the penalty on the initial velocity
    loss              "balanced" (the released code's) or "mse" (that of the paper's text)
    seed              of the initial weights and of the random times
    steps, lr         updates, and the learning rate
    points            random times per update
    horizon           length of the time interval [s]
    initial_position  (r [m], θ [rad]) at t = 0; the ansatz holds it exactly
    initial_velocity  (r [m/s], θ [rad/s]) at t = 0; the penalty asks for it
    lambda_phys       weight of the residual
    precision         "float32" or "float64"
    system            the equations of motion, "spring_pendulum"
    optimiser         "adam", or "sgd" (with momentum)
    hard_velocity     True: the ansatz u0 + (g/g'(0)) v0 + g² ũ, which holds the initial velocity exactly too
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
    initial_position: tuple = (1.0, 0.2)
    initial_velocity: tuple = (0.0, 0.0)
    lambda_phys: float = 1.0
    precision: str = "float32"
    system: str = "spring_pendulum"
    optimiser: str = "adam"
    hard_velocity: bool = False

    def __new__(cls, *_, **given):
        for name in given:
            validate(
                "field",
                name,
                name in cls.__dataclass_fields__,
                f"one of {', '.join(cls.__dataclass_fields__)}",
            )
        return super().__new__(cls)

    def __post_init__(self):
        validate(
            "system",
            self.system,
            not re.search(r"\bk *=", str(self.system)),
            "given without k, which is a field of its own",
        )
        for field, registry in (
            ("model", MODELS),
            ("gate", GATES),
            ("optimiser", OPTIMISERS),
            ("system", SYSTEMS),
        ):
            self._set(field, str(lookup(field, registry, getattr(self, field))))
        for field, known in (("loss", LOSSES), ("precision", PRECISIONS)):
            value = getattr(self, field)
            validate(
                field,
                value,
                isinstance(value, str) and value in known,
                f"one of {', '.join(known)}",
            )
        for field, (allowed, ok) in NUMBERS.items():
            value = getattr(self, field)
            validate(field, value, is_number(value) and ok(value), f"a finite number {allowed}")
            self._set(field, float(value) + 0.0)  # and no negative zero
        for field, least in WHOLE.items():
            value = getattr(self, field)
            validate(field, value, is_whole(value, least), f"a whole number >= {least}")
            self._set(field, int(value))
        system = self.system_object
        for field in ("initial_position", "initial_velocity"):
            value = getattr(self, field)
            ok = (
                isinstance(value, (tuple, list))
                and len(value) == len(system.components)
                and all(map(is_number, value))
            )
            validate(
                field, value, ok, f"one finite number for each of {', '.join(system.components)}"
            )
            self._set(field, tuple(float(x) + 0.0 for x in value))
        for name, start, positive in zip(system.components, self.initial_position, system.positive):
            ok = not positive or start > system.floor
            validate(
                "initial_position", self.initial_position, ok, f"such that {name} > {system.floor}"
            )
        validate(
            "hard_velocity",
            self.hard_velocity,
            isinstance(self.hard_velocity, bool),
            "True or False",
        )
        validate_gate(self.gate_object, self.horizon)

    def _set(self, field, value):
        object.__setattr__(self, field, value)  # canonical form, while the object is being built

    def select(self, *names: str) -> dict[str, Any]:
        """{name: value} of the named settings: what identifies the run in a row of a table."""
        return {name: getattr(self, name) for name in names}

    @property
    def trunk(self):
        return lookup("model", MODELS, self.model)

    @property
    def gate_object(self):
        return lookup("gate", GATES, self.gate)

    @property
    def optimiser_object(self):
        return lookup("optimiser", OPTIMISERS, self.optimiser)

    @property
    def system_object(self):
        return dataclasses.replace(lookup("system", SYSTEMS, self.system), k=self.k)

    @property
    def dtype(self):
        return PRECISIONS[self.precision]

    @property
    def key(self):
        """Hash of the settings that differ from the defaults: a field added later, at its default, leaves it as it is."""
        told = {
            f.name: getattr(self, f.name)
            for f in dataclasses.fields(self)
            if getattr(self, f.name) != f.default
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def reference(self):
        """The reference solution of this run's problem (computed once per process)."""
        return reference_solution(
            self.system_object, self.initial_position, self.initial_velocity, self.horizon
        )

    def ansatz(self, dtype=torch.float64):
        """The ansatz of this run alone."""
        return ansatz_of([self], self.system_object, dtype)


_own = inspect.signature(RunSpec.__init__)
RunSpec.__signature__ = _own.replace(
    parameters=[*_own.parameters.values()][1:]
)  # what completion and tooltips show, rather than that of __new__


def ansatz_of(specs, system, dtype):
    """The ansatz of runs that differ in numbers only."""
    velocities = [spec.initial_velocity for spec in specs] if specs[0].hard_velocity else None
    return Ansatz(
        specs[0].trunk,
        specs[0].gate_object,
        system,
        [spec.initial_position for spec in specs],
        dtype,
        velocities,
    )
