"""log sum exp of a vector, shifted by its maximum."""

import math

import numpy as np
from numba import njit

from benchmarks.comparison import with_kernels
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import in_registers, on_compiled, on_eager
from benchmarks.comparison.written import IDIOMS, on_reassociating, reassociating, with_every_tool


def inputs(n):
    return (3.0 * np.random.default_rng(3).normal(size=n),)


@njit
def log_sum_exp(x):
    largest = x[0]
    for k in range(1, len(x)):
        largest = max(largest, x[k])
    total = 0.0
    for k in range(len(x)):
        total += math.exp(x[k] - largest)
    return largest + math.log(total)


def by_hand(x):
    """In a loop, and from where NumPy's SIMD exp is worth its calls with NumPy."""
    return by_hand_on_arrays(x) if len(x) > 1000 else by_hand_in_a_loop(x)


@reassociating
def by_hand_in_a_loop(x):
    largest = np.max(x)
    gradient = np.empty(len(x))
    total = 0.0
    for i in range(len(x)):
        gradient[i] = math.exp(x[i] - largest)
        total += gradient[i]
    for i in range(len(x)):
        gradient[i] /= total
    return largest + math.log(total), (gradient,)


def by_hand_on_arrays(x):
    largest = np.max(x)
    gradient = x - largest
    np.exp(gradient, out=gradient)
    total = np.sum(gradient)
    gradient /= total
    return largest + math.log(total), (gradient,)


def on_arrays(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def on_numbers(math):
    def f(x):
        largest = max(v.value for v in x)  # a constant shift, which has no derivative
        total = 0.0
        for v in x:
            total = total + math.exp(v - largest)
        return largest + math.log(total)

    return f


def from_library(np):
    """The function of this name that the library of these arrays has."""
    if np.__name__ == "torch":
        return lambda x: np.logsumexp(x, 0)
    if np.__name__ == "jax.numpy":
        from jax.nn import logsumexp
    else:
        from autograd.scipy.special import logsumexp
    return logsumexp


PROGRAM = Program(
    name="log_sum_exp",
    about="log of the sum of exp(x_i)",
    sizes={"small": {"n": 100}, "medium": {"n": 10_000}, "large": {"n": 1_000_000}},
    inputs=inputs,
    argnums=(0,),
    primal=log_sum_exp,
    by_hand=by_hand,
    with_kernels=with_kernels.log_sum_exp,
    contad={
        **on_compiled(log_sum_exp, (0,)), **in_registers(log_sum_exp, (0,)), **on_reassociating(log_sum_exp, (0,)),
        **on_eager(on_arrays, (0,)),
    },
    peers=with_every_tool((0,), arrays=from_library, numbers=on_numbers, casadi=lambda casadi: casadi.logsumexp),
    idioms=IDIOMS,
    remarks="Medium and large: by hand the exp of the C library is called for each element; the generated loops "
    "compute it in vector registers, as jax does, and keep it in memory for the reverse sweep, which at the large size "
    "takes as long as to compute it again. On arrays `matrix` uses "
    "NumPy's exp, but passes over them once for each operation.",
)
