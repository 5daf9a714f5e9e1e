"""Reads calls that create arrays from others: join, roll, cut to a triangle, clip, take elements."""

import functools
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Point, constant, is_array, is_number, join_kinds
from contad.engines.source.ir.known_functions import ADD, COMPARISONS, MULTIPLY, REMAINDER, SELECT, SUBTRACT
from contad.engines.source.ir.ssa import INT, Value, kind_of_elements
from contad.engines.source.reading import points
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.call_site import CallSite, is_none, reads
from contad.engines.source.reading.index_arrays import IndexArrays
from contad.engines.source.reading.shape_calls import copy_unshared, flat_view, widen


# ---- joining ---------------------------------------------------------------------------------------------------------
def _entries(site: CallSite, given: Any) -> list[Any]:
    """The arrays of a tuple of at least one."""
    if not isinstance(given, tuple) or not given or not all(map(is_array, given)):
        site.refuse(remedy="give a tuple of arrays")
    if any(x.kind.narrow for x in given):
        site.refuse("{node} of arrays of fewer than 64 bits", "make them int64 or float64")
    return [x if isinstance(x, Value) else site.arrays.compute(x) for x in given]


def _concatenate(site: CallSite, arrays: list[Value], axis: int) -> Value:
    """Concatenate arrays along an axis."""
    if len({x.kind.ndim for x in arrays}) != 1:
        site.refuse("{node} of arrays with different numbers of axes", "give arrays of one number of axes")
    shapes = [site.arrays.shape(x) for x in arrays]
    starts = [constant(0)]
    for shape in shapes:
        starts.append(site.apply(ADD, starts[-1], shape[axis]))
        for k, length in enumerate(shape):
            if k != axis:
                site.arrays.require_equal(shapes[0][k], length)
    total = [*shapes[0][:axis], starts[-1], *shapes[0][axis + 1 :]]
    kind = functools.reduce(join_kinds, (kind_of_elements(x.kind.elements) for x in arrays))
    made = site.builder.create("empty", total, kind.elements)
    for array, shape, start in zip(arrays, shapes, starts, strict=False):

        def put(at: list[Value], array: Value = array, start: Value = start) -> None:
            place = [*at[:axis], site.apply(ADD, start, at[axis]), *at[axis + 1 :]]
            site.arrays.put(made, place, site.builder.load(array, at))

        site.arrays.over(shape, put)
    return made


@reads("arrays axis", np.concatenate, widens=False)
@reads("arrays axis", np.stack, widens=True)
def _join(site: CallSite, given: Any, axis: Any, widens: bool) -> Any:
    """Join arrays along an axis; `widens` says that it is new, as in np.stack."""
    arrays = _entries(site, given)
    along = 0 if axis is None else site.axis(axis, arrays[0].kind.ndim + widens)
    return _concatenate(site, [widen(site, x, along) for x in arrays] if widens else arrays, along)


@reads("tup", np.vstack, axis=0)
@reads("tup", np.column_stack, axis=1)
def _stack_vectors(site: CallSite, given: Any, axis: int) -> Any:
    """Join matrices along an axis; vectors are rows or columns."""
    arrays = _entries(site, given)
    return _concatenate(site, [widen(site, x, axis) if x.kind.ndim == 1 else x for x in arrays], axis)


@reads("tup", np.hstack)
def _side_by_side(site: CallSite, given: Any) -> Any:
    arrays = _entries(site, given)
    return _concatenate(site, arrays, min(1, arrays[0].kind.ndim - 1))


@reads("arr values axis", np.append)
def _append(site: CallSite, array: Any, values: Any, axis: Any) -> Any:
    """np.append(arr, values), both flat, or along an axis."""
    array, values = points.vector(array), points.vector(values)
    if is_number(values):
        values = points.hold(site.arrays, values, values.kind.base).array
    arrays = _entries(site, (array, values))
    if axis is None:
        return _concatenate(site, [x if x.kind.ndim == 1 else flat_view(site, x) for x in arrays], 0)
    return _concatenate(site, arrays, site.axis(axis, arrays[0].kind.ndim))


# ---- moving and cutting ----------------------------------------------------------------------------------------------
@reads("a shift", np.roll)
def _roll(site: CallSite, given: Any, shift: Any) -> Any:
    """np.roll of all elements, row by row."""
    array = site.wide_array(given)
    if not is_number(shift) or shift.kind != INT:
        site.refuse(remedy="give a number of places")
    shape = site.arrays.shape(array)
    flat = array if len(shape) == 1 else flat_view(site, array)
    (size,) = site.arrays.shape(flat)
    made = site.builder.create("empty", [size], array.kind.elements)

    def put(at: list[Value]) -> None:
        moved = site.apply(ADD, at[0], shift)
        site.arrays.put(made, [site.apply(REMAINDER, moved, size)], site.builder.load(flat, at))

    site.arrays.over([size], put)
    return made if len(shape) == 1 else site.builder.reshape(made, shape)


