"""Operations whose reverse rule a user has written, as calls inside Numba: their parts as Numba functions."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba
from numba import types

from contad.errors import RuleError
from contad.functions.python_copy import is_dispatcher
from contad.native.callables import find_type
from contad.native.log_sum_kernels import PARTS
from contad.native.overloads import add_overload, require_compilable
from contad.rules.compilable import Parts, WithParts

_typed: set[WithParts] = set()
_given: dict[WithParts, Parts] = {}  # what was compiled
_declared: dict[WithParts, Parts] = {}


def numba_type(rule: WithParts) -> Any:
    """Numba's type of the operation, which makes `f(x)` a call of its value where no argument carries a derivative."""
    if rule not in _typed:
        parts = compile_parts(rule)
        _typed.add(rule)
        names = names_of(parts)

        def choose(*kinds: Any) -> Any:
            if any(map(holds_derivative, kinds)):
                return None
            require_compilable(rule.name, parts.value, kinds)
            given = ", ".join(text_of(kind, name) for kind, name in zip(kinds, names, strict=True))
            known = {"value": parts.value}
            exec(f"def implementation({parameters_of(parts)}):\n    return value({given})\n", known)
            return known["implementation"]

        add_overload(rule)(typing_of(parts, choose))
    return find_type(rule)


def typing_of(parts: Parts, choose: Callable[..., Any]) -> Any:
    """What Numba asks for the implementation of a call, with the parameters of the operation."""
    known: dict[str, Any] = {"choose": choose}
    exec(f"def typing({parameters_of(parts)}):\n    return choose({', '.join(names_of(parts))})\n", known)
    return known["typing"]


def text_of(kind: Any, name: str) -> str:
    """The expression of an argument of that type in an implementation: its default where it is not given."""
    if isinstance(kind, types.Omitted):
        return repr(kind.value)
    return name if isinstance(kind, types.Type) else repr(kind)


def compile_parts(rule: WithParts) -> Parts:
    """The parts as Numba functions; RuleError where they have been declared again since they were compiled."""
    found = _parts_of(rule, ())
    if rule not in _declared:
        _declared[rule] = _compile(found)
        _given[rule] = found
    elif found != _given[rule]:
        raise RuleError(f"{rule.name}: its rule was declared again after it was compiled; make a new function of it")
    return _declared[rule]


def backward_of(rule: WithParts, wanted: tuple[int, ...]) -> Any:
    """The Numba function that gives the cotangents of the arguments at `wanted`."""
    return _compile(_parts_of(rule, wanted)).backward


def _parts_of(rule: WithParts, wanted: tuple[int, ...]) -> Parts:
    found = PARTS.get(rule)  # type: ignore[call-overload]
    return rule.compiled_parts(wanted) if found is None else found


def _compile(parts: Parts) -> Parts:
    """Numba functions in place of plain ones, and of those that these call."""
    value, forward, backward = map(_dispatcher_of, parts[:3])
    return Parts(value, forward, backward, parts.options)


def _dispatcher_of(function: Any) -> Any:
    if is_dispatcher(function):
        return function
    if function.__code__.co_filename == "<string>":  # what a rule is called by
        names = function.__globals__
        for name in function.__code__.co_names:
            if isinstance(names.get(name), FunctionType):
                names[name] = numba.njit(names[name])
    return numba.njit(function)


def names_of(parts: Parts) -> list[str]:
    """The names of the arguments."""
    return list(inspect.signature(parts.value.py_func).parameters)


def parameters_of(parts: Parts) -> str:
    """The parameters as text, with their defaults, which Numba takes if they are plain numbers or None."""
    parameters = inspect.signature(parts.value.py_func).parameters.values()
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)


def holds_derivative(kind: Any) -> bool:
    """Whether a type is one of an engine's own, or an array of them."""
    return any(type(x).__module__.startswith("contad.") for x in (kind, getattr(kind, "dtype", kind)))
