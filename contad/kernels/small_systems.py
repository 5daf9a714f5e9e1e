"""Systems, inverses and determinants in compiled code: loops for small matrices, which are faster than a LAPACK call.

If a pivot is small relative to the largest element, LAPACK takes over and decides whether the matrix is singular. So
the errors are Numba's.
"""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.lapack import INTEGER, of_numba, require_finite, require_inverted
from contad.compile.overloads import add_overload, in_machine_code
from contad.kernels.matrix_loops import in_order, turn, write_into

FEW_ROWS = 8
_SMALL = 1e-3  # smallest pivot relative to the largest element: the last digits differ from LAPACK
_SINGULAR = 1e-8  # the smallest pivot of a Cholesky factor relative to the diagonal
_gesv, _getrf, _getri = of_numba("xgesv"), of_numba("xxgetrf"), of_numba("ez_xxgetri")
_KIND = ord("d")


# ---- triangles -------------------------------------------------------------------------------------------------------
@in_machine_code
def solve_lower(t, c, unit):  # type: ignore[no-untyped-def]
    """c = t^-1 c, for the lower triangle of t, whose diagonal is 1 if `unit`."""
    for i in range(t.shape[0]):
        for j in range(i):
            d = t[i, j]
            for k in range(c.shape[1]):
                c[i, k] -= d * c[j, k]
        if not unit:
            for k in range(c.shape[1]):
                c[i, k] /= t[i, i]


@in_machine_code
def solve_upper(t, c):  # type: ignore[no-untyped-def]
    """c = t^-1 c, for the upper triangle of t."""
    for i in range(t.shape[0] - 1, -1, -1):
        for j in range(i + 1, t.shape[0]):
            d = t[i, j]
            for k in range(c.shape[1]):
                c[i, k] -= d * c[j, k]
        for k in range(c.shape[1]):
            c[i, k] /= t[i, i]


@in_machine_code
def exchange_rows(c, i, j):  # type: ignore[no-untyped-def]
    """Exchange two rows."""
    if i != j:
        for k in range(c.shape[1]):
            c[i, k], c[j, k] = c[j, k], c[i, k]


@in_machine_code
def solve_factored(factors, exchanges, c):  # type: ignore[no-untyped-def]
    """c = a^-1 c"""
    for i in range(exchanges.size):
        exchange_rows(c, i, int(exchanges[i]) - 1)
    solve_lower(factors, c, True)
    solve_upper(factors, c)


# ---- factors ---------------------------------------------------------------------------------------------------------
@in_machine_code
def factor_by_loops(a, factors, exchanges):  # type: ignore[no-untyped-def]
    """Write the factors of a small matrix, and its row exchanges, counted from 1 as by LAPACK; return whether it is
    done.

    It is not done if a has many rows, is not square or finite, or has a small pivot.
    """
    n = a.shape[0]
    largest = 0.0
    if n == 0 or n > FEW_ROWS or n != a.shape[1]:
        return False
    for i in range(n):
        for j in range(n):
            x = a[i, j]
            if not abs(x) < np.inf:
                return False
            factors[i, j] = x
            largest = max(largest, abs(x))
    for j in range(n):
        chosen = j
        for i in range(j + 1, n):
            if abs(factors[i, j]) > abs(factors[chosen, j]):
                chosen = i
        exchanges[j] = chosen + 1
        exchange_rows(factors, j, chosen)
        pivot = factors[j, j]
        if not abs(pivot) > _SMALL * largest:
            return False
        for i in range(j + 1, n):
            d = factors[i, j] / pivot
            factors[i, j] = d
            for k in range(j + 1, n):
                factors[i, k] -= d * factors[j, k]
    return True


@in_machine_code
def factor_few(a, z):  # type: ignore[no-untyped-def]
    """Write the Cholesky factor of the lower triangle of a into that of z, row by row; return whether it is done.

    It is not done if a pivot is not finite, or small relative to the diagonal: then LAPACK decides whether there is a
    factor.
    """
    for i in range(z.shape[0]):
        for j in range(i):
            x = a[i, j]
            for k in range(j):
                x -= z[i, k] * z[j, k]
            z[i, j] = x / z[j, j]
        x = a[i, i]
        for k in range(i):
            x -= z[i, k] * z[i, k]
        if not _SINGULAR * a[i, i] < x < np.inf:
            for m in range(i + 1):
                for j in range(m + 1):
                    z[m, j] = a[m, j]
            return False
        z[i, i] = np.sqrt(x)
    return True


