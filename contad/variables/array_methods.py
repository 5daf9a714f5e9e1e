"""The methods of array variables that NumPy also has as functions, and how array variables print."""

import functools
import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.arguments import dtype_of
from contad.variables.array import Array, elements_of, numbers_in, plain_key
from contad.variables.complex_pair import COMPLEX128, ComplexArray, join
from contad.variables.dtypes import KEPT, PRECISION
from contad.variables.kept_dtypes import round_to
from contad.variables.library_refusals import IN_A_RULE, make_lost
from contad.variables.number import Number, make_missing, observe, peek, primal
from contad.variables.open_types import ArrayValue, Function, Key, Nested, Option, Real, Value

# ---- methods that call the NumPy function on the array, with the same further arguments ------------------------------
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
}


def delegate(name: str) -> Function:
    """A method that calls NumPy's function of that name on the array."""
    function = getattr(np, name)

    def method(x: Any, *args: Option, **options: Option) -> Any:
        return function(x, *args, **options)

    method.__doc__ = f"As np.{name} of this array."
    return method


def refuse_method(name: str, remedy: str) -> Function:
    """A method of numbers or arrays that raises."""

    def method(x: Any, *args: Option, **options: Option) -> Any:
        article = "an" if isinstance(x, Array) else "a"
        raise UnsupportedError(f"{name}: not supported on {article} {x.kind}; {remedy}")

    method.__doc__ = f"Refused: {remedy}."
    return method


# ---- methods with their own signatures -------------------------------------------------------------------------------
def clip(x: Array, min: Option = None, max: Option = None, out: Option = None, **options: Option) -> ArrayValue:
    """As np.clip of this array."""
    return np.clip(x, min, max, out, **options)


def compress(x: Array, condition: Option, axis: Option = None, out: Option = None) -> ArrayValue:
    """As np.compress of this array."""
    return np.compress(condition, x, axis, out=out)


def conj(x: Array) -> Array:
    """The array itself, which is real."""
    return x


def view(x: Array, dtype: Option = None) -> ArrayValue:
    """The elements as they are, or for complex128 pairs of them along the last axis; a view."""
    if dtype is None or np.dtype(dtype) == np.float64:
        return x[...]
    if np.dtype(dtype) != COMPLEX128:
        raise UnsupportedError(f"view: an {x.kind} has views of float64 and complex128, got {np.dtype(dtype)}")
    if not x.ndim or x.shape[-1] % 2:
        raise ValueError(f"view: for complex128 the last axis must be divisible by 2, got shape {x.shape}")
    return ComplexArray(x[..., ::2], x[..., 1::2])


def sort(x: Array, axis: int = -1, kind: Option = None, order: Option = None, *, stable: Option = None) -> None:
    """Sort the elements in place along an axis."""
    x[...] = np.sort(x, axis, kind, order, stable=stable)


def partition(x: Array, kth: Option, axis: int = -1, kind: Option = "introselect", order: Option = None) -> None:
    """Rearrange the elements in place along an axis, with the kth smallest in its place."""
    x[...] = np.partition(x, kth, axis, kind, order)


# ---- attributes ------------------------------------------------------------------------------------------------------
def matrix_transpose(x: Array) -> ArrayValue:
    """The last two axes exchanged, a view."""
    if x.ndim < 2:
        raise ValueError(f"mT: the array must have two or more axes, got shape {x.shape}")
    return np.swapaxes(x, -1, -2)


def itemsize(x: Array) -> int:
    """Bytes of one value."""
    return 8


def nbytes(x: Array) -> int:
    """Bytes of the values."""
    return 8 * x.size


def text(x: Array) -> str:
    """ArrayVar([1. 2.], index=3): the kind, the values as NumPy abbreviates them, and the first cell."""
    name = type(x).__name__
    if x._owner.ended is not None:
        return f"{name}(stale, shape={x.shape})"
    values = np.array2string(np.asarray(peek(x)), prefix=f"{name}(")
    index = getattr(x, "index", None)
    return f"{name}({values})" if index is None else f"{name}({values}, index={index})"


def python_float(x: Value) -> Real:
    """An element as the Python float that it becomes."""
    if isinstance(x, Number):
        return x.in_class(x.float_class)
    return float(x) if isinstance(x, np.float64) else x


def item(x: Array, *index: Key) -> Real:
    """The one element, or the element at that (flat or full) index."""
    if not index and x.size != 1:
        raise ValueError(f"item: the array must have one element, got shape {x.shape}")
    if len(index) == 1 and not isinstance(index[0], tuple):
        return python_float(x.ravel()[index[0]])
    return python_float(x[index[0] if len(index) == 1 else index or (0,) * x.ndim])


def tolist(x: Array) -> Nested:
    """The elements in nested lists."""
    if not x.shape:
        return python_float(x[()])
    return [tolist(part) if isinstance(part, Array) else python_float(part) for part in x]


