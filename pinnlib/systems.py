"""The equations of motion, written once for NumPy arrays and torch tensors."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from pinnlib import ops
from pinnlib.registry import Named, Registry, is_number, set_numbers

Array = Any  # a NumPy array or a torch tensor
STIFFNESS = (1e-6, 1e6)  # smallest and largest k
State = Any  # positions or velocities: a sequence of arrays, one per component


@dataclass(frozen=True)
class System(Named):
    """A system q'' = acceleration(q, q') with stiffness k.

    A subclass names its components and has a usual start.
    """

    k: float = 20.0
    components: ClassVar[tuple[str, ...]] = ()  # names of the coordinates
    positive: ClassVar[tuple[bool, ...]] = ()  # which of them must stay above `floor`
    angular: ClassVar[tuple[bool, ...]] = ()  # which of them are compared modulo 2π
    initial_position: ClassVar[tuple[float, ...]] = ()  # usual start, which a run may replace
    initial_velocity: ClassVar[tuple[float, ...]] = ()
    floor: ClassVar[float] = 1e-4  # r_min

    def __post_init__(self) -> None:
        super().__post_init__()
        set_numbers(self, {"k": STIFFNESS})

    def acceleration(self, q: State, v: State) -> tuple[Array, ...]:
        """The right-hand side, one array per component."""
        raise NotImplementedError

    def energy(self, q: State, v: State) -> Array:
        """The total energy, conserved without damping or driving."""
        raise NotImplementedError

    def residual(self, q: State, v: State, a: State) -> tuple[Array, ...]:
        """R = q'' − acceleration(q, q'), one array per component."""
        return tuple(left - right for left, right in zip(a, self.acceleration(q, v), strict=True))


@dataclass(frozen=True)
class SpringPendulum(System):
    """Planar spring–pendulum in polar coordinates (r, θ), θ from the downward vertical."""

    g: float = 9.81
    m: float = 1.0
    L0: float = 1.0
    c_r: float = 0.0
    c_theta: float = 0.0
    name = "spring_pendulum"
    components = ("r", "theta")
    positive = (True, False)
    angular = (False, True)
    initial_position = (1.0, 0.2)
    initial_velocity = (0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_numbers(self, {"m": (1e-3, 1e3), "L0": (1e-3, 1e3)})
        set_numbers(self, dict.fromkeys(("g", "c_r", "c_theta"), (0, 1e3)))

    def acceleration(self, q: State, v: State) -> tuple[Array, ...]:
        r, theta = q
        r_t, theta_t = v
        sine, cosine = ops.sin_cos(theta)
        spring = self.k / self.m
        damping = self.c_r / self.m
        r_tt = r * theta_t**2 - spring * (r - self.L0) + self.g * cosine - damping * r_t
        theta_tt = -(2 * r_t * theta_t + self.g * sine) / r - self.c_theta * theta_t
        return r_tt, theta_tt

    def energy(self, q: State, v: State) -> Array:
        r, theta = q
        r_t, theta_t = v
        kinetic = self.m / 2 * (r_t**2 + (r * theta_t) ** 2)
        spring = self.k / 2 * (r - self.L0) ** 2
        return kinetic + spring - self.m * self.g * r * ops.cos(theta)


@dataclass(frozen=True)
class HenonHeiles(System):
    """Hénon–Heiles system with both frequencies √k: x'' = −k(x + 2xy), y'' = −k(y + x² − y²)."""

    name = "henon_heiles"
    components = ("x", "y")
    positive = (False, False)
    angular = (False, False)
    initial_position = (0.0, 0.1)
    initial_velocity = (0.35, 0.0)

    def acceleration(self, q: State, v: State) -> tuple[Array, ...]:
        x, y = q
        return -self.k * (x + 2 * x * y), -self.k * (y + x * x - y * y)

    def energy(self, q: State, v: State) -> Array:
        x, y = q
        kinetic = (v[0] * v[0] + v[1] * v[1]) / 2
        return kinetic + self.k * ((x * x + y * y) / 2 + x * x * y - y * y * y / 3)


@dataclass(frozen=True)
class Quartic(System):
    """Quartic oscillator x'' = −x − kx³: one component, which balancing cannot reweight."""

    name = "quartic"
    components = ("x",)
    positive = (False,)
    angular = (False,)
    initial_position = (1.0,)
    initial_velocity = (0.0,)

    def acceleration(self, q: State, v: State) -> tuple[Array, ...]:
        (x,) = q
        return (-x - self.k * (x * x * x),)

    def energy(self, q: State, v: State) -> Array:
        square = q[0] * q[0]
        return (v[0] * v[0] + square) / 2 + self.k / 4 * square * square


@dataclass(frozen=True)
class VanDerPol(System):
    """Van der Pol oscillator x'' = k(1 − x²)x' − x; k is usually called μ. Energy is not kept."""

    name = "van_der_pol"
    components = ("x",)
    positive = (False,)
    angular = (False,)
    initial_position = (2.0,)
    initial_velocity = (0.0,)

    def acceleration(self, q: State, v: State) -> tuple[Array, ...]:
        (x,), (x_t,) = q, v
        return (self.k * (1 - x * x) * x_t - x,)

    def energy(self, q: State, v: State) -> Array:
        return (v[0] * v[0] + q[0] * q[0]) / 2


SYSTEMS: Registry = {kind.name: kind for kind in (SpringPendulum, HenonHeiles, Quartic, VanDerPol)}


def stack(systems: Sequence[System], dtype: torch.dtype) -> System:
    """One system whose numbers are columns (runs, 1), one row per system of the list."""
    batch = copy.copy(systems[0])
    for name, value in list(vars(batch).items()):  # fields, and what a subclass derives from them
        if is_number(value):
            column = [[getattr(system, name)] for system in systems]
            object.__setattr__(batch, name, torch.tensor(column, dtype=dtype))
    return batch
