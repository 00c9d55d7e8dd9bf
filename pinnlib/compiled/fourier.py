"""The Fourier trunk: u = Σ a sin ωt + b cos ωt + bias, and its gradient.

Its sine and cosine are polynomials of this file, in the precision of the run; those of
elementary.py compute in float64. A jet is a tuple of three arrays (runs, components, points).
"""

import math

import numpy as np

from pinnlib.compiled.elementary import polynomial
from pinnlib.compiled.jit import compiled, inlined
from pinnlib.compiled.lanes import fma
from pinnlib.compiled.products import BLOCK, add_product, whole_vectors


def _taylor(terms: int) -> tuple[list[float], list[float]]:
    """The Taylor polynomials in y² of sin(πy)/y and cos(πy), highest power first."""
    sine: list[float] = []
    cosine: list[float] = []
    coefficient = 1.0
    for n in range(1, terms + 1):
        cosine.insert(0, coefficient)
        coefficient *= math.pi / (2 * n - 1)
        sine.insert(0, coefficient)
        coefficient *= -math.pi / (2 * n)
    return sine, cosine


def _circle(dtype: type, sine: list[float], cosine: list[float]) -> tuple:
    """(1/2π, polynomial for sin(πy)/y, polynomial for cos(πy)) in the given type."""
    return dtype(0.5 / math.pi), tuple(map(dtype, sine)), tuple(map(dtype, cosine))


# In float32, shorter polynomials: the minimax ones for |y| ≤ 1/2.
SINE = [0.0775603869352, -0.598242126387, 2.55006972633, -5.1677096848, 3.1415926369]
COSINE = [-0.0243967166587, 0.234937558983, -1.33521205667, 4.05870916434, -4.93480213723, 1.0]
CIRCLE = {
    np.dtype(np.float32): _circle(np.float32, SINE, COSINE),
    np.dtype(np.float64): _circle(np.float64, *_taylor(12)),
}


@inlined
def _turn(turns, t, sine, cosine):
    """(sin, cos) of 2π·turns·t, in the type of t."""
    y = fma(turns, t, -np.rint(turns * t))
    square = y * y
    p = y * polynomial(sine, square)
    half_cosine = polynomial(cosine, square)
    one = cosine[-1]
    return (p + p) * half_cosine, fma(-(p + p), p, one)  # double angle


@compiled
def fourier_forward(weight, bias, omega, t, circle, jet):
    """The jet of u at t (runs, points); weight (runs, components, 2n), omega (runs, n)."""
    turn, sine, cosine = circle
    (runs, components, _), n = weight.shape, omega.shape[1]
    rows = np.empty((3 * components, 2 * n), t.dtype)  # what multiplies sin and cos in u, u', u''
    features = np.empty((2 * n, BLOCK), t.dtype)
    block = np.empty((3 * components, BLOCK), t.dtype)
    for run in range(runs):
        for k in range(components):
            for i in range(n):
                a, b, w = weight[run, k, i], weight[run, k, n + i], omega[run, i]
                rows[k, i], rows[k, n + i] = a, b
                rows[components + k, i], rows[components + k, n + i] = -w * b, w * a
                rows[2 * components + k, i] = -w * w * a
                rows[2 * components + k, n + i] = -w * w * b
        for start in range(0, t.shape[1], BLOCK):
            times = t[run, start : start + BLOCK]
            for i in range(n):
                s, c = features[i], features[n + i]
                turns = omega[run, i] * turn
                for j in range(times.size):
                    s[j], c[j] = _turn(turns, times[j], sine, cosine)
            block[:] = 0
            for k in range(components):
                block[k] = bias[run, k]
            add_product(rows, features, block)
            for order in range(3):
                for k in range(components):
                    out, row = jet[order][run, k, start:], block[order * components + k]
                    for j in range(times.size):
                        out[j] = row[j]


@compiled
def _features_of_points(times, turns, sine, cosine, features):
    """One row per point: the sines, then the cosines."""
    n = turns.size
    for j in range(times.size):
        s, c = features[j, :n], features[j, n:]
        for i in range(n):
            s[i], c[i] = _turn(turns[i], times[j], sine, cosine)


@compiled
def fourier_backward(weight, omega, t, circle, trainable, bars, bar_weight, bar_omega):
    """The gradients of weight and, if `trainable`, of omega, from those of the jet."""
    turn, sine, cosine = circle
    (runs, components, _), n = weight.shape, omega.shape[1]
    rows = 3 * components
    features = np.zeros((BLOCK, whole_vectors(2 * n, t.itemsize)), t.dtype)
    block = np.empty((2 * rows if trainable else rows, BLOCK), t.dtype)  # bars, then t·bars
    sums = np.empty((len(block), features.shape[1]), t.dtype)
    turns = np.empty(n, t.dtype)
    for run in range(runs):
        sums[:] = 0
        for i in range(n):
            turns[i] = omega[run, i] * turn
        for start in range(0, t.shape[1], BLOCK):
            times = t[run, start : start + BLOCK]
            _features_of_points(times, turns, sine, cosine, features)
            for row in range(rows):
                bar = bars[row // components][run, row % components, start:]
                now = block[row]
                for j in range(times.size):
                    now[j] = bar[j]
            for row in range(rows, len(block)):
                before, now = block[row - rows], block[row]
                for j in range(times.size):
                    now[j] = times[j] * before[j]
            add_product(block[:, : times.size], features, sums)
        _weight_gradient(omega[run], sums, bar_weight[run])
        if trainable:
            _omega_gradient(weight[run], omega[run], sums, bar_omega[run])


@compiled
def _weight_gradient(omega, sums, bar_weight):
    components, n = len(bar_weight), omega.size
    for k in range(components):
        g0, g1, g2 = sums[k], sums[components + k], sums[2 * components + k]
        for i in range(n):
            w = omega[i]
            bar_weight[k, i] = g0[i] - w * w * g2[i] + w * g1[n + i]
            bar_weight[k, n + i] = g0[n + i] - w * w * g2[n + i] - w * g1[i]


@compiled
def _omega_gradient(weight, omega, sums, bar_omega):
    """ω enters through the phase ωt (sums of t·bars, h) and the factors ω, ω² of u', u'' (g)."""
    components, n = len(weight), omega.size
    two = omega.dtype.type(2)
    bar_omega[:] = 0
    for k in range(components):
        g1, g2 = sums[components + k], sums[2 * components + k]
        h0, h1, h2 = sums[3 * components + k], sums[4 * components + k], sums[5 * components + k]
        for i in range(n):
            a, b, w = weight[k, i], weight[k, n + i], omega[i]
            phase = a * h0[n + i] - b * h0[i] - w * (a * h1[i] + b * h1[n + i])
            phase -= w * w * (a * h2[n + i] - b * h2[i])
            factor = a * g1[n + i] - b * g1[i] - two * w * (a * g2[i] + b * g2[n + i])
            bar_omega[i] += phase + factor
