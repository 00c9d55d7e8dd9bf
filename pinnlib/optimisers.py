"""Optimisers: small named objects; `start` gives the update function of one training."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pinnlib.compiled import loops
from pinnlib.registry import Named, Registry, is_number, validate

Step = Callable[[Tensor], None]  # moves the parameters, given the gradient


@dataclass(frozen=True)
class Optimiser(Named):
    """An optimiser; a subclass gives `name` and `start`."""

    def start(self, theta: Tensor, lr: float) -> Step:
        """A function of the gradient that moves `theta` (runs, parameters) in place."""
        raise NotImplementedError


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam with the defaults of torch.optim.Adam."""

    beta1 = 0.9
    beta2 = 0.999
    epsilon = 1e-8
    name = "adam"

    def start(self, theta: Tensor, lr: float) -> Step:
        flat = theta.detach().view(-1).numpy()  # shares its memory with theta
        first = np.zeros_like(flat)
        second = np.zeros_like(flat)
        number = flat.dtype.type
        power1 = power2 = 1.0

        def step(gradient: Tensor) -> None:
            nonlocal power1, power2
            power1 *= self.beta1
            power2 *= self.beta2
            settings = (self.beta1, self.beta2, lr / (1 - power1), math.sqrt(1 - power2))
            moments = (gradient.contiguous().view(-1).numpy(), first, second)
            loops.adam(flat, *moments, *map(number, (*settings, self.epsilon)))

        return step


@dataclass(frozen=True)
class Momentum(Optimiser):
    """Gradient descent with momentum, v ← μv + ∇, θ ← θ − ηv; no scaling per parameter."""

    momentum: float = 0.9
    name = "sgd"

    def __post_init__(self) -> None:
        super().__post_init__()
        ok = is_number(self.momentum) and 0 <= self.momentum < 1
        validate("momentum", self.momentum, ok, "a number in [0, 1)")

    def start(self, theta: Tensor, lr: float) -> Step:
        velocity = torch.zeros_like(theta)

        @torch.no_grad()
        def step(gradient: Tensor) -> None:
            velocity.mul_(self.momentum).add_(gradient)
            theta.sub_(velocity * lr)

        return step


OPTIMISERS: Registry = {kind.name: kind for kind in (Adam, Momentum)}
