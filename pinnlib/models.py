"""Trunks ũ(t); every function works on a batch of runs."""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from pinnlib import ops
from pinnlib.compiled import autograd, network
from pinnlib.gates import Jet
from pinnlib.registry import Named, Registry, is_number, is_whole, validate

Blocks = dict[str, Tensor]  # parameters by name, each (runs, …)
Shapes = dict[str, tuple[int, ...]]  # of one run
Nodes = list[int]  # number of Chebyshev points, per run
MOST = 10**5  # frequencies of a band
LARGEST = {"hidden": 10**4, "depth": 100}  # of a network


def inverse_softplus(y: np.ndarray) -> np.ndarray:
    """x with log(1 + e^x) = y, for y > 0."""
    return y + ops.log1p(-ops.exp(-y))


def log_spaced(low: float, high: float, count: int) -> np.ndarray:
    """`count` numbers in geometric progression, both ends included."""
    share = np.arange(count) / max(count - 1, 1)
    numbers = low * ops.exp(share * ops.log1p(high / low - 1))
    if count > 1:
        numbers[-1] = high
    return numbers


def standard_normal(count: int, generator: torch.Generator) -> Tensor:
    """Normal numbers in float64, by the Box–Muller method; torch.randn promises no bits."""
    uniform = torch.rand(math.ceil(count / 16), 2, 8, generator=generator, dtype=torch.float64)
    radius = ops.sqrt(-2 * ops.log1p(-uniform[:, 0]))
    sine, cosine = ops.sin_cos(2 * math.pi * uniform[:, 1])
    return torch.stack([radius * cosine, radius * sine], dim=1).flatten()[:count]


@dataclass(frozen=True)
class Trunk(Named):
    """An unconstrained network t → (components,) whose parameters are one flat row per run."""

    batch = 64  # largest number of runs per batch, chosen for speed
    nodes: ClassVar[int | None] = None  # Chebyshev points at the start of training; None: no series

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

    def series_jet(self, parameters: Blocks, t: Tensor, horizon: float, nodes: Nodes) -> Jet:
        """The jet at t in [0, horizon], of run i by a Chebyshev series through nodes[i] values."""
        raise NotImplementedError

    def resolve(self, parameters: Blocks, horizon: float, nodes: Nodes, tolerance: float) -> Nodes:
        """`nodes`, doubled per run until the tail of its series is below the tolerance."""
        raise NotImplementedError

    def size(self, components: int) -> int:
        """Number of trainable parameters."""
        return sum(math.prod(shape) for shape in self.shapes(components).values())

    def blocks(self, theta: Tensor, components: int) -> Blocks:
        """Name → block (runs, …), cut from the rows theta (runs, size)."""
        shapes = self.shapes(components)
        rows = theta.split([math.prod(shape) for shape in shapes.values()], dim=1)
        blocks = zip(shapes.items(), rows, strict=True)
        return {name: row.view(-1, *shape) for (name, shape), row in blocks}


def _is_band(band: object) -> bool:
    if not isinstance(band, (tuple, list)) or len(band) != 3:
        return False
    low, high, count = band
    return is_number(low) and is_number(high) and 0 < low <= high and is_whole(count, 1, MOST)


@dataclass(frozen=True)
class Fourier(Trunk):
    """ũ = W [sin ωt; cos ωt] + b; ω is log-spaced in bands (low, high, count), ends included."""

    bands: tuple[tuple[float, float, int], ...] = ((0.5, 5.0, 16), (5.0, 15.0, 16))
    trainable = False

    def __post_init__(self) -> None:
        super().__post_init__()
        ok = isinstance(self.bands, (tuple, list)) and self.bands and all(map(_is_band, self.bands))
        allowed = f"a tuple of (low, high, count): 0 < low <= high, a whole count from 1 to {MOST}"
        validate("bands", self.bands, ok, allowed)
        bands = tuple((float(low), float(high), int(count)) for low, high, count in self.bands)
        object.__setattr__(self, "bands", bands)

    @cached_property
    def initial_frequencies(self) -> np.ndarray:
        """ω before the first update, all bands in one row."""
        return np.concatenate([log_spaced(*band) for band in self.bands])

    def shapes(self, components: int) -> Shapes:
        n = len(self.initial_frequencies)
        shapes: Shapes = {"weight": (components, 2 * n), "bias": (components,)}
        if self.trainable:
            shapes["raw"] = (n,)
        return shapes

    def initial(self, components: int, generator: torch.Generator) -> Blocks:
        return {
            "weight": 0.01
            * standard_normal(components * 2 * len(self.initial_frequencies), generator),
            "bias": torch.zeros(components),
            "raw": torch.from_numpy(inverse_softplus(self.initial_frequencies)),
        }

    def frequencies(self, parameters: Blocks) -> Tensor:
        if self.trainable:
            return ops.softplus(parameters["raw"])
        weight = parameters["weight"]
        return torch.tensor(self.initial_frequencies, dtype=weight.dtype).expand(len(weight), -1)

    def jet(self, parameters: Blocks, t: Tensor) -> Jet:
        omega = self.frequencies(parameters)
        return Jet(
            *autograd.FourierSeries.apply(parameters["weight"], parameters["bias"], omega, t)
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
    """Fully connected tanh network of the raw time, initialised as PyTorch initialises Linear."""

    hidden: int = 128
    depth: int = 3
    name = "baseline"
    batch = 8
    nodes = 256

    def __post_init__(self) -> None:
        for field, most in LARGEST.items():
            value = getattr(self, field)
            ok = is_whole(value, 1, most)
            validate(field, value, ok, f"a whole number from 1 to {most}")
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
            uniform = torch.rand(shape, generator=generator, dtype=torch.float32)
            blocks[name] = uniform * (2 * bound) - bound
        return blocks

    def jet(self, parameters: Blocks, t: Tensor) -> Jet:
        return Jet(*network.jets(list(parameters.values()), t))

    def series_jet(self, parameters: Blocks, t: Tensor, horizon: float, nodes: Nodes) -> Jet:
        return Jet(*network.series_jets(list(parameters.values()), t, horizon, nodes))

    def resolve(self, parameters: Blocks, horizon: float, nodes: Nodes, tolerance: float) -> Nodes:
        return network.resolve(list(parameters.values()), horizon, nodes, tolerance)


MODELS: Registry = {kind.name: kind for kind in (MLP, FixedFourier, AdaptiveFourier)}
