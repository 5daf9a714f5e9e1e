"""NumPy's functions of whole arrays on arrays of variables and duals, as loops over operations on numbers.

Numba's own implementations serve functions that only move elements; this file has functions that compute.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, add_overload_method
from contad.compile.typing_rules import parse_dtype
from contad.engines.tape.arrays import ActiveArray, carries, is_active_array, values, zeros_of
from contad.engines.tape.conversions import FLOAT_CONVERSIONS, value
from contad.engines.tape.elementwise_loops import UFUNCS
from contad.engines.tape.pairs_of_variables import meets
from contad.engines.tape.variables import COMPLEX_OF, Active, ActivePair

_OPTIONS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # other options follow the caller


to_single: Any = FLOAT_CONVERSIONS[np.float32]


# ---- reductions ------------------------------------------------------------------------------------------------------
def _sum(a: Any) -> Any:
    total = 0.0
    for x in a.flat:
        total = total + x
    return total


def _prod(a: Any) -> Any:
    total = 1.0
    for x in a.flat:
        total = total * x
    return total


def _mean(a: Any) -> Any:
    return np.divide(np.sum(a), float(a.size))


def _var(a: Any) -> Any:
    mean = np.mean(a)
    total = 0.0
    for x in a.flat:
        total = total + np.square(x - mean)
    return np.divide(total, float(a.size))


def _std(a: Any) -> Any:
    variance = np.var(a)
    return 0.0 * variance if variance == 0.0 else np.sqrt(variance)  # a kink, where the derivative is 0


def _max(a: Any) -> Any:
    return a.flat[np.argmax(a)]


def _min(a: Any) -> Any:
    return a.flat[np.argmin(a)]


def _ptp(a: Any) -> Any:
    return a.flat[np.argmax(a)] - a.flat[np.argmin(a)]


def _reduction(name: str, whole: Callable[..., Any]) -> None:
    """Register np.<name> of an array and the method; along an axis Numba has only sums."""
    whole = njit(**_OPTIONS)(whole)

    def typing(a: Any) -> Any:
        return (lambda a: whole(a)) if (carries if name in ("prod", "mean") else is_active_array)(a) else None

    add_overload(getattr(np, name))(typing)
    if hasattr(np.ndarray, name):
        add_overload_method(ActiveArray, name)(typing)


for _name, _whole in (("prod", _prod), ("mean", _mean), ("var", _var), ("std", _std), ("max", _max), ("min", _min)):
    _reduction(_name, _whole)
_reduction("ptp", _ptp)
_reduction("amax", _max)
_reduction("amin", _min)


def _sum_typing(a: Any, axis: Any = None) -> Any:
    """np.sum of an array, or along a constant axis."""
    if not carries(a):
        return None
    if axis is None or isinstance(axis, (types.NoneType, types.Omitted)):
        return lambda a, axis=None: _whole_sum(a)
    if not isinstance(axis, types.IntegerLiteral):
        return None
    zeros = zeros_of[a.dtype]
    along = axis.literal_value + (a.ndim if axis.literal_value < 0 else 0)
    order = (along, *(k for k in range(a.ndim) if k != along))

    def along_axis(a: Any, axis: Any = None) -> Any:
        moved = a.transpose(order)
        made = zeros(moved.shape[1:])
        for k in range(len(moved)):
            made[...] = made + moved[k]
        return made

    return (lambda a, axis=None: _whole_sum(a)) if a.ndim == 1 else along_axis


_whole_sum = njit(**_OPTIONS)(_sum)
add_overload(np.sum, prefer_literal=True)(_sum_typing)
add_overload_method(ActiveArray, "sum", prefer_literal=True)(_sum_typing)


# ---- positions, found on the plain numbers; and elements moved from there --------------------------------------------
def _positions(function: Any) -> None:
    def typing(a: Any) -> Any:
        return (lambda a: function(values(a))) if is_active_array(a) else None

    add_overload(function)(typing)
    add_overload_method(ActiveArray, function.__name__)(typing)


for _position in (np.argmax, np.argmin, np.argsort):
    _positions(_position)


@add_overload(np.sort)
def _sort(a: Any) -> Any:
    return (lambda a: a[np.argsort(a)]) if is_active_array(a) and a.ndim == 1 else None


@add_overload(np.searchsorted, prefer_literal=True)
def _searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
    """The positions on the plain numbers, by bisection."""
    if not any(isinstance(x, Active) or is_active_array(x) for x in (a, v)):
        return None
    side = getattr(side, "literal_value", getattr(side, "value", side))
    if side not in ("left", "right"):
        return None
    is_right = side == "right"
    if not isinstance(v, types.Array):
        return lambda a, v, side="left": _find_position(a, v, is_right)
    if v.ndim != 1:
        return None

    def of_array(a: Any, v: Any, side: Any = "left") -> Any:
        made = np.empty(len(v), np.int64)
        for k in range(len(v)):
            made[k] = _find_position(a, v[k], is_right)
        return made

    return of_array


@njit(**_OPTIONS)
def _find_position(a: Any, v: Any, is_right: Any) -> Any:
    """The position after the elements below v, and with `is_right` also after those equal to it."""
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if value(a[middle]) < value(v) or (is_right and value(a[middle]) == value(v)):
            low = middle + 1
        else:
            high = middle
    return low


@add_overload(np.round)
def _round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Rounding has derivative zero; the result is plain."""
    if out is not None and not isinstance(out, (types.NoneType, types.Omitted)):
        return None
    if isinstance(a, Active):
        return lambda a, decimals=0, out=None: np.round(a.value, decimals)
    if not is_active_array(a):
        return None

    def of_array(a: Any, decimals: Any = 0, out: Any = None) -> Any:
        made = np.empty(a.shape)
        for k in np.ndindex(a.shape):
            made[k] = np.round(a[k].value, decimals)
        return made

    return of_array


