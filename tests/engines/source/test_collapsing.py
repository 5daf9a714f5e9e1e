"""Functions of inner loops along rows of several iterations of the loop around."""

import ast
import functools
import itertools
import math
import re

import numba
import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.build import build, derivative_of
from contad.engines.source.ir.printing import print_statements
from contad.engines.source.passes import collapsing, strip_mining
from contad.engines.source.passes.collapsing import find_integers
from contad.engines.source.passes.strip_mining import Facts
from contad.native.elementary.elementary_table import has_fast_registers
from contad.native.elementary.rows import are_apart
from contad.native.request import Request
from tests.engines.source.agreement import as_python, flat
from tests.engines.source.trees import function_of, text_of
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


@njit
def recurrence(x, w, y):
    """The first part carries a state from iteration to iteration."""
    total, state = 0.0, 0.3
    for i in range(len(x)):
        state = 0.5 * state + x[i]
        s = y
        for k in range(len(w)):
            s += math.tanh(state * w[k])
        total += s * state
    return total


@njit
def written_behind(x, w):
    """Adds to what was never read, and reads what is written before the loop."""
    z = np.zeros(len(x))
    u = w * 0.5
    for i in range(1, len(x)):
        for k in range(len(w)):
            z[i - 1] += math.exp(u[k] * x[i])
    return np.sum(z * z)


NESTS = {f.py_func.__name__: f for f in (mixture, chain_of_states, where_the_greatest_is, recurrence, written_behind)}


@njit
def own_result(x, w):
    """An iteration reads what the one before has written."""
    z = np.zeros(len(x) + 1)
    for i in range(len(x)):
        s = 0.0
        for k in range(len(w)):
            s += math.exp(w[k] * x[i] + z[i])
        z[i + 1] = 0.1 * s
    return np.sum(z)


@njit
def own_number(x, w):
    total, state = 0.0, 0.1
    for i in range(len(x)):
        s = 0.0
        for k in range(len(w)):
            s += math.exp(w[k] * x[i] - state)
        state = 0.5 * s
        total += s
    return total


@njit
def left_early(x, w):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 5.0:
            break
        for k in range(len(w)):
            total += math.exp(w[k] * x[i])
    return total


@njit
def growing(x, w):
    """Inner loops of another length each."""
    total = 0.0
    for i in range(len(w)):
        for k in range(i):
            total += math.exp(w[k] * w[i]) + x[0]
    return total


@njit
def two_inside(x, w):
    total = 0.0
    for i in range(len(x)):
        s = 0.0
        for k in range(len(w)):
            s += math.exp(w[k] * x[i])
        for k in range(len(w)):
            total += math.sin(w[k] * s)
    return total


@njit
def number_of_the_rest(x, w):
    """What is between functions has a number of the outer loop's in it, which all of a row would share."""
    total = 0.0
    for i in range(len(x)):
        d = x[i] * x[i]
        for k in range(len(w)):
            t = math.exp(w[k] * x[i])
            total += math.exp(-t * d)
    return total


@njit
def number_made_behind(x, w):
    """What arguments are made of is that of the iteration before: it may run ahead, but not before they are made."""
    total, state = 0.0, 0.1
    for i in range(len(x)):
        s = 0.0
        for k in range(len(w)):
            s += math.exp(w[k] * x[i] - state)
        state = 0.5 * state + x[i]
        total += s
    return total


@njit
def large_whole_numbers(x, w):
    """Whole numbers that no float holds, by some iterations."""
    total, state = 0.0, 12345
    for i in range(len(x)):
        state = state * 1000003 + 1
        s = 0.0
        for k in range(len(w)):
            s += math.exp(w[k] * x[i] + 0.1 * (state & 15))
        total += s * ((state >> 1) & 7)
    return total


OTHERS = {
    f.py_func.__name__: f
    for f in (
        own_result, own_number, left_early, growing, two_inside, number_of_the_rest, number_made_behind,
        large_whole_numbers,
    )
}  # fmt: skip


