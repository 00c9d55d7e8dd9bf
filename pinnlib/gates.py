"""Gates g(t): g(0) = 0 holds the initial position, g'(0) ≠ 0 frees the velocity, g ≠ 0 later."""

from dataclasses import dataclass, fields
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from pinnlib import ops
from pinnlib.registry import Named, Registry, set_numbers, validate

SIZES = (1e-9, 1e9)  # of a gate: float32 holds its products with the trunk and their squares


class Jet(NamedTuple):
    """A function of time with its two derivatives: (u, u', u'') at the same times."""

    value: Tensor
    first: Tensor
    second: Tensor


@dataclass(frozen=True)
class Gate(Named):
    """A gate; a subclass gives `name` and `jet`."""

    def jet(self, t: Tensor) -> Jet:
        """(g, g', g'') at the times t."""
        raise NotImplementedError("its class has no method jet")


class _Positive(Gate):
    """A gate whose fields are numbers > 0, within SIZES."""

    def __post_init__(self) -> None:
        super().__post_init__()
        set_numbers(self, {field.name: SIZES for field in fields(self)})


@dataclass(frozen=True)
class Exponential(_Positive):
    """g = c(1 − e^{−αt}): saturates at c."""

    alpha: float = 1.0
    scale: float = 1.0
    name = "exp"

    def jet(self, t: Tensor) -> Jet:
        g = -ops.expm1(-self.alpha * t)
        slope = self.alpha * (1 - g)
        c = self.scale
        return Jet(c * g, c * slope, c * (-self.alpha * slope))


@dataclass(frozen=True)
class Linear(_Positive):
    """g = ct: grows without bound; with c = 1/T it ends at 1."""

    scale: float = 1.0
    name = "linear"

    def jet(self, t: Tensor) -> Jet:
        return Jet(self.scale * t, self.scale * torch.ones_like(t), torch.zeros_like(t))


@dataclass(frozen=True)
class Tanh(Gate):
    """g = tanh t: saturates at 1, straighter at first than the exponential."""

    name = "tanh"

    def jet(self, t: Tensor) -> Jet:
        g = ops.tanh(t)
        slope = 1 - g * g
        return Jet(g, slope, -2 * g * slope)


@dataclass(frozen=True)
class Rational(Gate):
    """g = t/(1 + t): saturates at 1, slowly."""

    name = "rational"

    def jet(self, t: Tensor) -> Jet:
        left = 1 / (1 + t)
        return Jet(t * left, left * left, -2 * left * left * left)


@dataclass(frozen=True)
class NoGate(Gate):
    """g = 1, the factor of ũ in an ansatz without a gate."""

    name = "none"

    def jet(self, t: Tensor) -> Jet:
        return Jet(torch.ones_like(t), torch.zeros_like(t), torch.zeros_like(t))


GATES: Registry = {kind.name: kind for kind in (Exponential, Linear, Tanh, Rational)}
NO_GATES: Registry = {NoGate.name: NoGate}


@cache
def validate_gate(gate: Gate, horizon: float) -> None:
    """Check on a grid of [0, horizon] that g is a gate and that its jet is what autograd gives."""

    def check(ok: object, allowed: str) -> None:
        validate("gate", str(gate), ok, allowed)

    t = torch.linspace(0, horizon, 10_001, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        try:
            jet = gate.jet(t)
        except (NotImplementedError, RuntimeError, TypeError) as error:
            check(False, f"a gate whose jet takes torch tensors; {type(error).__name__}: {error}")
        shapes = [order.shape for order in jet if isinstance(order, Tensor)]
        check(shapes == [t.shape] * 3, "a gate whose jet is three torch tensors, as long as t")
        # 0·t: a constant derivative does not depend on t, which autograd refuses
        sums = [(order + 0 * t).sum() for order in jet[:2]]
        exact = [torch.autograd.grad(total, t, retain_graph=True)[0] for total in sums]
    g, *given = (order.detach() for order in jet)
    check(g[0] == 0, f"zero at t=0, but g(0)={float(g[0]):.3g}")
    check(given[0][0] != 0, "of non-zero slope at t=0, but g'(0)=0")
    finite = torch.stack([g, *given]).isfinite().all()
    check(finite, f"finite on [0, {horizon}], with its first and second derivative")
    slope, largest = float(given[0][0].abs()), float(g.abs().max())
    ok = SIZES[0] <= min(slope, largest) and max(slope, largest) <= SIZES[1]
    bounds = f"with |g'(0)| and the largest |g| from {SIZES[0]:g} to {SIZES[1]:g}"
    check(ok, f"{bounds}, not {slope:.3g} and {largest:.3g}")
    check((g[1:] * given[0][0] > 0).all(), f"free of zeros on (0, {horizon}]")
    for name, ours, right in zip(("first", "second"), given, exact, strict=True):
        tolerance = 1e-6 * (right.abs() + right.abs().mean())
        wrong = ((ours - right).abs() > tolerance) & right.isfinite()
        check(not wrong.any(), f"a gate whose {name} derivative agrees with autograd")
