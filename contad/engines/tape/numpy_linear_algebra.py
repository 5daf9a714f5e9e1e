"""np.linalg on matrices of variables and duals, where Numba compiles it for float64, with Numba's errors."""

from typing import Any

import numpy as np

from contad.engines.tape.arrays import is_active_array
from contad.engines.tape.matrix_records import OPERATIONS
from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.factor_kernels import check_system, require_square
from contad.native.machine_code import njit
from contad.native.overloads import add_overload, is_float64


def active_of(kinds: tuple[Any, ...], *ndims: tuple[int, ...]) -> Any:
    """The active type among arrays of it and of float64, of so many axes; None where there is none."""
    if not all(is_active_array(x) or is_float64(x) for x in kinds):
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
    made = OPERATIONS["solve"][active]

    def of_vector(a: Any, b: Any) -> Any:
        check_system(a, b)
        return made(a, as_column(b), len(a), len(a), 1, False)

    def of_matrix(a: Any, b: Any) -> Any:
        check_system(a, b)
        return made(a, b, len(a), len(a), b.shape[1], False).reshape(b.shape)

    return of_vector if b.ndim == 1 else of_matrix


def _of_matrix(function: Any, name: str) -> None:
    """Register a function of one square matrix whose value is a matrix of the same shape."""

    def typing(a: Any) -> Any:
        """One block of records."""
        active = active_of((a,), (2,))
        if active is None:
            return None
        made = OPERATIONS[name][active]

        def implementation(a: Any) -> Any:
            require_square(a)
            return made(a, nothing(), len(a), len(a), 0).reshape(a.shape)

        return implementation

    add_overload(function)(typing)


_of_matrix(np.linalg.inv, "inv")
_of_matrix(np.linalg.cholesky, "cholesky_factor")


@add_overload(np.linalg.det)
def _det(a: Any) -> Any:
    """The determinant."""
    active = active_of((a,), (2,))
    if active is None:
        return None
    made = OPERATIONS["det"][active]

    def implementation(a: Any) -> Any:
        require_square(a)
        return made(a, nothing(), len(a), len(a), 0)[0]

    return implementation


@add_overload(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    """The sign, which is plain, and the logarithm."""
    active = active_of((a,), (2,))
    if active is None:
        return None
    made = OPERATIONS["slogdet"][active]

    def implementation(a: Any) -> Any:
        require_square(a)
        z = made(a, nothing(), len(a), len(a), 0)
        return z[0].value, z[1]

    return implementation
