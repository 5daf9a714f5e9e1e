"""Reads calls that reshape arrays: they return views where NumPy and Numba do, and copies elsewhere."""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir.entries import Elementwise, Point, constant, is_array, is_number
from contad.engines.source.ir.known_functions import COMPARISONS, FLOOR_DIVIDE, MULTIPLY
from contad.engines.source.ir.lengths import UNSEEN, order_of
from contad.engines.source.ir.ssa import INT, MOST_AXES, NEW_AXIS, Check, Value, limit
from contad.engines.source.ir.walks import is_natural
from contad.engines.source.reading import points
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.call_site import CallSite, reads

_MINUS_ONE = limit("a negative length that the source does not show, in reshape; write -1 as a number")


# ---- other lengths ---------------------------------------------------------------------------------------------------
@reads(None, np.reshape, method="reshape")
def _reshape(site: CallSite) -> Any:
    """np.reshape(a, shape), a.reshape(shape) and a.reshape(n, m)."""
    if site.keywords or len(site.arguments) < 2:
        site.refuse(remedy="give the array and the lengths")
    first, *given = site.arguments
    shape = list(given[0]) if len(given) == 1 and isinstance(given[0], tuple) else given
    if not shape:
        return first if isinstance(first, Point) else Point(site.builder.reshape(site.array(first), [constant(1)]))
    if not 1 <= len(shape) <= MOST_AXES or not all(is_number(x) and x.kind == INT for x in shape):
        site.refuse("the shape in {node}", "give one to five integers")
    array = site.array(first)
    open_axes = [k for k, length in enumerate(shape) if length.constant is not None and length.constant < 0]
    if len(open_axes) > 1 or any(shape[k].constant != -1 for k in open_axes):
        site.refuse("the shape in {node}", "give -1 once at most")
    known = [length for k, length in enumerate(shape) if k not in open_axes]
    for length in known:
        if not is_natural(length) and not site.builder.is_length(length):
            site.builder.add(Check(site.apply(COMPARISONS["Lt"], length, constant(0)), _MINUS_ONE))
    if open_axes:
        size, rest = site.arrays.size(array), constant(1)
        for length in known:
            rest = length if rest.constant == 1 else site.apply(MULTIPLY, rest, length)
        shape[open_axes[0]] = size if rest.constant == 1 else site.builder.divide(FLOOR_DIVIDE, size, rest)
    return site.builder.reshape(array, shape)


def flat_copy(site: CallSite, entry: Any) -> Value:
    """A new array of one axis with the elements of an array in C order."""
    array = site.arrays.copy_elements(entry)
    return array if array.kind.ndim == 1 else site.builder.reshape(array, [site.arrays.size(array)])


def flat_view(site: CallSite, entry: Any) -> Value:
    """The elements in C order: a view if the array is C-contiguous, a copy if it is not, or may not be."""
    if isinstance(entry, Elementwise):
        return flat_copy(site, entry)
    order = order_of(entry)
    if order == "C":
        return site.builder.reshape(entry, [site.arrays.size(entry)])
    return copy_unshared(site, entry, flat_copy, order)


def copy_unshared(site: CallSite, array: Value, make: Callable[[CallSite, Any], Value], order: str = UNSEEN) -> Value:
    """A copy of an array; in Numba it may share memory with the array, unless the order excludes that."""
    operations = site.builder.block.operations
    before = len(operations)
    copy = make(site, array)
    if order == UNSEEN:
        site.reader.merging.fresh.copies.add(array, copy, operations[before:], site.progress.line)
    return copy


@reads("a", np.ravel, method="ravel", flatten=flat_view)
@reads("a", method="flatten", flatten=flat_copy)
def _flatten(site: CallSite, array: Any, flatten: Callable[[CallSite, Any], Value]) -> Any:
    array = points.vector(array)
    return flatten(site, array) if is_array(array) else site.array(array)


@reads("a", np.ascontiguousarray)
def _contiguous(site: CallSite, entry: Any) -> Any:
    """np.ascontiguousarray: the array itself if it is C-contiguous."""
    entry = site.again(np.array, entry) if is_number(entry) else entry
    array = site.array(entry)
    order = order_of(array)
    if isinstance(entry, Elementwise) or order == "C":
        return array
    return copy_unshared(site, array, lambda _, x: site.arrays.copy_elements(x), order)


