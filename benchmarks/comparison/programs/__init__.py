"""The programs of the comparison, one module each with its `PROGRAM`; what they share has a name with an underscore."""

from importlib import import_module
from pkgutil import iter_modules

from benchmarks.comparison.program import Program


def programs() -> dict[str, Program]:
    """{name: program} of every module here."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return {name: import_module(f"{__name__}.{name}").PROGRAM for name in names}
