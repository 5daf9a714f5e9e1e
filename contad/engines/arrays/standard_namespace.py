"""The namespace of the array API standard for variables: `xp = x.__array_namespace__()` inside a function.

NumPy has the standard's names, and a variable answers NumPy's functions. So a function of the namespace calls NumPy's
function of that name on variables, and the library's own on everything else.
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from contad.engines.arrays.libraries import Library
from contad.errors import UnsupportedError
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Option, Options, Value

_OPTIONS = {"correction": "ddof"}  # the standard's names of options that NumPy's functions of older releases lack


class StandardNamespace:
    """The functions, dtypes and constants of the standard, as a library has them, on variables too."""

    _known: ClassVar[dict[int, "StandardNamespace"]] = {}

    def __init__(self, library: Library, module: Any = np, native: Any = None) -> None:
        self._library, self._module = library, module
        self._native = library.namespace if native is None else native

    @classmethod
    def of(cls, library: Library) -> "StandardNamespace":
        """The one namespace of a library."""
        found = cls._known.get(id(library))
        if found is None:
            found = cls._known[id(library)] = cls(library)
        return found

    @property
    def __name__(self) -> str:
        """A name of its own: extensions of the standard take their general way."""
        return f"contad.{self._library.name}"

    def __repr__(self) -> str:
        return f"<the array API standard for {self._library.name}, on variables>"

    def __getattr__(self, name: str) -> Any:
        if name == "__array_namespace_info__":
            return getattr(self._native, name)
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("linalg", "fft"):
            found: Any = StandardNamespace(self._library, getattr(np, name), getattr(self._native, name))
        elif name in WRITTEN and self._module is np:
            found = self._either(WRITTEN[name], name)
        else:
            numpy_function: Any = getattr(self._module, name, None)
            is_function = callable(numpy_function) and not isinstance(numpy_function, type)
            found = self._either(_translate(numpy_function), name) if is_function else getattr(self._native, name)
        setattr(self, name, found)
        return found

    def _either(self, on_variables: Function, name: str) -> Function:
        """The function on variables, and the library's own on other arguments."""
        native: list[Function] = []

        def call(*args: Value, **options: Option) -> Any:
            for x in (*args, *options.values()):
                if isinstance(x, Carrier) or (
                    isinstance(x, (list, tuple)) and any(isinstance(y, Carrier) for y in x)
                ):
                    return on_variables(*args, **options)
            if not native:
                native.append(getattr(self._native, name))
            return native[0](*args, **options)

        call.__name__ = name
        return call


def _translate(function: Function) -> Function:
    """NumPy's function with the standard's options."""

    def call(*args: Value, **options: Options) -> Any:
        return function(*args, **{_OPTIONS.get(key, key): x for key, x in options.items()})

    return call


# ---- functions that NumPy writes in another way ----------------------------------------------------------------------
def astype(x: Value, dtype: Option, /, *, copy: bool = True, device: Option = None) -> Value:
    """x in another dtype: a variable for floats."""
    return x.astype(dtype)


def asarray(x: Value, /, *, dtype: Option = None, device: Option = None, copy: Option = None) -> Value:
    """x itself, a variable."""
    if device is not None and device != x.device:
        raise UnsupportedError("asarray: a variable stays on its device", level=x._owner)
    return x if dtype is None or dtype == x.dtype else x.astype(dtype)


def unstack(x: Value, /, *, axis: int = 0) -> tuple[Value, ...]:
    """The parts of an array along an axis."""
    return tuple(np.moveaxis(x, axis, 0)[k, ...] for k in range(x.shape[axis]))


def cumulative_sum(
    x: Value, /, *, axis: int | None = None, dtype: Option = None, include_initial: bool = False
) -> Value:
    """The sums of the first elements, with 0 before them on demand."""
    return _accumulate(np.cumsum, 0.0, x, axis, include_initial)


def cumulative_prod(
    x: Value, /, *, axis: int | None = None, dtype: Option = None, include_initial: bool = False
) -> Value:
    """The products of the first elements, with 1 before them on demand."""
    return _accumulate(np.cumprod, 1.0, x, axis, include_initial)


def _accumulate(function: Function, first: float, x: Value, axis: int | None, include_initial: bool) -> Value:
    k = 0 if axis is None else axis % x.ndim
    z = function(x, axis=k)
    if not include_initial:
        return z
    start = x[(slice(None),) * k + (slice(0, 1),)] * 0.0 + first
    return np.concatenate([start, z], axis=k)


def sort(x: Value, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Value:
    """The elements in order along an axis."""
    return -np.sort(-x, axis) if descending else np.sort(x, axis)


def argsort(x: Value, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Value:
    """The positions of the elements in order."""
    return np.argsort(-x if descending else x, axis)


def repeat(x: Value, repeats: Any, /, *, axis: int | None = None) -> Value:
    """Each element several times."""
    return np.repeat(x, repeats, axis)


def vecdot(x: Value, y: Value, /, *, axis: int = -1) -> Value:
    """The dot products of vectors along an axis."""
    return np.sum(x * y, axis=axis)


def diff(x: Value, /, *, axis: int = -1, n: int = 1, prepend: Option = None, append: Option = None) -> Value:
    """The differences of neighbours."""
    given = [part for part in (prepend, x, append) if part is not None]
    z = np.concatenate(given, axis=axis) if len(given) > 1 else x
    for _ in range(n):
        k = axis % z.ndim
        lead = (slice(None),) * k
        z = z[(*lead, slice(1, None))] - z[(*lead, slice(None, -1))]
    return z


WRITTEN: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (astype, asarray, unstack, cumulative_sum, cumulative_prod, sort, argsort, repeat, vecdot, diff)
}
