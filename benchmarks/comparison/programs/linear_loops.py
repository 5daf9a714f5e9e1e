"""Linear regression in loops over observations and coefficients."""

from benchmarks.comparison import regressions
from benchmarks.comparison.program import Program
from benchmarks.comparison.shaped import compiled
from benchmarks.comparison.written import IDIOMS, SMALL

PROGRAM = Program(
    name="linear_loops",
    about="the normal log density of y given X beta, by beta and sigma",
    sizes=regressions.SIZES,
    inputs=regressions.linear_inputs,
    argnums=regressions.LINEAR,
    primal=regressions.linear_loops,
    by_hand=regressions.linear_by_hand,
    contad=compiled(regressions.linear_loops, regressions.LINEAR),
    peers=regressions.LINEAR_PEERS,
    idioms=IDIOMS,
    remarks=(
        "Large: a row's dot product is added in the order of the function, 20 additions that wait for each other; jax "
        "and BLAS add several at once. "
    )
    + SMALL,
)
