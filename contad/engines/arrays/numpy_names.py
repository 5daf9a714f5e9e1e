"""NumPy's functions, written with those of the array API standard, where the standard has other names or meanings.

A name begins with an underscore. `xp` is the namespace of a library and `library` its description: they are bound in
the copies that `contad.engines.arrays.libraries` makes. What is not here has the same name and meaning in both.
"""

import builtins
import math
import operator
from typing import Any

import numpy as np

from contad.ops.cotangents import kept_shape
from contad.variables.number import Carrier
from contad.variables.open_types import ArrayValue, Key, Option, Value

xp: Any = None
library: Any = None

CREATION = frozenset(("zeros", "ones", "full", "empty", "eye", "arange", "array", "asarray", "identity", "linspace"))
STANDARD = {  # NumPy's names of functions that mean the same
    "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arctan2": "atan2", "arccosh": "acosh", "arcsinh": "asinh",
    "arctanh": "atanh", "power": "pow", "absolute": "abs", "conjugate": "conj", "rint": "round", "true_divide":
    "divide", "float_power": "pow", "cumsum": "cumulative_sum", "bitwise_not": "bitwise_invert",
}  # fmt: skip


# ---- new arrays, of the library's dtype and on its device ------------------------------------------------------------
def _new(dtype: Option) -> dict[str, Any]:
    made: dict[str, Any] = {"dtype": library.dtype if dtype is None else library.dtype_of(dtype)}
    if library.dispatches:
        return made | {"like": library.like}
    return made if library.device is None else made | {"device": library.device}


def _zeros(shape: Option, dtype: Option = None) -> ArrayValue:
    return xp.zeros(shape, **_new(dtype))


def _ones(shape: Option, dtype: Option = None) -> ArrayValue:
    return xp.ones(shape, **_new(dtype))


_empty = _zeros


def _full(shape: Option, value: Value, dtype: Option = None) -> ArrayValue:
    if isinstance(value, (float, int)):
        return xp.full(shape, value, **_new(dtype))
    return np.broadcast_to(value, shape)


def _eye(n: int, m: Option = None, k: int = 0, dtype: Option = None) -> ArrayValue:
    if library.name == "dask":
        columns = np.arange(n if m is None else m)[None, :]
        return np.where(np.arange(n)[:, None] + k == columns, 1.0, 0.0)
    return xp.eye(n, m, k=k, **_new(dtype))


_identity = _eye


def _arange(start: int, stop: Option = None, step: int = 1, dtype: Option = None) -> ArrayValue:
    made = _new(dtype or np.int64)
    return xp.arange(start, **made) if stop is None else xp.arange(start, stop, step, **made)


def _array(x: Any, dtype: Option = None, copy: bool = True) -> ArrayValue:
    return _asarray(x, dtype)


def _asarray(x: Any, dtype: Option = None) -> ArrayValue:
    if isinstance(x, library.arrays):
        return x
    if isinstance(x, (list, tuple)) and builtins.any(isinstance(y, library.kind) for y in x):
        return np.stack([_asarray(y) for y in x])
    host = library.on_host(x)
    made = _new(dtype or (None if host.dtype.kind == "f" else host.dtype))
    return xp.asarray(host if library.name != "array_api_strict" else host.tolist(), **made)


def _zeros_like(a: ArrayValue, dtype: Option = None, **more: Option) -> ArrayValue:
    return xp.zeros_like(a, dtype=None if dtype is None else library.dtype_of(dtype))


def _ones_like(a: ArrayValue, dtype: Option = None, **more: Option) -> ArrayValue:
    return xp.ones_like(a, dtype=None if dtype is None else library.dtype_of(dtype))


def _full_like(a: ArrayValue, value: Value, dtype: Option = None, **more: Option) -> ArrayValue:
    return _full(tuple(a.shape), value, dtype)


def as_two(x: Value, y: Value) -> tuple[Any, Any]:
    """Two operands, at least one of which is an array, both as arrays: not all libraries take numbers beside them."""
    if isinstance(x, (float, int)):
        return xp.asarray(x, dtype=y.dtype, **_place_options()), y
    if isinstance(y, (float, int)):
        return x, xp.asarray(y, dtype=x.dtype, **_place_options())
    return x, y


