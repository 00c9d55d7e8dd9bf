"""Operations whose bits are fixed: accuracy, derivatives, and the order of their sums."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from torch.autograd import grad, gradcheck

from pinnlib import ops
from pinnlib.compiled import adam, autograd, chebyshev, products
from pinnlib.optimisers import Adam

FLOAT = torch.float64
HUGE = 2.0**100
ULPS = {  # a float32 is computed in float64 and rounded once
    "float32": 0.501,
    "float64": 2,
}


def logistic(x):
    return 1 / (1 + mpmath.exp(-x))


def log_of_one_plus_exp(x):
    return mpmath.log1p(mpmath.exp(x))


EXACT = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log1p": mpmath.log1p,
    "tanh": mpmath.tanh,
    "sigmoid": logistic,
    "softplus": log_of_one_plus_exp,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sqrt": mpmath.sqrt,
}
DOUBLE = {  # where the result is a normal number; |x| ≤ 10⁸ for sin and cos
    "exp": (-708, 709),
    "expm1": (-HUGE, 709),
    "log1p": (-1 + 2.0**-53, HUGE),
    "tanh": (-HUGE, HUGE),
    "sigmoid": (-708, HUGE),
    "softplus": (-708, HUGE),
    "sin": (-1e8, 1e8),
    "cos": (-1e8, 1e8),
    "sqrt": (0, HUGE),
}
SINGLE = DOUBLE | {
    "exp": (-87, 88),
    "expm1": (-HUGE, 88),
    "log1p": (-1 + 2.0**-24, HUGE),
    "sigmoid": (-87, HUGE),
    "softplus": (-87, HUGE),
}
RANGES = {
    "float32": SINGLE,
    "float64": DOUBLE,
}
EVERY_FUNCTION = pytest.mark.parametrize("name", EXACT)
EITHER_PRECISION = pytest.mark.parametrize("precision", RANGES)


def error_in_ulps(y, exact):
    """The distance of y from the exact value, in units of that value's last place."""
    nearest = y.dtype.type(float(exact))
    unit = mpmath.mpf(float(np.spacing(abs(nearest))))
    return float(abs(mpmath.mpf(float(y)) - exact) / unit)


def assert_accurate(name, precision, x):
    """One function at the numbers x."""
    x = np.array(x, dtype=precision)
    values = getattr(ops, name)(x)
    assert values.dtype == precision
    with mpmath.workdps(50):
        for number, y in zip(x, values, strict=True):
            exact = EXACT[name](mpmath.mpf(float(number)))
            error = error_in_ulps(y, exact)
            assert error <= ULPS[precision], f"{name}({number!r}) is {y!r}"


@EITHER_PRECISION
@EVERY_FUNCTION
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_function_is_accurate(name, precision, data):
    low, high = RANGES[precision][name]
    width = np.finfo(precision).bits
    numbers = st.floats(low, high, width=width)
    x = data.draw(st.lists(numbers, min_size=1, max_size=8))
    assert_accurate(name, precision, x)


@EITHER_PRECISION
@EVERY_FUNCTION
def test_a_function_is_accurate_at_numbers_of_every_size(name, precision):
    rng = np.random.default_rng(0)
    low, high = RANGES[precision][name]
    ordinary = rng.uniform(-4, 4, 300)
    largest = math.log(2.0**99)
    sizes = np.exp(rng.uniform(-80, largest, 300))
    signs = rng.choice([-1, 1], 300)
    near_minus_one = np.exp(rng.uniform(-30, 0, 100)) - 1
    evenly = rng.uniform(max(low, -1e8), min(high, 1e8), 300)
    parts = [ordinary, signs * sizes, near_minus_one, evenly]
    x = np.concatenate(parts).astype(precision)
    inside = (x >= low) & (x <= high)
    assert_accurate(name, precision, x[inside])


