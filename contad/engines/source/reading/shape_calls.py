"""Calls that give an array another form: views where NumPy and Numba give views, copies where they copy."""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Elementwise, Point, constant, is_array, is_number
from contad.engines.source.ir.memory_orders import UNSEEN, order_of
from contad.engines.source.ir.refusal import limit
from contad.engines.source.ir.single_assignment import INT, MOST_AXES, NEW_AXIS, Check, Value
from contad.engines.source.ir.walks import is_natural
from contad.engines.source.reading import points
from contad.engines.source.reading.call_reader import CallReader

_WHOLE = (None, None, None)
_MINUS_ONE = limit("a negative length that the source does not show, in reshape; write -1 as a number")


def _array(calls: CallReader, entry: Any, node: ast.Call) -> Value:
    entry = points.vector(entry)
    if not is_array(entry):
        calls.progress.refuse(node, f"{ast.unparse(node)!r} of something that is no array", "give an array")
    return calls.arrays.compute(entry)


def _number(calls: CallReader, entry: Any, node: ast.Call) -> int:
    """An argument that decides on the form, which the source shows."""
    found = entry.constant if is_number(entry) and entry.kind == INT else None
    if found is None:
        calls.progress.refuse(node, f"the axis in {ast.unparse(node)!r}", "give it as a constant")
    return int(found)


def axis_of(calls: CallReader, entry: Any, ndim: int, node: ast.Call) -> int:
    """An axis, counted from the first one; refused where it is none."""
    axis = _number(calls, entry, node)
    if not -ndim <= axis < ndim:
        calls.progress.refuse(node, f"the axis in {ast.unparse(node)!r}", "give one that the array has")
    return axis % ndim


