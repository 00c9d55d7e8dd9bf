"""Operations for torch tensors, with derivatives, whose bits are the same on every machine.

Gates and systems are written with these functions and with + − × ÷, **2 and **3 of torch, which
are portable too. Other functions of torch work as well; the bits of a run are then those of torch
on the machine at hand. The elementary functions also take numbers and NumPy arrays.
"""

import ctypes
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnlib.compiled import autograd, elementary
from pinnlib.registry import validate

torch.set_num_threads(1)  # one thread per process: runs, not operations, are done in parallel
if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # Keep the arrays of an update in the process: returning them to the system takes a tenth of
    # the time of an update. The options are M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    ctypes.CDLL(None).mallopt(-3, 1 << 25)
    ctypes.CDLL(None).mallopt(-1, 1 << 30)


# Each with its derivative, from x and y = function(x).
exp = autograd.differentiable(elementary.exp, lambda x, y: y)
expm1 = autograd.differentiable(elementary.expm1, lambda x, y: y + 1)
log1p = autograd.differentiable(elementary.log1p, lambda x, y: 1 / (1 + x))
tanh = autograd.differentiable(elementary.tanh, lambda x, y: 1 - y * y)
sigmoid = autograd.differentiable(elementary.sigmoid, lambda x, y: y * (1 - y))
softplus = autograd.differentiable(elementary.softplus, lambda x, y: sigmoid(x))
sin: Any = autograd.differentiable(elementary.sin, lambda x, y: cos(x))
cos: Any = autograd.differentiable(elementary.cos, lambda x, y: -sin(x))
sqrt = autograd.differentiable(np.sqrt, lambda x, y: 0.5 / y)  # torch.sqrt is not correctly rounded


def sin_cos(x: Any) -> tuple[Any, Any]:
    """(sin x, cos x), in half the time of both."""
    return autograd.SinCos.apply(x) if isinstance(x, Tensor) else (sin(x), cos(x))


def row_sums(x: Tensor) -> Tensor:
    """The sums over the last axis of x."""
    return autograd.RowSums.apply(x)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product of a (rows, inner) and b (inner, columns)."""
    return autograd.Product.apply(a, b)


def mean_square(x: Tensor, points: int) -> Tensor:
    """The mean of x² over the first `points` entries of every row; x (runs, columns) → (runs,)."""
    validate("points", points, points <= x.shape[1], f"at most {x.shape[1]}, the length of a row")
    return autograd.MeanSquare.apply(x, points)