def _round_elements(a: Any, dtype: Any) -> Any:
    made = a.copy()
    for k in np.ndindex(a.shape):
        made[k] = to_single(a[k])
    return made


@add_overload_method(ActiveArray, "astype")
def _as_type(a: Any, dtype: Any) -> Any:
    """Floats stay active; integers and booleans are plain."""
    kind = parse_dtype(dtype)
    if kind == types.complex128:
        zeros = zeros_of[COMPLEX_OF.get(a.dtype, a.dtype)]

        def as_complex(a: Any, dtype: Any) -> Any:
            made = zeros(a.shape)
            made[...] = a
            return made

        return as_complex
    if kind == types.float64:
        return (lambda a, dtype: a.copy()) if is_active_array(a) else None
    if kind == types.float32 and is_active_array(a):
        return _round_elements
    if not isinstance(kind, (types.Integer, types.Boolean)):
        return None
    return lambda a, dtype: values(a).astype(dtype)


@add_overload(np.where)
def _where(condition: Any, x: Any, y: Any) -> Any:
    """np.where; it broadcasts both sides to the shape of the result."""
    elements = [getattr(a, "dtype", a) for a in (x, y)]
    active = next((a for a in elements if isinstance(a, ActivePair)), None)
    active = active or next((a for a in elements if isinstance(a, Active)), None)
    if active is None:
        return None
    if meets(*elements):
        active = COMPLEX_OF.get(active, active)
    if not any(isinstance(a, types.Array) for a in (condition, x, y)):
        return lambda condition, x, y: x if condition else y
    zeros = zeros_of[active]

    def implementation(condition: Any, x: Any, y: Any) -> Any:
        shape = np.broadcast_shapes(np.shape(condition), shape_of(x), shape_of(y))
        made = zeros(shape)
        for_x, for_y = zeros(shape), zeros(shape)
        for_x[...] = x
        for_y[...] = y
        chosen = np.broadcast_to(condition, shape)
        for k in np.ndindex(shape):
            made[k] = for_x[k] if chosen[k] else for_y[k]
        return made

    return implementation


def shape_of(x: Any) -> Any:
    """The shape of an array, () for a number; Numba does not know np.shape for variables."""
    return np.shape(x)


@add_overload(shape_of)
def _shape_of(x: Any) -> Any:
    return (lambda x: x.shape) if isinstance(x, types.Array) else lambda x: ()


# ---- others ----------------------------------------------------------------------------------------------------------
_maximum, _minimum = UFUNCS[np.maximum], UFUNCS[np.minimum]


@add_overload(np.clip)
def _clip(a: Any, a_min: Any, a_max: Any) -> Any:
    if not any(isinstance(x, Active) or is_active_array(x) for x in (a, a_min, a_max)):
        return None
    if isinstance(a_min, types.NoneType):
        return lambda a, a_min, a_max: _minimum(a, a_max)
    if isinstance(a_max, types.NoneType):
        return lambda a, a_min, a_max: _maximum(a, a_min)
    return lambda a, a_min, a_max: _minimum(_maximum(a, a_min), a_max)
