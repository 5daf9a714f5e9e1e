"""np.linalg on matrices of variables and duals, where Numba compiles it for float64, with Numba's errors."""

from typing import Any

import numpy as np
from numba import types

from contad.engines.tape import linear_records
from contad.engines.tape.arrays import is_active_array
from contad.engines.tape.variables import Active
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.factor_kernels import check_system, require_square
from contad.native.machine_code import njit
from contad.native.overloads import add_overload


def active_of(kinds: tuple[Any, ...], *ndims: tuple[int, ...]) -> Any:
    """The active type among arrays of it and of float64, of so many axes; None where there is none."""
    if not all(isinstance(x, types.Array) and (isinstance(x.dtype, Active) or x.dtype == types.float64) for x in kinds):
        return None
    if not all(x.ndim in n for x, n in zip(kinds, ndims, strict=True)):
        return None
    return next((x.dtype for x in kinds if is_active_array(x)), None)


@njit(**INTERNAL_OPTIONS)
def nothing():  # type: ignore[no-untyped-def]
    """The second operand of an operation that has one."""
    return np.empty((0, 0))


@njit(**INTERNAL_OPTIONS)
def as_column(b):  # type: ignore[no-untyped-def]
    """A vector as a matrix of one column."""
    return b.copy().reshape((b.size, 1))


@add_overload(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    """The solution for one vector, or for the columns of a matrix."""
    active = active_of((a, b), (2,), (1, 2))
    if active is None:
        return None
    made = linear_records.solve[active]

    def of_vector(a: Any, b: Any) -> Any:
        check_system(a, b)
        return made(a, as_column(b), b.size, a.size + len(a))

    def of_matrix(a: Any, b: Any) -> Any:
        check_system(a, b)
        return made(a, b, b.size, a.size + len(a)).reshape(b.shape)

    return of_vector if b.ndim == 1 else of_matrix


def _of_matrix(function: Any, operations: dict[Any, Any]) -> None:
    """Register a function of one square matrix whose value is a matrix of the same shape."""

    def typing(a: Any) -> Any:
        active = active_of((a,), (2,))
        if active is None:
            return None
        made = operations[active]
        return lambda a: made(a, nothing(), a.size, 0).reshape(a.shape)

    add_overload(function)(typing)


_of_matrix(np.linalg.inv, linear_records.inv)
_of_matrix(np.linalg.cholesky, linear_records.cholesky)


@add_overload(np.linalg.det)
def _det(a: Any) -> Any:
    active = active_of((a,), (2,))
    if active is None:
        return None
    made = linear_records.det[active]
    return lambda a: made(a, nothing(), 1, 0)[0]


@add_overload(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    """The sign, which is plain, and the logarithm."""
    active = active_of((a,), (2,))
    if active is None:
        return None
    made = linear_records.slogdet[active]

    def implementation(a: Any) -> Any:
        require_square(a)
        n = a.shape[0]
        z = made(a, nothing(), 2, n * n + n + 1)  # the factors and the exchanges are saved
        return z[1].value, z[0]

    return implementation
