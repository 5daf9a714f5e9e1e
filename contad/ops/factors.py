"""Factors of square matrices, found again while a recording keeps them: one factorisation serves solve, det and inv.

A factor lives as long as a record holds it in `saved`. A matrix with the same elements finds it: to compare them costs
n^2, to factorise n^3, so that nobody has to hand factors on, and derivatives of every order share them.
"""

import functools
import weakref

import numpy as np

from contad.ops._scipy import linalg
from contad.ops.cotangents import all_finite, plain

KEPT = 8  # the newest factors that are compared with a matrix


@functools.cache
def _dtrsm():
    return linalg().blas.dtrsm


def triangular_solution(t, b, lower, transposed, unit_diagonal=False, right=False, overwrite=False):
    """t^-1 b, or t^-T b, for one triangle of a matrix t in Fortran's order and the columns of b, without a check of t.

    From the right it is b t^-1, or b t^-T. A b in Fortran's order may be overwritten.
    dtrsm and not LAPACK's dtrtrs, whose threads cost milliseconds on matrices of three rows.
    """
    return _dtrsm()(1.0, t, b, right, lower, transposed, unit_diagonal, overwrite)


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


class Factor:
    """The LU factors with partial pivoting of one square matrix."""

    __slots__ = ("__weakref__", "_lu", "_matrix", "_order", "_swaps", "singular")

    def __init__(self, matrix):
        self._matrix = matrix.copy()
        # LAPACK's matrices are in Fortran's order: the transposed of one in C's order is there without a copy
        self._lu, pivots, info = linalg().lapack.dgetrf(self._matrix.T)
        self.singular = info > 0
        self._order = order_of(pivots)  # of the rows of the transposed, in which it is l u
        self._swaps = np.count_nonzero(pivots != np.arange(pivots.size))

    def of(self, matrix):
        """Whether this is the factor of that matrix."""
        return self._matrix.shape == matrix.shape and np.array_equal(self._matrix, matrix)

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
            z = np.empty(columns.shape)
            z[self._order] = triangular_solution(self._lu, half, lower=True, transposed=True, unit_diagonal=True)
        return z if b.ndim == 2 else z[:, 0]

    def sign_and_log(self):
        """The sign of the determinant, and the logarithm of its magnitude."""
        diagonal = np.diagonal(self._lu)
        with np.errstate(divide="ignore"):
            return np.prod(np.sign(diagonal)) * (-1.0) ** self._swaps, np.sum(np.log(np.abs(diagonal)))


class CholeskyFactor:
    """The Cholesky factor of one symmetric positive definite matrix, of which the lower triangle is read."""

    __slots__ = ("__weakref__", "_matrix", "_upper")

    def __init__(self, matrix):
        self._upper = np.linalg.cholesky(matrix).T  # in Fortran's order without a copy
        self._matrix = matrix.copy()

    def of(self, matrix):
        """Whether this is the factor of that matrix."""
        return self._matrix.shape == matrix.shape and np.array_equal(self._matrix, matrix)

    def solve(self, b):
        """The solution of a z = b, for the columns of b."""
        half = triangular_solution(self._upper, b, lower=False, transposed=True)
        return np.ascontiguousarray(triangular_solution(self._upper, half, lower=False, transposed=False))

    def inverse(self):
        """The inverse of the matrix, exactly symmetric."""
        upper = np.triu(linalg().lapack.dpotri(self._upper)[0])
        return np.ascontiguousarray(upper + np.triu(upper, 1).T)

    def log_determinant(self):
        """The logarithm of the determinant."""
        return 2.0 * np.sum(np.log(np.diagonal(self._upper)))


_factors: list["weakref.ref[Factor | CholeskyFactor]"] = []  # the newest last


def known_factor(a, symmetric=False):
    """The factor of the primals of a that some record keeps; None if there is none, or if a is a stack of matrices.

    `symmetric` asks for a Cholesky factor, else it is one of the whole matrix.
    """
    if not _factors or np.ndim(a) != 2:
        return None
    kind = CholeskyFactor if symmetric else Factor
    matrix = plain(a)
    for reference in reversed(_factors.copy()):
        factor = reference()
        if isinstance(factor, kind) and factor.of(matrix):
            return factor
    return None


def factorise(a, symmetric=False):
    """The factor of a matrix, which is known from now on while the caller keeps it.

    None for stacks of matrices and for what is not finite, on which NumPy's own functions have to be called.
    """
    if np.ndim(a) != 2 or np.shape(a)[0] == 0 or not all_finite(a):
        return None
    found = known_factor(a, symmetric)
    if found is None:
        found = (CholeskyFactor if symmetric else Factor)(plain(a))
        _factors.append(weakref.ref(found))
        del _factors[:-KEPT]
    return found