@EITHER_PRECISION
def test_sine_and_cosine_are_accurate_where_they_vanish(precision):
    """At the numbers nearest to multiples of π/2, most digits of x cancel."""
    rng = np.random.default_rng(1)
    quarters = np.concatenate([np.arange(-40, 41), rng.integers(0, 6e7, 200)])
    x = quarters * (math.pi / 2)
    assert_accurate("sin", precision, x)
    assert_accurate("cos", precision, x)


SPECIAL = {  # x: 0, ∞, −∞, NaN
    "exp": [1, np.inf, 0, np.nan],
    "expm1": [0, np.inf, -1, np.nan],
    "log1p": [0, np.inf, np.nan, np.nan],
    "tanh": [0, 1, -1, np.nan],
    "sigmoid": [0.5, 1, 0, np.nan],
    "softplus": [math.log(2), np.inf, 0, np.nan],
    "sin": [0, np.nan, np.nan, np.nan],
    "cos": [1, np.nan, np.nan, np.nan],
    "sqrt": [0, np.inf, np.nan, np.nan],
}


@EITHER_PRECISION
@EVERY_FUNCTION
def test_special_values(name, precision):
    x = np.array([0, np.inf, -np.inf, np.nan], dtype=precision)
    expected = np.array(SPECIAL[name], dtype=precision)
    assert_array_equal(getattr(ops, name)(x), expected)


@EITHER_PRECISION
def test_ends_of_the_range(precision):
    largest = np.finfo(precision).max
    x = np.array([-largest, -1000, 1000, largest], dtype=precision)
    assert_array_equal(ops.exp(x), [0, 0, np.inf, np.inf])
    assert_array_equal(ops.expm1(x), [-1, -1, np.inf, np.inf])
    assert_array_equal(ops.tanh(x), [-1, -1, 1, 1])
    assert_array_equal(ops.sigmoid(x), [0, 0, 1, 1])
    assert_array_equal(ops.softplus(x), [0, 0, 1000, largest])


@EITHER_PRECISION
def test_log1p_ends_at_minus_one(precision):
    below = np.nextafter(-1, -2, dtype=precision)
    x = np.array([-1, below, -2], dtype=precision)
    assert_array_equal(ops.log1p(x), [-np.inf, np.nan, np.nan])


@EITHER_PRECISION
@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh", "sin"])
def test_tiny_numbers_stay_what_they_are(name, precision):
    tiny = np.finfo(precision).tiny
    x = np.array([tiny, -tiny, 1e6 * tiny], dtype=precision)
    assert_array_equal(getattr(ops, name)(x), x)


@EITHER_PRECISION
@EVERY_FUNCTION
def test_tensors_arrays_and_numbers_give_the_same_bits(name, precision):
    function = getattr(ops, name)
    x = np.linspace(0.1, 7, 30, dtype=precision).reshape(5, 6)
    expected = function(x)
    assert_array_equal(function(torch.from_numpy(x)), expected)
    assert_array_equal(function(torch.from_numpy(x).T), expected.T)
    assert_array_equal(function(torch.tensor(x[1, 2])), expected[1, 2])
    assert function(x[1, 2]) == expected[1, 2]


@EITHER_PRECISION
def test_sine_and_cosine_together_are_the_single_ones(precision):
    x = np.linspace(-20, 20, 60, dtype=precision).reshape(5, 12)
    for numbers in (x, torch.from_numpy(x), torch.from_numpy(x).T):
        sine, cosine = ops.sin_cos(numbers)
        assert_array_equal(sine, ops.sin(numbers))
        assert_array_equal(cosine, ops.cos(numbers))


# Derivatives


@pytest.mark.parametrize("name", [*EXACT, "sin_cos"])
def test_derivatives_are_those_of_finite_differences(name):
    positive = torch.linspace(0.05, 5, 20, dtype=FLOAT)
    x = positive if name == "sqrt" else positive - 0.9
    assert gradcheck(getattr(ops, name), x.requires_grad_())


