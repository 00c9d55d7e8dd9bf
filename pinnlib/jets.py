"""A function of time carried together with its first and second derivative."""

from typing import NamedTuple

import torch


class Jet(NamedTuple):
    """(u, u', u'') at the same times."""

    value: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor


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
