"""The methods of array variables that NumPy also has as functions, and how array variables print."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.array import Array, elements_of, plain_key
from contad.variables.number import Number, observed, peek, primal

# ---- methods that are NumPy's functions of the array, with the same arguments after it -------------------------------
DELEGATED = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "cumprod", "cumsum", "diagonal", "dot", "max", "mean",
    "min", "nonzero", "prod", "put", "repeat", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take",
    "trace", "var", "choose",
)  # fmt: skip

REFUSED = {
    "byteswap": "arrays of variables have no bytes to swap",
    "dump": "use contad.value_of(x).dump(file)",
    "dumps": "use contad.value_of(x).dumps()",
    "getfield": "arrays of variables have no fields",
    "resize": "use np.resize(x, shape), which returns an array",
    "setfield": "arrays of variables have no fields",
    "setflags": "arrays of variables have no flags; use x.copy() for an array that nobody else writes to",
    "tobytes": "use contad.value_of(x).tobytes()",
    "tofile": "use contad.value_of(x).tofile(file)",
    "view": "use x[...] for a view of the elements, x.copy() for a copy",
}


def _delegated(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: Array, *args: Any, **options: Any) -> Any:
        return function(self, *args, **options)

    method.__doc__ = f"As np.{name} of this array."
    return method


def _refused(name: str, remedy: str) -> Callable[..., Any]:
    def method(self: Array, *args: Any, **options: Any) -> Any:
        raise UnsupportedError(f"{name}: not supported on an {self.kind}; {remedy}")

    method.__doc__ = f"Refused: {remedy}."
    return method


# ---- methods with signatures of their own ----------------------------------------------------------------------------
def clip(self: Array, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    """As np.clip of this array."""
    return np.clip(self, min, max, out, **options)


def compress(self: Array, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """As np.compress of this array."""
    return np.compress(condition, self, axis, out=out)


def conj(self: Array) -> Array:
    """The array itself, which is real."""
    return self


def sort(self: Array, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """Sort the elements in place along an axis."""
    self[...] = np.sort(self, axis, kind, order, stable=stable)


def partition(self: Array, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
    """Rearrange the elements in place along an axis, with the kth smallest in its place."""
    self[...] = np.partition(self, kth, axis, kind, order)


# ---- attributes ------------------------------------------------------------------------------------------------------
def matrix_transpose(self: Array) -> Any:
    """The last two axes exchanged, a view."""
    if self.ndim < 2:
        raise ValueError(f"mT: the array must have two or more axes, got shape {self.shape}")
    return np.swapaxes(self, -1, -2)


def itemsize(self: Array) -> int:
    """Bytes of one value."""
    return 8


def nbytes(self: Array) -> int:
    """Bytes of the values."""
    return 8 * self.size


def text(self: Array) -> str:
    """ArrayVar([1. 2.], index=3): the kind, the values as NumPy abbreviates them, and the first cell."""
    name = type(self).__name__
    if self._owner.ended is not None:
        return f"{name}(stale, shape={self.shape})"
    values = np.array2string(np.asarray(peek(self)), prefix=f"{name}(")
    index = getattr(self, "index", None)
    return f"{name}({values})" if index is None else f"{name}({values}, index={index})"


def python_float(x: Any) -> Any:
    """An element as the Python float that it becomes."""
    if isinstance(x, Number):
        return x.in_class(x.float_class)
    return float(x) if isinstance(x, np.float64) else x


def item(self: Array, *index: Any) -> Any:
    """The one element, or the element at that (flat or full) index."""
    if not index and self.size != 1:
        raise ValueError(f"item: the array must have one element, got shape {self.shape}")
    if len(index) == 1 and not isinstance(index[0], tuple):
        return python_float(self.ravel()[index[0]])
    return python_float(self[index[0] if len(index) == 1 else index or (0,) * self.ndim])


def tolist(self: Array) -> Any:
    """The elements in nested lists."""
    if not self.shape:
        return python_float(self[()])
    return [tolist(x) if isinstance(x, Array) else python_float(x) for x in self]


def flatten(self: Array, order: str = "C") -> Any:
    """A copy of the elements in one dimension."""
    return self.ravel(order).copy()


def astype(self: Array, dtype: Any, **options: Any) -> Any:
    """A copy as float64; a plain array of the primals for an integer or boolean type, which carry no derivative."""
    if np.dtype(dtype) == np.float64:
        order = options.get("order", "K")
        return self.copy(order) if options.get("copy", True) or order != "K" else self
    if np.dtype(dtype).kind in "iub":
        return primal(self).astype(dtype, **options)
    if np.dtype(dtype) == object:
        return elements_of(self)
    raise UnsupportedError(f"astype: dtype must be float64, object, or an integer or boolean type, got {dtype}")


def fill(self: Array, y: Any) -> None:
    """Assign y to every element."""
    self[...] = y


def _comparison(name: str) -> Any:
    compare = getattr(operator, name)

    def method(x: Array, y: Any) -> Any:
        return observed(compare, x, y)

    method.__name__ = f"__{name}__"
    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Array, f"__{_name}__", _comparison(_name))


class Flat:
    """What `x.flat` is: the elements of an array by one index."""

    __slots__ = ("_array",)

    def __init__(self, x: Array) -> None:
        self._array = x

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return np.atleast_1d(self._array)[self._at(key)]

    def __setitem__(self, key: Any, y: Any) -> None:
        key = plain_key(key)
        self._array._write(lambda a, y: operator.setitem(a.flat, key, y), y)

    def _at(self, key: Any) -> Any:
        """The indices of elements: ints for one, arrays for several, so that several are copied."""
        positions = np.arange(len(self))[plain_key(key)]
        indices = np.unravel_index(positions, self._array.shape or (1,))
        return indices if np.ndim(positions) else tuple(int(k) for k in indices)


def flat(self: Array) -> Flat:
    """The elements in C order, to iterate over, read and assign."""
    return Flat(self)


def assign_flat(self: Array, y: Any) -> None:
    """Assign to the elements in C order; y is repeated as needed."""
    self._write(_write_flat, y)


def _write_flat(a: Any, y: Any) -> None:
    if isinstance(a, np.ndarray) and a.dtype == object and isinstance(y, np.ndarray) and np.may_share_memory(a, y):
        for k in range(a.size):  # NumPy's own way loses count of objects that are copied onto themselves, and crashes
            a.flat[k] = y.flat[k % y.size]
    else:
        a.flat = y


def _missing(name: str) -> property:
    """An attribute of ndarrays that arrays of variables lack; no `__getattr__`, which would slow down all others."""

    def refuse(self: Array) -> Any:
        raise AttributeError(f"an {self.kind} has no attribute {name!r}; use contad.value_of(x).{name} for a constant")

    return property(refuse, doc=f"Refused: arrays of variables have no {name}.")


def _install() -> None:
    methods: dict[str, Callable[..., Any]] = {name: _delegated(name) for name in DELEGATED}
    methods |= {name: _refused(name, remedy) for name, remedy in REFUSED.items()}
    methods |= {
        "clip": clip, "compress": compress, "conj": conj, "conjugate": conj, "sort": sort, "partition": partition,
        "__repr__": text, "__str__": text, "item": item, "tolist": tolist, "flatten": flatten, "astype": astype,
        "fill": fill,
    }  # fmt: skip
    for name, method in methods.items():
        if method.__name__ == "method":
            method.__name__, method.__qualname__ = name, f"Array.{name}"
        setattr(Array, name, method)
    for name, read in (("mT", matrix_transpose), ("itemsize", itemsize), ("nbytes", nbytes)):
        setattr(Array, name, property(read))
    Array.flat = property(flat, assign_flat)  # type: ignore[attr-defined]
    for name in dir(np.ndarray):
        if not name.startswith("_") and not hasattr(Array, name):
            setattr(Array, name, _missing(name))


_install()