@EVERY_FUNCTION
def test_derivatives_are_torchs(name):
    theirs = {"softplus": torch.nn.functional.softplus}
    x = torch.linspace(0.05, 19, 50, dtype=FLOAT, requires_grad=True)  # torch cuts softplus at 20
    function = theirs.get(name) or getattr(torch, name)
    (expected,) = grad(function(x).sum(), x)
    (found,) = grad(getattr(ops, name)(x).sum(), x)
    assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


# Sums and products


def fma(a, b, c):
    """a·b + c with one rounding, in float64."""
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def sum_by_halves(lanes):
    """Add the upper half to the lower half until one number is left."""
    while len(lanes) > 1:
        half = len(lanes) // 2
        pairs = zip(lanes[:half], lanes[half:], strict=True)
        lanes = [low + high for low, high in pairs]
    return lanes[0]


def random_array(*shape):
    """The same normal numbers for the same shape."""
    rng = np.random.default_rng(shape)
    return rng.standard_normal(shape)


@pytest.mark.parametrize("points", [1, 31, 32, 77])
def test_sums_have_32_lanes(points):
    x = random_array(3, points + 5)
    row = x[1].tolist()
    squares = [0.0] * 32
    for j, number in enumerate(row[:points]):
        squares[j % 32] = fma(number, number, squares[j % 32])
    plain = [0.0] * 32
    for j, number in enumerate(row):
        plain[j % 32] += number
    assert products.sum_of_squares(x, points)[1] == sum_by_halves(squares)
    assert products.sum_rows(x)[1] == sum_by_halves(plain)


@EITHER_PRECISION
@pytest.mark.parametrize("points", [1, 50, 2000])
def test_a_mean_square_and_its_gradient(points, precision):
    """Over the first points only."""
    data = random_array(4, points + 3).astype(precision)
    x = torch.from_numpy(data).requires_grad_()
    means = ops.mean_square(x, points)
    exact = data[:, :points].astype(float)
    accuracy = 10 * np.finfo(precision).eps
    expected = np.mean(exact**2, axis=1)
    assert_allclose(means.detach(), expected, rtol=accuracy)
    weights = torch.tensor([1, -2, 3, 0.5], dtype=x.dtype)
    (found,) = grad((weights * means).sum(), x)
    slopes = 2 / points * weights.numpy()[:, None] * exact
    assert_allclose(found[:, :points], slopes, rtol=accuracy)
    assert not found[:, points:].any()


SIZES = st.integers(1, 40)


@EITHER_PRECISION
@given(rows=SIZES, inner=SIZES, columns=SIZES, transposed=st.booleans())
@example(rows=6, inner=1, columns=16, transposed=False)
@example(rows=13, inner=200, columns=1, transposed=True)
@settings(max_examples=60, deadline=None)
def test_products_of_any_shape(rows, inner, columns, transposed, precision):
    a = random_array(rows, inner).astype(precision)
    b = random_array(inner, columns, 1)[:, :, 0].astype(precision)
    if transposed:
        a = a.T.copy().T
        b = b.T.copy().T
    found = products.matrix_product(a, b)
    wide_a = a.astype(float)
    wide_b = b.astype(float)
    bound = np.abs(wide_a) @ np.abs(wide_b)
    error = np.abs(found - wide_a @ wide_b)
    assert found.shape == (rows, columns)
    assert found.dtype == precision
    assert found.flags.c_contiguous
    assert (error <= inner * np.finfo(precision).eps * bound).all()


def test_an_entry_of_a_product_is_a_chain_of_fmas():
    """Over the inner index in order, in blocks of six rows and in the rows that remain."""
    a = random_array(8, 9)
    b = random_array(9, 3)
    found = products.matrix_product(a, b)
    for i in range(8):
        for j in range(3):
            entry = 0.0
            for left, right in zip(a[i], b[:, j], strict=True):
                entry = fma(left, right, entry)
            assert found[i, j] == entry


