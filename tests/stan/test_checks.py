"""Stan's checks of arguments: what passes, what is refused and how, also of variables."""

import pickle

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.stan import checks, parity

R = [[1.0, 0.3], [0.3, 1.0]]
L = np.linalg.cholesky(R)
LONG = [[1.0, 0.0], [0.3, 1.0], [0.2, 0.4]]

# name: arguments that pass; (arguments that do not, the message after function and name)
OF_ONE = {
    "finite": ([0.1, -2.0], [([1.0, np.inf], "must be finite, got inf at index 1"), (np.nan, "must be finite, got n")]),
    "not_nan": ([0.1, np.inf], [([[1.0, np.nan]], "must be a number, not nan, got nan at index (0, 1)")]),
    "positive": (0.1, [(0.0, "must be positive, got 0.0"), (np.nan, "must be positive, got nan")]),
    "nonnegative": ([0.0, np.inf], [(-1e-9, "must be nonnegative, got -1e-09")]),
    "positive_finite": (3, [(np.inf, "must be positive and finite, got inf"), (0, "must be positive and finite, got")]),
    "cholesky_factor": (
        LONG,
        [
            (R, "must be lower triangular with a positive diagonal, no wider than high, got an element above of 0.3 a"),
            (np.transpose(np.tril(LONG)), "must be lower triangular with a positive diagonal, no wider"),
            (-L, "must be lower triangular with a positive diagonal, no wider than high, got a diagonal of -1.0 at in"),
            (np.eye(2)[:1], "must be lower triangular with a positive diagonal, no wider than high, got shape (1, 2)"),
        ],
    ),
    "cholesky_factor_corr": (
        L,
        [
            (1.1 * L, "must be the Cholesky factor of a correlation matrix, got a row whose squares sum to 1.21"),
            (LONG, "must be the Cholesky factor of a correlation matrix, got shape (3, 2)"),
        ],
    ),
    "corr_matrix": (
        R,
        [
            ([[1.0, 1.3], [1.3, 1.0]], "must be a correlation matrix, got a matrix with no Cholesky factor"),
            ([[1.0, 0.3], [0.3, 2.0]], "must be a correlation matrix, got a diagonal of 2.0 at index 1"),
        ],
    ),
    "cov_matrix": (R, [(np.zeros((2, 2)), "must be symmetric and positive definite, got a matrix with no Cholesky")]),
    "pos_definite": (R, [([[1.0, 0.3], [0.2, 1.0]], "must be symmetric and positive definite, got elements that dif")]),
    "pos_semidefinite": (
        [[1.0, 1.0], [1.0, 1.0]],
        [
            ([[1.0, 2.0], [2.0, 1.0]], "must be symmetric and positive semidefinite, got the eigenvalue -1.0"),
            ([[1.0, np.nan], [np.nan, 1.0]], "must be symmetric and positive semidefinite, got elements that differ"),
        ],
    ),
    "lower_triangular": (L, [(R, "must be lower triangular, got an element above of 0.3 at index (0, 1)")]),
    "nonzero_size": ([1.0], [([], "must have elements, got shape (0,)")]),
    "ordered": ([0.1, 0.2], [([0.1, 0.1], "must be increasing, got no greater element after 0.1 at index 0")]),
    "sorted": ([0.1, 0.1], [([0.2, 0.1], "must be in ascending order, got a greater element before 0.1 at index 0")]),
    "positive_ordered": ([0.0, 0.2], [([-0.1, 0.1], "must be nonnegative and increasing, got -0.1 first")]),
    "simplex": (
        [0.2, 0.8],
        [
            ([0.2, 0.7], "must be a simplex: nonnegative numbers that sum to 1, got the sum 0.8999"),
            ([-0.2, 1.2], "must be a simplex: nonnegative numbers that sum to 1, got the element -0.2 at index 0"),
            ([], "must be a simplex: nonnegative numbers that sum to 1, got no elements"),
        ],
    ),
    "square": (R, [(LONG, "must be a square matrix, got shape (3, 2)"), ([1.0], "must be a square matrix, got shape")]),
    "symmetric": (R, [([[1.0, 0.3], [0.2, 1.0]], "must be a symmetric matrix, got elements that differ by 0.09999")]),
    "unit_vector": ([0.6, 0.8], [([0.6, 0.7], "must be of length 1, got squares that sum to 0.84999")]),
    "vector": ([[1.0, 2.0]], [(R, "must be a vector, or a matrix of one row or column, got shape (2, 2)")]),
}  # fmt: skip

