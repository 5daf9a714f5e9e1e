"""Numba functions where variables are passed to them: by their Python twins, whose results are compared.

Compiled code takes plain numbers only. A plain function that names a Numba function runs as a copy of itself whose
globals, read live, give the Numba function's Python twin wherever a variable is passed.
"""

import builtins
import dis
import functools
import sysconfig
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from contad.dispatcher import assignable, global_names, is_dispatcher, python_twin
from contad.errors import LostDerivativeError, UnsupportedError
from contad.number import Number, map_numbers, primal
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
        plain_args, plain_kwargs = map_numbers(primal, args), map_numbers(primal, kwargs)
        twin_args = [assignable(x) for x in args]
        y = twin(*twin_args, **kwargs)
        for k, (x, written) in enumerate(zip(args, twin_args, strict=True)):
            if keeps_arrays and written is not x and any(isinstance(v, Number) for v in written.flat):
                raise LostDerivativeError(
                    f"{f.__name__}: writes a variable into argument {k}, an array of floats; create it with "
                    "dtype=object"
                )
        expected = f(*plain_args, **plain_kwargs)
        for got, value in zip(flatten(map_numbers(primal, y)).leaves, flatten(expected).leaves, strict=True):
            if not np.allclose(got, value, rtol=1e-6, atol=1e-9, equal_nan=True):
                raise UnsupportedError(
                    f"{f.__name__}: its Python copy gives {got} where the compiled function gives {value}; integers "
                    "that wrap around or are widened by Numba, and random numbers, are not reproduced: use floats, or "
                    "pass them as arguments"
                )
        return y

    return run


def with_numba_callees(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, or a copy of it whose Numba functions take variables, where it or a plain function it calls names any."""
    if isinstance(f, FunctionType) and _reaches_numba(f, set()):
        return _copy(f)
    return f


# Libraries are not searched: they are large, and what they name is not the user's.
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def _named(f: FunctionType) -> list[Any]:
    """What a function's global and captured names stand for now."""
    captured = [cell.cell_contents for cell in f.__closure__ or () if _is_filled(cell)]
    return captured + [f.__globals__[name] for name in global_names(f.__code__) if name in f.__globals__]


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _reaches_numba(f: FunctionType, seen: set[int]) -> bool:
    if id(f) in seen or f.__code__.co_filename.startswith(_INSTALLED):
        return False
    seen.add(id(f))
    named = _named(f)
    functions = [x for x in named if isinstance(x, FunctionType)]
    found = any(map(is_dispatcher, named)) or any(_reaches_numba(x, seen) for x in functions)
    return found and not _writes_globals(f.__code__)


def _writes_globals(code: CodeType) -> bool:
    """Whether the function assigns to globals, which a copy would not see."""
    return any(i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for i in dis.get_instructions(code))


def _copy(f: FunctionType) -> FunctionType:
    stand_ins = _StandIns()

    def replaced(cell: CellType) -> CellType:
        needed = _is_filled(cell) and stand_ins.needed(cell.cell_contents)
        return CellType(stand_ins.of(cell.cell_contents)) if needed else cell

    cells = tuple(map(replaced, f.__closure__ or ()))
    copy = FunctionType(f.__code__, _Globals(f.__globals__, stand_ins), f.__name__, f.__defaults__, cells)
    copy.__kwdefaults__ = f.__kwdefaults__
    return copy


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
            stand_in = value
            if is_dispatcher(value):
                stand_in = _on_numbers(value)
            elif self.needed(value):
                stand_in = _copy(value)
            known = self.made[id(value)] = (value, stand_in)  # the value too, so that its id stays its own
        return known[1]


class _Globals(dict[str, Any]):
    """The globals of a function, read live, through the stand-ins."""

    def __init__(self, real: dict[str, Any], stand_ins: _StandIns) -> None:
        super().__init__(__builtins__=real.get("__builtins__", builtins))
        self.real = real
        self.stand_ins = stand_ins

    def __missing__(self, name: str) -> Any:
        return self.stand_ins.of(self.real[name])


def _on_numbers(dispatcher: Any) -> Callable[..., Any]:
    """The dispatcher on plain arguments, its twin where a variable is among them."""
    twin: list[Callable[..., Any]] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        if not any(map(_holds_number, (*args, *kwargs.values()))):
            return dispatcher(*args, **kwargs)
        if not twin:
            twin.append(compared(dispatcher, keeps_arrays=True))
        return twin[0](*args, **kwargs)

    return call


def _holds_number(x: Any) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype == object
    return isinstance(x, Number) or (isinstance(x, (tuple, list)) and any(map(_holds_number, x)))
