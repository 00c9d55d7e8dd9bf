"""Trunks ũ(t) and the gated ansatz around them; every function works on a batch of runs at once."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from pinnlib.jets import Jet, product, softplus
from pinnlib.ops import FourierSeries, TanhNetwork
from pinnlib.registry import Named, is_number, is_whole, validate


def inverse_softplus(y):
    """x with log(1 + e^x) = y, for y > 0."""
    return y + np.log(-np.expm1(-y))


@dataclass(frozen=True)
class Trunk(Named):
    """An unconstrained network t → (components,) whose parameters are one flat row per run."""

    batch = 32  # how many runs of this trunk train fastest together

    def shapes(self, components):
        """Name → shape of every block of parameters, in the order in which they lie in the row."""
        raise NotImplementedError

    def initial(self, components, generator):
        """Name → initial block, drawn from `generator`; blocks that `shapes` does not name are left out."""
        raise NotImplementedError

    def jet(self, parameters, t):
        """(ũ, ũ', ũ''), each (runs, components, points), from blocks with a leading runs axis and t (runs, points)."""
        raise NotImplementedError

    def frequencies(self, parameters):
        """Angular frequencies (runs, n) of a spectral trunk, else None."""
        return None

    def size(self, components):
        """Number of trainable parameters."""
        return sum(math.prod(shape) for shape in self.shapes(components).values())

    def blocks(self, theta, components):
        """Name → block (runs, …): the flat rows theta (runs, ≥ size) cut up; what lies beyond `size` is padding."""
        shapes = self.shapes(components)
        sizes = [math.prod(shape) for shape in shapes.values()]
        *rows, _ = theta.split([*sizes, theta.shape[1] - sum(sizes)], dim=1)
        return {name: row.view(-1, *shape) for (name, shape), row in zip(shapes.items(), rows)}


@dataclass(frozen=True)
class Fourier(Trunk):
    """ũ = W [sin ωt; cos ωt] + b with frequencies ω log-spaced in bands (low, high, count), both ends included."""

    bands: tuple = ((0.5, 5.0, 16), (5.0, 15.0, 16))
    trainable = False

    def __post_init__(self):
        super().__post_init__()
        ok = (
            isinstance(self.bands, (tuple, list))
            and self.bands
            and all(map(self._is_band, self.bands))
        )
        validate(
            "bands",
            self.bands,
            ok,
            "a tuple of (low, high, count) with 0 < low <= high and a whole count >= 1",
        )
        bands = tuple((float(low), float(high), int(count)) for low, high, count in self.bands)
        object.__setattr__(self, "bands", bands)

    @staticmethod
    def _is_band(band):
        triple = isinstance(band, (tuple, list)) and len(band) == 3 and all(map(is_number, band))
        return triple and 0 < band[0] <= band[1] and is_whole(band[2], 1)

    @cached_property
    def start(self):
        """The initial frequencies."""
        return np.concatenate([np.geomspace(low, high, count) for low, high, count in self.bands])

    def shapes(self, components):
        n = len(self.start)
        return {"weight": (components, 2 * n), "bias": (components,)} | (
            {"raw": (n,)} if self.trainable else {}
        )

    def initial(self, components, generator):
        weight = 0.01 * torch.randn(
            components, 2 * len(self.start), generator=generator, dtype=torch.float64
        )
        return {
            "weight": weight,
            "bias": torch.zeros(components),
            "raw": torch.from_numpy(inverse_softplus(self.start)),
        }

    def frequencies(self, parameters):
        if self.trainable:
            return torch.nn.functional.softplus(parameters["raw"])
        return torch.tensor(self.start, dtype=parameters["weight"].dtype).expand(
            len(parameters["weight"]), -1
        )

    def jet(self, parameters, t):
        return Jet(
            *FourierSeries.apply(
                parameters["weight"], parameters["bias"], self.frequencies(parameters), t
            )
        )


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
    """Fully connected tanh network on the raw time, with PyTorch's default initialisation of Linear."""

    hidden: int = 128
    depth: int = 3
    name = "baseline"
    batch = 2  # its matrix products fill a core by themselves; two share the rest

    def __post_init__(self):
        for field in ("hidden", "depth"):
            value = getattr(self, field)
            validate(field, value, is_whole(value, 1), "a whole number >= 1")
            object.__setattr__(self, field, int(value))

    def shapes(self, components):
        widths = [1] + [self.hidden] * self.depth + [components]
        layers = {}
        for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            layers |= {f"weight{i}": (outputs, inputs), f"bias{i}": (outputs,)}
        return layers

    def initial(self, components, generator):
        blocks, bound = {}, None
        for name, shape in self.shapes(components).items():
            bound = (
                1 / math.sqrt(shape[1]) if name.startswith("weight") else bound
            )  # bias: that of its weight
            blocks[name] = torch.empty(shape, dtype=torch.float32).uniform_(
                -bound, bound, generator=generator
            )
        return blocks

    def jet(self, parameters, t):
        return Jet(*TanhNetwork.apply(t, *parameters.values()))


MODELS = {kind.name: kind for kind in (MLP, FixedFourier, AdaptiveFourier)}


def to_latent(system, q):
    """The latent variables (ρ, θ) of states q (components, …): what r = r_min + softplus(ρ) takes back to r."""
    rows = [
        inverse_softplus(row - system.floor) if positive else row
        for row, positive in zip(np.asarray(q, dtype=float), system.positive)
    ]
    return np.stack(rows)


class Ansatz:
    """û = u0 + g ũ in the latent variables, r = r_min + softplus(ρ̂) where positive: the one place that knows the initial state.

    With `velocities`, û = u0 + (g/g'(0)) v0 + g² ũ, which holds the initial velocity too.
    """

    def __init__(self, trunk, gate, system, positions, dtype, velocities=None):
        self.trunk, self.gate, self.system = trunk, gate, system
        self.start = torch.tensor(to_latent(system, np.transpose(positions)).T, dtype=dtype)[
            :, :, None
        ]  # (runs, components, 1)
        self.drift = None if velocities is None else self._drift(np.transpose(velocities), dtype)

    def _drift(self, velocities, dtype):
        """Latent velocity at the start over g'(0): dr/dρ is σ(ρ₀)."""
        slope = self.gate.jet(torch.zeros(1, dtype=torch.float64)).first.item()
        sigma = torch.sigmoid(self.start[:, :, 0].double()).numpy().T
        rows = [
            v / s if positive else v
            for v, s, positive in zip(velocities, sigma, self.system.positive)
        ]
        return torch.tensor(np.stack(rows, axis=1) / slope, dtype=dtype)[:, :, None]

    def frame(self, t):
        """(factor of ũ, what is added to it), as jets that broadcast over (runs, components, points)."""
        gate = Jet(*(g[:, None, :] for g in self.gate.jet(t)))
        if self.drift is None:
            return gate, Jet(self.start, 0.0, 0.0)
        return product(gate, gate), Jet(
            self.start + self.drift * gate.value, self.drift * gate.first, self.drift * gate.second
        )

    def latent(self, theta, t):
        """(ρ̂, θ̂) and derivatives, each (runs, components, points)."""
        factor, added = self.frame(t)
        gated = product(
            factor, self.trunk.jet(self.trunk.blocks(theta, len(self.system.components)), t)
        )
        if self.drift is None:
            return gated._replace(value=gated.value + added.value)
        return Jet(*(own + more for own, more in zip(gated, added)))

    def jets(self, theta, t):
        """One Jet of (runs, points) per component of the state."""
        latent = self.latent(theta, t)
        components = [Jet(*orders) for orders in zip(*(order.unbind(1) for order in latent))]
        for c, positive in enumerate(self.system.positive):
            if positive:
                y = softplus(components[c])
                components[c] = y._replace(value=y.value + self.system.floor)
        return components

    def residual(self, jets):
        """R, one (runs, points) per component."""
        return self.system.residual(*zip(*jets))
