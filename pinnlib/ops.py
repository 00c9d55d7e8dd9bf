"""Compiled loops: Fourier series and tanh networks, their time derivatives and gradients."""

import ctypes
import math
import sys
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor

torch.set_num_threads(1)  # one thread per process: runs, not operations, are done in parallel
if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
    # Keep the arrays of an update in the process instead of returning them to the system, which
    # takes a third of a network's time. The options are M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    ctypes.CDLL(None).mallopt(-3, 1 << 25)
    ctypes.CDLL(None).mallopt(-1, 1 << 30)

BLOCK = 512  # points at a time: what a block touches stays in the first-level cache
FASTMATH = {"contract", "reassoc", "nsz"}
compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FASTMATH)


def _circle(dtype: type, terms: int) -> list[tuple]:
    """Polynomials in y² for sin(πy)/y and cos(πy) on |y| ≤ 1/2, highest power first."""
    polynomials = []
    for f in (lambda s: np.sinc(np.sqrt(s)) * math.pi, lambda s: np.cos(math.pi * np.sqrt(s))):
        fit = np.polynomial.Chebyshev.interpolate(f, terms - 1, domain=[0, 0.25])
        coefficients = fit.convert(kind=np.polynomial.Polynomial).coef
        polynomials.append(tuple(map(dtype, coefficients[::-1])))
    return polynomials


@numba.njit(inline="always")  # not a closure: Numba's cache on disk would never be hit
def _sincos(turns, times, sine, cosine, one, two, s, c):
    for j in range(times.size):
        y = turns * times[j]
        y = y - np.rint(y)
        square = y * y
        p, q = sine[0], cosine[0]
        for i in range(1, len(sine)):
            p = p * square + sine[i]
            q = q * square + cosine[i]
        p = p * y
        s[j], c[j] = two * p * q, one - two * p * p  # double angle


def _fourier_forward(dtype: type, terms: int) -> Any:
    """u = bias + Σ p, u' = Σ ωh and u'' = −Σ ω²p with p = a sin + b cos and h = a cos − b sin."""
    sine, cosine = _circle(dtype, terms)
    turn, zero, one, two = dtype(0.5 / math.pi), dtype(0), dtype(1), dtype(2)

    @compiled
    def forward(weight, bias, omega, t, value, first, second):
        (runs, components, _), n = weight.shape, omega.shape[1]
        s, c = np.empty(BLOCK, dtype), np.empty(BLOCK, dtype)
        first[:] = zero
        second[:] = zero
        for run in range(runs):
            for k in range(components):
                value[run, k] = bias[run, k]
            for start in range(0, t.shape[1], BLOCK):
                times = t[run, start : start + BLOCK]
                for i in range(n):
                    w = omega[run, i]
                    _sincos(w * turn, times, sine, cosine, one, two, s, c)
                    for k in range(components):
                        a, b = weight[run, k, i], weight[run, k, n + i]
                        wa, wb, wwa, wwb = w * a, w * b, w * w * a, w * w * b
                        u0 = value[run, k, start:]
                        u1 = first[run, k, start:]
                        u2 = second[run, k, start:]
                        for j in range(times.size):
                            u0[j] += a * s[j] + b * c[j]
                            u1[j] += wa * c[j] - wb * s[j]
                            u2[j] -= wwa * s[j] + wwb * c[j]

    return forward


def _fourier_backward(dtype: type, terms: int) -> Any:
    """The gradients of a, b and ω."""
    sine, cosine = _circle(dtype, terms)
    turn, zero, one, two = dtype(0.5 / math.pi), dtype(0), dtype(1), dtype(2)

    @compiled
    def backward(weight, omega, t, bar0, bar1, bar2, bar_weight, bar_omega):
        (runs, components, _), n = weight.shape, omega.shape[1]
        s, c = np.empty(BLOCK, dtype), np.empty(BLOCK, dtype)
        bar_weight[:] = zero
        bar_omega[:] = zero
        for run in range(runs):
            for start in range(0, t.shape[1], BLOCK):
                times = t[run, start : start + BLOCK]
                for i in range(n):
                    w = omega[run, i]
                    ww = w * w
                    _sincos(w * turn, times, sine, cosine, one, two, s, c)
                    for k in range(components):
                        a, b = weight[run, k, i], weight[run, k, n + i]
                        g0 = bar0[run, k, start:]
                        g1 = bar1[run, k, start:]
                        g2 = bar2[run, k, start:]
                        sum_a = sum_b = sum_w = zero
                        for j in range(times.size):
                            p, h = a * s[j] + b * c[j], a * c[j] - b * s[j]
                            bar_p, bar_h = g0[j] - ww * g2[j], w * g1[j]
                            sum_a += bar_p * s[j] + bar_h * c[j]
                            sum_b += bar_p * c[j] - bar_h * s[j]
                            phase = times[j] * (bar_p * h - bar_h * p)
                            sum_w += phase + g1[j] * h - two * w * g2[j] * p
                        bar_weight[run, k, i] += sum_a
                        bar_weight[run, k, n + i] += sum_b
                        bar_omega[run, i] += sum_w

    return backward


