"""Functions that move elements, each with its transpose, which carries a cotangent back.

A movement is linear, and its transpose is `(z_bar, shape, *further arguments)`, where shape is that of the array. Both
are written with NumPy's functions, so they run on every library and on variables of outer levels.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from contad.engines.arrays.numpy_names import add_to_zeros, assign_at, copy, gather, index_by
from contad.ops.cotangents import fold
from contad.rules.scalar_rule import owner_of
from contad.variables.array import as_array
from contad.variables.number import Carrier
from contad.variables.open_types import ArrayValue, Function, Key, Option, Value


class Movement(NamedTuple):
    """A linear function that moves elements, and its transpose."""

    function: Function
    transpose: Function


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    n = len(axes)
    return tuple(sorted(range(n), key=lambda k: axes[k] % n))


# ---- indexing --------------------------------------------------------------------------------------------------------
def get(a: ArrayValue, key: Key) -> ArrayValue:
    """a[key], as a function."""
    return a[key]


def put_in_zeros(z_bar: Any, shape: tuple[int, ...], key: Key) -> ArrayValue:
    """Zeros of a shape, to which z_bar is added at an index."""
    if not isinstance(z_bar, Carrier):
        return add_to_zeros(z_bar, shape, key)
    if getattr(z_bar._owner, "takes_any", False):
        return z_bar._owner.perform(EMBEDDING, z_bar, (shape, key), {})
    z = z_bar._owner.writable(np.zeros(shape))
    if find_last_writes(shape, key) is None:
        z[key] = z_bar
    else:
        np.add.at(z, key, z_bar)  # type: ignore[arg-type]
    return z


def clear(a: Value, key: Key) -> ArrayValue:
    """A copy of a with zeros at an index."""
    if isinstance(a, Carrier) and getattr(a._owner, "takes_any", False):
        return a._owner.perform(CLEARING, a, (key,), {})
    if not isinstance(a, Carrier):
        return assign_at(a, key, 0.0)
    z: Any = as_array(a).copy("K")
    z[key] = 0.0
    return z


def assign(a: Value, key: Key, y: Value) -> ArrayValue:
    """A copy of a with y at an index."""
    owner = owner_of("an assignment", [x for x in (a, y) if isinstance(x, Carrier)])
    if getattr(owner, "takes_any", False):
        return owner.assign(a, key, y)
    if owner is None:
        return assign_at(a, key, y)
    z = open_copy(a, y)
    z[key] = y
    return z


def open_copy(a: Value, y: Value) -> Any:
    """A copy of a in which numbers of the level of y can be written."""
    owner = owner_of("an assignment", [x for x in (a, y) if isinstance(x, Carrier)])
    z: Any = as_array(a).copy("K") if isinstance(a, Carrier) else copy(a)
    return z if owner is None or (isinstance(a, Carrier) and a._owner is owner) else owner.writable(z)


def find_last_writes(shape: tuple[int, ...], key: Key) -> ArrayValue | None:
    """Which elements at an index an assignment leaves there, where positions repeat; None if none can."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(hasattr(k, "shape") and len(k.shape) and "bool" not in str(k.dtype) for k in keys):
        return None
    turns = np.zeros(shape, dtype=np.int64)
    places = np.shape(turns[key])
    numbers = np.reshape(np.arange(math.prod(places)), places)
    turns = assign_at(turns, key, numbers)
    return turns[key] == numbers


INDEXING = Movement(get, put_in_zeros)
EMBEDDING = Movement(put_in_zeros, lambda z_bar, _, shape, key: z_bar[key])
CLEARING = Movement(clear, lambda z_bar, _, key: clear(z_bar, key))


FIRST = 2.0**52  # the number of the first element that NumPy moves; smaller ones are constants beside it


