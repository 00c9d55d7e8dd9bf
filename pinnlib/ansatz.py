"""The ansatz û around a trunk ũ, which holds the initial state; it works on a batch of runs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pinnlib import ops
from pinnlib.compiled import autograd
from pinnlib.gates import Gate, Jet
from pinnlib.models import Blocks, Nodes, Trunk, inverse_softplus
from pinnlib.systems import System

FORMS = ("gated", "shifted", "soft")


class Series(NamedTuple):
    """Evaluate the trunk by Chebyshev series on [0, horizon], with so many nodes per run."""

    horizon: float
    nodes: Nodes


def to_latent(system: System, q: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The latent variables (ρ, θ) of states q (components, …), with r = r_min + softplus(ρ)."""
    latent = np.array(q, dtype=float)
    for c, positive in enumerate(system.positive):
        if positive:
            latent[c] = inverse_softplus(latent[c] - system.floor)
    return latent


def product(a: Jet, b: Jet) -> Jet:
    """(ab)' = a'b + ab',  (ab)'' = a''b + 2a'b' + ab''."""
    value = a.value * b.value
    first = a.first * b.value + a.value * b.first
    second = a.second * b.value + 2 * a.first * b.first + a.value * b.second
    return Jet(value, first, second)


class Ansatz:
    """û in the latent variables, and r = r_min + softplus(ρ̂) where positive.

    gated    û = u0 + g ũ or, with `velocities`, û = u0 + (g/g'(0)) v0 + g² ũ
    shifted  û = u0 + ũ − ũ(0)
    soft     û = ũ: the start is left to the loss

    Positions and velocities are (runs, components): nothing else knows the initial state.
    """

    def __init__(
        self,
        trunk: Trunk,
        gate: Gate,
        system: System,
        positions: Sequence[Sequence[float]],
        dtype: torch.dtype,
        velocities: Sequence[Sequence[float]] | None = None,
        form: str = "gated",
    ):
        self.trunk = trunk
        self.form = form
        self.gate = gate
        self.system = system
        u0 = to_latent(system, np.transpose(positions)).T
        if form == "soft":
            u0 = np.zeros_like(u0)
        self.latent_start = torch.tensor(u0, dtype=dtype)[:, :, None]  # (runs, components, 1)
        self.holds_velocity = velocities is not None
        self.drift = torch.zeros_like(self.latent_start)
        if velocities is not None:
            self.drift = self._drift(velocities).to(dtype)

    def _drift(self, velocities: Sequence[Sequence[float]]) -> Tensor:
        """Latent velocity at the start over g'(0): dr/dρ is σ(ρ₀)."""
        slope = self.gate.jet(torch.zeros(1, dtype=torch.float64)).first
        positive = torch.tensor(self.system.positive)[:, None]
        velocity = torch.tensor(velocities, dtype=torch.float64)[:, :, None]
        latent = torch.where(positive, velocity / ops.sigmoid(self.latent_start.double()), velocity)
        return latent / slope

    def factor_and_gate(self, t: Tensor) -> tuple[Jet, Jet]:
        """f, the factor of ũ, and the gate g, jets (runs, points): û = u0 + drift·g + f·ũ.

        f is g, or g² if the ansatz also holds the initial velocity.
        """
        gate = self.gate.jet(t)
        return (product(gate, gate) if self.holds_velocity else gate), gate

    def trunk_jet(self, theta: Tensor, t: Tensor, series: Series | None = None) -> Jet:
        """The jet of ũ, or of ũ − ũ(0) if shifted, each (runs, components, points)."""
        if self.form != "shifted":
            return self._plain_jet(theta, t, series)
        with_zero = torch.cat([t, t.new_zeros(len(t), 1)], dim=1)
        jet = self._plain_jet(theta, with_zero, series)
        value = autograd.ShiftedValue.apply(jet.value)
        return Jet(value, jet.first[..., :-1], jet.second[..., :-1])

    def _plain_jet(self, theta: Tensor, t: Tensor, series: Series | None) -> Jet:
        if series is None:
            return self.trunk.jet(self.blocks(theta), t)
        return self.trunk.series_jet(self.blocks(theta), t, series.horizon, series.nodes)

    def blocks(self, theta: Tensor) -> Blocks:
        """The parameters of the trunk by name."""
        return self.trunk.blocks(theta, len(self.system.components))

    def latent(self, theta: Tensor, t: Tensor) -> Jet:
        """(ρ̂, θ̂) and derivatives, each (runs, components, points)."""
        free = self.trunk_jet(theta, t)
        components = self._apply_gate(free, t, [False] * len(self.system.components))
        return Jet(*(torch.stack(order, dim=1) for order in zip(*components, strict=True)))

    def jets(self, theta: Tensor, t: Tensor) -> list[Jet]:
        """One Jet of (runs, points) per component of the state."""
        return self.gated_jets(self.trunk_jet(theta, t), t)

    def gated_jets(self, free: Jet, t: Tensor) -> list[Jet]:
        """The same as `jets`, from the jet of ũ at the times t."""
        return self._apply_gate(free, t, self.system.positive)

    def _apply_gate(self, free: Jet, t: Tensor, positive: Sequence[bool]) -> list[Jet]:
        """The jets of û, component by component, from the jet of ũ.

        û   = u0 + drift·g + f ũ
        û'  =      drift·g' + f'ũ + f ũ'
        û'' =      drift·g'' + f''ũ + 2f'ũ' + f ũ''

        A positive component is then r = r_min + softplus(ρ̂), with σ = dr/dρ̂ = sigmoid(ρ̂):
        r' = σ ρ̂' and r'' = σ ρ̂'' + σ(1 − σ) ρ̂'². A compiled loop does all of it at once;
        `plain_ansatz` in tests/test_ops.py is the same in torch, and tests/oracle.py has û alone
        and leaves the derivatives to autograd.
        """
        rows = len(free.value)  # one start for many rows of parameters is allowed
        u0 = self.latent_start[:, :, 0].expand(rows, -1)
        drift = self.drift[:, :, 0].expand(rows, -1)
        constants = (u0, drift, positive, self.system.floor)
        orders = autograd.AnsatzJet.apply(self.factor_and_gate(t), *constants, *free)
        return [Jet(*orders[i : i + 3]) for i in range(0, len(orders), 3)]

    def residual(self, jets: Sequence[Jet]) -> tuple[Tensor, ...]:
        """R, one (runs, points) per component."""
        q, v, a = zip(*jets, strict=True)
        return self.system.residual(q, v, a)