def _tanh(dtype: type) -> tuple[Any, Any]:
    """(forward, backward) of y = tanh a, y' = d a', y'' = d (a'' − 2 y a'²) with d = 1 − y².

    Every loop has one store: with more, LLVM does not vectorise, for fear of overlap.
    """
    one, two, four = dtype(1), dtype(2), dtype(4)

    @compiled
    def forward(y_all, a1_all, a2_all, h1_all, h2_all):  # y comes as σ(2a) and leaves as tanh a
        for start in range(0, y_all.size, BLOCK):
            block = slice(start, start + BLOCK)
            y, a1, a2 = y_all[block], a1_all[block], a2_all[block]
            h1, h2 = h1_all[block], h2_all[block]
            for i in range(y.size):
                y[i] = two * y[i] - one
            for i in range(y.size):
                h1[i] = (one - y[i] * y[i]) * a1[i]
            for i in range(y.size):
                h2[i] = (one - y[i] * y[i]) * (a2[i] - two * y[i] * a1[i] * a1[i])

    @compiled
    def backward(y_all, a1_all, a2_all, bar0_all, bar1_all, bar2_all):  # overwrites the bars
        for start in range(0, y_all.size, BLOCK):
            block = slice(start, start + BLOCK)
            y, a1, a2 = y_all[block], a1_all[block], a2_all[block]
            bar0, bar1, bar2 = bar0_all[block], bar1_all[block], bar2_all[block]
            for i in range(y.size):
                d = one - y[i] * y[i]
                through_d = bar1[i] * a1[i] + bar2[i] * (a2[i] - two * y[i] * a1[i] * a1[i])
                bar0[i] = d * (bar0[i] - two * (y[i] * through_d + bar2[i] * d * a1[i] * a1[i]))
            for i in range(y.size):
                bar1[i] = (one - y[i] * y[i]) * (bar1[i] - four * bar2[i] * y[i] * a1[i])
            for i in range(y.size):
                bar2[i] = (one - y[i] * y[i]) * bar2[i]

    return forward, backward


def _first_tanh(dtype: type) -> tuple[Any, Any]:
    """The same for the first layer, a = wt + b; points in the outer loop, units in the inner."""
    zero, one, two, four = dtype(0), dtype(1), dtype(2), dtype(4)

    @compiled
    def forward(y, w, h1, h2):
        for j in range(y.shape[0]):
            row, row1, row2 = y[j], h1[j], h2[j]
            for i in range(w.size):
                row[i] = two * row[i] - one
            for i in range(w.size):
                row1[i] = (one - row[i] * row[i]) * w[i]
            for i in range(w.size):
                row2[i] = -two * row[i] * w[i] * row1[i]

    @compiled
    def backward(y, w, t, bar0, bar1, bar2, bar_w, bar_b):
        bar_w[:] = zero
        bar_b[:] = zero
        for j in range(y.shape[0]):
            row, b0, b1, b2 = y[j], bar0[j], bar1[j], bar2[j]
            for i in range(w.size):  # ∂/∂a of all three streams, into bar0
                d, yw = one - row[i] * row[i], row[i] * w[i]
                through_b2 = two * b2[i] * w[i] * (two * row[i] * yw - d * w[i])
                b0[i] = d * (b0[i] - two * b1[i] * yw + through_b2)
            for i in range(w.size):
                bar_b[i] += b0[i]
            for i in range(w.size):
                d = one - row[i] * row[i]
                bar_w[i] += t[j] * b0[i] + d * (b1[i] - four * b2[i] * row[i] * w[i])

    return forward, backward


DTYPES = {torch.float32: np.float32, torch.float64: np.float64}
TERMS = {torch.float32: 6, torch.float64: 11}  # of the polynomials for sine and cosine
FOURIER_FORWARD = {kind: _fourier_forward(dtype, TERMS[kind]) for kind, dtype in DTYPES.items()}
FOURIER_BACKWARD = {kind: _fourier_backward(dtype, TERMS[kind]) for kind, dtype in DTYPES.items()}
TANH = {kind: _tanh(dtype) for kind, dtype in DTYPES.items()}
FIRST_TANH = {kind: _first_tanh(dtype) for kind, dtype in DTYPES.items()}


