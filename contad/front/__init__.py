"""Derivatives of Numba functions as objects that Python and compiled code call alike; loaded with the first such
derivative."""
