"""NumPy functions that are silently wrong on lists and object arrays of variables, with correct answers.

np.logical_or asks an object only for its truth and returns the object, np.fmax of objects does not look for nan,
np.nan_to_num leaves objects as they are, np.sinc of them is flat at 0, np.floor gives Python's ints and no nan,
np.linalg.norm of zeros takes a root, whose derivative is nan there, and np.frombuffer reads references. None of them
asks contad, and neither does np.linalg.matrix_power, which refuses stacks of objects. A function that names one of them
runs as a copy of itself that finds these (see `contad.functions.callees`).
"""

import functools
import math
import operator
from typing import Any

import numpy as np

from contad.errors import LostDerivativeError
from contad.rules.numpy_functions import entry_of
from contad.variables.array import Array, numbers_in
from contad.variables.complex_pair import as_pair, holds_pairs
from contad.variables.creation import array
from contad.variables.library_refusals import IN_A_RULE
from contad.variables.number import Number, is_real, peek
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Real, Value
from contad.variables.trees import holds_carriers


def _numbers(x: Value) -> ArrayValue:
    """x as an array, if it is an object array, or a list, of variables and numbers; None if NumPy is right."""
    if isinstance(x, (list, tuple)) and holds_carriers(x):
        x = array(x)
    if isinstance(x, Array):
        return x
    if not isinstance(x, np.ndarray) or x.dtype != object:
        return None
    return x if all(isinstance(v, (Number, bool, np.bool_)) or is_real(v) for v in x.flat) else None


def _take(x: Value) -> Value:
    """x; as an array if it is an object array, or a list, of variables and numbers."""
    numbers = _numbers(x)
    return x if numbers is None else numbers


_truth_of_element = np.frompyfunc(bool, 1, 1)


def _truths(x: Value) -> Value:
    """The truth value of each element of a list or an object array of variables; anything else unchanged."""
    numbers = _numbers(x)
    if numbers is None:
        return x
    return np.asarray(_truth_of_element(numbers), dtype=bool) if isinstance(numbers, np.ndarray) else numbers


