"""Kernels of QR factors, eigenvalues and singular values: `row_tables` specifies them."""

from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.lapack import of_numba, require_finite
from contad.compile.overloads import add_overload, in_machine_code
from contad.kernels.least_squares_kernels import add_qr, qr_tangent
from contad.kernels.matrix_loops import add_scaled, in_order, turn, write_into, write_vector
from contad.kernels.spectral_kernels import (
    add_eig,
    add_eigh,
    add_svd,
    eig_tangent,
    eigh_tangent,
    find_real_spectrum,
    reduced_svd,
    svd_tangent,
)

_evd = of_numba("ez_xxxevd")
_KIND, _VECTORS, _UPPER = ord("d"), ord("V"), ord("U")


# ---- QR factors ------------------------------------------------------------------------------------------------------
@in_machine_code
def orthogonal_factor_value(a, q, r, rest):  # type: ignore[no-untyped-def]
    """a = q r; saves the columns after the square part"""
    orthogonal, upper = np.linalg.qr(a)
    write_into(q, orthogonal)
    write_into(r, upper)
    write_into(rest, a[:, r.shape[0] :])


@in_machine_code
def orthogonal_factor_leave(r):  # type: ignore[no-untyped-def]
    """The rank is deficient."""
    for i in range(r.shape[0]):
        if r[i, i] == 0.0:
            raise np.linalg.LinAlgError("the rank is less")


@in_machine_code
def orthogonal_factor_adjoint(q_bar, r_bar, q, r, rest, a_bar):  # type: ignore[no-untyped-def]
    """(q_bar + q c) r^-T"""
    add_qr(q_bar, r_bar, q, r, rest, a_bar)


@in_machine_code
def orthogonal_factor_tangent(q, r, a, a_dot, q_dot, r_dot):  # type: ignore[no-untyped-def]
    """The tangents of the factors."""
    of_q, of_r = qr_tangent(q, r, a, a_dot)
    write_into(q_dot, of_q)
    write_into(r_dot, of_r)


# ---- symmetric matrices ----------------------------------------------------------------------------------------------
def spectrum_of_upper(a: Any) -> Any:
    """(w, v) of the upper triangle, v in C order: the signs of the vectors are LAPACK's for this triangle."""
    w, v = np.linalg.eigh(a, "U")
    return w, np.ascontiguousarray(v)


@add_overload(spectrum_of_upper, jit_options=INTERNAL_OPTIONS)
def _spectrum_of_upper(a: Any) -> Any:
    def implementation(a: Any) -> Any:
        require_finite(a)
        n = len(a)
        columns, w = turn(a), np.empty(n)
        if _evd(_KIND, _VECTORS, _UPPER, n, columns.ctypes, n, w.ctypes) != 0:
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return w, turn(columns)

    return implementation


@in_machine_code
def symmetric_spectrum_value(a, upper, w, v):  # type: ignore[no-untyped-def]
    """a v = v diag(w) for a symmetric a"""
    if upper:
        values, vectors = spectrum_of_upper(a)
        write_vector(w, values)
        write_into(v, vectors)
    else:
        values, columns = np.linalg.eigh(a)
        write_vector(w, values)
        write_into(v, columns)


@in_machine_code
def symmetric_spectrum_adjoint(w_bar, v_bar, w, v, upper, a_bar):  # type: ignore[no-untyped-def]
    """On the triangle that the value reads."""
    if upper:
        found = np.zeros(v.shape)
        add_eigh(w_bar, v_bar, w, v, found)
        add_scaled(a_bar, 0, 0, 1.0, turn(found))
    else:
        add_eigh(w_bar, v_bar, w, v, a_bar)


@in_machine_code
def symmetric_spectrum_tangent(w, v, upper, a_dot, w_dot, v_dot):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and vectors."""
    of_w, of_v = eigh_tangent(w, v, turn(a_dot) if upper else a_dot)
    write_vector(w_dot, of_w)
    write_into(v_dot, of_v)


@in_machine_code
def eigvalsh_value(a, w):  # type: ignore[no-untyped-def]
    """The eigenvalues."""
    write_vector(w, np.linalg.eigvalsh(a))


@in_machine_code
def eigvalsh_adjoint(w_bar, a, a_bar):  # type: ignore[no-untyped-def]
    """a_bar += v diag(w_bar) v^T on the lower triangle, with vectors that the value does not compute"""
    w, v = np.linalg.eigh(a)
    add_eigh(w_bar, np.zeros(a.shape), w, in_order(v), a_bar)


@in_machine_code
def eigvalsh_tangent(a, a_dot, w_dot):  # type: ignore[no-untyped-def]
    """diag(v^T a_dot v)"""
    w, v = np.linalg.eigh(a)
    write_vector(w_dot, eigh_tangent(w, in_order(v), a_dot)[0])


# ---- general matrices ------------------------------------------------------------------------------------------------
@in_machine_code
def real_spectrum_value(a, w, v):  # type: ignore[no-untyped-def]
    """a v = v diag(w); raises if an eigenvalue is complex"""
    values, vectors = find_real_spectrum(a, False)
    write_vector(w, values)
    write_into(v, vectors)


@in_machine_code
def real_spectrum_adjoint(w_bar, v_bar, w, v, a_bar):  # type: ignore[no-untyped-def]
    """By `add_eig`."""
    add_eig(w_bar, v_bar, w, v, a_bar)


@in_machine_code
def real_spectrum_tangent(w, v, a_dot, w_dot, v_dot):  # type: ignore[no-untyped-def]
    """The tangents of eigenvalues and vectors."""
    of_w, of_v = eig_tangent(w, v, a_dot)
    write_vector(w_dot, of_w)
    write_into(v_dot, of_v)


@in_machine_code
def eigvals_value(a, w, v):  # type: ignore[no-untyped-def]
    """Likewise, for the eigenvalues alone: the derivative needs the vectors."""
    values, vectors = find_real_spectrum(a, True)
    write_vector(w, values)
    write_into(v, vectors)


eigvals_adjoint, eigvals_tangent = real_spectrum_adjoint, real_spectrum_tangent


# ---- singular values -------------------------------------------------------------------------------------------------
@in_machine_code
def singular_spectrum_value(a, u, s, vt):  # type: ignore[no-untyped-def]
    """a = u diag(s) v^T"""
    left, values, right = reduced_svd(a)
    write_into(u, left)
    write_vector(s, values)
    write_into(vt, right)


@in_machine_code
def singular_spectrum_adjoint(u_bar, s_bar, vt_bar, u, s, vt, a_bar):  # type: ignore[no-untyped-def]
    """By `add_svd`."""
    add_svd(u_bar, s_bar, vt_bar, u, s, vt, a_bar)


@in_machine_code
def singular_spectrum_tangent(u, s, vt, a_dot, u_dot, s_dot, vt_dot):  # type: ignore[no-untyped-def]
    """The tangents of the factors."""
    left, values, right = svd_tangent(u, s, vt, a_dot)
    write_into(u_dot, left)
    write_vector(s_dot, values)
    write_into(vt_dot, right)