def _call(function: Any, *tensors: Tensor) -> None:
    function(*(tensor.numpy() for tensor in tensors))


class FourierSeries(torch.autograd.Function):
    """(u, u', u''), each (runs, components, points).

    weight (runs, components, 2n), bias (runs, components), omega (runs, n), t (runs, points).
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, omega: Tensor, t: Tensor) -> tuple:
        weight, bias, omega, t = (x.contiguous() for x in (weight, bias, omega, t))
        ctx.save_for_backward(weight, omega, t)
        out = [t.new_empty(*bias.shape, t.shape[1]) for _ in range(3)]
        _call(FOURIER_FORWARD[t.dtype], weight, bias, omega, t, *out)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        weight, omega, t = ctx.saved_tensors
        bars = tuple(bar.contiguous() for bar in bars)
        bar_weight = torch.empty_like(weight)
        bar_omega = torch.empty_like(omega)
        _call(FOURIER_BACKWARD[t.dtype], weight, omega, t, *bars, bar_weight, bar_omega)
        return bar_weight, bars[0].sum(dim=2), bar_omega, None


class TanhNetwork(torch.autograd.Function):
    """(u, u', u''), each (runs, components, points), of a tanh network of t (runs, points).

    `layers` are weight (runs, outputs, inputs), bias (runs, outputs), weight, bias, …
    """

    @staticmethod
    def forward(ctx: Any, t: Tensor, *layers: Tensor) -> tuple:
        weights, biases = layers[0::2], layers[1::2]
        tanh, first_tanh = TANH[t.dtype][0], FIRST_TANH[t.dtype][0]
        out = t.new_empty(3, t.shape[0], weights[-1].shape[1], t.shape[1])
        ctx.save_for_backward(t, *weights)
        # Per run and hidden layer, the jets before and after tanh, each (3, points, hidden).
        ctx.jets = []
        for run in range(t.shape[0]):
            slope = weights[0][run, :, 0].contiguous()
            a: Any = None
            h = t.new_empty(3, t.shape[1], len(slope))
            torch.addcmul(2 * biases[0][run], t[run, :, None], slope, value=2, out=h[0])
            torch.sigmoid(h[0], out=h[0])
            _call(first_tanh, h[0], slope, h[1], h[2])
            for weight, bias in zip(weights[1:], biases[1:], strict=True):
                ctx.jets.append((a, h))
                a = torch.mm(h.view(-1, h.shape[2]), weight[run].T).view(3, t.shape[1], -1)
                if weight is not weights[-1]:
                    h = torch.empty_like(a)
                    torch.add(2 * bias[run], a[0], alpha=2, out=h[0])
                    torch.sigmoid(h[0], out=h[0])
                    _call(tanh, *(x.view(-1) for x in (h[0], a[1], a[2], h[1], h[2])))
            a[0] += biases[-1][run]
            out[:, run] = a.transpose(1, 2)
        return tuple(out)

    @staticmethod
    def backward(ctx: Any, *bars: Tensor) -> tuple:
        t, *weights = ctx.saved_tensors
        tanh, first_tanh = TANH[t.dtype][1], FIRST_TANH[t.dtype][1]
        bar_weights = [torch.empty_like(weight) for weight in weights]
        bar_biases = [torch.empty_like(weight[:, :, 0]) for weight in weights]
        jets = reversed(ctx.jets)
        for run in reversed(range(t.shape[0])):
            bar = torch.stack([bar[run].T for bar in bars])  # (3, points, components)
            for i in range(len(weights) - 1, 0, -1):
                a, h = next(jets)
                flat = bar.view(-1, bar.shape[2])
                bar_biases[i][run] = bar[0].sum(dim=0)
                torch.mm(flat.T, h.view(-1, h.shape[2]), out=bar_weights[i][run])
                bar = torch.mm(flat, weights[i][run]).view_as(h)
                if i > 1:
                    _call(tanh, *(x.view(-1) for x in (h[0], a[1], a[2], *bar)))
            slope = weights[0][run, :, 0].contiguous()
            bar_slope = bar_weights[0][run].view(-1)
            _call(first_tanh, h[0], slope, t[run], *bar, bar_slope, bar_biases[0][run])
        pairs = zip(bar_weights, bar_biases, strict=True)
        return None, *(bar for pair in pairs for bar in pair)
