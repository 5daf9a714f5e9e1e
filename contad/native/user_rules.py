"""Operations whose reverse rule a user has written, as calls inside Numba: their parts as Numba functions."""

import inspect
from types import FunctionType
from typing import Any

import numba

from contad.errors import RuleError
from contad.functions.python_copy import is_dispatcher
from contad.native.callables import find_type
from contad.native.overloads import add_overload
from contad.rules.compilable import Parts, WithParts

_declared: dict[WithParts, Parts] = {}


def numba_type(rule: WithParts) -> Any:
    """Numba's type of the operation, which makes `f(x)` a call of its value where no argument carries a derivative."""
    if rule not in _declared:
        parts = compile_parts(rule)
        names = ", ".join(names_of(parts))
        known: dict[str, Any] = {"value": parts.value}
        exec(f"def implementation({names}):\n    return value({names})\n", known)
        exec(f"def typing({names}):\n    return implementation if is_plain({names}) else None\n", known)
        known["is_plain"] = lambda *kinds: not any(map(holds_derivative, kinds))
        add_overload(rule)(known["typing"])
    return find_type(rule)


def compile_parts(rule: WithParts) -> Parts:
    """The parts as Numba functions; RuleError where they have been declared again since they were compiled."""
    found = rule.compiled_parts()
    if rule not in _declared:
        _declared[rule] = _compile(found)
        _given[rule] = found
    elif found != _given[rule]:
        raise RuleError(f"{rule.name}: its rule was declared again after it was compiled; make a new function of it")
    return _declared[rule]


def backward_of(rule: WithParts, wanted: tuple[int, ...]) -> Any:
    """The Numba function that gives the cotangents of the arguments at `wanted`."""
    return _compile(rule.compiled_parts(wanted)).backward


def _compile(parts: Parts) -> Parts:
    """Numba functions in place of plain ones, and of those that these call."""
    return Parts(*map(_dispatcher_of, parts[:3]), parts.options)


def _dispatcher_of(function: Any) -> Any:
    if is_dispatcher(function):
        return function
    if function.__code__.co_filename == "<string>":  # what a rule is called by
        names = function.__globals__
        for name in function.__code__.co_names:
            if isinstance(names.get(name), FunctionType):
                names[name] = numba.njit(names[name])
    return numba.njit(function)


_given: dict[WithParts, Parts] = {}


def names_of(parts: Parts) -> list[str]:
    """The names of the arguments."""
    return list(inspect.signature(parts.value.py_func).parameters)


def holds_derivative(kind: Any) -> bool:
    """Whether a type is one of an engine's own, or an array of them."""
    return type(getattr(kind, "dtype", kind)).__module__.startswith("contad.") or type(kind).__module__.startswith("contad.")
