"""The equations of motion, written once, for NumPy arrays and torch tensors alike."""

from dataclasses import dataclass, fields

import numpy as np
import torch

from pinnlib.registry import Named, is_number, validate


def _math(x):
    return torch if isinstance(x, torch.Tensor) else np


@dataclass(frozen=True)
class System(Named):
    """A second-order system q'' = acceleration(q, q') with stiffness k; a subclass names its components and their nature."""

    k: float = 20.0
    components = ()  # names of the coordinates
    positive = ()  # which of them must stay above `floor`
    angular = ()  # which of them are compared modulo 2π
    floor = 1e-4  # r_min

    def acceleration(self, q, v):
        """The right-hand side: one array per component, from tuples of arrays."""
        raise NotImplementedError

    def energy(self, q, v):
        """The total energy, conserved where there is no damping."""
        raise NotImplementedError

    def path(self, q, v):
        """{label: array} of the two axes in which a motion is drawn: the first two coordinates, or the only one and its velocity."""
        names = (*self.components, *(f"{name}_t" for name in self.components))
        return dict(list(zip(names, (*q, *v)))[:2])

    def residual(self, q, v, a):
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

    def __post_init__(self):
        super().__post_init__()
        for f in fields(self):
            value, strict = getattr(self, f.name), f.name in ("k", "m", "L0")
            if not isinstance(value, torch.Tensor):  # those are batches of already checked systems
                ok = is_number(value) and (value > 0 if strict else value >= 0)
                validate(f.name, value, ok, f"a finite number {'>' if strict else '>='} 0")

    def acceleration(self, q, v):
        (r, theta), (r_t, theta_t) = q, v
        sin, cos = _math(theta).sin, _math(theta).cos
        return (
            r * theta_t**2
            - self.k / self.m * (r - self.L0)
            + self.g * cos(theta)
            - self.c_r / self.m * r_t,
            -2 * r_t * theta_t / r - self.g / r * sin(theta) - self.c_theta * theta_t,
        )

    def energy(self, q, v):
        (r, theta), (r_t, theta_t) = q, v
        kinetic = self.m / 2 * (r_t**2 + (r * theta_t) ** 2)
        return (
            kinetic
            + self.k / 2 * (r - self.L0) ** 2
            - self.m * self.g * r * _math(theta).cos(theta)
        )

    def path(self, q, v):
        r, theta = q
        return {"$x$ [m]": r * _math(theta).sin(theta), "$y$ [m]": -r * _math(theta).cos(theta)}


SYSTEMS = {kind.name: kind for kind in (SpringPendulum,)}


def stack(systems, dtype):
    """One system whose numbers are columns, (runs, 1), one row per system of the list."""
    kind = type(systems[0])
    return kind(
        **{
            f.name: torch.tensor([[getattr(s, f.name)] for s in systems], dtype=dtype)
            for f in fields(kind)
        }
    )