def write_factors(a: Any, factors: Any, exchanges: Any) -> int:
    """Write the factors of a, and its row exchanges; return LAPACK's report, 0 unless a is singular."""
    import scipy.linalg

    if a.size == 0:
        return 0
    factors[...], exchanges[...], report = scipy.linalg.lapack.dgetrf(a)
    exchanges += 1
    return int(report)


@add_overload(write_factors, jit_options=INTERNAL_OPTIONS)
def _write_factors(a: Any, factors: Any, exchanges: Any) -> Any:
    """By loops, or by LAPACK's getrf."""

    def implementation(a: Any, factors: Any, exchanges: Any) -> int:
        if factor_by_loops(a, factors, exchanges):
            return 0
        require_finite(a)
        n = len(a)
        columns, order = turn(a), np.empty(n, INTEGER)  # to LAPACK a
        report = _getrf(_KIND, n, n, columns.ctypes, n, order.ctypes) if n != 0 else 0
        write_into(factors, turn(columns))
        for i in range(n):
            exchanges[i] = order[i]
        return report

    return implementation


def solve_forward(a: Any, b: Any) -> Any:
    """(z, the factors of a in C order, the row exchanges); LinAlgError if a is singular."""
    import scipy.linalg

    factors, exchanges = scipy.linalg.lu_factor(a)
    return np.linalg.solve(a, b), factors, exchanges + 1


@add_overload(solve_forward, jit_options=INTERNAL_OPTIONS)
def _solve_forward(a: Any, b: Any) -> Any:
    """By loops, or by LAPACK's gesv as in Numba."""

    def implementation(a: Any, b: Any) -> Any:
        require_finite(b)
        n, k = b.shape
        rows, exchanges = np.empty(a.shape), np.empty(n, INTEGER)
        if factor_by_loops(a, rows, exchanges):
            z = in_order(b)
            solve_factored(rows, exchanges, z)
            return z, rows, exchanges
        require_finite(a)
        factors, columns = turn(a), turn(b)  # to LAPACK a and b
        if n != 0:
            require_inverted(_gesv(_KIND, n, k, factors.ctypes, n, exchanges.ctypes, columns.ctypes, n))
        return turn(columns), turn(factors), exchanges

    return implementation


@in_machine_code
def invert_columns(columns, exchanges):  # type: ignore[no-untyped-def]
    """The inverse of a nonsingular matrix, in place of its factors: both in Fortran order, as in LAPACK."""
    n = len(columns)
    rows = np.empty(n, INTEGER)
    for i in range(n):
        rows[i] = exchanges[i]
    if n != 0:
        require_inverted(_getri(_KIND, n, columns.ctypes, n, rows.ctypes))
    return columns


# ---- inverses and determinants ---------------------------------------------------------------------------------------
@in_machine_code
def invert(a):  # type: ignore[no-untyped-def]
    """The inverse, in C order; LinAlgError if a is singular."""
    z = np.empty(a.shape)
    write_inverse(a, z)
    return z


def write_inverse(a: Any, z: Any) -> None:
    """z = a^-1; LinAlgError if a is singular."""
    z[...] = np.linalg.inv(a)


@add_overload(write_inverse, jit_options=INTERNAL_OPTIONS)
def _write_inverse(a: Any, z: Any) -> Any:
    """By loops, or by LAPACK's getrf and getri as in Numba."""

    def implementation(a: Any, z: Any) -> None:
        n = len(a)
        room = np.empty((n + 1, n))
        factors, exchanges = room[:n], room[n]
        if factor_by_loops(a, factors, exchanges):
            for i in range(n):
                for j in range(n):
                    z[i, j] = 1.0 if i == j else 0.0
            solve_factored(factors, exchanges, z)
            return
        require_finite(a)
        columns, order = turn(a), np.empty(n, INTEGER)  # to LAPACK a
        if n != 0:
            require_inverted(_getrf(_KIND, n, n, columns.ctypes, n, order.ctypes))
            require_inverted(_getri(_KIND, n, columns.ctypes, n, order.ctypes))
        write_into(z, turn(columns))

    return implementation


def find_det(a: Any) -> Any:
    """The determinant."""
    return np.linalg.det(a)


@add_overload(find_det, jit_options=INTERNAL_OPTIONS)
def _find_det(a: Any) -> Any:
    def implementation(a: Any) -> Any:
        n = len(a)
        room = np.empty((n + 1, n))
        factors, exchanges = room[:n], room[n]
        if not factor_by_loops(a, factors, exchanges):
            return np.linalg.det(in_order(a))
        found = 1.0
        for i in range(n):
            found *= factors[i, i] if exchanges[i] == i + 1 else -factors[i, i]
        return found

    return implementation
