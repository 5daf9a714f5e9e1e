"""Functions of inner loops along rows of several iterations of the loop around."""

import ast
import math
import re

import numba
import numpy as np
import pytest
from numba import njit

from contad.engines.source.build import build, derivative_of
from contad.engines.source.passes import strip_mining
from contad.engines.source.passes.collapsing import find_integers
from contad.native.elementary.elementary_table import has_fast_registers
from contad.native.elementary.rows import are_apart
from contad.native.request import Request
from tests.engines.source.agreement import as_python, flat
from tests.random_programs.generated_programs import grown

pytestmark = pytest.mark.skipif(not has_fast_registers(), reason="this processor has no such registers")


@njit
def mixture(x, centres, w):
    """A logarithm of sums of few terms, with the greatest one, which an iteration counts."""
    total = 0.0
    for i in range(len(x)):
        largest = -math.inf
        for k in range(len(centres)):
            largest = max(largest, w[k] - x[i] * centres[k])
        s = 0.0
        for k in range(len(centres)):
            s += math.exp(w[k] - x[i] * centres[k] - largest)
        total += largest + math.log(s)
    return total


@njit
def chain_of_states(alpha, transition, steps):
    """Arrays that are read and written in turn."""
    n = len(alpha)
    now, following = alpha.copy(), np.empty(n)
    for _ in range(steps):
        for s in range(n):
            largest = now[0] + transition[0, s]
            for r in range(1, n):
                largest = max(largest, now[r] + transition[r, s])
            total = 0.0
            for r in range(n):
                total += math.exp(now[r] + transition[r, s] - largest)
            following[s] = largest + 0.1 * total
        now, following = following, now
    total = 0.0
    for s in range(n):
        total += math.exp(0.1 * now[s])
    return total


@njit
def where_the_greatest_is(x, w):
    """A whole number that the first part makes, and the rest reads."""
    total = 0.0
    for i in range(x.shape[0]):
        best, at = x[i, 0], 0
        for k in range(1, x.shape[1]):
            if x[i, k] > best:
                best = x[i, k]
                at = k
        s = 0.0
        for k in range(x.shape[1]):
            s += math.exp(x[i, k] - best) * w[k]
        total += s * w[at]
    return total


NESTS = {f.py_func.__name__: f for f in (mixture, chain_of_states, where_the_greatest_is)}


def arguments(f, n, m):
    rng = np.random.default_rng(100 * n + m)
    if f is chain_of_states:
        return rng.normal(size=m), rng.normal(size=(m, m)), n
    if f is where_the_greatest_is:
        return rng.normal(size=(n, m)), rng.normal(size=m)
    return rng.normal(size=n), rng.normal(size=m), rng.normal(size=m)


def request(f, args, numerics):
    floats = tuple(k for k, x in enumerate(args) if not isinstance(x, int))
    return Request(f.py_func, f, tuple(map(numba.typeof, args)), floats, False, "value_and_grad", numerics=numerics)


def compare(f, args, numerics="simd"):
    """In plain Python: what blocks give beside whole loops."""
    value, slopes = as_python(request(f, args, "libm"))(*args)
    got, gradient = as_python(request(f, args, numerics))(*args)
    scale = np.abs(flat(slopes)).max()
    np.testing.assert_allclose(got, value, rtol=1e-13)
    np.testing.assert_allclose(flat(gradient), flat(slopes), rtol=1e-12, atol=1e-14 * scale)


SIZES = [(1, 1), (2, 3), (3, 2), (7, 3), (5, 4), (6, 1), (3, 9)]


@pytest.mark.parametrize("numerics", ["simd", "auto"])
@pytest.mark.parametrize("name", NESTS)
def test_gradients_agree_with_those_of_whole_loops(name, numerics, monkeypatch):
    """Blocks of 8 numbers: of several iterations, of one, and inner loops that are too long."""
    monkeypatch.setattr(strip_mining, "ROWS", 8)
    monkeypatch.setattr(strip_mining, "LONG", 2)
    f = NESTS[name]
    assert "wide = 8 // max(" in derivative_of(request(f, arguments(f, 5, 4), numerics)).source()
    for n, m in SIZES:
        compare(f, arguments(f, n, m), numerics)


@pytest.mark.parametrize("name", NESTS)
def test_compiled(name):
    f = NESTS[name]
    run, whole = (build(request(f, arguments(f, 5, 4), numerics)) for numerics in ("auto", "libm"))
    for n, m in [*SIZES, (3, 130), (40, 31), (300, 2)]:
        args = arguments(f, n, m)
        (value, slopes), (got, gradient) = whole(*args), run(*args)
        assert got == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(flat(gradient), flat(slopes), rtol=1e-11, atol=1e-13 * np.abs(flat(slopes)).max())


def test_a_step_is_one_call_for_all_states():
    """The functions of a step of a chain go along one row, if its states are few; no test is left to the number 12."""
    text = derivative_of(request(chain_of_states, arguments(chain_of_states, 5, 4), "auto")).source()
    assert re.search(r"long = (\w+) \* \1 >= 12\n", text)
    assert re.search(r"if (\w+) <= 128 and are_apart\(\w+, \w+\):\n +wide = 256 // max\(\1, 1\)", text)
    calls = [0]
    names = {}
    exec(re.sub(r"exp_rows = .*", "", text), names)

    def exp_rows(x, z, n):
        calls[0] += 1
        z[:n] = np.exp(x[:n])

    names.update(exp_rows=exp_rows, workspace=lambda: (np.full(3, np.nan), 0), grow=grown)
    names["run"](*arguments(chain_of_states, 5, 4))
    assert calls[0] == 5 + 1


def test_a_loop_in_no_other_asks_for_no_length_of_those_in_it():
    assert "long" not in derivative_of(request(mixture, arguments(mixture, 5, 4), "auto")).source()


def test_where_arrays_are_apart():
    x = np.arange(24.0).reshape(4, 6)
    for first, second, expected in (
        (x, x, False), (x[:2], x[2:], True), (x[::2], x[1::2], False), (x[0], x[1], True), (x[1], x[0], True),
        (x[::-1][:2], x[:2], True), (x[::-1][:2], x[2:], False), (x[0, :3], x[0, 3:], True), (x[0, :0], x[0], True),
        (x[1:1], x, True), (x, x.copy(), True), (x[0, :4], x[0, 3:], False),
    ):  # fmt: skip
        assert are_apart(first, second) == compiled_apart(first, second) == expected
        assert not expected or not np.shares_memory(first, second)


@njit
def compiled_apart(x, y):
    return are_apart(x, y)


def test_whole_numbers_of_text():
    text = """
def run(n, x):
    a = -1
    b = a
    c = 0.5
    d = 0
    d = c
    k = n
    t = x[0] > 0
    u = select(t, a, b)
    v = select(t, a, c)
    e = 2 * a + b
    g = 1
    g += 1
    p, q = 1, 2
    for i in range(3):
        b = i
    for j in x:
        h = j
    w = integer(work, 3)
    z = 1 / 2
    state = 1
    for i in range(9):
        state = 3 * state
        last = i - 1
    l = 2 ** 60
    o = 1152921504606846976
"""
    known = {"a", "b", "u", "i", "last", "p", "q"}
    for stored, more in (("", set()), ("a", {"w"}), ("state", set()), ("x[0]", set())):
        put = f"    put_integer(work, 3, {stored})\n" if stored else ""
        (function,) = ast.parse(text + put).body
        assert find_integers(function) == known | more