def _place_options() -> dict[str, Any]:
    return {} if library.device is None else {"device": library.device}


# ---- shapes ----------------------------------------------------------------------------------------------------------
def _shape(a: Value) -> tuple[int, ...]:
    return tuple(getattr(a, "shape", ()))


def _ndim(a: Value) -> int:
    return len(getattr(a, "shape", ()))


def _size(a: Value, axis: int | None = None) -> int:
    return math.prod(_shape(a)) if axis is None else _shape(a)[axis]


def _reshape(a: Value, shape: Option, order: str = "C") -> ArrayValue:
    whole = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(a, (float, int)):
        a = _full((), a)
    if order == "F":
        back = xp.reshape(xp.permute_dims(a, tuple(range(len(a.shape)))[::-1]), whole[::-1])
        return xp.permute_dims(back, tuple(range(len(whole)))[::-1])
    return xp.reshape(a, whole)


def _ravel(a: ArrayValue, order: str = "C") -> ArrayValue:
    return _reshape(a, (-1,), order)


def _transpose(a: ArrayValue, axes: Option = None) -> ArrayValue:
    n = len(a.shape)
    return xp.permute_dims(a, tuple(range(n))[::-1] if axes is None else tuple(k % n for k in axes))


def _matrix_transpose(a: ArrayValue) -> ArrayValue:
    return _swapaxes(a, -1, -2)


def _swapaxes(a: ArrayValue, one: int, other: int) -> ArrayValue:
    n = len(a.shape)
    return xp.moveaxis(a, (one, other), (other, one)) if one % n != other % n else a


def _moveaxis(a: ArrayValue, source: Option, destination: Option) -> ArrayValue:
    return xp.moveaxis(a, source, destination)


def _expand_dims(a: ArrayValue, axis: Option) -> ArrayValue:
    axes = (axis,) if isinstance(axis, int) else axis
    for k in sorted(k % (len(a.shape) + len(axes)) for k in axes):
        a = xp.expand_dims(a, axis=k)
    return a


def _squeeze(a: ArrayValue, axis: Option = None) -> ArrayValue:
    axes = tuple(k for k, n in enumerate(a.shape) if n == 1) if axis is None else axis
    return xp.squeeze(a, axis=axes)


def _broadcast_to(a: Value, shape: Option) -> ArrayValue:
    if isinstance(a, (float, int)):
        return _full(shape, a)
    return xp.broadcast_to(a, (shape,) if isinstance(shape, int) else tuple(shape))


def _broadcast_arrays(*arrays: ArrayValue) -> Any:
    return tuple(xp.broadcast_arrays(*map(_asarray, arrays)))


def _flip(a: ArrayValue, axis: Option = None) -> ArrayValue:
    return xp.flip(a, axis=axis)


def _roll(a: ArrayValue, shift: Option, axis: Option = None) -> ArrayValue:
    return xp.roll(a, shift, axis=axis)


def _tile(a: ArrayValue, reps: Option) -> ArrayValue:
    return xp.tile(a, (reps,) if isinstance(reps, int) else tuple(reps))


def _repeat(a: ArrayValue, repeats: Option, axis: Option = None) -> ArrayValue:
    return xp.repeat(_ravel(a) if axis is None else a, repeats, axis=0 if axis is None else axis)


def _concatenate(arrays: Any, axis: int | None = 0) -> ArrayValue:
    return xp.concat([*arrays], axis=axis)


def _stack(arrays: Any, axis: int = 0) -> ArrayValue:
    return xp.stack([*arrays], axis=axis)


