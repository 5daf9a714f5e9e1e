"""All of them."""

from benchmarks.real import (
    decisions,
    fields,
    inference,
    skies,
    stan_counts,
    stan_groups,
    stan_series,
    stan_vectors,
)
from benchmarks.real.program import Real

REAL: dict[str, Real] = {
    program.name: program
    for module in (skies, inference, fields, decisions, stan_vectors, stan_groups, stan_counts, stan_series)
    for program in module.PROGRAMS
}
