"""Gradients of plain functions that only pass their arguments on: `lambda x: loss(x, data)` of a Numba function.

contad need not record such a function. It reads the code once. At a call it looks names up as Python would, and calls
the compiled derivative of the inner function with the arguments: the same derivative that a recording would push.
"""

import dis
import math
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from contad.functions.reached import SETTINGS
from contad.functions.user_call import numba_function
from contad.variables.dtypes import FLOAT
from contad.variables.open_types import Function, Nested, NumbaFunction
from contad.variables.stack import THREAD
from contad.variables.weak_cache import weak_cache

_PLAIN = frozenset((float, int, bool, str, type(None)))  # objects without contents, whose class gives their type
_MOST_KINDS = 64  # of arguments, for which the callee is kept


class _PassedCall(NamedTuple):
    """The call that a function returns, with its arguments as source; `look_up` gives function and arguments."""

    arguments: list[str]
    parameters: tuple[str, ...]
    look_up: CodeType


class _Kind(NamedTuple):
    """The inner function, the classes of its arguments, and the derivative that answers."""

    function: Any
    classes: tuple[type, ...]
    arrays: tuple[tuple[int, np.dtype, int, bool], ...]  # position, type, axes, whether it is differentiated
    derivative: Function
    defaults: tuple[Nested, ...]  # of omitted arguments


class PassedOn:
    """The gradients of a function that passes its arguments on; see `passed_on`."""

    def __init__(self, f: FunctionType, call: _PassedCall, argnums: Sequence[int]) -> None:
        positions = [call.arguments.index(call.parameters[n]) for n in argnums]
        self.f, self.code = f, f.__code__
        self.active = tuple(sorted(positions))
        self.order = [self.active.index(k) for k in positions]
        self.is_sorted = self.order == sorted(self.order)
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        captured = tuple(cells[name] for name in call.look_up.co_freevars)
        self.look_up = FunctionType(call.look_up, f.__globals__, f.__name__, None, captured)
        self.known: dict[Any, _Kind] = {}
        self.last = _Kind(None, (), (), f, ())
        self.refused: Any = None  # the last callee that is not a Numba function

    def __call__(self, args: tuple[Nested, ...]) -> tuple[float, tuple[Nested, ...]] | None:
        """The value and the gradients, in the order of argnums; None if the function has to be recorded."""
        try:
            f, given = self.look_up(*args)
        except Exception:  # the function raises it, too, in its own way
            return None
        if THREAD.watch is not None or not SETTINGS.rewrite or self.f.__code__ is not self.code or f is self.refused:
            return None
        last = self.last
        function, classes, arrays, derivative, defaults = last
        if f is not function or tuple(map(type, given)) != classes or (arrays and not _are_like(given, arrays)):
            found = self._find(f, given)
            if found is None:
                return None
            self.last = found
            _, _, _, derivative, defaults = found
        value, gradients = derivative(*given, *defaults) if defaults else derivative(*given)
        return value, gradients if self.is_sorted else tuple([gradients[k] for k in self.order])

    def _find(self, f: NumbaFunction, given: tuple[Nested, ...]) -> _Kind | None:
        """The answer for these arguments, if they are plain and f is a Numba function that returns a number."""
        if numba_function(f) is not f:
            self.refused = f
            return None
        arrays = []
        for k, x in enumerate(given):
            if x.__class__ is np.ndarray:
                arrays.append((k, x.dtype, x.ndim, k in self.active))
            elif x.__class__ not in _PLAIN or (k in self.active and x.__class__ is not float):
                return None
        if not _are_like(given, arrays) or any(active and (t is not FLOAT or not n) for _, t, n, active in arrays):
            return None
        key = f, tuple(map(type, given)), tuple(arrays)
        found = self.known.get(key)
        if found is None:
            defaults = f.py_func.__defaults__ or ()
            missing = f.py_func.__code__.co_argcount - len(given)
            rest = defaults[len(defaults) - missing :] if missing else ()
            every = given + rest
            if not 0 <= missing <= len(defaults) or not all(map(_has_a_type, every)):
                return None
            from contad.front.numba_calls import value_and_gradients

            derivative = value_and_gradients(f, every, self.active)
            if derivative is None:
                return None
            if len(self.known) >= _MOST_KINDS:
                self.known.clear()
            found = self.known[key] = _Kind(*key, derivative, rest)
        return found


