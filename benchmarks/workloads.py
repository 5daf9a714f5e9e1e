"""Scalar functions to differentiate, each with its gradient written by hand in plain Python.

The recurrences stand where one step neither shrinks nor grows a derivative (its slope is 1), so that adjoints stay
alive through all steps: a sweep over dead adjoints would look faster than it is.
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

import contad

Scalar = Callable[..., float]


class Workload(NamedTuple):
    """A function of numbers, where to differentiate it, and the same derivative by hand."""

    name: str
    f: Scalar
    point: tuple[float, ...]
    operations: int  # on variables, in one evaluation of f
    by_hand: Callable[..., tuple[float, tuple[float, ...]]]  # value and gradient

    @property
    def argnums(self) -> tuple[int, ...]:
        """All arguments."""
        return tuple(range(len(self.point)))


def linear_recurrence(steps: int) -> Workload:
    """s = s x + c, two operations a step."""
    c = 0.01

    def f(x):
        s = x
        for _ in range(steps):
            s = s * x + c
        return s

    def by_hand(x):
        s = x
        states = []
        for _ in range(steps):
            states.append(s)
            s = s * x + c
        s_bar, x_bar = 1.0, 0.0
        for state in reversed(states):
            x_bar += s_bar * state
            s_bar *= x
        return s, (x_bar + s_bar,)

    return Workload("s*x + c", f, (1.0 - 1.0 / steps,), 2 * steps, by_hand)


def recurrence_through(
    name: str, function: Scalar, value: Scalar, slope: Callable[[float, float], float], u: float, steps: int
) -> Workload:
    """s = g(s x + c), three operations a step, about the state g(u) that one step maps to itself with slope 1.

    `function` is g on any kind of number; `value(u)` and `slope(z, u)` are g and dg/du by hand.
    """
    x_0 = 1.0 / slope(value(u), u)
    c = u - x_0 * value(u)

    def f(x):
        s = x
        for _ in range(steps):
            s = function(s * x + c)
        return s

    def by_hand(x):
        s = x
        states = [s]
        inner = []
        for _ in range(steps):
            u = s * x + c
            s = value(u)
            inner.append(u)
            states.append(s)
        s_bar, x_bar = 1.0, 0.0
        for k in range(steps - 1, -1, -1):
            u_bar = s_bar * slope(states[k + 1], inner[k])
            x_bar += u_bar * states[k]
            s_bar = u_bar * x
        return s, (x_bar + s_bar,)

    return Workload(f"{name}(s*x + c)", f, (x_0,), 3 * steps, by_hand)


def logistic_regression(rows: int, seed: int = 7) -> Workload:
    """Negative log likelihood of `rows` observations of 4 covariates, one number at a time: 12 operations a row."""
    draw = random.Random(seed)
    table = []
    for _ in range(rows):
        a = tuple(draw.gauss(0.0, 1.0) for _ in range(4))
        table.append((*a, 1.0 if draw.random() < 0.5 + 0.3 * math.tanh(a[0] - a[2]) else -1.0))

    def f(w_1, w_2, w_3, w_4):
        total = 0.0
        for a_1, a_2, a_3, a_4, label in table:
            margin = label * (a_1 * w_1 + a_2 * w_2 + a_3 * w_3 + a_4 * w_4)
            total = total + np.log1p(np.exp(-margin))
        return total

    def by_hand(w_1, w_2, w_3, w_4):
        total = d_1 = d_2 = d_3 = d_4 = 0.0
        for a_1, a_2, a_3, a_4, label in table:
            e = math.exp(-label * (a_1 * w_1 + a_2 * w_2 + a_3 * w_3 + a_4 * w_4))
            total += math.log1p(e)
            d = -label * e / (1.0 + e)
            d_1 += d * a_1
            d_2 += d * a_2
            d_3 += d * a_3
            d_4 += d * a_4
        return total, (d_1, d_2, d_3, d_4)

    # 4 products, 3 sums, the label, the sign, exp, log1p, and the running total
    return Workload(f"logistic regression {rows} x 4", f, (0.3, -0.2, 0.5, 0.1), 12 * rows, by_hand)


def scalar_workloads(steps: int, rows: int) -> Sequence[Workload]:
    """What `benchmarks.scalars` times; the special function, far slower than the rest, gets a tenth of the steps."""
    from scipy.special import digamma, gammaln

    exp = math.exp, lambda z, u: z
    tanh = math.tanh, lambda z, u: math.cosh(u) ** -2
    log_gamma = lambda u: float(gammaln(u)), lambda z, u: float(digamma(u))
    return (
        linear_recurrence(steps),
        recurrence_through("np.exp", np.exp, *exp, 2.0, steps),
        recurrence_through("contad.exp", contad.exp, *exp, 2.0, steps),
        recurrence_through("contad.tanh", contad.tanh, *tanh, 1.0, steps),
        recurrence_through("contad.gammaln", contad.gammaln, *log_gamma, 6.0, steps // 10),
        logistic_regression(rows),
    )
