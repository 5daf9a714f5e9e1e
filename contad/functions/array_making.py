"""NumPy functions that make arrays, for code that assigns variables to elements of these arrays.

An ndarray of floats has no room for a variable. If a function, or one that it reaches, writes to elements, it runs as a
copy of itself that finds these (see `contad.functions.callees`): while a derivative is taken, they make float64 arrays
as `contad.zeros` does. Such an array is constant until the code assigns a variable. From lists with variables,
`np.array` and its kin make array variables, whether the code assigns or not.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.array import Array, as_array, as_objects
from contad.variables.array_methods import Flat
from contad.variables.complex_pair import (
    COMPLEX128,
    ComplexArray,
    ComplexPair,
    holds_complex,
    imag_part,
    join,
    real_part,
)
from contad.variables.creation import array, assignable, full as full_of, makes_arrays_of_variables
from contad.variables.dtypes import FLOAT, KEPT, PRECISION, require_float64
from contad.variables.kept_dtypes import STANDING, round_to, stands_in
from contad.variables.layout import box_up
from contad.variables.number import Carrier, Number, map_numbers, peek, primal
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Options, Value
from contad.variables.overlaps import forbid_writing
from contad.variables.trees import holds_carriers, holds_number, map_lists


def _with_room(a: ArrayValue) -> ArrayValue:
    """A new float array, as one to which variables can be assigned; anything else unchanged.

    Engines without array variables would need object arrays, for which NumPy computes little, so none is made.
    """
    if a.__class__ is np.ndarray and a.dtype in KEPT and PRECISION.keeps:
        made = _with_room(a.astype(FLOAT))
        return a if made.__class__ is np.ndarray else round_to(made, a.dtype)
    if a.__class__ is not np.ndarray or a.dtype not in _ROOMY or not a.size or not makes_arrays_of_variables():
        return a
    return assignable(a) if a.dtype == FLOAT else ComplexArray(assignable(a.real), assignable(a.imag))


_ROOMY = FLOAT, COMPLEX128


def _making(name: str, make: Function | None = None) -> Function:
    """np.zeros and its kin: new arrays have room for variables; an existing array is returned unchanged."""
    function = make or getattr(np, name)

    @functools.wraps(function)
    def make_array(*args: Nested, **options: Option) -> ArrayValue:
        a = function(*args, **options)
        return a if args and a is args[0] else _with_room(a)

    return make_array


@functools.wraps(np.full)
def full(shape: Option, fill_value: Value, dtype: Option = None, order: Option = "C", **options: Option) -> ArrayValue:
    """np.full; for a variable, an array of variables."""
    if isinstance(fill_value, ComplexPair) or (isinstance(fill_value, Carrier) and _is_complex(dtype)):
        _require_complex("np.full", dtype)
        return join(full_of(shape, real_part(fill_value)), full_of(shape, imag_part(fill_value)))
    if not isinstance(fill_value, Carrier):
        return box_up(np.full(shape, fill_value, dtype, order, **options))
    require_float64("np.full", dtype)
    return full_of(shape, fill_value)


@functools.wraps(np.full_like)
def full_like(a: Value, fill_value: Value, *args: Option, **options: Option) -> ArrayValue:
    """np.full_like; for a variable, an array of variables."""
    if isinstance(a, (Carrier, ComplexPair)) or not isinstance(fill_value, (Carrier, ComplexPair)):
        return box_up(np.full_like(a, fill_value, *args, **options))
    dtype = args[0] if args else options.get("dtype")
    if dtype is None and np.asarray(a).dtype.kind in "iub":  # to which NumPy converts the value: it is a constant
        return np.full_like(a, map_numbers(primal, fill_value), *args, **options)
    shape = options.get("shape")
    dtype = np.asarray(a).dtype if dtype is None and np.asarray(a).dtype.kind == "c" else dtype
    return full(np.shape(a) if shape is None else shape, fill_value, dtype)


# ---- arrays from existing values -------------------------------------------------------------------------------------
def _converting(name: str) -> Function:
    """np.array and its kin; from variables, or a list with variables, they make an array variable."""
    convert = getattr(np, name)

    @functools.wraps(convert)
    def convert_variables(x: Nested, *args: Option, **options: Option) -> ArrayValue:
        if isinstance(x, Flat):
            return convert_variables(_elements(x), *args, **{"copy": None, **options})
        if not holds_carriers(x):
            return convert(x, *args, **options)
        dtype = args[0] if args else options.pop("dtype", None)
        if dtype is not None and np.dtype(dtype) == object:
            return convert(x, dtype, *args[1:], **options)
        if _is_complex(dtype) or holds_complex(x):
            _require_complex(f"np.{name}", dtype)
            if isinstance(x, ComplexArray) and not options.get("copy", name == "array"):
                return x
            parts = (map_lists(part, x) for part in (real_part, imag_part))
            return join(*(convert_variables(part, FLOAT, *args[1:], **options) for part in parts))
        keeps = PRECISION.keeps or (STANDING and stands_in((x,)))
        if dtype is not None and keeps and np.dtype(dtype) in (FLOAT, *KEPT):
            z = convert_variables(x, None, *args[1:], **options)
            return z if isinstance(z, np.ndarray) else round_to(z, np.dtype(dtype))
        require_float64(f"np.{name}", dtype)
        order = _ORDERED.get(name) or (args[1] if len(args) > 1 else options.pop("order", None)) or "K"
        refuses_copies = "copy" in options
        copy = options.pop("copy", name == "array")
        axes = options.pop("ndmin", int(name in _ORDERED))
        options.pop("subok", None)
        if options:
            raise UnsupportedError(f"np.{name}: {next(iter(options))}= is not supported on variables")
        z = _of_variables(x, copy is True, order)
        flags = (z if isinstance(z, np.ndarray) else peek(z)).flags
        if (order == "C" and not flags.c_contiguous) or (order == "F" and not flags.f_contiguous):
            if copy is False and refuses_copies:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            z = z.copy(order)
        return z.reshape((1,) * (axes - z.ndim) + z.shape) if axes > z.ndim else z

    return convert_variables


def _is_complex(dtype: Option) -> bool:
    return dtype is not None and np.dtype(dtype).kind == "c"


def _require_complex(name: str, dtype: Option) -> None:
    """Refuse a dtype that complex variables do not have."""
    if dtype is not None and np.dtype(dtype) != COMPLEX128:
        raise UnsupportedError(f"{name}: dtype must be complex128 on complex variables, got {np.dtype(dtype)}")


_ORDERED = {"ascontiguousarray": "C", "asfortranarray": "F"}


def _elements(x: Flat) -> ArrayValue:
    """The elements of x.flat, as in NumPy: a view, or a copy that it writes back if no view is possible."""
    a = x.array
    if peek(a).flags.c_contiguous:
        return a.reshape(-1)
    what = "np.asarray: a.flat of an array that is not contiguous"
    return forbid_writing(a.ravel().copy(), f"{what}; write to a.flatten()")


def _of_variables(x: Nested, copy: bool, order: Option) -> ArrayValue:
    if isinstance(x, Array):
        return x.copy(order) if copy else x
    if isinstance(x, Number):
        return as_array(x)
    if isinstance(x, np.ndarray) and (x.ndim == 0 or not makes_arrays_of_variables()):
        return box_up(x.copy(order) if copy else x)
    return array(x)


@functools.wraps(np.fromiter)
def fromiter(iterable: Any, dtype: Option, *args: Option, **options: Option) -> ArrayValue:
    """np.fromiter, also for an iterable of variables."""
    items = list(iterable)
    if not holds_carriers(items):
        return np.fromiter(items, dtype, *args, **options)
    if _is_complex(dtype):
        return CONVERSIONS["array"](items, dtype)
    require_float64("np.fromiter", dtype)
    return array(items)


class Concatenator:
    """np.r_ or np.c_, also of arrays of variables and lists with variables: it moves their elements to where NumPy's
    own object puts their positions."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        if not holds_carriers(key) or not makes_arrays_of_variables():
            return self.own[key]
        places: list[Any] = []
        pieces: list[ArrayValue] = []
        count = 0
        for item in key if isinstance(key, tuple) else (key,):
            if isinstance(item, str):
                places.append(item)
                continue
            piece = np.r_[item] if isinstance(item, slice) else array(item) if holds_carriers(item) else item
            n, shape = np.size(piece), np.shape(piece)
            places.append(np.arange(count, count + n).reshape(shape) if shape else count)
            pieces.append(np.ravel(piece))
            count += n
        return np.concatenate(pieces)[np.asarray(self.own[tuple(places)])]


