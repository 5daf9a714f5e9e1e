"""NumPy's functions and array methods on complex variables.

Functions that move elements, and linear functions of one array, act on each part. Rules with algebraic bodies have
complex forms (`contad.rules.complex_rule`). Compositions of these serve complex arrays as they are; those for which
tests show that are listed here. All other functions are refused by name.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import contad.rules.complex_rule  # noqa: F401  (gives the rules their complex forms)
from contad.errors import UnsupportedError
from contad.ops.products import vecdot
from contad.ops.sparse_patterns import is_sparse
from contad.ops.sparse_products import product_before_constant, product_with_constant
from contad.ops.trigonometric import sinc
from contad.protocols.complex_forms import _OF_PARTS
from contad.rules.numpy_functions import entry_of, find_exported_name, refuse_out
from contad.variables.array import Array, as_array, lower_constants, numbers_in, stand_in_of_product
from contad.variables.array_methods import delegate
from contad.variables.complex_pair import NO_ROOM, ComplexArray, ComplexNumber, ComplexPair, is_complex, join, split
from contad.variables.number import Carrier, map_numbers, observe, peek
from contad.variables.open_types import ArrayValue, Function, Nested, Option, Options, Value
from contad.variables.overlaps import forbid_writing
from contad.variables.trees import map_lists

# compositions of operations that complex arrays have
_COMPOSED = """
    reshape ravel atleast_1d atleast_2d atleast_3d broadcast_arrays meshgrid concatenate stack block vstack hstack
    dstack column_stack insert ediff1d pad array_split split hsplit vsplit dsplit unstack cumulative_sum cumulative_prod
    dot inner outer kron tensordot diff gradient trapezoid einsum average trace polyval vander polyadd polysub polymul
    polydiv polyder polyint polyfit trim_zeros shape ndim size nansum nanprod nancumsum nancumprod nanmean cov corrcoef
    correlate interp apply_along_axis select piecewise vdot vecdot astype roots poly"""
_OF_MATRICES = """
    outer tensordot cross tensorsolve tensorinv matrix_power multi_dot trace vecdot norm vector_norm matrix_norm cond
    slogdet cholesky eigh eigvalsh eig eigvals svd svdvals qr pinv lstsq"""
COMPOSED = frozenset((
    *(getattr(np, name) for name in _COMPOSED.split() if hasattr(np, name)),  # NumPy 2.0 lacks some
    *(getattr(np.linalg, name) for name in _OF_MATRICES.split()),
    *(getattr(np.fft, name) for name in np.fft.__all__),
))  # fmt: skip


def array_function(
    z: ComplexPair, function: Function, types: Sequence[type], args: tuple[Nested, ...], kwargs: Options
) -> Any:
    """Dispatch a NumPy function that was called with a complex variable."""
    if any(isinstance(x, ComplexNumber) for x in args):
        args = tuple(map(as_complex_array, args))
        return _as_number(array_function_of_arrays(function, args, kwargs))
    return array_function_of_arrays(function, args, kwargs)


def as_complex_array(x: Nested) -> Nested:
    """A number, complex or real, as an array without axes; anything else unchanged."""
    return ComplexArray(*map(_as_array, split(x))) if isinstance(x, ComplexNumber) else as_array(x)


def _as_array(x: Value) -> Value:
    return as_array(x) if isinstance(x, Carrier) else np.asarray(x)


def _as_number(z: Any) -> Any:
    if isinstance(z, tuple):
        return tuple(map(_as_number, z))
    return z[()] if getattr(z, "shape", None) == () and isinstance(z, (ComplexArray, np.ndarray, Array)) else z


def array_function_of_arrays(function: Function, args: tuple[Nested, ...], kwargs: Options) -> Any:
    """The same with numbers as arrays without axes."""
    own = _FORMS.get(function)
    if own is not None:
        return own(*args, **kwargs)
    found = entry_of(function)
    if found is not None and (found.kind in ("movement", "rule") or function in COMPOSED):
        return found.implementation(*args, **kwargs)
    if found is not None and found.kind == "constant":
        return observe(function, *args, **kwargs)
    name = find_exported_name(function)
    plain = [map_lists(_as_plain, x) for x in args], {key: map_lists(_as_plain, x) for key, x in kwargs.items()}
    if not numbers_in([*plain[0], *plain[1].values()]):
        return function(*plain[0], **plain[1])
    if function in ORDERED:
        raise TypeError(f"{name}: complex numbers have no order; use it on np.abs(z), z.real or z.imag")
    raise UnsupportedError(
        f"{name}: not supported on complex variables; use np.abs(z), z.real or z.imag, or contad.value_of(z) where a "
        "constant is meant"
    )


def _as_plain(x: Value) -> Value:
    """A complex array of constants as a plain one; anything else unchanged."""
    constant = isinstance(x, ComplexArray) and all(isinstance(p, np.ndarray) or p.is_constant for p in split(x))
    return join(*map(lower_constants, split(x))) if constant else x


ORDERED = frozenset((
    np.max, np.amax, np.min, np.amin, np.nanmax, np.nanmin, np.ptp, np.partition, np.median, np.nanmedian,
    np.quantile, np.percentile, np.nanquantile, np.nanpercentile, np.clip,
))  # fmt: skip


ComplexPair.__array_function__ = array_function  # type: ignore[attr-defined]


# ---- functions with forms of their own -------------------------------------------------------------------------------
def real(val: Value) -> Value:
    """The real part, a view."""
    return val.real


def imag(val: Value) -> Value:
    """The imaginary part, a view."""
    return val.imag


def angle(z: Value, deg: bool = False) -> Value:
    """The argument, between -pi and pi; 0 at 0."""
    x, y = split(z)
    phase = np.arctan2(y, x)
    return np.rad2deg(phase) if deg else phase


def var(
    a: Value, axis: Option = None, dtype: Option = None, out: Option = None, ddof: int = 0, keepdims: bool = False
) -> Value:
    """The mean of |z - mean z|^2: the variances of the parts, added."""
    refuse_out(np.var, {"out": out})
    return np.var(a.real, axis, ddof=ddof, keepdims=keepdims) + np.var(a.imag, axis, ddof=ddof, keepdims=keepdims)


def std(a: Value, *args: Option, **options: Option) -> Value:
    """The root of the variance; 0 with derivative 0 if all elements are equal."""
    return _root(var(a, *args, **options))


def nanvar(a: Value, *args: Option, **options: Option) -> Value:
    """The variance of the elements that are not nan."""
    lost = observe(np.isnan, a)
    x, y = (np.nanvar(np.where(lost, np.nan, part), *args, **options) for part in split(a))
    return x + y


def _root(x: Value) -> Value:
    kink = observe(np.equal, x, 0.0)
    return np.where(kink, 0.0, np.sqrt(np.where(kink, 1.0, x)))[()]


def zeros_like(a: Value, dtype: Option = None, *args: Option, **options: Option) -> Any:
    """np.zeros_like: room for complex variables."""
    if dtype is not None and np.dtype(dtype) != np.complex128:
        return np.zeros_like(a.real, dtype, *args, **options)
    return join(np.zeros_like(a.real), np.zeros_like(a.imag))


def ones_like(a: Value, dtype: Option = None, *args: Option, **options: Option) -> Any:
    """np.ones_like: room for complex variables."""
    if dtype is not None and np.dtype(dtype) != np.complex128:
        return np.ones_like(a.real, dtype, *args, **options)
    return join(np.ones_like(a.real), np.zeros_like(a.imag))


def full_like(a: Value, fill_value: Value, *args: Option, **options: Option) -> Any:
    """np.full_like."""
    z = zeros_like(a, *args, **options)
    z[...] = fill_value
    return z


def assigning(function: Function, parameters: str, place: int) -> Function:
    """np.put and its kin, whose argument at this place has the values, as assignments to both parts."""
    names = tuple(parameters.split())

    def assign(*args: Option, **options: Option) -> None:
        given = dict(zip(names, args, strict=False)) | options
        array, values = given.pop(names[0]), given.pop(names[place])
        if not isinstance(array, ComplexArray):
            raise TypeError(f"{find_exported_name(function)}: {NO_ROOM}")
        for part, piece in zip(split(array), split(values), strict=True):
            others = {name: x for name, x in given.items() if name not in names[:place]}
            function(part, *(given[name] for name in names[1:place]), piece, **others)

    return assign


def around(a: Value, decimals: int = 0, out: Option = None) -> Value:
    """np.round of each part."""
    refuse_out(np.round, {"out": out})
    return a.map_parts(lambda part: np.round(part, decimals))


def text_of(function: Function) -> Function:
    """NumPy's text of the values."""

    def write(a: Value, *args: Option, **options: Option) -> str:
        return function(map_numbers(peek, a), *args, **options)

    return write