def find_positions(moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The positions of moved elements, which count from 1, 0 for constants; and which are constants."""
    new = ~((moved >= FIRST) & (moved < np.inf))
    return np.where(new, 0.0, moved - FIRST + 1.0).astype(np.intp), new


def put_back(z_bar: Value, shape: tuple[int, ...], move: Function | None, positions: np.ndarray) -> Value:
    """Zeros of a shape, to which z_bar is added at flat positions, which count from 1."""
    flat = put_in_zeros(np.reshape(z_bar, (-1,)), (math.prod(shape) + 1,), index_by(positions))
    return np.reshape(flat[1:], shape)


GATHER = Movement(gather, put_back)  # any movement, by the positions to which NumPy moves those of the array


# ---- transposes of NumPy's functions ---------------------------------------------------------------------------------
def _permute_back(z_bar: Value, shape: Any, axes: Option = None) -> Value:
    return np.transpose(z_bar, None if axes is None else _inverse(tuple(axes)))


def _swap_back(z_bar: Value, shape: Any, one: int, other: int) -> Value:
    return np.swapaxes(z_bar, one, other)


def _swap_last(z_bar: Value, shape: Any) -> Value:
    return np.swapaxes(z_bar, -1, -2)


def _move_back(z_bar: Value, shape: Any, source: Option, destination: Option) -> Value:
    return np.moveaxis(z_bar, destination, source)


def _reshape_back(z_bar: Value, shape: Any, new: Option = None, order: Any = "C", **more: Option) -> Value:
    return np.reshape(z_bar, shape) if order == "C" else np.reshape(z_bar, shape, order=order)


def _ravel_back(z_bar: Value, shape: Any, order: Any = "C") -> Value:
    return np.reshape(z_bar, shape) if order == "C" else np.reshape(z_bar, shape, order=order)


def _give_axes(z_bar: Value, shape: Any, axis: Option = None) -> Value:
    return np.reshape(z_bar, shape)


def _fold_back(z_bar: Value, shape: Any, new: Option, **more: Option) -> Value:
    return fold(z_bar, shape)


def _flip_back(z_bar: Value, shape: Any, axis: Option = None) -> Value:
    return np.flip(z_bar, axis)


def _roll_back(z_bar: Value, shape: Any, shift: Option, axis: Option = None) -> Value:
    back = tuple(-s for s in shift) if isinstance(shift, tuple) else -shift
    return np.roll(z_bar, back, axis)


def _tile_back(z_bar: Value, shape: Any, reps: Option) -> Value:
    counts = (reps,) if isinstance(reps, int) else tuple(reps)
    n = max(len(counts), len(shape))
    counts, lengths = (1,) * (n - len(counts)) + counts, (1,) * (n - len(shape)) + tuple(shape)
    split = [m for pair in zip(counts, lengths, strict=True) for m in pair]
    return np.reshape(np.sum(np.reshape(z_bar, tuple(split)), axis=tuple(range(0, 2 * n, 2))), shape)


def _repeat_back(z_bar: Value, shape: Any, repeats: int, axis: int | None = None) -> Value:
    if axis is None:
        return np.reshape(np.sum(np.reshape(z_bar, (math.prod(shape), repeats)), axis=1), shape)
    k = axis % len(shape)
    return np.sum(np.reshape(z_bar, (*shape[: k + 1], repeats, *shape[k + 1 :])), axis=k + 1)


def _tril_back(z_bar: Value, shape: Any, k: int = 0) -> Value:
    return np.tril(z_bar, k)


def _triu_back(z_bar: Value, shape: Any, k: int = 0) -> Value:
    return np.triu(z_bar, k)


def _put_along_axis(z_bar: Value, shape: Any, indices: ArrayValue, axis: int = -1) -> Value:
    k = axis % len(shape)
    places = np.expand_dims(indices, k + 1) == np.reshape(
        np.arange(shape[k]), (*(1,) * (k + 1), shape[k], *(1,) * (len(shape) - k - 1))
    )
    return np.sum(np.where(places, np.expand_dims(z_bar, k + 1), 0.0), axis=k)


TRANSPOSES: dict[Any, Function] = {
    np.transpose: _permute_back, np.matrix_transpose: _swap_last, np.linalg.matrix_transpose: _swap_last,
    np.swapaxes: _swap_back, np.moveaxis: _move_back, np.reshape: _reshape_back, np.ravel: _ravel_back,
    np.squeeze: _give_axes, np.expand_dims: _give_axes, np.broadcast_to: _fold_back, np.flip: _flip_back,
    np.roll: _roll_back, np.tile: _tile_back, np.repeat: _repeat_back, np.tril: _tril_back, np.triu: _triu_back,
    np.take_along_axis: _put_along_axis,
}  # fmt: skip
COPIES = frozenset((np.roll, np.tile, np.repeat, np.tril, np.triu, np.take_along_axis))  # the others give views
MOVEMENTS = {function: Movement(function, transpose) for function, transpose in TRANSPOSES.items()}


# ---- several sources -------------------------------------------------------------------------------------------------
def split_back(z_bar: Value, shapes: list[tuple[int, ...]], axis: int = 0) -> list[Value]:
    """The cotangents of the parts of np.concatenate."""
    k = axis % len(shapes[0])
    found, start = [], 0
    for shape in shapes:
        found.append(z_bar[(slice(None),) * k + (slice(start, start + shape[k]), ...)])
        start += shape[k]
    return found


def unstack(z_bar: Value, shapes: list[tuple[int, ...]], axis: int = 0) -> list[Value]:
    """The cotangents of the parts of np.stack."""
    k = axis % (len(shapes[0]) + 1)
    return [z_bar[(slice(None),) * k + (n, ...)] for n in range(len(shapes))]


def choose_back(z_bar: Value, condition: ArrayValue) -> list[Value]:
    """The cotangents of both branches of np.where."""
    return [np.where(condition, z_bar, 0.0), np.where(condition, 0.0, z_bar)]
