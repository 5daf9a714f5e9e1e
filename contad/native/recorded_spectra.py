"""What recorded programs do with QR factors, eigenvalues and singular values: values, adjoints and tangents.

The rules are those of `contad.ops`; how kernels are called is told in `contad.native.recorded_operands`.
"""

import numpy as np
from numba import types
from numba.np.linalg import _LAPACK, _check_finite_matrix

from contad.native.arena import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.matrix_loops import add_scaled, in_order, turn, write_row, write_rows
from contad.native.recorded_operands import adjoint, block, fields, give, operand, put, result, tangent
from contad.native.spectral_kernels import (
    add_eig,
    add_eigh,
    add_qr,
    add_svd,
    eig_tangent,
    eigh_tangent,
    find_real_spectrum,
    qr_tangent,
    reduced_svd,
    svd_tangent,
)
from contad.native.step_fields import FIRST, RESULT, TURNED, A, M, N

_evd = _LAPACK().numba_ez_xxxevd(types.float64)
_KIND, _VECTORS, _UPPER = ord("d"), ord("V"), ord("U")


# ---- QR factors: q, and below it r -----------------------------------------------------------------------------------
def orthogonal_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a = q r"""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    q, r = np.linalg.qr(operand(shape, A, values_at, constants_at, m, n))
    for i in range(n):
        if r[i, i] == 0.0:
            raise np.linalg.LinAlgError("the rank is less")
    if shape[TURNED] != 0:
        z = np.empty((m + n, n))
        write_rows(z, 0, q)
        write_rows(z, m, r)
        put(shape, values_at, z)
    else:
        cells = block(values_at, shape[RESULT], m + n, n)
        write_rows(cells, 0, q)
        write_rows(cells, m, r)


def orthogonal_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """(q_bar + q c) r^-T"""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    z, z_bar = result(shape, values_at, m + n, n), result(shape, adjoints_at, m + n, n)
    none, a_bar = np.empty((m, 0)), adjoint(shape, A, adjoints_at, m, n)
    add_qr(z_bar[:m], z_bar[m:], z[:m], z[m:], none, a_bar)
    give(shape, A, adjoints_at, a_bar)


def orthogonal_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of the factors."""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    z, a = result(shape, values_at, m + n, n), operand(shape, A, values_at, constants_at, m, n)
    q_dot, r_dot = qr_tangent(z[:m], z[m:], a, tangent(shape, A, dots_at, m, n))
    z_dot = np.empty((m + n, n))
    write_rows(z_dot, 0, q_dot)
    write_rows(z_dot, m, r_dot)
    put(shape, dots_at, z_dot)


# ---- eigenvalues in a row, and vectors below; FIRST: of the upper triangle -------------------------------------------
def eigh_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a v = v diag(w) for a symmetric a"""
    shape = fields(shape_at)
    n = shape[N]
    a = operand(shape, A, values_at, constants_at, n, n)
    if shape[FIRST] != 0:  # the signs of the vectors are LAPACK's for this triangle
        _check_finite_matrix(a)
        columns, w = turn(a), np.empty(n)
        if _evd(_KIND, _VECTORS, _UPPER, n, columns.ctypes, n, w.ctypes) != 0:
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        put_spectrum(shape, values_at, w, turn(columns))
    else:
        w, v = np.linalg.eigh(a)
        put_spectrum(shape, values_at, w, in_order(v))


@njit(**INTERNAL_OPTIONS)
def put_spectrum(shape, at, w, v):  # type: ignore[no-untyped-def]
    """Write eigenvalues and vectors, or their tangents."""
    z = np.empty((w.size + 1, w.size))
    write_row(z, 0, w)
    write_rows(z, 1, v)
    put(shape, at, z)


def eigh_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """On the triangle that is read."""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = result(shape, values_at, n + 1, n), result(shape, adjoints_at, n + 1, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    if shape[FIRST] != 0:
        found = np.zeros((n, n))
        add_eigh(z_bar[0], z_bar[1:], z[0], z[1:], found)
        add_scaled(a_bar, 0, 0, 1.0, turn(found))
    else:
        add_eigh(z_bar[0], z_bar[1:], z[0], z[1:], a_bar)
    give(shape, A, adjoints_at, a_bar)


def eigh_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and vectors."""
    shape = fields(shape_at)
    n = shape[N]
    z, a_dot = result(shape, values_at, n + 1, n), tangent(shape, A, dots_at, n, n)
    if shape[FIRST] != 0:
        a_dot = turn(a_dot)
    w_dot, v_dot = eigh_tangent(z[0], z[1:], a_dot)
    put_spectrum(shape, dots_at, w_dot, v_dot)


