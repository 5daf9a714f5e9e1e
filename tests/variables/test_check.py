"""Every check passes what it should, and fails with the type and the exact text that it should."""

import inspect
import math
import re

import numpy as np
import pytest

from contad.errors import UnsupportedError
from contad.variables import check
from contad.variables.level import Level
from contad.variables.number import Number

NAN, INF = math.nan, math.inf


class Variable(Number):
    """The least that is a number with a derivative."""

    __slots__ = ()
    kind = "variable"

    def __init__(self, value):
        self._value = value
        self._owner = Level(1)


def v(*values):
    return [Variable(value) for value in values]


def objects(rows):
    """An object array of variables."""
    a = np.empty(np.shape(rows), object)
    for index, value in np.ndenumerate(np.asarray(rows)):
        a[index] = Variable(float(value))
    return a


EYE = np.eye(2)
INDEFINITE = [[1.0, 2.0], [2.0, 1.0]]
SINGULAR = [[1.0, 1.0], [1.0, 1.0]]
ROTATED = [[1.0, 0.0], [0.6, 0.8]]
NESTED = Variable(Variable(2.0))  # a variable whose value is a variable of an outer level
EMPTY, NO_ROWS = np.empty(0), np.empty((0, 3))

# check -> arguments after (function, name)
PASSES = {
    "finite": [(1.0,), (2,), (10**400,), (True,), (np.float64(1.0),), (Variable(1.0),), (EMPTY,), ([],), ([[1, 2]],)],
    "not_nan": [(INF,), (-INF,), (Variable(INF),), ([1.0, INF],), (EMPTY,), (objects([[1.0, INF]]),)],
    "positive": [(1e-300,), (INF,), (NESTED,), (v(1.0, 2.0),), (EMPTY,), (np.array(3, np.uint8),), ([True, 2],)],
    "nonnegative": [(0.0,), (-0.0,), (0,), (Variable(0.0),), ([0.0, INF],), (NO_ROWS,)],
    "positive_finite": [(1.0,), (NESTED,), (np.array([1, 2]),), (EMPTY,)],
    "bounded": [
        (0.0, 0.0, 1.0),
        (1, 0, 1),
        (Variable(0.5), Variable(0.0), 1.0),
        ([1.0, 2.0], [0.0, 1.0], 2.0),
        (EMPTY, 0, 1),
    ],
    "less": [(1.0, 2), (-INF, INF), (1.0, Variable(2.0)), ([1.0, 2.0], [3.0, 4.0]), (EMPTY, 0.0), (1.0, v(2.0, 3.0))],
    "less_or_equal": [(2.0, 2), (INF, INF), (np.uint8(2), 2), ([1, 2], Variable(2.0))],
    "greater": [(2.0, 1.0), (INF, 0.0), (Variable(2.0), np.float64(1.0)), (np.array([1, 2], np.uint8), -3)],
    "greater_or_equal": [(2.0, 2.0), (-INF, -INF), (v(2.0, 3.0), [2.0, 3.0])],
    "real": [
        (1.0,),
        (NAN,),
        (True,),
        (np.int8(1),),
        (Variable(1.0),),
        ([[1, 2.0], (Variable(3.0), 4)],),
        (objects(EYE),),
        ([],),
    ],
    "real_number": [(1.0,), (NAN,), (np.int8(1),), (Variable(1.0),)],
    "integer": [
        (1,),
        (True,),
        (np.uint8(3),),
        ([1, 2],),
        (np.array([[1, 2]]),),
        (np.array([True]),),
        ([],),
        ([2**70],),
        (np.array([1, 2], object),),
    ],
    "callable_": [(math.exp,), (Variable,)],
    "positive_size": [(1,), (np.int64(3),), ([1, 2],)],
    "range": [(0, 3), (2, 3), (-3, 3), ([0, -1], 1), (np.array([0, 1], np.uint8), 2), ([], 0)],
    "index": [(2, [1.0, 2.0, 3.0]), (-3, v(1.0, 2.0, 3.0)), ([0, 1], EYE), (2, np.ones((1, 3)), 1)],
    "row_index": [(1, EYE), (-2, EYE), (2, np.ones((3, 1)))],
    "column_index": [(2, np.ones((1, 3))), ([0, -3], [[1.0, 2.0, 3.0]])],
    "size_match": [(2, "columns of b", 2)],
    "matching_sizes": [(np.ones((2, 3)), "y", np.ones(6)), (1.0, "y", [2.0]), ([], "y", NO_ROWS)],
    "matching_dims": [
        (np.ones((2, 3)), "y", objects(np.ones((2, 3)))),
        (1.0, "y", Variable(2.0)),
        ([v(1.0)], "y", [[1]]),
    ],
    "consistent_sizes": [([1, 2], "mu", 0.0, "sigma", v(1.0, 2.0)), (1.0, "mu", NESTED), (1.0, "mu", EMPTY), (1.0,)],
    "multiplicable": [
        (np.ones((2, 3)), "b", np.ones((3, 1))),
        ([1, 2], "b", [3, 4]),
        (EYE, "b", [1, 2]),
        ([1, 2], "b", EYE),
        (np.ones((2, 0)), "b", NO_ROWS),
    ],
    "nonempty": [(1.0,), ([1.0],), (Variable(1.0),), (EYE,)],
    "vector": [([1.0],), (EMPTY,), (v(1.0),)],
    "matrix": [(EYE,), ([[1.0]],), (NO_ROWS,), ([v(1.0)],)],
    "square": [(EYE,), ([[1.0]],), (objects(EYE),), (np.empty((0, 0)),)],
    "symmetric": [
        (EYE,),
        (INDEFINITE,),
        (objects(INDEFINITE),),
        ([[1, 2], [2 + 1e-9, 1]],),
        ([[0, 1e12], [1e12 + 1, 0]],),
        ([[NAN, INF], [INF, 0.0]],),
        (np.empty((0, 0)),),
        ([[True, False], [False, True]],),
    ],
    "pos_definite": [(EYE,), ([[1e-300]],), ([[2.0, -1.0], [-1.0, 2.0]],), (objects(EYE),), (np.empty((0, 0)),)],
    "pos_semidefinite": [
        (EYE,),
        (SINGULAR,),
        ([[0.0]],),
        (objects(SINGULAR),),
        (1e12 * np.ones((3, 3)),),
        (np.empty((0, 0)),),
    ],
    "cov_matrix": [([[2.0, 1.0], [1.0, 2.0]],), (objects(EYE),)],
    "corr_matrix": [([[1.0, 0.5], [0.5, 1.0 + 1e-9]],), (objects(EYE),), (np.empty((0, 0)),)],
    "lower_triangular": [
        (ROTATED,),
        ([[1.0, 0.0, 0.0], [NAN, 1.0, 0.0]],),
        ([[1.0], [2.0]],),
        (objects(ROTATED),),
        (NO_ROWS,),
    ],
    "cholesky_factor": [(ROTATED,), ([[1.0], [-2.0]],), (objects(ROTATED),)],
    "cholesky_factor_corr": [(ROTATED,), (objects(ROTATED),), ([[1]],)],
    "simplex": [([1],), ([0.25, 0.75],), ([0.0, 1.0 + 1e-9],), (v(0.5, 0.5),), (objects([0.5, 0.5]),)],
    "stochastic_column": [(EYE,), ([[0.5, 0.0], [0.5, 1.0]],), (objects(EYE),)],
    "stochastic_row": [(EYE,), ([[0.5, 0.5], [0.0, 1.0]],), ([[0.5, 0.5]],)],
    "ordered": [([1.0, 2.0],), ([-INF, 0, INF],), (EMPTY,), ([NAN],), (v(1.0, 2.0),), ([2**53, 2**53 + 1],)],
    "positive_ordered": [([0.0, 2.0],), (EMPTY,), (objects([1.0, 2.0]),)],
    "sorted": [([1, 1, 2],), ([INF, INF],), (EMPTY,), (v(1.0, 1.0),)],
    "unit_vector": [([1.0],), ([0.6, 0.8],), (v(0.6, -0.8),), (np.array([0, 1], np.uint8),)],
    "sum_to_zero": [([1.0, -1.0],), ([0.0],), ([[1, 2], [-1, -2 + 1e-9]],), (v(2.0, -2.0),)],
}