def arguments(f, n, m):
    rng = np.random.default_rng(100 * n + m)
    if f is chain_of_states:
        return rng.normal(size=m), rng.normal(size=(m, m)), n
    if f is where_the_greatest_is:
        return rng.normal(size=(n, m)), rng.normal(size=m)
    if f is mixture:
        return rng.normal(size=n), rng.normal(size=m), rng.normal(size=m)
    return (rng.normal(size=n), rng.normal(size=m), 0.7)[: 3 if f is recurrence else 2]


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


@pytest.mark.parametrize("name", OTHERS)
def test_what_depends_on_the_rest_is_no_nest(name):
    f = OTHERS[name]
    args = arguments(f, 6, 5)
    assert "wide = " not in derivative_of(request(f, args, "simd")).source()
    compare(f, args)


@pytest.mark.parametrize("name", ["mixture", "chain_of_states", "where_the_greatest_is"])
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


def planted(monkeypatch, name, change):
    monkeypatch.setattr(collapsing.OuterBody, name, change)
    monkeypatch.setattr(strip_mining, "ROWS", 8)


def test_a_store_that_is_overlooked_is_found(monkeypatch):
    planted(monkeypatch, "is_still", lambda self, array: True)
    with pytest.raises(AssertionError):
        compare(own_result, arguments(own_result, 6, 3))


BODIES = {
    "an array of inner indices that the rest writes": """
        for k in range(m):
            s += math.exp(a[k] * x[i])
        a[0] = 0.1 * s""",
    "an array that another inner loop writes": """
        for k in range(m):
            s += math.exp(a[k] * x[i])
        for k_2 in range(m):
            a[k_2] = 0.5 * a[k_2] + 0.1""",
    "what the first part leaves behind": """
        for k in range(m):
            d = x[i] / w[k]
            s += math.exp(d)
        s += d""",
    "a number between functions that the outer loop makes": """
        c = x[i] * s
        for k in range(m):
            t = math.exp(x[i] * w[k])
            s += math.exp(-t * c)""",
    "the outer index between functions": """
        for k in range(m):
            t = math.exp(x[i] * w[k])
            s += math.exp(-t * i)""",
    "a number of the iteration before": """
        for k in range(m):
            s += math.exp(c * w[k])
        c = x[i]""",
    "a number that is written over again": """
        b = 0.5
        if x[i] > 0.0:
            c = 0.1
            b = x[i]
        else:
            c = 0.3
            b = 0.2
        for k in range(m):
            s += math.exp(c * w[k])
        s += b""",
    "a number that is sometimes made": """
        b = 0.5
        if x[i] > 0.0:
            c = 0.1
            b = x[i]
        for k in range(m):
            s += math.exp(c * w[k])
        s += b""",
    "a number that is read before it is made": """
        s += c
        c = x[i]
        for k in range(m):
            s += math.exp(c * w[k])""",
    "a length that changes": """
        for k in range(p):
            s += math.exp(x[i] * w[k])
        p = 1 - p""",
    "an index between others": """
        for k in range(i):
            s += math.exp(x[i] * a[k])""",
    "a number of the inner iteration before, which the first part writes over": """
        for k in range(m):
            s += c * w[k]
            c = x[i] * w[k]
            s += math.exp(c)""",
    "an iteration that leaves the loop": """
        if x[i] > 0.7:
            break
        for k in range(m):
            s += math.exp(x[i] * w[k])""",
    "an iteration that ends early": """
        if x[i] > 0.2:
            continue
        for k in range(m):
            s += math.exp(x[i] * w[k])""",
    "a whole number that no float holds": """
        p = p * 1000003 + 1
        for k in range(m):
            s += math.exp(0.1 * (p & 7) - w[k])
        s += (p >> 2) & 7""",
}
AHEAD = {
    "a number that goes on": """
        c = 0.5 * c + x[i]
        for k in range(m):
            s += math.exp(c * w[k])
        s += c""",
    "a number that some iterations make": """
        if x[i] > 0.0:
            c = x[i]
        for k in range(m):
            s += math.exp(c * w[k])
        s += c""",
    "a number that is made behind the functions": """
        d = 2.0 * c
        for k in range(m):
            s += math.exp(d * w[k])
        c = 0.5 * c + x[i]
        s += c * d""",
    "a whole number that goes on": """
        if x[i] > 0.0:
            p = i
        for k in range(m):
            s += math.exp(x[p] * w[k])
        s += a[p]""",
}


