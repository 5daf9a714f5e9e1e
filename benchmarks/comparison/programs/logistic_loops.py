"""Logistic regression in loops over observations and coefficients."""

from benchmarks.comparison import regressions
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import compiled
from benchmarks.comparison.written import IDIOMS, SMALL

PROGRAM = Program(
    name="logistic_loops",
    about="the Bernoulli log density of y given logit X beta, with a standard normal prior of beta",
    sizes=regressions.SIZES,
    inputs=regressions.logistic_inputs,
    argnums=regressions.LOGISTIC,
    primal=regressions.logistic_loops,
    by_hand=regressions.logistic_by_hand,
    contad=compiled(regressions.logistic_loops, regressions.LOGISTIC),
    peers=regressions.LOGISTIC_PEERS,
    idioms=IDIOMS,
    remarks=(
        "Medium and large: exp and log1p of the C library are called for each observation, as the function does, "
        "which is most of the time at the large size; jax evaluates both in SIMD registers. "
    )
    + SMALL,
)