# check, arguments after (function, name), exception, message after "f: x must "
FAILS = [
    # every element
    ("finite", (INF,), ValueError, "be finite, got inf"),
    ("finite", (Variable(NAN),), ValueError, "be finite, got nan"),
    ("finite", ([[1.0, 2.0], [-INF, NAN]],), ValueError, "be finite, got -inf at index (1, 0)"),
    ("not_nan", (NAN,), ValueError, "not be nan, got nan"),
    ("not_nan", (Variable(NAN),), ValueError, "not be nan, got nan"),
    ("not_nan", (objects([1.0, NAN]),), ValueError, "not be nan, got nan at index 1"),
    ("positive", (0.0,), ValueError, "be positive, got 0.0"),
    ("positive", (0,), ValueError, "be positive, got 0"),
    ("positive", (NAN,), ValueError, "be positive, got nan"),
    ("positive", (Variable(Variable(-2.0)),), ValueError, "be positive, got -2.0"),
    ("positive", (np.float64(-2.5),), ValueError, "be positive, got -2.5"),
    ("positive", (np.array(-2.5),), ValueError, "be positive, got -2.5"),
    ("positive", ([1.0, 2.0, 3.0, -1.0, -2.0],), ValueError, "be positive, got -1.0 at index 3"),
    ("positive", ([1.0, Variable(-1.0)],), ValueError, "be positive, got -1.0 at index 1"),
    ("positive", (objects([[1, 2], [3, -4]]),), ValueError, "be positive, got -4.0 at index (1, 1)"),
    ("positive", ([np.array([1, 2]), [3, 0]],), ValueError, "be positive, got 0 at index (1, 1)"),
    ("nonnegative", (-1e-9,), ValueError, "be nonnegative, got -1e-09"),
    ("nonnegative", (np.array([[0.0, NAN]]),), ValueError, "be nonnegative, got nan at index (0, 1)"),
    ("positive_finite", (INF,), ValueError, "be positive and finite, got inf"),
    ("positive_finite", ((1, 0),), ValueError, "be positive and finite, got 0 at index 1"),
    ("bounded", (1.5, 0.0, 1.0), ValueError, "be in [0.0, 1.0], got 1.5"),
    ("bounded", (NAN, 0, 1), ValueError, "be in [0, 1], got nan"),
    ("bounded", ([1, 5], [0, 2], Variable(4.0)), ValueError, "be in [2, 4.0], got 5 at index 1"),
    ("bounded", ([1.0, 2.0], [1.0, 2.0, 3.0], 4), ValueError, "broadcast with its bounds, got shapes (2,), (3,), ()"),
    ("less", (2.0, 2.0), ValueError, "be less than 2.0, got 2.0"),
    ("less", (1.0, NAN), ValueError, "be less than nan, got 1.0"),
    ("less", (1.0, [2.0, 0.5]), ValueError, "be less than 0.5, got 1.0 at index 1"),
    ("less", ([[1, 2], [3, 4]], [4, 4]), ValueError, "be less than 4, got 4 at index (1, 1)"),
    ("less_or_equal", (Variable(3.0), Variable(2.0)), ValueError, "be less than or equal to 2.0, got 3.0"),
    ("greater", ([3, 2], 2), ValueError, "be greater than 2, got 2 at index 1"),
    ("greater_or_equal", (NAN, 0.0), ValueError, "be greater than or equal to 0.0, got nan"),
    # kinds
    ("positive", (None,), TypeError, "be real, got NoneType"),
    ("positive", (1j,), TypeError, "be real, got complex"),
    ("positive", ([1, "a"],), TypeError, "be real, got str at index 1"),
    ("positive", ([[1.0, 2.0], [3.0]],), ValueError, "be rectangular, got nested lists of unequal lengths"),
    ("integer", ([1, v(2.0)],), ValueError, "be rectangular, got nested lists of unequal lengths"),
    ("less", (1.0, "a"), TypeError, "f: bound of x must be real, got str"),
    ("real", ("a",), TypeError, "be real, got str"),
    ("real", ({},), TypeError, "be real, got dict"),
    ("real", (np.array([1.0, 1j]),), TypeError, "be real, got complex at index 0"),
    ("real", ([[1.0, None], [2.0, 3.0]],), TypeError, "be real, got NoneType at index (0, 1)"),
    ("real_number", (1j,), UnsupportedError, "be a real number, got complex"),
    ("real_number", ([1.0],), UnsupportedError, "be a real number, got list"),
    ("integer", (3.0,), TypeError, "be an integer, got float"),
    ("integer", (Variable(3.0),), TypeError, "be an integer, got variable"),
    ("integer", ([1, Variable(2.0)],), TypeError, "be an integer, got variable at index 1"),
    ("integer", ([1, 2.0],), TypeError, "be an integer, got float at index 1"),
    ("integer", (np.ones((2, 2)),), TypeError, "be an integer, got float at index (0, 0)"),
    ("callable_", (3.0,), TypeError, "be callable, got float"),
    ("positive_size", (0,), ValueError, "be positive, got 0"),
    ("positive_size", (2.0,), TypeError, "be an integer, got float"),
    # indices
    ("range", (3, 3), IndexError, "index 3 elements, got 3"),
    ("range", (-4, 3), IndexError, "index 3 elements, got -4"),
    ("range", (0, 0), IndexError, "index 0 elements, got 0"),
    ("range", ([0, 1, 5], 3), IndexError, "index 3 elements, got 5 at index 2"),
    ("range", (1.0, 3), TypeError, "be an integer, got float"),
    ("index", (2, [1.0, 2.0]), IndexError, "index 2 elements, got 2"),
    ("index", (0, 1.0), IndexError, "index elements, got a container of shape ()"),
    ("index", (0, None), TypeError, "f: container of x must be real, got NoneType"),
    ("row_index", (2, np.ones((2, 3))), IndexError, "index 2 rows, got 2"),
    ("column_index", (-4, np.ones((2, 3))), IndexError, "index 3 columns, got -4"),
    ("column_index", (0, [1.0, 2.0]), IndexError, "index columns, got a container of shape (2,)"),
    # sizes and shapes
    ("size_match", (3, "columns of b", 2), ValueError, "match columns of b, got 3 and 2"),
    ("matching_sizes", ([1, 2], "y", v(1.0)), ValueError, "match y in size, got 2 and 1"),
    ("matching_dims", (np.ones((2, 3)), "y", np.ones((3, 2))), ValueError, "match y in shape, got (2, 3) and (3, 2)"),
    ("matching_dims", ([1.0], "y", 1.0), ValueError, "match y in shape, got (1,) and ()"),
    (
        "consistent_sizes",
        (1.0, "mu", [1, 2], "s", v(1.0)),
        ValueError,
        "f: s must be a scalar or match mu of shape (2,), got shape (1,)",
    ),
    (
        "consistent_sizes",
        ([1, 2], "mu", EMPTY),
        ValueError,
        "f: mu must be a scalar or match x of shape (2,), got shape (0,)",
    ),
    (
        "multiplicable",
        (np.ones((2, 3)), "b", EYE),
        ValueError,
        "have as many columns as b has rows, got shapes (2, 3) and (2, 2)",
    ),
    (
        "multiplicable",
        (EYE, "b", [1, 2, 3]),
        ValueError,
        "have as many columns as b has rows, got shapes (2, 2) and (3,)",
    ),
    ("multiplicable", (2.0, "b", EYE), ValueError, "have as many columns as b has rows, got shapes () and (2, 2)"),
    ("nonempty", ([],), ValueError, "be nonempty, got shape (0,)"),
    ("nonempty", (NO_ROWS,), ValueError, "be nonempty, got shape (0, 3)"),
    ("vector", (EYE,), ValueError, "be a vector, got shape (2, 2)"),
    ("vector", (Variable(1.0),), ValueError, "be a vector, got shape ()"),
    ("matrix", (v(1.0, 2.0),), ValueError, "be a matrix, got shape (2,)"),
    ("square", (np.ones((2, 3)),), ValueError, "be square, got shape (2, 3)"),
    ("square", ([1.0, 2.0],), ValueError, "be square, got shape (2,)"),
    ("square", (np.ones((2, 2, 2)),), ValueError, "be square, got shape (2, 2, 2)"),
    # matrices
    ("symmetric", ([[1, 2], [3, 4]],), ValueError, "be symmetric (its transpose has 3.0), got 2.0 at index (0, 1)"),
    ("symmetric", ([[1, NAN], [NAN, 4]],), ValueError, "be symmetric (its transpose has nan), got nan at index (0, 1)"),
    ("symmetric", (np.ones((1, 2)),), ValueError, "be square, got shape (1, 2)"),
    ("pos_definite", (INDEFINITE,), ValueError, "be positive definite, got smallest eigenvalue -1"),
    ("pos_definite", (objects(-EYE),), ValueError, "be positive definite, got smallest eigenvalue -1"),
    ("pos_definite", ([[0.0]],), ValueError, "be positive definite, got smallest eigenvalue 0"),
    ("pos_definite", ([[1.0, NAN], [NAN, 1.0]],), ValueError, "be finite, got nan at index (0, 1)"),
    (
        "pos_definite",
        ([[1.0, 2.0], [0.0, 1.0]],),
        ValueError,
        "be symmetric (its transpose has 0.0), got 2.0 at index (0, 1)",
    ),
    ("pos_semidefinite", (INDEFINITE,), ValueError, "be positive semidefinite, got smallest eigenvalue -1"),
    (
        "pos_semidefinite",
        ([[1, 0], [2, 9]],),
        ValueError,
        "be symmetric (its transpose has 2.0), got 0.0 at index (0, 1)",
    ),
    ("pos_semidefinite", ([[-1e-7]],), ValueError, "be positive semidefinite, got smallest eigenvalue -1e-07"),
    ("pos_semidefinite", ([[INF]],), ValueError, "be finite, got inf at index (0, 0)"),
    ("cov_matrix", ([[-2.0]],), ValueError, "be positive definite, got smallest eigenvalue -2"),
    ("corr_matrix", ([[1.0, 0.0], [0.0, 1.5]],), ValueError, "have a unit diagonal, got 1.5 at index (1, 1)"),
    ("corr_matrix", ([[1.0, 2.0], [2.0, 1.0]],), ValueError, "be positive definite, got smallest eigenvalue -1"),
    ("lower_triangular", ([[1, 0, 3], [1, 1, 0]],), ValueError, "be lower triangular, got 3.0 at index (0, 2)"),
    ("lower_triangular", ([[1, NAN], [1, 1]],), ValueError, "be lower triangular, got nan at index (0, 1)"),
    ("lower_triangular", ([1.0],), ValueError, "be a matrix, got shape (1,)"),
    ("cholesky_factor", ([[1.0, 0.0], [3.0, 0.0]],), ValueError, "have a positive diagonal, got 0.0 at index (1, 1)"),
    ("cholesky_factor", (objects([[1.0, 0.0]]),), ValueError, "have no more columns than rows, got shape (1, 2)"),
    ("cholesky_factor_corr", ([[1, 0], [1, 1]],), ValueError, "have rows of length 1, got squared length 2.0 at row 1"),
    ("cholesky_factor_corr", ([[1], [1]],), ValueError, "be square, got shape (2, 1)"),
    # vectors and sums
    ("simplex", ([0.5, 0.75],), ValueError, "be a simplex, got sum 1.25"),
    ("simplex", (v(1.5, -0.5),), ValueError, "be a simplex, got -0.5 at index 1"),
    ("simplex", ([NAN, 1.0],), ValueError, "be a simplex, got nan at index 0"),
    ("simplex", ([INF, INF],), ValueError, "be a simplex, got sum inf"),
    ("simplex", ([],), ValueError, "be nonempty, got shape (0,)"),
    ("simplex", (1.0,), ValueError, "be a vector, got shape ()"),
    ("stochastic_column", ([[0.5, 0.5], [0.5, 0.25]],), ValueError, "be column stochastic, got sum 0.75 at column 1"),
    ("stochastic_column", ([[2.0], [-1.0]],), ValueError, "be column stochastic, got -1.0 at index (1, 0)"),
    ("stochastic_row", (objects([[0.5, 0.5], [0.5, 1.0]]),), ValueError, "be row stochastic, got sum 1.5 at row 1"),
    ("stochastic_row", (NO_ROWS,), ValueError, "be nonempty, got shape (0, 3)"),
    ("ordered", ([1, 3, 2],), ValueError, "be strictly increasing (> 3 here), got 2 at index 2"),
    ("ordered", (v(1.0, 1.0),), ValueError, "be strictly increasing (> 1.0 here), got 1.0 at index 1"),
    ("ordered", ([NAN, 1.0],), ValueError, "be strictly increasing (> nan here), got 1.0 at index 1"),
    ("ordered", (EYE,), ValueError, "be a vector, got shape (2, 2)"),
    ("positive_ordered", ([-1.0, 2.0],), ValueError, "be nonnegative, got -1.0 at index 0"),
    ("positive_ordered", ([2.0, 1.0],), ValueError, "be strictly increasing (> 2.0 here), got 1.0 at index 1"),
    ("sorted", ([1.0, 1.0, 0.5],), ValueError, "be increasing (>= 1.0 here), got 0.5 at index 2"),
    ("unit_vector", ([1.0, 1.0],), ValueError, "be a unit vector, got squared length 2.0"),
    ("unit_vector", ([1e200, 1.0],), ValueError, "be a unit vector, got squared length inf"),
    ("unit_vector", (EMPTY,), ValueError, "be a unit vector, got squared length 0.0"),
    ("sum_to_zero", (v(1.0, -0.5),), ValueError, "sum to zero, got sum 0.5"),
    ("sum_to_zero", ([INF, -INF],), ValueError, "sum to zero, got sum nan"),
    ("sum_to_zero", ([],), ValueError, "be nonempty, got shape (0,)"),
]

