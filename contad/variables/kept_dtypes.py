"""Numbers and arrays of float32 and float16 on eager engines: variables of double precision that stand for them.

An operation gives its operands the class of double precision back, computes, and lets its result stand for the dtype
that NumPy's promotion gives. So values and adjoints have the digits of double precision, and what leaves a level is
rounded once. A function that computes in float32 would round after each of its operations.
"""

import functools
import operator
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from contad.variables.array import Array
from contad.variables.complex_pair import ComplexPair
from contad.variables.dtypes import FLOAT, KEPT
from contad.variables.number import SYMBOLS, Carrier, Number, is_real
from contad.variables.open_types import Function, Nested, Option, Options, Value

_CLASSES: dict[tuple[type, np.dtype], type] = {}
_WEAK = frozenset((float, int, bool, str, slice, type(None), type(Ellipsis)))  # which take the dtype of the others
# NumPy's functions whose result is float64 whatever their arguments are, and those that take the first one's dtype
_ALWAYS_DOUBLE: frozenset[Any] = frozenset(
    (np.bincount, np.corrcoef, np.cov, np.interp, np.polyder, np.polyfit, np.polyint, np.vander)
)
_LIKE_THE_FIRST: frozenset[Any] = frozenset(
    (np.ediff1d, np.empty_like, np.full_like, np.gradient, np.insert, np.ones_like, np.pad, np.piecewise, np.zeros_like)
)


class KeptDtype(NamedTuple):
    """The meaning of a class of variables: the class of double precision, and the dtype that it stands for."""

    double: type
    dtype: np.dtype


STANDING: dict[type, KeptDtype] = {}  # by class; empty until an argument keeps its dtype


def dtype_for(x: Value) -> np.dtype:
    """The dtype for which a variable stands; float64 for anything else."""
    standing = STANDING.get(x.__class__)
    return FLOAT if standing is None else standing.dtype


# ---- classes ---------------------------------------------------------------------------------------------------------
def class_for(cls: Any, dtype: np.dtype) -> type:
    """The class of variables that stands for a dtype, for a class of numbers or arrays."""
    if cls in STANDING:
        cls = STANDING[cls].double
    if issubclass(cls, Number):
        cls = cls.numpy_class
    if dtype == FLOAT:
        return cls
    if (cls, dtype) not in _CLASSES:
        names = {"__slots__": (), "__module__": cls.__module__, "__doc__": f"As {cls.__name__}, of {dtype}."}
        made: Any = type(f"{dtype.name.capitalize()}{cls.__name__}", (cls,), names | _methods_of(cls, dtype))
        STANDING[made] = KeptDtype(cls, dtype)
        _CLASSES[cls, dtype] = made
    return _CLASSES[cls, dtype]


def round_to(x: Value, dtype: np.dtype) -> Value:
    """A number or an array in a dtype: rounded if it is plain, standing for it if it carries a derivative."""
    if x.__class__ in _CONSTANTS:
        return dtype.type(x)
    if isinstance(x, np.ndarray):
        if x.dtype != object:
            return x.astype(dtype, copy=False)
        made = np.empty(x.shape, object)
        for k in np.ndindex(x.shape):
            made[k] = round_to(x[k], dtype)
        return made if any(isinstance(y, Carrier) for y in made.flat) else made.astype(dtype)
    cls = class_for(x.__class__, dtype) if isinstance(x, Carrier) and not x._owner.takes_any else None
    if cls is None or x.__class__ is cls:
        return x
    if isinstance(x, Number):
        return x.in_class(cls)
    with_own_class = perform(operator.getitem, (x, ...))  # a view
    with_own_class.__class__ = cls
    return with_own_class


_CONSTANTS = frozenset((float, np.float64, np.float32, np.float16))


