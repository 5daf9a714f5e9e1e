"""The interface of np.float64 beyond arithmetic, on numbers that carry derivatives: attributes, methods, functions.

For NumPy, elements of arrays are np.float64, which pass for arrays without axes. So do the numbers here: contad makes
such an array of the number, calls NumPy, and returns the element of the result.
"""

import operator
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.protocols.complex_functions import array_function_of_arrays
from contad.rules.numpy_functions import entry_of, find_exported_name
from contad.rules.scalar_rule import is_nested
from contad.variables import kept_dtypes
from contad.variables.array import Array, as_array
from contad.variables.array_methods import DELEGATED, REFUSED, Flat, refuse_method
from contad.variables.complex_pair import ComplexPair, holds_complex
from contad.variables.dtypes import FLOAT, KEPT, PRECISION, require_float64
from contad.variables.number import Number, give_to_numpy_classes, observe, peek
from contad.variables.open_types import Function, Key, Option, Options, Value


# ---- numbers as arrays without axes ----------------------------------------------------------------------------------
def as_number(z: Value) -> Value:
    """The element of a result without axes, as NumPy returns it; results with axes unchanged."""
    if isinstance(z, (np.ndarray, Array)) and z.shape == ():
        z = z[()]
    if z.__class__ is float:
        return np.float64(z)
    return z.in_class(z.numpy_class) if isinstance(z, Number) and z.is_float else z


# ---- NumPy's functions -----------------------------------------------------------------------------------------------
# functions whose result is a number, unless options say otherwise
_REDUCTIONS = {np.sum, np.prod, np.max, np.min, np.mean, np.amax, np.amin, np.median}
_TRUTHS = (np.any, np.all)


def array_function(
    number: Number, function: Function, types: Sequence[type], args: tuple[Value, ...], kwargs: Options
) -> Value:
    """Dispatch a NumPy function that was called with a number, by treating numbers as arrays without axes."""
    if len(types) > 1 and any(issubclass(t, ComplexPair) for t in types):
        return NotImplemented  # complex numbers handle it
    if isinstance(kwargs.get("out"), Array):
        return NotImplemented  # the array handles it
    if len(args) == 1 and args[0].__class__ is number.__class__ and not kwargs:
        if function in _REDUCTIONS:
            return as_number(number)
        if function in _TRUTHS:
            return np.bool_(observe(operator.ne, number, 0.0))
    found = entry_of(function)
    given = (*args, *kwargs.values())
    if not any(isinstance(x, (Number, Array)) for x in given) and not any(issubclass(t, Array) for t in types):
        if any(map(holds_complex, given)):
            return array_function_of_arrays(function, args, kwargs)
        found = None  # numbers in a list: np.array would make an object array of them
    if found is None:
        own = getattr(function, "_implementation", None)  # NumPy's own, which may work on numbers like these
        if own is None:
            raise UnsupportedError(f"np.{function.__name__}: not supported on variables; use contad.value_of(v)")
        return own(*args, **kwargs)
    if function in _OF_AXES and isinstance(args[0] if args else None, Number):
        args, kwargs = _without_axis(function, args, kwargs)
        if kwargs.get("dtype") is not None:
            require_float64(find_exported_name(function), kwargs["dtype"])
            kwargs = {key: x for key, x in kwargs.items() if key != "dtype"}
    if found.kind != "rule":
        args = tuple(map(as_array, args))
        kwargs = {key: as_array(x) for key, x in kwargs.items()}
    z = found.implementation(*args, **kwargs)
    if function in _MAKERS:
        return z
    return tuple(map(as_number, z)) if isinstance(z, tuple) else as_number(z)


# functions of an array, followed by an axis
_OF_AXES = {
    np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.amax, np.amin, np.ptp, np.any, np.all, np.argmax,
    np.argmin, np.median, np.average, np.cumsum, np.cumprod, np.nansum, np.nanprod, np.nanmax, np.nanmin, np.nanmean,
}  # fmt: skip


