"""Sums and matrix products in a fixed order."""

import numpy as np

from pinnlib.compiled.jit import compiled, inlined
from pinnlib.compiled.lanes import (
    broadcast,
    fma,
    load,
    store,
    vector_fma,
    vector_length,
)

LANES = 32  # partial sums of a sum over points
BLOCK = 128  # points at a time: whole vectors, and few enough for the processor's cache


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
def add_product(a, b, c, overwrite=False):
    """c += a b, or c = a b if `overwrite`; every sum runs over the inner index in order.

    b and c are contiguous; their number of columns is a multiple of the length of a vector.
    """
    rows, inner = a.shape
    length = vector_length(c.itemsize)
    zero = broadcast(c.dtype.type(0))
    for j in range(0, c.shape[1], length):
        i = 0
        while i + 6 <= rows:  # six rows at a time: a row of b is read once for all of them
            c0 = zero if overwrite else load(c[i], j)
            c1 = zero if overwrite else load(c[i + 1], j)
            c2 = zero if overwrite else load(c[i + 2], j)
            c3 = zero if overwrite else load(c[i + 3], j)
            c4 = zero if overwrite else load(c[i + 4], j)
            c5 = zero if overwrite else load(c[i + 5], j)
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
            c0 = zero if overwrite else load(c[i], j)
            for k in range(inner):
                c0 = vector_fma(broadcast(a[i, k]), load(b[k], j), c0)
            store(c[i], j, c0)
            i += 1


@compiled
def whole_vectors(columns, itemsize):
    """The number of columns rounded up to whole vectors."""
    length = vector_length(itemsize)
    return (columns + length - 1) // length * length


def matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product a b of any shapes."""
    inner, columns = b.shape
    width = whole_vectors(columns, b.itemsize)
    if width != columns or not b.flags.c_contiguous:
        narrow, b = b, np.zeros((inner, width), b.dtype)
        b[:, :columns] = narrow
    c = np.empty((len(a), width), b.dtype)
    add_product(a, b, c, overwrite=True)
    return np.ascontiguousarray(c[:, :columns])
