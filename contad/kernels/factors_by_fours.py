"""The Cholesky factor of a matrix of moderate size, and its adjoint, by matrix blocks of four rows in vector registers.

    is_done = factor_by_fours(a, z)      z = the factor of the lower triangle of a
    is_done = reverse_by_fours(z, bar)   bar = the adjoint of that triangle, in place of that of its factor z

At twenty rows a LAPACK routine takes longer to start than to compute, and loops over a triangle are too short for the
compiler to vectorise. These functions refuse other matrices: with few or many rows, with a number that is not finite,
or where a factor may not exist. `triangles_by_fours` solves with the factors.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.emitting import ir
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload
from contad.compile.words import numbers_at
from contad.kernels.lanes import LanesType, lane, lanes_at, put_lanes
from contad.kernels.matrix_loops import in_rows, is_in_rows

FEWEST_ROWS = 9  # loops handle fewer rows
MOST_ROWS = 128  # up to this size they are faster than routines that block matrices for the cache
_OPTIONS = INTERNAL_OPTIONS | {"fastmath": {"contract"}}  # as BLAS does
_SINGULAR = 1e-8  # the smallest pivot relative to the diagonal
_FOUR = LanesType(4)


@intrinsic
def turn_four(typingctx, a, b, c, d):  # type: ignore[no-untyped-def]
    """The columns of four rows of four numbers."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def choose(x: Any, y: Any, places: list[int]) -> Any:
            return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), 4), places))

        low = [choose(args[0], args[1], [0, 4, 2, 6]), choose(args[2], args[3], [0, 4, 2, 6])]
        high = [choose(args[0], args[1], [1, 5, 3, 7]), choose(args[2], args[3], [1, 5, 3, 7])]
        turned = [choose(low[0], low[1], [0, 1, 4, 5]), choose(high[0], high[1], [0, 1, 4, 5])]
        turned += [choose(low[0], low[1], [2, 3, 6, 7]), choose(high[0], high[1], [2, 3, 6, 7])]
        return context.make_tuple(builder, signature.return_type, turned)

    return types.UniTuple(_FOUR, 4)(_FOUR, _FOUR, _FOUR, _FOUR), codegen


@njit(**_OPTIONS)
def numbers_of(a):  # type: ignore[no-untyped-def]
    """The numbers of an array in C order, which the caller keeps alive."""
    return numbers_at(a.ctypes.data)


@njit(**_OPTIONS)
def _turn(a, at, stride, z, to, z_stride):  # type: ignore[no-untyped-def]
    """Write the transpose of a 4 by 4 matrix block."""
    p, q, r, s = turn_four(
        lanes_at(a, at, 4),
        lanes_at(a, at + stride, 4),
        lanes_at(a, at + 2 * stride, 4),
        lanes_at(a, at + 3 * stride, 4),
    )
    put_lanes(z, to, p, 4)
    put_lanes(z, to + z_stride, q, 4)
    put_lanes(z, to + 2 * z_stride, r, 4)
    put_lanes(z, to + 3 * z_stride, s, 4)


@njit(**_OPTIONS)
def _subtract_four(z, z_at, z_stride, x, x_at, x_stride, w, w_at, along, across, left, right):  # type: ignore[no-untyped-def]
    """z[r, k] -= w[s, r] x[s, k], for four rows r and s, and columns k from left to right."""
    a_0, a_1, a_2, a_3 = w[w_at], w[w_at + along], w[w_at + 2 * along], w[w_at + 3 * along]
    w_at += across
    b_0, b_1, b_2, b_3 = w[w_at], w[w_at + along], w[w_at + 2 * along], w[w_at + 3 * along]
    w_at += across
    c_0, c_1, c_2, c_3 = w[w_at], w[w_at + along], w[w_at + 2 * along], w[w_at + 3 * along]
    w_at += across
    d_0, d_1, d_2, d_3 = w[w_at], w[w_at + along], w[w_at + 2 * along], w[w_at + 3 * along]
    z_1, z_2, z_3 = z_at + z_stride, z_at + 2 * z_stride, z_at + 3 * z_stride
    x_1, x_2, x_3 = x_at + x_stride, x_at + 2 * x_stride, x_at + 3 * x_stride
    for k in range(left, right, 4):
        p, q, r, s = lanes_at(x, x_at + k, 4), lanes_at(x, x_1 + k, 4), lanes_at(x, x_2 + k, 4), lanes_at(x, x_3 + k, 4)
        put_lanes(z, z_at + k, lanes_at(z, z_at + k, 4) - p * a_0 - q * a_1 - r * a_2 - s * a_3, 4)
        put_lanes(z, z_1 + k, lanes_at(z, z_1 + k, 4) - p * b_0 - q * b_1 - r * b_2 - s * b_3, 4)
        put_lanes(z, z_2 + k, lanes_at(z, z_2 + k, 4) - p * c_0 - q * c_1 - r * c_2 - s * c_3, 4)
        put_lanes(z, z_3 + k, lanes_at(z, z_3 + k, 4) - p * d_0 - q * d_1 - r * d_2 - s * d_3, 4)


