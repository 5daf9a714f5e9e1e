"""Rosenbrock's function of many variables."""

from itertools import pairwise

import numpy as np

from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_compiled, on_eager
from benchmarks.comparison.written import IDIOMS, SMALL, on_reassociating, reassociating, with_every_tool
from benchmarks.loops import rosenbrock


def inputs(n):
    return (np.random.default_rng(5).normal(size=n),)


@reassociating
def by_hand(x):
    """Every element from its neighbours, so that no step waits for another."""
    n = len(x)
    gradient = np.empty(n)
    total = 0.0
    for i in range(n - 1):
        a = x[i + 1] - x[i] * x[i]
        b = 1.0 - x[i]
        total += 100.0 * a * a + b * b
        gradient[i] = -400.0 * a * x[i] - 2.0 * b
    for i in range(1, n - 1):
        gradient[i] += 200.0 * (x[i] - x[i - 1] * x[i - 1])
    gradient[n - 1] = 200.0 * (x[n - 1] - x[n - 2] * x[n - 2])
    return total, (gradient,)


def written(np):
    def f(x):
        a = x[1:] - x[:-1] * x[:-1]
        b = 1.0 - x[:-1]
        return np.sum(100.0 * a * a + b * b)

    return f


def in_casadi(casadi):
    def f(x):
        return 100.0 * casadi.sumsqr(x[1:] - x[:-1] ** 2) + casadi.sumsqr(1.0 - x[:-1])

    return f


def on_numbers(math):
    def f(x):
        total = 0.0
        for v, following in pairwise(x):
            a = following - v * v
            b = 1.0 - v
            total = total + 100.0 * a * a + b * b
        return total

    return f


PROGRAM = Program(
    name="rosenbrock",
    about="sum of 100 (x_(i+1) - x_i^2)^2 + (1 - x_i)^2",
    sizes={"small": {"n": 100}, "medium": {"n": 10_000}, "large": {"n": 1_000_000}},
    inputs=inputs,
    argnums=(0,),
    primal=rosenbrock,
    by_hand=by_hand,
    contad={**on_compiled(rosenbrock, (0,)), **on_reassociating(rosenbrock, (0,)), **on_eager(written(np), (0,))},
    peers=with_every_tool((0,), arrays=written, numbers=on_numbers, casadi=in_casadi),
    idioms=IDIOMS,
    remarks=SMALL,
)