def text_of_nest(body, is_split):
    """A function that has this nest, and whether it is one that goes along rows."""
    lines = ["def run(x, w, a):", "    n, m = x.shape[0], w.shape[0]", "    s, c, b, p = 0.3, 0.2, 0.4, 1"]
    lines += ["    for i in range(n):", *body.splitlines()[1:], "    return s, c, p"]
    if not is_split:
        return "\n".join(lines), False
    facts = Facts(set("scbdt"), {name: frozenset((name,)) for name in "xwa"}, set())
    names = (f"new_{k}" for k in itertools.count())
    function, definitions = strip_mining.strip_mine(function_of(lines), facts, lambda _: next(names), nests=True)
    text = "\n".join([text_of(function), *print_statements(definitions)])
    return text, " // max(" in text


def rows_of(name):
    def run(x, z, n):
        z[:n] = [getattr(math, name)(t) for t in x[:n]]

    return run


def outcome_of_nest(body, is_split):
    text, is_nest = text_of_nest(body, is_split)
    names = {
        "math": math, "np": np, "place": int, "new_row": lambda: np.zeros(8), "elementary_rows": rows_of,
        "elementary": lambda name: getattr(math, name),
    }  # fmt: skip
    exec(text, names)
    rng = np.random.default_rng(0)
    a = rng.uniform(0.2, 0.9, 9)
    return names["run"](rng.uniform(-0.9, 0.9, 9), rng.uniform(0.2, 0.9, 2), a), *a, is_nest


@pytest.mark.parametrize(("body", "may"), [*((b, False) for b in BODIES), *((b, True) for b in AHEAD)])
def test_nests_of_text_that_may_run_ahead(body, may, monkeypatch):
    monkeypatch.setattr(strip_mining, "ROWS", 8)
    text = (AHEAD if may else BODIES)[body]
    *expected, _ = outcome_of_nest(text, False)
    *got, is_nest = outcome_of_nest(text, True)
    assert got == expected
    assert is_nest == may


@njit
def perhaps_the_same(x, w, steps):
    """The array that is read is the one that is written in every third step."""
    a, b = x.copy(), x * 0.5
    for t in range(steps):
        source = a if t % 2 == 0 else b
        target = b if t % 3 == 0 else a
        for i in range(1, len(x)):
            s = 0.0
            for k in range(len(w)):
                s += math.exp(w[k] * 0.1 + 0.1 * source[i - 1])
            target[i] = 0.3 * s
    return np.sum(a) + np.sum(b)


def test_arrays_that_may_be_one_are_asked_for(monkeypatch):
    monkeypatch.setattr(strip_mining, "ROWS", 8)
    rng = np.random.default_rng(1)
    args = rng.normal(size=7), rng.normal(size=2), 6
    assert "are_apart(source, target)" in derivative_of(request(perhaps_the_same, args, "simd")).source()
    compare(perhaps_the_same, args)
    monkeypatch.setattr(strip_mining._Miner, "_find_nest", functools.partialmethod(_without_tests))
    with pytest.raises(AssertionError):
        compare(perhaps_the_same, args)


_FIND = strip_mining._Miner._find_nest


def _without_tests(self, loop, down):
    nest = _FIND(self, loop, down)
    return nest and nest._replace(apart=[])


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


def test_the_value_of_a_mixture():
    x, centres, w = arguments(mixture, 9, 3)
    value, (x_bar, _, w_bar) = contad.value_and_grad(mixture, (0, 1, 2))(x, centres, w)
    terms = w - np.outer(x, centres)
    weights = np.exp(terms) / np.exp(terms).sum(axis=1)[:, None]
    assert value == pytest.approx(np.log(np.exp(terms).sum(axis=1)).sum(), rel=1e-14)
    np.testing.assert_allclose(w_bar, weights.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(x_bar, -(weights @ centres), rtol=1e-12)
