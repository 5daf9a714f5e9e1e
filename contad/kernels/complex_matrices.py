"""Decompositions and determinants of complex matrices in compiled code: parts of values, and adjoints.

Adjoints are those of the rules in `contad.ops`, which Python evaluates in objmode.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from contad.compile.overloads import in_objmode
from contad.ops.determinants import cofactors, inverse_transposed
from contad.ops.orthogonal_factors import orthogonal_cotangent
from contad.ops.singular_spectra import singular_cotangent
from contad.ops.spectra import real_cotangent, symmetric_cotangent

Matrix = NDArray[np.complex128]
_MATRIX = types.complex128[:, ::1]


# ---- parts of values, as generated source calls them -----------------------------------------------------------------
def complex_det(a: Any, b: Any) -> Any:
    """The determinant of a + i b."""
    z = np.linalg.det(a + 1j * b)
    return z.real, z.imag


def complex_slogdet(a: Any, b: Any) -> Any:
    """Its phase, and the logarithm of its magnitude."""
    sign, log = np.linalg.slogdet(a + 1j * b)
    return sign.real, sign.imag, log


def complex_eigh(a: Any, b: Any) -> Any:
    """Eigenvalues and eigenvectors of a Hermitian matrix."""
    w, v = np.linalg.eigh(a + 1j * b)
    return w, v.real, v.imag


def complex_eig(a: Any, b: Any) -> Any:
    """Eigenvalues and eigenvectors."""
    w, v = np.linalg.eig(a + 1j * b)
    return w.real, w.imag, v.real, v.imag


def complex_svd(a: Any, b: Any) -> Any:
    """Singular vectors and values."""
    u, s, vh = np.linalg.svd(a + 1j * b, False)
    return u.real, u.imag, s, vh.real, vh.imag


def complex_qr(a: Any, b: Any) -> Any:
    """The factors q and r."""
    q, r = np.linalg.qr(a + 1j * b)
    return q.real, q.imag, r.real, r.imag


# ---- adjoints --------------------------------------------------------------------------------------------------------
@in_objmode(_MATRIX)
def pull_det(z_bar: complex, z: complex, a: Matrix) -> Matrix:
    """By the cofactors."""
    return np.ascontiguousarray(z_bar * np.conj(cofactors(z, a)))


@in_objmode(_MATRIX)
def pull_slogdet(sign_bar: complex, log_bar: float, sign: complex, log: float, a: Matrix) -> Matrix:
    """By the inverse; the phase turns by the imaginary part of the logarithm's tangent."""
    turned = (np.conj(sign_bar) * 1j * sign).real
    return np.ascontiguousarray((log_bar + 1j * turned) * np.conj(inverse_transposed(log, a)))


@in_objmode(_MATRIX)
def pull_eigh(w_bar: Any, v_bar: Matrix, w: Any, v: Matrix) -> Matrix:
    """On the lower triangle."""
    return np.ascontiguousarray(symmetric_cotangent(_stack(w, v), _stack(w_bar, v_bar), None, False))


@in_objmode(_MATRIX)
def pull_eig(w_bar: Any, v_bar: Matrix, w: Any, v: Matrix) -> Matrix:
    """Of a matrix with n eigenvectors."""
    return np.ascontiguousarray(real_cotangent(_stack(w, v), _stack(w_bar, v_bar)))


def _stack(w: Any, v: Matrix) -> Matrix:
    return np.concatenate([w[None, :], v])


@in_objmode(_MATRIX)
def pull_svd(u_bar: Matrix, s_bar: Any, vh_bar: Matrix, u: Matrix, s: Any, vh: Matrix) -> Matrix:
    """Of vectors and values."""
    z, z_bar = (np.concatenate([x, y[None, :], np.conj(z).T]) for x, y, z in ((u, s, vh), (u_bar, s_bar, vh_bar)))
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(singular_cotangent(z, z_bar, (len(u), vh.shape[1])))


@in_objmode(_MATRIX)
def pull_qr(q_bar: Matrix, r_bar: Matrix, q: Matrix, r: Matrix, a: Matrix) -> Matrix:
    """If a is wide, the columns after the square part are products with q."""
    (m, k), made = q.shape, np.empty(a.shape, complex)
    made[:, k:] = q @ r_bar[:, k:]
    both = np.concatenate([q_bar + a[:, k:] @ np.conj(r_bar[:, k:]).T, r_bar[:, :k]])
    made[:, :k] = orthogonal_cotangent(np.concatenate([q, r[:, :k]]), both, m)
    return made
