"""A layer of the tanh network of one run, and its gradient; jets are arrays (3, points, units)."""

import numpy as np

from pinnlib.compiled.elementary import tanh_of_number
from pinnlib.compiled.jit import compiled
from pinnlib.compiled.lanes import fma


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
            y[i] = tanh_of_number(np.float64(a0[i] + bias[i]))
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