# ---- other lengths ---------------------------------------------------------------------------------------------------
def _reshape(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.reshape(a, shape), a.reshape(shape) and a.reshape(n, m)."""
    if keywords or len(arguments) < 2:
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give the array and the lengths")
    given = arguments[1:]
    shape = list(given[0]) if len(given) == 1 and isinstance(given[0], tuple) else given
    if not shape:
        array = arguments[0] if isinstance(arguments[0], Point) else _array(calls, arguments[0], node)
        return array if isinstance(array, Point) else Point(calls.builder.reshape(array, [constant(1)]))
    if not 1 <= len(shape) <= MOST_AXES or not all(is_number(x) and x.kind == INT for x in shape):
        calls.progress.refuse(node, f"the shape in {ast.unparse(node)!r}", "give one to five integers")
    array = _array(calls, arguments[0], node)
    open_axes = [k for k, length in enumerate(shape) if length.constant is not None and length.constant < 0]
    if len(open_axes) > 1 or any(shape[k].constant != -1 for k in open_axes):
        calls.progress.refuse(node, f"the shape in {ast.unparse(node)!r}", "give -1 once at most")
    known = [length for k, length in enumerate(shape) if k not in open_axes]
    for length in known:
        if not is_natural(length) and not calls.builder.is_length(length):
            negative = calls.builder.apply(known_functions.COMPARISONS["Lt"], length, constant(0))
            calls.builder.add(Check(negative, _MINUS_ONE))
    if open_axes:
        size = calls.arrays.size(array)
        rest = constant(1)
        for length in known:
            rest = length if rest.constant == 1 else calls.builder.apply(known_functions.MULTIPLY, rest, length)
        shape[open_axes[0]] = size if rest.constant == 1 else calls.builder.divide(
            known_functions.FLOOR_DIVIDE, size, rest
        )  # fmt: skip
    return calls.builder.reshape(array, shape)


def flat_copy(calls: CallReader, entry: Any) -> Value:
    """The elements of an array, row by row, in a new array of one axis."""
    array = calls.arrays.copy_elements(entry)
    return array if array.kind.ndim == 1 else calls.builder.reshape(array, [calls.arrays.size(array)])


def flat_view(calls: CallReader, entry: Any) -> Value:
    """The elements row by row: the array itself where it lies so in memory, a copy where it does not, or may not."""
    if isinstance(entry, Elementwise):
        return flat_copy(calls, entry)
    order = order_of(entry)
    if order == "C":
        return calls.builder.reshape(entry, [calls.arrays.size(entry)])
    return copy_unshared(calls, entry, flat_copy, order)


def copy_unshared(
    calls: CallReader, array: Value, make: Callable[[CallReader, Any], Value], order: str = UNSEEN
) -> Value:
    """A copy of an array that may share its memory in Numba, unless its order tells that it does not."""
    operations = calls.builder.block.operations
    before = len(operations)
    copy = make(calls, array)
    if order == UNSEEN:
        calls.progress.copies.add(array, copy, operations[before:], calls.progress.line)
    return copy


def _flattening(read: Callable[[CallReader, Any], Value]) -> Callable[..., Any]:
    def flatten(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        (array,) = calls.take("a", arguments, keywords, node)
        array = points.vector(array)
        return read(calls, array) if is_array(array) else _array(calls, array, node)

    return flatten


def _contiguous(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.ascontiguousarray: the array itself where it lies row by row."""
    (entry,) = calls.take("a", arguments, keywords, node)
    if is_number(entry):
        entry = calls.special[np.array](calls, [entry], {}, node)
    array = _array(calls, entry, node)
    order = order_of(array)
    if isinstance(entry, Elementwise) or order == "C":
        return array
    return copy_unshared(calls, array, lambda calls, x: calls.arrays.copy_elements(x), order)


def _as_array(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.asarray: an array itself, another dtype or a tuple as a new one."""
    given, dtype = calls.take("a dtype", arguments, keywords, node)
    if isinstance(given, Point):
        found = _as_array(calls, [given.array], {} if dtype is None else {"dtype": dtype}, node)
        return given if found is given.array else Point(found)
    if not is_array(given):
        return calls.special[np.array](calls, [given], {} if dtype is None else {"dtype": dtype}, node)
    base = calls.dtype(dtype, node, given.kind.base)
    same = base == given.kind.base and not (dtype is not None and given.kind.narrow)
    return calls.arrays.compute(given) if same else calls.as_type(given, base)


# ---- more axes -------------------------------------------------------------------------------------------------------
def _at_least(ndim: int) -> Callable[..., Any]:
    """np.atleast_1d and its like, of one argument."""

    def widen(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        (given,) = calls.take("a", arguments, keywords, node)
        array = _array(calls, given, node)
        if array.kind.ndim >= ndim:
            return array
        if ndim == 3:
            new = [NEW_AXIS, _WHOLE, NEW_AXIS] if array.kind.ndim == 1 else [_WHOLE, _WHOLE, NEW_AXIS]
        else:
            new = [NEW_AXIS, _WHOLE]
        return calls.builder.view(array, new)

    return widen


def _expand(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.expand_dims by one axis."""
    given, axis = calls.take("a axis", arguments, keywords, node)
    array = _array(calls, given, node)
    if isinstance(given, Point):
        axis_of(calls, axis, 1, node)
        return array
    spec: list[Any] = [_WHOLE] * array.kind.ndim
    if len(spec) == MOST_AXES:
        calls.progress.refuse(node, f"{ast.unparse(node)!r}: an array of more than {MOST_AXES} axes", "keep to as many")
    spec.insert(axis_of(calls, axis, len(spec) + 1, node), NEW_AXIS)
    return calls.builder.view(array, spec)


# ---- other orders ----------------------------------------------------------------------------------------------------
def _transpose(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    """np.transpose(a), np.transpose(a, axes), a.transpose(axes) and a.transpose(0, 2, 1)."""
    given, axes = arguments[0], arguments[1:]
    if keywords:
        calls.progress.refuse(node, f"the arguments of {ast.unparse(node)!r}", "give the axes by position")
    if isinstance(given, Point) and not axes:
        return given
    array = _array(calls, given, node)
    ndim = array.kind.ndim
    if not axes:
        return calls.builder.permute(array, tuple(range(ndim))[::-1])
    numbers = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
    order = tuple(axis_of(calls, axis, ndim, node) for axis in numbers)
    if sorted(order) != list(range(ndim)):
        calls.progress.refuse(node, f"the axes in {ast.unparse(node)!r}", "give each axis once")
    return calls.builder.permute(array, order)


def _swap_axes(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
    given, first, second = calls.take("a axis1 axis2", arguments, keywords, node)
    array = _array(calls, given, node)
    order = list(range(array.kind.ndim))
    i, j = (axis_of(calls, axis, len(order), node) for axis in (first, second))
    order[i], order[j] = order[j], order[i]
    return calls.builder.permute(array, tuple(order))


def _flipping(*axes: int) -> Callable[..., Any]:
    """np.flip of all axes, and its like of one axis: views that run backwards."""

    def flip(calls: CallReader, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        (given,) = calls.take("m", arguments, keywords, node)
        array = _array(calls, given, node)
        ndim = array.kind.ndim
        if axes and ndim <= axes[0]:
            calls.progress.refuse(
                node, f"{ast.unparse(node)!r} of an array with {ndim} dimension(s)", "give one of more dimensions"
            )
        backwards = (None, None, constant(-1))
        return calls.builder.view(array, [backwards if k in (axes or range(ndim)) else _WHOLE for k in range(ndim)])

    return flip


METHODS: dict[str, Callable[..., Any]] = {
    "reshape": _reshape, "ravel": _flattening(flat_view), "flatten": _flattening(flat_copy), "transpose": _transpose,
}  # fmt: skip
SHAPE_CALLS: dict[Any, Callable[..., Any]] = {
    np.reshape: _reshape, np.ravel: METHODS["ravel"], np.transpose: _transpose, np.swapaxes: _swap_axes,
    np.ascontiguousarray: _contiguous, np.asarray: _as_array,
    np.atleast_1d: _at_least(1), np.atleast_2d: _at_least(2), np.atleast_3d: _at_least(3), np.expand_dims: _expand,
    np.flip: _flipping(), np.flipud: _flipping(0), np.fliplr: _flipping(1),
}  # fmt: skip
