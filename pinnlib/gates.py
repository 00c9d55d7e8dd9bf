"""Gates g(t): g(0) = 0 holds the initial position, g'(0) ≠ 0 leaves the initial velocity free, no other zero on (0, T]."""

from dataclasses import dataclass, fields
from functools import lru_cache

import torch

from pinnlib.jets import Jet
from pinnlib.registry import Named, is_number, validate


@dataclass(frozen=True)
class Gate(Named):
    """A gate; a subclass gives `name` and `jet`."""

    def jet(self, t):
        """(g, g', g'') at the times `t`, a torch tensor."""
        raise NotImplementedError

    @property
    def formula(self):
        """g(t) as LaTeX, for labels; the plain name unless a subclass knows better."""
        return rf"\mathrm{{{str(self).replace('_', ' ')}}}"


class _Positive(Gate):
    """A gate whose fields are numbers > 0."""

    def __post_init__(self):
        super().__post_init__()
        for f in fields(self):
            value = getattr(self, f.name)
            validate(f.name, value, is_number(value) and value > 0, "a finite number > 0")


def _scaled(factor, jet):
    return jet if factor == 1 else Jet(*(factor * order for order in jet))


@dataclass(frozen=True)
class Exponential(_Positive):
    """g = c(1 − e^{−αt}): saturates at c."""

    alpha: float = 1.0
    scale: float = 1.0
    name = "exp"

    def jet(self, t):
        g = -torch.expm1(-self.alpha * t)
        slope = self.alpha * (1 - g)
        return _scaled(self.scale, Jet(g, slope, -self.alpha * slope))

    @property
    def formula(self):
        rate = "" if self.alpha == 1 else f"{self.alpha:g}"
        return f"1-e^{{-{rate}t}}" if self.scale == 1 else f"{self.scale:g}(1-e^{{-{rate}t}})"


@dataclass(frozen=True)
class Linear(_Positive):
    """g = ct: grows for ever; c = 1/T makes it end at 1."""

    scale: float = 1.0
    name = "linear"

    def jet(self, t):
        return _scaled(self.scale, Jet(t, torch.ones_like(t), torch.zeros_like(t)))

    @property
    def formula(self):
        parts = round(1 / self.scale)
        return (
            "t"
            if self.scale == 1
            else f"t/{parts}"
            if self.scale < 1 and abs(parts * self.scale - 1) < 1e-12
            else f"{self.scale:g}t"
        )


@dataclass(frozen=True)
class Tanh(Gate):
    """g = tanh t: saturates at 1, straighter at first than the exponential."""

    name = "tanh"
    formula = r"\tanh t"

    def jet(self, t):
        g = torch.tanh(t)
        slope = 1 - g * g
        return Jet(g, slope, -2 * g * slope)


@dataclass(frozen=True)
class Rational(Gate):
    """g = t/(1 + t): saturates at 1, slowly."""

    name = "rational"
    formula = "t/(1+t)"

    def jet(self, t):
        left = 1 / (1 + t)
        return Jet(t * left, left * left, -2 * left * left * left)


GATES = {kind.name: kind for kind in (Exponential, Linear, Tanh, Rational)}


@lru_cache(maxsize=None)
def validate_gate(gate, horizon):
    """Refuse a gate that does not hold the initial position, fixes the velocity, vanishes (or is not finite) on (0, horizon], or whose derivatives
    are not those of its value.
    """
    with torch.enable_grad():
        t = torch.linspace(0, horizon, 10_001, dtype=torch.float64, requires_grad=True)
        told = gate.jet(t)
        tensors = len(told) == 3 and all(
            isinstance(order, torch.Tensor) and order.shape == t.shape for order in told
        )
        validate(
            "gate",
            str(gate),
            tensors,
            "a gate whose jet is three torch tensors, each as long as the times it is given",
        )
        true = [
            torch.autograd.grad(order.sum(), t, retain_graph=True)[0]
            if order.requires_grad
            else torch.zeros_like(t)
            for order in told[:2]
        ]
    g, slope, second = (order.detach() for order in told)
    validate("gate", str(gate), g[0] == 0, f"zero at t=0, but g(0)={float(g[0]):.3g}")
    validate("gate", str(gate), slope[0] != 0, "of non-zero slope at t=0, but g'(0)=0")
    finite = all(bool(torch.isfinite(order).all()) for order in (g, slope, second))
    validate(
        "gate",
        str(gate),
        finite,
        f"finite on [0, {horizon}], and so its first and second derivative",
    )
    validate(
        "gate",
        str(gate),
        bool((g[1:] * torch.sign(slope[0]) > 0).all()),
        f"free of zeros on (0, {horizon}]",
    )
    for name, given, right in zip(("first", "second"), (slope, second), true):
        off = ((given - right).abs() > 1e-6 * (right.abs() + right.abs().mean())) & right.isfinite()
        validate(
            "gate",
            str(gate),
            not off.any(),
            f"a gate whose {name} derivative is that which automatic differentiation finds",
        )
