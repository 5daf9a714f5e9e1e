"""Functions of `contad.scipy.linalg` on matrices of variables and duals inside njit, with SciPy's errors."""

from typing import Any

from numba import types

import contad.scipy.linalg as mirror
from contad.engines.tape.conversions import value
from contad.engines.tape.matrix_records import OPERATIONS
from contad.engines.tape.numpy_linear_algebra import active_of, as_column, nothing
from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.overloads import add_overload
from contad.native.scipy_functions import flag_of_trans, require_square
from contad.native.triangular_kernels import (
    check_cho_factor,
    check_cho_solve,
    check_solve_banded,
    check_solve_triangular,
)


@njit(**INTERNAL_OPTIONS)
def _require_finite(a):  # type: ignore[no-untyped-def]
    """Raise what SciPy's functions raise unless all values are finite."""
    for element in a.flat:
        x = value(element)
        if x - x != 0.0:
            raise ValueError("array must not contain infs or NaNs")


@add_overload(mirror.solve_triangular, prefer_literal=True)
def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    """The solution for one vector, or for the columns of a matrix."""
    transposed = flag_of_trans(trans)
    active = active_of((a, b), (2,), (1, 2))
    if transposed is None or active is None:
        return None
    made, is_vector = OPERATIONS["solve_triangular"][active], b.ndim == 1

    def implementation(
        a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False,
        check_finite: Any = True,
    ) -> Any:  # fmt: skip
        """One block of records."""
        if check_finite:
            _require_finite(a)
            _require_finite(b)
        check_solve_triangular(a.shape, b.shape)
        columns = as_column(b) if is_vector else b
        n, k = columns.shape
        return made(a, columns, n, n, k, transposed(trans), bool(lower), bool(unit_diagonal)).reshape(b.shape)

    return implementation


@add_overload(mirror.cho_factor)
def _cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """The factor, and which triangle holds it."""
    active = active_of((a,), (2,))
    if active is None:
        return None
    made = OPERATIONS["filled_cholesky_factor"][active]

    def implementation(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
        """One block of records."""
        if check_finite:
            _require_finite(a)
        check_cho_factor(a.shape)
        return made(a, nothing(), len(a), len(a), 0, bool(lower)).reshape(a.shape), bool(lower)

    return implementation


@add_overload(mirror.cho_solve)
def _cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    """The solution from the factor, for one vector or for the columns of a matrix."""
    if not isinstance(c_and_lower, types.BaseTuple) or len(c_and_lower) != 2:
        return None
    active = active_of((c_and_lower[0], b), (2,), (1, 2))
    if active is None:
        return None
    made, is_vector = OPERATIONS["cholesky_solution"][active], b.ndim == 1

    def implementation(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
        """One block of records."""
        c, lower = c_and_lower
        if check_finite:
            _require_finite(b)
            _require_finite(c)
        check_cho_solve(c.shape, b.shape)
        columns = as_column(b) if is_vector else b
        return made(c, columns, len(c), len(c), columns.shape[1], bool(lower)).reshape(b.shape)

    return implementation


@add_overload(mirror.solve_banded)
def _solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    """The solution from the diagonals, for one vector or for the columns of a matrix."""
    active = active_of((ab, b), (2,), (1, 2))
    if active is None or not isinstance(l_and_u, types.BaseTuple) or len(l_and_u) != 2:
        return None
    made, is_vector = OPERATIONS["banded_solution"][active], b.ndim == 1

    def implementation(
        l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, check_finite: Any = True
    ) -> Any:
        """One block of records."""
        lower, upper = l_and_u
        if check_finite:
            _require_finite(ab)
            _require_finite(b)
        check_solve_banded(lower, upper, ab.shape, b.shape)
        columns = as_column(b) if is_vector else b
        return made(ab, columns, ab.shape[0], ab.shape[1], columns.shape[1], lower, upper).reshape(b.shape)

    return implementation


@add_overload(mirror.expm)
def _expm(A: Any) -> Any:
    """The exponential of one matrix."""
    active = active_of((A,), (2,))
    if active is None:
        return None
    made = OPERATIONS["expm"][active]

    def implementation(A: Any) -> Any:
        """One block of records."""
        require_square(A)
        return made(A, nothing(), len(A), len(A), 0).reshape(A.shape)

    return implementation
