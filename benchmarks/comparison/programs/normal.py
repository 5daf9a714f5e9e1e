"""The log density of independent normal observations, with location, scale and observations differentiated."""

import math

import numpy as np
from numba import njit

from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_compiled, on_eager
from benchmarks.comparison.written import IDIOMS, SMALL, on_reassociating, reassociating, with_every_tool

HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
ARGNUMS = (0, 1, 2)


def inputs(n):
    return 1.3, 1.8, np.random.default_rng(4).normal(1.5, 2.0, n)


@njit
def primal(mu, sigma, y):
    squares = 0.0
    for i in range(len(y)):
        z = (y[i] - mu) / sigma
        squares += z * z
    return -0.5 * squares - len(y) * (math.log(sigma) + HALF_LOG_2_PI)


@reassociating
def by_hand(mu, sigma, y):
    n = len(y)
    inverse = 1.0 / sigma
    y_bar = np.empty(n)
    total, squares = 0.0, 0.0
    for i in range(n):
        z = (y[i] - mu) * inverse
        total += z
        squares += z * z
        y_bar[i] = -z * inverse
    value = -0.5 * squares - n * (math.log(sigma) + HALF_LOG_2_PI)
    return value, (total * inverse, (squares - n) * inverse, y_bar)


def written(np):
    def f(mu, sigma, y):
        z = (y - mu) / sigma
        return -0.5 * np.sum(z * z) - y.shape[0] * (np.log(sigma) + HALF_LOG_2_PI)

    return f


def in_casadi(casadi):
    def f(mu, sigma, y):
        return -0.5 * casadi.sumsqr((y - mu) / sigma) - y.shape[0] * (casadi.log(sigma) + HALF_LOG_2_PI)

    return f


def on_numbers(math):
    def f(mu, sigma, y):
        squares = 0.0
        for v in y:
            z = (v - mu) / sigma
            squares = squares + z * z
        return -0.5 * squares - len(y) * (math.log(sigma) + HALF_LOG_2_PI)

    return f


PROGRAM = Program(
    name="normal",
    about="sum of the normal log densities of y_i, by location, scale and y",
    sizes={"small": {"n": 100}, "medium": {"n": 10_000}, "large": {"n": 1_000_000}},
    inputs=inputs,
    argnums=ARGNUMS,
    primal=primal,
    by_hand=by_hand,
    contad={**on_compiled(primal, ARGNUMS), **on_reassociating(primal, ARGNUMS), **on_eager(written(np), ARGNUMS)},
    peers=with_every_tool(ARGNUMS, arrays=written, numbers=on_numbers, casadi=in_casadi),
    idioms=IDIOMS,
    remarks=SMALL,
)