@reads("a dtype", np.asarray)
def _as_array(site: CallSite, given: Any, dtype: Any) -> Any:
    """np.asarray: an array itself; with another dtype, or for a tuple, a new one."""
    if isinstance(given, Point):
        found = _as_array(site, given.array, dtype)
        return given if found is given.array else Point(found)
    if not is_array(given):
        return site.again(np.array, given, **({} if dtype is None else {"dtype": dtype}))
    base = site.dtype(dtype, given.kind.elements)
    same = base == given.kind.elements and not (dtype is not None and given.kind.narrow)
    return site.arrays.compute(given) if same else site.arrays.as_type(given, base)


# ---- more axes -------------------------------------------------------------------------------------------------------
@reads("a", np.atleast_1d, new={})
@reads("a", np.atleast_2d, new={1: [NEW_AXIS, WHOLE]})
@reads("a", np.atleast_3d, new={1: [NEW_AXIS, WHOLE, NEW_AXIS], 2: [WHOLE, WHOLE, NEW_AXIS]})
def _at_least(site: CallSite, given: Any, new: dict[int, list[Any]]) -> Any:
    """np.atleast_1d and similar; `new` has the view for each number of axes."""
    array = site.array(given)
    return site.builder.view(array, new[array.kind.ndim]) if array.kind.ndim in new else array


@reads("a axis", np.expand_dims)
def _expand(site: CallSite, given: Any, axis: Any) -> Any:
    """np.expand_dims with one axis."""
    array = site.array(given)
    if isinstance(given, Point):
        site.axis(axis, 1)
        return array
    if array.kind.ndim == MOST_AXES:
        site.refuse(f"{{node}}: an array of more than {MOST_AXES} axes", "keep to as many")
    return widen(site, array, site.axis(axis, array.kind.ndim + 1))


def widen(site: CallSite, array: Value, axis: int) -> Value:
    """An array with one more axis."""
    spec: list[Any] = [WHOLE] * array.kind.ndim
    spec.insert(axis, NEW_AXIS)
    return site.builder.view(array, spec)


# ---- other orders ----------------------------------------------------------------------------------------------------
@reads(None, np.transpose, method="transpose")
def _transpose(site: CallSite) -> Any:
    """np.transpose(a), np.transpose(a, axes), a.transpose(axes) and a.transpose(0, 2, 1)."""
    given, *axes = site.arguments
    if site.keywords:
        site.refuse(remedy="give the axes by position")
    if isinstance(given, Point) and not axes:
        return given
    array = site.array(given)
    ndim = array.kind.ndim
    if not axes:
        return site.builder.permute(array, tuple(range(ndim))[::-1])
    numbers = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple) else axes
    order = tuple(site.axis(axis, ndim) for axis in numbers)
    if sorted(order) != list(range(ndim)):
        site.refuse("the axes in {node}", "give each axis once")
    return site.builder.permute(array, order)


@reads("a axis1 axis2", np.swapaxes)
def _swap_axes(site: CallSite, given: Any, first: Any, second: Any) -> Any:
    array = site.array(given)
    order = list(range(array.kind.ndim))
    i, j = (site.axis(axis, len(order)) for axis in (first, second))
    order[i], order[j] = order[j], order[i]
    return site.builder.permute(array, tuple(order))


@reads("m", np.flip, axes=())
@reads("m", np.flipud, axes=(0,))
@reads("m", np.fliplr, axes=(1,))
def _flip(site: CallSite, given: Any, axes: tuple[int, ...]) -> Any:
    """A view reversed along some or all axes."""
    array = site.array(given)
    ndim = array.kind.ndim
    if axes and ndim <= axes[0]:
        site.refuse(f"{{node}} of an array with {ndim} dimension(s)", "give one of more dimensions")
    backwards = (None, None, constant(-1))
    return site.builder.view(array, [backwards if k in (axes or range(ndim)) else WHOLE for k in range(ndim)])
