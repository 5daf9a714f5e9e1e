"""Factors of square matrices, shared while a recording keeps them: one factorisation serves solve, det and inv.

A factor lives as long as a record holds it in `saved`. Operations on a matrix with the same elements find it: comparing
costs n^2, and factorising n^3. So nobody has to pass factors on, and derivatives of every order share them.
"""

import functools
import weakref

import numpy as np

from contad.ops._scipy import blas, blas_function, lapack_function
from contad.ops.cotangents import all_finite, plain
from contad.variables.complex_pair import is_complex
from contad.variables.dtypes import FLOAT, dtype_beside

KEPT = 8  # how many of the newest factors are compared with a matrix


@functools.cache
def _dtrsm():
    return blas().dtrsm


def triangular_solution(t, b, lower, transposed, unit_diagonal=False, right=False, overwrite=False):
    """t^-1 b, or t^-T b, for one triangle of a matrix t in Fortran order and the columns of b, without checking t.

    With `right` it is b t^-1, or b t^-T. A b in Fortran order may be overwritten. It uses BLAS's trsm, because the
    threads of LAPACK's trtrs cost milliseconds even for three rows.
    """
    solve = _dtrsm() if t.dtype is b.dtype is FLOAT else blas_function("trsm", t.dtype, b.dtype)
    return solve(1.0, t, b, right, lower, transposed, unit_diagonal, overwrite)


def triangular_product(t, b):
    """t b, for the upper triangle of a matrix t in Fortran order; the other triangle is not read."""
    return blas_function("trmm", t.dtype, b.dtype)(1.0, t, b)


def order_of(pivots):
    """The order of the rows after the exchanges that LAPACK reports.

    >>> order_of(np.array([2, 1, 2]))
    array([2, 1, 0])
    """
    order = np.arange(len(pivots))
    for k, other in enumerate(pivots.tolist()):
        if other != k:
            order[[k, other]] = order[[other, k]]
    return order


def is_same(x, y):
    """Whether two plain arrays have the same dtype, shape and elements."""
    return x.shape == y.shape and x.dtype == y.dtype and bool((x == y).all())


class Factor:
    """The LU factors with partial pivoting of one square matrix."""

    __slots__ = ("__weakref__", "_lu", "_matrix", "_order", "_pivots", "singular")

    def __init__(self, matrix):
        self._matrix = matrix.copy()
        # LAPACK's matrices are in Fortran order: the transpose of a matrix in C order needs no copy
        self._lu, self._pivots, info = lapack_function("getrf", matrix.dtype)(self._matrix.T)
        self.singular = info > 0
        self._order = order_of(self._pivots)  # the order of the rows of the transpose, in which it is l u

    def of(self, matrix):
        """Whether this is the factor of that matrix."""
        return is_same(self._matrix, matrix)

    def solve(self, b, transposed):
        """The solution of a z = b, or of a^T z = b; LinAlgError if a is singular."""
        if self.singular:
            raise np.linalg.LinAlgError("Singular matrix")
        columns = b if b.ndim == 2 else b[:, None]
        if transposed:
            half = triangular_solution(self._lu, columns[self._order], lower=True, transposed=False, unit_diagonal=True)
            z = np.ascontiguousarray(triangular_solution(self._lu, half, lower=False, transposed=False))
        else:
            half = triangular_solution(self._lu, columns, lower=False, transposed=True)
            z = np.empty(columns.shape, half.dtype)
            z[self._order] = triangular_solution(self._lu, half, lower=True, transposed=True, unit_diagonal=True)
        return z if b.ndim == 2 else z[:, 0]

    def sign(self):
        """The sign of the determinant."""
        swaps = np.count_nonzero(self._pivots != np.arange(self._pivots.size))
        return np.prod(np.sign(self._lu.diagonal())) * (-1.0) ** swaps

    def log_magnitude(self):
        """The logarithm of the magnitude of the determinant; -inf if it is 0."""
        return -self._lu.dtype.type(np.inf) if self.singular else np.add.reduce(np.log(np.abs(self._lu.diagonal())))


class CholeskyFactor:
    """The Cholesky factor of one symmetric positive definite matrix, whose lower triangle is read."""

    __slots__ = ("__weakref__", "_matrix", "_upper")

    def __init__(self, matrix):
        self._upper = np.linalg.cholesky(matrix).T  # in Fortran order without a copy
        self._matrix = matrix.copy()

    def of(self, matrix):
        """Whether this is the factor of that matrix."""
        return is_same(self._matrix, matrix)

    def solve(self, b):
        """The solution of a z = b, for the columns of b."""
        half = triangular_solution(self._upper, b, lower=False, transposed=True)
        return np.ascontiguousarray(triangular_solution(self._upper, half, lower=False, transposed=False))

    def inverse(self):
        """The inverse of the matrix, exactly symmetric."""
        upper = np.triu(lapack_function("potri", self._upper.dtype)(self._upper)[0])
        return np.ascontiguousarray(upper + np.triu(upper, 1).T)

    def log_determinant(self):
        """The logarithm of the determinant."""
        return 2.0 * np.sum(np.log(np.diagonal(self._upper)))


