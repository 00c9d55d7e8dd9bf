"""The loops as torch operations, with gradients."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pinnlib.compiled import ansatz_jet, chebyshev, elementary, fourier, products, tanh_layer


def arrays(tensors: Iterable[Tensor]) -> tuple[np.ndarray, ...]:
    """The contiguous NumPy arrays of some tensors."""
    return tuple(tensor.contiguous().numpy() for tensor in tensors)


def differentiable(function: Any, derivative: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """`function` for arrays and, with gradients, for tensors.

    derivative(x, y) is dy/dx, where y is function(x).
    """

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


class SinCos(torch.autograd.Function):
    """(sin x, cos x)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        sine, cosine = torch.empty_like(x), torch.empty_like(x)
        elementary.sin_and_cos(*(array.reshape(-1) for array in arrays((x, sine, cosine))))
        ctx.save_for_backward(sine, cosine)
        return sine, cosine

    @staticmethod
    def backward(ctx: Any, bar_sine: Tensor, bar_cosine: Tensor) -> Tensor:
        sine, cosine = ctx.saved_tensors
        return bar_sine * cosine - bar_cosine * sine


class RowSums(torch.autograd.Function):
    """The sums over the last axis of x."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.shape = x.shape
        rows = x.contiguous().numpy().reshape(-1, x.shape[-1])
        return torch.from_numpy(products.sum_rows(rows)).view(x.shape[:-1])

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> Tensor:
        return bar[..., None].expand(ctx.shape)


class Product(torch.autograd.Function):
    """The matrix product of a (rows, inner) and b (inner, columns)."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return torch.from_numpy(products.matrix_product(*arrays((a, b))))

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_tensors
        return Product.apply(bar, b.T), Product.apply(a.T, bar)


class MeanSquare(torch.autograd.Function):
    """The mean of x² over the first `points` entries of every row."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, points: int) -> Tensor:
        ctx.save_for_backward(x)
        ctx.points = points
        return torch.from_numpy(products.sum_of_squares(x.contiguous().numpy(), points)) / points

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        gradient = x * (bar * 2 / ctx.points)[:, None]
        gradient[:, ctx.points :] = 0
        return gradient, None


class FourierSeries(torch.autograd.Function):
    """(u, u', u''), each (runs, components, points).

    weight (runs, components, 2n), bias (runs, components), omega (runs, n), t (runs, points).
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, omega: Tensor, t: Tensor) -> tuple:
        ctx.arrays = arrays((weight, omega, t))
        weights, frequencies, times = ctx.arrays
        jet = tuple(t.new_empty(*bias.shape, t.shape[1]) for _ in range(3))
        circle = fourier.CIRCLE[times.dtype]
        biases = bias.contiguous().numpy()
        fourier.fourier_forward(weights, biases, frequencies, times, circle, arrays(jet))
        return jet

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        weight, omega, t = ctx.arrays
        bar_weight, bar_omega = np.empty_like(weight), np.zeros_like(omega)
        bar_jet = arrays(bars)
        circle, trainable = fourier.CIRCLE[t.dtype], ctx.needs_input_grad[2]
        inputs = (weight, omega, t, circle, trainable, bar_jet)
        fourier.fourier_backward(*inputs, bar_weight, bar_omega)
        bar_bias = products.sum_rows(bar_jet[0].reshape(-1, t.shape[1])).reshape(weight.shape[:2])
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
            a = products.matrix_product(h.reshape(-1, h.shape[2]), weight.T).reshape(3, points, -1)
            ctx.jets.append((h, a))
            h = np.empty_like(a)
            if weight is not weights[-1]:
                tanh_layer.tanh_forward(a, bias, h)
        a[0] += biases[-1]
        return tuple(torch.from_numpy(order.T.copy()) for order in a)

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        bar = np.stack([order.T for order in arrays(bars)])  # (3, points, components)
        gradients: list[np.ndarray] = []
        bar_bias = products.sum_rows(bar[0].T.copy())
        for i in reversed(range(len(ctx.weights))):
            h, a = ctx.jets[i]
            flat = bar.reshape(-1, bar.shape[2])
            bar_weight = products.matrix_product(h.reshape(-1, h.shape[2]).T, flat).T.copy()
            gradients = [bar_weight, bar_bias, *gradients]
            if i > 0:
                bar = products.matrix_product(flat, ctx.weights[i]).reshape(h.shape)
                bar_bias = np.empty(h.shape[2], h.dtype)
                tanh_layer.tanh_backward(ctx.jets[i - 1][1], h, bar, bar_bias)
        return None, *map(torch.from_numpy, gradients)


