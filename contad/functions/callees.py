"""Numba functions where variables are passed to them.

Compiled code takes plain numbers only. A plain function that names a Numba function runs as a copy of itself whose
globals, read live, give a stand-in: with variables it is one operation with a compiled derivative where there is one,
and the Numba function's Python twin otherwise. So does one that asks whether it is given floats or arrays (see
`contad.functions.questions`): variables are.
"""

import functools
import inspect
import linecache
import operator
import sysconfig
import traceback
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakSet

import numpy as np

from contad.errors import ContadError, LostDerivativeError, UnsupportedError
from contad.functions.memo import memo_of
from contad.functions.object_arrays import answering
from contad.functions.python_copy import assignable, is_dispatcher, python_twin
from contad.functions.questions import (
    answered,
    asks,
    builtins_of,
    class_of_primal,
    code_of,
    names_of_objects,
    passes_by_globals,
    questions_of,
    warn_of_unanswered,
)
from contad.variables.array import Array
from contad.variables.number import Carrier, Number, map_numbers, peek
from contad.variables.trees import flatten

compiled_call: Callable[..., Any]  # (f, args, kwargs): a Numba function at variables, or NotImplemented
check_of: Callable[[Any], Callable[[], None]]  # of a Numba function: raises where a value that it froze has changed


def set_compiled_call(call: Callable[..., Any]) -> None:
    """How plain code calls a Numba function with variables, where compiled engines take it."""
    global compiled_call
    compiled_call = call


def set_check_of(make: Callable[[Any], Callable[[], None]]) -> None:
    """How Python copies of Numba functions notice values that change after them."""
    global check_of
    check_of = make


def compared(f: Any, keeps_arrays: bool = False) -> Callable[..., Any]:
    """The twin of a dispatcher, whose result is held against the compiled one at every call.

    Integers are Python's in the twin. Where compiled code wraps around, or widens them otherwise, the two part, and a
    gradient of the twin would be silently wrong. With keeps_arrays the caller sees what is written into its arrays, so
    a variable written into an array of floats is refused.
    """

    twin = python_twin(f)
    check = check_of(f)

    @functools.wraps(twin)
    def run(*args: Any, **kwargs: Any) -> Any:
        check()
        given, n = [*args, *kwargs.values()], len(args)
        for_twin = [assignable(x) for x in given]
        # both may write into their arrays, so they share none
        plain = [x if own is not x else _for_compiled(x) for x, own in zip(given, for_twin, strict=True)]
        try:
            y = twin(*for_twin[:n], **dict(zip(kwargs, for_twin[n:], strict=True)))
        except ContadError:
            raise
        except Exception as error:
            if _raises(f, plain[:n], dict(zip(kwargs, plain[n:], strict=True))):
                raise  # the user's own
            raise _not_reproduced(f, error) from error
        for k, x, written in zip([*range(n), *kwargs], given, for_twin, strict=True):
            if keeps_arrays and written is not x and any(isinstance(v, Number) for v in written.flat):
                raise LostDerivativeError(
                    f"{f.__name__}: writes a variable into argument {k}, an array of floats; create it with "
                    "dtype=object"
                )
        # small floats round in compiled code, and are Python's in the twin
        small = any(isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.dtype != float for x in given)
        expected = f(*plain[:n], **dict(zip(kwargs, plain[n:], strict=True)))
        for got, value in zip(flatten(map_numbers(peek, y)).leaves, flatten(expected).leaves, strict=True):
            if not np.allclose(got, value, rtol=1e-12 if small else 1e-6, atol=0.0 if small else 1e-9, equal_nan=True):
                raise UnsupportedError(
                    f"{f.__name__}: its Python copy gives {got} where the compiled function gives {value}; integers "
                    "that wrap around or are widened by Numba, float32 and random numbers are not reproduced: use "
                    "floats of 64 bits, or pass them as arguments"
                )
        copies = [own for x, own in zip(given, for_twin, strict=True) if own is not x] if keeps_arrays else []
        return _callers_arrays(y, expected, copies)

    run.is_twin = True  # type: ignore[attr-defined]  # it names the Numba function, and means it
    return run


