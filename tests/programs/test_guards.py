"""What a recorded function decides by values: a guard where a program can check it, refused by name where not."""

import math
import operator

import numba
import numpy as np
import pytest

import contad
from contad.programs import decisions
from contad.programs.codes import COMPARE, GATHER
from contad.programs.tracer import Tracer
from tests.programs.comparison import compare

X = np.array([1.3, -0.7, 2.1, 0.4])
LIKE_X = np.array([1.1, -0.2, 3.3, 0.3])  # in the order of X, with its signs and integer parts
TABLE = np.array([0.0, 1.0, 2.5])


@numba.njit
def by_numba(x):
    """A function compiled by Numba, which is recorded through its Python copy."""
    if x > 0.0:
        return x * x / (x + 1.0)
    return -x


def number(decide):
    """A function of one number, with what it decides as a factor."""
    return lambda x: x * (1.5 + decide(x)) + contad.ops.sin(x)


def array(decide):
    """A function of an array, with what it decides as a weight of the elements."""
    return lambda x: np.sum(x * x * (1.5 + np.asarray(decide(x), float)))


# function, where it is recorded, where it decides the same, where not
NUMBERS = {
    "lt": (lambda x: x < 1.0, 0.5, 0.9, 1.0),
    "le": (lambda x: x <= 1.0, 0.5, 1.0, 1.1),
    "gt": (lambda x: x > 1.0, 0.5, 1.0, 1.1),
    "ge": (lambda x: x >= 1.0, 1.5, 1.0, 0.9),
    "eq": (lambda x: x == 1.0, 1.0, 1.0, 1.1),
    "ne": (lambda x: x != 1.0, 0.5, 7.0, 1.0),
    "of two": (lambda x: x < x * x, 1.5, 2.0, 0.5),
    "a number first": (lambda x: x > 1, 1.5, 2.0, 0.5),
    "NumPy's number first": (lambda x: np.float64(1.0) < x, 1.5, 2.0, 0.5),
    "NumPy's function": (lambda x: np.greater(1.0, x), 0.5, 0.9, 1.0),
    "chained": (lambda x: 0.0 < x < 1.0, 0.5, 0.9, 1.5),
    "max": (lambda x: max(x, 1.0, x * x), 0.5, 0.9, 1.1),
    "bool": (lambda x: 1.0 if x - 1.0 else 2.0, 0.5, 0.7, 1.0),
    "not": (lambda x: not (x - 1.0), 1.0, 1.0, 1.5),
    "int": (lambda x: int(x), 2.5, 2.0, 3.0),
    "int below 0": (lambda x: int(x), -2.5, -2.0, -3.0),
    "int about 0": (lambda x: int(x), 0.5, -0.9, 1.0),
    "floor": (lambda x: math.floor(x), -2.5, -3.0, -2.0),
    "ceil": (lambda x: math.ceil(x), -2.5, -2.0, -3.0),
    "trunc": (lambda x: math.trunc(x), -2.5, -2.1, -3.1),
    "round to even": (lambda x: round(x), 2.3, 2.5, 2.6),
    "round to odd": (lambda x: round(x), 1.3, 1.4, 1.5),
    "isnan": (lambda x: np.isnan(x), 0.5, 7.0, math.nan),
    "isinf": (lambda x: np.isinf(x), 0.5, 7.0, -math.inf),
    "isfinite": (lambda x: np.isfinite(x), 0.5, 7.0, math.inf),
    "inside a gradient": (lambda x: contad.grad(lambda u: u * u if u > 1.0 else u)(x), 1.5, 2.0, 0.5),
    "inside forward mode": (lambda x: contad.derivative(lambda u: u**3 if u > 1.0 else u)(x), 1.5, 2.0, 0.5),
    "inside compiled code": (by_numba, 1.5, 2.0, -0.5),
    "searchsorted": (lambda x: np.searchsorted(TABLE, contad.array([x]))[0], 0.5, 1.0, 1.1),
    "searchsorted at the right": (lambda x: np.searchsorted(TABLE, contad.array([x]), "right")[0], 0.5, 0.0, 1.0),
    "searchsorted beyond": (lambda x: np.searchsorted(TABLE, contad.array([x]))[0], 9.5, 2.6, 2.5),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    decide, at, same, other = NUMBERS[name]
    f = number(decide)
    program = contad.record(f, at)
    for x in (at, same):
        assert program.value_and_grad(x) == pytest.approx(contad.value_and_grad(f)(x), rel=1e-14)
    with pytest.raises(contad.GuardError, match=r"test_guards.py:\d+"):
        program(other)
    again = contad.record(f, at, retrace=True)
    assert again(other) == pytest.approx(f(other), rel=1e-14, nan_ok=True) and len(again.traces) == 2
    assert again(same) == program(same)


ARRAYS = {
    "of a number": (lambda x: x > 0.0, [1.0, -2.0, 0.1, 0.1], [1.0, 0.0, 0.1, -0.1]),
    "of two arrays": (lambda x: x < X[::-1] * 0.9, LIKE_X, X[::-1]),
    "of an element": (lambda x: x >= x[3], LIKE_X, [0.1, -0.2, 3.3, 0.3]),
    "with broadcasting": (lambda x: np.sum(x[:, None] <= x, 1), LIKE_X, X[::-1]),
    "equal": (lambda x: x == x[::-1], LIKE_X, [1.0, 2.0, 2.0, 3.0]),
    "where": (lambda x: np.where(x > 1.0, x, 2.0), LIKE_X, [0.1, -0.2, 3.3, 0.3]),
    "a mask": (lambda x: np.sum(x[x > 1.0]), LIKE_X, [0.1, -0.2, 3.3, 0.3]),
    "isnan": (np.isnan, LIKE_X, [0.1, math.nan, 3.3, 0.3]),
    "isfinite": (np.isfinite, LIKE_X, [0.1, math.inf, 3.3, 0.3]),
    "isinf": (np.isinf, LIKE_X, [0.1, math.inf, 3.3, 0.3]),
    "argmax": (np.argmax, LIKE_X, [4.0, -0.2, 3.3, 0.3]),
    "argmax, tied before": (np.argmax, LIKE_X, [3.3, -0.2, 3.3, 0.3]),
    "argmax, tied after": (np.argmax, [1.1, -0.2, 3.3, 3.3], [1.1, -0.2, 3.3, 3.4]),
    "argmin of rows": (lambda x: np.sum(np.argmin(x.reshape(2, 2), 1)), LIKE_X, [-1.1, -0.2, 3.3, 0.3]),
    "argsort": (np.argsort, LIKE_X, [1.1, -0.2, 3.3, 1.2]),
    "argsort, tied": (lambda x: np.argsort(x, kind="stable"), [1.1, -0.2, 1.1, 0.3], [1.0, -0.2, 3.3, 1.0]),
    "max": (np.max, LIKE_X, [4.0, -0.2, 3.3, 0.3]),
    "min of columns": (lambda x: np.sum(np.min(x.reshape(2, 2), 0)), LIKE_X, [-1.1, -1.2, -1.3, 0.3]),
    "sort": (np.sort, LIKE_X, [1.1, -0.2, 3.3, 1.2]),
    "median": (np.median, LIKE_X, [1.1, -0.2, 3.3, 1.2]),
    "max of scalars": (lambda x: max(x), LIKE_X, [4.0, -0.2, 3.3, 0.3]),
    "sorted": (lambda x: sorted(x), LIKE_X, [1.1, -0.2, 3.3, 1.2]),
    "object arrays": (lambda x: np.sort(contad.to_matvar(x)), LIKE_X, [1.1, -0.2, 3.3, 1.2]),
    "an element's": (lambda x: 1.0 if x[2] > 2.0 else 2.0, LIKE_X, [1.1, -0.2, 1.3, 1.2]),
    "truth of one": (lambda x: 1.0 if x[0, ...] else 2.0, LIKE_X, [0.0, -0.2, 1.3, 1.2]),
    "int of one": (lambda x: int(x[2, ...]), [1.1, -0.2, 2.9, 0.3], [1.1, -0.2, 1.3, 1.2]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    decide, same, other = ARRAYS[name]
    at = X if "tied after" not in name and name != "argsort, tied" else np.array(same)
    f = array(decide) if name in ("of a number", "of two arrays", "of an element") else lambda x: total(x, decide(x))
    program = contad.record(f, at)
    for x in (at, np.array(same)):
        value, gradient = contad.value_and_grad(f)(x)
        got_value, got = program.value_and_grad(x)
        assert got_value == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(got, gradient, rtol=1e-14)
    with pytest.raises(contad.GuardError, match=r"test_guards.py:\d+"):
        program(np.array(other))
    again = contad.record(f, at, retrace=True)
    np.testing.assert_allclose(again(np.array(other)), f(np.array(other)), rtol=1e-14)
    assert len(again.traces) == 2


def total(x, decided):
    """A number of an array and of what was decided by it."""
    if isinstance(decided, (list, tuple)) or str(getattr(decided, "dtype", "")) == "object":
        decided = sum((k + 1.0) * v for k, v in enumerate(decided))
    elif np.ndim(decided):
        decided = np.sum(decided * np.arange(1.0, 1.0 + np.size(decided)))
    return np.sum(x * x * (1.0 + np.arange(len(x)))) * (1.5 + decided)


READS = {
    "value_of": lambda x: contad.value_of(x) * x,
    "value_of_rec": lambda x: contad.value_of_rec(x) * x,
    "primal": lambda x: contad.primal(x) * x,
    "value": lambda x: x.value * x,
    "of an array": lambda x: contad.value_of(contad.array([x, x]))[0] * x,
    "of a container": lambda x: contad.value_of([x])[0] * x,
    "array value": lambda x: contad.array([x, x]).value[0] * x,
    "astype": lambda x: contad.array([x, x]).astype(int)[0] * x,
    "in": lambda x: (1.0 in contad.array([x, x])) * x,
    "a check of an array": lambda x: contad.variables.arguments.require_positive("f", "x", contad.array([x, x])) or x,
}


@pytest.mark.parametrize("name", READS)
def test_reading_a_value_is_refused(name):
    with pytest.raises(contad.UnsupportedError, match=r"<lambda>: .*test_guards.py:\d+ reads the value of a variable"):
        contad.record(READS[name], 1.5)


def test_a_check_of_a_number_is_a_guard():
    program = contad.record(lambda x: contad.variables.arguments.require_positive("f", "x", x) or x, 1.5)
    assert program(0.5) == 0.5
    with pytest.raises(contad.GuardError):
        program(-1.0)


DECIDES = {
    "np.any": lambda x: np.any(x) * x[0],
    "np.allclose": lambda x: np.allclose(x, 1.0) * x[0],
    "np.nonzero": lambda x: np.nonzero(x)[0].size * x[0],
    "np.count_nonzero": lambda x: np.count_nonzero(x) * x[0],
    "np.signbit": lambda x: np.sum(x[np.signbit(x)]),
    "np.digitize": lambda x: np.sum(x * np.digitize(x, TABLE)),
    "np.logical_and": lambda x: np.sum(x * np.logical_and(x, x > 0.0)),
    "argmax_of_numbers": np.nanmax,
}


@pytest.mark.parametrize("name", DECIDES)
def test_decisions_that_a_program_cannot_check_are_refused(name):
    with pytest.raises(contad.UnsupportedError, match=rf"test_guards.py:\d+ calls {name} on values"):
        contad.record(lambda x: DECIDES[name](x), X)


@pytest.mark.parametrize(("f", "message"), [
    (lambda x: contad.make_callback_var(2.0, lambda adj: adj.add(x, 1.0)), "pushes a callback of its own"),
    (lambda x: contad.gradient(x * x, [x])[0], "asks for adjoints of the recording"),
    (lambda x: x * len(contad.show_stack()), "show_stack"),
])  # fmt: skip
def test_the_recording_itself_is_out_of_reach(f, message):
    with pytest.raises(contad.UnsupportedError, match=message):
        contad.record(f, 1.5)


POINTS = np.zeros(2)


@pytest.mark.parametrize("f", [lambda x: float(x), lambda x: POINTS.__setitem__(0, x)])
def test_lost_derivatives_are_refused_as_everywhere(f):
    with pytest.raises(contad.LostDerivativeError):
        contad.record(f, 1.5)


def test_stop_gradient_follows_the_inputs():
    def f(x, a):
        return contad.stop_gradient(x * 2.0) * x + np.sum(contad.stop_gradient(a[::-1]) * a) + contad.stop_gradient(x)

    assert compare(contad.record(f, 1.5, X), f, (1.5, X))["agreed"] == 4


def test_arrays_that_are_made_inside_are_constant():
    def f(x):
        z = contad.zeros(3)
        z[1:] = x[:2]
        return np.sum(z * 3.0 * x[2]) + (np.zeros_like(x) + 2.0)[0] * x[0]

    assert compare(contad.record(f, X), f, (X,))["agreed"] == 4


def test_printing_is_no_decision(capsys):
    program = contad.record(lambda x: print(f"{x[0]:.2f} {x} {x[0]}") or x[0] * 2.0, X)
    assert "1.30" in capsys.readouterr().out and program(LIKE_X) == 2.2


def test_every_decision_is_tested():
    """Every function with a decision is one of those above, another name of one, or in `test_linear_algebra.py`."""
    names = {getattr(f, "__name__", "") for f in decisions.DECISIONS}
    assert names == {
        *("lt", "le", "gt", "ge", "eq", "ne", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"),
        *("int", "trunc", "floor", "ceil", "round", "bool", "isnan", "isinf", "isfinite"),
        *("argsort", "argmax", "argmin", "searchsorted", "argmax_of_rows", "argmin_of_rows"),
        *("sign_of_determinant", "as_positions"),
    }


# ---- planted bugs ----------------------------------------------------------------------------------------------------
def test_a_lost_guard_is_noticed(monkeypatch):
    monkeypatch.setattr(Tracer, "guard", lambda s, name, x, y: getattr(operator, name)(x._value, y))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_numbers("lt")


@pytest.mark.parametrize("name", ["argmax", "argsort"])
def test_a_guard_that_is_too_weak_is_noticed(monkeypatch, name):
    monkeypatch.setattr(decisions, "_all_hold", lambda *args: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_arrays(name)


@pytest.mark.parametrize("sort", [np.argsort, np.sort], ids=["argsort", "sort"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_sorted_arrays_lie_as_numpys_do(sort, turned, axis):
    """So that a later write through a view reaches what NumPy's reaches."""

    def f(x):
        z = sort(x.T if turned else x, axis=axis) * x[0, 0]
        z.T.ravel()[0] = 5.0
        z.reshape(-1)[1] = 7.0
        return np.sum(z * z)

    x = np.random.default_rng(3).normal(size=(3, 4))
    value, gradient = contad.record(f, x).value_and_grad(x)
    assert value == pytest.approx(f(x), rel=1e-14)
    np.testing.assert_allclose(gradient, contad.grad(f)(x), rtol=1e-13)


def test_the_largest_of_one_row_is_found_without_copies():
    program = contad.record(lambda x: np.max(x) + np.min(x[::2]), np.array([1.0, -2.0, 4.0, 3.0]))
    heads = [int(row[0]) for trace in program.traces for row in trace.code]
    assert heads.count(GATHER) == 0
    assert heads.count(COMPARE) == 3  # before and after the largest, behind the smallest


@pytest.mark.parametrize("x", [1.3, np.float64(1.3), np.array(1.3)], ids=["float", "np.float64", "no axes"])
@pytest.mark.parametrize("decide", [np.isnan, np.isinf, lambda x: ~np.isfinite(x)])
def test_decisions_of_ufuncs_are_of_numpys_kind(x, decide):
    def f(x):
        return np.sum(x) * (~decide(x) + 1.0)  # of Python's False it would be -1

    p = contad.record(f, x)
    assert (p(x), p.gradient(x)) == (f(x), 2.0) == (2.6, contad.grad(f)(x))


@pytest.mark.parametrize("reduce", [np.sum, np.prod, np.nansum, np.nanmean, np.max])
@pytest.mark.parametrize("axis", [0, None])
def test_a_number_has_the_axis_0_in_reductions(reduce, axis):
    def f(x):
        return reduce(x, axis=axis) * x * x

    x = np.array(1.3)
    assert contad.record(f, x).gradient(x) == pytest.approx(3 * 1.3**2)
    assert contad.hvp(f)(x, x) == pytest.approx(6 * 1.3**2)


@pytest.mark.parametrize("order", "CF")
def test_products_along_no_axes_are_the_elements(order):
    a = np.arange(1.0, 9.0).reshape(4, 2).copy(order)

    def f(a):
        return np.sum(np.prod(a, axis=()) ** 2)

    np.testing.assert_allclose(contad.grad(f)(a), 2.0 * a)
    np.testing.assert_allclose(contad.record(f, a).gradient(a), 2.0 * a)
