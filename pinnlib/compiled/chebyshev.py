"""Chebyshev series on [−1, 1] with n ≥ 2 terms, in float64."""

import math

import numpy as np

from pinnlib.compiled.elementary import sin_cos_of_number
from pinnlib.compiled.jit import compiled
from pinnlib.compiled.lanes import fma
from pinnlib.compiled.products import BLOCK, add_product, whole_vectors


@compiled
def chebyshev_points(n):
    """cos((j + ½)π/n), j = 0 … n − 1."""
    x = np.empty(n)
    for j in range(n):
        x[j] = sin_cos_of_number(math.pi * (2 * j + 1) / (2 * n))[1]
    return x


@compiled
def chebyshev_transform(n):
    """The matrix (n, n) that multiplies a row of values at the points from the right."""
    matrix = np.empty((n, n))
    for j in range(n):
        for m in range(n):
            angle = math.pi * (m * (2 * j + 1) % (4 * n)) / (2 * n)
            matrix[j, m] = (1 if m == 0 else 2) * sin_cos_of_number(angle)[1] / n
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
        add_product(coefficients, values, block, overwrite=True)
        out[:, start : start + BLOCK] = block[:, : points.size]


@compiled
def series_backward(bar, x, n):
    """The gradient (rows, n) of the coefficients from that of the values, bar (rows, points)."""
    rows = len(bar)
    values = np.empty((n, BLOCK))
    block = np.zeros((BLOCK, whole_vectors(rows, 8)))
    sums = np.zeros((n, block.shape[1]))
    for start in range(0, x.size, BLOCK):
        points = x[start : start + BLOCK]
        _chebyshev_polynomials(points, values)
        block[: points.size, :rows] = bar[:, start : start + BLOCK].T
        add_product(values[:, : points.size], block, sums)
    return np.ascontiguousarray(sums[:, :rows].T)