def _raises(f: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    try:
        f(*args, **kwargs)
    except Exception:
        return True
    return False


def _not_reproduced(f: Any, error: Exception) -> UnsupportedError:
    """The error to raise where the Python copy fails and the compiled function does not: it names the user's line."""
    place, called = f.__name__, ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if "__contad_store" in frame.f_globals:  # a copy's own
            text = linecache.getline(code.co_filename, line).strip()
            place, called = f"{code.co_filename}:{line}: {code.co_name}", f"`{text}` "
    kind = type(error).__name__
    told = "" if any(name in str(error) for name in _INTERNAL) else f" ({kind}: {error})"
    return UnsupportedError(
        f"{place}: {called}does not run in Python on the numbers that carry derivatives{told}; write it with operators "
        f"and functions of NumPy, or with loops over numbers"
    )


# in messages of Python and NumPy that say nothing to a user: contad's classes, and arrays of them
_INTERNAL = ("Var", "Dual", "dtype('O')", "_Float")


def _callers_arrays(y: Any, expected: Any, copies: list[Any]) -> Any:
    """The twin's result; where it is one of the copies that the twin ran on, or a view of it, the caller's array."""
    if isinstance(y, tuple) and not hasattr(y, "_fields"):
        return tuple(_callers_arrays(a, b, copies) for a, b in zip(y, expected, strict=True))
    return expected if isinstance(y, np.ndarray) and any(np.may_share_memory(y, own) for own in copies) else y


def _for_compiled(x: Any) -> Any:
    """An argument as compiled code takes it: plain numbers, arrays of its own, dispatchers as they are."""
    if isinstance(x, OnNumbers):
        return x.dispatcher
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(_for_compiled, x))
    if isinstance(x, (tuple, list)):
        return type(x)(map(_for_compiled, x))
    plain = map_numbers(peek, x)
    return plain.copy() if isinstance(x, Array) or (plain is x and isinstance(x, np.ndarray)) else plain


_COPIES: WeakSet[FunctionType] = WeakSet()