# The argument checks of Stan Math, as its prim/err directory has them.
STAN = """
bounded cholesky_factor cholesky_factor_corr column_index consistent_size consistent_sizes consistent_sizes_mvt
corr_matrix cov_matrix finite greater greater_or_equal ldlt_factor less less_or_equal lower_triangular matching_dims
matching_sizes multiplicable nonnegative nonzero_size not_nan ordered pos_definite pos_semidefinite positive
positive_finite positive_ordered range row_index simplex size_match sorted square std_vector_index stochastic_column
stochastic_row sum_to_zero symmetric unit_vector vector vector_index
"""

PUBLIC = {
    name
    for name, function in inspect.getmembers(check, inspect.isfunction)
    if function.__module__ == check.__name__ and not name.startswith("_")
}


@pytest.mark.parametrize(("name", "args"), [(name, args) for name, cases in PASSES.items() for args in cases])
def test_passes(name, args):
    assert getattr(check, name)("f", "x", *args) is None


@pytest.mark.parametrize(("name", "args", "error", "message"), FAILS)
def test_fails(name, args, error, message):
    message = message if message.startswith("f: ") else f"f: x must {message}"
    with pytest.raises(error, match=f"^{re.escape(message)}$") as raised:
        getattr(check, name)("f", "x", *args)
    assert type(raised.value) is error


