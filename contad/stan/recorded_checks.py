"""Checks that compare the variables themselves, and that recorded programs therefore repeat.

If one fails, the check of `contad.stan.checks` raises the error.
"""

from typing import Any

import numpy as np

from contad.distributions.faces import check_domain
from contad.ops.products import as_array
from contad.ops.triangular_factors import MASKED, lower_part, places_above
from contad.stan.checks import TOLERANCE
from contad.variables import arguments
from contad.variables.dtypes import is_float64
from contad.variables.number import Carrier, lower_to_recorded, peek
from contad.variables.open_types import ArrayValue, Nested

SMALL = 1024  # matrices with at most this many elements are compared as bytes
UNIT = np.ones(1).tobytes()


def values_of(function: str, name: str, x: Nested) -> ArrayValue:
    """The operands of comparisons: the values, or the variables of a program that is being recorded."""
    seen = lower_to_recorded(as_array(x))
    plain = isinstance(seen, Carrier) or is_float64(seen)
    return seen if plain else arguments.array(function, name, seen)


# ---- plain numbers, quickly: True is sure, and where it is False another check follows -------------------------------
def equals_its_transposed(a: Any) -> bool:
    """Whether a matrix is symmetric to the last bit; its elements may be nan."""
    if not is_float64(a) or a.ndim != 2 or a.shape[0] != a.shape[1]:
        return False
    return a.tobytes() == a.tobytes("F") if a.size <= SMALL else bool((a == a.T).all())


def are_finite(a: np.ndarray) -> bool:
    """Whether all elements are finite, by looking for zero bytes in the mask."""
    return 0 not in np.isfinite(a).tobytes()


def has_surely_units(a: np.ndarray) -> bool:
    """Whether a matrix has a diagonal of ones, to the last bit."""
    return a.diagonal().tobytes() == UNIT * len(a)


def are_between(low: float, finite: bool, a: Any) -> bool:
    """Whether all elements are above `low` and, if `finite`, are finite."""
    if not is_float64(a) or not a.size:
        return False
    return (low == -np.inf or bool(a.min() > low)) and (not finite or are_finite(a))


def are_surely_counts(a: Any) -> bool:
    """Whether elements are nonnegative whole numbers."""
    if a.__class__ is not np.ndarray or a.dtype.kind not in "if" or not a.size or not a.min() >= 0:
        return False
    return a.dtype.kind == "i" or bool((a == np.floor(a)).all())


def is_surely_simplex(a: Any) -> bool:
    """Whether elements are nonnegative and sum to 1."""
    return is_float64(a) and a.size > 0 and bool(a.min() >= 0.0 and abs(a.sum() - 1.0) <= TOLERANCE)


def is_surely_cholesky_factor(a: Any) -> bool:
    """Whether a square matrix is lower triangular with a positive diagonal."""
    if not is_float64(a) or a.ndim != 2 or not 0 < len(a) == a.shape[1]:
        return False
    if len(a) > MASKED:
        return a.tobytes() == lower_part(a).tobytes() and bool(a.diagonal().min() > 0.0)
    above = places_above(len(a))
    return a.take(above).tobytes() == bytes(8 * len(above)) and all(x > 0.0 for x in a.diagonal().tolist())


# ---- variables and numbers -------------------------------------------------------------------------------------------
def require_symmetric(function: str, name: str, x: Nested, diagonal: str = "any") -> None:
    """Raise ValueError unless matrices, or stacks of them, are symmetric up to 1e-8, with a diagonal of this kind.

    diagonal  "any", "real" (without nan) or "finite"; all other elements must be finite
    """
    if equals_its_transposed(x) and are_finite(x):
        return
    a = values_of(function, name, x)
    shape = np.shape(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        arguments.fail(function, name, "be a square matrix", f"shape {shape}", np.linalg.LinAlgError)
    with np.errstate(invalid="ignore"):
        difference = np.abs(np.tril(a, -1) - np.swapaxes(np.triu(a, 1), -1, -2))
    if not np.all(difference <= TOLERANCE):
        found = arguments.array(function, name, peek(difference))
        place = np.unravel_index(np.argmin(found <= TOLERANCE), found.shape)
        arguments.fail(function, name, "be a symmetric matrix", f"a difference of {found[place]}{arguments.at(place)}")
    if diagonal != "any":
        check_domain(function, f"the diagonal of {name}", np.diagonal(a, 0, -2, -1), diagonal)


def has_nan(function: str, name: str, x: Nested) -> bool:
    """Whether any element is nan."""
    a = values_of(function, name, x)
    return not ((a.__class__ is np.ndarray and are_finite(a)) or np.all(a == a))


def is_cholesky_factor(a: ArrayValue) -> bool:
    """Whether a matrix is lower triangular with a positive diagonal, and no wider than it is high."""
    if is_surely_cholesky_factor(a):
        return True
    rows, columns = np.shape(a) if np.ndim(a) == 2 else (0, 1)
    above = np.triu_indices(rows, 1, columns)
    return bool(rows >= columns > 0 and np.all(a[above] == 0.0) and np.all(np.diagonal(a) > 0.0))


def is_symmetric(a: ArrayValue) -> bool:
    """Whether a matrix is square, and symmetric up to 1e-8; elements may be infinite or nan."""
    with np.errstate(invalid="ignore"):
        is_square = np.ndim(a) == 2 and a.shape[0] == a.shape[1]
        return is_square and bool(np.all(np.abs(a - a.T) <= TOLERANCE))