def nan_to_num(x: Value, *args: Option, **options: Option) -> Value:
    """np.nan_to_num of each part."""
    return x.map_parts(lambda part: np.nan_to_num(part, *args, **options))


def sort(a: Value, axis: Option = -1, kind: Option = None, order: Option = None, *, stable: Option = None) -> Value:
    """The elements in NumPy's order of complex numbers: by their real parts, and then by their imaginary parts."""
    z = np.ravel(a) if axis is None else a
    axis = -1 if axis is None else axis
    return np.take_along_axis(z, observe(np.argsort, z, axis=axis, kind="stable"), axis)


def sort_in_place(z: ComplexArray, axis: int = -1, kind: Option = None, order: Option = None) -> None:
    """Sort the elements in place along an axis."""
    z[...] = sort(z, axis)


def linspace(start: Value, stop: Value, num: int = 50, *args: Option, **options: Option) -> Any:
    """np.linspace of each part."""
    (x, y), (u, v) = split(start), split(stop)
    parts: Any = np.linspace(x, u, num, *args, **options), np.linspace(y, v, num, *args, **options)
    return tuple(map(join, *parts)) if isinstance(parts[0], tuple) else join(*parts)


def shares_memory(function: Function) -> Function:
    """np.shares_memory or np.may_share_memory."""

    def compare(a: Value, b: Value, *args: Option, **options: Option) -> bool:
        parts = [(x, y) for x in split(a) for y in split(b) if np.ndim(x) and np.ndim(y)]
        return any(function(x, y, *args, **options) for x, y in parts)

    return compare