def test_a_product_is_added_to_what_is_there():
    a = random_array(7, 4)
    b = random_array(4, 8)
    before = random_array(7, 8)
    found = before.copy()
    products.add_product(a, b, found)
    for i in range(7):
        for j in range(8):
            entry = before[i, j]
            for left, right in zip(a[i], b[:, j], strict=True):
                entry = fma(left, right, entry)
            assert found[i, j] == entry


# Trunks and ansatz, against plain formulas of torch


def random_tensor(*shape, dtype=FLOAT):
    """Normal numbers that ask for a gradient."""
    numbers = torch.from_numpy(random_array(*shape)).to(dtype)
    return numbers.requires_grad_()


def uniform_tensor(*shape):
    """The same numbers in [0, 1) for the same shape."""
    rng = np.random.default_rng(shape)
    return torch.from_numpy(rng.random(shape))


def assert_near(found, expected, error):
    """Two tensors differ by at most `error`, relative to their largest number."""
    difference = (found - expected).detach()
    largest = expected.detach().abs().max()
    assert difference.abs().max() <= error * largest


def weighted_sum(tensors):
    """One number that depends on all of them."""
    parts = []
    for i, tensor in enumerate(tensors):
        weights = random_array(*tensor.shape, i + 1)[..., i]
        part = tensor * torch.from_numpy(weights)
        parts.append(part.sum())
    return sum(parts)


def assert_same_with_gradients(found, expected, inputs, error=1e-11):
    """Results, and the gradients of one random combination of them."""
    for ours, theirs in zip(found, expected, strict=True):
        assert_near(ours, theirs, error)
    slopes = grad(weighted_sum(found), inputs)
    right_slopes = grad(weighted_sum(expected), inputs)
    for ours, theirs in zip(slopes, right_slopes, strict=True):
        assert_near(ours, theirs, error)


def time_derivative(y, t):
    """dy/dt (runs, components, points), where y at a time depends on this time alone."""
    columns = []
    for k in range(y.shape[1]):
        (slope,) = grad(y[:, k].sum(), t, create_graph=True)
        columns.append(slope)
    return torch.stack(columns, dim=1)


def jet_by_autograd(function, t):
    """(u, u', u'') by differentiating twice."""
    u = function(t)
    first = time_derivative(u, t)
    return u, first, time_derivative(first, t)


@pytest.mark.parametrize("points", [1, 127, 128, 129, 300])
def test_a_fourier_series_is_the_plain_formula(points):
    """Also at the edges of the blocks of 128 points."""
    weight = random_tensor(2, 3, 10)
    bias = random_tensor(2, 3)
    omega = random_tensor(2, 5)
    t = 10 * uniform_tensor(2, points)
    t.requires_grad_()

    def plain(times):
        phase = omega[:, :, None] * times[:, None]
        features = torch.cat([torch.sin(phase), torch.cos(phase)], dim=1)
        return weight @ features + bias[:, :, None]

    found = autograd.FourierSeries.apply(weight, bias, omega, t.detach())
    expected = jet_by_autograd(plain, t)
    assert_same_with_gradients(found, expected, (weight, bias, omega))


def test_fixed_frequencies_have_no_gradient():
    weight = random_tensor(1, 2, 6)
    bias = random_tensor(1, 2)
    omega = random_tensor(1, 3).detach()
    t = torch.linspace(0, 10, 40, dtype=FLOAT)[None]
    fixed = autograd.FourierSeries.apply(weight, bias, omega, t)
    free = autograd.FourierSeries.apply(weight, bias, omega.clone().requires_grad_(), t)
    assert_same_with_gradients(fixed, free, (weight, bias), error=0)