# ---- operations ------------------------------------------------------------------------------------------------------
def perform(
    function: Function, args: tuple[Nested, ...], options: Options | None = None, elementwise: bool | None = None
) -> Value:
    """function(*args, **options) in double precision; the result stands for the dtype of NumPy's promotion."""
    options = options or {}
    if elementwise is None:
        elementwise = isinstance(getattr(function, "__self__", function), np.ufunc) or function in _OPERATORS
    found = _Operands(elementwise)
    try:
        found.take(args[:1])
        of_first = found.dtype()
        found.take((*args[1:], *options.values()))
        wanted = found.dtype()
        if function in _LIKE_THE_FIRST or function in _ALWAYS_DOUBLE:
            wanted = of_first if function in _LIKE_THE_FIRST else FLOAT
        if options.get("dtype") is not None and np.dtype(options["dtype"]) in (FLOAT, *KEPT):
            options = dict(options)
            wanted = np.dtype(options.pop("dtype"))
        z = function(*args, **options)
    finally:
        for x, cls in found.changed.values():
            x.__class__ = cls
    return z if wanted == FLOAT else found.stand_for(z, wanted)


class _Operands:
    """The variables among the operands of an operation, with their classes, and the dtypes that take part."""

    def __init__(self, is_elementwise: bool) -> None:
        self.changed: dict[int, tuple[Any, type]] = {}
        self.dtypes: set[np.dtype] = set()
        self.is_elementwise = is_elementwise  # so that integers are data and not positions

    def take(self, xs: Iterable[Nested], listed: bool = False) -> None:
        """Give variables the class of double precision, and note the dtypes."""
        for x in xs:
            cls = x.__class__
            if cls in _WEAK:
                if listed and (cls is float or (cls is int and self.is_elementwise)):
                    self.dtypes.add(FLOAT)  # an element of a list, which becomes an array
            elif cls in STANDING:
                self.changed[id(x)] = x, cls
                self.dtypes.add(STANDING[cls].dtype)
                x.__class__ = STANDING[cls].double
            elif isinstance(x, Carrier):
                if id(x) not in self.changed and not (isinstance(x, Number) and x.is_float and not listed):
                    self.dtypes.add(FLOAT)
            elif isinstance(x, (np.ndarray, np.generic)):
                if x.dtype == object:
                    self.take(x.flat)
                elif x.dtype.kind == "f" or (x.dtype.kind in "iu" and self.is_elementwise):
                    self.dtypes.add(x.dtype)
                elif x.dtype.kind == "c":
                    self.dtypes.add(x.real.dtype)
            elif isinstance(x, (list, tuple)):
                self.take(x, True)
            elif isinstance(x, dict):
                self.take(x.values())
            elif isinstance(x, ComplexPair):
                self.take((x._real, x._imag))

    def dtype(self) -> np.dtype:
        """The dtype of the result: float64 unless all that take part have less precision."""
        found = np.result_type(*self.dtypes) if self.dtypes else FLOAT
        return found if found in KEPT else FLOAT

    def stand_for(self, z: Value, dtype: np.dtype) -> Value:
        """A new result, or several; what was an operand keeps its own dtype."""
        if id(z) in self.changed or z is None:
            return z
        if isinstance(z, Carrier):
            z.__class__ = class_for(z.__class__, dtype)
            return z
        if z.__class__ is np.float64 or (isinstance(z, np.ndarray) and z.dtype in (FLOAT, object)):
            return round_to(z, dtype)
        if isinstance(z, ComplexPair):
            for part in (z._real, z._imag):
                self.stand_for(part, dtype)
            return z
        if isinstance(z, (list, tuple)):
            parts = [self.stand_for(part, dtype) for part in z]
            return type(z)(*parts) if hasattr(z, "_fields") else type(z)(parts)
        return z


def stands_in(args: Iterable[Nested]) -> bool:
    """Whether an operand stands for less precision; for callers that have found `STANDING` not empty."""
    for x in args:
        if x.__class__ in STANDING or (isinstance(x, (list, tuple)) and stands_in(x)):
            return True
        if isinstance(x, ComplexPair) and stands_in((x._real, x._imag)):
            return True
        if isinstance(x, np.ndarray) and x.dtype == object and stands_in(x.flat):
            return True
    return False


# ---- methods ---------------------------------------------------------------------------------------------------------
_BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
_UNARY = {name: getattr(operator, name) for name in ("neg", "pos", "abs")}
_OPERATORS: frozenset[Any] = frozenset(
    getattr(operator, prefix + name) for name in _BINARY for prefix in ("", "i")
) | frozenset((*_UNARY.values(), divmod))  # fmt: skip
# methods of ndarrays that do not compute with the elements
_LEFT = frozenset(("astype", "dtype", "flat", "itemsize", "nbytes", "ndim", "shape", "size", "view"))


