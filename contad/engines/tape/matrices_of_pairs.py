"""np.linalg of complex matrices A + iB in a differentiated function, in reverse mode.

Rows compute determinants and decompositions. Solutions, pseudoinverses and Cholesky factors are parts of those of a
real matrix of twice as many rows and columns.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload
from contad.engines.tape.arrays import carries, zeros_of
from contad.engines.tape.arrays_of_pairs import meets_arrays
from contad.engines.tape.pairs_of_variables import is_complex, join
from contad.engines.tape.variables import VARIABLE, ActivePair, pair
from contad.errors import UnsupportedError
from contad.kernels import complex_matrices as rows

_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _is_matrix(a: Any) -> bool:
    return carries(a) and isinstance(a.dtype, ActivePair) and a.dtype.part is VARIABLE and a.ndim == 2


def _overload(function: Callable[..., Any], implementation: Callable[..., Any]) -> None:
    """Let compiled functions call a function of a complex matrix of variables."""
    add_overload(function)(lambda a: implementation if _is_matrix(a) else None)


# ---- by rows ---------------------------------------------------------------------------------------------------------
@njit(**_OPTIONS)
def _det(a: Any) -> Any:
    real, imag = rows.complex_det(a.real, a.imag)
    return pair(real, imag)


@njit(**_OPTIONS)
def _slogdet(a: Any) -> Any:
    real, imag, log = rows.complex_slogdet(a.real, a.imag)
    return pair(real, imag), log


@njit(**_OPTIONS)
def _eigh(a: Any) -> Any:
    w, real, imag = rows.complex_eigh(a.real, a.imag)
    return w, join(real, imag)


@njit(**_OPTIONS)
def _eig(a: Any) -> Any:
    w_real, w_imag, real, imag = rows.complex_eig(a.real, a.imag)
    return join(w_real, w_imag), join(real, imag)


@njit(**_OPTIONS)
def _qr(a: Any) -> Any:
    q_real, q_imag, real, imag = rows.complex_qr(a.real, a.imag)
    return join(q_real, q_imag), join(real, imag)


_overload(np.linalg.det, lambda a: _det(a))
_overload(np.linalg.slogdet, lambda a: _slogdet(a))
_overload(np.linalg.eigh, lambda a: _eigh(a))
_overload(np.linalg.eigvalsh, lambda a: _eigh(a)[0])
_overload(np.linalg.eig, lambda a: _eig(a))
_overload(np.linalg.eigvals, lambda a: _eig(a)[0])
_overload(np.linalg.qr, lambda a: _qr(a))


@add_overload(np.linalg.svd)
def _svd(a: Any, full_matrices: Any = 1) -> Any:
    """The vectors that full_matrices adds have no derivative."""
    if not _is_matrix(a):
        return None

    def implementation(a: Any, full_matrices: Any = 1) -> Any:
        if full_matrices and a.shape[0] != a.shape[1]:
            raise UnsupportedError("np.linalg.svd: pass full_matrices=False for a complex matrix that is not square")
        u_real, u_imag, s, real, imag = rows.complex_svd(a.real, a.imag)
        return join(u_real, u_imag), s, join(real, imag)

    return implementation


# ---- by real matrices ------------------------------------------------------------------------------------------------
def fill_twice(whole: Any, a: Any) -> Any:
    """The real matrix [[A, -B], [B, A]], in an array of zeros."""
    m, n = a.shape
    whole[:m, :n] = a.real
    whole[m:, n:] = a.real
    whole[m:, :n] = a.imag
    whole[:m, n:] = -a.imag
    return whole


fill_twice = njit(**_OPTIONS)(fill_twice)


@add_overload(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    """The solution of [[A, -B], [B, A]] (x, y) = (c, d)."""
    if not meets_arrays(a, b) or a.ndim != 2:
        return None
    zeros = zeros_of[next(getattr(x.dtype, "part", x.dtype) for x in (a, b) if carries(x))]

    def implementation(a: Any, b: Any) -> Any:
        """The solution, in complex numbers."""
        n = len(a)
        if a.shape[1] != n:
            raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square.")
        if len(b) != n:
            raise np.linalg.LinAlgError("Incompatible sizes, system cannot be solved.")
        right = zeros((2 * n,) + b.shape[1:])  # noqa: RUF005
        right[:n] = b.real
        right[n:] = b.imag
        found = np.linalg.solve(fill_twice(zeros((2 * n, 2 * n)), a), right)
        return join(found[:n], found[n:])

    return implementation


@add_overload(np.linalg.inv)
def _inv(a: Any) -> Any:
    return (lambda a: np.linalg.solve(a, np.eye(len(a)))) if meets_arrays(a) else None


@add_overload(np.linalg.pinv)
def _pinv(a: Any, rcond: Any = 1e-15) -> Any:
    """The left half of the pseudoinverse of the real matrix."""
    if not _is_matrix(a):
        return None
    zeros = zeros_of[VARIABLE]

    def implementation(a: Any, rcond: Any = 1e-15) -> Any:
        m, n = a.shape
        found = np.linalg.pinv(fill_twice(zeros((2 * m, 2 * n)), a), rcond)
        return join(found[:n, :m], found[n:, :m])

    return implementation


@add_overload(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = -1.0) -> Any:
    """By the real matrix, which has each singular value twice."""
    if not (meets_arrays(a, b) and _is_matrix(a) and is_complex(b)) or b.ndim not in (1, 2):
        return None
    zeros = zeros_of[VARIABLE]

    def implementation(a: Any, b: Any, rcond: Any = -1.0) -> Any:
        m, n = a.shape
        right = zeros((2 * len(b),) + b.shape[1:])  # noqa: RUF005
        right[: len(b)] = b.real
        right[len(b) :] = b.imag
        found, squares, rank, s = np.linalg.lstsq(fill_twice(zeros((2 * m, 2 * n)), a), right, rcond)
        return join(found[:n], found[n:]), squares, rank // 2, s[::2]

    return implementation


@add_overload(np.linalg.cholesky)
def _cholesky(a: Any) -> Any:
    """By a real matrix in which each element is a block of two rows and columns. Its factor has such blocks, too."""
    if not _is_matrix(a):
        return None
    zeros = zeros_of[VARIABLE]

    def implementation(a: Any) -> Any:
        whole = zeros((2 * len(a), 2 * a.shape[1]))
        whole[::2, ::2] = a.real
        whole[1::2, 1::2] = a.real
        whole[1::2, ::2] = a.imag
        whole[::2, 1::2] = -a.imag
        for k in range(len(a)):
            whole[2 * k + 1, 2 * k] = 0.0  # LAPACK takes the diagonal to be real
        found = np.linalg.cholesky(whole)
        return join(found[::2, ::2], found[1::2, ::2])

    return implementation
