"""What a Numba function computes, as a digest; and whether it may write into its arguments."""

import enum
import math
import operator
import sys
from collections import namedtuple
from types import ModuleType

import numba
import numpy as np
import pytest

import contad
from contad.native.fingerprint import fingerprint
from contad.native.writes import may_write_arrays
from tests.planted import registered

RATE = 0.7
Point = namedtuple("Point", "x y")
KIND = enum.Enum("KIND", "a b").a
FLOAT = numba.float64
plus, total = operator.add, np.sum
DATA = np.array([0.5, 1.5, -0.3])


@numba.njit
def callee(x):
    return RATE * x


@numba.njit
def caller(x):
    return callee(x) + math.exp(x) * DATA[0]


@numba.njit
def even(x, n):
    return x if n == 0 else odd(x, n - 1)


@numba.njit
def odd(x, n):
    return 2.0 * x if n == 0 else even(x, n - 1)


def make(a):
    @numba.njit
    def inner(x):
        return a * x

    return inner


def test_the_digest_follows_globals_callees_and_contents(monkeypatch):
    before = fingerprint(caller)
    assert before.stable and fingerprint(caller) == before
    monkeypatch.setitem(globals(), "RATE", 0.8)
    ((name, was, now),) = before.changed(fingerprint(caller))
    assert (name, was, now) == ("caller.callee.RATE", "float 0.7", "float 0.8")
    monkeypatch.undo()
    DATA[1] += 1.0
    assert [name for name, _, _ in before.changed(fingerprint(caller))] == ["caller.DATA"]
    DATA[1] -= 1.0
    assert fingerprint(caller).digest == before.digest
    other = numba.njit(lambda x: x * 3.0)
    monkeypatch.setitem(globals(), "callee", other)
    assert fingerprint(caller).digest != before.digest


def test_closures_differ_by_what_they_capture():
    digests = [fingerprint(make(a)).digest for a in (3.0, 3.0, 4.0, 3)]
    assert digests[0] == digests[1] and len(set(digests)) == 3


def over(module):
    return lambda x: module.cos(x)


def test_a_captured_module_is_read(monkeypatch):
    assert fingerprint(over(np)).stable
    assert fingerprint(over(np)).digest != fingerprint(over(math)).digest
    own = ModuleType("own")
    own.cos = 2.0
    before = fingerprint(over(own))
    own.cos = 3.0
    assert [name.partition("<lambda>")[2] for name, _, _ in before.changed(fingerprint(over(own)))] == [".module.cos"]


def test_functions_of_an_interactive_session_are_read(monkeypatch):
    session = ModuleType("session")  # without a file, as __main__
    monkeypatch.setitem(sys.modules, "session", session)
    exec("def helper(x):\n    return 2.0 * x\ndef f(x):\n    return helper(x)\n", vars(session))
    before = fingerprint(session.f)
    exec("def helper(x):\n    return 3.0 * x\n", vars(session))
    assert [name for name, _, _ in before.changed(fingerprint(session.f))] == ["f.helper"]


@pytest.mark.parametrize("empty", [np.zeros((0, 3)), np.array(2.0), np.array(["a"]), np.asfortranarray(np.eye(2))])
def test_arrays_of_any_kind_have_a_text(empty):
    assert fingerprint(lambda x: x + empty).stable


def test_options_and_recursion():
    assert fingerprint(even).stable and fingerprint(odd).stable
    fast = numba.njit(fastmath=True)(callee.py_func)
    assert fingerprint(fast).digest != fingerprint(callee).digest


def test_an_object_without_a_text_is_not_stable():
    thing = object()
    assert not fingerprint(lambda x: x if thing else 0.0).stable
    assert fingerprint(lambda x: contad.exp(np.sum(x)) + math.floor(1.5)).stable
    assert (
        fingerprint(
            lambda x: Point(plus(x, 1.0), total(x)),
        ).stable
        and fingerprint(lambda x: x if KIND else FLOAT).stable
    )


def test_a_named_tuple_is_known_by_its_fields(monkeypatch):
    def f(x):
        return Point(x, 1.0)

    before = fingerprint(f)
    other = namedtuple("Point", "y x", module=Point.__module__)
    monkeypatch.setitem(globals(), "Point", other)
    monkeypatch.setattr(sys.modules[Point.__module__], "Point", other, raising=False)
    assert fingerprint(f).digest != before.digest


@registered()
def test_a_rule_of_the_users_is_read(monkeypatch):
    @contad.scalar_rule
    def tripled(x):
        return RATE * x

    @tripled.partials
    def tripled_partials(z, x):
        return RATE

    before = fingerprint(lambda x: tripled(x))
    monkeypatch.setitem(globals(), "RATE", 0.8)
    assert len(before.changed(fingerprint(lambda x: tripled(x)))) == 2


# ---- writes ----------------------------------------------------------------------------------------------------------
@numba.njit
def reads(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total + np.dot(x, y) + np.maximum(x, y).sum()


@numba.njit
def stores(x):
    x[0] = 1.0


@numba.njit
def through_callee(x):
    stores(x)
    return x[0]


@numba.njit
def in_place(x):
    x += 1.0
    return x[0]


@numba.njit
def through_row(x):
    for row in x:
        row *= 2.0  # noqa: PLW2901
    return x[0, 0]


@numba.njit
def argument_named_again(x):
    x += 1.0
    x = 0.0
    return x


@numba.njit
def out_of_ufunc(x):
    return np.add(x, 1.0, x)[0]


@numba.njit
def out_of_dot(x, y, z):
    return np.dot(x, y, z)[0, 0]


@numba.njit
def sorts(x):
    x.sort()
    return x[0]


@numba.njit
def fills(x):
    x.fill(0.0)
    return x[0]


@numba.njit
def swaps(x):
    a = x[1:]
    b = 0.0
    a, b = b, a
    b += 1.0
    return b


@numba.njit
def helper_that_returns_its_argument(x):
    return x


@numba.njit
def through_result(x):
    y = helper_that_returns_its_argument(x)
    y[0] = 1.0
    return x[0]


@numba.njit
def own_arrays(x, n):
    u, w = np.zeros(n), np.empty_like(x)
    row = u[1:] if n > 2 else u
    for i in range(n):
        u[i] = x[i] * 2.0
        row[0] += u[i]
        u, w = w, u
        u *= 0.5
    u[:] = 1.0
    s = x[0] * 2.0
    s += 1.0
    return u[0] + s


WRITERS = (stores, through_callee, in_place, through_row, argument_named_again, out_of_ufunc, out_of_dot, sorts, fills,
           through_result)  # fmt: skip


@pytest.mark.parametrize("f", [*WRITERS, swaps], ids=lambda f: f.__name__)
def test_a_function_that_may_write_is_found(f):
    assert may_write_arrays(f)


def test_without_source_anything_may_happen():
    assert may_write_arrays(numba.njit(eval("lambda x: x")))


@pytest.mark.parametrize("f", [reads, caller, even, own_arrays], ids=lambda f: f.__name__)
def test_a_function_that_only_reads_is_known(f):
    assert not may_write_arrays(f)


def test_a_name_of_numpy_may_be_the_users():
    @numba.njit
    def copy(x):
        return x

    @numba.njit
    def captures(x):
        y = copy(x)
        y[0] = 1.0
        return x[0]

    assert may_write_arrays(captures)
