"""The hot loops, compiled: a Fourier series with its two time derivatives, tanh of a jet, and the gradients of both."""

import ctypes
import math
import sys

import numba
import numpy as np
import torch

torch.set_num_threads(1)  # one thread per process: runs, not operations, are done in parallel
if sys.platform == "linux":
    # Keep the arrays of an update in the process instead of returning them to the system: a third
    # of a network's time otherwise. The options are M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    for option, value in ((-3, 1 << 25), (-1, 1 << 30)):
        getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)(option, value)

BLOCK = 512  # points at a time: what a block touches stays in the first-level cache
OPTIONS = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "nsz"},
}


def _circle(dtype, terms):
    """Polynomials in y² for sin(πy)/y and cos(πy) on |y| ≤ 1/2, highest power first."""
    kinds = (lambda s: np.sinc(np.sqrt(s)) * math.pi, lambda s: np.cos(math.pi * np.sqrt(s)))
    fits = (np.polynomial.Chebyshev.interpolate(f, terms - 1, domain=[0, 0.25]) for f in kinds)
    return [
        tuple(map(dtype, fit.convert(kind=np.polynomial.Polynomial).coef[::-1])) for fit in fits
    ]


@numba.njit(inline="always")
def _sincos(
    turns, times, sine, cosine, one, two, s, c
):  # global and not a closure: Numba's cache on disk would never be hit otherwise
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


def _fourier(dtype, terms):
    """(forward, backward) of u = Σ a sin ωt + b cos ωt + bias with u' = Σ ωh and u'' = −Σ ω²p, p = a sin + b cos, h = a cos − b sin."""
    sine, cosine = _circle(dtype, terms)
    turn, zero, one, two = dtype(0.5 / math.pi), dtype(0), dtype(1), dtype(2)

    @numba.njit(**OPTIONS)
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
                        u0, u1, u2 = (
                            value[run, k, start:],
                            first[run, k, start:],
                            second[run, k, start:],
                        )
                        for j in range(times.size):
                            u0[j] += a * s[j] + b * c[j]
                            u1[j] += wa * c[j] - wb * s[j]
                            u2[j] -= wwa * s[j] + wwb * c[j]

    @numba.njit(**OPTIONS)
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
                        g0, g1, g2 = (
                            bar0[run, k, start:],
                            bar1[run, k, start:],
                            bar2[run, k, start:],
                        )
                        sum_a = sum_b = sum_w = zero
                        for j in range(times.size):
                            p, h = a * s[j] + b * c[j], a * c[j] - b * s[j]
                            bar_p, bar_h = g0[j] - ww * g2[j], w * g1[j]
                            sum_a += bar_p * s[j] + bar_h * c[j]
                            sum_b += bar_p * c[j] - bar_h * s[j]
                            sum_w += (
                                times[j] * (bar_p * h - bar_h * p) + g1[j] * h - two * w * g2[j] * p
                            )
                        bar_weight[run, k, i] += sum_a
                        bar_weight[run, k, n + i] += sum_b
                        bar_omega[run, i] += sum_w

    return forward, backward


def _tanh(dtype):
    """y = tanh a, y' = d a', y'' = d (a'' − 2 y a'²) with d = 1 − y²: forward from σ(2a), backward, and the same for a = wt + b.

    One store a loop, or LLVM gives up vectorising for fear of overlap; points outside, units inside.
    """
    zero, one, two, four = dtype(0), dtype(1), dtype(2), dtype(4)

    @numba.njit(**OPTIONS)
    def forward(y_all, a1_all, a2_all, h1_all, h2_all):  # y comes as σ(2a) and leaves as tanh a
        for start in range(0, y_all.size, BLOCK):
            y, a1, a2 = (
                y_all[start : start + BLOCK],
                a1_all[start : start + BLOCK],
                a2_all[start : start + BLOCK],
            )
            h1, h2 = h1_all[start : start + BLOCK], h2_all[start : start + BLOCK]
            for i in range(y.size):
                y[i] = two * y[i] - one
            for i in range(y.size):
                h1[i] = (one - y[i] * y[i]) * a1[i]
            for i in range(y.size):
                h2[i] = (one - y[i] * y[i]) * (a2[i] - two * y[i] * a1[i] * a1[i])

    @numba.njit(**OPTIONS)
    def backward(
        y_all, a1_all, a2_all, bar0_all, bar1_all, bar2_all
    ):  # in place: what is read last is overwritten last
        for start in range(0, y_all.size, BLOCK):
            y, a1, a2 = (
                y_all[start : start + BLOCK],
                a1_all[start : start + BLOCK],
                a2_all[start : start + BLOCK],
            )
            bar0, bar1, bar2 = (
                bar0_all[start : start + BLOCK],
                bar1_all[start : start + BLOCK],
                bar2_all[start : start + BLOCK],
            )
            for i in range(y.size):
                d = one - y[i] * y[i]
                through_d = bar1[i] * a1[i] + bar2[i] * (a2[i] - two * y[i] * a1[i] * a1[i])
                bar0[i] = d * (bar0[i] - two * (y[i] * through_d + bar2[i] * d * a1[i] * a1[i]))
            for i in range(y.size):
                bar1[i] = (one - y[i] * y[i]) * (bar1[i] - four * bar2[i] * y[i] * a1[i])
            for i in range(y.size):
                bar2[i] = (one - y[i] * y[i]) * bar2[i]

    @numba.njit(**OPTIONS)
    def first_forward(y, w, h1, h2):
        for j in range(y.shape[0]):
            row, row1, row2 = y[j], h1[j], h2[j]
            for i in range(w.size):
                row[i] = two * row[i] - one
            for i in range(w.size):
                row1[i] = (one - row[i] * row[i]) * w[i]
            for i in range(w.size):
                row2[i] = -two * row[i] * w[i] * row1[i]

    @numba.njit(**OPTIONS)
    def first_backward(y, w, t, bar0, bar1, bar2, bar_w, bar_b):
        bar_w[:] = zero
        bar_b[:] = zero
        for j in range(y.shape[0]):
            row, b0, b1, b2 = y[j], bar0[j], bar1[j], bar2[j]
            for i in range(w.size):  # ∂/∂a of all three streams, into bar0
                d, yw = one - row[i] * row[i], row[i] * w[i]
                b0[i] = d * (
                    b0[i] - two * b1[i] * yw + two * b2[i] * w[i] * (two * row[i] * yw - d * w[i])
                )
            for i in range(w.size):
                bar_b[i] += b0[i]
            for i in range(w.size):
                bar_w[i] += t[j] * b0[i] + (one - row[i] * row[i]) * (
                    b1[i] - four * b2[i] * row[i] * w[i]
                )

    return forward, backward, first_forward, first_backward


