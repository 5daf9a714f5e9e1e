"""All of them."""

from benchmarks.real import decisions, fields, inference, skies
from benchmarks.real.program import Real

REAL: dict[str, Real] = {
    program.name: program
    for module in (skies, inference, fields, decisions)
    for program in module.PROGRAMS
}