@lru_cache(maxsize=32)
def chebyshev_times(n: int, horizon: float) -> Tensor:
    """The n Chebyshev points of [0, horizon], in float64."""
    return torch.from_numpy((chebyshev.chebyshev_points(n) + 1) * (horizon / 2))


@lru_cache(maxsize=32)
def _transform(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrix from values to coefficients, and its transpose."""
    matrix = chebyshev.chebyshev_transform(n)
    return matrix, matrix.T.copy()


def chebyshev_coefficients(values: np.ndarray) -> np.ndarray:
    """The coefficients (rows, n) of the series through values (rows, n) at the Chebyshev points."""
    matrix, _ = _transform(values.shape[1])
    return products.matrix_product(values, matrix)


class ChebyshevSeries(torch.autograd.Function):
    """Functions, given at the n Chebyshev points, at other points x (points,) of [−1, 1].

    Each tensor of `jet` is (components, n), each result (components, points). The series is
    computed in float64; for a network in float32 the result is rounded once.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, *jet: Tensor) -> tuple:
        ctx.x = x.numpy()
        values = np.concatenate(arrays(jet))
        ctx.n = values.shape[1]
        out = np.empty((len(values), len(x)), values.dtype)
        coefficients = chebyshev_coefficients(values.astype(np.float64))
        chebyshev.series_forward(coefficients, ctx.x, out)
        return tuple(torch.from_numpy(out).chunk(3))

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        bar = np.concatenate(arrays(bars))
        bar_coefficients = chebyshev.series_backward(bar, ctx.x, ctx.n)
        _, transposed = _transform(ctx.n)
        gradient = products.matrix_product(bar_coefficients, transposed).astype(bar.dtype)
        return None, *torch.from_numpy(gradient).chunk(3)


class ShiftedValue(torch.autograd.Function):
    """u(t) − u(0) without its last column; u is (runs, components, points + 1), at t = 0 last."""

    @staticmethod
    def forward(ctx: Any, u: Tensor) -> Tensor:
        return u[..., :-1] - u[..., -1:]

    @staticmethod
    def backward(ctx: Any, bar: Tensor) -> Tensor:
        rows = bar.contiguous().numpy().reshape(-1, bar.shape[-1])
        sums = torch.from_numpy(products.sum_rows(rows)).view(*bar.shape[:-1], 1)
        return torch.cat([bar, -sums], dim=-1)


class AnsatzJet(torch.autograd.Function):
    """q, q', q'' of every component: y = start + drift·g + f·u, q = y or floor + softplus(y).

    Each of the jet u is (runs, components, points), of the jets f and g (runs, points); start and
    drift are (runs, components), positive is (components,). The results are (runs, points). Only u
    has a gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        factor_and_gate: Any,  # the jets f and g
        start: Tensor,
        drift: Tensor,
        positive: Sequence[bool],
        floor: float,
        *u: Tensor,
    ) -> tuple:
        factor, gate = (arrays(jet) for jet in factor_and_gate)
        flags = np.array(positive)
        kept = tuple(np.empty(u[0].shape, factor[0].dtype) for _ in range(3))
        runs, components, points = u[0].shape
        out = tuple(u[0].new_empty(runs, points) for _ in range(3 * components))
        constants = (*arrays((start, drift)), flags, floor)
        ansatz_jet.ansatz_forward(arrays(u), factor, gate, *constants, kept, arrays(out))
        ctx.inputs = (factor, flags, kept)
        return out

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        gradient = tuple(bars[0].new_empty(ctx.inputs[2][0].shape) for _ in range(3))
        ansatz_jet.ansatz_backward(*ctx.inputs, arrays(bars), arrays(gradient))
        return None, None, None, None, None, *gradient
