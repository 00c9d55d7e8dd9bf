"""The optimiser Adam."""

import math

from pinnlib.compiled.jit import compiled
from pinnlib.compiled.lanes import fma


@compiled
def update(theta, gradient, first, second, beta1, beta2, rate, root, epsilon):
    """One update in place: rate is η/(1 − β₁ⁿ) and root √(1 − β₂ⁿ); all one-dimensional."""
    one = theta.dtype.type(1)
    for i in range(theta.size):
        first[i] = fma(beta1, first[i], (one - beta1) * gradient[i])
    for i in range(theta.size):
        second[i] = fma(beta2, second[i], (one - beta2) * gradient[i] * gradient[i])
    for i in range(theta.size):
        theta[i] -= rate * first[i] / (math.sqrt(second[i]) / root + epsilon)
