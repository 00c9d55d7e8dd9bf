"""Compiled loops on NumPy arrays whose bits are the same on every machine.

They use only operations that IEEE 754 fixes (+, −, ×, ÷, √, fma, rounding), in a fixed order.

    lanes       fma, and vectors of numbers, for Numba
    loops       elementary functions, sums, products, trunks, the ansatz and Adam
"""