def test_every_check_is_in_both_tables():
    assert set(PASSES) == PUBLIC
    assert {name for name, *_ in FAILS} == PUBLIC


def test_every_check_has_function_and_name_first_and_one_line_of_doc():
    for name in PUBLIC:
        function = getattr(check, name)
        assert list(inspect.signature(function).parameters)[:2] == ["function", "name"]
        assert function.__doc__.endswith(".")
        assert "\n" not in function.__doc__


def test_every_check_of_stan_has_one_here():
    assert set(check.STAN_NAMES) == {f"check_{name}" for name in STAN.split()}
    assert len(check.STAN_NAMES) == 42
    assert set(check.STAN_NAMES.values()) <= PUBLIC


def test_the_value_is_left_alone():
    a = np.array([[2.0, 1.0], [1.0, 2.0]])
    a.flags.writeable = False
    rows = [v(2.0, 1.0), v(1.0, 2.0)]
    for value in (a, rows):
        check.cov_matrix("f", "x", value)
        check.positive("f", "x", value)
    assert all(type(x) is Variable for row in rows for x in row)


@pytest.mark.parametrize("size", [1.0 + 0.9e-8, 1.0 - 0.9e-8])
def test_sums_within_the_tolerance_pass(size):
    check.simplex("f", "x", [size])
    check.unit_vector("f", "x", [math.sqrt(size)])
    check.sum_to_zero("f", "x", [size, -1.0])


@pytest.mark.parametrize("size", [1.0 + 1.1e-8, 1.0 - 1.1e-8])
@pytest.mark.parametrize("name", ["simplex", "unit_vector", "sum_to_zero"])
def test_sums_beyond_the_tolerance_fail(name, size):
    value = {"simplex": [size], "unit_vector": [math.sqrt(size)], "sum_to_zero": [size, -1.0]}[name]
    with pytest.raises(ValueError, match=r"sum|length"):
        getattr(check, name)("f", "x", value)