# name: arguments that pass; (arguments that do not, the class, the message)
OTHERS = {
    "bounded": (("f", "x", [0.1, 0.2], 0.1, 0.2), ("f", "x", 0.3, 0.1, [0.2]), ValueError, "f: x must be between 0.1"),
    "greater": (("f", "x", 0.2, 0.1), ("f", "x", 0.1, 0.1), ValueError, "f: x must be greater than 0.1, got 0.1"),
    "greater_or_equal": (("f", "x", 0.1, 0.1), ("f", "x", 0.0, 0.1), ValueError, "f: x must be at least 0.1, got 0.0"),
    "less": (("f", "x", 0.0, 0.1), ("f", "x", 0.1, 0.1), ValueError, "f: x must be less than 0.1, got 0.1"),
    "less_or_equal": (
        ("f", "x", [0.1, 0.2], [0.1, 0.3]), ("f", "x", [0.1, 0.4], [0.1, 0.3]), ValueError,
        "f: x must be at most 0.3, got 0.4 at index 1",
    ),
    "size_match": (("f", "rows", 2, "columns", 2), ("f", "rows", 2, "columns", 3), ValueError,
                   "f: rows must be columns = 3, got 2"),
    "matching_dims": (("f", "a", R, "b", L), ("f", "a", R, "b", LONG), ValueError, "f: a must have the shape of b, go"),
    "matching_sizes": (("f", "a", R, "b", range(4)), ("f", "a", R, "b", [1.0]), ValueError,
                       "f: a must have as many elements as b, got shapes (2, 2) and (1,)"),
    "multiplicable": (("f", "a", LONG, "b", R), ("f", "a", R, "b", LONG), ValueError,
                      "f: a must have as many columns as there are rows of b, got shapes (2, 2) and (3, 2)"),
    "consistent_size": (("f", "x", [1.0, 2.0], 2), ("f", "x", [1.0, 2.0], 3), ValueError,
                        "f: x must be a number or have 3 elements, got shape (2,)"),
    "consistent_sizes": (("f", "x", [1.0, 2.0], "y", 3.0), ("f", "x", [1.0, 2.0], "y", [1.0]), ValueError,
                         "f: y must have the size of x, 2, got 1"),
    "consistent_sizes_mvt": (("f", "x", R, "y", [1.0]), ("f", "x", R, "y", LONG), ValueError,
                             "f: y must have the size of x, 2, got 3"),
    "range": (("f", "x", 3, 2), ("f", "x", 3, -1), IndexError, "f: x must have a place -1, got 3 of them, from 0"),
    "column_index": (("f", "a", LONG, 1), ("f", "a", LONG, 2), IndexError, "f: a must have a column 2, got 2 of them"),
    "row_index": (("f", "a", LONG, 2), ("f", "a", LONG, 3), IndexError, "f: a must have a row 3, got 3 of them, from"),
    "vector_index": (("f", "x", [1.0], 0), ("f", "x", [1.0], 1), IndexError, "f: x must have an element 1, got 1 of t"),
    "2F1_converges": (("f", 1.0, 2.0, 3.5, 1.0), ("f", 1.0, 2.0, 3.0, 1.0), ValueError, "f: 2F1 must converge, got z"),
    "3F2_converges": (("f", -2.0, 2.0, 3.0, -2.0, 1.0, 9.0), ("f", 1.0, 2.0, 3.0, -2.0, 1.0, 0.5), ValueError,
                      "f: 3F2 must not be at a pole, got [-2.0, 1.0] below"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE)
def test_checks_of_one(name):
    check = getattr(stan, f"check_{name}")
    good, bad = OF_ONE[name]
    assert check("f", "x", good) is None
    for value, message in bad:
        with pytest.raises(ValueError) as refused:
            check("f", "x", value)
        assert str(refused.value).startswith(f"f: x {message}")


@pytest.mark.parametrize("name", OTHERS)
def test_checks_with_more(name):
    check = getattr(stan, f"check_{name}")
    good, bad, error, message = OTHERS[name]
    assert check(*good) is None
    with pytest.raises(error) as refused:
        check(*bad)
    assert str(refused.value).startswith(message)


def test_every_check_is_tried():
    rows = [row.name for row in parity.rows(tuple(stan.__all__)) if row.section == "Checks of arguments"]
    tried = {f"check_{name}" for name in (*OF_ONE, *OTHERS)}
    assert tried | parity.NOT_FOR_PYTHON.keys() == set(rows)


@pytest.mark.parametrize("engine", ["closures", "records", "matrix", None])
def test_variables_are_judged_by_their_values(engine):
    def f(x, sigma):
        stan.check_positive("f", "sigma", sigma)
        stan.check_bounded("f", "x", x, -1.0, sigma)
        stan.check_ordered("f", "x", x)
        stan.check_size_match("f", "x", len(x), "y", 2)
        return x[0] * x[1] * sigma

    def slope(x, sigma):
        return contad.grad(f, 1, engine=engine)(x, sigma) if engine else contad.derivative(lambda s: f(x, s))(sigma)

    x = np.array([0.2, 0.5])
    assert slope(x, 0.9) == pytest.approx(0.1)
    with pytest.raises(ValueError, match=r"f: x must be between -1.0 and 0.4, got 0.5 at index 1"):
        slope(x, 0.4)
    with pytest.raises(ValueError, match="f: sigma must be positive, got -0.4"):
        slope(x, -0.4)


def test_a_check_is_a_function_with_a_name():
    assert stan.check_bounded.__doc__.startswith("Raise unless every element of y is between low and high.")
    assert pickle.loads(pickle.dumps(stan.check_simplex)) is stan.check_simplex
    assert stan.check_positive(function="f", name="x", y=1.0) is None
    with pytest.raises(TypeError, match="check_bounded: missing a required argument: 'high'"):
        stan.check_bounded("f", "x", 0.1, 0.2)
    with pytest.raises(TypeError, match="f: expected a value after each name"):
        stan.check_consistent_sizes("f", "x", [1.0], "y")
    assert repr(checks.check_square) == "<contad.stan.checks.check_square>"


# ---- reject ----------------------------------------------------------------------------------------------------------
@njit
def positive(x):
    if x < 0.0:
        stan.reject("x must be positive, got ", x)
    return x * x


def test_reject():
    with pytest.raises(ValueError, match="x must be positive, got -1.5$"):
        contad.grad(positive.py_func)(-1.5)
    for call in (positive, contad.grad(positive), contad.grad(positive, engine="tape")):
        assert call(2.0) == 4.0
        with pytest.raises(ValueError, match="x must be positive, got $"):
            call(-1.5)
