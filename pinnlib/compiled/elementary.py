"""Elementary functions, by Taylor polynomials on a reduced range.

They compute in float64 and round to the type of their result. Other loops call `polynomial` and
the functions whose names end in `_of_number`, which take one number.
"""

import math

import numpy as np

from pinnlib.compiled.jit import compiled, inlined, ufunc
from pinnlib.compiled.lanes import bits_to_float, float_to_bits, fma

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
def polynomial(coefficients, x):
    """The polynomial at x; the coefficient of the highest power comes first."""
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
    p = fma(r * r, polynomial(EXPM1, r), r)
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
    tail = s * fma(s * s, polynomial(ATANH, s * s), half_square)
    n = float(exponent)
    small = fma(n, LN2[1], lost / total)
    return fma(n, LN2[0], f - (half_square - (tail + small)))


@inlined
def tanh_of_number(x):
    e = -_expm1(-2 * abs(x))
    total = 2 - e
    lost = (2 - total) - e  # total + lost is 2 − e exactly
    y = e / total
    y = y + fma(-y, lost, fma(-y, total, e)) / total
    return -y if x < 0 else y


@inlined
def sigmoid_softplus_of_number(x):
    e = _exp(-abs(x))
    sigmoid = 1 / (1 + e) if x > 0 else e / (1 + e)
    return sigmoid, (x if x > 0 else 0.0) + _log1p(e)


@inlined
def sin_cos_of_number(x):
    """To 2 ulp for |x| < 10⁸."""
    shifted = fma(x, 2 / math.pi, ROUND)
    n = shifted - ROUND
    quadrant = float_to_bits(shifted) & 3
    r = fma(-n, HALF_PI[2], fma(-n, HALF_PI[1], fma(-n, HALF_PI[0], x)))
    square = r * r
    s = fma(r * square, polynomial(SIN, square), r)
    c = fma(square, polynomial(COS, square), 1.0)
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
    return tanh_of_number(np.float64(x))


@ufunc
def sigmoid(x):
    return sigmoid_softplus_of_number(np.float64(x))[0]


@ufunc
def softplus(x):
    return sigmoid_softplus_of_number(np.float64(x))[1]


@ufunc
def sin(x):
    return sin_cos_of_number(np.float64(x))[0]


@ufunc
def cos(x):
    return sin_cos_of_number(np.float64(x))[1]


@compiled
def sin_and_cos(x, sine, cosine):
    """Both, of a one-dimensional array."""
    for i in range(x.size):
        sine[i], cosine[i] = sin_cos_of_number(np.float64(x[i]))
