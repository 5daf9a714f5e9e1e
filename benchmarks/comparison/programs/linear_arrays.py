"""Linear regression with NumPy's operations on whole arrays, which Numba compiles too."""

import numpy as np
from numba import njit

from benchmarks.comparison import regressions
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import compiled, eager
from benchmarks.comparison.written import IDIOMS, SMALL

on_arrays = regressions.linear(np)

PROGRAM = Program(
    name="linear_arrays",
    about="the normal log density of y given X beta, by beta and sigma",
    sizes=regressions.SIZES,
    inputs=regressions.linear_inputs,
    argnums=regressions.LINEAR,
    primal=on_arrays,
    by_hand=regressions.linear_by_hand,
    contad={**compiled(njit(on_arrays), regressions.LINEAR), **eager(on_arrays, regressions.LINEAR)},
    peers=regressions.LINEAR_PEERS,
    idioms=IDIOMS,
    remarks=(
        "Large: two passes of BLAS over X are most of the time of every tool; between them the generated code passes "
        "over the residuals four times, with an array for each pass, and jax fuses these. "
    )
    + SMALL,
)
