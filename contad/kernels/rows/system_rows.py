"""Kernels of systems, inverses, determinants, exponentials and lengths: `row_tables` specifies them."""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.lapack import trsm
from contad.compile.overloads import add_overload, in_machine_code
from contad.kernels.exponential_kernels import add_by_powers, along_by_powers, expm_with_powers
from contad.kernels.factor_kernels import (
    add_cofactors,
    add_inv,
    cofactors,
    cofactors_by_values,
    inv_tangent as tangent_of_inverse,
    solve_factored_transposed,
)
from contad.kernels.matrix_loops import (
    add_into,
    add_scaled,
    dot,
    has_finite,
    masked_sum,
    subtract,
    turn,
    write_into,
)
from contad.kernels.products_in_place import add_product
from contad.kernels.small_systems import (
    FEW_ROWS,
    find_det,
    invert_columns,
    solve_factored,
    write_factors,
    write_inverse,
)

_MANY = 24  # from this many rows and columns BLAS is faster than loops
_RIGHT, _UPPER, _LOWER, _NO, _YES, _UNIT = ord("R"), ord("U"), ord("L"), ord("N"), ord("T"), ord("U")


# ---- factors of a matrix ---------------------------------------------------------------------------------------------
@in_machine_code
def solve_factor(a, factors, exchanges):  # type: ignore[no-untyped-def]
    """The factors of a, and the exchanges of its rows; LinAlgError where a is singular."""
    if write_factors(a, factors, exchanges) != 0:
        raise np.linalg.LinAlgError("Matrix is singular to machine precision.")


def divide(factors: Any, exchanges: Any, c: Any, transposed: Any) -> None:
    """c = a^-1 c, or a^-T c."""
    if transposed:
        solve_factored_transposed(factors, exchanges, c)
    else:
        solve_factored(factors, exchanges, c)


@add_overload(divide, jit_options=INTERNAL_OPTIONS)
def _divide(factors: Any, exchanges: Any, c: Any, transposed: Any) -> Any:
    def implementation(factors: Any, exchanges: Any, c: Any, transposed: Any) -> None:
        n, k = c.shape
        if n < _MANY or k < _MANY:
            if transposed:
                solve_factored_transposed(factors, exchanges, c)
            else:
                solve_factored(factors, exchanges, c)
            return
        # BLAS sees rows as columns: the triangles change places, and the system is on the right
        if transposed:
            trsm((_RIGHT, _LOWER, _YES, _NO, k, n, 1.0, factors, n, c, k))
            trsm((_RIGHT, _UPPER, _YES, _UNIT, k, n, 1.0, factors, n, c, k))
        for done in range(n):
            i = n - 1 - done if transposed else done
            j = int(exchanges[i]) - 1
            if i != j:
                for m in range(k):
                    c[i, m], c[j, m] = c[j, m], c[i, m]
        if not transposed:
            trsm((_RIGHT, _UPPER, _NO, _UNIT, k, n, 1.0, factors, n, c, k))
            trsm((_RIGHT, _LOWER, _NO, _NO, k, n, 1.0, factors, n, c, k))

    return implementation


# ---- systems ---------------------------------------------------------------------------------------------------------
@in_machine_code
def solve_value(b, factors, exchanges, transposed, z):  # type: ignore[no-untyped-def]
    """a z = b; LinAlgError, as Numba's own, unless b is finite"""
    if not has_finite(b):
        raise np.linalg.LinAlgError("Array must not contain infs or NaNs.")
    write_into(z, b)
    divide(factors, exchanges, z, transposed)