def _diagonal(a: ArrayValue, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ArrayValue:
    return xp.linalg.diagonal(_moveaxis(a, (axis1, axis2), (-2, -1)), offset=offset)


def _trace(a: ArrayValue, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ArrayValue:
    return _sum(_diagonal(a, offset, axis1, axis2), -1)


def _diag(a: ArrayValue, k: int = 0) -> ArrayValue:
    if len(a.shape) == 2:
        return _diagonal(a, k)
    n = a.shape[0] + abs(k)
    rows = _arange(n)[:, None] + k == _arange(n)[None, :]
    filled = xp.concat([_zeros((max(k, 0),), a.dtype), a, _zeros((max(-k, 0),), a.dtype)])
    return _where(rows, filled[None, :], 0.0)


def _tril(a: ArrayValue, k: int = 0) -> ArrayValue:
    return xp.tril(a, k=k)


def _triu(a: ArrayValue, k: int = 0) -> ArrayValue:
    return xp.triu(a, k=k)


def _take(a: ArrayValue, indices: Option, axis: int | None = None) -> ArrayValue:
    a, axis = (_ravel(a), 0) if axis is None else (a, axis % len(a.shape))
    chosen = _asarray(indices)
    found = xp.take(a, _ravel(chosen), axis=axis)
    return xp.reshape(found, (*a.shape[:axis], *chosen.shape, *a.shape[axis + 1 :]))


def _take_along_axis(a: ArrayValue, indices: ArrayValue, axis: int = -1) -> ArrayValue:
    if library.name in ("dask", "sparse"):
        k = axis % len(a.shape)
        places = np.arange(a.shape[k])[(None,) * (k + 1) + (slice(None),) + (None,) * (len(a.shape) - k - 1)]
        chosen = np.expand_dims(indices, k + 1) == places
        return np.sum(np.where(chosen, np.expand_dims(a, k), 0.0), axis=k + 1)
    return xp.take_along_axis(a, _asarray(indices), axis=axis)


# ---- elements --------------------------------------------------------------------------------------------------------
def _where(condition: ArrayValue, x: Value, y: Value) -> ArrayValue:
    if isinstance(x, (float, int)) and isinstance(y, (float, int)):
        x = _full((), x)
    if "bool" not in str(getattr(condition, "dtype", "bool")):
        condition = condition != 0.0
    return xp.where(condition, *as_two(x, y))


def _maximum(x: Value, y: Value) -> ArrayValue:
    return xp.maximum(*as_two(x, y))


def _minimum(x: Value, y: Value) -> ArrayValue:
    return xp.minimum(*as_two(x, y))


def _fmax(x: Value, y: Value) -> ArrayValue:
    x, y = as_two(x, y)
    return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.maximum(x, y)))


def _fmin(x: Value, y: Value) -> ArrayValue:
    x, y = as_two(x, y)
    return xp.where(xp.isnan(x), y, xp.where(xp.isnan(y), x, xp.minimum(x, y)))


_add, _subtract, _multiply, _divide, _true_divide = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.truediv
)  # fmt: skip
_floor_divide, _remainder, _negative = operator.floordiv, operator.mod, operator.neg


def _power(x: Value, y: Value) -> ArrayValue:
    return xp.pow(*as_two(x, y))


def _arctan2(x: Value, y: Value) -> ArrayValue:
    return xp.atan2(*as_two(x, y))


def _hypot(x: Value, y: Value) -> ArrayValue:
    return xp.hypot(*as_two(x, y))


def _copysign(x: Value, y: Value) -> ArrayValue:
    return xp.copysign(*as_two(x, y))


def _heaviside(x: Value, y: Value) -> ArrayValue:
    return xp.heaviside(*as_two(x, y))


def _logaddexp(x: Value, y: Value) -> ArrayValue:
    return xp.logaddexp(*as_two(x, y))


def _logaddexp2(x: Value, y: Value) -> ArrayValue:
    return xp.logaddexp(*(v * math.log(2.0) for v in as_two(x, y))) / math.log(2.0)


def _fmod(x: Value, y: Value) -> ArrayValue:
    x, y = as_two(x, y)
    return xp.copysign(xp.remainder(xp.abs(x), xp.abs(y)), x)


def _exp2(x: ArrayValue) -> ArrayValue:
    return _power(2.0, x)


def _cbrt(x: ArrayValue) -> ArrayValue:
    return xp.copysign(_power(xp.abs(x), 1.0 / 3.0), x)


def _reciprocal(x: ArrayValue) -> ArrayValue:
    return 1.0 / x


def _square(x: ArrayValue) -> ArrayValue:
    return x * x


