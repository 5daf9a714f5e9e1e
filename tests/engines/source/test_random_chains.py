"""Random chains of arrays with names: expressions, loops, slices and sums, whose loops are joined where they may be."""

import random

import numba
import numpy as np
import pytest

from tests.engines.source.agreement import as_python, request
from tests.judges.written import define as run

PROGRAMS = 150  # of one test


class Chain:
    """The text of a function of (x, w) that is drawn at random; it prefers the names that came last."""

    def __init__(self, draw):
        self.draw, self.arrays, self.numbers = draw, ["x", "y"], ["w"]
        self.lines = ["n = len(x)", "y = x * 0.7"]
        for k in range(draw.randint(4, 9)):
            self.add(k)
        sums = [f"np.sum({self.array()} * {self.array()})" for _ in range(2)]
        self.lines.append(f"return {' + '.join([*sums, self.number()])}")
        self.text = "def f(x, w):\n" + "\n".join(f"    {line}" for line in self.lines) + "\n"

    def array(self):
        return self.arrays[-1] if self.draw.random() < 0.5 else self.draw.choice(self.arrays)

    def number(self):
        return self.draw.choice(self.numbers)

    def expression(self, depth=0):
        """An array."""
        if depth > 2:
            return self.array()
        a, b = (lambda: self.expression(depth + 1)), self.array
        return self.draw.choice([
            lambda: b(), lambda: f"({a()} * {self.number()})", lambda: f"({a()} {self.draw.choice('+-*')} {a()})",
            lambda: f"np.sin({a()})", lambda: f"({a()} / (2.0 + {b()} ** 2))", lambda: f"{b()}[::-1]",
        ])()  # fmt: skip

    def add(self, k):
        """A statement: a new array t or number s, or a write into an array."""
        t, s, a, b, i = f"t{k}", f"s{k}", self.array(), self.array(), self.draw.choice(["i", "n - 1 - i", "0"])
        own = self.draw.choice(self.arrays[1:])
        made, lines = self.draw.choice([
            (t, [f"{t} = {self.expression()} * 1.0"]),
            (t, [f"{t} = {self.expression()} * 1.0"]),
            (s, [f"{s} = 0.1 * np.sum({self.expression()} * {self.expression()})"]),
            (s, [f"{s} = 0.0", "for i in range(n):", f"    {s} += 0.1 * {a}[i] * {b}[{i}]"]),
            (s, [f"{s} = 0.0", *(f"{'    ' * d}for {j} in range(n):" for d, j in enumerate("ij")),
                 f"        {s} += 0.02 * np.sin({a}[i] * {b}[j])"]),
            (t, [f"{t} = np.zeros_like(x)", "for i in range(n):", f"    {t}[i] = {a}[i] * {self.number()} + {b}[i]"]),
            (t, [f"{t} = {a}.copy()", "for i in range(1, n):", f"    {t}[i] += {t}[i - 1] * {self.number()}"]),
            ("", [f"{own}[1:] = {a}[:-1] * {self.number()}"]),
            ("", ["for i in range(n):", f"    {own}[i] += {a}[i] * {self.number()}"]),
        ])  # fmt: skip
        self.lines += lines
        if made:
            (self.arrays if made is t else self.numbers).append(made)


def read(seed):
    """The function of a seed, and what it is made from."""
    text = Chain(random.Random(seed)).text
    return run(text, f"<chain {seed}>", {"np": np})["f"], text


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 10 * PROGRAMS, PROGRAMS))
def test_random_chains(first):
    for seed in range(first, first + PROGRAMS):
        f, text = read(seed)
        at = np.random.default_rng(seed).normal(size=6)
        x, w = at[:5], float(at[5])
        value, (by_x, by_w) = as_python(request(numba.njit(f), x, w, argnums=(0, 1)))(x.copy(), w)
        assert value == pytest.approx(f(x.copy(), w), rel=1e-10), text
        exact = [f(x + h[:5], w + h[5]).imag / 1e-30 for h in 1e-30j * np.eye(6)]
        np.testing.assert_allclose([*by_x, by_w], exact, rtol=1e-8, atol=1e-9 * max(1.0, abs(value)), err_msg=text)