def flatten(x: Array, order: str = "C") -> ArrayValue:
    """A copy of the elements in one dimension."""
    return x.ravel(order).copy()


def astype(x: Array, dtype: Option, **options: Option) -> ArrayValue:
    """A copy as float64; a plain array of the primals for an integer or boolean type, which carry no derivative."""
    if np.dtype(dtype) == np.float64:
        order = options.get("order", "K")
        return x.copy(order) if options.get("copy", True) or order != "K" else x
    if np.dtype(dtype).kind in "iub":
        return primal(x).astype(dtype, **options)
    if np.dtype(dtype) in KEPT and PRECISION.keeps:
        return round_to(x.copy(options.get("order", "K")), np.dtype(dtype))
    if np.dtype(dtype) == object:
        return elements_of(x)
    if np.dtype(dtype) == COMPLEX128:
        return join(x.copy(options.get("order", "K")), np.zeros(x.shape))
    got = dtype_of(np.empty(0, dtype))
    raise UnsupportedError(
        f"astype: dtype must be float64, complex128, object, or an integer or boolean type, got {got}"
    )


def fill(x: Array, y: Value) -> None:
    """Assign y to every element."""
    x[...] = y


def _comparison(name: str) -> Function:
    compare = getattr(operator, name)

    def method(x: Array, y: Value) -> Any:
        return observe(compare, x, y)

    method.__name__ = f"__{name}__"
    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Array, f"__{_name}__", _comparison(_name))


class Flat:
    """The type of `x.flat`: the elements of an array by one index."""

    __slots__ = ("_array",)

    def __init__(self, x: Array) -> None:
        self._array = x

    @property
    def array(self) -> Array:
        """The array to which the elements belong."""
        return self._array

    def __len__(self) -> int:
        return self._array.size

    def __iter__(self) -> Iterator[Value]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Key) -> Value:
        return np.atleast_1d(self._array)[self._at(key)]

    def __setitem__(self, key: Key, y: Value) -> None:
        key = plain_key(key)
        self._array._write(lambda a, y: operator.setitem(a.flat, key, y), y)

    def _at(self, key: Key) -> Key:
        """The indices of elements: ints for one, arrays for several, so that several are copied."""
        positions = np.arange(len(self))[plain_key(key)]
        indices = np.unravel_index(positions, self._array.shape or (1,))
        return indices if np.ndim(positions) else tuple(int(k) for k in indices)


def flat(x: Array) -> Flat:
    """The elements in C order, for iteration, reads and assignments."""
    return Flat(x)


def assign_flat(x: Array, y: Value) -> None:
    """Assign to the elements in C order, repeating y as needed."""
    x._write(_write_flat, y)


def _write_flat(a: ArrayValue, y: Value) -> None:
    if isinstance(a, np.ndarray) and a.dtype == object and isinstance(y, np.ndarray) and np.may_share_memory(a, y):
        for k in range(a.size):  # NumPy's own code miscounts references to objects copied onto themselves, and crashes
            a.flat[k] = y.flat[k % y.size]
    else:
        a.flat = y


_MEMORY = ("ctypes", "data")  # the arguments of C code


def _missing(name: str) -> property:
    """An attribute of ndarrays that arrays of variables lack; no `__getattr__`, which would slow down all others."""

    def refuse(x: Array) -> Any:
        if name == "strides" and str(sys._getframe(1).f_globals.get("__name__")).startswith("scipy."):
            raise make_lost(f"strides: an {x.kind} has none", x.kind, x._owner)  # which names SciPy's function
        remedy = IN_A_RULE if name in _MEMORY else f"use contad.value_of(x).{name} for a constant"
        raise make_missing(x, name, remedy)

    return property(refuse, doc=f"Refused: arrays of variables have no {name}.")


def _refuse_addresses() -> None:
    """Let `x.ctypes` refuse object arrays of variables, whose memory code in C would take for floats.

    NumPy does not ask the elements. It makes an object of a Python class, and contad makes this class check them.
    """
    pointers: Any = type(np.empty(0).ctypes)
    make = pointers.__init__

    @functools.wraps(make)
    def make_checked(made: Any, array: np.ndarray, ptr: int | None = None) -> None:
        if array.dtype.hasobject:
            for n in numbers_in(array)[:1]:
                raise AttributeError(f"an object array of {n.kind}s has no attribute 'ctypes'; {IN_A_RULE}")
        make(made, array, ptr)

    pointers.__init__ = make_checked


def _install() -> None:
    methods: dict[str, Function] = {name: delegate(name) for name in DELEGATED}
    methods |= {name: refuse_method(name, remedy) for name, remedy in REFUSED.items()}
    methods |= {
        "clip": clip, "compress": compress, "conj": conj, "conjugate": conj, "sort": sort, "partition": partition,
        "__repr__": text, "__str__": text, "item": item, "tolist": tolist, "flatten": flatten, "astype": astype,
        "fill": fill, "view": view,
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
_refuse_addresses()
