"""All of them."""

from benchmarks.real import (
    decisions,
    fields,
    gradbench,
    grids,
    inference,
    motions,
    sequences,
    skies,
    stan_counts,
    stan_groups,
    stan_series,
    stan_vectors,
    waves,
)
from benchmarks.real.program import Real

OF_STAN = (stan_vectors, stan_groups, stan_counts, stan_series)
MODULES = (skies, inference, fields, decisions, *OF_STAN, gradbench, grids, sequences, motions, waves)
REAL: dict[str, Real] = {
    program.name: program
    for module in MODULES
    for program in module.PROGRAMS
}
