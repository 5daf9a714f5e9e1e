"""The names in a function: globals, captured values and attributes; and copies of it with other values."""

import dis
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any

from contad.variables.weak_cache import weak_cache


def codes_of(code: CodeType) -> list[CodeType]:
    """The code of a function, and of the functions inside it."""
    return [code, *(c for x in code.co_consts if isinstance(x, CodeType) for c in codes_of(x))]


def global_names(code: CodeType) -> set[str]:
    """The names that a function and the functions inside it may look up: of globals, builtins and attributes."""
    return {name for inner in codes_of(code) for name in inner.co_names}


@weak_cache
def looked_up(code: CodeType) -> frozenset[str]:
    """The names among these that are looked up in globals and builtins: `math` in math.exp, but not `exp`."""
    steps = (step for inner in codes_of(code) for step in dis.get_instructions(inner))
    return frozenset(step.argval for step in steps if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))


def captured_values(f: FunctionType) -> dict[str, Any]:
    """The current values of the captured names of a function; unbound ones are left out."""
    found = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def named_values(f: FunctionType) -> dict[str, Any]:
    """The current values of the global and captured names of a function."""
    own = f.__globals__
    return {name: own[name] for name in sorted(looked_up(f.__code__) & own.keys())} | captured_values(f)


def copy_under(f: FunctionType, names: dict[str, Any], code: CodeType | None = None) -> FunctionType:
    """A copy of f whose globals are `names`, and whose captured names are not bound yet; see `bind_captured`."""
    cells = tuple(CellType() for _ in f.__code__.co_freevars)
    copy = FunctionType(code or f.__code__, names, f.__name__, f.__defaults__, cells)
    copy.__kwdefaults__ = f.__kwdefaults__
    copy.__qualname__, copy.__module__ = f.__qualname__, f.__module__
    return copy


def bind_captured(copy: FunctionType, values: Mapping[str, Any], translate: Callable[[Any], Any]) -> None:
    """Bind the captured names of a copy to the translated values."""
    for name, cell in zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True):
        if name in values:
            cell.cell_contents = translate(values[name])