# ---- numbers of rows divisible by four -------------------------------------------------------------------------------
# Rows of U = L^T are contiguous. The callers keep the arrays alive: these functions get only addresses.


@njit(**_OPTIONS)
def _factor(of_a, of_z, room):  # type: ignore[no-untyped-def]
    """Write the factor of the lower triangle of a, with zeros above; return whether it is done.

    It is not done if a pivot is not finite, or small relative to the diagonal: then LAPACK decides whether there is a
    factor.
    """
    n = len(of_a)
    a, z, u = numbers_of(of_a), numbers_of(of_z), numbers_of(room)
    for j in range(0, n, 4):
        for i in range(j, n, 4):
            _turn(a, i * n + j, n, u, j * n + i, n)
    for j in range(0, n, 4):
        at_0 = j * n
        at_1, at_2, at_3 = at_0 + n, at_0 + 2 * n, at_0 + 3 * n
        d_0 = u[at_0 + j]
        root_0 = np.sqrt(d_0)
        over_0 = 1.0 / root_0
        u_01, u_02, u_03 = u[at_0 + j + 1] * over_0, u[at_0 + j + 2] * over_0, u[at_0 + j + 3] * over_0
        d_1 = u[at_1 + j + 1] - u_01 * u_01
        root_1 = np.sqrt(d_1)
        over_1 = 1.0 / root_1
        u_12, u_13 = (u[at_1 + j + 2] - u_01 * u_02) * over_1, (u[at_1 + j + 3] - u_01 * u_03) * over_1
        d_2 = u[at_2 + j + 2] - u_02 * u_02 - u_12 * u_12
        root_2 = np.sqrt(d_2)
        over_2 = 1.0 / root_2
        u_23 = (u[at_2 + j + 3] - u_02 * u_03 - u_12 * u_13) * over_2
        d_3 = u[at_3 + j + 3] - u_03 * u_03 - u_13 * u_13 - u_23 * u_23
        root_3 = np.sqrt(d_3)
        over_3 = 1.0 / root_3
        diagonal = j * n + j
        if not (
            _SINGULAR * a[diagonal] < d_0 < np.inf
            and _SINGULAR * a[diagonal + n + 1] < d_1 < np.inf
            and _SINGULAR * a[diagonal + 2 * n + 2] < d_2 < np.inf
            and _SINGULAR * a[diagonal + 3 * n + 3] < d_3 < np.inf
        ):
            return False
        to = j * n + j
        z[to], z[to + 1], z[to + 2], z[to + 3] = root_0, 0.0, 0.0, 0.0
        to += n
        z[to], z[to + 1], z[to + 2], z[to + 3] = u_01, root_1, 0.0, 0.0
        to += n
        z[to], z[to + 1], z[to + 2], z[to + 3] = u_02, u_12, root_2, 0.0
        to += n
        z[to], z[to + 1], z[to + 2], z[to + 3] = u_03, u_13, u_23, root_3
        for k in range(j + 4, n, 4):
            p = lanes_at(u, at_0 + k, 4) * over_0
            q = (lanes_at(u, at_1 + k, 4) - p * u_01) * over_1
            r = (lanes_at(u, at_2 + k, 4) - p * u_02 - q * u_12) * over_2
            s = (lanes_at(u, at_3 + k, 4) - p * u_03 - q * u_13 - r * u_23) * over_3
            put_lanes(u, at_0 + k, p, 4)
            put_lanes(u, at_1 + k, q, 4)
            put_lanes(u, at_2 + k, r, 4)
            put_lanes(u, at_3 + k, s, 4)
            p, q, r, s = turn_four(p, q, r, s)
            to = k * n + j
            put_lanes(z, to, p, 4)
            put_lanes(z, to + n, q, 4)
            put_lanes(z, to + 2 * n, r, 4)
            put_lanes(z, to + 3 * n, s, 4)
            to = j * n + k
            put_lanes(z, to, 0.0, 4)
            put_lanes(z, to + n, 0.0, 4)
            put_lanes(z, to + 2 * n, 0.0, 4)
            put_lanes(z, to + 3 * n, 0.0, 4)
        for i in range(j + 4, n, 4):
            _subtract_four(u, i * n, n, u, at_0, n, u, at_0 + i, n, 1, i, n)
    return True


