"""Checks by comparisons of the variables themselves, which recorded programs repeat when they run.

Where one fails, the check of `contad.stan.checks` says what was wrong.
"""

import numpy as np

from contad.ops.products import as_array
from contad.stan.checks import TOLERANCE, check_cholesky_factor, check_simplex
from contad.variables import check
from contad.variables.open_types import ArrayValue, Nested


def require_positive(function: str, name: str, x: Nested) -> None:
    """Raise ValueError unless every element is positive."""
    if not np.all(as_array(x) > 0.0):
        check.positive(function, name, x)


def require_simplex(function: str, name: str, x: Nested) -> None:
    """Raise ValueError unless elements are nonnegative and sum to 1."""
    a = as_array(x)
    if not (np.size(a) and np.all(a >= 0.0) and np.abs(np.sum(a) - 1.0) <= TOLERANCE):
        check_simplex(function, name, x)


def is_cholesky_factor(a: ArrayValue) -> bool:
    """Whether a matrix is lower triangular with a positive diagonal, and no wider than high."""
    rows, columns = np.shape(a) if np.ndim(a) == 2 else (0, 1)
    above = np.triu_indices(rows, 1, columns)
    return bool(rows >= columns > 0 and np.all(a[above] == 0.0) and np.all(np.diagonal(a) > 0.0))


def require_cholesky_factor(function: str, name: str, x: Nested) -> None:
    """Raise ValueError unless a matrix is lower triangular with a positive diagonal, and no wider than high."""
    if not is_cholesky_factor(as_array(x)):
        check_cholesky_factor(function, name, x)