def ndenumerate(a: Nested) -> Any:
    """np.ndenumerate, also of an array of variables."""
    return ((k, a[k]) for k in np.ndindex(a.shape)) if isinstance(a, Array) else np.ndenumerate(a)


CONVERSIONS: dict[str, Function] = {
    name: _converting(name) for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
}
CONVERSIONS |= {"fromiter": fromiter, "full": full, "full_like": full_like}
SELECTIONS: dict[str, Any] = {"ndenumerate": ndenumerate, "r_": Concatenator(np.r_), "c_": Concatenator(np.c_)}
CREATIONS: dict[str, Function] = {name: _making(name, of) for name, of in CONVERSIONS.items()} | {
    name: _making(name)
    for name in ("zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "eye", "identity", "arange",
                 "linspace", "logspace", "geomspace", "copy")
}  # fmt: skip


# ---- np.vectorize ----------------------------------------------------------------------------------------------------
class Vectorized:
    """np.vectorize(f), with f called for each element of arrays of variables."""

    def __init__(self, pyfunc: Function, *args: Any, **options: Any) -> None:
        self.of_numbers = np.vectorize(pyfunc, *args, **options)
        self.of_objects = np.vectorize(pyfunc, *args, **options)
        types = self.of_numbers.otypes
        self.of_objects.otypes = types and "O" * len(types)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.of_numbers, name)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        if not holds_number((args, kwargs)):
            return self.of_numbers(*args, **kwargs)
        if holds_complex([*args, *kwargs.values()]):
            return self._call_each(args, kwargs)
        boxes = {name: _as_objects(x) for name, x in kwargs.items()}
        result = self.of_objects(*map(_as_objects, args), **boxes)
        return tuple(map(_as_array, result)) if isinstance(result, tuple) else _as_array(result)


    def _call_each(self, args: Sequence[Nested], kwargs: Options) -> Nested:
        """The results at complex numbers, element by element."""
        vectorize: Any = self.of_numbers
        if vectorize.signature is not None or vectorize.excluded:
            raise UnsupportedError("np.vectorize: signature= and excluded= are not supported on complex variables")
        names = [*kwargs]
        cells = np.broadcast(*map(as_objects, (*args, *kwargs.values())))
        results = [
            vectorize.pyfunc(*one[: len(args)], **dict(zip(names, one[len(args) :], strict=True))) for one in cells
        ]
        if isinstance(results[0], tuple):
            return tuple(np.reshape(array(list(each)), cells.shape) for each in zip(*results, strict=True))
        return np.reshape(array(results), cells.shape)


def stand_for_vectorized(x: np.vectorize, pyfunc: Function) -> Vectorized:
    """The stand-in for an object of np.vectorize, with another function."""
    new = Vectorized(pyfunc, x.otypes, None, x.excluded, x.cache, x.signature)
    new.of_numbers.__doc__ = x.__doc__
    return new


def _as_objects(x: Nested) -> Nested:
    return as_objects(x) if isinstance(x, (Array, Number, ComplexPair)) else x


def _as_array(z: Nested) -> Nested:
    return array(z) if isinstance(z, np.ndarray) and z.dtype == object else z
