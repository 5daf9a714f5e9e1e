"""Numba functions where variables are passed to them.

Compiled code takes plain numbers only. A plain function that names a Numba function runs as a copy of itself whose
globals, read live, give a stand-in: with variables it is one operation with a compiled derivative where there is one,
and the Numba function's Python twin otherwise.
"""

import builtins
import dis
import functools
import sysconfig
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from contad import calls
from contad.array_base import Array
from contad.dispatcher import assignable, global_names, is_dispatcher, python_twin
from contad.errors import LostDerivativeError, UnsupportedError
from contad.number import Carrier, Number, map_numbers, primal
from contad.trees import flatten


def compared(f: Any, keeps_arrays: bool = False) -> Callable[..., Any]:
    """The twin of a dispatcher, whose result is held against the compiled one at every call.

    Integers are Python's in the twin. Where compiled code wraps around, or widens them otherwise, the two part, and a
    gradient of the twin would be silently wrong. With keeps_arrays the caller sees what is written into its arrays, so
    a variable written into an array of floats is refused.
    """

    twin = python_twin(f)

    @functools.wraps(twin)
    def run(*args: Any, **kwargs: Any) -> Any:
        given, n = [*args, *kwargs.values()], len(args)
        for_twin = [assignable(x) for x in given]
        # both may write into their arrays, so they share none
        plain = [x if own is not x else _for_compiled(x) for x, own in zip(given, for_twin, strict=True)]
        y = twin(*for_twin[:n], **dict(zip(kwargs, for_twin[n:], strict=True)))
        for k, x, written in zip([*range(n), *kwargs], given, for_twin, strict=True):
            if keeps_arrays and written is not x and any(isinstance(v, Number) for v in written.flat):
                raise LostDerivativeError(
                    f"{f.__name__}: writes a variable into argument {k}, an array of floats; create it with "
                    "dtype=object"
                )
        expected = f(*plain[:n], **dict(zip(kwargs, plain[n:], strict=True)))
        for got, value in zip(flatten(map_numbers(primal, y)).leaves, flatten(expected).leaves, strict=True):
            if not np.allclose(got, value, rtol=1e-6, atol=1e-9, equal_nan=True):
                raise UnsupportedError(
                    f"{f.__name__}: its Python copy gives {got} where the compiled function gives {value}; integers "
                    "that wrap around or are widened by Numba, and random numbers, are not reproduced: use floats, or "
                    "pass them as arguments"
                )
        copies = [own for x, own in zip(given, for_twin, strict=True) if own is not x] if keeps_arrays else []
        return _callers_arrays(y, expected, copies)

    run.is_twin = True  # type: ignore[attr-defined]  # it names the Numba function, and means it
    return run


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
    plain = map_numbers(primal, x)
    return plain.copy() if isinstance(x, Array) or (plain is x and isinstance(x, np.ndarray)) else plain


def with_numba_callees(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, or a copy of it whose Numba functions take variables, where it or a plain function it calls names any."""
    if isinstance(f, FunctionType) and _reaches_numba(f, set()):
        return _StandIns().of(f)
    return f


_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def is_installed(filename: str) -> bool:
    """Whether a file is of a library, which is not searched: libraries are large, and what they name not the user's."""
    return filename.startswith(_INSTALLED)


def _named(f: FunctionType) -> list[Any]:
    """What a function's global and captured names, and its defaults, stand for now."""
    captured = [cell.cell_contents for cell in f.__closure__ or () if _is_filled(cell)]
    captured += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    return captured + [f.__globals__[name] for name in global_names(f.__code__) if name in f.__globals__]


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _reaches_numba(f: FunctionType, seen: set[int]) -> bool:
    if id(f) in seen or is_installed(f.__code__.co_filename):
        return False
    seen.add(id(f))
    named = _named(f)
    functions = [x for x in named if isinstance(x, FunctionType)]
    found = any(map(is_dispatcher, named)) or any(_reaches_numba(x, seen) for x in functions)
    return found and not _passes_by_globals(f.__code__, f.__globals__)


def _passes_by_globals(code: CodeType, names: dict[str, Any]) -> bool:
    """Whether the function assigns to globals, or reads them in a class body, which a copy's globals would not see."""
    return any(
        i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
        or (i.opname in ("LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS") and i.argval in names and i.argval != "__name__")
        for i in dis.get_instructions(code)
    ) or any(_passes_by_globals(x, names) for x in code.co_consts if isinstance(x, CodeType))


class _StandIns:
    """What stands for Numba functions and for plain functions that call them, made once for each."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}

    def needed(self, value: Any) -> bool:
        return is_dispatcher(value) or (isinstance(value, FunctionType) and _reaches_numba(value, set()))

    def of(self, value: Any) -> Any:
        if not isinstance(value, FunctionType) and not is_dispatcher(value):
            return value
        known = self.made.get(id(value))
        if known is None:
            # the value too, so that its id stays its own
            known = self.made[id(value)] = (value, OnNumbers(value) if is_dispatcher(value) else value)
            if not is_dispatcher(value) and self.needed(value):
                return self._copy(value)
        return known[1]

    def _copy(self, f: FunctionType) -> FunctionType:
        replaced = [_is_filled(cell) and self.needed(cell.cell_contents) for cell in f.__closure__ or ()]
        cells = tuple(CellType() if new else cell for new, cell in zip(replaced, f.__closure__ or (), strict=True))
        copy = FunctionType(f.__code__, _Globals(f.__globals__, self), f.__name__, None, cells)
        copy.__dict__ = f.__dict__  # shared, so that both see an attribute that is set later
        self.made[id(f)] = (f, copy)  # before its cells are filled: a function that captures itself meets it there
        for new, cell, own in zip(replaced, f.__closure__ or (), cells, strict=True):
            if new:
                own.cell_contents = self.of(cell.cell_contents)
        copy.__defaults__ = f.__defaults__ and tuple(map(self.of, f.__defaults__))
        copy.__kwdefaults__ = f.__kwdefaults__ and {name: self.of(x) for name, x in f.__kwdefaults__.items()}
        return copy


class _Globals(dict[str, Any]):
    """The globals of a function, read live, through the stand-ins."""

    def __init__(self, real: dict[str, Any], stand_ins: _StandIns) -> None:
        # what Python reads past __missing__: for imports, warnings and classes inside the function
        super().__init__({name: real[name] for name in ("__name__", "__package__", "__spec__") if name in real})
        super().__setitem__("__builtins__", real.get("__builtins__", builtins))
        self.real = real
        self.stand_ins = stand_ins

    def __missing__(self, name: str) -> Any:
        return self.stand_ins.of(self.real[name])

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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(map(holds_number, (*args, *kwargs.values()))):
            functions = {name: x.dispatcher for name, x in kwargs.items() if isinstance(x, OnNumbers)}
            return self.dispatcher(
                *(x.dispatcher if isinstance(x, OnNumbers) else x for x in args), **kwargs | functions
            )
        result = calls.compiled_call(self.dispatcher, args, kwargs)
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