_FORMS: dict[Any, Any] = {
    np.iscomplexobj: lambda x: True, np.isrealobj: lambda x: False,
    np.iscomplex: lambda x: observe(np.not_equal, x.imag, 0.0), np.isreal: lambda x: observe(np.equal, x.imag, 0.0),
    np.real: real, np.imag: imag, np.real_if_close: lambda a, tol=100.0: a, np.angle: angle, np.var: var, np.std: std,
    np.nanvar: nanvar, np.nanstd: lambda *args, **options: _root(nanvar(*args, **options)),
    np.sinc: sinc, np.zeros_like: zeros_like,
    np.empty_like: zeros_like, np.ones_like: ones_like, np.full_like: full_like, np.round: around,
    np.around: around, np.sort: sort, np.sort_complex: sort,
    np.nan_to_num: nan_to_num, np.linspace: linspace, np.array_repr: text_of(np.array_repr),
    np.array_str: text_of(np.array_str), np.array2string: text_of(np.array2string),
    np.shares_memory: shares_memory(np.shares_memory), np.may_share_memory: shares_memory(np.may_share_memory),
} | {
    function: assigning(function, parameters, place)
    for function, parameters, place in (
        (np.copyto, "dst src casting where", 1), (np.put, "a ind v mode", 2), (np.place, "arr mask vals", 2),
        (np.putmask, "a mask values", 2), (np.fill_diagonal, "a val wrap", 1),
        (np.put_along_axis, "arr indices values axis", 2),
    )
}  # fmt: skip


# ---- methods and operators of arrays ---------------------------------------------------------------------------------
_OF_PARTS[np.vecdot] = vecdot
for _name in ("all", "any", "argmax", "argmin", "argsort", "clip", "cumprod", "cumsum", "diagonal", "dot", "max",
              "mean", "min", "nonzero", "partition", "prod", "put", "repeat", "round", "squeeze", "std", "sum",
              "swapaxes", "take", "trace", "var"):  # fmt: skip
    setattr(ComplexArray, _name, delegate(_name))
setattr(ComplexArray, "flags", property(lambda z: peek(split(z)[0]).flags, doc="The memory order."))  # noqa: B010
setattr(ComplexArray, "compress", lambda z, condition, axis=None: np.compress(condition, z, axis))  # noqa: B010


ComplexArray.sort = sort_in_place  # type: ignore[attr-defined]


def view(z: ComplexArray, dtype: Option = None) -> ArrayValue:
    """The array itself; for float64 a read-only copy with the parts in turn along the last axis."""
    if dtype is None or np.dtype(dtype) == np.complex128:
        return z[...]
    if np.dtype(dtype) != np.float64:
        raise UnsupportedError(f"view: a complex array has views of complex128 and float64, got {np.dtype(dtype)}")
    parts = np.reshape(np.stack(split(z), axis=-1), (*z.shape[:-1], 2 * z.shape[-1]))
    return forbid_writing(parts, "z.view(float) of a complex variable is a copy; write to z.real or z.imag")


ComplexArray.view = view  # type: ignore[attr-defined]


def _matmul(z: Any, w: Any) -> Any:
    if is_sparse(w):
        return product_before_constant(z, w)
    return np.matmul(z, w) if _has_axes(w) else NotImplemented


def _rmatmul(z: Any, w: Any) -> Any:
    if is_sparse(w):
        return product_with_constant(w, z)
    return np.matmul(w, z) if _has_axes(w) else NotImplemented


def _leave_product(z: ComplexArray, *args: Option, **options: Option) -> Any:
    """No plain array; SciPy's S @ z and S.dot(z) leave the product to z."""
    stand_in = stand_in_of_product(sys._getframe(1))
    return _refuse_plain(z) if stand_in is None else stand_in


def _has_axes(w: Any) -> bool:
    return is_complex(w) or hasattr(w, "shape") or isinstance(w, (list, tuple))


_refuse_plain: Function = ComplexArray.__array__
ComplexArray.__array__ = _leave_product  # type: ignore[method-assign, assignment]
for _name, _method in (("__matmul__", _matmul), ("__rmatmul__", _rmatmul)):
    setattr(ComplexPair, _name, _method)