def _fabs(x: ArrayValue) -> ArrayValue:
    return xp.abs(x)


def _deg2rad(x: ArrayValue) -> ArrayValue:
    return x * (math.pi / 180.0)


def _rad2deg(x: ArrayValue) -> ArrayValue:
    return x * (180.0 / math.pi)


_radians, _degrees = _deg2rad, _rad2deg


def _sinc(x: ArrayValue) -> ArrayValue:
    t = math.pi * x
    at_zero = t == 0.0
    return _where(at_zero, 1.0, xp.sin(t) / _where(at_zero, 1.0, t))


def _clip(a: ArrayValue, low: Value = None, high: Value = None) -> ArrayValue:
    return xp.clip(a, low, high)


# ---- reductions ------------------------------------------------------------------------------------------------------
def _sum(a: Value, axis: Option = None, dtype: Option = None, keepdims: bool = False) -> ArrayValue:
    if "bool" in str(getattr(a, "dtype", "")):
        a = xp.astype(a, library.dtype_of(np.int64))
    return xp.sum(a, axis=axis, dtype=getattr(a, "dtype", None) if dtype is None else dtype, keepdims=keepdims)


def _prod(a: Value, axis: Option = None, keepdims: bool = False) -> ArrayValue:
    return xp.prod(a, axis=axis, keepdims=keepdims) if hasattr(a, "dtype") else math.prod(a)


def _mean(a: ArrayValue, axis: Option = None, keepdims: bool = False) -> ArrayValue:
    return xp.mean(a, axis=axis, keepdims=keepdims)


def _var(a: ArrayValue, axis: Option = None, ddof: float = 0, keepdims: bool = False) -> ArrayValue:
    return xp.var(a, axis=axis, correction=ddof, keepdims=keepdims)


def _std(a: ArrayValue, axis: Option = None, ddof: float = 0, keepdims: bool = False) -> ArrayValue:
    return xp.std(a, axis=axis, correction=ddof, keepdims=keepdims)


def _max(a: Value, axis: Option = None, keepdims: bool = False, initial: Option = None, where: Option = None) -> Value:
    if where is not None:
        a = _where(where, a, initial)
    if initial is not None and math.prod(a.shape) == 0:
        return _full((), initial)
    return xp.max(a, axis=axis, keepdims=keepdims)


def _along(name: str) -> Any:
    return lambda a, axis=None, **options: getattr(xp, name)(a, axis=axis, **options)


_all, _any, _argmax, _argmin, _min = map(_along, ("all", "any", "argmax", "argmin", "min"))


def _argsort(
    a: ArrayValue, axis: int = -1, kind: Option = None, order: Option = None, *, stable: Option = None
) -> Value:
    return xp.argsort(a, axis=axis, stable=True)


def _sort(a: ArrayValue, axis: int = -1, kind: Option = None, order: Option = None, *, stable: Option = None) -> Value:
    return xp.sort(a, axis=axis, stable=True)


def _cumsum(a: ArrayValue, axis: Option = None) -> ArrayValue:
    return xp.cumulative_sum(_ravel(a) if axis is None else a, axis=0 if axis is None else axis)


def _cumprod(a: ArrayValue, axis: Option = None) -> ArrayValue:
    return xp.cumulative_prod(_ravel(a) if axis is None else a, axis=0 if axis is None else axis)


# ---- what is done instead of looking at values -----------------------------------------------------------------------
def multiply_masking(d: Value, p: Value) -> Value:
    """d p, in which a zero d masks a partial that is not finite; no value is read."""
    if p.__class__ is library.kind and d.__class__ is library.kind:
        return multiply_into(mask_dead(p, d, 0.0), d)
    if isinstance(p, (float, int)):
        return d * p if math.isfinite(p) else np.where(d == 0.0, 0.0, d * p)
    if isinstance(d, Carrier) or isinstance(p, Carrier):
        return np.multiply(d, np.where((d == 0.0) & ~np.isfinite(p), 0.0, p))
    return np.where(d == 0.0, 0.0, d * p)


def multiply_into(t: Value, d: Value) -> Value:
    """t d, where nobody else holds t."""
    return t * d


