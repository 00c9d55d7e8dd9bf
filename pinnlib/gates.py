"""Gates g(t): g(0) = 0 holds the initial position, g'(0) ≠ 0 leaves the initial velocity free, no other zero on (0, T]."""

from dataclasses import dataclass
from functools import lru_cache

import torch

from .jets import Jet
from .named import Named, check, is_number


@dataclass(frozen=True)
class Gate(Named):
    """A gate; a subclass gives `name` and `jet`."""

    def jet(self, t):
        """(g, g', g'') at the times `t`, a torch tensor."""
        raise NotImplementedError


@dataclass(frozen=True)
class Exponential(Gate):
    """g = 1 − e^{−αt}: saturates at 1."""

    alpha: float = 1.0
    name = "exp"

    def __post_init__(self):
        super().__post_init__()
        check("alpha", self.alpha, is_number(self.alpha) and self.alpha > 0, "a finite number > 0")

    def jet(self, t):
        g = -torch.expm1(-self.alpha * t)
        slope = self.alpha * (1 - g)
        return Jet(g, slope, -self.alpha * slope)


@dataclass(frozen=True)
class Linear(Gate):
    """g = t: grows for ever."""

    name = "linear"

    def jet(self, t):
        return Jet(t, torch.ones_like(t), torch.zeros_like(t))


GATES = {kind.name: kind for kind in (Exponential, Linear)}


@lru_cache(maxsize=None)
def check_admissible(gate, horizon):
    """Refuse a gate that does not hold the initial position, fixes the velocity, or vanishes (or is not finite) on (0, horizon]."""
    g, slope, _ = gate.jet(torch.linspace(0, horizon, 10_001, dtype=torch.float64))
    check("gate", str(gate), g[0] == 0, f"zero at t=0, but g(0)={float(g[0]):.3g}")
    check("gate", str(gate), slope[0] != 0, "of non-zero slope at t=0, but g'(0)=0")
    inside = g[1:] * torch.sign(slope[0])
    check("gate", str(gate), bool(torch.isfinite(g).all()) and bool((inside > 0).all()), f"finite and free of zeros on (0, {horizon}]")
