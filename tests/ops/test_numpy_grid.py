"""Every array function of NumPy's has NumPy's values on variables: all shapes, kinds and memory orders of arguments."""

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import contad
from contad.protocols.number_protocols import CONSTANTS
from contad.rules import numpy_functions
from contad.rules.numpy_functions import entries, entry_of, find_exported_name
from contad.rules.scalar_rule import rules
from tests.judges.numpy_grid import differences
from tests.ops.grid_calls import CALLS, REFUSED_AT_SOME_ARGUMENTS

SAMPLE, MOST = 6, 6000
UFUNCS = {u for rule in rules() for u in rule.ufuncs if isinstance(u, np.ufunc)} | set(CONSTANTS) | {np.heaviside}
UFUNCS -= {np.ldexp}  # whose exponent may be a float here
UFUNC_CALLS = [f"np.{u.__name__}({', '.join('abc'[: u.nin])})" for u in sorted(UFUNCS, key=lambda u: u.__name__)]


def function_of(call):
    """The call as a function of a, b and c by name."""
    return eval(f"lambda a=None, b=None, c=None: {call}", {"np": np, "__name__": __name__})


def is_there(call):
    """Whether the installed NumPy has the function that is called."""
    place = np
    for name in call[3:].split("(")[0].split(".") if call.startswith("np.") else []:
        place = getattr(place, name, None)
    return place is not None


GRID = [call for call in (*CALLS, *UFUNC_CALLS) if is_there(call)]


def check(call, most):
    found = differences(call, function_of(call), most, call in REFUSED_AT_SOME_ARGUMENTS)
    assert not found, f"{call}: {len(found)} differ, as {found[:3]}"


@pytest.mark.parametrize("call", GRID)
def test_values_are_numpys(call):
    check(call, SAMPLE)


@pytest.mark.long
@pytest.mark.parametrize("call", GRID)
def test_values_are_numpys_everywhere(call):
    check(call, MOST)


def test_every_function_has_a_call():
    called = {call[: call.index("(")] for call in GRID if "(" in call}
    assert {find_exported_name(e.function) for e in entries()} - called == set()


# ---- the kinds of differences that there were ------------------------------------------------------------------------
X = np.array([0.3, -1.2, 2.7])
ROWS = np.arange(6.0).reshape(3, 2)
WAS_DIFFERENT = {
    "heaviside": (lambda x: np.heaviside(1.3, x), X),
    "heaviside of a number": (lambda x: np.heaviside(x, np.zeros(3)), 1.3),
    "huber": (lambda x: scipy.special.huber(-1.0, x), X),
    "gegenbauer": (lambda x: scipy.special.eval_gegenbauer(0, x, 0.5), X),
    "piecewise rows": (lambda x: np.piecewise(x, [True, False, True], [lambda r: 2.0 * r, -1.0]), ROWS),
    "insert into integers": (lambda x: np.insert([1, 2, 3], 1, x), X),
    "insert into truths": (lambda x: np.insert(np.array([True, False]), 0, x), X),
    "full_like of integers": (lambda x: np.full_like(np.arange(3), x), X),
    "full_like of truths": (lambda x: np.full_like([True, False, True], x), X),
    "full_like of integers, a number": (lambda x: np.full_like(np.arange(3), x), 2.7),
    "expn": (lambda x: scipy.special.expn(2.7, x), np.array([0.4, 1.9])),
    "expn of an order": (lambda n: scipy.special.expn(n, 0.4), np.array([0.9, 1.5, 2.5, 3.7])),
    "trapezoid": (lambda y: np.trapezoid(y, np.arange(18.0).reshape(2, 3, 3) ** 2), np.arange(9.0).reshape(3, 3)),
    "covariances of one row": (lambda x: np.cov(x, rowvar=False, bias=True), X[None]),
    "tensorsolve of one": (lambda x: np.linalg.tensorsolve(x, [2.0]), np.array([4.0])),
    "a number made contiguous": (lambda x: np.ascontiguousarray(np.sum(x)), X),
}


