"""The programs of the comparison, one module each with its `PROGRAM`, or a few that share most with `PROGRAMS`."""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.comparison.program import Program


def find_programs() -> dict[str, Program]:
    """{name: program} of every module here."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found = [p for m in modules for p in (m.PROGRAMS if hasattr(m, "PROGRAMS") else [m.PROGRAM])]
    return {program.name: program for program in sorted(found, key=lambda program: program.name)}
