"""Kernels of Cholesky's factors, triangular systems and bands: `row_tables` specifies them."""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels import triangular_kernels as triangular
from contad.kernels.factor_kernels import add_cholesky, cholesky_tangent, write_cholesky
from contad.kernels.matrix_loops import add_into, write_into


# ---- Cholesky's factor -----------------------------------------------------------------------------------------------
@in_machine_code
def cholesky_factor_value(a, z):  # type: ignore[no-untyped-def]
    """z z^T = a"""
    write_cholesky(a, z)


@in_machine_code
def cholesky_factor_adjoint(z_bar, z, a_bar):  # type: ignore[no-untyped-def]
    """On the lower triangle; z_bar is overwritten."""
    add_cholesky(z_bar, z, a_bar)


@in_machine_code
def cholesky_factor_tangent(z, a_dot, z_dot):  # type: ignore[no-untyped-def]
    """z P(z^-1 a_dot z^-T)"""
    write_into(z_dot, cholesky_tangent(z, a_dot))


# ---- triangular systems ----------------------------------------------------------------------------------------------
solve_triangular_value, solve_triangular_adjoint = triangular.write_triangular_solution, triangular.add_solve_triangular


@in_machine_code
def solve_triangular_tangent(a, z, transposed, lower, unit_diagonal, a_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    write_into(z_dot, triangular.solve_triangular_tangent(z, a, transposed, lower, unit_diagonal, a_dot, b_dot))


# ---- a Cholesky factor in one triangle, the matrix in the other, and systems with it ---------------------------------
@in_machine_code
def filled_cholesky_factor_value(a, lower, z):  # type: ignore[no-untyped-def]
    """z z^T = a"""
    write_into(z, triangular.cho_factor_forward(a, lower))


filled_cholesky_factor_adjoint = triangular.add_cho_factor


@in_machine_code
def filled_cholesky_factor_tangent(z, lower, a_dot, z_dot):  # type: ignore[no-untyped-def]
    """The tangent of the factor, and a_dot in the other triangle."""
    write_into(z_dot, triangular.cho_factor_tangent(z, lower, a_dot))


@in_machine_code
def cholesky_solution_value(c, b, lower, z):  # type: ignore[no-untyped-def]
    """c c^T z = b"""
    if not triangular.write_vector_of_factored(c, b, lower, z):
        write_into(z, triangular.cho_solve_forward(c, b, lower))


cholesky_solution_adjoint = triangular.pull_cho_solve


@in_machine_code
def cholesky_solution_tangent(c, b, lower, c_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """The tangent through the two triangular systems."""
    write_into(z_dot, triangular.cho_solve_tangent(c, b, lower, c_dot, b_dot))


# ---- banded systems --------------------------------------------------------------------------------------------------
@in_machine_code
def banded_solution_factor(ab, lower, upper, factors):  # type: ignore[no-untyped-def]
    """The factors of the band; LinAlgError if it is singular."""
    triangular.require_regular(triangular.factor_banded(lower, upper, ab, factors))


@in_machine_code
def banded_solution_value(b, lower, upper, factors, z):  # type: ignore[no-untyped-def]
    """a z = b"""
    write_into(z, b)
    triangular.solve_factored_band(lower, upper, factors, z, False)


@in_machine_code
def banded_solution_adjoint(z_bar, z, lower, upper, factors, ab_bar, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += c, ab_bar -= c z^T in the band, with c = a^-T z_bar in place of z_bar"""
    triangular.solve_factored_band(lower, upper, factors, z_bar, True)
    add_into(b_bar, z_bar)
    if ab_bar.size != 0:
        triangular.add_band_cotangents(z_bar, z, lower, upper, ab_bar, np.empty((0, 0)))


@in_machine_code
def banded_solution_tangent(ab, z, lower, upper, ab_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    write_into(z_dot, triangular.solve_banded_tangent(z, lower, upper, ab, ab_dot, b_dot))


# ---- positive definite banded systems, given by one half of the band -------------------------------------------------
@in_machine_code
def positive_banded_solution_factor(ab, lower, factors):  # type: ignore[no-untyped-def]
    """l of a = l l^T, as the lower half of a band; LinAlgError if a is not positive definite."""
    width, n = ab.shape
    for d in range(width):
        for j in range(n - d):
            factors[d, j] = ab[d, j] if lower else ab[width - 1 - d, j + d]
    for j in range(n):
        if not factors[0, j] > 0.0:
            raise np.linalg.LinAlgError(str(j + 1) + "th leading minor not positive definite")
        factors[0, j] = np.sqrt(factors[0, j])
        for d in range(1, min(width, n - j)):
            factors[d, j] /= factors[0, j]
            for e in range(1, d + 1):
                factors[d - e, j + e] -= factors[d, j] * factors[e, j]


@in_machine_code
def _solve_half_band(factors, c):  # type: ignore[no-untyped-def]
    """c = a^-1 c"""
    width, n = factors.shape
    for j in range(n):
        for k in range(c.shape[1]):
            c[j, k] /= factors[0, j]
            for d in range(1, min(width, n - j)):
                c[j + d, k] -= factors[d, j] * c[j, k]
    for j in range(n - 1, -1, -1):
        for k in range(c.shape[1]):
            for d in range(1, min(width, n - j)):
                c[j, k] -= factors[d, j] * c[j + d, k]
            c[j, k] /= factors[0, j]


@in_machine_code
def positive_banded_solution_value(b, factors, z):  # type: ignore[no-untyped-def]
    """a z = b"""
    write_into(z, b)
    _solve_half_band(factors, z)


@in_machine_code
def positive_banded_solution_adjoint(z_bar, z, lower, factors, ab_bar, b_bar):  # type: ignore[no-untyped-def]
    """b_bar += c, ab_bar -= c z^T in both halves of the band, with c = a^-1 z_bar in place of z_bar"""
    c = z_bar
    _solve_half_band(factors, c)
    add_into(b_bar, c)
    width, n = ab_bar.shape
    for d in range(width):
        for j in range(n - d):
            found = 0.0
            for k in range(c.shape[1]):
                found += c[j + d, k] * z[j, k]
                if d != 0:
                    found += c[j, k] * z[j + d, k]
            if lower:
                ab_bar[d, j] -= found
            else:
                ab_bar[width - 1 - d, j + d] -= found


@in_machine_code
def positive_banded_solution_tangent(z, lower, factors, ab_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """a^-1 (b_dot - a_dot z)"""
    write_into(z_dot, b_dot)
    width, n = ab_dot.shape
    for d in range(width):
        for j in range(n - d):
            of_a = ab_dot[d, j] if lower else ab_dot[width - 1 - d, j + d]
            for k in range(z.shape[1]):
                z_dot[j + d, k] -= of_a * z[j, k]
                if d != 0:
                    z_dot[j, k] -= of_a * z[j + d, k]
    _solve_half_band(factors, z_dot)