# functions that assign to arrays, which stay arrays without axes
_MAKERS = {np.zeros_like, np.empty_like, np.ones_like, np.full_like, np.copy}


def _without_axis(function: Function, args: tuple[Value, ...], kwargs: Options) -> tuple[tuple[Value, ...], Options]:
    """The arguments without the axis, which a number lacks: NumPy accepts 0 and -1, and refuses others."""
    options = dict(kwargs)
    axis = args[1] if len(args) > 1 else options.pop("axis", None)
    if axis is None:
        return args, kwargs
    function(1.0, axis=axis)
    return (args[0], None, *args[2:]) if len(args) > 1 else args, options


# ---- attributes ------------------------------------------------------------------------------------------------------
def dtype(x: Number) -> Value:
    """float64, or the dtype for which it stands, except for NumPy's own means and variances.

    These would convert elements of object arrays to it.
    """
    frame = sys._getframe(1)
    if str(frame.f_globals.get("__name__")).endswith(("core._methods", "_nanfunctions_impl", "nanfunctions")):
        if _is_variance_of_equals(x, frame):
            return _OfEqualNumbers(x)  # which asks for a type in order to convert the root of a variance
        raise AttributeError("dtype")
    return kept_dtypes.dtype_for(x)


def _is_variance_of_equals(x: Number, frame: FrameType) -> bool:
    """Whether x is a variance of 0, whose root is a constant for a first derivative."""
    if is_nested(x) or peek(x) != 0.0 or frame.f_code.co_name not in ("_std", "nanstd"):
        return False
    return not observe(operator.ne, x, 0.0)


def sqrt(x: Value) -> Value:
    """The root of an element of an object array, which NumPy calls; for the variance of equal numbers the variance
    itself, 0."""
    return x if _is_variance_of_equals(x, sys._getframe(1)) else np.sqrt(x)


class _OfEqualNumbers:
    """Makes the standard deviation of equal numbers from their variance: 0, with derivative 0."""

    def __init__(self, variance: Number) -> None:
        self.type = lambda root: variance


def getitem(x: Number, key: Key) -> Value:
    """x[()], x[...] and x[None], as for an array without axes."""
    try:
        z = as_array(x)[key]
    except IndexError:
        raise IndexError("invalid index to scalar variable.") from None
    return z if key is Ellipsis else as_number(z)


def item(x: Number, *index: Key) -> Value:
    """The number as a Python float."""
    if index and index not in ((0,), (-1,), ((),)):
        raise IndexError(f"item: a number has one element, at index 0, got {index}")
    return x.in_class(x.float_class)


def itself(x: Number) -> Number:
    """The number itself, which is real."""
    return x


def copy(x: Number) -> Value:
    """The number itself, which is immutable."""
    return as_number(x)


def round_to(x: Value, decimals: int = 0, out: Option = None) -> Value:
    """As np.round of this number."""
    return np.round(x, decimals, out)


def astype(x: Number, dtype: Option, **options: Option) -> Value:
    """The number itself as float64; a plain number for an integer or boolean type, which carry no derivative."""
    if np.dtype(dtype) == object:
        return x.in_class(x.float_class)
    if np.dtype(dtype) == FLOAT:
        return as_number(x)
    if np.dtype(dtype).kind == "b":
        return np.bool_(observe(operator.ne, x, 0.0))
    if np.dtype(dtype).kind in "iu":
        return np.dtype(dtype).type(observe(int, x))
    if np.dtype(dtype) in KEPT and PRECISION.keeps:
        return kept_dtypes.round_to(x, np.dtype(dtype))
    raise UnsupportedError(f"astype: dtype must be float64, object, or an integer or boolean type, got {dtype}")


def is_integer(x: Value) -> bool:
    """Whether the value is a whole number."""
    return bool(observe(operator.eq, x, np.floor(x)))


def logical_xor(x: Number, other: Value) -> Value:
    """Whether exactly one of the two numbers is zero."""
    return np.bool_(bool(x) != bool(other))