def _methods_of(cls: type, dtype: np.dtype) -> dict[str, Any]:
    """The methods of a class that stands for a dtype."""
    made: dict[str, Any] = {
        "__array_ufunc__": _call_ufunc, "__array_function__": _call_function,
        "__getitem__": _operator(operator.getitem),
        "__divmod__": _operator(divmod), "__rdivmod__": _reflect(divmod), "__round__": _operator(round),
        "itemsize": property(lambda x: dtype.itemsize),
        "nbytes": property(lambda x: dtype.itemsize * x.size), "astype": _convert,
    }  # fmt: skip
    made |= {f"__{name}__": _operator(f) for name, f in _UNARY.items()}
    for name in _BINARY:
        made[f"__{name}__"] = _operator(getattr(operator, name))
        made[f"__r{name}__"] = _reflect(getattr(operator, name))
    for name in SYMBOLS:
        made[f"__{name}__"] = _comparison(getattr(cls, f"__{name}__"), dtype)
    for name in ("value", "adj", "tangent"):
        if hasattr(cls, name):
            made[name] = _round_read(getattr(cls, name), dtype)
    is_array = issubclass(cls, Array)
    if is_array:
        made["dtype"] = property(lambda x: dtype)
        made |= {f"__i{name}__": _operator(getattr(operator, f"i{name}")) for name in _BINARY}
        made |= {"__setitem__": _operator(operator.setitem), "__iter__": _iterate}
        made |= {"__copy__": lambda x: x.copy("K"), "__deepcopy__": lambda x, memo: x.copy("K")}
    for name in dir(np.ndarray if is_array else np.float64):
        found = getattr(cls, name, None)
        if name[0] == "_" or name in made or name in _LEFT or found is None:
            continue
        if isinstance(found, property):
            if name in ("T", "mT", "real", "imag") and found.fget is not None:
                made[name] = property(functools.partial(_read, found.fget))
        elif callable(found):
            made[name] = _method(found)
    return made


def _operator(function: Function) -> Function:
    def method(*args: Value) -> Value:
        return perform(function, args)

    return method


def _reflect(function: Function) -> Function:
    def method(y: Value, x: Value) -> Value:
        return perform(function, (x, y))

    return method


def _method(function: Function) -> Function:
    @functools.wraps(function)
    def method(*args: Value, **options: Option) -> Value:
        return perform(function, args, options)

    return method


def _read(read: Function, x: Value) -> Value:
    return perform(read, (x,))


def _comparison(compare: Function, dtype: np.dtype) -> Function:
    def method(x: Value, y: Value) -> Any:
        if y.__class__ is float:  # which NumPy rounds
            with np.errstate(over="ignore"):
                y = float(dtype.type(y))
        return compare(x, y)

    return method


def _round_read(read: Any, dtype: np.dtype) -> property:
    return property(lambda x: round_to(read.fget(x), dtype), doc=read.__doc__)


def _iterate(x: Any) -> Iterator[Value]:
    return (x[k] for k in range(len(x)))


def _convert(x: Any, dtype: Option, **options: Option) -> Value:
    """A copy in another dtype; see the method of double precision."""
    if np.dtype(dtype) not in (FLOAT, *KEPT):
        return perform(type(x).__mro__[1].astype, (x, dtype), options)  # type: ignore[attr-defined]
    copy = x.copy() if options.get("copy", True) or np.dtype(dtype) != x.dtype else x
    if np.dtype(dtype) != x.dtype:
        copy.__class__ = class_for(x.__class__, np.dtype(dtype))
    return copy


def _call_ufunc(x: Value, ufunc: np.ufunc, method: str, *inputs: Value, **options: Option) -> Value:
    return perform(getattr(ufunc, method) if method != "__call__" else ufunc, inputs, options)


def _call_function(
    x: Value, function: Function, types: Iterable[type], args: tuple[Nested, ...], options: Options
) -> Value:
    if function is getattr(np, "astype", None):
        return args[0].astype(*args[1:], **options)
    if function is np.diff and any(name in options for name in ("prepend", "append")):
        options = {key: v if key in ("n", "axis") else np.asarray(v) if is_real(v) else v for key, v in options.items()}
    return perform(function, args, options)
