"""Argument checks in the vocabulary of Stan Math: each returns None, or raises and says what was wrong.

ValueError: a wrong value or shape.  TypeError: no real number, integer or function.  IndexError: an index out of range.
Values are numbers, variables and duals (judged by their primal), arrays, and nested lists of these. Empty arrays pass
wherever nothing needs an element. Indices count from 0, negative ones from the end. Three checks of Stan concern no
single argument and are absent: check_2F1_converges, check_3F2_converges, check_flag_sundials.

>>> positive("normal_lpdf", "sigma", [1.0, 2.0, 0.5])
>>> positive("normal_lpdf", "sigma", [1.0, 2.0, -0.5])
Traceback (most recent call last):
ValueError: normal_lpdf: sigma must be positive, got -0.5 at index 2
>>> square("inverse", "a", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
Traceback (most recent call last):
ValueError: inverse: a must be square, got shape (2, 3)
"""

import math
import operator
from typing import Any

import numpy as np

from contad.variables import arguments

CONSTRAINT_TOLERANCE = 1e-8  # absolute, on sums, lengths and unit diagonals; also relative, on symmetry and eigenvalues

# fmt: off
STAN_NAMES = {
    "check_bounded": "bounded", "check_finite": "finite", "check_greater": "greater", "check_less": "less",
    "check_greater_or_equal": "greater_or_equal", "check_less_or_equal": "less_or_equal", "check_not_nan": "not_nan",
    "check_nonnegative": "nonnegative", "check_positive": "positive", "check_positive_finite": "positive_finite",
    "check_range": "range", "check_std_vector_index": "index", "check_vector_index": "index",
    "check_row_index": "row_index", "check_column_index": "column_index",
    "check_size_match": "size_match", "check_matching_sizes": "matching_sizes", "check_matching_dims": "matching_dims",
    "check_consistent_size": "consistent_sizes", "check_consistent_sizes": "consistent_sizes",
    "check_consistent_sizes_mvt": "consistent_sizes", "check_nonzero_size": "nonempty",
    "check_multiplicable": "multiplicable", "check_vector": "vector", "check_square": "square",
    "check_symmetric": "symmetric", "check_pos_definite": "pos_definite", "check_ldlt_factor": "pos_definite",
    "check_pos_semidefinite": "pos_semidefinite", "check_cov_matrix": "cov_matrix", "check_corr_matrix": "corr_matrix",
    "check_lower_triangular": "lower_triangular", "check_cholesky_factor": "cholesky_factor",
    "check_cholesky_factor_corr": "cholesky_factor_corr", "check_simplex": "simplex",
    "check_stochastic_column": "stochastic_column", "check_stochastic_row": "stochastic_row",
    "check_sorted": "sorted", "check_ordered": "ordered", "check_positive_ordered": "positive_ordered",
    "check_unit_vector": "unit_vector", "check_sum_to_zero": "sum_to_zero",
}
# fmt: on


# ---- every element ---------------------------------------------------------------------------------------------------
def finite(function: str, name: str, value: Any) -> None:
    """Every element is neither infinite nor nan."""
    arguments.require_each(function, name, value, arguments.between, "be finite", -math.inf, math.inf)


def not_nan(function: str, name: str, value: Any) -> None:
    """No element is nan."""
    arguments.require_each(function, name, value, operator.eq, "not be nan", value)


def positive(function: str, name: str, value: Any) -> None:
    """Every element is > 0."""
    arguments.require_each(function, name, value, operator.gt, "be positive", 0)


def nonnegative(function: str, name: str, value: Any) -> None:
    """Every element is >= 0."""
    arguments.require_each(function, name, value, operator.ge, "be nonnegative", 0)


def positive_finite(function: str, name: str, value: Any) -> None:
    """Every element is > 0 and < inf."""
    arguments.require_each(function, name, value, arguments.between, "be positive and finite", 0, math.inf)


def bounded(function: str, name: str, value: Any, low: Any, high: Any) -> None:
    """Every element is in [low, high]."""
    arguments.require_each(function, name, value, arguments.within, "be in [{}, {}]", low, high)


def less(function: str, name: str, value: Any, high: Any) -> None:
    """Every element is < high."""
    arguments.require_each(function, name, value, operator.lt, "be less than {}", high)


def less_or_equal(function: str, name: str, value: Any, high: Any) -> None:
    """Every element is <= high."""
    arguments.require_each(function, name, value, operator.le, "be less than or equal to {}", high)


def greater(function: str, name: str, value: Any, low: Any) -> None:
    """Every element is > low."""
    arguments.require_each(function, name, value, operator.gt, "be greater than {}", low)


def greater_or_equal(function: str, name: str, value: Any, low: Any) -> None:
    """Every element is >= low."""
    arguments.require_each(function, name, value, operator.ge, "be greater than or equal to {}", low)


# ---- kinds and indices -----------------------------------------------------------------------------------------------
def real(function: str, name: str, value: Any) -> None:
    """Every element is a real number or a variable."""
    if not isinstance(value, arguments.SCALAR):
        arguments.array(function, name, value)