def test_a_fourier_series_in_single_precision():
    weight = random_tensor(2, 2, 64, dtype=torch.float32)
    bias = random_tensor(2, 2, dtype=torch.float32)
    omega = torch.linspace(0.5, 15, 32).expand(2, -1)
    t = 10 * uniform_tensor(2, 500).float()
    inputs = (weight, bias, omega, t)
    single = autograd.FourierSeries.apply(*inputs)
    wide = [x.double() for x in inputs]
    double = autograd.FourierSeries.apply(*wide)
    for ours, exact in zip(single, double, strict=True):
        assert_near(ours, exact, 1e-5)


@pytest.mark.parametrize("widths", [(1, 4, 2), (1, 7, 5, 3), (1, 16, 17, 6, 2)])
def test_a_tanh_network_is_the_plain_formula(widths):
    layers = []
    for inputs, outputs in zip(widths, widths[1:], strict=False):
        layers.append(random_tensor(outputs, inputs))
        layers.append(random_tensor(outputs))
    t = torch.linspace(0, 2, 41, dtype=FLOAT)[None]
    t.requires_grad_()

    def plain(times):
        h = times.T
        for weight, bias in zip(layers[0::2], layers[1::2], strict=True):
            a = h @ weight.T + bias
            h = torch.tanh(a)
        return a.T[None]

    found = autograd.TanhNetwork.apply(t.detach()[0], *layers)
    expected = [order[0] for order in jet_by_autograd(plain, t)]
    assert_same_with_gradients(found, expected, layers)


NODES = pytest.mark.parametrize("n", [2, 5, 64, 256])


@NODES
def test_chebyshev_points_are_the_zeros_of_the_polynomial(n):
    x = chebyshev.chebyshev_points(n)
    expected = np.polynomial.chebyshev.chebpts1(n)[::-1]
    assert_allclose(x, expected, rtol=0, atol=5e-16)


@NODES
def test_a_series_goes_through_its_values(n):
    values = random_tensor(3, n)
    at_nodes = autograd.ChebyshevSeries.apply(
        torch.from_numpy(chebyshev.chebyshev_points(n)), *[values] * 3
    )
    for found in at_nodes:
        assert_near(found, values, 1e-14 * n)


@NODES
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_a_series_reproduces_polynomials(n, data):
    terms = data.draw(st.integers(1, min(n, 40)))
    numbers = st.floats(-1, 1)
    coefficients = data.draw(st.lists(numbers, min_size=terms, max_size=terms))
    polynomial = np.polynomial.Chebyshev([*coefficients, 1.0][:n])
    nodes = chebyshev.chebyshev_points(n)
    x = np.linspace(-1, 1, 300)
    values = torch.from_numpy(polynomial(nodes))
    expected = torch.from_numpy(polynomial(x))
    jet = [values[None], 2 * values[None], -values[None]]
    found = autograd.ChebyshevSeries.apply(torch.from_numpy(x), *jet)
    for order, factor in zip(found, (1, 2, -1), strict=True):
        assert_near(order[0], factor * expected, 1e-12)


@NODES
@pytest.mark.parametrize("points", [1, 128, 301])
def test_the_backward_pass_of_a_series_is_its_transpose(n, points):
    """⟨A u, v⟩ = ⟨u, Aᵀ v⟩."""
    x = 2 * uniform_tensor(points) - 1
    jet = [
        random_tensor(2, n),
        random_tensor(2, n),
        random_tensor(2, n),
    ]
    out = autograd.ChebyshevSeries.apply(x, *jet)
    for i in range(3):
        v = torch.from_numpy(random_array(2, points))
        forward = (out[i] * v).sum()
        gradients = grad(forward, jet, retain_graph=True, materialize_grads=True)
        backward = (gradients[i] * jet[i]).sum()
        assert backward.item() == pytest.approx(forward.item(), rel=1e-10, abs=1e-10)
        for j in range(3):
            if j != i:
                assert not gradients[j].any()


