"""Generators that are looped over: their statements are written in the place of the loop, its body at every yield."""

import numpy as np

from contad.engines.source.ir.entries import constant
from contad.engines.source.reading.generators import _STOPPED, GeneratorLoop
from tests.engines.source.programs.harness import Table, listed, programs

GENERATORS = """
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
"""
TAKEN = programs("""
    # summed
    s = 0.0
    for v in squares(x, 4.0):
        s += v * x[0] + s * 0.1
    return s
    # left early
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
    # returned
    SCALE = 2.0  # a global name of the generator
    for v in squares(x):
        for w in squares(x, 1.0):
            if v * w > 0.8:
                return v * w * SCALE
    return x[0]
    # through
    s = 1.0
    for k, v in enumerate(doubled(x), 2):
        s = s * 0.5 + v * k
    return s
    # unified
    @njit
    def counts(n):
        yield 1
        yield 2.5
        k = 3
        while k < n:
            yield k
            k += 1
    ---
    s = 0.0
    for v in counts(5):
        s += x[int(v) % 4] ** 2 * (v // 2)
    return s
    # windows
    @njit
    def moving(y):
        window = np.zeros(2)
        for k in range(1, len(y)):
            window[0] = y[k - 1]
            window[1] = y[k]
            yield window
    ---
    s = 0.0
    for w in moving(x):
        s += w[0] * w[1]
        w[0] = 0.1 * s  # what the generator has in its hands, too
    return s
    # handed on
    @njit
    def used_by(g, x):
        s = 0.0
        for v in g:
            s += v * x[1]
        return s
    ---
    g = squares(x)
    return used_by(g, x) + used_by(doubled(x), x)
    # endless
    @njit
    def steps(y, rate):
        while True:
            yield y
            y = y - rate * np.sin(y)
    ---
    s, before = 0.0, x * 9.0
    for k, y in enumerate(steps(x * 1.0, 0.4)):
        s += np.sum(y * before)
        before = y
        if k > 3:
            break
    return s
    # signs
    @njit
    def either(y):
        yield 0
        yield y[0]
    ---
    s = 0.0
    for v in either(x):
        s += np.copysign(x[1], -v)
    return s
""")
REFUSED = listed("""
    # f: a generator in step with something else, or in a list or a comprehension; let a loop run over
    s = 0.0
    for v, w in zip(x, squares(x)):
        s += v * w
    return s
    # f: the call of 'next'
    return next(squares(x))
    # f: a generator that is looped over twice, or in another loop than it is made
    g, s = squares(x), 0.0
    for v in g:
        s += v
    for v in g:
        s += v
    return s
    # f: a generator that is looped over twice, or in another loop than it is made
    g, s = squares(x), 0.0
    for _ in range(2):
        for v in g:
            s += v
    return s
    # guarded: a yield inside try; write it behind the try
    @njit
    def guarded(y):
        for v in y:
            try:
                yield v
            except Exception:
                yield 0.0
    ---
    s = 0.0
    for v in guarded(x):
        s += v
    return s
    # falling: the recursive function falling
    @njit
    def falling(n):
        if n > 0:
            for v in falling(n - 1):
                yield v * 0.5
        yield 0.5 * n
    ---
    s = 0.0
    for v in falling(3):
        s += v * x[0]
    return s
""")


def _go_on(self, place, env):
    _WRITE_BODY(self, place, env)
    env[_STOPPED] = constant(False)


_WRITE_BODY = GeneratorLoop.write_body
LOOPS_OVER_GENERATORS = Table(
    "generators", TAKEN, REFUSED,
    faults={"a generator goes on where the loop has ended": (GeneratorLoop, "write_body", _go_on)},
    before=GENERATORS, known={"SCALE": 0.3}, as_numba=("signs",), head="x",
    arguments=(np.array([0.7, 1.3, -0.4, 2.1]),), argnums=(0,),
)  # fmt: skip
