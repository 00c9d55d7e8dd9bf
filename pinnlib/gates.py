"""Gates g(t): g(0) = 0 holds the initial position, g'(0) ≠ 0 frees the velocity, g ≠ 0 later."""

from dataclasses import dataclass, fields
from functools import cache

import torch
from torch import Tensor

from pinnlib.jets import Jet
from pinnlib.registry import Named, Registry, set_numbers, validate


@dataclass(frozen=True)
class Gate(Named):
    """A gate; a subclass gives `name` and `jet`."""

    def jet(self, t: Tensor) -> Jet:
        """(g, g', g'') at the times t."""
        raise NotImplementedError

    @property
    def formula(self) -> str:
        """g(t) in LaTeX, for labels; the plain name unless a subclass overrides it."""
        return rf"\mathrm{{{str(self).replace('_', ' ')}}}"


class _Positive(Gate):
    """A gate whose fields are numbers > 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        set_numbers(self, {field.name: "> 0" for field in fields(self)})


def _scaled(factor: float, jet: Jet) -> Jet:
    if factor == 1:
        return jet
    return Jet(factor * jet.value, factor * jet.first, factor * jet.second)


@dataclass(frozen=True)
class Exponential(_Positive):
    """g = c(1 − e^{−αt}): saturates at c."""

    alpha: float = 1.0
    scale: float = 1.0
    name = "exp"

    def jet(self, t: Tensor) -> Jet:
        g = -torch.expm1(-self.alpha * t)
        slope = self.alpha * (1 - g)
        return _scaled(self.scale, Jet(g, slope, -self.alpha * slope))

    @property
    def formula(self) -> str:
        rate = "" if self.alpha == 1 else f"{self.alpha:g}"
        shape = f"1-e^{{-{rate}t}}"
        return shape if self.scale == 1 else f"{self.scale:g}({shape})"


@dataclass(frozen=True)
class Linear(_Positive):
    """g = ct: grows without bound; with c = 1/T it ends at 1."""

    scale: float = 1.0
    name = "linear"

    def jet(self, t: Tensor) -> Jet:
        return _scaled(self.scale, Jet(t, torch.ones_like(t), torch.zeros_like(t)))

    @property
    def formula(self) -> str:
        if self.scale == 1:
            return "t"
        divisor = round(1 / self.scale)
        if self.scale < 1 and abs(divisor * self.scale - 1) < 1e-12:
            return f"t/{divisor}"
        return f"{self.scale:g}t"


@dataclass(frozen=True)
class Tanh(Gate):
    """g = tanh t: saturates at 1, straighter at first than the exponential."""

    name = "tanh"
    formula = r"\tanh t"

    def jet(self, t: Tensor) -> Jet:
        g = torch.tanh(t)
        slope = 1 - g * g
        return Jet(g, slope, -2 * g * slope)


@dataclass(frozen=True)
class Rational(Gate):
    """g = t/(1 + t): saturates at 1, slowly."""

    name = "rational"
    formula = "t/(1+t)"

    def jet(self, t: Tensor) -> Jet:
        left = 1 / (1 + t)
        return Jet(t * left, left * left, -2 * left * left * left)


GATES: Registry = {kind.name: kind for kind in (Exponential, Linear, Tanh, Rational)}


@cache
def validate_gate(gate: Gate, horizon: float) -> None:
    """Check on a grid of [0, horizon] that g is a gate and that its jet is what autograd gives."""

    def check(ok: object, allowed: str) -> None:
        validate("gate", str(gate), ok, allowed)

    t = torch.linspace(0, horizon, 10_001, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        jet = gate.jet(t)
        shapes = [order.shape for order in jet if isinstance(order, Tensor)]
        check(shapes == [t.shape] * 3, "a gate whose jet is three torch tensors, as long as t")
        exact = [_derivative(order, t) for order in jet[:2]]
    g, *given = (order.detach() for order in jet)
    check(g[0] == 0, f"zero at t=0, but g(0)={float(g[0]):.3g}")
    check(given[0][0] != 0, "of non-zero slope at t=0, but g'(0)=0")
    finite = torch.stack([g, *given]).isfinite().all()
    check(finite, f"finite on [0, {horizon}], with its first and second derivative")
    check((g[1:] * given[0][0] > 0).all(), f"free of zeros on (0, {horizon}]")
    for name, ours, right in zip(("first", "second"), given, exact, strict=True):
        tolerance = 1e-6 * (right.abs() + right.abs().mean())
        wrong = ((ours - right).abs() > tolerance) & right.isfinite()
        check(not wrong.any(), f"a gate whose {name} derivative agrees with autograd")


def _derivative(values: Tensor, t: Tensor) -> Tensor:
    """d values[i]/dt[i] by automatic differentiation."""
    if not values.requires_grad:
        return torch.zeros_like(t)
    return torch.autograd.grad(values.sum(), t, retain_graph=True)[0]
