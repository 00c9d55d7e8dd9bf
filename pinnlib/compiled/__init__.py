"""Compiled loops on NumPy arrays whose bits are the same on every machine.

They use only operations that IEEE 754 fixes (+, −, ×, ÷, √, fma, rounding), in a fixed order.

    jit          how Numba compiles
    lanes        fma and vectors, for Numba
    elementary   exp, log1p, tanh, sin, cos and so on
    products     sums and matrix products
    fourier      the Fourier trunk
    tanh_layer   a layer of a tanh network
    chebyshev    Chebyshev series
    ansatz_jet   the ansatz
    adam         the optimiser
    autograd     the loops as torch operations, with gradients
    network      tanh networks, run by run, and their Chebyshev series
"""
