"""Generators that are looped over: their statements are written in the place of the loop, its body at every yield."""

import numpy as np
import pytest
from numba import njit

import contad
from contad.engines.source.ir.entries import constant
from contad.engines.source.reading import generators
from contad.errors import UnsupportedError
from tests.engines.source.agreement import agree, as_python, request

X = np.array([0.7, 1.3, -0.4, 2.1])
SCALE = 0.3


@njit
def squares(y, most=9.0):
    s = 1.0  # a name that callers have, too
    for v in y:
        if v * v > most:
            return
        if v < 0.0:
            continue
        yield v * v * s
        s *= 1.1


@njit
def pairs(y):
    n = len(y)
    for i in range(n):
        for j in range(i):
            yield i + j, y[i] * y[j] * SCALE


@njit
def doubled(y):
    for v in squares(y, 4.0):
        yield 2.0 * v
    yield y[1]


@njit
def counts(n):
    yield 1
    yield 2.5
    k = 3
    while k < n:
        yield k
        k += 1


@njit
def either(y):
    yield 0
    yield y[0]


@njit
def signs(x):
    s = 0.0
    for v in either(x):
        s += np.copysign(x[1], -v)
    return s


@njit
def moving(y):
    window = np.zeros(2)
    for k in range(1, len(y)):
        window[0] = y[k - 1]
        window[1] = y[k]
        yield window


@njit
def steps(y, rate):
    while True:
        yield y
        y = y - rate * np.sin(y)


@njit
def summed(x):
    s = 0.0
    for v in squares(x, 4.0):
        s += v * x[0] + s * 0.1
    return s


@njit
def left_early(x):
    s, k = 0.0, 0
    for i, v in pairs(x):
        if i == 2:
            continue
        s += v * i * (1 + k)
        if s > 0.5:
            break
        k += 1
    else:
        s *= 7.0
    return s + k * x[1]


@njit
def returned(x):
    SCALE = 2.0  # a global name of the generator
    for v in squares(x):
        for w in squares(x, 1.0):
            if v * w > 0.8:
                return v * w * SCALE
    return x[0]


@njit
def through(x):
    s = 1.0
    for k, v in enumerate(doubled(x), 2):
        s = s * 0.5 + v * k
    return s


@njit
def unified(x):
    s = 0.0
    for v in counts(5):
        s += x[int(v) % 4] ** 2 * (v // 2)
    return s


@njit
def windows(x):
    s = 0.0
    for w in moving(x):
        s += w[0] * w[1]
        w[0] = 0.1 * s  # what the generator has in its hands, too
    return s


@njit
def used_by(g, x):
    s = 0.0
    for v in g:
        s += v * x[1]
    return s


@njit
def handed_on(x):
    g = squares(x)
    return used_by(g, x) + used_by(doubled(x), x)


@njit
def endless(x):
    s, before = 0.0, x * 9.0
    for k, y in enumerate(steps(x * 1.0, 0.4)):
        s += np.sum(y * before)
        before = y
        if k > 3:
            break
    return s


TAKEN = [summed, left_early, returned, through, unified, windows, handed_on, endless]


@pytest.mark.parametrize("f", TAKEN, ids=lambda f: f.__name__)
def test_a_loop_over_a_generator(f):
    agree(f, X)


def test_what_is_yielded_has_one_type():
    """An integer zero among floats is a float, whose negative has a sign."""
    value, _ = as_python(request(signs, X))(X)
    assert value == pytest.approx(signs(X), rel=1e-14)


# ---- refusals --------------------------------------------------------------------------------------------------------
@njit
def in_step(x):
    s = 0.0
    for v, w in zip(x, squares(x)):  # noqa: B905 (Numba's zip has no strict)
        s += v * w
    return s


@njit
def by_next(x):
    return next(squares(x))


@njit
def twice(x):
    g, s = squares(x), 0.0
    for v in g:
        s += v
    for v in g:
        s += v
    return s


@njit
def made_outside(x):
    g, s = squares(x), 0.0
    for _ in range(2):
        for v in g:
            s += v
    return s


@njit
def guarded(y):
    for v in y:
        try:
            yield v
        except Exception:
            yield 0.0


@njit
def over_guarded(x):
    s = 0.0
    for v in guarded(x):
        s += v
    return s


@njit
def falling(n):
    if n > 0:
        for v in falling(n - 1):
            yield v * 0.5
    yield 0.5 * n


@njit
def over_falling(x):
    s = 0.0
    for v in falling(3):
        s += v * x[0]
    return s


REFUSED = {
    in_step: "in_step: a generator in step with something else, or in a list or a comprehension; let a loop run over",
    by_next: "by_next: the call of 'next'",
    twice: "twice: a generator that is looped over twice, or in another loop than it is made",
    made_outside: "made_outside: a generator that is looped over twice, or in another loop than it is made",
    over_guarded: "guarded: a yield inside try; write it behind the try",
    over_falling: "falling: the recursive function falling",
}


@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_is_refused(f):
    with pytest.raises(UnsupportedError, match=rf"test_generators.py:\d+: {REFUSED[f]}"):
        contad.source(f, X)


def test_a_loop_that_is_not_left_is_noticed(monkeypatch):
    """Planted: the generator goes on where the loop has ended."""
    original = generators.GeneratorLoop.write_body

    def write_body(self, place, env):
        original(self, place, env)
        env[generators._STOPPED] = constant(False)

    monkeypatch.setattr(generators.GeneratorLoop, "write_body", write_body)
    with pytest.raises(AssertionError):
        agree(left_early, X)
