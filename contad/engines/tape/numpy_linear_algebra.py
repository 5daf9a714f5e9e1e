"""np.linalg on matrices of variables and duals, where Numba compiles it for float64, with Numba's errors."""

from typing import Any

import numpy as np
from numba import types

from contad.engines.tape import linear_records
from contad.engines.tape.arrays import is_active_array
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
def nothing():  # type: ignore[no-untyped-def]
    """The second operand of an operation that has one."""
    return np.empty((0, 0))


@njit(**INTERNAL_OPTIONS)
def require_square(a):  # type: ignore[no-untyped-def]
    """Raise what Numba's functions raise unless a is square."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square.")


@njit(**INTERNAL_OPTIONS)
def _check_system(a, b):  # type: ignore[no-untyped-def]
    """Raise what np.linalg.solve raises, and where a is not square, of which Numba's function takes no notice."""
    if a.shape[0] != b.shape[0]:
        raise np.linalg.LinAlgError("Incompatible array sizes, system is not dimensionally valid.")
    require_square(a)


@add_overload(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    """The solution for one vector, or for the columns of a matrix."""
    active = active_of(a, b)
    if active is None or a.ndim != 2 or b.ndim not in (1, 2):
        return None
    made = linear_records.solve[active]

    def of_vector(a: Any, b: Any) -> Any:
        _check_system(a, b)
        return made(a, b.copy().reshape((b.size, 1)), b.size, a.size + len(a))

    def of_matrix(a: Any, b: Any) -> Any:
        _check_system(a, b)
        return made(a, b, b.size, a.size + len(a)).reshape(b.shape)

    return of_vector if b.ndim == 1 else of_matrix


def _of_matrix(function: Any, operations: dict[Any, Any]) -> None:
    """Register a function of one square matrix whose value is a matrix of the same shape."""

    def typing(a: Any) -> Any:
        active = active_of(a)
        if active is None or a.ndim != 2:
            return None
        made = operations[active]
        return lambda a: made(a, nothing(), a.size, 0).reshape(a.shape)

    add_overload(function)(typing)


_of_matrix(np.linalg.inv, linear_records.inv)
_of_matrix(np.linalg.cholesky, linear_records.cholesky)


@add_overload(np.linalg.det)
def _det(a: Any) -> Any:
    active = active_of(a)
    if active is None or a.ndim != 2:
        return None
    made = linear_records.det[active]
    return lambda a: made(a, nothing(), 1, 0)[0]


@add_overload(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    """The sign, which is plain, and the logarithm."""
    active = active_of(a)
    if active is None or a.ndim != 2:
        return None
    made = linear_records.slogdet[active]

    def implementation(a: Any) -> Any:
        z = made(a, nothing(), 2, 0)
        return z[1].value, z[0]

    return implementation