def real_number(function: str, name: str, value: Any) -> None:
    """One real number, variable or dual: what every scalar operation takes."""
    arguments.operand(function, name, value)


def integer(function: str, name: str, value: Any) -> None:
    """Every element is an integer by type; True and False count as 1 and 0."""
    if not isinstance(value, arguments.INTEGER):
        arguments.array(function, name, value, "be an integer", "biu")


def callable_(function: str, name: str, value: Any) -> None:
    """The value can be called."""
    if not callable(value):
        arguments.fail(function, name, "be callable", type(value).__name__, TypeError)


def positive_size(function: str, name: str, value: Any) -> None:
    """Every element is an integer >= 1."""
    integer(function, name, value)
    positive(function, name, value)


def range(function: str, name: str, value: Any, size: int, what: str = "elements") -> None:
    """Every element is an index of `size` elements: an integer in [-size, size)."""
    integer(function, name, value)
    expected = f"index {size} {what}"
    arguments.require_each(function, name, value, arguments.within, expected, -size, size - 1, error=IndexError)


def index(function: str, name: str, value: Any, x: Any, axis: int = 0, what: str = "elements") -> None:
    """Every element is an index of x along the axis."""
    shape = arguments.shape(function, f"container of {name}", x)
    if len(shape) <= axis:
        arguments.fail(function, name, f"index {what}", f"a container of shape {shape}", IndexError)
    range(function, name, value, shape[axis], what)


def row_index(function: str, name: str, value: Any, x: Any) -> None:
    """Every element is an index of a row of x."""
    index(function, name, value, x, 0, "rows")


def column_index(function: str, name: str, value: Any, x: Any) -> None:
    """Every element is an index of a column of x."""
    index(function, name, value, x, 1, "columns")


# ---- sizes and shapes ------------------------------------------------------------------------------------------------
def size_match(function: str, name: str, size: int, name2: str, size2: int) -> None:
    """Two sizes are equal."""
    if size != size2:
        arguments.fail(function, name, f"match {name2}", f"{size} and {size2}")


def matching_sizes(function: str, name: str, value: Any, name2: str, value2: Any) -> None:
    """Both have the same number of elements."""
    size, size2 = math.prod(arguments.shape(function, name, value)), math.prod(arguments.shape(function, name2, value2))
    size_match(function, name, size, f"{name2} in size", size2)


def matching_dims(function: str, name: str, value: Any, name2: str, value2: Any) -> None:
    """Both have the same shape."""
    shape, shape2 = arguments.shape(function, name, value), arguments.shape(function, name2, value2)
    if shape != shape2:
        arguments.fail(function, name, f"match {name2} in shape", f"{shape} and {shape2}")


def consistent_sizes(function: str, name: str, value: Any, *others: Any) -> None:
    """All that are not scalars have the same shape; `others` alternates names and values."""
    first, first_name = arguments.shape(function, name, value), name
    for name_i, value_i in zip(others[::2], others[1::2], strict=True):
        shape = arguments.shape(function, name_i, value_i)
        if first and shape and shape != first:
            arguments.fail(function, name_i, f"be a scalar or match {first_name} of shape {first}", f"shape {shape}")
        if not first:
            first, first_name = shape, name_i


def multiplicable(function: str, name: str, a: Any, name2: str, b: Any) -> None:
    """The columns of a are as many as the rows of b, so that a @ b exists."""
    shape, shape2 = arguments.shape(function, name, a), arguments.shape(function, name2, b)
    if not shape or not shape2 or shape[-1] != shape2[-2:][0]:
        arguments.fail(function, name, f"have as many columns as {name2} has rows", f"shapes {shape} and {shape2}")


def nonempty(function: str, name: str, value: Any) -> None:
    """There is at least one element."""
    arguments.require_shape(function, name, value, lambda shape: 0 not in shape, "be nonempty")


def vector(function: str, name: str, value: Any) -> None:
    """One dimension."""
    arguments.require_shape(function, name, value, lambda shape: len(shape) == 1, "be a vector")


def matrix(function: str, name: str, value: Any) -> None:
    """Two dimensions."""
    arguments.require_shape(function, name, value, lambda shape: len(shape) == 2, "be a matrix")


def square(function: str, name: str, value: Any) -> None:
    """Two equal dimensions."""
    arguments.require_shape(function, name, value, lambda shape: len(shape) == 2 and shape[0] == shape[1], "be square")


# ---- matrices --------------------------------------------------------------------------------------------------------
def symmetric(function: str, name: str, value: Any) -> None:
    """A square matrix that is close to its transpose; the diagonal may be anything."""
    a = arguments.floats(function, name, value, square)
    good = np.isclose(a, a.T, CONSTRAINT_TOLERANCE, CONSTRAINT_TOLERANCE) | np.eye(len(a), dtype=np.bool_)
    arguments.require(good, function, name, "be symmetric (its transpose has {})", a, a.T)


