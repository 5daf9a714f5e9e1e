"""Every check passes what it should, and fails with the type and the exact text that it should."""

import inspect
import math
import re

import numpy as np
import pytest

from contad.variables import arguments
from contad.variables.dual import ForwardLevel
from contad.variables.number import Number

NAN, INF = math.nan, math.inf


class Variable(Number):
    """The least that is a number with a derivative."""

    __slots__ = ()
    kind = "variable"

    def __init__(self, value):
        self._value = value
        self._owner = ForwardLevel()


def v(*values):
    return [Variable(value) for value in values]


def objects(rows):
    """An object array of variables."""
    a = np.empty(np.shape(rows), object)
    for index, value in np.ndenumerate(np.asarray(rows)):
        a[index] = Variable(float(value))
    return a


NESTED = Variable(Variable(2.0))  # a variable whose value is a variable of an outer level
EMPTY = np.empty(0)

# check -> arguments after (function, name)
PASSES = {
    "positive": [(1e-300,), (INF,), (NESTED,), (v(1.0, 2.0),), (EMPTY,), (np.array(3, np.uint8),), ([True, 2],)],
    "integer": [
        (1,), (True,), (np.uint8(3),), ([1, 2],), (np.array([[1, 2]]),), (np.array([True]),), ([],), ([2**70],),
        (np.array([1, 2], object),),
    ],
    "callable": [(math.exp,), (Variable,)],
    "positive_size": [(1,), (np.int64(3),), ([1, 2],)],
}  # fmt: skip

# check, arguments after (function, name), exception, message after "f: x must "
FAILS = [
    # every element
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
    # kinds
    ("positive", (None,), TypeError, "be real, got NoneType"),
    ("positive", (1j,), TypeError, "be real, got complex"),
    ("positive", ([1, "a"],), TypeError, "be real, got str at index 1"),
    ("positive", ([[1.0, 2.0], [3.0]],), ValueError, "be rectangular, got nested lists of unequal lengths"),
    ("integer", ([1, v(2.0)],), ValueError, "be rectangular, got nested lists of unequal lengths"),
    ("integer", (3.0,), TypeError, "be an integer, got float"),
    ("integer", (Variable(3.0),), TypeError, "be an integer, got variable"),
    ("integer", ([1, Variable(2.0)],), TypeError, "be an integer, got variable at index 1"),
    ("integer", ([1, 2.0],), TypeError, "be an integer, got float at index 1"),
    ("integer", (np.ones((2, 2)),), TypeError, "be an integer, got float at index (0, 0)"),
    ("callable", (3.0,), TypeError, "be callable, got float"),
    ("positive_size", (0,), ValueError, "be positive, got 0"),
    ("positive_size", (2.0,), TypeError, "be an integer, got float"),
]

@pytest.mark.parametrize(("name", "args"), [(name, args) for name, cases in PASSES.items() for args in cases])
def test_passes(name, args):
    assert getattr(arguments, f"require_{name}")("f", "x", *args) is None


@pytest.mark.parametrize(("name", "args", "error", "message"), FAILS)
def test_fails(name, args, error, message):
    message = message if message.startswith("f: ") else f"f: x must {message}"
    with pytest.raises(error, match=f"^{re.escape(message)}$") as raised:
        getattr(arguments, f"require_{name}")("f", "x", *args)
    assert type(raised.value) is error


def test_every_check_is_in_both_tables():
    assert {name for name, *_ in FAILS} == set(PASSES)


def test_every_check_has_function_and_name_first_and_one_line_of_doc():
    for name in PASSES:
        function = getattr(arguments, f"require_{name}")
        assert list(inspect.signature(function).parameters)[:2] == ["function", "name"]
        assert function.__doc__.endswith(".") and "\n" not in function.__doc__


def test_the_value_is_left_alone():
    a = np.array([[2.0, 1.0], [1.0, 2.0]])
    a.flags.writeable = False
    rows = [v(2.0, 1.0), v(1.0, 2.0)]
    for value in (a, rows):
        arguments.require_positive("f", "x", value)
    assert all(type(x) is Variable for row in rows for x in row)
