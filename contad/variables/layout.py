"""Arrays of NumPy: their memory layout, which decides what views share; and object arrays without axes."""

import weakref
from typing import Any

import numpy as np

from contad.variables.open_types import Key, Option, Value


def same_layout(a: Value, like: Value) -> Value:
    """a with the memory layout of `like`, so that NumPy gives views of both or copies of both."""
    if not isinstance(a, np.ndarray) or not isinstance(like, np.ndarray) or a.strides == like.strides:
        return a
    out = np.empty_like(like, dtype=a.dtype)
    out[...] = a
    return out


def layout_of(arrays: list[np.ndarray]) -> tuple[int, ...] | None:
    """The axes, slowest first, of a result that NumPy makes from these arrays; None for C order."""
    if all(a.flags.c_contiguous for a in arrays):
        return None
    operands: Any = [*arrays, None]
    flags: Any = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    dtypes: Any = [None] * len(arrays) + [np.float64]
    out = np.nditer(operands, ["zerosize_ok"], flags, dtypes, order="K").operands[-1]
    axes = tuple(sorted(range(out.ndim), key=lambda k: -out.strides[k]))
    return None if axes == tuple(range(out.ndim)) or out.flags.c_contiguous else axes


def is_permuted(a: np.ndarray) -> bool:
    """Whether an array is contiguous with its axes in another order."""
    order = sorted(range(a.ndim), key=lambda k: -a.strides[k])
    return a.transpose(order).flags.c_contiguous


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The inverse permutation."""
    return tuple(int(k) for k in np.argsort(axes))


# by id: known immutable arrays and their addresses, which NumPy takes almost a microsecond to tell
KNOWN_IMMUTABLE: dict[int, tuple[weakref.ref[np.ndarray], int]] = {}


# by id of the root: arrays that nobody may write to because arguments share memory, and the error message
OVERLAPPING: dict[int, tuple[weakref.ref[Any], str]] = {}


def immutable_address(a: np.ndarray) -> int:
    """The address of an array whose memory is a bytes object, so that nobody can write to it (`contad.constant`); else
    0."""
    known = KNOWN_IMMUTABLE.get(id(a))
    if known is not None and known[0]() is a:
        return known[1]
    base: Any = a.base
    if base.__class__ is np.ndarray and base.size == a.size and a.flags.f_contiguous and base.flags.forc:
        return immutable_address(base)  # a transpose is usually a view that lives for one operation
    return remember_immutable(a)


def remember_immutable(a: np.ndarray) -> int:
    """The same; it is in the table from then on."""
    if a.flags.writeable:
        return 0
    base: Any = a.base
    while isinstance(base, np.ndarray):
        base = base.base
    if not isinstance(base, bytes):
        return 0
    address: int = a.__array_interface__["data"][0]
    key = id(a)
    KNOWN_IMMUTABLE[key] = weakref.ref(a, lambda _: KNOWN_IMMUTABLE.pop(key, None)), address
    return address


def is_immutable(a: np.ndarray) -> bool:
    """Whether nobody can write to an array."""
    return immutable_address(a) != 0


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same, nan and the signs of zeros included."""
    if a is b:
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == np.float64 and a.flags.c_contiguous and b.flags.c_contiguous:
        return bool((a.reshape(-1).view(np.int64) == b.reshape(-1).view(np.int64)).all())
    return a.tobytes() == b.tobytes()


def subclass_of_arrays(x: object) -> str:
    """The name of the class of x if that is a kind of array with semantics of its own: masked, matrix, units."""
    plain = not isinstance(x, np.ndarray) or x.__class__ is np.ndarray or isinstance(x, (np.memmap, NumberBox))
    return "" if plain else type(x).__name__


def plain_form(x: object) -> str:
    """The array to pass instead of such an array; np.asarray would silently drop a mask."""
    return "x.filled(value) or x.compressed()" if isinstance(x, np.ma.MaskedArray) else "np.asarray(x)"


def read_only(v: Value) -> Value:
    """A view that nobody can write through."""
    if isinstance(v, np.ndarray):
        v = v.view()
        v.flags.writeable = False
    return v


# ---- object arrays without axes: np.array(x) of a number on engines without array variables --------------------------
class NumberBox(np.ndarray):
    """An object array of one number, without axes.

    NumPy stores an array without axes as an object in an object array: after z[()] = z, every operation on z recurses
    until the process dies. This class stores the element instead, as an array of floats does.
    """

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Value, **options: Option) -> Value:
        """As for a plain object array, whose results without axes are their elements."""
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        z = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return out[0] if out is not None and len(out) == 1 else z


def box_up(a: np.ndarray) -> np.ndarray:
    """An object array, as a box if it has no axes; anything else unchanged."""
    return a.view(NumberBox) if a.ndim == 0 and a.dtype == object else a


def _plain(x: Value) -> Value:
    return x.view(np.ndarray) if isinstance(x, NumberBox) else x