class _Answering:
    """A ufunc with another call for variables in lists and object arrays; everything else is the ufunc's."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.ufunc = ufunc
        self.__name__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__

    def __repr__(self) -> str:
        return repr(self.ufunc)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ufunc, name)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return type(self), (self.ufunc,)


class Logical(_Answering):
    """A logical ufunc that returns bools for variables."""

    def __call__(self, *inputs: Value, **options: Option) -> Value:
        return self.ufunc(*map(_truths, inputs[: self.ufunc.nin]), *inputs[self.ufunc.nin :], **options)

    def reduce(self, x: Value, *args: Option, **options: Option) -> Value:
        return self.ufunc.reduce(_truths(x), *args, **options)

    def accumulate(self, x: Value, *args: Option, **options: Option) -> ArrayValue:
        return self.ufunc.accumulate(_truths(x), *args, **options)

    def reduceat(self, x: Value, *args: Option, **options: Option) -> ArrayValue:
        return self.ufunc.reduceat(_truths(x), *args, **options)

    def outer(self, x: Value, y: Value, **options: Option) -> ArrayValue:
        return self.ufunc.outer(_truths(x), _truths(y), **options)


class ElementwiseUfunc(_Answering):
    """A ufunc that asks every variable itself."""

    def __init__(self, ufunc: np.ufunc) -> None:
        super().__init__(ufunc)
        self.of_elements = np.frompyfunc(ufunc, ufunc.nin, 1)

    def __call__(self, *inputs: Value, **options: Option) -> Value:
        nin = self.ufunc.nin
        given, out = tuple(map(_take, inputs[:nin])), inputs[nin:]
        if out or options or any(isinstance(x, Array) for x in given) or not _is_objects(*given):
            return self.ufunc(*given, *out, **options)
        with np.errstate(invalid="ignore"):  # a comparison with nan
            return self.of_elements(*given)

    def reduce(self, x: Value, *args: Option, **options: Option) -> Value:
        numbers = _numbers(x)
        ufunc = self.of_elements if isinstance(numbers, np.ndarray) else self.ufunc
        with np.errstate(invalid="ignore"):
            return ufunc.reduce(x if numbers is None else numbers, *args, **options)


def _is_objects(*operands: Value) -> bool:
    return any(isinstance(x, np.ndarray) and x.dtype == object for x in operands)


@functools.wraps(np.nan_to_num)
def nan_to_num(
    x: Value, copy: bool = True, nan: Real = 0.0, posinf: Real | None = None, neginf: Real | None = None
) -> Value:
    """np.nan_to_num, which also replaces variables that are not finite in lists and object arrays."""
    numbers = _numbers(x)
    replace = functools.partial(np.nan_to_num, nan=nan, posinf=posinf, neginf=neginf)
    if not isinstance(numbers, np.ndarray):
        return np.nan_to_num(x if numbers is None else numbers, copy=copy, nan=nan, posinf=posinf, neginf=neginf)
    z = np.frompyfunc(replace, 1, 1)(numbers)
    if copy or numbers is not x:
        return z
    x[...] = z
    return x


@functools.wraps(np.sinc)
def sinc(x: Value) -> Value:
    """np.sinc; for objects NumPy omits the series near 0 that derivatives need."""
    numbers = _numbers(x)
    if isinstance(numbers, np.ndarray):
        return np.frompyfunc(np.sinc, 1, 1)(numbers)
    return np.sinc(x if numbers is None else numbers)


@functools.wraps(np.frombuffer)
def frombuffer(buffer: Any, *args: Option, **options: Option) -> ArrayValue:
    """np.frombuffer, which refuses object arrays of variables: NumPy would read their references as numbers."""
    require_no_references("np.frombuffer", buffer)
    return np.frombuffer(buffer, *args, **options)


def require_no_references(name: str, x: Any) -> None:
    """Refuse to read the memory of an object array of variables as bytes."""
    if isinstance(x, np.ndarray):
        for n in numbers_in(x)[:1]:
            raise LostDerivativeError(f"{name}: got an object array of {n.kind}s; {IN_A_RULE}", level=n._owner)


@functools.wraps(np.linalg.norm)
def norm(x: Value, ord: Option = None, axis: Option = None, keepdims: bool = False) -> Value:
    """np.linalg.norm, whose derivative is 0 if all elements are 0, also in lists and object arrays."""
    if holds_pairs(x) and ord in (None, "fro", "f"):  # whose squares NumPy takes for those of real numbers
        x = np.abs(x)
    numbers = _numbers(x)
    if not isinstance(numbers, np.ndarray):
        return np.linalg.norm(x if numbers is None else numbers, ord, axis, keepdims)
    axes = tuple(range(numbers.ndim)) if axis is None else tuple(map(int, np.atleast_1d(axis)))
    two = ord in ("fro", "f") and len(axes) == 2 if isinstance(ord, str) else ord == 2 and len(axes) == 1
    if (ord is not None and not two) or (len(axes) > 2 and axis is not None) or numbers.size == 0:
        return np.linalg.norm(numbers, ord, axis, keepdims)
    squares = np.sum(numbers * numbers, axis=axes, keepdims=keepdims)
    lengths = squares
    if np.any(np.equal(squares, 0.0)):  # a kink
        lengths = np.abs(numbers)
        for k in sorted(k % numbers.ndim for k in axes)[::-1]:
            lengths = _lengths.reduce(lengths, axis=k, keepdims=keepdims)
    return _roots(squares, lengths) if isinstance(squares, np.ndarray) else _root(squares, lengths)


@functools.wraps(np.linalg.matrix_power)
def matrix_power(a: Value, n: int) -> ArrayValue:
    """np.linalg.matrix_power, which also takes stacks of matrices in lists and object arrays."""
    numbers = _numbers(a)
    if not isinstance(numbers, np.ndarray) or numbers.ndim < 3:
        return np.linalg.matrix_power(a if numbers is None else numbers, n)
    matrices = numbers.reshape(math.prod(numbers.shape[:-2]), *numbers.shape[-2:])
    z = np.empty_like(matrices)
    for k, one in enumerate(matrices):
        z[k] = np.linalg.matrix_power(one, n)
    return z.reshape(numbers.shape)


def _by_entry(function: Function) -> Function:
    """A NumPy function of one array that looks up contad's form of it for lists and object arrays too."""

    @functools.wraps(function)
    def call(a: Value, *args: Option, **options: Option) -> Value:
        numbers = _numbers(a)
        if numbers is None:
            return function(a, *args, **options)
        entry = entry_of(function)  # of now: a user's rule replaces contad's own
        assert entry is not None
        return entry.implementation(numbers, *args, **options)

    return call


