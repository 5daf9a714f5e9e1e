"""Factors of square matrices, found again while a recording keeps them: one factorisation serves solve, det and inv.

A factor lives as long as a record holds it in `saved`. A matrix with the same elements finds it: to compare them costs
n^2, to factorise n^3, so that nobody has to hand factors on, and derivatives of every order share them.
"""

import weakref

import numpy as np
from scipy.linalg import lapack

from contad.ops.cotangents import plain

KEPT = 8  # the newest factors that are compared with a matrix


class Factor:
    """The LU factors with partial pivoting of one square matrix."""

    __slots__ = ("__weakref__", "_lu", "_matrix", "_pivots", "singular")

    def __init__(self, matrix):
        self._matrix = matrix.copy()
        # LAPACK's matrices are in Fortran's order: the transposed of one in C's order is there without a copy
        self._lu, self._pivots, info = lapack.dgetrf(self._matrix.T)
        self.singular = info > 0

    def of(self, matrix):
        """Whether this is the factor of that matrix."""
        return self._matrix.shape == matrix.shape and np.array_equal(self._matrix, matrix)

    def solve(self, b, transposed):
        """The solution of a z = b, or of a^T z = b; LinAlgError if a is singular."""
        if self.singular:
            raise np.linalg.LinAlgError("Singular matrix")
        z, _ = lapack.dgetrs(self._lu, self._pivots, b, trans=0 if transposed else 1)
        return z

    def sign_and_log(self):
        """The sign of the determinant, and the logarithm of its magnitude."""
        diagonal = np.diagonal(self._lu)
        swaps = np.count_nonzero(self._pivots != np.arange(self._pivots.size))
        with np.errstate(divide="ignore"):
            return np.prod(np.sign(diagonal)) * (-1.0) ** swaps, np.sum(np.log(np.abs(diagonal)))


_factors: list["weakref.ref[Factor]"] = []  # the newest last


def known_factor(a):
    """The factor of the primals of a that some record keeps; None if there is none, or if a is a stack of matrices."""
    if not _factors or np.ndim(a) != 2:
        return None
    matrix = plain(a)
    for reference in reversed(_factors.copy()):
        factor = reference()
        if factor is not None and factor.of(matrix):
            return factor
    return None


def factorise(a):
    """The factor of a matrix, which is known from now on while the caller keeps it; None for a stack of matrices."""
    if np.ndim(a) != 2 or np.shape(a)[0] == 0:
        return None
    found = known_factor(a)
    if found is None:
        found = Factor(plain(a))
        _factors.append(weakref.ref(found))
        del _factors[:-KEPT]
    return found