def mask_dead(p: Value, d: Value, zero: float) -> Value:
    """p, with zeros where d is zero."""
    return np.where(d == zero, zero, p)


def multiply_routing(d: Value, p: Value) -> Value:
    """d p, in which a zero partial passes nothing on; no value is read."""
    return np.where(p == 0.0, 0.0, d * p) if hasattr(p, "shape") else d * p if p else d * 0.0


def all_finite(x: Value) -> bool:
    """True: products of matrices are those of the library."""
    return True


def freedom(a: ArrayValue, axis: Option, ddof: float) -> float:
    """n - ddof; at least 0."""
    n = math.prod(a.shape) // builtins.max(math.prod(kept_shape(tuple(a.shape), axis)), 1)
    return float(builtins.max(n - ddof, 0))


def no(*args: Value) -> bool:
    """False: arrays are real, and nobody looks for ties."""
    return False


def no_factor(*args: Value, **options: Option) -> None:
    """None: without a factor that LAPACK has made, rules call np.linalg.solve, inv and slogdet."""


def out_of_range(z: Value) -> bool:
    """False: derivatives take the way that divides by nothing that may be zero."""
    return False


def solve_triangle(a: ArrayValue, b: ArrayValue, transposed: bool, lower: bool, unit_diagonal: bool) -> ArrayValue:
    """The solution of a z = b for a triangle of a matrix."""
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        n = a.shape[-1]
        triangle = np.where(np.eye(n) != 0.0, 1.0, triangle)
    return np.linalg.solve(np.swapaxes(triangle, -1, -2) if transposed else triangle, b)


def solve_one_triangle(a: ArrayValue, b: ArrayValue, flags: tuple[bool, bool, bool]) -> ArrayValue:
    """The same with the three options in a tuple."""
    return solve_triangle(a, b, *flags)


def ones_in_triangle(n: int, lower: bool, dtype: Option = None) -> ArrayValue:
    """Ones in one triangle of n rows, without the diagonal."""
    ones = np.ones((n, n))
    return np.tril(ones, -1) if lower else np.triu(ones, 1)


def recurrence(a: ArrayValue, b: ArrayValue, *, axis: int = -1) -> ArrayValue:
    """z_i = a_i z_(i-1) + b_i along an axis."""
    slopes, rows = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    found = [rows[0, ...]]
    for i in range(1, np.shape(rows)[0]):
        found.append(multiply_masking(found[-1], slopes[i, ...]) + rows[i, ...])
    return np.stack(found, axis=axis)


def leave(z: ArrayValue, *others: Value) -> ArrayValue:
    """z: the values are those of the library."""
    return z


def dtype_beside(x: Value, *others: Value) -> Any:
    """The dtype of constants beside these."""
    return getattr(x, "dtype", library.dtype)


def cast(x: ArrayValue, dtype: Any) -> ArrayValue:
    """An array in another dtype."""
    return x.astype(dtype) if library.dispatches or library.is_numpy else xp.astype(x, dtype)


def is_writable() -> bool:
    """Whether arrays of the library can be assigned to."""
    return library.name not in ("jax", "sparse") and (library.is_numpy or hasattr(library.kind, "__setitem__"))