FOURIER = {torch.float32: _fourier(np.float32, 6), torch.float64: _fourier(np.float64, 11)}
TANH = {torch.float32: _tanh(np.float32), torch.float64: _tanh(np.float64)}


class FourierSeries(torch.autograd.Function):
    """(u, u', u''), each (runs, components, points), for weight (runs, components, 2n), bias, ω (runs, n) and t (runs, points)."""

    @staticmethod
    def forward(ctx, weight, bias, omega, t):
        weight, bias, omega, t = (x.contiguous() for x in (weight, bias, omega, t))
        ctx.save_for_backward(weight, omega, t)
        out = [t.new_empty(*bias.shape, t.shape[1]) for _ in range(3)]
        FOURIER[t.dtype][0](*(x.numpy() for x in (weight, bias, omega, t, *out)))
        return tuple(out)

    @staticmethod
    def backward(ctx, *bars):
        weight, omega, t = ctx.saved_tensors
        bars = [bar.contiguous() for bar in bars]
        bar_weight, bar_omega = torch.empty_like(weight), torch.empty_like(omega)
        FOURIER[t.dtype][1](*(x.numpy() for x in (weight, omega, t, *bars, bar_weight, bar_omega)))
        return bar_weight, bars[0].sum(dim=2), bar_omega, None


class TanhNetwork(torch.autograd.Function):
    """(u, u', u''), each (runs, components, points), of a tanh network of t (runs, points), given weight, bias, weight, bias, …"""

    @staticmethod
    def forward(ctx, t, *layers):
        weights, biases = layers[0::2], layers[1::2]
        forward, _, first_forward, _ = TANH[t.dtype]
        out = t.new_empty(3, t.shape[0], weights[-1].shape[1], t.shape[1])
        ctx.save_for_backward(t, *weights)
        ctx.streams = []  # per run and hidden layer, each (3, points, hidden): the jet a before tanh and the jet h after it
        for run in range(t.shape[0]):
            slope = weights[0][run, :, 0].contiguous()
            a, h = None, t.new_empty(3, t.shape[1], len(slope))
            torch.sigmoid(
                torch.addcmul(2 * biases[0][run], t[run, :, None], slope, value=2, out=h[0]),
                out=h[0],
            )
            first_forward(*(x.numpy() for x in (h[0], slope, h[1], h[2])))
            for weight, bias in zip(weights[1:], biases[1:]):
                ctx.streams.append((a, h))
                a = torch.mm(h.view(-1, h.shape[2]), weight[run].T).view(3, t.shape[1], -1)
                if weight is not weights[-1]:
                    h = torch.empty_like(a)
                    torch.sigmoid(torch.add(2 * bias[run], a[0], alpha=2, out=h[0]), out=h[0])
                    forward(*(x.view(-1).numpy() for x in (h[0], a[1], a[2], h[1], h[2])))
            a[0] += biases[-1][run]
            out[:, run] = a.transpose(1, 2)
        return tuple(out)

    @staticmethod
    def backward(ctx, *bars):
        t, *weights = ctx.saved_tensors
        _, backward, _, first_backward = TANH[t.dtype]
        streams = iter(reversed(ctx.streams))
        bar_weights = [torch.empty_like(weight) for weight in weights]
        bar_biases = [torch.empty_like(weight[:, :, 0]) for weight in weights]
        for run in range(t.shape[0] - 1, -1, -1):
            bar = torch.stack([bar[run].T for bar in bars])  # (3, points, components)
            for i in range(len(weights) - 1, 0, -1):
                a, h = next(streams)
                flat = bar.view(-1, bar.shape[2])
                bar_biases[i][run] = bar[0].sum(dim=0)
                torch.mm(flat.T, h.view(-1, h.shape[2]), out=bar_weights[i][run])
                bar = torch.mm(flat, weights[i][run]).view_as(h)
                if i > 1:
                    backward(*(x.view(-1).numpy() for x in (h[0], a[1], a[2], *bar)))
            slope, bar_slope = weights[0][run, :, 0].contiguous(), bar_weights[0][run].view(-1)
            first_backward(
                *(x.numpy() for x in (h[0], slope, t[run], *bar, bar_slope, bar_biases[0][run]))
            )
        return None, *(x for pair in zip(bar_weights, bar_biases) for x in pair)
