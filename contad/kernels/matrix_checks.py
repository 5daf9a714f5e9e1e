"""The errors that NumPy, SciPy and Numba raise for matrix operands of wrong shapes, or with infinities and nans."""

import numpy as np

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.overloads import in_machine_code
from contad.kernels.matrix_loops import in_rows
from contad.kernels.product_kernels import is_finite


# ---- Numba's functions of np.linalg ----------------------------------------------------------------------------------
@in_machine_code
def require_square(a):  # type: ignore[no-untyped-def]
    """Raise as Numba's functions do unless a is square."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square.")


@in_machine_code
def require_rows(a, b):  # type: ignore[no-untyped-def]
    """Raise as Numba's functions do unless b has as many rows as a."""
    if a.shape[0] != b.shape[0]:
        raise np.linalg.LinAlgError("Incompatible array sizes, system is not dimensionally valid.")


@in_machine_code
def check_system(a, b):  # type: ignore[no-untyped-def]
    """Raise as np.linalg.solve does, also if a is not square, which Numba's function does not check."""
    require_rows(a, b)
    require_square(a)


@in_machine_code
def check_least_squares(a, b):  # type: ignore[no-untyped-def]
    """Raise as np.linalg.lstsq does."""
    require_rows(a, b)
    if a.size == 0 or b.size == 0:
        raise np.linalg.LinAlgError("Arrays cannot be empty")


# ---- SciPy's ---------------------------------------------------------------------------------------------------------
@njit(**NJIT_OPTIONS)
def text_of(shape):  # type: ignore[no-untyped-def]
    """A shape of one or two axes as Python prints it."""
    if len(shape) == 1:
        return "(" + str(shape[0]) + ",)"
    return "(" + str(shape[0]) + ", " + str(shape[-1]) + ")"


@njit(**NJIT_OPTIONS)
def require_finite(a):  # type: ignore[no-untyped-def]
    """Raise as SciPy's functions do unless all elements are finite."""
    if not is_finite(in_rows(a)):
        raise ValueError("array must not contain infs or NaNs")


@njit(**NJIT_OPTIONS)
def check_square(a):  # type: ignore[no-untyped-def]
    """Raise as SciPy's functions do unless a is square."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


@njit(**NJIT_OPTIONS)
def check_solve_triangular(of_a, of_b):  # type: ignore[no-untyped-def]
    """Raise what SciPy raises for operands of wrong shapes."""
    if of_a[0] != of_a[1]:
        raise ValueError("expected square matrix")
    if of_a[0] != of_b[0]:
        raise ValueError("shapes of a " + text_of(of_a) + " and b " + text_of(of_b) + " are incompatible")


@njit(**NJIT_OPTIONS)
def check_cho_factor(of_a):  # type: ignore[no-untyped-def]
    """Raise as SciPy does for an operand of a wrong shape."""
    if of_a[0] != of_a[1]:
        raise ValueError("Input array is expected to be square but has the shape: " + text_of(of_a) + ".")


@njit(**NJIT_OPTIONS)
def check_cho_solve(of_c, of_b):  # type: ignore[no-untyped-def]
    """Raise what SciPy raises for operands of wrong shapes."""
    if of_c[0] != of_c[1]:
        raise ValueError("The factored matrix c is not square.")
    if of_c[1] != of_b[0]:
        raise ValueError("incompatible dimensions (" + text_of(of_c) + " and " + text_of(of_b) + ")")


@njit(**NJIT_OPTIONS)
def check_half_band(of_ab, of_b):  # type: ignore[no-untyped-def]
    """Raise what SciPy raises for operands of wrong shapes."""
    if of_ab[1] != of_b[0]:
        raise ValueError("shapes of ab and b are not compatible.")


@njit(**NJIT_OPTIONS)
def check_solve_banded(lower, upper, of_ab, of_b):  # type: ignore[no-untyped-def]
    """Raise as SciPy does for operands of wrong shapes, and for a negative number of diagonals."""
    check_half_band(of_ab, of_b)
    if lower < 0 or upper < 0 or lower + upper + 1 != of_ab[0]:
        raise ValueError(
            "invalid values for the number of lower and upper diagonals: l+u+1 (" + str(lower + upper + 1) + ") does "
            "not equal ab.shape[0] (" + str(of_ab[0]) + ")"
        )
