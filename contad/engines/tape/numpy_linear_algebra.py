"""np.linalg on matrices of variables and duals, where Numba compiles it for float64, with Numba's errors."""

from typing import Any

import numpy as np
from numba import types
from numba.np.linalg import _check_finite_matrix, _system_check_dimensionally_valid

from contad.engines.tape import linear_records
from contad.engines.tape.arrays import is_active_array
from contad.engines.tape.block_records import numbers_of
from contad.engines.tape.conversions import value
from contad.engines.tape.variables import Active
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.overloads import add_overload


def active_of(*kinds: Any) -> Any:
    """The active type among matrices of it and of float64; None where there is none, or another kind of operand."""
    if not all(isinstance(x, types.Array) and (isinstance(x.dtype, Active) or x.dtype == types.float64) for x in kinds):
        return None
    return next((x.dtype for x in kinds if is_active_array(x)), None)


@njit(**INTERNAL_OPTIONS)
def _nothing():  # type: ignore[no-untyped-def]
    return np.empty((0, 0))


@njit(**INTERNAL_OPTIONS)
def _require_square(a):  # type: ignore[no-untyped-def]
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square.")


@add_overload(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    """The solution for one vector, or for the columns of a matrix."""
    active = active_of(a, b)
    if active is None or a.ndim != 2 or b.ndim not in (1, 2):
        return None
    made = linear_records.solve[active]

    def of_vector(a: Any, b: Any) -> Any:
        x, y = numbers_of(a), numbers_of(b)
        _check_finite_matrix(x)
        _check_finite_matrix(y)
        _system_check_dimensionally_valid(x, y)
        return made(a, b.reshape((b.size, 1)))

    def of_matrix(a: Any, b: Any) -> Any:
        x, y = numbers_of(a), numbers_of(b)
        _check_finite_matrix(x)
        _check_finite_matrix(y)
        _system_check_dimensionally_valid(x, y)
        return made(a, b).reshape(b.shape)

    return of_vector if b.ndim == 1 else of_matrix


def _of_matrix(function: Any, operations: dict[Any, Any]) -> None:
    """Register a function of one square matrix whose value is a matrix of the same shape."""

    def typing(a: Any) -> Any:
        active = active_of(a)
        if active is None or a.ndim != 2:
            return None
        made = operations[active]
        return lambda a: made(a, _nothing()).reshape(a.shape)

    add_overload(function)(typing)


_of_matrix(np.linalg.inv, linear_records.inv)
_of_matrix(np.linalg.cholesky, linear_records.cholesky)


@add_overload(np.linalg.det)
def _det(a: Any) -> Any:
    active = active_of(a)
    if active is None or a.ndim != 2:
        return None
    made = linear_records.det[active]
    return lambda a: made(a, _nothing())[0]


@add_overload(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    """The sign, which is plain, and the logarithm."""
    active = active_of(a)
    if active is None or a.ndim != 2:
        return None
    made = linear_records.log_determinant[active]

    def implementation(a: Any) -> Any:
        sign, _ = np.linalg.slogdet(numbers_of(a))
        return sign, made(a, _nothing())[0]

    return implementation
