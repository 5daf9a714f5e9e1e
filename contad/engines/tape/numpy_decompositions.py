"""Singular values, least squares, powers and norms of matrices of variables and duals, where Numba has them."""

from typing import Any

import numpy as np
from numba import types

from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload
from contad.engines.tape.arrays import carries, is_active_array, values, zeros_of
from contad.engines.tape.matrix_records import OPERATIONS
from contad.engines.tape.row_functions import active_of, as_columns, nothing
from contad.errors import UnsupportedError
from contad.kernels.matrix_checks import check_least_squares


@add_overload(np.linalg.svd)
def _svd(a: Any, full_matrices: Any = 1) -> Any:
    """np.linalg.svd by the shorter side; the vectors that full_matrices adds have no derivative."""
    active = active_of((a, (2,)))
    if active is None:
        return None
    made = OPERATIONS["singular_spectrum"][active]

    def implementation(a: Any, full_matrices: Any = 1) -> Any:
        m, n = a.shape
        if full_matrices and m != n:
            raise UnsupportedError(
                "np.linalg.svd: full_matrices of a matrix that is not square has vectors without a derivative; "
                "pass full_matrices=False"
            )
        k = min(m, n)
        z = made(a, nothing(), m, n, 0)
        return z[: m * k].reshape((m, k)), z[m * k : m * k + k], z[m * k + k :].reshape((k, n))

    return implementation


@add_overload(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = -1.0) -> Any:
    """Solution, sums of squares, rank and singular values; the rank may be deficient as long as it does not change."""
    active = active_of((a, (2,)), (b, (1, 2)))
    if active is None:
        return None
    made, zeros, is_vector = OPERATIONS["lstsq"][active], zeros_of[active], b.ndim == 1

    def of_columns(a: Any, b: Any, rcond: Any) -> Any:
        """The results, with the solution as a vector; rcond is passed behind b."""
        m, n = a.shape
        check_least_squares(a, b)
        k = b.shape[1]
        given = zeros(m * k + 1)
        for i in range(m):
            for j in range(k):
                given[i * k + j] = b[i, j]
        given[m * k] = rcond
        least = min(m, n)
        z = made(a, given, m, n, k)
        rank = int(z[n * k + k + least].value)
        squares = z[n * k : n * k + k] if rank == n < m else z[:0]
        return z[: n * k], squares, rank, z[n * k + k : n * k + k + least]

    solve = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(of_columns)

    def of_vector(a: Any, b: Any, rcond: Any = -1.0) -> Any:
        return solve(a, as_columns(b), rcond)

    def of_matrix(a: Any, b: Any, rcond: Any = -1.0) -> Any:
        x, squares, rank, s = solve(a, b, rcond)
        return x.reshape((a.shape[1], b.shape[1])), squares, rank, s

    return of_vector if is_vector else of_matrix


@add_overload(np.linalg.matrix_rank)
def _matrix_rank(A: Any, tol: Any = None) -> Any:
    """The rank of the plain numbers, an integer."""
    return (lambda A, tol=None: np.linalg.matrix_rank(values(A), tol)) if is_active_array(A) else None


@add_overload(np.linalg.matrix_power)
def _matrix_power(a: Any, n: Any) -> Any:
    """The power by repeated squaring in Numba's order."""
    if not carries(a) or a.ndim != 2 or not isinstance(n, types.Integer):
        return None
    zeros = zeros_of[a.dtype]

    def implementation(a: Any, n: Any) -> Any:
        """The power, in a new array."""
        if n == 0:
            made = zeros(a.shape)
            for k in range(len(a)):
                made[k, k] = 1.0
            return made
        if a.shape[0] != a.shape[1]:
            raise ValueError("input must be a square array")
        factor = zeros(a.shape)
        factor[...] = np.linalg.inv(a) if n < 0 else a
        rest = abs(n)
        if rest == 3:
            return np.dot(np.dot(factor, factor), factor)
        made = factor
        is_first = True
        while rest != 0:
            if rest & 1:
                made = factor if is_first else np.dot(made, factor)
                is_first = False
            rest >>= 1
            if rest:
                factor = np.dot(factor, factor)
        return made

    return implementation


# ---- norms -----------------------------------------------------------------------------------------------------------
@add_overload(np.linalg.norm)
def _norm(x: Any, ord: Any = None) -> Any:
    """The norms of vectors and matrices; the Euclidean one has derivative 0 at its kink."""
    if not is_active_array(x) or x.ndim not in (1, 2):
        return None

    def euclidean(x: Any, ord: Any = None) -> Any:
        total = zeros(1)[0]
        for element in x.flat:
            total = np.hypot(total, element)
        return total

    def of_vector(x: Any, ord: Any = None) -> Any:
        """The result for an order that need not be constant."""
        total = zeros(1)[0]
        if len(x) == 0:
            return total
        if ord == 2:
            return np.linalg.norm(x)
        if ord == np.inf:
            return np.max(np.abs(x))
        if ord == -np.inf:
            return np.min(np.abs(x))
        if ord == 0:
            for element in x:
                if element != 0.0:
                    total = total + 1.0
            return total
        if ord == 1:
            for element in x:
                total = total + abs(element)
            return total
        for element in x:
            total = total + abs(element) ** ord
        return total ** (1.0 / ord)

    def of_matrix(x: Any, ord: Any = None) -> Any:
        """The result for an order that need not be constant."""
        if x.size == 0:
            return zeros(1)[0]
        if abs(ord) == 2:
            s = np.linalg.svd(x, False)[1]
            return abs(s[0] if ord == 2 else s[-1])  # abs has derivative 0 at 0, a kink
        if abs(ord) != 1 and abs(ord) != np.inf:
            raise ValueError("Invalid norm order for matrices.")
        sums = zeros(x.shape[1] if abs(ord) == 1 else x.shape[0])
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                k = j if abs(ord) == 1 else i
                sums[k] = sums[k] + abs(x[i, j])
        return np.max(sums) if ord > 0 else np.min(sums)

    zeros = zeros_of[x.dtype]
    if ord is None or isinstance(ord, (types.NoneType, types.Omitted)):
        return euclidean
    return of_vector if x.ndim == 1 else of_matrix


@add_overload(np.linalg.cond)
def _cond(x: Any, p: Any = None) -> Any:
    """The condition number as in Numba: inf in place of nan."""
    active = active_of((x, (2,)))
    if active is None:
        return None
    zeros = zeros_of[active]

    def by_values(x: Any, p: Any = None) -> Any:
        s = np.linalg.svd(x, False)[1]
        found = np.divide(s[0], s[-1])
        return zeros(1)[0] + np.inf if np.isnan(found) else found

    def by_norms(x: Any, p: Any = None) -> Any:
        """The result for an order that need not be constant."""
        if abs(p) == 2:
            s = np.linalg.svd(x, False)[1]
            found = np.divide(s[0], s[-1]) if p == 2 else np.divide(s[-1], s[0])
        else:
            found = np.linalg.norm(x, p) * np.linalg.norm(np.linalg.inv(x), p)
        return zeros(1)[0] + np.inf if np.isnan(found) else found

    return by_values if p is None or isinstance(p, (types.NoneType, types.Omitted)) else by_norms
