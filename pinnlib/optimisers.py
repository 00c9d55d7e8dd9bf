"""Optimisers and learning-rate schedules: small named objects."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from pinnlib import ops
from pinnlib.compiled import adam
from pinnlib.registry import Named, Registry, is_number, validate

Step = Callable[[Tensor, float], None]  # moves the parameters by gradient and learning rate


@dataclass(frozen=True)
class Optimiser(Named):
    """An optimiser; a subclass gives `name` and `start`."""

    def start(self, theta: Tensor) -> Step:
        """The function of one training that moves `theta` (runs, parameters) in place."""
        raise NotImplementedError


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam with the defaults of torch.optim.Adam."""

    beta1 = 0.9
    beta2 = 0.999
    epsilon = 1e-8
    name = "adam"

    def start(self, theta: Tensor) -> Step:
        flat = theta.detach().view(-1).numpy()  # shares its memory with theta
        first = np.zeros_like(flat)
        second = np.zeros_like(flat)
        number = flat.dtype.type
        power1 = power2 = 1.0

        def step(gradient: Tensor, lr: float) -> None:
            nonlocal power1, power2
            power1 *= self.beta1
            power2 *= self.beta2
            settings = (self.beta1, self.beta2, lr / (1 - power1), math.sqrt(1 - power2))
            moments = (gradient.contiguous().view(-1).numpy(), first, second)
            adam.update(flat, *moments, *map(number, (*settings, self.epsilon)))

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

    def start(self, theta: Tensor) -> Step:
        velocity = torch.zeros_like(theta)

        @torch.no_grad()
        def step(gradient: Tensor, lr: float) -> None:
            velocity.mul_(self.momentum).add_(gradient)
            theta.sub_(velocity * lr)

        return step


OPTIMISERS: Registry = {kind.name: kind for kind in (Adam, Momentum)}


def lbfgs(
    function: Callable[[Tensor], Tensor], theta: Tensor, iterations: int
) -> tuple[Tensor, int]:
    """Minimise a function of theta (1, parameters) in float64: the minimum, iterations taken.

    SciPy's sums depend on the processor: the bits of the result do too.
    """

    def value_and_gradient(row: np.ndarray) -> tuple[float, np.ndarray]:
        point = torch.from_numpy(row[None]).requires_grad_()
        value = function(point)
        (gradient,) = torch.autograd.grad(value, point, torch.ones_like(value))
        return value.item(), gradient[0].numpy()

    options = {"maxiter": iterations, "maxfun": 10 * iterations, "maxcor": 50, "ftol": 0, "gtol": 0}
    start = theta[0].detach().numpy()
    found = minimize(value_and_gradient, start, method="L-BFGS-B", jac=True, options=options)
    return torch.from_numpy(found.x[None]), int(found.nit)


@dataclass(frozen=True)
class Schedule(Named):
    """The learning rate in the course of a training; a subclass gives `name` and `factor`."""

    def factor(self, share: float) -> float:
        """What the learning rate is multiplied by, after a share in [0, 1) of the updates."""
        raise NotImplementedError


@dataclass(frozen=True)
class Constant(Schedule):
    name = "constant"

    def factor(self, share: float) -> float:
        return 1.0


@dataclass(frozen=True)
class Cosine(Schedule):
    """(1 + cos πs)/2: from 1 down to 0."""

    name = "cosine"

    def factor(self, share: float) -> float:
        return (1 + float(ops.cos(np.array(math.pi * share)))) / 2


SCHEDULES: Registry = {kind.name: kind for kind in (Constant, Cosine)}