@in_machine_code
def solve_adjoint(z_bar, z, factors, exchanges, transposed, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += c, a_bar -= c z^T, with c = a^-T z_bar in place of z_bar"""
    c = z_bar
    divide(factors, exchanges, c, not transposed)
    add_into(b_bar, c)
    if a_bar.size != 0:
        if transposed:
            c, z = z, c
        if z.shape[1] == 1:
            for i in range(len(a_bar)):
                for j in range(len(a_bar)):
                    a_bar[i, j] -= c[i, 0] * z[j, 0]
        else:
            add_product(-1.0, c, z.T, a_bar)


@in_machine_code
def solve_tangent(z, factors, exchanges, transposed, a_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    if transposed:
        a_dot = turn(a_dot)
    write_into(z_dot, subtract(b_dot, dot(a_dot, z)))
    divide(factors, exchanges, z_dot, transposed)


# ---- inverses and determinants ---------------------------------------------------------------------------------------
@in_machine_code
def inv_value(a, z):  # type: ignore[no-untyped-def]
    """a z = 1"""
    if len(a) == 1 and a[0, 0] != 0.0:  # as with one observed number; without memory for factors
        z[0, 0] = 1.0 / a[0, 0]
    else:
        write_inverse(a, z)


@in_machine_code
def inv_adjoint(z_bar, z, a_bar):  # type: ignore[no-untyped-def]
    """a_bar -= z^T z_bar z^T"""
    if len(z) == 1:
        a_bar[0, 0] -= z[0, 0] * z_bar[0, 0] * z[0, 0]
    else:
        add_inv(z_bar, z, a_bar)


@in_machine_code
def inv_tangent(z, a_dot, z_dot):  # type: ignore[no-untyped-def]
    """-z a_dot z"""
    write_into(z_dot, tangent_of_inverse(z, a_dot))


@in_machine_code
def det_value(a, z):  # type: ignore[no-untyped-def]
    """The determinant."""
    z[0, 0] = a[0, 0] if len(a) == 1 else find_det(a)


@in_machine_code
def det_adjoint(z_bar, z, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += z_bar c, c: the matrix of cofactors"""
    if len(a) == 1:
        a_bar[0, 0] += z_bar[0, 0]
    else:
        add_scaled(a_bar, 0, 0, z_bar[0, 0], cofactors(z[0, 0], a))


@in_machine_code
def det_tangent(z, a, a_dot, z_dot):  # type: ignore[no-untyped-def]
    """<c, a_dot>"""
    z_dot[0, 0] = masked_sum(cofactors(z[0, 0], a), a_dot)


@in_machine_code
def singular_cofactors_value(a, z):  # type: ignore[no-untyped-def]
    """By singular values."""
    write_into(z, cofactors_by_values(a))


@in_machine_code
def singular_cofactors_adjoint(z_bar, a, a_bar):  # type: ignore[no-untyped-def]
    """By `add_cofactors`."""
    add_cofactors(z_bar, a, a_bar)


@in_machine_code
def _sum_logs(factors):  # type: ignore[no-untyped-def]
    """The logarithm of the magnitude of the determinant."""
    log = 0.0
    for i in range(len(factors)):
        log += np.log(abs(factors[i, i]))
    return log


def transposed_inverse(factors: Any, exchanges: Any) -> Any:
    """a^-T"""
    made = np.eye(len(factors))
    divide(factors, exchanges, made, True)
    return made


@add_overload(transposed_inverse, jit_options=INTERNAL_OPTIONS)
def _transposed_inverse(factors: Any, exchanges: Any) -> Any:
    """By loops, or by LAPACK's getri, which takes two thirds of the multiplications."""

    def implementation(factors: Any, exchanges: Any) -> Any:
        n = len(factors)
        if n <= FEW_ROWS:
            made = np.zeros((n, n))
            for i in range(n):
                made[i, i] = 1.0
            divide(factors, exchanges, made, True)
            return made
        return invert_columns(turn(factors), exchanges)  # to LAPACK a^-1

    return implementation


log_determinant_factor = solve_factor


@in_machine_code
def log_determinant_value(factors, log):  # type: ignore[no-untyped-def]
    """The logarithm of the magnitude of the determinant."""
    log[0, 0] = _sum_logs(factors)


@in_machine_code
def log_determinant_adjoint(log_bar, log, factors, exchanges, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += log_bar a^-T; nan if a is singular"""
    if log_bar[0, 0] != 0.0:
        if log[0, 0] == -np.inf:
            add_scaled(a_bar, 0, 0, np.nan, factors)
        else:
            add_scaled(a_bar, 0, 0, log_bar[0, 0], transposed_inverse(factors, exchanges))


@in_machine_code
def log_determinant_tangent(log, factors, exchanges, a_dot, log_dot):  # type: ignore[no-untyped-def]
    """<a^-T, a_dot>; nan if a is singular"""
    if log[0, 0] == -np.inf:
        log_dot[0, 0] = np.nan
    else:
        log_dot[0, 0] = masked_sum(transposed_inverse(factors, exchanges), a_dot)


@in_machine_code
def slogdet_factor(a, factors, exchanges):  # type: ignore[no-untyped-def]
    """The factors, also for a singular matrix."""
    write_factors(a, factors, exchanges)


@in_machine_code
def slogdet_value(factors, exchanges, sign, log):  # type: ignore[no-untyped-def]
    """The sign, which is constant, and the logarithm."""
    sign[0, 0], log[0, 0] = 1.0, _sum_logs(factors)
    for i in range(len(factors)):
        if factors[i, i] == 0.0:
            sign[0, 0], log[0, 0] = 0.0, -np.inf
        if (factors[i, i] < 0.0) != (exchanges[i] != i + 1):
            sign[0, 0] = -sign[0, 0]


slogdet_adjoint, slogdet_tangent = log_determinant_adjoint, log_determinant_tangent


# ---- exponentials ----------------------------------------------------------------------------------------------------
@in_machine_code
def expm_value(a, powers, z):  # type: ignore[no-untyped-def]
    """exp(a); the powers of a are saved"""
    write_into(z, expm_with_powers(a, powers))


expm_adjoint = add_by_powers


@in_machine_code
def expm_tangent(a, powers, a_dot, z_dot):  # type: ignore[no-untyped-def]
    """L(a, a_dot)"""
    write_into(z_dot, along_by_powers(a, a_dot, powers))


# ---- lengths ---------------------------------------------------------------------------------------------------------
@in_machine_code
def euclidean_norm_value(x, z):  # type: ignore[no-untyped-def]
    """The root of the sum of squares."""
    total = 0.0
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(row.size):
            total += row[j] * row[j]
    z[0, 0] = np.sqrt(total)


@in_machine_code
def euclidean_norm_leave(z):  # type: ignore[no-untyped-def]
    """The norm is 0, or so small that squares underflow."""
    if not z[0, 0] > 1e-140:
        raise ValueError("a small vector")


@in_machine_code
def euclidean_norm_adjoint(z_bar, z, x, x_bar):  # type: ignore[no-untyped-def]
    """x_bar += z_bar x / z"""
    add_scaled(x_bar, 0, 0, z_bar[0, 0] / z[0, 0], x)


@in_machine_code
def euclidean_norm_tangent(z, x, x_dot, z_dot):  # type: ignore[no-untyped-def]
    """<x, x_dot> / z"""
    z_dot[0, 0] = masked_sum(x, x_dot) / z[0, 0]