def pos_definite(function: str, name: str, value: Any) -> None:
    """A finite symmetric matrix that has a Cholesky factor."""
    a = arguments.floats(function, name, value, square, finite, symmetric)
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        arguments.fail(function, name, "be positive definite", f"smallest eigenvalue {np.linalg.eigvalsh(a)[0]:.6g}")


def pos_semidefinite(function: str, name: str, value: Any) -> None:
    """A finite symmetric matrix whose eigenvalues are >= 0 up to rounding."""
    eigenvalues = np.linalg.eigvalsh(arguments.floats(function, name, value, square, finite, symmetric))
    low, high = eigenvalues.min(initial=0.0), eigenvalues.max(initial=1.0)
    if low < -CONSTRAINT_TOLERANCE * high:
        arguments.fail(function, name, "be positive semidefinite", f"smallest eigenvalue {low:.6g}")


def cov_matrix(function: str, name: str, value: Any) -> None:
    """A covariance matrix: symmetric positive definite."""
    pos_definite(function, name, value)


def corr_matrix(function: str, name: str, value: Any) -> None:
    """A correlation matrix: symmetric positive definite with a unit diagonal."""
    a = arguments.floats(function, name, value, square)
    good = (np.abs(a - 1.0) <= CONSTRAINT_TOLERANCE) | ~np.eye(len(a), dtype=np.bool_)
    arguments.require(good, function, name, "have a unit diagonal", a)
    pos_definite(function, name, a)


def lower_triangular(function: str, name: str, value: Any) -> None:
    """A matrix that is 0 above its diagonal."""
    a = arguments.floats(function, name, value, matrix)
    arguments.require((a == 0.0) | np.tri(*a.shape, dtype=np.bool_), function, name, "be lower triangular", a)


def cholesky_factor(function: str, name: str, value: Any) -> None:
    """Lower triangular with a positive diagonal and no more columns than rows."""
    a = arguments.floats(function, name, value, lower_triangular)
    arguments.require_shape(function, name, a, lambda shape: shape[0] >= shape[1], "have no more columns than rows")
    arguments.require((a > 0.0) | ~np.eye(*a.shape, dtype=np.bool_), function, name, "have a positive diagonal", a)


def cholesky_factor_corr(function: str, name: str, value: Any) -> None:
    """The Cholesky factor of a correlation matrix: square, with rows of length 1."""
    a = arguments.floats(function, name, value, square, cholesky_factor)
    arguments.require_sum(function, name, a, 1.0, CONSTRAINT_TOLERANCE, "have rows of length 1", 1, 2, "row")


# ---- vectors and sums ------------------------------------------------------------------------------------------------
def ordered(function: str, name: str, value: Any) -> None:
    """A strictly increasing vector."""
    a = arguments.array(function, name, value)
    vector(function, name, a)
    arguments.require_increasing(function, name, a, operator.gt, "be strictly increasing (> {} here)")


def positive_ordered(function: str, name: str, value: Any) -> None:
    """A strictly increasing vector of elements >= 0 (as in Stan, the first may be 0)."""
    nonnegative(function, name, value)
    ordered(function, name, value)


def sorted(function: str, name: str, value: Any) -> None:
    """A vector that never decreases."""
    a = arguments.array(function, name, value)
    vector(function, name, a)
    arguments.require_increasing(function, name, a, operator.ge, "be increasing (>= {} here)")


def simplex(function: str, name: str, value: Any) -> None:
    """A vector of elements >= 0 with sum 1."""
    _stochastic(function, name, value, vector, "be a simplex", 0, "index")


def stochastic_column(function: str, name: str, value: Any) -> None:
    """A matrix of elements >= 0 in which each column has sum 1."""
    _stochastic(function, name, value, matrix, "be column stochastic", 0, "column")


def stochastic_row(function: str, name: str, value: Any) -> None:
    """A matrix of elements >= 0 in which each row has sum 1."""
    _stochastic(function, name, value, matrix, "be row stochastic", 1, "row")


def _stochastic(function: str, name: str, value: Any, dims: Any, expected: str, axis: int, place: str) -> None:
    a = arguments.floats(function, name, value, dims, nonempty)
    arguments.require(a >= 0.0, function, name, expected, a)
    arguments.require_sum(function, name, a, 1.0, CONSTRAINT_TOLERANCE, expected, axis, place=place)


def unit_vector(function: str, name: str, value: Any) -> None:
    """A vector of length 1."""
    a = arguments.floats(function, name, value, vector)
    arguments.require_sum(function, name, a, 1.0, CONSTRAINT_TOLERANCE, "be a unit vector", power=2)


def sum_to_zero(function: str, name: str, value: Any) -> None:
    """A nonempty array with sum 0."""
    a = arguments.floats(function, name, value, nonempty)
    arguments.require_sum(function, name, a, 0.0, CONSTRAINT_TOLERANCE, "sum to zero")
