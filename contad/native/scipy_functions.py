"""Functions of `contad.scipy.linalg` inside Numba, on float64 matrices: SciPy's names, arguments, values and errors."""

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError

import contad.scipy.linalg as mirror
from contad.native.compiling import INTERNAL_OPTIONS, NJIT_OPTIONS
from contad.native.exponential_kernels import expm_forward
from contad.native.machine_code import njit
from contad.native.overloads import add_overload, is_float64
from contad.native.triangular_kernels import (
    check_cho_factor,
    check_cho_solve,
    check_solve_banded,
    check_solve_triangular,
    cho_factor_forward,
    cho_solve_forward,
    require_finite,
    solve_banded_forward,
    solve_triangular_forward,
)


def require_matrices(name: str, *kinds: tuple[Any, tuple[int, ...]]) -> bool:
    """Whether these are arrays of float64 with so many axes; TypingError for plain arrays that are not."""
    for kind, ndims in kinds:
        if not isinstance(kind, types.Array) or not isinstance(kind.dtype, (types.Number, types.Boolean)):
            return False  # variables, say
        if not is_float64(kind, *ndims):
            axes = " or ".join(map(str, ndims))
            raise TypingError(
                f"contad.scipy.linalg.{name}: inside njit it takes float64 arrays of {axes} axes, got {kind}; call "
                f".astype(np.float64)"
            )
    return True


def flag_of_trans(trans: Any) -> Any:
    """An njit function that says whether `trans`, of such a type, asks for the transposed matrix; None if that is
    known when it runs only.
    """
    given = trans.literal_value if isinstance(trans, types.Literal) else getattr(trans, "value", trans)
    if isinstance(trans, (types.Integer, types.Boolean)) and not isinstance(trans, types.Literal):
        return njit(lambda trans: 1 <= trans <= 2)
    if isinstance(given, (int, str)):
        is_transposed = given in (1, "T", 2, "C")
        return njit(lambda trans: is_transposed)
    return None


@njit(**INTERNAL_OPTIONS)
def as_matrix(a):  # type: ignore[no-untyped-def]
    """A copy in C order, of a vector as a matrix of one column."""
    made = np.empty((len(a), a.size // max(len(a), 1)))
    flat = made.reshape(made.size)
    for k, element in enumerate(a.flat):
        flat[k] = element
    return made


@add_overload(mirror.solve_triangular, prefer_literal=True)
def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:  # fmt: skip
    transposed = flag_of_trans(trans)
    if transposed is None or not require_matrices("solve_triangular", (a, (2,)), (b, (1, 2))):
        return None

    def implementation(
        a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False, overwrite_b: Any = False,
        check_finite: Any = True,
    ) -> Any:  # fmt: skip
        rows, columns = as_matrix(a), as_matrix(b)
        if check_finite:
            require_finite(rows)
            require_finite(columns)
        check_solve_triangular(a.shape, b.shape)
        z = solve_triangular_forward(rows, columns, transposed(trans), bool(lower), bool(unit_diagonal))
        return z.reshape(b.shape)

    return implementation


@add_overload(mirror.cho_factor)
def _cho_factor(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    if not require_matrices("cho_factor", (a, (2,))):
        return None

    def implementation(a: Any, lower: Any = False, overwrite_a: Any = False, check_finite: Any = True) -> Any:
        rows = as_matrix(a)
        if check_finite:
            require_finite(rows)
        check_cho_factor(a.shape)
        return cho_factor_forward(rows, bool(lower)), bool(lower)

    return implementation


@add_overload(mirror.cho_solve)
def _cho_solve(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    if not isinstance(c_and_lower, types.BaseTuple) or len(c_and_lower) != 2:
        return None
    if not require_matrices("cho_solve", (c_and_lower[0], (2,)), (b, (1, 2))):
        return None

    def implementation(c_and_lower: Any, b: Any, overwrite_b: Any = False, check_finite: Any = True) -> Any:
        c, lower = c_and_lower
        rows, columns = as_matrix(c), as_matrix(b)
        if check_finite:
            require_finite(columns)
            require_finite(rows)
        check_cho_solve(c.shape, b.shape)
        return cho_solve_forward(rows, columns, bool(lower)).reshape(b.shape)

    return implementation


@add_overload(mirror.solve_banded)
def _solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    if not isinstance(l_and_u, types.BaseTuple) or len(l_and_u) != 2:
        return None
    if not require_matrices("solve_banded", (ab, (2,)), (b, (1, 2))):
        return None

    def implementation(
        l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, check_finite: Any = True
    ) -> Any:
        lower, upper = l_and_u
        band, columns = as_matrix(ab), as_matrix(b)
        if check_finite:
            require_finite(band)
            require_finite(columns)
        check_solve_banded(lower, upper, ab.shape, b.shape)
        return solve_banded_forward(lower, upper, band, columns).reshape(b.shape)

    return implementation


@njit(**NJIT_OPTIONS)
def require_square(a):  # type: ignore[no-untyped-def]
    """Raise what SciPy's functions raise unless a is square."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


@add_overload(mirror.expm)
def _expm(A: Any) -> Any:
    if not require_matrices("expm", (A, (2,))):
        return None

    def implementation(A: Any) -> Any:
        require_square(A)
        return expm_forward(as_matrix(A))

    return implementation