def _are_like(given: Sequence[Any], arrays: Sequence[tuple[int, np.dtype, int, bool]]) -> bool:
    """Whether arrays among the arguments have these types, and differentiated ones are contiguous."""
    for k, dtype, axes, active in arrays:
        x = given[k]
        if x.dtype is not dtype or x.ndim != axes or (active and not x.flags.c_contiguous):
            return False
    return True


def _has_a_type(x: Nested) -> bool:
    """Whether x is plain, or an array of plain numbers."""
    return x.__class__ in _PLAIN or (x.__class__ is np.ndarray and x.dtype.kind in "fiub")


def passed_on(f: Function, argnums: Sequence[int]) -> PassedOn | None:
    """The object that gives the gradients of a plain function that only passes its arguments on; None for any other.

    Such a function returns a call of a global or captured name. The arguments of the call are parameters, names and
    constants, and include each parameter of argnums.
    """
    if type(f) is not FunctionType:
        return None
    call = _read(f.__code__)
    if call is None or any(n >= len(call.parameters) for n in argnums):
        return None
    if any(call.arguments.count(call.parameters[n]) != 1 for n in argnums):
        return None
    return PassedOn(f, call, argnums)


# ---- code ------------------------------------------------------------------------------------------------------------
_NOTHING = frozenset(("RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "PUSH_NULL", "PRECALL", "EXTENDED_ARG"))
_NAMES = frozenset(("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_BORROW"))
_TWO_NAMES = frozenset(("LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"))
_CONSTANTS = frozenset(("LOAD_CONST", "LOAD_SMALL_INT"))
_OF_ANOTHER_KIND = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200  # with further arguments; generators and coroutines


@weak_cache
def _read(code: CodeType) -> _PassedCall | None:
    """The call that the code returns; None if it does anything else."""
    if code.co_flags & _OF_ANOTHER_KIND or code.co_kwonlyargcount or code.co_nlocals != code.co_argcount:
        return None
    loaded: list[str] = []
    is_called = False
    for instruction in dis.get_instructions(code):
        if instruction.opname in _NOTHING:
            continue
        if is_called and instruction.opname != "RETURN_VALUE":
            return None
        if instruction.opname in _NAMES:
            loaded.append(instruction.argval)
        elif instruction.opname in _TWO_NAMES and isinstance(instruction.argval, tuple):
            loaded += instruction.argval
        elif instruction.opname in _CONSTANTS and _is_written(instruction.argval):
            loaded.append(f"({instruction.argval!r})")
        elif instruction.opname == "CALL" and len(loaded) == (instruction.arg or 0) + 1:
            is_called = True
        elif instruction.opname == "RETURN_VALUE" and is_called and _is_of_outside(loaded[0], code):
            return _PassedCall(loaded[1:], code.co_varnames, _look_up_code(code, loaded))
        else:
            return None
    return None


def _is_of_outside(name: str, code: CodeType) -> bool:
    """Whether a name is not an argument, because arguments are not kept."""
    return name.isidentifier() and name not in code.co_varnames


def _is_written(x: object) -> bool:
    """Whether the text of a constant evaluates to it."""
    return type(x) in _PLAIN and (type(x) is not float or math.isfinite(x))


def _look_up_code(code: CodeType, names: list[str]) -> CodeType:
    """The code of a function with the names of another one, which returns the first value and a tuple of the others."""
    text = f"lambda {', '.join(code.co_varnames)}: ({names[0]}, ({''.join(f'{x}, ' for x in names[1:])}))"
    depth = 1
    if code.co_freevars:
        text, depth = f"lambda {', '.join(code.co_freevars)}: {text}", 2
    made = compile(text, code.co_filename, "eval")
    for _ in range(depth):
        made = next(x for x in made.co_consts if isinstance(x, CodeType))
    return made
