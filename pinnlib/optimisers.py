"""Optimisers: small named objects; `start` gives the update function of one training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

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
    """torch.optim.Adam(fused=True) with its defaults; importing its class takes two seconds."""

    name = "adam"

    def start(self, theta: Tensor, lr: float) -> Step:
        updates = torch.zeros(())
        first = torch.zeros_like(theta)
        second = torch.zeros_like(theta)
        options: dict[str, Any] = {"eps": 1e-8, "weight_decay": 0.0}
        options |= {"beta1": 0.9, "beta2": 0.999, "amsgrad": False, "maximize": False, "lr": lr}

        @torch.no_grad()
        def step(gradient: Tensor) -> None:
            updates.add_(1)
            torch._fused_adam_([theta], [gradient], [first], [second], [], [updates], **options)

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
            theta.sub_(velocity, alpha=lr)

        return step


OPTIMISERS: Registry = {kind.name: kind for kind in (Adam, Momentum)}
