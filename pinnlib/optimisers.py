"""How parameters move along a gradient: small named objects; `start` gives the step of one training."""

from dataclasses import dataclass

import torch

from pinnlib.registry import Named, is_number, validate


@dataclass(frozen=True)
class Optimiser(Named):
    """An optimiser; a subclass gives `name` and `start`."""

    def start(self, theta, lr):
        """A function of the gradient that moves `theta` (runs, parameters) in place."""
        raise NotImplementedError


@dataclass(frozen=True)
class Adam(Optimiser):
    """torch.optim.Adam(fused=True) with its defaults, without its class, whose first use alone imports for two seconds."""

    name = "adam"

    def start(self, theta, lr):
        updates, first, second = torch.zeros(()), torch.zeros_like(theta), torch.zeros_like(theta)
        settings = {
            "lr": lr,
            "beta1": 0.9,
            "beta2": 0.999,
            "eps": 1e-8,
            "weight_decay": 0.0,
            "amsgrad": False,
            "maximize": False,
        }

        @torch.no_grad()
        def step(gradient):
            updates.add_(1)
            torch._fused_adam_([theta], [gradient], [first], [second], [], [updates], **settings)

        return step


@dataclass(frozen=True)
class Momentum(Optimiser):
    """Gradient descent with momentum, v ← μv + ∇, θ ← θ − ηv: nothing is rescaled per parameter."""

    momentum: float = 0.9
    name = "sgd"

    def __post_init__(self):
        super().__post_init__()
        validate(
            "momentum",
            self.momentum,
            is_number(self.momentum) and 0 <= self.momentum < 1,
            "a number of [0, 1)",
        )

    def start(self, theta, lr):
        velocity = torch.zeros_like(theta)

        @torch.no_grad()
        def step(gradient):
            velocity.mul_(self.momentum).add_(gradient)
            theta.sub_(velocity, alpha=lr)

        return step


OPTIMISERS = {kind.name: kind for kind in (Adam, Momentum)}
