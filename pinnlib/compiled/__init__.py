"""Compiled loops on NumPy arrays whose bits are the same on every machine.

They use only operations that IEEE 754 fixes (+, −, ×, ÷, √, fma, rounding), in a fixed order.

    lanes       fma and vectors, for Numba
    loops       elementary functions, sums, products, trunks, the ansatz and Adam
    autograd    the loops as torch operations, with gradients
    network     tanh networks, run by run, and their Chebyshev series
"""
