"""Tridiagonal systems that need no row exchanges, as most do not: the factors of LAPACK's dgttrf.

In dgttrf and dgttrs each division waits for the previous one. Here only the factorisation divides: it keeps the
reciprocals of the pivots, so that each row of a solution waits for products and differences only.
"""

import numpy as np

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit


@njit(**NJIT_OPTIONS)
def factor_in_order(ab, multipliers, reciprocals, above):  # type: ignore[no-untyped-def]
    """Write the factors of the diagonals in ab; return whether no row exchange was needed, else the factors are
    invalid.

    a = l u: l has ones and the multipliers below them; u has the pivots, whose reciprocals are written, and the
    superdiagonal.
    """
    n = ab.shape[1]
    over, main, under = ab[0], ab[1], ab[2]
    pivot = main[0]
    for i in range(n - 1):
        reciprocal = 1.0 / pivot
        if not (abs(pivot) >= abs(under[i]) and abs(reciprocal) < np.inf):
            return False
        multiplier = under[i] / pivot
        multipliers[i], reciprocals[i], above[i] = multiplier, reciprocal, over[i + 1]
        pivot = main[i + 1] - multiplier * over[i + 1]
    reciprocals[n - 1] = 1.0 / pivot
    return abs(reciprocals[n - 1]) < np.inf


@njit(**NJIT_OPTIONS)
def solve_in_order(multipliers, reciprocals, above, z):  # type: ignore[no-untyped-def]
    """z = a^-1 z, for a vector."""
    n = len(z)
    last = z[0]
    for i in range(1, n):
        last = z[i] - multipliers[i - 1] * last
        z[i] = last
    last *= reciprocals[n - 1]
    z[n - 1] = last
    for i in range(n - 2, -1, -1):
        last = (z[i] - above[i] * last) * reciprocals[i]
        z[i] = last


@njit(**NJIT_OPTIONS)
def solve_transposed_in_order(multipliers, reciprocals, above, z):  # type: ignore[no-untyped-def]
    """z = a^-T z, for a vector."""
    n = len(z)
    last = z[0] * reciprocals[0]
    z[0] = last
    for i in range(1, n):
        last = (z[i] - above[i - 1] * last) * reciprocals[i]
        z[i] = last
    for i in range(n - 2, -1, -1):
        last = z[i] - multipliers[i] * last
        z[i] = last