def with_numba_callees(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, or a copy of it whose Numba functions take variables, where it or a plain function it calls names any."""
    if isinstance(f, FunctionType):
        return _for_variables(f)
    if isinstance(f, MethodType):
        function, own = f.__func__, f.__self__
    else:  # an object that is called
        function, own = inspect.getattr_static(type(f), "__call__", None), f
    if not isinstance(function, FunctionType) or _is_contads(function):
        return f
    copy = _for_variables(function)
    return f if copy is function else MethodType(copy, own)


def _for_variables(f: FunctionType) -> FunctionType:
    """f or its copy, made once for what the functions that it reaches name now."""
    if f in _COPIES:
        return f
    memo = memo_of(f)
    known: tuple[FunctionType, list[_Reached]] | None = memo.get("for variables")
    if known is not None and all(x.is_as_it_was() for x in known[1]):
        return known[0]
    seen: dict[int, _Reached] = {}
    copy = _StandIns().of(f) if _dispatches_on_type(f) or _reaches_numba(f, seen) else f
    memo["for variables"] = copy, list(seen.values())
    return copy


def _is_contads(f: FunctionType) -> bool:
    return f.__module__.partition(".")[0] == "contad" if f.__module__ else False


_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def is_installed(filename: str) -> bool:
    """Whether a file is of a library, which is not searched: libraries are large, and what they name not the user's."""
    return filename.startswith(_INSTALLED) or "site-packages" in filename  # of another environment, by a .pth file


_MISSING = object()
_KEPT = frozenset((FunctionType, np.ufunc, type(np.nan_to_num)))  # types of what makes a difference by itself


class _Reached:
    """A function that another reaches, and what it named when it was looked at."""

    __slots__ = ("f", "code", "names", "kinds")

    def __init__(self, f: FunctionType) -> None:
        self.f = f
        self.code = f.__code__
        self.names = tuple(questions_of(f.__code__).names)
        self.kinds = [*map(_kind, self.values())]

    def values(self) -> list[Any]:
        """What its global and captured names, and its defaults, stand for now."""
        f = self.f
        own = f.__globals__
        values = [own.get(name, _MISSING) for name in self.names]
        if f.__closure__:
            values += [cell.cell_contents if _is_filled(cell) else _MISSING for cell in f.__closure__]
        if f.__defaults__:
            values += f.__defaults__
        if f.__kwdefaults__:
            values += f.__kwdefaults__.values()
        return values

    def is_as_it_was(self) -> bool:
        """Whether its names stand for the same functions, and for other objects of the same types."""
        if self.f.__code__ is not self.code:
            return False
        values = self.values()
        return len(values) == len(self.kinds) and all(map(operator.is_, map(_kind, values), self.kinds))


def _kind(x: Any) -> Any:
    """What makes a difference of an object: functions make one each, other objects by their types."""
    kind = type(x)
    if kind in _PLAIN:
        return kind
    return x if kind in _KEPT or is_dispatcher(x) else kind


_PLAIN = frozenset((object, float, int, str, bool, tuple, list, dict, np.ndarray, ModuleType, type))


def _named(f: FunctionType) -> list[Any]:
    """What a function's global and captured names, and its defaults, stand for now."""
    return [x for x in _Reached(f).values() if x is not _MISSING]


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _reaches_numba(f: FunctionType, seen: dict[int, _Reached]) -> bool:
    """Whether a function needs a copy; `seen` gets all functions on which that depends."""
    if id(f) in seen or f in _COPIES or is_installed(f.__code__.co_filename):
        return False
    reached = seen[id(f)] = _Reached(f)
    named = [x for x in reached.values() if x is not _MISSING]
    # all of them, because copies are made of each
    found = [is_dispatcher(x) or _dispatches_on_type(x) for x in named]
    found += [_reaches_numba(x, seen) for x in named if isinstance(x, FunctionType)]
    return asks(f, named) or (any(found) and not passes_by_globals(f))


def _dispatches_on_type(x: Any) -> bool:
    """Whether x is a function of functools.singledispatch."""
    return isinstance(x, FunctionType) and callable(getattr(x, "dispatch", None)) and hasattr(x, "registry")


# ---- copies ----------------------------------------------------------------------------------------------------------
class _StandIns:
    """What stands for Numba functions and for plain functions that call them, made once for each."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}

    def needed(self, value: Any) -> bool:
        if is_dispatcher(value):
            return True
        return isinstance(value, FunctionType) and (_dispatches_on_type(value) or _reaches_numba(value, {}))

    def of(self, value: Any) -> Any:
        if not isinstance(value, FunctionType) and not is_dispatcher(value):
            return value
        known = self.made.get(id(value))
        if known is None:
            # the value too, so that its id stays its own
            known = self.made[id(value)] = (value, OnNumbers(value) if is_dispatcher(value) else value)
            if isinstance(value, FunctionType) and _dispatches_on_type(value):
                self.made[id(value)] = known = value, self._dispatching(value)
            elif not is_dispatcher(value) and self.needed(value):
                return self._copy(value)
        return known[1]

    def _copy(self, f: FunctionType) -> FunctionType:
        answers = answering if names_of_objects(f, _named(f)) else _as_it_is
        captured = [cell.cell_contents if _is_filled(cell) else None for cell in f.__closure__ or ()]
        replaced = [self.needed(x) or answers(x) is not x for x in captured]
        cells = tuple(CellType() if new else cell for new, cell in zip(replaced, f.__closure__ or (), strict=True))
        needs_names = questions_of(f.__code__).inside or answers is answering or self._names_any(f)
        if needs_names and not passes_by_globals(f):
            copy = FunctionType(code_of(f), _Globals(f, self, answers), f.__name__, None, cells)
        else:  # with the function's own globals, which are read faster
            if answers is answering:
                warn_of_unanswered(f)
            copy = answered(f, cells)
        copy.__dict__ = f.__dict__  # shared, so that both see an attribute that is set later
        _COPIES.add(copy)
        self.made[id(f)] = (f, copy)  # before its cells are filled: a function that captures itself meets it there
        for new, cell, own in zip(replaced, f.__closure__ or (), cells, strict=True):
            if new:
                own.cell_contents = answers(self.of(cell.cell_contents))
        copy.__defaults__ = f.__defaults__ and tuple(answers(self.of(x)) for x in f.__defaults__)
        copy.__kwdefaults__ = f.__kwdefaults__ and {k: answers(self.of(x)) for k, x in f.__kwdefaults__.items()}
        return copy

    def _names_any(self, f: FunctionType) -> bool:
        """Whether a global name of a function is one for which something stands in."""
        names = questions_of(f.__code__).names
        return any(self.needed(f.__globals__[name]) for name in names if name in f.__globals__)

    def _dispatching(self, function: Any) -> Callable[..., Any]:
        """A function of functools.singledispatch, for which a variable is of the class that it stands for."""

        @functools.wraps(function)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            return self.of(function.dispatch(class_of_primal(args[0])))(*args, **kwargs)

        return dispatch


def _as_it_is(x: Any) -> Any:
    return x


class _Globals(dict[str, Any]):
    """The globals of a function, read live, through the stand-ins."""

    def __init__(self, f: FunctionType, stand_ins: _StandIns, answers: Callable[[Any], Any]) -> None:
        real = f.__globals__
        # what Python reads past __missing__: for imports, warnings and classes inside the function
        super().__init__({name: real[name] for name in ("__name__", "__package__", "__spec__") if name in real})
        super().__setitem__("__builtins__", builtins_of(f))
        self.real = real
        self.stand_ins = stand_ins
        self.answers = answers

    def __missing__(self, name: str) -> Any:
        return self.answers(self.stand_ins.of(self.real[name]))

    # for code that calls globals()
    def __setitem__(self, name: str, value: Any) -> None:
        self.real[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.real

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.real else default


class OnNumbers:
    """A dispatcher that runs as it is on plain arguments; with variables it is one operation, or runs as its twin."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self._twin: Callable[..., Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> Any:
        return OnNumbers, (self.dispatcher,)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(map(holds_number, (*args, *kwargs.values()))):
            functions = {name: x.dispatcher for name, x in kwargs.items() if isinstance(x, OnNumbers)}
            return self.dispatcher(
                *(x.dispatcher if isinstance(x, OnNumbers) else x for x in args), **kwargs | functions
            )
        result = compiled_call(self.dispatcher, args, kwargs)
        if result is not NotImplemented:
            return result
        if self._twin is None:
            self._twin = compared(self.dispatcher, keeps_arrays=True)
        return self._twin(*args, **kwargs)


def holds_number(x: Any) -> bool:
    """Whether x is or contains a variable or a dual; object arrays are taken to."""
    if isinstance(x, np.ndarray):
        return x.dtype == object
    return isinstance(x, Carrier) or (isinstance(x, (tuple, list)) and any(map(holds_number, x)))
