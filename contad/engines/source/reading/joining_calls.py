"""Calls that make new arrays out of others: joined, rolled, cut to a triangle, filled; sums of a few numbers."""

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Point, constant, is_array, is_number
from contad.engines.source.ir.single_assignment import INT, NEW_AXIS, Kind, Value
from contad.engines.source.reading import points
from contad.engines.source.reading.bounded_buffers import BoundedBuffer
from contad.engines.source.reading.call_reader import CallReader
from contad.engines.source.reading.index_arrays import IndexArrays
from contad.engines.source.reading.shape_calls import axis_of, copy_unshared, flat_view

_WHOLE = (None, None, None)
Read = Callable[..., Any]


def _entries(calls: CallReader, given: Any, node: ast.Call) -> list[Any]:
    """The arrays of a tuple, of which there is one at least."""
    if not isinstance(given, tuple) or not given or not all(map(is_array, given)):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give a tuple of arrays")
    if any(x.kind.narrow for x in given):
        what = f"{ast.unparse(node)!r} of arrays of fewer than 64 bits"
        calls.progress.refuse(node, what, "make them int64 or float64")
    return [x if isinstance(x, Value) else calls.arrays.compute(x) for x in given]


def _base(entries: list[Any]) -> str:
    """The base of numbers of all these kinds, as NumPy finds it."""
    bases = {x.kind.base for x in entries}
    return next(b for b in ("float", "int", "bool") if b in bases)


def _concatenate(calls: CallReader, arrays: list[Value], axis: int, node: ast.Call) -> Value:
    """Arrays one after the other along an axis."""
    if len({x.kind.ndim for x in arrays}) != 1:
        calls.progress.refuse(
            node, f"{ast.unparse(node)!r} of arrays with different numbers of axes", "give arrays of one number of axes"
        )
    add = known_functions.ADD
    shapes = [calls.arrays.shape(x) for x in arrays]
    starts = [constant(0)]
    for shape in shapes:
        starts.append(calls.builder.apply(add, starts[-1], shape[axis]))
        for k, length in enumerate(shape):
            if k != axis:
                calls.arrays.require_equal(shapes[0][k], length)
    total = [*shapes[0][:axis], starts[-1], *shapes[0][axis + 1 :]]
    made = calls.builder.create("empty", total, _base(arrays))
    for array, shape, start in zip(arrays, shapes, starts, strict=False):

        def put(at: list[Value], array: Value = array, start: Value = start) -> None:
            place = [*at[:axis], calls.builder.apply(add, start, at[axis]), *at[axis + 1 :]]
            calls.arrays.put(made, place, calls.builder.load(array, at))

        calls.arrays.over(shape, put)
    return made


def _widen(calls: CallReader, array: Value, axis: int) -> Value:
    """An array with one axis more."""
    spec: list[Any] = [_WHOLE] * array.kind.ndim
    spec.insert(axis, NEW_AXIS)
    return calls.builder.view(array, spec)


