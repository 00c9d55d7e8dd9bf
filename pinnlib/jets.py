"""A function of time carried together with its first and second derivative."""

from typing import NamedTuple

import torch


class Jet(NamedTuple):
    """(u, u', u'') at the same times."""

    value: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor


def product(a, b):
    """(ab)' = a'b + ab',  (ab)'' = a''b + 2a'b' + ab''."""
    return Jet(
        a.value * b.value,
        torch.addcmul(a.value * b.first, a.first, b.value),
        torch.addcmul(
            torch.addcmul(a.value * b.second, a.first, b.first, value=2), a.second, b.value
        ),
    )


def softplus(a):
    """y = log(1 + e^a):  y' = σ a',  y'' = σ a'' + σ(1 − σ) a'²."""
    sigma = torch.sigmoid(a.value)
    slope = sigma * a.first
    return Jet(
        torch.nn.functional.softplus(a.value), slope, sigma * a.second + slope * (a.first - slope)
    )
