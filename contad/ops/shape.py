"""NumPy functions that move elements: reshaping, joining, splitting, padding, repeating, picking by position.

They push no records and have no rules: the cells (or tangents) of the elements move like their values.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.rules.numpy_functions import NO_VALUE, find_exported_name, implements, move_elements, moves, refuse_out
from contad.variables.array import Array, numbers_in
from contad.variables.complex_pair import NO_ROOM, ComplexPair, holds_complex, is_complex
from contad.variables.dtypes import require_float64
from contad.variables.number import map_numbers, primal
from contad.variables.open_types import ArrayValue, Function, Option, Sources, Value

CARRYING: Any = (Array, ComplexPair)  # arrays with derivatives

# ---- one array in, its elements moved: NumPy's parameters, of which the first is the array ---------------------------
_function: Function
for _function, _parameters in (
    (np.transpose, "a axes"),
    (np.moveaxis, "a source destination"),
    (np.rollaxis, "a axis start"),
    (np.swapaxes, "a axis1 axis2"),
    (np.squeeze, "a axis"),
    (np.expand_dims, "a axis"),
    (np.matrix_transpose, "x"),
    (np.linalg.matrix_transpose, "x"),
    (np.broadcast_to, "array shape subok"),
    (np.tile, "A reps"),
    (np.repeat, "a repeats axis"),
    (np.roll, "a shift axis"),
    (np.fft.fftshift, "x axes"),
    (np.fft.ifftshift, "x axes"),
    (np.rot90, "m k axes"),
    (np.flip, "m axis"),
    (np.fliplr, "m"),
    (np.flipud, "m"),
    (np.take, "a indices axis out mode"),
    (np.take_along_axis, "arr indices axis"),
    (np.diag, "v k"),
    (np.diagflat, "v k"),
    (np.diagonal, "a offset axis1 axis2"),
    (np.linalg.diagonal, "x"),
    (np.tril, "m k"),
    (np.triu, "m k"),
    (np.delete, "arr obj axis"),
    (np.resize, "a new_shape"),
    (np.copy, "a order subok"),
):
    moves(_function, _parameters.split()[0], parameters=_parameters)

moves(np.lib.stride_tricks.sliding_window_view, "x", parameters="x window_shape axis subok writeable")
moves(np.compress, "a", parameters="condition a axis out")
moves(np.extract, "arr", parameters="condition arr")
moves(np.choose, "choices", parameters="a choices out mode")
moves(np.append, "arr", "values", parameters="arr values axis")
moves(np.where, 1, 2)


# ---- options that variables do not have ------------------------------------------------------------------------------
def refuse_given(function: Function, **options: Option) -> None:
    """Refuse, by name, every option that is not None or NumPy's mark for "not given"."""
    for name, x in options.items():
        if x is not None and x is not NO_VALUE and (name != "dtype" or np.dtype(x) != np.float64):
            raise UnsupportedError(f"{find_exported_name(function)}: {name}= is not supported on variables, got {x!r}")


def require_logical_order(function: Function, order: str) -> str:
    """Refuse orders that depend on the layout in memory, where values and cells may differ."""
    if order not in ("C", "F"):
        raise UnsupportedError(f"{find_exported_name(function)}: order must be 'C' or 'F' on variables, got {order!r}")
    return order


# ---- shape -----------------------------------------------------------------------------------------------------------
@implements(np.reshape, layout="own")
def reshape(
    a: Value, /, shape: Option = None, order: str = "C", *, newshape: Option = None, copy: Option = None
) -> Value:
    """The elements in another shape, a view where NumPy gives one."""
    new = newshape if shape is None else shape
    order = require_logical_order(np.reshape, order)
    if copy is False:
        refuse_given(np.reshape, copy=copy)
    return (a.copy() if copy else a).reshape(new, order=order)


@implements(np.ravel, layout="own")
def ravel(a: Value, order: str = "C") -> Value:
    """The elements in one dimension, a view where NumPy gives one."""
    return a.ravel(require_logical_order(np.ravel, order))


