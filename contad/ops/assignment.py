"""NumPy functions that create an array like a given one, and functions that assign to arrays."""


import numpy as np

from contad.errors import LostDerivativeError
from contad.rules.numpy_functions import find_exported_name, implements
from contad.rules.scalar_rule import owner_of
from contad.variables.array import Array, Write, as_objects, numbers_in
from contad.variables.number import Carrier, map_numbers, peek, primal
from contad.variables.open_types import Function, Option, Value


# ---- arrays like a given one -----------------------------------------------------------------------------------------
def like(function: Function, x: Value, dtype: Option, order: Option, shape: Option, fill: Value) -> Value:
    """An assignable array of the level of x, or of `fill` if that is higher; a plain array for other dtypes."""
    plain = None if isinstance(x, Carrier) or numbers_in(x) else np.asarray(x).dtype
    if dtype is None and plain is not None and plain.kind in "iub":
        dtype = plain
    if dtype is not None and np.dtype(dtype) != np.float64:
        cut = map_numbers(primal, fill) if np.dtype(dtype).kind in "iub" else fill  # a constant, like astype(int)
        return np.full_like(peek(x), cut, dtype, order, shape=shape)
    zeros = np.zeros_like(peek(x), dtype=np.float64, order=order, shape=shape)
    z = owner_of(find_exported_name(function), numbers_in([x, fill])).writable(zeros)
    if not isinstance(fill, float) or fill != 0.0:
        z[...] = fill
    return z


def constant_like(function: Function, fill: float) -> None:
    """Declare np.zeros_like and similar functions."""

    def implementation(
        a: Value, dtype: Option = None, order: Option = "K", subok: Option = True, shape: Option = None, *,
        device: Option = None,
    ) -> Value:  # fmt: skip
        return like(function, a, dtype, order, shape, fill)

    implements(function, layout="own")(implementation)


constant_like(np.zeros_like, 0.0)
constant_like(np.empty_like, 0.0)
constant_like(np.ones_like, 1.0)


@implements(np.full_like, layout="own")
def full_like(
    a: Value, fill_value: Value, dtype: Option = None, order: Option = "K", subok: Option = True, shape: Option = None,
    *, device: Option = None,
) -> Value:  # fmt: skip
    """An array of one number, which may be a variable, or of the elements of a broadcast array."""
    return like(np.full_like, a, dtype, order, shape, fill_value)


# ---- assignment ------------------------------------------------------------------------------------------------------
def store(function: Function, destination: Value, write: Write, y: Value) -> None:
    """Write y into the destination by NumPy's own function; refuse arrays of floats."""
    if isinstance(destination, Array):
        destination._write(write, y)
    elif isinstance(destination, np.ndarray) and destination.dtype == object:
        write(destination, as_objects(y) if isinstance(y, Array) else y)
    else:
        raise LostDerivativeError(
            f"{find_exported_name(function)}: an array of floats cannot hold a variable; make the destination with "
            "contad.zeros"
        )


@implements(np.copyto, layout="own")
def copyto(dst: Value, src: Value, casting: Option = "same_kind", where: Option = True) -> None:
    """Assign src, broadcast, to the destination where a mask holds."""
    mask = map_numbers(primal, where)
    if casting == "unsafe" and isinstance(dst, np.ndarray) and dst.dtype.kind in "iub":  # as from np.full_like
        np.copyto(dst, map_numbers(primal, src), casting, mask)
        return
    store(np.copyto, dst, lambda a, y: np.copyto(a, y, casting=casting, where=mask), src)


@implements(np.put, layout="own")
def put(a: Value, ind: Value, v: Value, mode: Option = "raise") -> None:
    """Assign v, repeated as needed, at flat positions."""
    if not np.size(v) and np.size(a):
        return  # NumPy ignores the positions then
    places = map_numbers(primal, ind)
    store(np.put, a, lambda a, y: np.put(a, places, y, mode), v)


@implements(np.place, layout="own")
def place(arr: Value, mask: Value, vals: Value) -> None:
    """Assign vals, repeated as needed, one after the other where a mask holds."""
    chosen = map_numbers(primal, mask)
    store(np.place, arr, lambda a, y: np.place(a, chosen, y), vals)


@implements(np.putmask, layout="own")
def putmask(a: Value, /, mask: Value, values: Value) -> None:
    """Assign where a mask holds the value at the same flat position, modulo the number of values."""
    chosen = map_numbers(primal, mask)
    store(np.putmask, a, lambda a, y: np.putmask(a, chosen, y), values)


@implements(np.fill_diagonal, layout="own")
def fill_diagonal(a: Value, val: Value, wrap: bool = False) -> None:
    """Assign val, repeated as needed, to the main diagonal."""
    if a.ndim < 2:
        raise ValueError(f"np.fill_diagonal: a must have two or more axes, got shape {a.shape}")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"np.fill_diagonal: the axes of a must have one length, got shape {a.shape}")
    store(np.fill_diagonal, a, lambda a, y: np.fill_diagonal(a, y, wrap), val)


@implements(np.put_along_axis, layout="own")
def put_along_axis(arr: Value, indices: Value, values: Value, axis: Option = -1) -> None:
    """Assign values at one-dimensional positions along an axis; None takes the array as flat."""
    positions = map_numbers(primal, indices)
    store(np.put_along_axis, arr, lambda a, y: np.put_along_axis(a, positions, y, axis), values)
