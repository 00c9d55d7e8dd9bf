"""The physics term of the loss, (runs,), from mean squares of the residual, (runs, components)."""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from pinnlib import ops
from pinnlib.registry import Named, Registry, is_number, validate

Term = Callable[[Tensor], Tensor]  # (runs, components) → (runs,)


def total(terms: Sequence[Tensor]) -> Tensor:
    """Their sum, in order; the order within torch.sum depends on the machine."""
    return functools.reduce(operator.add, terms)


@dataclass(frozen=True)
class Loss(Named):
    """A loss; a subclass gives `name` and `start`."""

    def start(self, fixed: bool = False) -> Term:
        """The term of one training; `fixed`: one and the same function from its first call on."""
        raise NotImplementedError

    def validate_components(self, components: Sequence[str]) -> None:
        """Check that the loss suits a system with these components."""


class ScaledTerm:
    """Σ_c mean(R_c²) / (s_c + ε)², s_c a moving average of the RMS of R_c, without gradient.

    With `fixed`, s_c remains the RMS of the first call. The first value is the number of
    components, whatever their size, and later ones compare with the recent past: not this term but
    the columns rms_<component> of a history show the progress of a run.
    """

    def __init__(self, decay: float, epsilon: float, fixed: bool) -> None:
        self.decay = decay
        self.epsilon = epsilon
        self.fixed = fixed
        self.scale: Tensor | None = None

    def __call__(self, mean_square: Tensor) -> Tensor:
        rms = ops.sqrt(mean_square.detach() + self.epsilon)
        if self.scale is None:
            self.scale = rms
        elif not self.fixed:
            self.scale = self.decay * self.scale + (1 - self.decay) * rms
        scaled = mean_square / (self.scale + self.epsilon) ** 2
        return total(scaled.unbind(1))


@dataclass(frozen=True)
class Balanced(Loss):
    """Every component divided by a moving average of its size; `frozen`: by its first size."""

    frozen: bool = False
    decay = 0.99
    epsilon = 1e-12
    name = "balanced"

    def __post_init__(self) -> None:
        super().__post_init__()
        validate("frozen", self.frozen, isinstance(self.frozen, bool), "True or False")

    def start(self, fixed: bool = False) -> Term:
        return ScaledTerm(self.decay, self.epsilon, fixed or self.frozen)


@dataclass(frozen=True)
class Weighted(Loss):
    """Σ_c w_c mean(R_c²) / Σ_c w_c; equal weights are `mse`."""

    weights: tuple[float, ...] = (1.0, 1.0)
    name = "weighted"

    def __post_init__(self) -> None:
        ok = isinstance(self.weights, (tuple, list)) and all(map(is_number, self.weights))
        ok = ok and len(self.weights) > 0 and min(self.weights) > 0
        validate("weights", self.weights, ok, "a tuple of numbers > 0, one per component")
        object.__setattr__(self, "weights", tuple(float(weight) for weight in self.weights))

    def validate_components(self, components: Sequence[str]) -> None:
        ok = len(self.weights) == len(components)
        validate("weights", self.weights, ok, f"one number for each of {', '.join(components)}")

    def start(self, fixed: bool = False) -> Term:
        shares = [weight / sum(self.weights) for weight in self.weights]

        def term(mean_square: Tensor) -> Tensor:
            pairs = zip(shares, mean_square.unbind(1), strict=True)
            return total([share * column for share, column in pairs])

        return term


@dataclass(frozen=True)
class MeanSquare(Loss):
    """Mean of R² over points and components."""

    name = "mse"

    def start(self, fixed: bool = False) -> Term:
        return lambda mean_square: total(mean_square.unbind(1)) / mean_square.shape[1]


LOSSES: Registry = {kind.name: kind for kind in (Balanced, MeanSquare, Weighted)}
