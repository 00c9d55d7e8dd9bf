"""Trunks ũ(t) and the gated ansatz around them; every function works on a batch of runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from pinnlib.gates import Gate, Jet
from pinnlib.ops import FourierSeries, TanhNetwork
from pinnlib.registry import Named, Registry, is_number, is_whole, validate
from pinnlib.systems import System

Blocks = dict[str, Tensor]  # parameters by name, each (runs, …)
Shapes = dict[str, tuple[int, ...]]  # of one run


def inverse_softplus(y: np.ndarray) -> np.ndarray:
    """x with log(1 + e^x) = y, for y > 0."""
    return y + np.log(-np.expm1(-y))


@dataclass(frozen=True)
class Trunk(Named):
    """An unconstrained network t → (components,) whose parameters are one flat row per run."""

    batch = 32  # largest number of runs per batch, chosen for speed

    def shapes(self, components: int) -> Shapes:
        """Name → shape of every block of parameters, in their order in the row."""
        raise NotImplementedError

    def initial(self, components: int, generator: torch.Generator) -> Blocks:
        """Name → initial block, drawn from `generator`; only blocks in `shapes` are used."""
        raise NotImplementedError

    def jet(self, parameters: Blocks, t: Tensor) -> Jet:
        """(ũ, ũ', ũ''), each (runs, components, points), at t (runs, points)."""
        raise NotImplementedError

    def frequencies(self, parameters: Blocks) -> Tensor | None:
        """Angular frequencies (runs, n) of a spectral trunk, else None."""
        return None

    def size(self, components: int) -> int:
        """Number of trainable parameters."""
        return sum(math.prod(shape) for shape in self.shapes(components).values())

    def blocks(self, theta: Tensor, components: int) -> Blocks:
        """Name → block (runs, …), cut from the rows theta (runs, ≥ size); the rest is padding."""
        shapes = self.shapes(components)
        sizes = [math.prod(shape) for shape in shapes.values()]
        *rows, _ = theta.split([*sizes, theta.shape[1] - sum(sizes)], dim=1)
        blocks = zip(shapes.items(), rows, strict=True)
        return {name: row.view(-1, *shape) for (name, shape), row in blocks}


def _is_band(band: object) -> bool:
    if not isinstance(band, (tuple, list)) or len(band) != 3:
        return False
    low, high, count = band
    return is_number(low) and is_number(high) and 0 < low <= high and is_whole(count, 1)


@dataclass(frozen=True)
class Fourier(Trunk):
    """ũ = W [sin ωt; cos ωt] + b; ω is log-spaced in bands (low, high, count), ends included."""

    bands: tuple[tuple[float, float, int], ...] = ((0.5, 5.0, 16), (5.0, 15.0, 16))
    trainable = False

    def __post_init__(self) -> None:
        super().__post_init__()
        ok = isinstance(self.bands, (tuple, list)) and self.bands and all(map(_is_band, self.bands))
        allowed = "a tuple of (low, high, count) with 0 < low <= high and a whole count >= 1"
        validate("bands", self.bands, ok, allowed)
        bands = tuple((float(low), float(high), int(count)) for low, high, count in self.bands)
        object.__setattr__(self, "bands", bands)

    @cached_property
    def start(self) -> np.ndarray:
        """The initial frequencies."""
        return np.concatenate([np.geomspace(low, high, count) for low, high, count in self.bands])

    def shapes(self, components: int) -> Shapes:
        n = len(self.start)
        shapes: Shapes = {"weight": (components, 2 * n), "bias": (components,)}
        if self.trainable:
            shapes["raw"] = (n,)
        return shapes

    def initial(self, components: int, generator: torch.Generator) -> Blocks:
        shape = (components, 2 * len(self.start))
        return {
            "weight": 0.01 * torch.randn(shape, generator=generator, dtype=torch.float64),
            "bias": torch.zeros(components),
            "raw": torch.from_numpy(inverse_softplus(self.start)),
        }

    def frequencies(self, parameters: Blocks) -> Tensor:
        if self.trainable:
            return torch.nn.functional.softplus(parameters["raw"])
        weight = parameters["weight"]
        return torch.tensor(self.start, dtype=weight.dtype).expand(len(weight), -1)

    def jet(self, parameters: Blocks, t: Tensor) -> Jet:
        omega = self.frequencies(parameters)
        return Jet(*FourierSeries.apply(parameters["weight"], parameters["bias"], omega, t))


@dataclass(frozen=True)
class FixedFourier(Fourier):
    name = "fixed"


@dataclass(frozen=True)
class AdaptiveFourier(Fourier):
    """Fourier trunk whose frequencies ω = softplus(raw) are trained too."""

    name = "adaptive"
    trainable = True


@dataclass(frozen=True)
class MLP(Trunk):
    """Fully connected tanh network of the raw time, initialised as PyTorch initialises Linear."""

    hidden: int = 128
    depth: int = 3
    name = "baseline"
    batch = 2  # its matrix products keep a core busy; two runs share the rest of the work

    def __post_init__(self) -> None:
        for field in ("hidden", "depth"):
            value = getattr(self, field)
            validate(field, value, is_whole(value, 1), "a whole number >= 1")
            object.__setattr__(self, field, int(value))

    def shapes(self, components: int) -> Shapes:
        widths = [1, *[self.hidden] * self.depth, components]
        shapes: Shapes = {}
        for i, (inputs, outputs) in enumerate(pairwise(widths)):
            shapes[f"weight{i}"] = (outputs, inputs)
            shapes[f"bias{i}"] = (outputs,)
        return shapes

    def initial(self, components: int, generator: torch.Generator) -> Blocks:
        blocks, bound = {}, 0.0
        for name, shape in self.shapes(components).items():
            if name.startswith("weight"):
                bound = 1 / math.sqrt(shape[1])  # also for the bias that follows
            block = torch.empty(shape, dtype=torch.float32)
            blocks[name] = block.uniform_(-bound, bound, generator=generator)
        return blocks

    def jet(self, parameters: Blocks, t: Tensor) -> Jet:
        return Jet(*TanhNetwork.apply(t, *parameters.values()))


MODELS: Registry = {kind.name: kind for kind in (MLP, FixedFourier, AdaptiveFourier)}


def to_latent(system: System, q: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """The latent variables (ρ, θ) of states q (components, …), with r = r_min + softplus(ρ)."""
    latent = np.array(q, dtype=float)
    for c, positive in enumerate(system.positive):
        if positive:
            latent[c] = inverse_softplus(latent[c] - system.floor)
    return latent


# Autograd sums gradients in the reverse order of the operations below: reordering them changes the
# last bits of a training.


def product(a: Jet, b: Jet) -> Jet:
    """(ab)' = a'b + ab',  (ab)'' = a''b + 2a'b' + ab''."""
    value = a.value * b.value
    first = torch.addcmul(a.value * b.first, a.first, b.value)
    second = torch.addcmul(a.value * b.second, a.first, b.first, value=2)
    return Jet(value, first, torch.addcmul(second, a.second, b.value))


def softplus(a: Jet) -> Jet:
    """y = log(1 + e^a):  y' = σ a',  y'' = σ a'' + σ(1 − σ) a'²."""
    sigma = torch.sigmoid(a.value)
    first = sigma * a.first
    value = torch.nn.functional.softplus(a.value)
    second = sigma * a.second + first * (a.first - first)
    return Jet(value, first, second)


class Ansatz:
    """û = u0 + g ũ in the latent variables, and r = r_min + softplus(ρ̂) where positive.

    With `velocities`, û = u0 + (g/g'(0)) v0 + g² ũ, which holds the initial velocity too.
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
    ):
        self.trunk = trunk
        self.gate = gate
        self.system = system
        start = to_latent(system, np.transpose(positions)).T
        self.start = torch.tensor(start, dtype=dtype)[:, :, None]  # (runs, components, 1)
        self.drift = None if velocities is None else self._drift(velocities).to(dtype)

    def _drift(self, velocities: Sequence[Sequence[float]]) -> Tensor:
        """Latent velocity at the start over g'(0): dr/dρ is σ(ρ₀)."""
        slope = self.gate.jet(torch.zeros(1, dtype=torch.float64)).first
        positive = torch.tensor(self.system.positive)[:, None]
        velocity = torch.tensor(velocities, dtype=torch.float64)[:, :, None]
        latent = torch.where(positive, velocity / torch.sigmoid(self.start.double()), velocity)
        return latent / slope

    def frame(self, t: Tensor) -> tuple[Jet, Jet]:
        """(factor of ũ, term added to it), jets that broadcast over (runs, components, points)."""
        gate = Jet(*(order[:, None, :] for order in self.gate.jet(t)))
        if self.drift is None:
            zero = torch.zeros_like(self.start)
            return gate, Jet(self.start, zero, zero)
        value = self.start + self.drift * gate.value
        return product(gate, gate), Jet(value, self.drift * gate.first, self.drift * gate.second)

    def latent(self, theta: Tensor, t: Tensor) -> Jet:
        """(ρ̂, θ̂) and derivatives, each (runs, components, points)."""
        blocks = self.trunk.blocks(theta, len(self.system.components))
        factor, added = self.frame(t)
        gated = product(factor, self.trunk.jet(blocks, t))
        if self.drift is None:  # `added` is constant
            return gated._replace(value=gated.value + added.value)
        return Jet(*(own + more for own, more in zip(gated, added, strict=True)))

    def jets(self, theta: Tensor, t: Tensor) -> list[Jet]:
        """One Jet of (runs, points) per component of the state."""
        orders = [order.unbind(1) for order in self.latent(theta, t)]
        components = [Jet(*component) for component in zip(*orders, strict=True)]
        for c, positive in enumerate(self.system.positive):
            if positive:
                y = softplus(components[c])
                components[c] = y._replace(value=y.value + self.system.floor)
        return components

    def residual(self, jets: Sequence[Jet]) -> tuple[Tensor, ...]:
        """R, one (runs, points) per component."""
        q, v, a = zip(*jets, strict=True)
        return self.system.residual(q, v, a)