class BandedFactor:
    """The LU factors with partial pivoting of one banded matrix, in SciPy's storage."""

    __slots__ = ("__weakref__", "_band", "_parts", "_widths", "singular")

    def __init__(self, band, lower, upper):
        self._band = band.copy()
        self._widths = lower, upper
        if self._is_tridiagonal():
            *self._parts, info = lapack_function("gttrf", band.dtype)(band[2, :-1], band[1], band[0, 1:])
        else:
            room = np.zeros((2 * lower + upper + 1, band.shape[1]), dtype_beside(band))  # pivoting fills more diagonals
            room[lower:] = band
            *self._parts, info = lapack_function("gbtrf", room.dtype)(room, lower, upper)
        self.singular = info > 0

    def _is_tridiagonal(self):
        return self._widths == (1, 1) and self._band.shape[1] > 2

    def of(self, band, lower, upper):
        """Whether this is the factor of that matrix."""
        return self._widths == (lower, upper) and is_same(self._band, band)

    def solve(self, b, transposed):
        """The solution of a z = b, or of a^T z = b; LinAlgError if a is singular."""
        if self.singular:
            raise np.linalg.LinAlgError("singular matrix")
        if self._is_tridiagonal():
            solve = lapack_function("gttrs", self._band.dtype, b.dtype)
            z, _ = solve(*self._parts, b, trans="T" if transposed else "N")
        else:
            lu, pivots = self._parts
            solve = lapack_function("gbtrs", self._band.dtype, b.dtype)
            z, _ = solve(lu, *self._widths, b, pivots, trans=int(transposed))
        return z


class PositiveBandFactor:
    """The Cholesky factor of one positive definite banded matrix, given by one half of its band.

    For two diagonals it is l d l^T, as in scipy.linalg.solveh_banded.
    """

    __slots__ = ("__weakref__", "_band", "_lower", "_parts")

    def __init__(self, band, lower):
        self._band = band.copy()
        self._lower = lower
        if self._is_tridiagonal():
            main, beside = (band[0], band[1, :-1]) if lower else (band[1], band[0, 1:])
            *self._parts, info = lapack_function("pttrf", band.dtype)(main, beside)
        else:
            *self._parts, info = lapack_function("pbtrf", band.dtype)(band, lower=lower)
        if info > 0:
            raise np.linalg.LinAlgError(f"{info}th leading minor not positive definite")

    def _is_tridiagonal(self):
        return len(self._band) == 2 and self._band.shape[1] > 1

    def of(self, band, lower):
        """Whether this is the factor of that matrix."""
        return self._lower == lower and is_same(self._band, band)

    def solve(self, b):
        """The solution of a z = b."""
        if self._is_tridiagonal():
            z, _ = lapack_function("pttrs", self._band.dtype, b.dtype)(*self._parts, b)
        else:
            z, _ = lapack_function("pbtrs", self._band.dtype, b.dtype)(*self._parts, b, lower=self._lower)
        return z


_factors: list["weakref.ref[Factor | CholeskyFactor | BandedFactor | PositiveBandFactor]"] = []  # the newest last


def known_factor(a, symmetric=False):
    """The factor of the primals of a that some record keeps; None if there is none, or if a is a stack of matrices.

    With `symmetric` it is a Cholesky factor, otherwise one of the whole matrix.
    """
    if not _factors or np.ndim(a) != 2:
        return None
    return _find(CholeskyFactor if symmetric else Factor, plain(a))


def _find(kind, *given):
    for reference in reversed(_factors.copy()):
        factor = reference()
        if factor.__class__ is kind and factor.of(*given):
            return factor
    return None


def _keep(factor):
    _factors.append(weakref.ref(factor))
    del _factors[:-KEPT]
    return factor


def factorise(a, symmetric=False):
    """The factor of a matrix, which other operations find while the caller keeps it.

    None for stacks of matrices and values that are not finite; call NumPy's functions for these.
    """
    shape = a.shape if a.__class__ is np.ndarray else np.shape(a)
    if len(shape) != 2 or shape[0] == 0 or not all_finite(a):
        return None
    found = known_factor(a, symmetric)
    if found is None:
        found = _keep((CholeskyFactor if symmetric else Factor)(plain(a)))
    return found


def known_band(ab, lower, upper):
    """The factor of the primals of a banded matrix that some record keeps; None if there is none."""
    return _find(BandedFactor, plain(ab), lower, upper) if _factors and np.ndim(ab) == 2 else None


def factorise_band(ab, lower, upper):
    """The factor of a banded matrix, which other operations find while the caller keeps it; None for other shapes."""
    if np.ndim(ab) != 2 or np.shape(ab)[0] != lower + upper + 1 or not np.size(ab):
        return None
    return known_band(ab, lower, upper) or _keep(BandedFactor(plain(ab), lower, upper))


def known_positive_band(ab, lower):
    """The factor of the primals of a positive definite banded matrix that some record keeps; None if there is none."""
    return _find(PositiveBandFactor, plain(ab), lower) if _factors and np.ndim(ab) == 2 else None


def factorise_positive_band(ab, lower):
    """The factor of a positive definite banded matrix, shared while the caller keeps it; None for other shapes."""
    if np.ndim(ab) != 2 or not np.size(ab) or is_complex(ab):
        return None
    return known_positive_band(ab, lower) or _keep(PositiveBandFactor(plain(ab), lower))