def test_a_series_adds_no_error_in_single_precision():
    """It is rounded once, after the sum."""
    values = random_tensor(2, 64, dtype=torch.float32)
    x = torch.linspace(-1, 1, 200, dtype=FLOAT)
    single = autograd.ChebyshevSeries.apply(x, *[values] * 3)
    double = autograd.ChebyshevSeries.apply(x, *[values.double()] * 3)
    for left, right in zip(single, double, strict=True):
        assert left.dtype == torch.float32
        assert torch.equal(left, right.float())


def plain_ansatz(factor_and_gate, start, drift, positive, floor, u):
    """q, q', q'' per component, from y = start + drift·g + f·u."""
    factor, gate = factor_and_gate
    f0, f1, f2 = (order[:, None] for order in factor)
    g0, g1, g2 = (order[:, None] for order in gate)
    u0, u1, u2 = u
    v = drift[:, :, None]
    y0 = start[:, :, None] + v * g0 + f0 * u0
    y1 = v * g1 + f1 * u0 + f0 * u1
    y2 = v * g2 + f2 * u0 + 2 * f1 * u1 + f0 * u2
    sigma = torch.sigmoid(y0)
    q0 = floor + torch.nn.functional.softplus(y0)
    q1 = sigma * y1
    q2 = sigma * y2 + sigma * (1 - sigma) * y1**2
    results = []
    for k, is_positive in enumerate(positive):
        for free, held in ((y0, q0), (y1, q1), (y2, q2)):
            order = held if is_positive else free
            results.append(order[:, k])
    return results


@pytest.mark.parametrize("positive", [(True, False), (False, True, True)])
def test_the_ansatz_is_the_plain_formula(positive):
    runs = 2
    points = 150
    components = len(positive)
    u = random_tensor(3, runs, components, points).unbind()
    numbers = random_tensor(2, 3, runs, points).detach()
    factor_and_gate = [jet.unbind() for jet in numbers]
    start = random_tensor(runs, components).detach()
    drift = random_tensor(runs, components, 1)[..., 0].detach()
    constants = (start, drift, positive, 1e-4)
    found = autograd.AnsatzJet.apply(factor_and_gate, *constants, *u)
    expected = plain_ansatz(factor_and_gate, *constants, u)
    assert_same_with_gradients(found, expected, u)


# Adam


def test_adam_is_torchs():
    draw = torch.Generator().manual_seed(0)
    ours = torch.ones(3, 7, dtype=FLOAT)
    theirs = torch.ones(3, 7, dtype=FLOAT)
    step = Adam().start(ours)
    optimiser = torch.optim.Adam([theirs], lr=0.01)
    for update in range(50):
        theirs.grad = torch.randn(3, 7, generator=draw, dtype=FLOAT) / (1 + update)
        step(theirs.grad, 0.01)
        optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_an_update_of_adam_has_one_order_of_operations():
    theta, gradient, first, second = random_array(4, 19)
    second = second**2
    beta1, beta2 = 0.9, 0.999
    rate, root, epsilon = 0.01, 0.3, 1e-8
    expected = []
    for x, g, m, v in zip(theta, gradient, first, second, strict=True):
        m = fma(beta1, m, (1 - beta1) * g)
        v = fma(beta2, v, (1 - beta2) * g * g)
        expected.append(x - rate * m / (math.sqrt(v) / root + epsilon))
    adam.update(theta, gradient, first, second, beta1, beta2, rate, root, epsilon)
    assert theta.tolist() == expected


def test_a_mean_over_more_points_than_there_are_is_refused():
    with pytest.raises(ValueError, match="points"):
        ops.mean_square(torch.ones(2, 5), 6)


def test_row_sums_and_products_have_the_gradients_of_torch():
    a = random_tensor(7, 5).requires_grad_()
    b = random_tensor(5, 3).requires_grad_()
    assert_near(ops.row_sums(a), a.sum(dim=1), 1e-14)
    assert_near(ops.matmul(a, b), a @ b, 1e-14)
    assert gradcheck(ops.row_sums, a)
    assert gradcheck(ops.matmul, (a, b))