@pytest.mark.filterwarnings("ignore:floating point number truncated")  # by SciPy's expn
@pytest.mark.parametrize("forward", [False, True], ids=["grad", "jvp"])
@pytest.mark.parametrize("name", WAS_DIFFERENT)
def test_values_that_were_not_numpys(name, forward):
    f, x = WAS_DIFFERENT[name]
    found = []

    def loss(x):
        found.append(contad.value_of(f(x)))
        return np.sum(x)

    with np.errstate(all="ignore"):
        if forward:
            contad.jvp(loss, (x,), (x,))
        else:
            contad.grad(loss)(x)
        expected = f(x)
    assert np.shape(found[0]) == np.shape(expected) and np.asarray(found[0]).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)


def test_derivatives_where_values_were_different():
    rows = contad.grad(lambda x: np.sum(np.piecewise(x, [True, False, True], [lambda r: r * r, -1.0])))(ROWS)
    np.testing.assert_allclose(rows, [[0.0, 2.0], [0.0, 0.0], [8.0, 10.0]])
    np.testing.assert_allclose(contad.grad(lambda x: np.sum(np.heaviside([0.0, 1.0, 0.0], x)))(X), [1.0, 0.0, 1.0])
    assert contad.grad(lambda x: np.sum(np.full_like(np.arange(3), x) * x))(2.7) == 6.0
    assert math.isclose(contad.grad(lambda x: scipy.special.expn(2.7, x))(0.4), -scipy.special.expn(1, 0.4))


def test_a_wrong_shape_is_noticed(monkeypatch):
    wrong = entry_of(np.piecewise)._replace(implementation=lambda x, *args: x[..., None])
    monkeypatch.setitem(numpy_functions._entries, np.piecewise, wrong)
    with pytest.raises(AssertionError, match=r"np.piecewise.* differ"):
        check("np.piecewise(a, a > 0.5, [lambda x: x * x, 1])", 40)


def test_a_wrong_kind_is_noticed(monkeypatch):
    wrong = entry_of(np.round)._replace(implementation=lambda x: np.rint(contad.value_of(x)).astype(int))
    monkeypatch.setitem(numpy_functions._entries, np.round, wrong)
    with pytest.raises(AssertionError, match="int64, not"):
        check("np.round(a)", 40)


def test_a_missing_error_is_noticed(monkeypatch):
    wrong = entry_of(np.linalg.outer)._replace(implementation=np.outer)
    monkeypatch.setitem(numpy_functions._entries, np.linalg.outer, wrong)
    with pytest.raises(AssertionError, match="where NumPy raises"):
        check("np.linalg.outer(a, b)", 200)


def test_a_refusal_is_noticed(monkeypatch):
    def refused(x, *args):
        raise contad.errors.UnsupportedError("np.flip: not today")

    monkeypatch.setitem(numpy_functions._entries, np.flip, entry_of(np.flip)._replace(implementation=refused))
    with pytest.raises(AssertionError, match="not today"):
        check("np.flip(a)", 40)


# ---- what users are told ---------------------------------------------------------------------------------------------
TOLD = {
    "circulant": (lambda x: np.sum(scipy.linalg.circulant(x)), r"scipy\.linalg\.circulant: .*contad\.scipy\.linalg\.c"),
    "masked array": (lambda x: np.sum(np.ma.array(x, mask=[0, 1, 0])), r"np\.ma: .*np\.where, or np\.nansum"),
    "masked mean": (lambda x: np.ma.mean(x), r"np\.ma: .*x\[~mask\]"),
    "cross": (lambda x: np.cross(x[:2], x[1:]), r"np\.cross: .*a\[0\] \* b\[1\] - a\[1\] \* b\[0\]"),
    "tensordot": (lambda x: np.tensordot(x, x[0], 1), r"np\.tensordot: .*write a \* b"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_refusal_names_the_function_and_what_to_write(name):
    f, told = TOLD[name]
    with pytest.raises((contad.errors.LostDerivativeError, ValueError), match=told):
        contad.grad(f)(X)


def test_products_with_a_number_without_axes():
    found = contad.grad(lambda x: np.sum(np.tensordot(x, x[0], 0)))(X)
    np.testing.assert_allclose(found, [X[0] + np.sum(X), X[0], X[0]])
