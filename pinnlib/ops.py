"""Operations for torch tensors, with derivatives, whose bits are the same on every machine.

Gates and systems are written with these functions and with + − × ÷, **2 and **3 of torch, which
are portable too. Other functions of torch work as well; the bits of a run are then those of torch
on the machine at hand. The elementary functions also take numbers and NumPy arrays.
"""

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnlib.compiled import loops
from pinnlib.compiled.autograd import arrays
from pinnlib.registry import validate

torch.set_num_threads(1)  # one thread per process: runs, not operations, are done in parallel
if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # Keep the arrays of an update in the process: returning them to the system takes a tenth of
    # the time of an update. The options are M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    ctypes.CDLL(None).mallopt(-3, 1 << 25)
    ctypes.CDLL(None).mallopt(-1, 1 << 30)


def _elementary(function: Any, derivative: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """`function` for tensors and arrays; `derivative` is given x and y = function(x)."""

    class Elementary(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = torch.from_numpy(np.asarray(_quietly(function, x.numpy())))
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, bar: Tensor) -> Tensor:
            return bar * derivative(*ctx.saved_tensors)

    def apply(x: Any) -> Any:
        return Elementary.apply(x) if isinstance(x, Tensor) else _quietly(function, x)

    apply.__name__ = apply.__qualname__ = function.__name__
    return apply


def _quietly(function: Any, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return function(x)


exp = _elementary(loops.exp, lambda x, y: y)
expm1 = _elementary(loops.expm1, lambda x, y: y + 1)
log1p = _elementary(loops.log1p, lambda x, y: 1 / (1 + x))
tanh = _elementary(loops.tanh, lambda x, y: 1 - y * y)
sigmoid = _elementary(loops.sigmoid, lambda x, y: y * (1 - y))
softplus = _elementary(loops.softplus, lambda x, y: sigmoid(x))
sin: Any = _elementary(loops.sin, lambda x, y: cos(x))
cos: Any = _elementary(loops.cos, lambda x, y: -sin(x))
sqrt = _elementary(np.sqrt, lambda x, y: 0.5 / y)  # torch.sqrt is not correctly rounded


class _SinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        sine, cosine = torch.empty_like(x), torch.empty_like(x)
        loops.sin_and_cos(*(array.reshape(-1) for array in arrays((x, sine, cosine))))
        ctx.save_for_backward(sine, cosine)
        return sine, cosine

    @staticmethod
    def backward(ctx: Any, bar_sine: Tensor, bar_cosine: Tensor) -> Tensor:
        sine, cosine = ctx.saved_tensors
        return bar_sine * cosine - bar_cosine * sine


def sin_cos(x: Any) -> tuple[Any, Any]:
    """(sin x, cos x), in half the time of both."""
    return _SinCos.apply(x) if isinstance(x, Tensor) else (sin(x), cos(x))


class _RowSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        rows = x.contiguous().numpy().reshape(-1, x.shape[-1])
        return torch.from_numpy(loops.sum_rows(rows)).view(x.shape[:-1])

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> Tensor:
        return bar[..., None].expand(ctx.shape)


def row_sums(x: Tensor) -> Tensor:
    """The sums over the last axis of x."""
    return _RowSums.apply(x)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return torch.from_numpy(loops.matrix_product(*arrays((a, b))))

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_tensors
        return matmul(bar, b.T), matmul(a.T, bar)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The matrix product of a (rows, inner) and b (inner, columns)."""
    return _Product.apply(a, b)


class _MeanSquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, points: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.points = points
        return torch.from_numpy(loops.sum_of_squares(x.contiguous().numpy(), points)) / points

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        gradient = x * (bar * 2 / ctx.points)[:, None]
        gradient[:, ctx.points :] = 0
        return gradient, None


def mean_square(x: Tensor, points: int) -> Tensor:
    """The mean of x² over the first `points` entries of every row; x (runs, columns) → (runs,)."""
    validate("points", points, points <= x.shape[1], f"at most {x.shape[1]}, the length of a row")
    return _MeanSquare.apply(x, points)