def add_to_zeros(z_bar: ArrayValue, shape: tuple[int, ...], key: Key) -> ArrayValue:
    """Zeros of a shape, to which z_bar is added at an index: the transpose of indexing."""
    if library.name == "sparse":
        data, where = library.nonzero_elements(z_bar)
        return library.from_elements(data, library.positions_at(shape, key)[where], shape)
    keys = key if isinstance(key, tuple) else (key,)
    if any(k is None for k in keys):  # new axes, which assignments of some libraries do not take
        keys = tuple(k for k in keys if k is not None)
        whole = np.zeros(shape, getattr(z_bar, "dtype", None))
        return add_to_zeros(np.reshape(z_bar, np.shape(whole[keys or ...])), shape, keys or ...)
    advanced = [k for k in keys if hasattr(k, "shape") and len(k.shape)]
    zeros: Any = np.zeros(shape, getattr(z_bar, "dtype", None))
    if library.name == "jax":
        return zeros.at[key].add(z_bar)
    if not advanced or "bool" in str(advanced[0].dtype):
        zeros[key] = z_bar
        return zeros
    if library.name == "dask" and len(keys) == len(shape) == 1:  # each chunk counts for itself
        places = library.module.asarray(keys[0]) % shape[0]
        return library.module.bincount(places, z_bar.rechunk(places.chunks), shape[0]).astype(z_bar.dtype)
    if library.is_numpy or (library.dispatches and library.name != "dask"):
        library.add_at(zeros, key, z_bar)
        return zeros
    flat = xp.reshape(xp.arange(math.prod(shape)), shape)[key]
    found = xp.reshape(flat, (-1,))[:, None] == xp.arange(math.prod(shape))[None, :]
    sums = xp.sum(xp.where(found, xp.reshape(z_bar, (-1,))[:, None], xp.zeros((), dtype=z_bar.dtype)), axis=0)
    return xp.reshape(sums, shape)


def index_by(positions: np.ndarray) -> ArrayValue:
    """Flat positions that NumPy has found, as an index of this library's arrays."""
    flat = positions.reshape(-1)
    return flat if library.is_numpy or library.name in ("dask", "sparse") else np.asarray(flat)


def gather(a: Value, move: Any, positions: np.ndarray) -> ArrayValue:
    """move(a): the elements at flat positions, which count from 1; at 0 is a zero."""
    if library.is_numpy:
        return move(a)
    flat = np.reshape(a, (-1,))
    if not positions.all():
        flat = np.concatenate([np.zeros((1,)), flat])
    return np.reshape(flat[index_by(positions - bool(positions.all()))], positions.shape)


def assign_at(a: Any, key: Key, y: Value) -> ArrayValue:
    """A copy of an array with y at an index."""
    if library.name == "jax":
        return a.at[key].set(y)
    if library.name == "sparse":
        return library.assign_elements(a, key, y)
    z = copy(a)
    z[key] = y
    return z


def copy(a: ArrayValue) -> ArrayValue:
    """A copy of an array."""
    return np.array(a) if library.is_numpy else a.copy() if library.dispatches else xp.asarray(a, copy=True)


def adopt(x: ArrayValue) -> ArrayValue:
    """An array that an operation has made dense, or with another fill value, as the library's sparse one."""
    if library.name != "sparse":
        return np.asarray(x)
    if isinstance(x, library.kind) and x.fill_value == 0.0:
        return x
    data, where = library.nonzero_elements(x)
    return library.from_elements(data, where, tuple(x.shape))


def _einsum(subscripts: str, *operands: ArrayValue, optimize: Option = None) -> ArrayValue:
    return xp.einsum(subscripts, *operands)


def symmetric(a: ArrayValue, upper: bool) -> ArrayValue:
    """The symmetric matrix of one triangle, which NumPy reads; some libraries read both."""
    half = np.triu(a, 1) if upper else np.tril(a, -1)
    return (np.triu(a) if upper else np.tril(a)) + np.swapaxes(half, -1, -2)


def _linalg_eigh(a: ArrayValue, UPLO: str = "L") -> Any:
    return xp.linalg.eigh(symmetric(a, UPLO == "U"))


def _linalg_cholesky(a: ArrayValue, *, upper: bool = False) -> ArrayValue:
    return xp.linalg.cholesky(symmetric(a, upper), upper=upper)


# ---- linear algebra --------------------------------------------------------------------------------------------------
def _linalg_norm(x: ArrayValue, ord: Option = None, axis: Option = None, keepdims: bool = False) -> ArrayValue:
    if ord is None and axis is None:
        return xp.sqrt(xp.sum(x * x, keepdims=keepdims))
    if isinstance(axis, tuple) or (axis is None and len(x.shape) == 2):
        axes = (-2, -1) if axis is None else axis
        return xp.linalg.matrix_norm(xp.moveaxis(x, axes, (-2, -1)), ord="fro" if ord is None else ord)
    return xp.linalg.vector_norm(x, ord=2 if ord is None else ord, axis=axis, keepdims=keepdims)
