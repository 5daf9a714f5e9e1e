"""Kernels of pseudoinverses and least squares: `row_tables` specifies them."""

import numpy as np

from contad.compile.overloads import in_machine_code
from contad.kernels.least_squares_kernels import (
    add_lstsq,
    add_pinv,
    lstsq_tangent as tangents_of_fit,
    pinv_tangent as tangent_of_inverse,
)
from contad.kernels.matrix_loops import write_into, write_vector


# ---- pseudoinverses --------------------------------------------------------------------------------------------------
@in_machine_code
def pinv_value(a, rcond, z):  # type: ignore[no-untyped-def]
    """The pseudoinverse."""
    write_into(z, np.linalg.pinv(a, rcond[0, 0]))


@in_machine_code
def pinv_adjoint(z_bar, z, a, rcond, a_bar):  # type: ignore[no-untyped-def]
    """By `add_pinv`."""
    add_pinv(z_bar, z, a, rcond[0, 0], a_bar)


@in_machine_code
def pinv_tangent(z, a, rcond, a_dot, z_dot):  # type: ignore[no-untyped-def]
    """By `pinv_tangent` of `least_squares_kernels`."""
    write_into(z_dot, tangent_of_inverse(z, a, rcond[0, 0], a_dot))


# ---- least squares ---------------------------------------------------------------------------------------------------
@in_machine_code
def lstsq_value(a, b, rcond, x, squares, s, rank):  # type: ignore[no-untyped-def]
    """The solution, the sums of squares if they are not zero, singular values and the rank."""
    solution, rest, found, values = np.linalg.lstsq(a, b, rcond[0, 0])
    write_into(x, solution)
    for k in range(squares.size):
        squares[k] = 0.0
    write_vector(squares, rest)
    write_vector(s, values)
    rank[0, 0] = found


@in_machine_code
def lstsq_adjoint(x_bar, squares_bar, s_bar, x, rank, a, b, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """By `add_lstsq`."""
    of_a = a_bar if a_bar.size != 0 else np.zeros(a.shape)
    of_b = b_bar if b_bar.size != 0 else np.zeros(b.shape)
    add_lstsq(x_bar, squares_bar, s_bar, x, int(rank[0, 0]), a, b, of_a, of_b)


@in_machine_code
def lstsq_tangent(x, rank, a, b, a_dot, b_dot, x_dot, squares_dot, s_dot):  # type: ignore[no-untyped-def]
    """The tangents of the solution, the sums of squares and the singular values."""
    of_x, of_squares, of_s = tangents_of_fit(x, int(rank[0, 0]), a, b, a_dot, b_dot)
    write_into(x_dot, of_x)
    write_vector(squares_dot, of_squares)
    write_vector(s_dot, of_s)
