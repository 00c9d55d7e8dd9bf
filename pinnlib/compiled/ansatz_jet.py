"""The ansatz y = start + drift·g + f·u; q = floor + softplus(y) where positive, otherwise q = y.

f is `factor`, g is `gate`. A jet is a tuple of three arrays: of u (runs, components, points), of
f and g (runs, points). `start` and `drift` are (runs, components).
"""

import numpy as np

from pinnlib.compiled.elementary import sigmoid_softplus_of_number
from pinnlib.compiled.jit import compiled
from pinnlib.compiled.lanes import fma


@compiled
def ansatz_forward(u, factor, gate, start, drift, positive, floor, kept, out):
    """The jets `out` of q, component by component, each (runs, points).

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
                    sigma[j], softplus = sigmoid_softplus_of_number(np.float64(q0[j]))
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