def eig_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a v = v diag(w); it raises where an eigenvalue is complex"""
    shape = fields(shape_at)
    n = shape[N]
    w, v = find_real_spectrum(operand(shape, A, values_at, constants_at, n, n), False)
    put_spectrum(shape, values_at, w, v)


def eig_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """The adjoint."""
    shape = fields(shape_at)
    n = shape[N]
    z, z_bar = result(shape, values_at, n + 1, n), result(shape, adjoints_at, n + 1, n)
    a_bar = adjoint(shape, A, adjoints_at, n, n)
    add_eig(z_bar[0], z_bar[1:], z[0], z[1:], a_bar)
    give(shape, A, adjoints_at, a_bar)


def eig_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and vectors."""
    shape = fields(shape_at)
    n = shape[N]
    z = result(shape, values_at, n + 1, n)
    w_dot, v_dot = eig_tangent(z[0], z[1:], tangent(shape, A, dots_at, n, n))
    put_spectrum(shape, dots_at, w_dot, v_dot)


# ---- singular values: u, s as a row, and v ---------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def put_factors(shape, at, u, s, vt):  # type: ignore[no-untyped-def]
    """Write the factors, or their tangents."""
    m, n, k = u.shape[0], vt.shape[1], s.size
    z = np.empty((m + 1 + n, k))
    write_rows(z, 0, u)
    write_row(z, m, s)
    write_rows(z, m + 1, vt.T)
    put(shape, at, z)


def svd_value(shape_at, values_at, constants_at, target_at):  # type: ignore[no-untyped-def]
    """a = u diag(s) v^T"""
    shape = fields(shape_at)
    u, s, vt = reduced_svd(operand(shape, A, values_at, constants_at, shape[M], shape[N]))
    put_factors(shape, values_at, u, s, vt)


def svd_adjoint(shape_at, values_at, constants_at, adjoints_at):  # type: ignore[no-untyped-def]
    """The adjoint."""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    k = min(m, n)
    z, z_bar = result(shape, values_at, m + 1 + n, k), result(shape, adjoints_at, m + 1 + n, k)
    a_bar = adjoint(shape, A, adjoints_at, m, n)
    add_svd(z_bar[:m], z_bar[m], turn(z_bar[m + 1 :]), z[:m], z[m], turn(z[m + 1 :]), a_bar)
    give(shape, A, adjoints_at, a_bar)


def svd_push(shape_at, values_at, constants_at, dots_at):  # type: ignore[no-untyped-def]
    """The tangents of the factors."""
    shape = fields(shape_at)
    m, n = shape[M], shape[N]
    z = result(shape, values_at, m + 1 + n, min(m, n))
    u_dot, s_dot, vt_dot = svd_tangent(z[:m], z[m], turn(z[m + 1 :]), tangent(shape, A, dots_at, m, n))
    put_factors(shape, dots_at, u_dot, s_dot, vt_dot)


KERNELS = {
    "orthogonal_factor": (orthogonal_value, orthogonal_adjoint, orthogonal_push),
    "symmetric_spectrum": (eigh_value, eigh_adjoint, eigh_push),
    "real_spectrum": (eig_value, eig_adjoint, eig_push),
    "singular_spectrum": (svd_value, svd_adjoint, svd_push),
}