def _of_lists(function: Function) -> Function:
    """A NumPy function that refuses object arrays, as contad's form of it for lists and object arrays of variables."""

    @functools.wraps(function)
    def call(*args: Value, **options: Option) -> Value:
        given = [x if x.__class__ is np.ndarray or isinstance(x, Array) else _take(x) for x in args]
        given = [_take(x) if x.__class__ is np.ndarray and x.dtype == object else x for x in given]
        entry = entry_of(function)
        if entry is None or not (any(map(_is_objects, args)) or any(map(operator.is_not, given, args))):
            return function(*args, **options)
        z = entry.implementation(*given, **options)
        return z[()] if isinstance(z, np.ndarray) and z.ndim == 0 else z

    return call


def _root(square: Real, length: Real) -> Real:
    """The root of a sum of squares; for 0 the length by hypot, which has derivatives there."""
    return length if square == 0.0 else np.sqrt(square)


_roots, _lengths = np.frompyfunc(_root, 2, 1), np.frompyfunc(np.hypot, 2, 1)


def _by_pairs(function: Function) -> Function:
    """A function that NumPy computes for objects as for real numbers, with their parts where these are complex."""

    @functools.wraps(function)
    def apply(*args: Nested, **options: Option) -> Value:
        return function(*(as_pair(x) if holds_pairs(x) else x for x in args), **options)

    return apply


def _to_pairs(function: Function) -> Function:
    """A function whose result may hold real variables and complex numbers: of such objects NumPy has no .imag."""

    @functools.wraps(function)
    def apply(*args: Nested, **options: Option) -> Value:
        z = function(*args, **options)
        return as_pair(z) if z.__class__ is np.ndarray and z.dtype == object else z

    return apply


def angle(z: Value, deg: bool = False) -> Value:
    """np.angle; that of real variables is a constant, 0 or pi."""
    if holds_pairs(z):
        return np.angle(as_pair(z), deg)
    numbers = _numbers(z)
    if not isinstance(numbers, np.ndarray):
        return np.angle(z if numbers is None else numbers, deg)
    return np.angle(np.array([float(peek(x)) for x in numbers.flat]).reshape(numbers.shape), deg)


_MIXING = (np.where, np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.append, np.choose,
           np.select, np.block)  # fmt: skip
_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
_ELEMENTWISE = (np.fmax, np.fmin, np.sign, np.floor, np.ceil, np.trunc)
OF_OBJECTS: dict[str, Function] = (  # name in NumPy -> replacement for variables
    {ufunc.__name__: Logical(ufunc) for ufunc in _LOGICAL}
    | {ufunc.__name__: ElementwiseUfunc(ufunc) for ufunc in _ELEMENTWISE}
    | {function.__name__: _by_pairs(function) for function in (np.real, np.imag, np.correlate)}
    | {function.__name__: _to_pairs(function) for function in _MIXING}
    | {"angle": angle, "nan_to_num": nan_to_num, "sinc": sinc, "frombuffer": frombuffer}
)
OF_LINALG: dict[str, Function] = {  # name in np.linalg -> replacement for variables
    "norm": norm,
    "matrix_power": matrix_power,
}
# and for code that makes lists, in which NumPy would find numbers: name -> replacement for variables
LISTED: dict[str, Function] = {
    name: _of_lists(getattr(np, name))
    for name in ("corrcoef", "cov", "gradient", "interp", "nanmedian", "nanpercentile", "nanquantile", "percentile",
                 "polydiv", "polyfit", "quantile", "roots")
}  # fmt: skip
LISTED_OF_LINALG: dict[str, Function] = {
    name: _of_lists(getattr(np.linalg, name))
    for name in ("cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_norm", "pinv",
                 "qr", "slogdet", "solve", "svd", "svdvals", "tensorinv", "tensorsolve")
}  # fmt: skip
OF_FFT: dict[str, Function] = {  # name in np.fft -> replacement for variables
    name: _by_entry(function)
    for name in np.fft.__all__
    if (entry := entry_of(function := getattr(np.fft, name))) is not None and entry.kind == "composite"
}
