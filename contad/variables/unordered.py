"""Comparisons that NumPy makes for np.max, np.clip and np.sort of lists and object arrays of variables.

For floats these functions propagate nan. For objects NumPy evaluates `x >= y` and takes the other one if that is False,
which silently loses the nan. If two numbers are equal, np.maximum and its kin give half of the derivative to each; for
objects NumPy takes one of them. A comparison in the user's code is an instruction of that code, and is allowed. contad
refuses comparisons that come from NumPy's code.
"""

import dis
import sys
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.weak_cache import weak_cache

_COMPARE = dis.opmap["COMPARE_OP"]
# functions that NumPy computes in C by `<` and `>`, without a frame
_METHODS = {"sort", "argsort", "partition", "argpartition", "argmax", "argmin", "searchsorted", "lexsort"}


def refuse_of_numpy(symbol: str, level: object) -> None:
    """Raise UnsupportedError if NumPy has asked for a comparison with nan, whose answer would lose the nan.

    Comparison functions call this. Python's max and sorted also ask for `>` and `<`, as they do for floats, and so do
    array methods, whose names are in the calling code.
    """
    frame, name = _frame_of_numpy()
    if frame is None or name.startswith("contad."):
        return
    called = ""
    if symbol in ("<", ">") and not name.startswith("numpy."):
        method = _method_of_array(frame)
        if method is None:
            return
        called = f"{method}: "
    frame, of_numpy = _caller_of_numpy(frame)
    called = of_numpy or called
    raise UnsupportedError(
        f"{frame.f_code.co_filename}:{frame.f_lineno}: {called}NumPy compares the variables in a list or an object "
        "array one by one, one of them is nan, and the nan would be lost; give it contad.to_varmat(v), or leave "
        "engine= out, so that arrays are array variables; np.fmax, np.nanmax and their like leave nan out",
        level=level,
    )


def refuse_tie_of_numpy(level: object) -> None:
    """Raise UnsupportedError if np.maximum, np.minimum, np.fmax, np.fmin or np.clip compares two equal numbers."""
    frame, name = _frame_of_numpy()
    if frame is None or (name.startswith("contad.") and not name.startswith("contad.ops.")):
        return
    if name.startswith("numpy."):
        if frame.f_code.co_name != "_clip":
            return  # functions that pick an element take the first of equal ones
        frame, called = _caller_of_numpy(frame)
    else:
        ufunc = _extreme_of_call(frame)
        if ufunc not in _EXTREMES:
            return
        frame, called = _caller_of_numpy(frame)[0], f"np.{ufunc}: "
    raise UnsupportedError(
        f"{frame.f_code.co_filename}:{frame.f_lineno}: {called}NumPy compares the variables in a list or an object "
        "array one by one, and takes one of two equal ones, where contad gives half of the derivative to each; give it "
        "contad.to_varmat(v), or leave engine= out, so that arrays are array variables",
        level=level,
    )


def numpy_picks() -> str:
    """The NumPy function that compares numbers to pick one of them; "" for another comparison."""
    frame, name = _frame_of_numpy()
    if frame is None:
        return ""
    if name.startswith("numpy."):
        return _caller_of_numpy(frame)[1]
    ufunc = _extreme_of_call(frame)
    return f"np.{ufunc}: " if ufunc is not None and ufunc not in _EXTREMES else ""


def _frame_of_numpy() -> tuple[FrameType | None, str]:
    """The frame whose call asks for a comparison, and its module; None if an operator in the code asks."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("contad.variables."):
        frame = frame.f_back
    if frame is None or frame.f_code.co_code[frame.f_lasti] == _COMPARE:
        return None, ""
    return frame, str(frame.f_globals.get("__name__"))


def _caller_of_numpy(frame: FrameType) -> tuple[FrameType, str]:
    """The frame that calls NumPy, and the NumPy function that it calls; "" if that has no frame."""
    called = ""
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(("numpy.", "contad.")):
        called, frame = f"np.{frame.f_code.co_name.lstrip('_')}: ", frame.f_back
    return frame, called


_LOADS = {
    "LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW",
    "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
}  # fmt: skip
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}


class _Call(NamedTuple):
    """The names in the expression of a call."""

    first: str | None  # the first name in it, of a function that is called by its name
    methods: set[str]  # of those that sort, as attributes or in strings
    names: set[str]  # that it looks up
    sorted_names: set[str]  # whose method `sort` it names
    start: tuple[str, ...]  # the first names in it, of the function that is called


def _method_of_array(frame: FrameType) -> str | None:
    """The array method that the current call of a frame names, or calls under another name; None for Python's own."""
    call = _call_at(frame.f_code, frame.f_lasti)
    if call.first in ("max", "min", "sorted"):
        return None
    values = {name: frame.f_locals.get(name, frame.f_globals.get(name)) for name in call.names}
    for x in values.values():  # array.argsort under another name
        name = getattr(x, "__name__", None)
        if isinstance(getattr(x, "__self__", None), np.ndarray) and name in _METHODS:
            return str(name)
    if call.methods == {"sort"} and any(isinstance(values[name], list) for name in call.sorted_names):
        return None
    return min(call.methods, default=None)


@weak_cache
def _known_calls(code: CodeType) -> dict[int, _Call]:
    """The calls in code that were inspected, by their offsets."""
    return {}


def _call_at(code: CodeType, offset: int) -> _Call:
    known = _known_calls(code)
    if offset not in known:
        known[offset] = _read_call(code, offset)
    return known[offset]


def _read_call(code: CodeType, offset: int) -> _Call:
    instructions = list(dis.get_instructions(code))
    start, end = next((_extent(i) for i in instructions if i.offset == offset), ((0, 0), (sys.maxsize, 0)))
    inside = [i for i in instructions if start <= _extent(i)[0] and _extent(i)[1] <= end]
    strings = [i.argval for i in inside if isinstance(i.argval, str)]
    loads = {name for i in inside if i.opname in _LOADS for name in _list_names(i)}
    of_lists = {_list_names(x)[-1] for x, i in pairwise(inside) if i.opname in _ATTRIBUTES and i.argval == "sort"}
    return _Call(
        next(iter(strings), None), _METHODS.intersection(strings), loads, of_lists & loads, tuple(strings[:3])
    )


_EXTREMES: dict[str, Any] = {ufunc.__name__: ufunc for ufunc in (np.maximum, np.minimum, np.fmax, np.fmin)}


def _extreme_of_call(frame: FrameType) -> str | None:
    """The binary ufunc that the current call of a frame names, or its `reduce`; None for another call."""
    start = _call_at(frame.f_code, frame.f_lasti).start
    found = [frame.f_locals.get(name, frame.f_globals.get(name, _EXTREMES.get(name))) for name in start]
    ufunc = next((name for name, ufunc in _EXTREMES.items() if any(x is ufunc for x in found)), None)
    method = next((name for name in ("reduce", "accumulate") if name in start), "")
    return f"{ufunc}.{method}" if ufunc and method else ufunc


def _list_names(i: dis.Instruction) -> tuple[Any, ...]:
    """The names that an instruction loads, in their order: since Python 3.13 one may load two."""
    return i.argval if isinstance(i.argval, tuple) else (i.argval,)


def _extent(i: dis.Instruction) -> tuple[tuple[int, int], tuple[int, int]]:
    """The start and end of the expression of an instruction in the source; its line, if no more is known."""
    at: Any = i.positions
    if at is None or at.lineno is None:
        return (0, 0), (0, 0)
    return (at.lineno, at.col_offset or 0), (at.end_lineno or at.lineno, at.end_col_offset or sys.maxsize)
