"""Methods of plain arrays that need more than NumPy offers where variables occur, for copies of functions.

`dot` would convert a variable that is passed to it; `copy` makes an array, to which variables may be assigned. On an
object array of variables, `tobytes` and `from_buffer` read the references, and `conj` makes a copy. `shuffle` of
NumPy's generators swaps rows, and the rows of an array of variables are views.
"""

import functools
from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any

import numpy as np

from contad.functions.array_making import CREATIONS
from contad.functions.object_arrays import require_no_references
from contad.variables.array import Array
from contad.variables.number import Number


class _Dot:
    """x.dot for any x: for a plain array it is NumPy's function, which dispatches on its arguments."""

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(np.dot, x) if x.__class__ is np.ndarray else x.dot


class _Copy:
    """x.copy for any x: for a plain array it is the np.copy of functions that assign to elements."""

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(_copy, x) if x.__class__ is np.ndarray else x.copy


def _copy(x: Any, order: str = "C") -> Any:
    return CREATIONS["copy"](x, order)


class _Bytes:
    """x.tobytes for any x."""

    def __getitem__(self, x: Any) -> Any:
        require_no_references("tobytes", x)
        return x.tobytes


class _FromBuffer:
    """x.from_buffer of a ctypes class, or any other method of this name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, x: Any) -> Any:
        return functools.partial(self._call, getattr(x, self.name))

    def _call(self, method: Any, *args: Any, **options: Any) -> Any:
        for y in args:
            require_no_references(self.name, y)
        return method(*args, **options)


class _Conjugate:
    """x.conj, or x.conjugate, for any x: on an object array of variables it returns the array itself, as for floats."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype == object and all(isinstance(v, Number) for v in x.flat):
            return lambda: x
        return getattr(x, self.name)


class _Shuffle:
    """x.shuffle for any x."""

    def __getitem__(self, x: Any) -> Any:
        return shuffling(x.shuffle) or x.shuffle


def shuffling(method: Any) -> Callable[..., None] | None:
    """The replacement of the method `shuffle` of a NumPy generator; None for anything else."""
    if method.__class__ is not MethodType or method.__name__ != "shuffle":
        return None
    return functools.partial(_shuffle, method) if type(method.__self__).__module__.startswith("numpy.random") else None


def _shuffle(method: Any, x: Any, axis: int = 0) -> None:
    """Shuffle an array of variables as the generator shuffles the positions along the axis."""
    options = {"axis": axis} if axis else {}  # which older generators do not take
    if not isinstance(x, Array) or not x.ndim:
        return method(x, **options)
    positions = np.arange(x.shape[axis]).reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
    method(positions, **options)
    x[...] = np.take(x, positions.ravel(), axis)
    return None


METHODS: Mapping[str, Any] = {"dot": _Dot(), "tobytes": _Bytes(), "shuffle": _Shuffle()} | {
    name: _Conjugate(name) for name in ("conj", "conjugate")
} | {
    name: _FromBuffer(name) for name in ("from_buffer", "from_buffer_copy")
}
ASSIGNABLE_METHODS = {**METHODS, "copy": _Copy()}  # if variables are assigned to elements