@njit(**_OPTIONS)
def _reverse(of_z, of_bar, made):  # type: ignore[no-untyped-def]
    """Write S + S^T, where the lower triangle of S is the adjoint of that of the matrix; return whether all of it is
    finite.

    It goes from the last rows of U to the first. After the rows of a matrix block are subtracted, s already holds the
    adjoint of the remaining matrix.
    """
    n, nothing = len(of_z), 0.0
    z, bar, s = numbers_of(of_z), numbers_of(of_bar), numbers_of(made)
    for j in range(n - 4, -1, -4):
        for i in range(j, n, 4):
            _turn(bar, i * n + j, n, s, j * n + i, n)
        at_0 = j * n
        at_1, at_2, at_3 = at_0 + n, at_0 + 2 * n, at_0 + 3 * n
        corner = j * n + j
        over_0 = 1.0 / z[corner]
        corner += n
        u_01, over_1 = z[corner], 1.0 / z[corner + 1]
        corner += n
        u_02, u_12, over_2 = z[corner], z[corner + 1], 1.0 / z[corner + 2]
        corner += n
        u_03, u_13, u_23, over_3 = z[corner], z[corner + 1], z[corner + 2], 1.0 / z[corner + 3]
        for i in range(j + 4, n, 4):
            _subtract_four(s, at_0, n, s, i * n, n, z, i * n + j, n, 1, j + 4, n)
        d_0 = d_1 = d_2 = d_3 = 0.0
        for k in range(j + 4, n, 4):
            d = lanes_at(s, at_3 + k, 4) * over_3
            c = (lanes_at(s, at_2 + k, 4) - d * u_23) * over_2
            b = (lanes_at(s, at_1 + k, 4) - c * u_12 - d * u_13) * over_1
            a = (lanes_at(s, at_0 + k, 4) - b * u_01 - c * u_02 - d * u_03) * over_0
            put_lanes(s, at_0 + k, a, 4)
            put_lanes(s, at_1 + k, b, 4)
            put_lanes(s, at_2 + k, c, 4)
            put_lanes(s, at_3 + k, d, 4)
            nothing += (a + b + c + d) * 0.0
            a, b, c, d = turn_four(a, b, c, d)
            to = k * n + j
            put_lanes(s, to, a, 4)
            put_lanes(s, to + n, b, 4)
            put_lanes(s, to + 2 * n, c, 4)
            put_lanes(s, to + 3 * n, d, 4)
            w = k * n + j
            w_1, w_2, w_3 = w + n, w + 2 * n, w + 3 * n
            d_0 += a * z[w] + b * z[w_1] + c * z[w_2] + d * z[w_3]
            d_1 += a * z[w + 1] + b * z[w_1 + 1] + c * z[w_2 + 1] + d * z[w_3 + 1]
            d_2 += a * z[w + 2] + b * z[w_1 + 2] + c * z[w_2 + 2] + d * z[w_3 + 2]
            d_3 += a * z[w + 3] + b * z[w_1 + 3] + c * z[w_2 + 3] + d * z[w_3 + 3]
        s_33 = (s[at_3 + j + 3] - lane(d_3, 3)) * over_3
        s_23 = (s[at_2 + j + 3] - lane(d_2, 3) - s_33 * u_23) * over_2
        s_22 = (s[at_2 + j + 2] - lane(d_2, 2) - s_23 * u_23) * over_2
        s_13 = (s[at_1 + j + 3] - lane(d_1, 3) - s_23 * u_12 - s_33 * u_13) * over_1
        s_12 = (s[at_1 + j + 2] - lane(d_1, 2) - s_22 * u_12 - s_23 * u_13) * over_1
        s_11 = (s[at_1 + j + 1] - lane(d_1, 1) - s_12 * u_12 - s_13 * u_13) * over_1
        s_03 = (s[at_0 + j + 3] - lane(d_0, 3) - s_13 * u_01 - s_23 * u_02 - s_33 * u_03) * over_0
        s_02 = (s[at_0 + j + 2] - lane(d_0, 2) - s_12 * u_01 - s_22 * u_02 - s_23 * u_03) * over_0
        s_01 = (s[at_0 + j + 1] - lane(d_0, 1) - s_11 * u_01 - s_12 * u_02 - s_13 * u_03) * over_0
        s_00 = (s[at_0 + j] - lane(d_0, 0) - s_01 * u_01 - s_02 * u_02 - s_03 * u_03) * over_0
        nothing += (s_00 + s_01 + s_02 + s_03 + s_11 + s_12 + s_13 + s_22 + s_23 + s_33) * 0.0
        to = at_0 + j
        s[to], s[to + 1], s[to + 2], s[to + 3] = s_00, s_01, s_02, s_03
        to += n
        s[to], s[to + 1], s[to + 2], s[to + 3] = s_01, s_11, s_12, s_13
        to += n
        s[to], s[to + 1], s[to + 2], s[to + 3] = s_02, s_12, s_22, s_23
        to += n
        s[to], s[to + 1], s[to + 2], s[to + 3] = s_03, s_13, s_23, s_33
    return lane(nothing, 0) + lane(nothing, 1) + lane(nothing, 2) + lane(nothing, 3) == 0.0