def at_least(function: Function, shape_of: Callable[[tuple[int, ...]], tuple[int, ...]]) -> None:
    """Declare np.atleast_1d or a similar function: every array gets more axes of length one, as a view."""

    def implementation(*arrays: Value) -> Value:
        raised = [np.reshape(x, shape_of(x.shape)) if isinstance(x, CARRYING) else function(x) for x in arrays]
        return raised[0] if len(raised) == 1 else tuple(raised)

    implements(function, layout="own")(implementation)


at_least(np.atleast_1d, lambda shape: shape or (1,))
at_least(np.atleast_2d, lambda shape: (1,) * (2 - len(shape)) + shape)
at_least(np.atleast_3d, lambda shape: (1, *shape, 1) if len(shape) == 1 else shape + (1,) * (3 - len(shape)))


@implements(np.broadcast_arrays, layout="own")
def broadcast_arrays(*arrays: Value, subok: bool = False) -> Any:
    """The arrays, and plain ones among them, as views of one common shape."""
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(x[...] if isinstance(x, CARRYING) and x.shape == shape else np.broadcast_to(x, shape) for x in arrays)


@implements(np.meshgrid, layout="own")
def meshgrid(*vectors: Value, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Grids of coordinates, one for each vector."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"np.meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    n = len(vectors)
    axes = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else range(n)
    grids = [np.reshape(x, [-1 if k == axis else 1 for k in range(n)]) for axis, x in zip(axes, vectors, strict=True)]
    if not sparse:
        grids = list(broadcast_arrays(*grids))
    return tuple(g.copy() for g in grids) if copy else tuple(grids)


# ---- joining ---------------------------------------------------------------------------------------------------------
def joins(function: Function, first: str) -> None:
    """Declare a function that joins a sequence of arrays and numbers, its first argument."""

    def implementation(*args: Option, dtype: Option = None, casting: Option = None, **options: Option) -> Value:
        refuse_out(function, options)
        require_float64(find_exported_name(function), dtype)
        arrays, *others = (options.pop(first), *args) if first in options else args
        return move_elements(
            find_exported_name(function), lambda given: function(given[0], *others, **options), {0: arrays}
        )

    implements(function, layout="own")(implementation)


for _function, _parameters in (
    (np.concatenate, "arrays"),
    (np.stack, "arrays"),
    (np.block, "arrays"),
    (np.vstack, "tup"),
    (np.hstack, "tup"),
    (np.dstack, "tup"),
    (np.column_stack, "tup"),
):
    joins(_function, _parameters)


@implements(np.insert, layout="own")
def insert(arr: Value, obj: Option, values: Value, axis: Option = None) -> Value:
    """Values, or variables, inserted before given positions along an axis."""
    if not isinstance(arr, CARRYING):
        arr = np.asarray(arr)
        if arr.dtype.kind in "iub":  # NumPy converts the values to it, so they are constants
            return np.insert(arr, obj, map_numbers(primal, values), axis)
        arr = arr if arr.dtype.kind in "Oc" else arr.astype(np.float64)
    if holds_complex(values) and not is_complex(arr):
        raise TypeError(f"np.insert: {NO_ROOM}")

    def move(given: Sources) -> Value:
        arr = given["arr"]
        place = insert if needs_room(arr, given) else np.insert
        return place(arr, obj, given["values"], axis)

    return move_elements("np.insert", move, {"arr": arr, "values": values})


def needs_room(array: Value, given: Sources) -> bool:
    """Whether the moved data contain numbers of outer levels, which NumPy would assign to an array of floats.

    To an object array NumPy can assign numbers of any level.
    """
    return not (isinstance(array, np.ndarray) and array.dtype == object) and bool(numbers_in(list(given.values())))


@implements(np.ediff1d, layout="own")
def ediff1d(ary: Value, to_end: Value | None = None, to_begin: Value | None = None) -> Value:
    """Differences of consecutive elements, with optional elements before and after."""
    if (holds_complex(to_end) or holds_complex(to_begin)) and not is_complex(ary):
        raise TypeError("np.ediff1d: to_begin and to_end must be real where ary is, got complex numbers")
    if not numbers_in(ary):
        kind = np.asarray(ary).dtype
        for name, piece in (("to_begin", to_begin), ("to_end", to_end)):
            given = np.asarray(map_numbers(primal, piece)).dtype if piece is not None else kind
            if not np.can_cast(given, kind, "same_kind"):
                raise TypeError(f"np.ediff1d: {name} must be of the kind of ary, {kind}, got {given}")
    a = np.ravel(ary)
    pieces = [to_begin, a[1:] - a[:-1], to_end]
    return np.concatenate([np.ravel(piece) for piece in pieces if piece is not None])


# ---- splitting -------------------------------------------------------------------------------------------------------
@implements(np.array_split, layout="own")
def array_split(ary: Value, indices_or_sections: Option, axis: int = 0) -> list[ArrayValue]:
    """Consecutive pieces along an axis, as views; sections may differ in length."""
    a = ary if isinstance(ary, CARRYING) else np.asarray(ary)
    n = a.shape[axis]
    if np.ndim(indices_or_sections):
        stops = [*indices_or_sections, n]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError(f"np.array_split: the number of sections must be positive, got {sections}")
        stops = np.cumsum([n // sections + (k < n % sections) for k in range(sections)]).tolist()
    before = (slice(None),) * (axis % a.ndim)
    return [a[(*before, slice(start, stop))] for start, stop in zip([0, *stops[:-1]], stops, strict=True)]


@implements(np.split, layout="own")
def split(ary: Value, indices_or_sections: Option, axis: int = 0) -> list[ArrayValue]:
    """Consecutive pieces along an axis, as views; a number of sections must divide the length."""
    if not np.ndim(indices_or_sections) and np.shape(ary)[axis] % indices_or_sections:
        raise ValueError(
            f"np.split: array split does not result in an equal division: {np.shape(ary)[axis]} elements in "
            f"{indices_or_sections} sections"
        )
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit, layout="own")
def hsplit(ary: Value, indices_or_sections: Option) -> list[ArrayValue]:
    """Pieces along the second axis; along the only one of a vector."""
    return split(ary, indices_or_sections, _axis_of("np.hsplit", ary, 1, 1 if ary.ndim > 1 else 0))


@implements(np.vsplit, layout="own")
def vsplit(ary: Value, indices_or_sections: Option) -> list[ArrayValue]:
    """Pieces along the first axis."""
    return split(ary, indices_or_sections, _axis_of("np.vsplit", ary, 2, 0))


@implements(np.dsplit, layout="own")
def dsplit(ary: Value, indices_or_sections: Option) -> list[ArrayValue]:
    """Pieces along the third axis."""
    return split(ary, indices_or_sections, _axis_of("np.dsplit", ary, 3, 2))


def _axis_of(name: str, ary: Value, ndim: int, axis: int) -> int:
    if ary.ndim < ndim:
        raise ValueError(f"{name}: the array must have {ndim} or more axes, got shape {ary.shape}")
    return axis


def unstack(x: Value, /, *, axis: int = 0) -> tuple[ArrayValue, ...]:
    """The pieces of length one along an axis, without that axis."""
    return tuple(np.moveaxis(x, axis, 0))


def astype(x: Value, dtype: Option, /, *, copy: bool = True, device: Option = None) -> Value:
    """Call the method of x."""
    return x.astype(dtype, copy=copy)


if hasattr(np, "unstack"):  # NumPy 2.1
    implements(np.unstack, layout="own")(unstack)
    implements(np.astype, layout="own")(astype)


# ---- slice by slice --------------------------------------------------------------------------------------------------
@implements(np.apply_along_axis, layout="own")
def apply_along_axis(func1d: Function, axis: int, arr: Value, *args: Option, **options: Option) -> Value:
    """The results of a function of vectors, joined; it is called once for each vector along the axis."""
    rows = np.moveaxis(arr, axis, -1)
    shape = rows.shape[:-1]
    results = [func1d(rows[k], *args, **options) for k in np.ndindex(shape)]
    if not results:
        raise ValueError(f"np.apply_along_axis: there must be a vector along axis {axis}, got shape {arr.shape}")
    each = np.shape(results[0])
    joined = move_elements("np.apply_along_axis", lambda given: np.stack(given[0]), {0: results}).reshape(shape + each)
    first = axis % arr.ndim
    return np.moveaxis(joined, range(len(shape), len(shape + each)), range(first, first + len(each)))
