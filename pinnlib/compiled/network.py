"""Tanh networks of the time, run by run: at any times, or by Chebyshev series on [0, horizon].

A series has `nodes[i]` points for run i. `layers` are weight, bias, weight, bias, …, each with the
runs as its first axis; a jet is three tensors (runs, components, points).
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from pinnlib.compiled import autograd

MOST_NODES = 4096  # a network that needs more is not resolved


def jets(layers: Sequence[Tensor], t: Tensor) -> list[Tensor]:
    """The jet at the times t (runs, points)."""
    return _stack([autograd.TanhNetwork.apply(*run) for run in _per_run(t, *layers)])


def series_jets(
    layers: Sequence[Tensor], t: Tensor, horizon: float, nodes: Sequence[int]
) -> list[Tensor]:
    """The same by series: the network is evaluated at their points only."""
    x = t.double() * (2 / horizon) - 1
    found = []
    for n, (own, *own_layers) in zip(nodes, _per_run(x, *layers), strict=True):
        times = autograd.chebyshev_times(n, horizon).to(t.dtype)
        at_nodes = autograd.TanhNetwork.apply(times, *own_layers)
        found.append(autograd.ChebyshevSeries.apply(own, *at_nodes))
    return _stack(found)


def resolve(
    layers: Sequence[Tensor], horizon: float, nodes: Sequence[int], tolerance: float
) -> list[int]:
    """`nodes`, doubled per run until the tail of its series is below the tolerance."""
    enough = []
    for n, own_layers in zip(nodes, _per_run(*layers), strict=True):
        while n < MOST_NODES and not _is_resolved(own_layers, horizon, n, tolerance):
            n *= 2
        enough.append(n)
    return enough


def _is_resolved(layers: Sequence[Tensor], horizon: float, n: int, tolerance: float) -> bool:
    """True if no coefficient in the last eighth of a series is large beside its largest."""
    times = autograd.chebyshev_times(n, horizon)
    jet = autograd.TanhNetwork.apply(times, *(layer.double() for layer in layers))
    values = torch.cat(jet).numpy()  # (3 · components, n)
    size = np.abs(autograd.chebyshev_coefficients(values))
    large = size[:, -n // 8 :].max(axis=1) > tolerance * size.max(axis=1)
    return not large.any()


def _per_run(*blocks: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The rows of the blocks, run by run."""
    return zip(*(block.unbind(0) for block in blocks), strict=True)


def _stack(found: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    return [torch.stack(order) for order in zip(*found, strict=True)]