# ---- all matrices ----------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def _pad(a, n, unit):  # type: ignore[no-untyped-def]
    """The lower triangle of a in n rows, with zeros elsewhere, and `unit` on the rest of the diagonal."""
    made = np.zeros((n, n))
    for i in range(len(a)):
        for j in range(i + 1):
            made[i, j] = a[i, j]
    for i in range(len(a), n):
        made[i, i] = unit
    return made


@njit(**_OPTIONS)
def _begin(a, b):  # type: ignore[no-untyped-def]
    """The number of rows rounded up to fours, 0 if this refuses the matrices; and whether both are in C order without
    padding."""
    m = len(a)
    n = (m + 3) // 4 * 4 if FEWEST_ROWS <= m <= MOST_ROWS else 0
    return n, n == m and is_in_rows(a) and is_in_rows(b)


def factor_by_fours(a: Any, z: Any) -> bool:
    """Write the factor into z, with zeros above; return whether it is done. In plain Python it is not."""
    return False


def reverse_by_fours(z: Any, bar: Any) -> bool:
    """Write the adjoint of the triangle over that of its factor; return whether it is done. In plain Python it is
    not."""
    return False


@add_overload(factor_by_fours, jit_options=_OPTIONS)
def _factor_by_fours(a: Any, z: Any) -> Any:
    def implementation(a: Any, z: Any) -> bool:
        n, is_whole = _begin(a, z)
        if n == 0:
            return False
        room = np.empty((n, n))
        if is_whole:
            return _factor(in_rows(a), in_rows(z), room)
        made = np.empty((n, n))
        if not _factor(_pad(a, n, 1.0), made, room):
            return False
        for i in range(len(z)):
            for j in range(len(z)):
                z[i, j] = made[i, j]
        return True

    return implementation


@add_overload(reverse_by_fours, jit_options=_OPTIONS)
def _reverse_by_fours(z: Any, bar: Any) -> Any:
    def implementation(z: Any, bar: Any) -> bool:
        n, is_whole = _begin(z, bar)
        if n == 0:
            return False
        made = np.empty((n, n))
        if is_whole:
            is_finite = _reverse(in_rows(z), in_rows(bar), made)
        else:
            is_finite = _reverse(_pad(z, n, 1.0), _pad(bar, n, 0.0), made)
        if not is_finite:
            return False
        for i in range(len(z)):
            for j in range(i):
                bar[i, j] = made[i, j]
            bar[i, i] = 0.5 * made[i, i]
        return True

    return implementation