def fmod(x: Value, other: Value) -> Value:
    """Refused, as np.fmod of a number."""
    return np.fmod(x, other)


def _delegate(name: str) -> Function:
    function = getattr(np, name)

    def method(x: Number, *args: Option, **options: Option) -> Value:
        return array_function(x, function, (), (x, *args), options)

    method.__doc__ = f"As np.{name} of this number."
    return method


def _of_array(name: str) -> Function:
    def method(x: Number, *args: Option, **options: Option) -> Value:
        return as_number(getattr(as_array(x), name)(*args, **options))

    method.__doc__ = f"As {name} of an array without axes."
    return method


_OF_VALUES = ("as_integer_ratio", "hex", "fromhex", "to_device", "choose", "searchsorted")
_CONSTANT = "use contad.value_of(v).{}() where a constant is meant"
_IMMUTABLE = "numbers are immutable; make an array of it, contad.array([v])"
REMEDIES = {name: remedy for name, remedy in REFUSED.items() if name not in ("resize", "setflags")} | {
    name: _CONSTANT.format(name) for name in _OF_VALUES
}  # fmt: skip
REMEDIES |= dict.fromkeys(("fill", "put", "resize", "setflags", "sort"), _IMMUTABLE)
REMEDIES |= dict.fromkeys(("getfield", "setfield"), "use contad.value_of(v) where a constant is meant")
REMEDIES |= {"view": "use v.copy()", "byteswap": "use contad.value_of(v), whose bytes it swaps"}


def _constant(value: Value) -> property:
    return property(lambda x: value, doc=f"{value!r}, as of an np.float64.")


def _missing(name: str) -> property:
    def refuse(x: Number) -> Value:
        raise AttributeError(f"a {x.kind} has no attribute {name!r}; use np.float64(contad.value_of(v)).{name}")

    return property(refuse, doc=f"Refused: a number that carries a derivative has no {name}.")


def _install() -> None:
    own_names = set(dir(np.float64)) - set(REMEDIES)
    methods: dict[str, Any] = {name: _delegate(name) for name in DELEGATED if name in own_names}
    methods |= {name: _of_array(name) for name in ("flatten", "ravel", "reshape", "transpose", "clip", "compress")}
    methods |= {name: refuse_method(name, remedy) for name, remedy in REMEDIES.items()}
    methods |= {
        "tolist": item, "copy": copy, "astype": astype, "conj": copy, "conjugate": copy,
        "round": round_to, "__getitem__": getitem,
    }  # fmt: skip
    for name, method in methods.items():
        if method.__name__ == "method":
            method.__name__, method.__qualname__ = name, f"Number.{name}"
    of_floats = {"is_integer": is_integer, "conjugate": itself, "item": item, "__array_function__": array_function}
    for name, own in (of_floats | {name: methods[name] for name in ("as_integer_ratio", "hex", "fromhex")}).items():
        setattr(Number, name, own)
    # NumPy's loops over object arrays ask their elements for a method of the ufunc's name
    of_ufuncs = {"degrees": "rad2deg", "radians": "deg2rad", "fabs": "absolute"}
    for name, of_rule in of_ufuncs.items():
        setattr(Number, name, getattr(Number, of_rule))
    for name, other in (("logical_xor", logical_xor), ("fmod", fmod), ("sqrt", sqrt)):
        setattr(Number, name, other)
    constants = {"shape": (), "ndim": 0, "size": 1, "itemsize": 8, "nbytes": 8, "strides": (), "base": None}
    properties = {name: _constant(value) for name, value in (constants | {"device": "cpu"}).items()}
    properties |= {"T": property(copy), "flat": property(lambda x: Flat(as_array(x))), "dtype": property(dtype)}
    properties |= {name: _missing(name) for name in ("data", "flags")}
    # without __iter__ Python would ask for x[0], x[1] and so on
    give_to_numpy_classes(methods | properties | {"__iter__": None})


_install()
