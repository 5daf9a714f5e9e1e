"""Logistic regression with NumPy's operations on whole arrays, which Numba compiles too."""

import numpy as np
from numba import njit

from benchmarks.comparison import regressions
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import compiled, eager
from benchmarks.comparison.written import IDIOMS, SMALL

on_arrays = regressions.logistic(np)

PROGRAM = Program(
    name="logistic_arrays",
    about="the Bernoulli log density of y given logit X beta, with a standard normal prior of beta",
    sizes=regressions.SIZES,
    inputs=regressions.logistic_inputs,
    argnums=regressions.LOGISTIC,
    primal=on_arrays,
    by_hand=regressions.logistic_by_hand,
    contad={**compiled(njit(on_arrays), regressions.LOGISTIC), **eager(on_arrays, regressions.LOGISTIC)},
    peers=regressions.LOGISTIC_PEERS,
    idioms=IDIOMS,
    remarks=(
        "Medium and large: on arrays contad uses NumPy's exp and log1p, which are as fast as jax's, but passes over "
        "them once for each operation; in compiled code both are calls of the C library. "
    )
    + SMALL,
)
