"""Operations for torch tensors, with derivatives, whose bits are the same on every machine.

Gates and systems are written with these functions and with + − × ÷ of torch, which are portable
too. Other functions of torch work as well; the bits of a run are then those of torch on the machine
at hand. The elementary functions also take numbers and NumPy arrays.
"""

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnlib.compiled import loops

torch.set_num_threads(1)  # one thread per process: runs, not operations, are done in parallel
if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # Keep the arrays of an update in the process instead of returning them to the system, which
    # takes a third of a network's time. The options are M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    ctypes.CDLL(None).mallopt(-3, 1 << 25)
    ctypes.CDLL(None).mallopt(-1, 1 << 30)


def arrays(tensors: Any) -> tuple[np.ndarray, ...]:
    """The contiguous NumPy arrays of some tensors."""
    return tuple(tensor.contiguous().numpy() for tensor in tensors)


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
sin = _elementary(loops.sin, lambda x, y: cos(x))
cos = _elementary(loops.cos, lambda x, y: -sin(x))
sqrt = _elementary(np.sqrt, lambda x, y: 0.5 / y)  # torch.sqrt is not correctly rounded


class _SinCos(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        sine, cosine = torch.empty_like(x), torch.empty_like(x)
        loops.sin_cos(*(array.reshape(-1) for array in arrays((x, sine, cosine))))
        ctx.save_for_backward(sine, cosine)
        return sine, cosine

    @staticmethod
    def backward(ctx: Any, bar_sine: Tensor, bar_cosine: Tensor) -> Tensor:
        sine, cosine = ctx.saved_tensors
        return bar_sine * cosine - bar_cosine * sine


def sin_cos(x: Any) -> tuple[Any, Any]:
    """(sin x, cos x), in half the time of both."""
    return _SinCos.apply(x) if isinstance(x, Tensor) else (sin(x), cos(x))


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
    """The mean of x² over the first points of every row; x (runs, points) → (runs,)."""
    return _MeanSquare.apply(x, points)


class FourierSeries(torch.autograd.Function):
    """(u, u', u''), each (runs, components, points).

    weight (runs, components, 2n), bias (runs, components), omega (runs, n), t (runs, points).
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, omega: Tensor, t: Tensor) -> tuple:
        ctx.arrays = arrays((weight, omega, t))
        weights, frequencies, times = ctx.arrays
        jet = tuple(t.new_empty(*bias.shape, t.shape[1]) for _ in range(3))
        circle = loops.CIRCLE[times.dtype]
        biases = bias.contiguous().numpy()
        loops.fourier_forward(weights, biases, frequencies, times, circle, arrays(jet))
        return jet

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        weight, omega, t = ctx.arrays
        bar_weight, bar_omega = np.empty_like(weight), np.zeros_like(omega)
        bar_jet = arrays(bars)
        circle, trainable = loops.CIRCLE[t.dtype], ctx.needs_input_grad[2]
        inputs = (weight, omega, t, circle, trainable, bar_jet)
        loops.fourier_backward(*inputs, bar_weight, bar_omega)
        bar_bias = loops.sum_rows(bar_jet[0].reshape(-1, t.shape[1])).reshape(weight.shape[:2])
        gradients = map(torch.from_numpy, (bar_weight, bar_bias, bar_omega))
        return *gradients, None


class TanhNetwork(torch.autograd.Function):
    """(u, u', u''), each (components, points), of a tanh network of t (points,).

    `layers` are weight (outputs, inputs), bias (outputs,), weight, bias, …
    """

    @staticmethod
    def forward(ctx: Any, t: Tensor, *layers: Tensor) -> tuple:
        weights, biases = arrays(layers[0::2]), arrays(layers[1::2])
        points = len(t)
        h = np.zeros((3, points, 1), t.numpy().dtype)  # the jet of t itself
        h[0, :, 0] = t
        h[1] = 1
        ctx.weights = weights
        ctx.jets = []  # per layer: the jets of its input h and of its output a without bias
        for weight, bias in zip(weights, biases, strict=True):
            a = loops.product(h.reshape(-1, h.shape[2]), weight.T).reshape(3, points, -1)
            ctx.jets.append((h, a))
            h = np.empty_like(a)
            if weight is not weights[-1]:
                loops.tanh_forward(a, bias, h)
        a[0] += biases[-1]
        return tuple(torch.from_numpy(order.T.copy()) for order in a)

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        bar = np.stack([order.T for order in arrays(bars)])  # (3, points, components)
        gradients: list[np.ndarray] = []
        bar_bias = loops.sum_rows(bar[0].T.copy())
        for i in reversed(range(len(ctx.weights))):
            h, a = ctx.jets[i]
            flat = bar.reshape(-1, bar.shape[2])
            bar_weight = loops.product(h.reshape(-1, h.shape[2]).T, flat).T.copy()
            gradients = [bar_weight, bar_bias, *gradients]
            if i > 0:
                bar = loops.product(flat, ctx.weights[i]).reshape(h.shape)
                bar_bias = np.empty(h.shape[2], h.dtype)
                loops.tanh_backward(ctx.jets[i - 1][1], h, bar, bar_bias)
        return None, *map(torch.from_numpy, gradients)


@lru_cache(maxsize=32)
def chebyshev_points(n: int) -> Tensor:
    """The n Chebyshev points of [−1, 1], in float64."""
    return torch.from_numpy(loops.chebyshev_points(n))


@lru_cache(maxsize=32)
def _transform(n: int) -> np.ndarray:
    return loops.chebyshev_transform(n)


def chebyshev_coefficients(values: np.ndarray) -> np.ndarray:
    """The coefficients (rows, n) of the series through values (rows, n) at the Chebyshev points."""
    return loops.product(values, _transform(values.shape[1]))


class ChebyshevSeries(torch.autograd.Function):
    """Functions given at the Chebyshev points, at other points x (points,) of [−1, 1].

    Each of `jet` is (components, n); so are the results, (components, points). Computed in float64,
    so that the series add no error to a network in float32.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, *jet: Tensor) -> tuple:
        ctx.x = x.numpy()
        values = np.concatenate(arrays(jet)).astype(np.float64)
        ctx.n = values.shape[1]
        out = np.empty((len(values), len(x)), arrays(jet)[0].dtype)
        loops.series_forward(chebyshev_coefficients(values), ctx.x, out)
        return tuple(torch.from_numpy(out).chunk(3))

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        bar = np.concatenate(arrays(bars))
        bar_coefficients = loops.series_backward(bar, ctx.x, ctx.n)
        gradient = loops.product(bar_coefficients, _transform(ctx.n).T).astype(bar.dtype)
        return None, *torch.from_numpy(gradient).chunk(3)


class AnsatzJet(torch.autograd.Function):
    """q, q', q'' of every component: y = start + drift·g + f·u, q = y or floor + softplus(y).

    Each of the jet u is (runs, components, points), of the jets f and g (runs, points); start and
    drift are (runs, components), positive is (components,). The results are (runs, points). Only u
    has a gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        frame: Any,  # the jets f and g
        start: Tensor,
        drift: Tensor,
        positive: Sequence[bool],
        floor: float,
        *u: Tensor,
    ) -> tuple:
        factor, gate = (arrays(jet) for jet in frame)
        flags = np.array(positive)
        kept = tuple(np.empty(u[0].shape, factor[0].dtype) for _ in range(3))
        runs, components, points = u[0].shape
        out = tuple(u[0].new_empty(runs, points) for _ in range(3 * components))
        constants = (*arrays((start, drift)), flags, floor)
        loops.ansatz_forward(arrays(u), factor, gate, *constants, kept, arrays(out))
        ctx.inputs = (factor, flags, kept)
        return out

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        gradient = tuple(bars[0].new_empty(ctx.inputs[2][0].shape) for _ in range(3))
        loops.ansatz_backward(*ctx.inputs, arrays(bars), arrays(gradient))
        return None, None, None, None, None, *gradient