@reads("m k", np.tril, symbol="LtE")
@reads("m k", np.triu, symbol="GtE")
def _triangle(site: CallSite, given: Any, k: Any, symbol: str) -> Any:
    """The part of a matrix on one side of a diagonal; the other elements are zero."""
    array, k = site.wide_array(given), constant(0) if k is None else k
    if array.kind.ndim != 2 or not is_number(k) or k.kind != INT:
        site.refuse(remedy="give a matrix and an integer")
    made = site.builder.create("empty", site.arrays.shape(array), array.kind.elements)
    zero = site.builder.convert(constant(0), kind_of_elements(array.kind.elements))

    def put(at: list[Value]) -> None:
        inside = site.apply(COMPARISONS[symbol], at[1], site.apply(ADD, at[0], k))
        site.arrays.put(made, at, site.apply(SELECT, inside, site.builder.load(array, at), zero))

    site.arrays.over(site.arrays.shape(array), put)
    return made


@reads("array shape", np.broadcast_to)
def _broadcast(site: CallSite, given: Any, shape: Any) -> Any:
    """np.broadcast_to, as a copy; neither the copy nor the array may be written."""
    lengths = site.lengths(shape)
    given = points.vector(given)
    if not (is_number(given) or is_array(given)) or (is_array(given) and given.kind.ndim > len(lengths)):
        site.refuse()

    def make(site: CallSite, x: Any) -> Value:
        made = site.builder.create("empty", lengths, x.kind.elements)
        site.arrays.fill(made, x, site.node)
        return made

    return make(site, given) if is_number(given) else copy_unshared(site, site.wide_array(given), make)


_EXTREMES: Any = [known_functions.function_of(f) for f in (np.maximum, np.minimum)]


@reads("a a_min a_max", np.clip)
def _clip(site: CallSite, *taken: Any) -> Any:
    """np.clip of an array; a limit may be an array, or None. At a limit, both get half of the derivative."""
    if isinstance(taken[0], Point):
        found = points.compute(site.arrays, list(taken), lambda *given: _clip(site, *given))
        return points.hold(site.arrays, found, "float") if is_number(found) else found
    found, *limits = (points.element(site.arrays, x) for x in taken)
    known = [x for x in limits if not is_none(x)]
    floats = is_array(found) and found.kind.base == "float"
    if not floats or not known or not all(is_number(x) or is_array(x) for x in known):
        site.refuse(remedy="give an array and its limits")
    for limit, extreme in zip(limits, _EXTREMES, strict=True):
        if not is_none(limit):
            found = site.apply(extreme, found, site.builder.as_float(limit))
    return found


@reads("y x dx", *(f for f in (getattr(np, name, None) for name in ("trapezoid", "trapz")) if f is not None))
def _trapezoid(site: CallSite, y: Any, x: Any, dx: Any) -> Any:
    """np.trapezoid of a vector, with points x or spacing dx."""
    y = site.wide_array(y)
    places = None if is_none(x) else x
    dx = constant(1.0) if dx is None else dx
    if y.kind.ndim != 1 or not is_number(dx) or (places is not None and not is_array(places)):
        site.refuse(remedy="give vectors")
    apply, load = site.apply, site.builder.load
    (n,) = site.arrays.shape(y)
    if places is not None:
        places = site.wide_array(places)
        site.arrays.require_equal(n, site.builder.length(places, 0))

    def add(k: Value, total: Value) -> list[Value]:
        after = apply(ADD, k, constant(1))
        width = dx if places is None else apply(SUBTRACT, load(places, [after]), load(places, [k]))
        both = apply(ADD, site.builder.as_float(load(y, [after])), load(y, [k]))
        return [apply(ADD, total, apply(MULTIPLY, apply(MULTIPLY, width, both), constant(0.5)))]

    return site.builder.repeat(apply(SUBTRACT, n, constant(1)), add, [constant(0.0)])[0]


@reads("a indices axis", np.take, method="take")
def _take(site: CallSite, given: Any, index: Any, axis: Any) -> Any:
    """np.take(a, indices); without an axis, indices count the elements in C order."""
    array = site.wide_array(given)
    if axis is not None:
        along = site.axis(axis, array.kind.ndim)
    else:
        array, along = array if array.kind.ndim == 1 else flat_view(site, array), 0
    if is_number(index) and index.kind == INT and array.kind.ndim == 1:
        return site.builder.load(array, [index])
    if not is_array(index) or index.kind.base != "int" or index.kind.ndim != 1:
        site.refuse("the indices in {node}", "give a vector of integers")
    spec: list[Any] = [WHOLE] * array.kind.ndim
    spec[along] = site.arrays.compute(index)
    return IndexArrays(site.reader).read(array, spec, site.node)
