"""NumPy's functions and array methods on complex variables.

Functions that move elements, and linear functions of one array, act on each part. Rules with algebraic bodies have
complex forms (`contad.rules.complex_rule`). Compositions of these serve complex arrays as they are; those for which
tests show that are listed here. All other functions are refused by name.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import contad.protocols.complex_forms
import contad.rules.complex_rule  # noqa: F401  (gives the rules their complex forms)
from contad.errors import UnsupportedError
from contad.ops.sparse_patterns import is_sparse
from contad.ops.sparse_products import product_before_constant, product_with_constant
from contad.rules.numpy_functions import entry_of, find_exported_name, refuse_out
from contad.variables.array import Array, as_array, stand_in_of_product
from contad.variables.complex_pair import ComplexArray, ComplexNumber, ComplexPair, is_complex, join, split
from contad.variables.number import Carrier, map_numbers, observe, peek
from contad.variables.open_types import Function, Nested, Option, Options, Value

# compositions of operations that complex arrays have
COMPOSED = frozenset((
    np.reshape, np.ravel, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays, np.meshgrid, np.concatenate,
    np.stack, np.block, np.vstack, np.hstack, np.dstack, np.column_stack, np.insert, np.ediff1d, np.pad, np.array_split,
    np.split, np.hsplit, np.vsplit, np.dsplit, np.unstack, np.cumulative_sum, np.cumulative_prod, np.dot, np.inner,
    np.outer, np.linalg.outer, np.kron, np.tensordot, np.linalg.tensordot, np.linalg.cross, np.linalg.tensorsolve,
    np.linalg.tensorinv, np.linalg.matrix_power, np.linalg.multi_dot, np.diff, np.gradient, np.trapezoid, np.einsum,
    np.average, np.trace, np.linalg.trace, np.polyval, np.vander, np.polyadd, np.polysub, np.polymul, np.shape, np.ndim,
    np.size, np.iscomplexobj, np.isrealobj, np.iscomplex, np.isreal, np.linalg.norm, np.linalg.vector_norm,
    np.linalg.matrix_norm, np.linalg.cond, np.linalg.slogdet, np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh,
    np.linalg.eig, np.linalg.eigvals, np.linalg.svd, np.linalg.svdvals, np.linalg.qr, np.linalg.pinv, np.linalg.lstsq,
    np.roots, np.poly,
))  # fmt: skip


def array_function(
    z: ComplexPair, function: Function, types: Sequence[type], args: tuple[Nested, ...], kwargs: Options
) -> Any:
    """Dispatch a NumPy function that was called with a complex variable."""
    if isinstance(z, ComplexNumber):
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
    raise UnsupportedError(
        f"{name}: not supported on complex variables; use np.abs(z), z.real or z.imag, or contad.value_of(z) where a "
        "constant is meant"
    )


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
    """The root of the variance."""
    return np.sqrt(var(a, *args, **options))


def vdot(a: Value, b: Value) -> Value:
    """np.vdot: the sum of conj(a) b."""
    return np.dot(np.ravel(np.conj(a)), np.ravel(b))


def vecdot(x1: Value, x2: Value, *, axis: int = -1) -> Value:
    """np.vecdot: the sums of conj(x1) x2 along an axis."""
    return np.sum(np.conj(x1) * x2, axis)


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


def copyto(dst: Value, src: Value, casting: str = "same_kind", where: Value = True) -> None:
    """np.copyto."""
    x, y = split(src)
    if not isinstance(dst, ComplexArray):
        raise TypeError("np.copyto: a real array cannot hold complex numbers")
    np.copyto(dst.real, x, where=where)
    np.copyto(dst.imag, y, where=where)


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


def linspace(start: Value, stop: Value, num: int = 50, *args: Option, **options: Option) -> Any:
    """np.linspace of each part."""
    (x, y), (u, v) = split(start), split(stop)
    return join(np.linspace(x, u, num, *args, **options), np.linspace(y, v, num, *args, **options))


_FORMS: dict[Function, Function] = {
    np.real: real, np.imag: imag, np.real_if_close: lambda a, tol=100.0: a, np.angle: angle, np.var: var, np.std: std,
    np.iscomplexobj: lambda x: True, np.isrealobj: lambda x: False, np.vdot: vdot, np.vecdot: vecdot,
    np.linalg.vecdot: vecdot, np.zeros_like: zeros_like,
    np.empty_like: zeros_like, np.ones_like: ones_like, np.full_like: full_like, np.copyto: copyto, np.round: around,
    np.around: around, np.nan_to_num: nan_to_num, np.linspace: linspace, np.array_repr: text_of(np.array_repr),
    np.array_str: text_of(np.array_str), np.array2string: text_of(np.array2string),
}  # fmt: skip


# ---- methods and operators of arrays ---------------------------------------------------------------------------------
def _delegate(name: str) -> Function:
    function = getattr(np, name)

    def method(z: ComplexArray, *args: Option, **options: Option) -> Any:
        return function(z, *args, **options)

    method.__doc__ = f"As np.{name} of this array."
    return method


for _name in ("all", "any", "cumprod", "cumsum", "diagonal", "dot", "mean", "nonzero", "prod", "repeat", "round",
              "squeeze", "std", "sum", "swapaxes", "take", "trace", "var"):  # fmt: skip
    setattr(ComplexArray, _name, _delegate(_name))


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