def _join(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    given, axis = calls.take("arrays axis", arguments, keywords, node)
    arrays = _entries(calls, given, node)
    along = 0 if axis is None else axis_of(calls, axis, arrays[0].kind.ndim, node)
    return _concatenate(calls, arrays, along, node)


def _stack(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    given, axis = calls.take("arrays axis", arguments, keywords, node)
    arrays = _entries(calls, given, node)
    along = 0 if axis is None else axis_of(calls, axis, arrays[0].kind.ndim + 1, node)
    return _concatenate(calls, [_widen(calls, x, along) for x in arrays], along, node)


def _by_rows(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.vstack."""
    (given,) = calls.take("tup", arguments, keywords, node)
    arrays = _entries(calls, given, node)
    return _concatenate(calls, [_widen(calls, x, 0) if x.kind.ndim == 1 else x for x in arrays], 0, node)


def _by_columns(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.column_stack."""
    (given,) = calls.take("tup", arguments, keywords, node)
    arrays = _entries(calls, given, node)
    return _concatenate(calls, [_widen(calls, x, 1) if x.kind.ndim == 1 else x for x in arrays], 1, node)


def _side_by_side(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.hstack."""
    (given,) = calls.take("tup", arguments, keywords, node)
    arrays = _entries(calls, given, node)
    return _concatenate(calls, arrays, min(1, arrays[0].kind.ndim - 1), node)


def _append(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.append(arr, values), both flat, or along an axis."""
    array, values, axis = calls.take("arr values axis", arguments, keywords, node)
    array, values = points.vector(array), points.vector(values)
    if is_number(values):
        number, values = values, calls.builder.create("empty", [constant(1)], values.kind.base)
        calls.arrays.put(values, [constant(0)], number)
    arrays = _entries(calls, (array, values), node)
    if axis is None:
        return _concatenate(calls, [x if x.kind.ndim == 1 else flat_view(calls, x) for x in arrays], 0, node)
    return _concatenate(calls, arrays, axis_of(calls, axis, arrays[0].kind.ndim, node), node)


# ---- filled and moved ------------------------------------------------------------------------------------------------
def _array(calls: CallReader, entry: Any, node: ast.Call) -> Value:
    if not is_array(entry) or entry.kind.narrow:
        calls.progress.refuse(
            node,
            f"{ast.unparse(node)!r} of something that is no array of 64 bits",
            "give an array of float64, int64 or bool",
        )
    return calls.arrays.compute(entry)


def _full_like(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.full_like of an array, or of a number, which gives an array of no axes."""
    array, value, dtype = calls.take("a fill_value dtype", arguments, keywords, node)
    has_axes = not (is_number(array) or isinstance(array, Point))
    array = points.vector(array)
    if (has_axes and not is_array(array)) or not is_number(value):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}")
    base = calls.dtype(dtype, node, array.kind.base)
    if value.kind.base == "float" and base != "float":
        calls.progress.refuse(node, f"{ast.unparse(node)!r}, which rounds", "give dtype=np.float64")
    if not has_axes:
        return points.hold(calls.arrays, value, base)
    made = calls.builder.create("empty", calls.arrays.shape(array), base)
    calls.arrays.fill(made, value, node)
    return made


def _roll(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.roll of all elements, row by row."""
    given, shift = calls.take("a shift", arguments, keywords, node)
    array = _array(calls, given, node)
    if not is_number(shift) or shift.kind != INT:
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give a number of places")
    shape = calls.arrays.shape(array)
    flat = array if len(shape) == 1 else flat_view(calls, array)
    (size,) = calls.arrays.shape(flat)
    made = calls.builder.create("empty", [size], array.kind.base)

    def put(at: list[Value]) -> None:
        moved = calls.builder.apply(known_functions.ADD, at[0], shift)
        calls.arrays.put(
            made, [calls.builder.apply(known_functions.REMAINDER, moved, size)], calls.builder.load(flat, at)
        )

    calls.arrays.over([size], put)
    return made if len(shape) == 1 else calls.builder.reshape(made, shape)


def _triangle(symbol: str) -> Read:
    """np.tril ("LtE") or np.triu ("GtE") of a matrix: the other elements are zero."""

    def cut(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        """Keep what lies on one side of a diagonal."""
        given, k = calls.take("m k", arguments, keywords, node)
        array, k = _array(calls, given, node), constant(0) if k is None else k
        if array.kind.ndim != 2 or not is_number(k) or k.kind != INT:
            calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give a matrix and an integer")
        made = calls.builder.create("empty", calls.arrays.shape(array), array.kind.base)
        zero = calls.builder.convert(constant(0), Kind(array.kind.base))

        def put(at: list[Value]) -> None:
            edge = calls.builder.apply(known_functions.ADD, at[0], k)
            inside = calls.builder.apply(known_functions.COMPARISONS[symbol], at[1], edge)
            x = calls.builder.load(array, at)
            calls.arrays.put(made, at, calls.builder.apply(known_functions.SELECT, inside, x, zero))

        calls.arrays.over(calls.arrays.shape(array), put)
        return made

    return cut


def _broadcast(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.broadcast_to: a copy, of which neither side may be written."""
    given, shape = calls.take("array shape", arguments, keywords, node)
    lengths = calls.lengths(shape, node)
    given = points.vector(given)
    if not (is_number(given) or is_array(given)) or (is_array(given) and given.kind.ndim > len(lengths)):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}")

    def make(calls: CallReader, x: Any) -> Value:
        made = calls.builder.create("empty", lengths, x.kind.base)
        calls.arrays.fill(made, x, node)
        return made

    if is_number(given):
        return make(calls, given)
    return copy_unshared(calls, _array(calls, given, node), make)


def _linspace(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.linspace(start, stop, num), as Numba computes it."""
    start, stop, n = calls.take("start stop num", arguments, keywords, node)
    n = constant(50) if n is None else n
    if not (is_number(start) and is_number(stop) and is_number(n) and n.kind == INT):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give two numbers and an integer")
    apply, one = calls.builder.apply, constant(1)
    start, stop = calls.as_float(start), calls.as_float(stop)
    last = apply(known_functions.SUBTRACT, n, one)
    several = apply(known_functions.COMPARISONS["Gt"], last, constant(0))
    parts = calls.as_float(apply(known_functions.SELECT, several, last, one))
    step = apply(known_functions.DIVIDE, apply(known_functions.SUBTRACT, stop, start), parts)
    made = calls.builder.create("empty", [n], "float")
    made.order = "C"

    def put(at: list[Value]) -> None:
        """The last one is the end itself, where there are two or more."""
        x = apply(known_functions.ADD, start, apply(known_functions.MULTIPLY, calls.as_float(at[0]), step))
        ends = apply(known_functions.AND, several, apply(known_functions.COMPARISONS["Eq"], at[0], last))
        calls.arrays.put(made, at, apply(known_functions.SELECT, ends, stop, x))

    calls.arrays.over([n], put)
    return made


# ---- numbers of an array ---------------------------------------------------------------------------------------------
_MAXIMUM: Any = known_functions.function_of(np.maximum)
_MINIMUM: Any = known_functions.function_of(np.minimum)


def _clip(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.clip of an array; a limit may be an array, or None. At a limit both have half of the derivative."""
    taken = calls.take("a a_min a_max", arguments, keywords, node)
    if isinstance(taken[0], Point):
        found = points.compute(calls.arrays, taken, lambda *given: _clip(calls, list(given), {}, node))
        return points.hold(calls.arrays, found, "float") if is_number(found) else found
    given, low, high = (points.element(calls.arrays, x) for x in taken)
    limits = [None if getattr(x, "value", x) is None else x for x in (low, high)]
    known = [x for x in limits if x is not None]
    floats = is_array(given) and given.kind.base == "float"
    if not floats or not known or not all(is_number(x) or is_array(x) for x in known):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give an array and its limits")
    found = given
    for limit, extreme in zip(limits, (_MAXIMUM, _MINIMUM), strict=True):
        if limit is not None:
            found = calls.builder.apply(extreme, found, calls.as_float(limit))
    return found


def _range_of(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.ptp."""
    (given,) = calls.take("a", arguments, keywords, node)
    array = _array(calls, given, node)
    ends = (calls.arrays.extreme(array, symbol) for symbol in (">", "<"))
    return calls.builder.apply(known_functions.SUBTRACT, *ends)


def _trapezoid(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.trapezoid of a vector, at places x or at distances dx."""
    y, x, dx = calls.take("y x dx", arguments, keywords, node)
    y = _array(calls, y, node)
    places = None if getattr(x, "value", x) is None else x
    dx = constant(1.0) if dx is None else dx
    if y.kind.ndim != 1 or not is_number(dx) or (places is not None and not is_array(places)):
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give vectors")
    apply = calls.builder.apply
    (n,) = calls.arrays.shape(y)
    if places is not None:
        places = _array(calls, places, node)
        calls.arrays.require_equal(n, calls.builder.length(places, 0))

    def add(k: Value, total: Value) -> list[Value]:
        after = apply(known_functions.ADD, k, constant(1))
        load = calls.builder.load
        width = dx
        if places is not None:
            width = apply(known_functions.SUBTRACT, load(places, [after]), load(places, [k]))
        both = apply(known_functions.ADD, calls.as_float(load(y, [after])), load(y, [k]))
        area = apply(known_functions.MULTIPLY, apply(known_functions.MULTIPLY, width, both), constant(0.5))
        return [apply(known_functions.ADD, total, area)]

    steps = apply(known_functions.SUBTRACT, n, constant(1))
    return calls.builder.repeat(steps, add, [constant(0.0)])[0]


def _take(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.take(a, indices): of an array with several axes the elements row by row."""
    given, index, axis = calls.take("a indices axis", arguments, keywords, node)
    array = _array(calls, given, node)
    if axis is not None:
        along = axis_of(calls, axis, array.kind.ndim, node)
    else:
        array, along = array if array.kind.ndim == 1 else flat_view(calls, array), 0
    if is_number(index) and index.kind == INT and array.kind.ndim == 1:
        return calls.builder.load(array, [index])
    if not is_array(index) or index.kind.base != "int" or index.kind.ndim != 1:
        calls.progress.refuse(node, f"the indices in {ast.unparse(node)!r}", "give a vector of integers")
    spec: list[Any] = [_WHOLE] * array.kind.ndim
    spec[along] = calls.arrays.compute(index)
    return IndexArrays(calls.expressions).read(array, spec, node)


def _sum(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """The builtin sum, of a tuple, a list that is written out, or a vector."""
    taken, start = calls.take("iterable start", arguments, keywords, node)
    given: Any = taken.elements() if isinstance(taken, BoundedBuffer) else taken
    total = constant(0) if start is None else start
    numbers = isinstance(given, tuple) and all(map(is_number, given))
    if not is_number(total) or not (numbers or (is_array(given) and given.kind.ndim == 1)):
        calls.progress.refuse(node, f"{ast.unparse(node)!r}", "give numbers, or use np.sum")
    if not numbers:
        return calls.builder.apply(known_functions.ADD, total, calls.arrays.total(given))
    for x in given:
        total = calls.builder.apply(known_functions.ADD, total, x)
    return total


JOINING_CALLS: dict[Any, Read] = {
    np.concatenate: _join, np.stack: _stack, np.vstack: _by_rows, np.hstack: _side_by_side,
    np.column_stack: _by_columns, np.append: _append, np.full_like: _full_like, np.roll: _roll,
    np.tril: _triangle("LtE"), np.triu: _triangle("GtE"), np.broadcast_to: _broadcast, np.linspace: _linspace,
    np.clip: _clip, np.ptp: _range_of, np.take: _take, builtins.sum: _sum,
}  # fmt: skip
JOINING_CALLS |= {f: _trapezoid for f in (getattr(np, name, None) for name in ("trapezoid", "trapz")) if f is not None}
JOINING_METHODS: dict[str, Read] = {"take": _take}
