"""NumPy functions that make arrays to assign to, like a given one, and functions that assign to arrays."""

from typing import Any

import numpy as np

from contad.array_base import Array, as_objects, numbers_in
from contad.array_functions import exported_name, implements
from contad.errors import LostDerivativeError
from contad.number import map_numbers, peek, primal
from contad.rule import owner_of


# ---- arrays like a given one -----------------------------------------------------------------------------------------
def like(function: Any, x: Any, dtype: Any, order: Any, shape: Any, fill: Any) -> Any:
    """An array of the level of x, or of `fill` if that is higher, to assign to; a plain one for another dtype."""
    if dtype is not None and np.dtype(dtype) != np.float64:
        return np.full(x.shape if shape is None else shape, fill, dtype)
    zeros = np.zeros_like(peek(x), dtype=np.float64, order=order, shape=shape)
    z = owner_of(exported_name(function), numbers_in([x, fill])).writable(zeros)
    if not isinstance(fill, float) or fill != 0.0:
        z[...] = fill
    return z


def constant_like(function: Any, fill: float) -> None:
    """Declare np.zeros_like and its kin."""

    def implementation(
        a: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        return like(function, a, dtype, order, shape, fill)

    implements(function)(implementation)


constant_like(np.zeros_like, 0.0)
constant_like(np.empty_like, 0.0)
constant_like(np.ones_like, 1.0)


@implements(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: Any = True, shape: Any = None, *,
    device: Any = None,
) -> Any:  # fmt: skip
    """An array of one number, which may be a variable, or of the elements of a broadcast array."""
    return like(np.full_like, a, dtype, order, shape, fill_value)


# ---- assignment ------------------------------------------------------------------------------------------------------
def store(function: Any, destination: Any, key: Any, y: Any) -> None:
    """destination[key] = y, which an array of floats refuses."""
    if isinstance(destination, Array):
        destination[key] = y
    elif isinstance(destination, np.ndarray) and destination.dtype == object:
        destination[key] = as_objects(y) if isinstance(y, Array) else y
    else:
        raise LostDerivativeError(
            f"{exported_name(function)}: an array of floats cannot hold a variable; make the destination with "
            "contad.zeros"
        )


def store_in_order(function: Any, destination: Any, places: np.ndarray, v: Any, chosen: np.ndarray) -> None:
    """Assign the elements of v numbered by `chosen`, modulo its size, to places in C order."""
    values = np.ravel(v)
    if places.size == 0:
        return
    if values.size == 0:
        raise ValueError(f"{exported_name(function)}: cannot assign from an empty array")
    key = np.unravel_index(places, destination.shape)
    store(function, destination, key, np.take(values, chosen % values.size))


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Assign src, broadcast, to the destination where a mask holds."""
    if where is True:
        store(np.copyto, dst, ..., src)
    else:
        mask = np.broadcast_to(np.asarray(map_numbers(primal, where), bool), dst.shape)
        store(np.copyto, dst, mask, np.broadcast_to(src, dst.shape)[mask])


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Assign v, repeated as needed, at flat positions."""
    places = np.take(np.arange(a.size), np.ravel(map_numbers(primal, ind)), mode=mode)
    store_in_order(np.put, a, places, v, np.arange(places.size))


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Assign vals, repeated as needed, one after the other where a mask holds."""
    places = np.flatnonzero(map_numbers(primal, mask))
    store_in_order(np.place, arr, places, vals, np.arange(places.size))


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Assign where a mask holds the value at the same flat position, modulo the number of values."""
    places = np.flatnonzero(map_numbers(primal, mask))
    store_in_order(np.putmask, a, places, values, places)


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Assign val, repeated as needed, to the main diagonal."""
    if a.ndim < 2:
        raise ValueError(f"np.fill_diagonal: a must have two or more axes, got shape {a.shape}")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"np.fill_diagonal: the axes of a must have one length, got shape {a.shape}")
    step = sum(int(np.prod(a.shape[k + 1 :])) for k in range(a.ndim))
    stop = a.size if wrap or a.ndim > 2 else min(a.size, a.shape[1] ** 2)
    places = np.arange(0, stop, step)
    store_in_order(np.fill_diagonal, a, places, val, np.arange(places.size))


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    """Assign values at one-dimensional positions along an axis; None takes the array as flat."""
    if axis is None:
        store(np.put_along_axis, arr, np.unravel_index(indices, arr.shape), values)
        return
    key = list(np.indices(arr.shape, sparse=True))
    key[axis] = np.asarray(indices)
    store(np.put_along_axis, arr, tuple(key), values)
