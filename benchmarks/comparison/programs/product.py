"""The product of a vector, as a loop writes it."""

import numpy as np
from numba import njit

from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import on_compiled, on_eager
from benchmarks.comparison.written import IDIOMS, IN_C, SMALL, on_reassociating, reassociating, with_every_tool


def inputs(n):
    """Numbers near 1, so that the product neither overflows nor vanishes."""
    return (np.exp(np.random.default_rng(2).normal(size=n) / np.sqrt(n)),)


@njit
def primal(x):
    product = 1.0
    for i in range(len(x)):
        product *= x[i]
    return product


@reassociating
def by_hand(x):
    """The product over x_i; where an x_i is 0, the products before it and after it."""
    n = len(x)
    gradient = np.empty(n)
    product = 1.0
    for i in range(n):
        product *= x[i]
    if product != 0.0:
        for i in range(n):
            gradient[i] = product / x[i]
        return product, (gradient,)
    before = 1.0
    for i in range(n):
        gradient[i] = before
        before *= x[i]
    after = 1.0
    for i in range(n - 1, -1, -1):
        gradient[i] *= after
        after *= x[i]
    return product, (gradient,)


def on_numbers(math):
    def f(x):
        product = 1.0
        for v in x:
            product = product * v
        return product

    return f


def in_casadi(casadi):
    """CasADi has no product of a vector: the halves are multiplied until one number is left."""

    def f(x):
        while x.shape[0] > 1:
            half = x.shape[0] // 2
            x = casadi.vertcat(x[:half] * x[half : 2 * half], x[2 * half :])
        return x

    return f


PROGRAM = Program(
    name="product",
    about="product of x_i",
    sizes={"small": {"n": 100}, "medium": {"n": 10_000}, "large": {"n": 1_000_000}},
    inputs=inputs,
    argnums=(0,),
    primal=primal,
    by_hand=by_hand,
    contad={**on_compiled(primal, (0,)), **on_reassociating(primal, (0,)), **on_eager(np.prod, (0,))},
    peers=with_every_tool((0,), arrays=lambda np: np.prod, numbers=on_numbers, casadi=in_casadi, in_c=True),
    idioms=IDIOMS
    | {
        "casadi": "halves of an MX vector multiplied until one number is left, as an SX of a million numbers takes "
        f"half a minute to prepare; {IN_C}; called through buffers",
    },
    remarks=(
        "In the order of the function each product waits for the last, and all are stored, because elements may be 0. "
        "With the options of the gradient by hand contad divides the product by its elements as that does, where it is "
        "not 0; CasADi multiplies halves. "
    )
    + SMALL,
)
