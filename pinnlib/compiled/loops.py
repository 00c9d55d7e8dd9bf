"""Compiled loops: elementary functions, sums, products, trunks, ansatz, Adam.

The elementary functions compute in float64 and round to the type of their result; the Fourier
trunk has polynomials of its own, in the type of the run. All loops are in one file because Numba's
cache on disk checks only the file of a loop: after a change in lanes.py delete the cache.

Shapes are (runs, components, points) unless said otherwise; a jet is a tuple of three arrays.
"""

import math
from typing import Any

import numba
import numpy as np

from pinnlib.compiled.lanes import (
    DOUBLES,
    SINGLES,
    bits_to_float,
    broadcast,
    float_to_bits,
    fma,
    load,
    store,
    vector_fma,
)

compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")
inlined: Any = numba.njit(inline="always", error_model="numpy")
ufunc: Any = numba.vectorize(["float32(float32)", "float64(float64)"], nopython=True, cache=True)

BLOCK = 128  # points at a time, so that the arrays of a block stay in the cache
LANES = 32  # partial sums of a sum over points

# Elementary functions of one float64, by Taylor polynomials on a reduced range

ROUND = 1.5 * 2.0**52  # x + ROUND has the nearest whole number to x in its last bits
LOG2_E = 1.4426950408889634
LN2 = (0.6931471805599453, 2.3190468138462996e-17)  # as a sum of float64, like π/2
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
EXPM1 = tuple(1 / math.factorial(n) for n in range(13, 1, -1))
SIN = tuple((-1) ** (n // 2) / math.factorial(n) for n in range(17, 1, -2))
COS = tuple((-1) ** (n // 2) / math.factorial(n) for n in range(16, 0, -2))
ATANH = tuple(2 / n for n in range(21, 1, -2))
ONE_BITS = 0x3FF0000000000000  # of 1.0
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD  # of √½
LEAST, MOST = -708.0, 709.8  # exp returns 0 below (true values are under 4e-308) and ∞ above


@inlined
def _polynomial(coefficients, x):
    """Highest power first."""
    y = coefficients[0]
    for i in range(1, len(coefficients)):
        y = fma(y, x, coefficients[i])
    return y


@inlined
def _exponential(x):
    """(p, h) with e^x = 2h(1 + p), h a power of two and |p| < 0.42."""
    if x > MOST:
        x = MOST
    if x < LEAST:
        x = LEAST
    shifted = fma(x, LOG2_E, ROUND)
    n = shifted - ROUND
    r = fma(-n, LN2[1], fma(-n, LN2[0], x))
    p = fma(r * r, _polynomial(EXPM1, r), r)
    return p, bits_to_float((float_to_bits(shifted) + 1022) << 52)


@inlined
def _exp(x):
    p, h = _exponential(x)
    return 0.0 if x < LEAST else 2 * fma(p, h, h)


@inlined
def _expm1(x):
    p, h = _exponential(x)
    return 2 * fma(p, h, h - 0.5)


@inlined
def _log1p(x):
    """For −1 < x < ∞."""
    total = 1 + x
    part = total - 1
    lost = (1 - (total - part)) + (x - part)  # total + lost is 1 + x exactly
    bits = float_to_bits(total) + (ONE_BITS - SQRT_HALF_BITS)
    exponent = (bits >> 52) - 1023
    f = bits_to_float(float_to_bits(total) - (exponent << 52)) - 1  # in [√½ − 1, √2 − 1)
    s = f / (2 + f)  # log(1 + f) is 2 atanh(s)
    half_square = 0.5 * f * f
    tail = s * fma(s * s, _polynomial(ATANH, s * s), half_square)
    n = float(exponent)
    small = fma(n, LN2[1], lost / total)
    return fma(n, LN2[0], f - (half_square - (tail + small)))


@inlined
def _tanh(x):
    e = -_expm1(-2 * abs(x))
    total = 2 - e
    lost = (2 - total) - e  # total + lost is 2 − e exactly
    y = e / total
    y = y + fma(-y, lost, fma(-y, total, e)) / total
    return -y if x < 0 else y


@inlined
def _sigmoid_softplus(x):
    e = _exp(-abs(x))
    sigmoid = 1 / (1 + e) if x > 0 else e / (1 + e)
    return sigmoid, (x if x > 0 else 0.0) + _log1p(e)


@inlined
def _sin_cos(x):
    """To 2 ulp for |x| < 10⁸."""
    shifted = fma(x, 2 / math.pi, ROUND)
    n = shifted - ROUND
    quadrant = float_to_bits(shifted) & 3
    r = fma(-n, HALF_PI[2], fma(-n, HALF_PI[1], fma(-n, HALF_PI[0], x)))
    square = r * r
    s = fma(r * square, _polynomial(SIN, square), r)
    c = fma(square, _polynomial(COS, square), 1.0)
    sine = c if quadrant & 1 else s
    cosine = s if quadrant & 1 else c
    if quadrant & 2:
        sine = -sine
    if (quadrant + 1) & 2:
        cosine = -cosine
    return sine, cosine


@ufunc
def exp(x):
    return _exp(np.float64(x))


@ufunc
def expm1(x):
    return _expm1(np.float64(x))


@ufunc
def log1p(x):
    if x > -1 and x < np.inf:
        return _log1p(np.float64(x))
    if x == -1:
        return -np.inf
    return x if x > 0 else np.nan


@ufunc
def tanh(x):
    return _tanh(np.float64(x))


@ufunc
def sigmoid(x):
    return _sigmoid_softplus(np.float64(x))[0]


@ufunc
def softplus(x):
    return _sigmoid_softplus(np.float64(x))[1]


@ufunc
def sin(x):
    return _sin_cos(np.float64(x))[0]


@ufunc
def cos(x):
    return _sin_cos(np.float64(x))[1]


@compiled
def sin_and_cos(x, sine, cosine):
    """Both, of a one-dimensional array."""
    for i in range(x.size):
        sine[i], cosine[i] = _sin_cos(np.float64(x[i]))


# Sums and products


@compiled
def sum_of_squares(x, points):
    """Σ x² over the first `points` entries of every row of x."""
    sums = np.empty(len(x), x.dtype)
    lanes = np.empty(LANES, x.dtype)
    for i in range(len(x)):
        row = x[i]
        lanes[:] = 0
        whole = points - points % LANES
        for start in range(0, whole, LANES):
            for j in range(LANES):
                lanes[j] = fma(row[start + j], row[start + j], lanes[j])
        for j in range(points - whole):
            lanes[j] = fma(row[whole + j], row[whole + j], lanes[j])
        sums[i] = _sum_lanes(lanes)
    return sums


@compiled
def sum_rows(x):
    """Σ over the last axis of x (rows, points)."""
    sums = np.empty(len(x), x.dtype)
    lanes = np.empty(LANES, x.dtype)
    for i in range(len(x)):
        row = x[i]
        lanes[:] = 0
        whole = row.size - row.size % LANES
        for start in range(0, whole, LANES):
            for j in range(LANES):
                lanes[j] += row[start + j]
        for j in range(row.size - whole):
            lanes[j] += row[whole + j]
        sums[i] = _sum_lanes(lanes)
    return sums


@inlined
def _sum_lanes(lanes):
    width = LANES
    while width > 1:
        width //= 2
        for j in range(width):
            lanes[j] += lanes[width + j]
    return lanes[0]


@compiled
def add_product(a, b, c, empty=False):
    """c += a b, from zero if c is `empty`; every sum runs over the inner index in order.

    b and c are contiguous; their number of columns is a multiple of the length of a vector.
    """
    rows, inner = a.shape
    length = SINGLES if c.itemsize == 4 else DOUBLES
    zero = broadcast(c.dtype.type(0))
    for j in range(0, c.shape[1], length):
        i = 0
        while i + 6 <= rows:  # six rows at a time: a row of b is read once for all of them
            c0 = zero if empty else load(c[i], j)
            c1 = zero if empty else load(c[i + 1], j)
            c2 = zero if empty else load(c[i + 2], j)
            c3 = zero if empty else load(c[i + 3], j)
            c4 = zero if empty else load(c[i + 4], j)
            c5 = zero if empty else load(c[i + 5], j)
            for k in range(inner):
                row = load(b[k], j)
                c0 = vector_fma(broadcast(a[i, k]), row, c0)
                c1 = vector_fma(broadcast(a[i + 1, k]), row, c1)
                c2 = vector_fma(broadcast(a[i + 2, k]), row, c2)
                c3 = vector_fma(broadcast(a[i + 3, k]), row, c3)
                c4 = vector_fma(broadcast(a[i + 4, k]), row, c4)
                c5 = vector_fma(broadcast(a[i + 5, k]), row, c5)
            store(c[i], j, c0)
            store(c[i + 1], j, c1)
            store(c[i + 2], j, c2)
            store(c[i + 3], j, c3)
            store(c[i + 4], j, c4)
            store(c[i + 5], j, c5)
            i += 6
        while i < rows:
            c0 = zero if empty else load(c[i], j)
            for k in range(inner):
                c0 = vector_fma(broadcast(a[i, k]), load(b[k], j), c0)
            store(c[i], j, c0)
            i += 1


@compiled
def _whole_vectors(columns, itemsize):
    """The number of columns rounded up to whole vectors."""
    length = SINGLES if itemsize == 4 else DOUBLES
    return (columns + length - 1) // length * length


def matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product a b of any shapes."""
    inner, columns = b.shape
    width = _whole_vectors(columns, b.itemsize)
    if width != columns or not b.flags.c_contiguous:
        narrow, b = b, np.zeros((inner, width), b.dtype)
        b[:, :columns] = narrow
    c = np.empty((len(a), width), b.dtype)
    add_product(a, b, c, empty=True)
    return np.ascontiguousarray(c[:, :columns])


# The Fourier trunk: u = Σ a sin ωt + b cos ωt + bias


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
    p = y * _polynomial(sine, square)
    twice = p + p
    return twice * _polynomial(cosine, square), fma(
        -twice, p, cosine[-1]
    )  # double angle; cosine[-1] is 1


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
    features = np.zeros((BLOCK, _whole_vectors(2 * n, t.itemsize)), t.dtype)
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


# The tanh network of one run; jets are arrays (3, points, units)


@compiled
def tanh_forward(a, bias, h):
    """The jet h of tanh(a + bias): y, d a', d (a'' − 2 y a'²) with d = 1 − y².

    Each loop stores to one array; with several, LLVM did not vectorise these loops.
    """
    one = a.dtype.type(1)
    two = a.dtype.type(2)
    for j in range(a.shape[1]):
        a0, a1, a2 = a[0, j], a[1, j], a[2, j]
        y, h1, h2 = h[0, j], h[1, j], h[2, j]
        for i in range(y.size):
            y[i] = _tanh(np.float64(a0[i] + bias[i]))
        for i in range(y.size):
            h1[i] = fma(-y[i], y[i], one) * a1[i]
        for i in range(y.size):
            h2[i] = fma(-y[i], y[i], one) * fma(-two * y[i] * a1[i], a1[i], a2[i])


@compiled
def tanh_backward(a, h, bar, bar_bias):
    """Turn `bar`, the gradient of the jet h, into that of the jet a; and that of the bias."""
    one, two, four = a.dtype.type(1), a.dtype.type(2), a.dtype.type(4)
    bar_bias[:] = 0
    for j in range(a.shape[1]):
        y, a1, a2 = h[0, j], a[1, j], a[2, j]
        bar0, bar1, bar2 = bar[0, j], bar[1, j], bar[2, j]
        for i in range(y.size):
            d = fma(-y[i], y[i], one)
            through_d = fma(bar2[i], fma(-two * y[i] * a1[i], a1[i], a2[i]), bar1[i] * a1[i])
            through_y = fma(y[i], through_d, bar2[i] * d * a1[i] * a1[i])
            bar0[i] = d * fma(-two, through_y, bar0[i])
        for i in range(y.size):
            bar1[i] = fma(-y[i], y[i], one) * fma(-four * bar2[i] * y[i], a1[i], bar1[i])
        for i in range(y.size):
            bar2[i] = fma(-y[i], y[i], one) * bar2[i]
        for i in range(y.size):
            bar_bias[i] += bar0[i]


# Chebyshev series on [−1, 1], n ≥ 2 terms, in float64


@compiled
def chebyshev_points(n):
    """cos((j + ½)π/n), j = 0 … n − 1."""
    x = np.empty(n)
    for j in range(n):
        x[j] = _sin_cos(math.pi * (2 * j + 1) / (2 * n))[1]
    return x


@compiled
def chebyshev_transform(n):
    """The matrix (n, n) that multiplies a row of values at the points from the right."""
    matrix = np.empty((n, n))
    for j in range(n):
        for m in range(n):
            angle = math.pi * (m * (2 * j + 1) % (4 * n)) / (2 * n)
            matrix[j, m] = (1 if m == 0 else 2) * _sin_cos(angle)[1] / n
    return matrix


@compiled
def _chebyshev_polynomials(x, values):
    """values[m, j] = T_m(x[j])."""
    for j in range(x.size):
        values[0, j] = 1
        values[1, j] = x[j]
    for m in range(2, len(values)):
        before, now, row = values[m - 2], values[m - 1], values[m]
        for j in range(x.size):
            row[j] = fma(2 * x[j], now[j], -before[j])


@compiled
def series_forward(coefficients, x, out):
    """Σ_m coefficients[r, m] T_m(x); coefficients (rows, n), x (points,), out (rows, points)."""
    rows, n = coefficients.shape
    values = np.zeros((n, BLOCK))
    block = np.empty((rows, BLOCK))
    for start in range(0, x.size, BLOCK):
        points = x[start : start + BLOCK]
        _chebyshev_polynomials(points, values)
        block[:] = 0
        add_product(coefficients, values, block)
        out[:, start : start + BLOCK] = block[:, : points.size]


@compiled
def series_backward(bar, x, n):
    """The gradient (rows, n) of the coefficients from that of the values, bar (rows, points)."""
    rows = len(bar)
    values = np.empty((n, BLOCK))
    block = np.zeros((BLOCK, _whole_vectors(rows, 8)))
    sums = np.zeros((n, block.shape[1]))
    for start in range(0, x.size, BLOCK):
        points = x[start : start + BLOCK]
        _chebyshev_polynomials(points, values)
        block[: points.size, :rows] = bar[:, start : start + BLOCK].T
        add_product(values[:, : points.size], block, sums)
    return np.ascontiguousarray(sums[:, :rows].T)


# The ansatz: y = start + drift·g + f·u, and q = floor + softplus(y) where positive


@compiled
def ansatz_forward(u, factor, gate, start, drift, positive, floor, kept, out):
    """The jets `out` of q, component by component; factor and gate are jets (runs, points).

    `kept` is (σ(y), y', y''), what the backward pass needs.
    """
    one, two = start.dtype.type(1), start.dtype.type(2)
    runs, components, points = u[0].shape
    for run in range(runs):
        f0, f1, f2 = factor[0][run], factor[1][run], factor[2][run]
        g0, g1, g2 = gate[0][run], gate[1][run], gate[2][run]
        for k in range(components):
            u0, u1, u2 = u[0][run, k], u[1][run, k], u[2][run, k]
            sigma, y1, y2 = kept[0][run, k], kept[1][run, k], kept[2][run, k]
            q0, q1, q2 = out[3 * k][run], out[3 * k + 1][run], out[3 * k + 2][run]
            at_zero, v = start[run, k], drift[run, k]
            for j in range(points):
                q0[j] = fma(f0[j], u0[j], fma(v, g0[j], at_zero))
            for j in range(points):
                y1[j] = fma(f1[j], u0[j], fma(f0[j], u1[j], v * g1[j]))
            for j in range(points):
                y2[j] = fma(f2[j], u0[j], fma(two * f1[j], u1[j], fma(f0[j], u2[j], v * g2[j])))
            if positive[k]:
                for j in range(points):
                    sigma[j], softplus = _sigmoid_softplus(np.float64(q0[j]))
                    q0[j] = softplus + floor
                for j in range(points):
                    q1[j] = sigma[j] * y1[j]
                for j in range(points):  # σ y'' + σ(1 − σ) y'²
                    q2[j] = sigma[j] * fma((one - sigma[j]) * y1[j], y1[j], y2[j])
            else:
                q1[:] = y1
                q2[:] = y2


@compiled
def ansatz_backward(factor, positive, kept, bars, out):
    """The gradient `out` of the jet u from the gradients `bars` of the jets of q."""
    one, two = bars[0].dtype.type(1), bars[0].dtype.type(2)
    runs, components, points = out[0].shape
    y = np.empty((3, points), bars[0].dtype)  # gradients of y, y', y''
    bar0, bar1, bar2 = y[0], y[1], y[2]
    for run in range(runs):
        f0, f1, f2 = factor[0][run], factor[1][run], factor[2][run]
        for k in range(components):
            sigma, y1, y2 = kept[0][run, k], kept[1][run, k], kept[2][run, k]
            q0, q1, q2 = bars[3 * k][run], bars[3 * k + 1][run], bars[3 * k + 2][run]
            u0, u1, u2 = out[0][run, k], out[1][run, k], out[2][run, k]
            if positive[k]:
                for j in range(points):
                    s = sigma[j]
                    square = y1[j] * y1[j]
                    inner = fma(fma(-two, s, one) * square, q2[j], fma(y2[j], q2[j], y1[j] * q1[j]))
                    bar0[j] = s * fma(one - s, inner, q0[j])
                for j in range(points):
                    bar1[j] = sigma[j] * fma(two * (one - sigma[j]) * y1[j], q2[j], q1[j])
                for j in range(points):
                    bar2[j] = sigma[j] * q2[j]
            else:
                bar0[:] = q0
                bar1[:] = q1
                bar2[:] = q2
            for j in range(points):
                u0[j] = fma(f0[j], bar0[j], fma(f1[j], bar1[j], f2[j] * bar2[j]))
            for j in range(points):
                u1[j] = fma(f0[j], bar1[j], two * f1[j] * bar2[j])
            for j in range(points):
                u2[j] = f0[j] * bar2[j]


# The optimiser


@compiled
def adam(theta, gradient, first, second, beta1, beta2, rate, root, epsilon):
    """One update in place: rate is η/(1 − β₁ⁿ) and root √(1 − β₂ⁿ); all one-dimensional."""
    one = theta.dtype.type(1)
    for i in range(theta.size):
        first[i] = fma(beta1, first[i], (one - beta1) * gradient[i])
    for i in range(theta.size):
        second[i] = fma(beta2, second[i], (one - beta2) * gradient[i] * gradient[i])
    for i in range(theta.size):
        theta[i] -= rate * first[i] / (math.sqrt(second[i]) / root + epsilon)
