"""The sum of a vector: how much a tool costs where there is nothing to differentiate."""

import numpy as np
from numba import njit

from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_compiled, on_eager
from benchmarks.comparison.written import IDIOMS, SMALL, on_reassociating, reassociating, with_every_tool


def inputs(n):
    return (np.random.default_rng(1).normal(size=n),)


@njit
def primal(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


@reassociating
def by_hand(x):
    gradient = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        gradient[i] = 1.0
    return total, (gradient,)


def on_numbers(math):
    def f(x):
        total = 0.0
        for v in x:
            total = total + v
        return total

    return f


PROGRAM = Program(
    name="total",
    about="sum of x_i",
    sizes={"small": {"n": 100}, "medium": {"n": 10_000}, "large": {"n": 1_000_000}},
    inputs=inputs,
    argnums=(0,),
    primal=primal,
    by_hand=by_hand,
    contad={**on_compiled(primal, (0,)), **on_reassociating(primal, (0,)), **on_eager(np.sum, (0,))},
    peers=with_every_tool((0,), arrays=lambda np: np.sum, numbers=on_numbers, casadi=lambda casadi: casadi.sum1),
    idioms=IDIOMS,
    remarks=(
        "Large: the generated loop adds one number after another, as the function does, so that the value is the same "
        "to the last bit, and fills the gradient with zeros before it adds to it; jax and torch add in SIMD "
        "registers, and torch's gradient is one number with strides of 0. "
    )
    + SMALL,
)
