"""The physics term of the loss, (runs,), from mean squares of the residual, (runs, components)."""

import functools
import operator
from collections.abc import Sequence

from torch import Tensor

from pinnlib import ops
from pinnlib.registry import Registry


def total(terms: Sequence[Tensor]) -> Tensor:
    """Their sum, in order; the order within torch.sum depends on the machine."""
    return functools.reduce(operator.add, terms)


class Balanced:
    """Σ_c mean(R_c²) / (s_c + ε)², s_c a moving average of the RMS of R_c, without gradient."""

    decay = 0.99
    epsilon = 1e-12

    def __init__(self) -> None:
        self.scale: Tensor | None = None

    def __call__(self, mean_square: Tensor) -> Tensor:
        rms = ops.sqrt(mean_square.detach() + self.epsilon)
        if self.scale is None:
            self.scale = rms
        else:
            self.scale = self.decay * self.scale + (1 - self.decay) * rms
        scaled = mean_square / (self.scale + self.epsilon) ** 2
        return total(scaled.unbind(1))


class MeanSquare:
    """Mean of R² over points and components."""

    def __call__(self, mean_square: Tensor) -> Tensor:
        return total(mean_square.unbind(1)) / mean_square.shape[1]


LOSSES: Registry = {"balanced": Balanced, "mse": MeanSquare}
