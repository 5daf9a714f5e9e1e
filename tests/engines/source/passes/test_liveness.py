"""What iterations carry from one to the next, which of it is a sum, and what statements name."""

import ast

import pytest

from contad.engines.source.ir.tree_queries import names_in
from contad.engines.source.passes import liveness
from contad.engines.source.passes.collapsing import find_integers
from contad.engines.source.passes.liveness import LiveNames, carried_names, is_sum


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("t = x[i]\ns += t", "s"),
        ("if test:\n    t = 1.0\ns += t", "s t"),
        ("if test:\n    t = 1.0\nelse:\n    t = 2.0\ns += t", "s"),
        ("test = x[i] < 0\nif test:\n    t = 1.0\nif test:\n    s += t", "s"),
        ("test = x[i] < 0\nif test:\n    t = 1.0\ntest = y[i] < 0\nif test:\n    s += t", "s t"),
        ("test = x[i] < 0\nif test:\n    t = 1.0\nelse:\n    u = t", "t"),
        ("for k in range(n):\n    t = 1.0\ns = t", "t"),
        ("for k in range(n):\n    if test:\n        t = 1.0\n    test = k > 2\n    if test:\n        s = t", "t test"),
        ("while True:\n    t = 1.0\n    if t > x[i]:\n        break\ns = 1.0", ""),
    ],
)
def test_carried_names(text, carried):
    assert carried_names(ast.parse(text).body) == set(carried.split())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s += x[i]", True),
        ("s -= s * x[i]", False),
        ("s *= 2.0", False),
        ("if x[i] > 0:\n    t = s + x[i]\nelse:\n    t = s\ns = t", True),
        ("t = s + x[i]\ns = t\ny[i] = t", False),
        ("t = x[i] - s\ns = t", False),
        ("t = x[i] + s\ns = t - 1.0", True),
        ("t = s + s\ns = t", False),
        ("if t > 0:\n    t = s + 1.0\ns = t", False),
        ("s = 1.0 if x[i] > 0 else s", False),
        ("for s in range(3):\n    s += 1", False),
    ],
)
def test_sums(text, found):
    body = ast.parse(text).body
    assert is_sum("s", body, carried_names(body)) == found


def test_names_read_after_a_loop():
    body = ast.parse(
        "for i in range(n):\n    t = x[i]\n    u = t\n    v = t\nif n > 3:\n    u = 1.0\nw = u + t\nt = 2.0"
    ).body
    assert LiveNames(body).after[body[0]] >= {"u", "t", "n"}
    assert "v" not in LiveNames(body).after[body[0]]
    outer = ast.parse("for k in range(3):\n    for i in range(n):\n        t = i\n    u = t").body
    assert "t" in LiveNames(outer).after[outer[0].body[0]]


TEXT = """
def run(x, *, y=z):
    global g
    total: float = 0.0
    for i, (j, k) in zip(a, b):
        total += x[i, j : k] * -y.real if i < n <= m else {p: q, **r}[s]
        while not (total and flag):
            if (w := f(x, *args, key=v, **rest)) or [c for c in d if e]:
                raise Problem(f"{text!r:>{width}}") from cause
    return lambda u: u + total
"""

NEST = """
def run(n):
    for i in range(n):
        for j in range(n):
            a = b
            b = c
            c = a
"""


def test_all_names_in_statements_are_found():
    tree = ast.parse(TEXT)
    expected = [x for x in ast.walk(tree) if isinstance(x, ast.Name)]
    found = names_in(tree)
    assert len(found) == len(expected)
    assert set(found) == set(expected)


def test_statements_in_loops_are_read_once(monkeypatch):
    (function,) = ast.parse(NEST).body
    read = []

    def names_read(node):
        read.append(ast.unparse(node))
        return frozenset(x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))

    monkeypatch.setattr(liveness, "names_read", names_read)
    liveness.LiveNames(function.body)
    assert [read.count(s) for s in ("a = b", "b = c", "c = a")] == [1, 1, 1]


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
