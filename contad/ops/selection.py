"""NumPy functions that select elements by their values: extremes, order statistics, clipping, choice by condition.

The positions are found on the primals, and the elements are moved from there without a record. If elements tie, the
derivative is that of one of them; `contad.ops.tied_elements` handles second derivatives.
"""

import math
from collections.abc import Sequence

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.reductions import mask_of, mean_where
from contad.ops.shape import refuse_given
from contad.ops.tied_elements import may_tie, rank_of_extreme, ranks_of_all, take_picked
from contad.rules.numpy_functions import NO_VALUE, implements, refuse_out, stands_for
from contad.variables.array import Array
from contad.variables.complex_pair import ComplexArray
from contad.variables.number import map_numbers, observe, primal
from contad.variables.open_types import ArrayValue, Function, Option, Value


def rows_of(function: Function, x: Value, axis: Option) -> tuple[ArrayValue, tuple[int, ...]]:
    """x with the axes of a reduction merged into one, the last; and the shape of the result with keepdims=True."""
    if x.ndim == 0 and axis in (0, -1) and function in REDUCTIONS:  # ufuncs allow this
        axis = None
    axes = tuple(range(x.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    others = tuple(k for k in range(x.ndim) if k not in axes)
    reduced = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    merged = math.prod(x.shape[k] for k in axes)
    if merged == 0:
        raise ValueError(f"np.{function.__name__}: a must have elements along the axis, got shape {x.shape}")
    if axis is None:
        return x.reshape(-1), reduced
    return x.transpose((*others, *axes)).reshape((*(x.shape[k] for k in others), merged)), reduced


REDUCTIONS = frozenset((np.max, np.amax, np.min, np.amin, np.nanmax, np.nanmin))  # by ufuncs


def number_or_array(z: Value) -> Value:
    """z, or its only element if it has no axes, as NumPy returns it."""
    return z[()] if z.ndim == 0 else z


# ---- extremes --------------------------------------------------------------------------------------------------------
def extreme(functions: tuple[Function, ...], argument: Function, is_largest: bool) -> None:
    """Declare a reduction that picks one element of each row, at the position `argument(primals)`."""
    function = functions[0]

    def implementation(
        a: Value, axis: Option = None, out: ArrayValue | None = None, keepdims: Option = False,
        initial: Value | None = None, where: Option = None,
    ) -> Value:  # fmt: skip
        refuse_out(function, {"out": out})
        if initial is not None and initial is not NO_VALUE:
            return from_initial(a, axis, keepdims, initial, where)
        refuse_given(function, where=None if where is True else where)  # which need an initial number
        rows, reduced = rows_of(function, a, axis)
        positions = np.asarray(observe(argument, rows))
        if may_tie(rows, positions[..., None]):
            z = take_picked(rows, positions[..., None], rank_of_extreme(rows, positions, is_largest))
        elif rows.ndim == 1 and keepdims is not True and not (isinstance(rows, Array) and rows._owner.takes_any):
            return rows[int(positions)]  # a plain read, without index arrays
        else:
            z = np.take_along_axis(rows, positions[..., None], -1)
        z = z.reshape(reduced) if keepdims is True else z[..., 0]
        return number_or_array(z)

    def from_initial(a: Value, axis: Option, keepdims: Option, initial: Value, where: Option) -> Value:
        """The extreme of a number and the elements where a mask holds."""
        kept = keepdims is True
        if where is not None and where is not True and where is not NO_VALUE:
            a = np.where(mask_of(where, a), a, -math.inf if is_largest else math.inf)
        if not np.size(a):
            return np.zeros(np.shape(np.sum(a, axis=axis, keepdims=kept))) + initial
        return combine(implementation(a, axis, None, keepdims), initial)

    combine = {np.max: np.maximum, np.min: np.minimum, np.nanmax: np.fmax, np.nanmin: np.fmin}[function]
    implements(*functions)(implementation)


def argmax_of_numbers(p: np.ndarray) -> np.ndarray:
    """Positions of the largest numbers along the last axis; of a nan if a row has nothing else."""
    isnan = np.isnan(p)
    found = np.argmax(np.where(isnan, -np.inf, p), -1)
    of_nan = np.take_along_axis(isnan, np.expand_dims(found, -1), -1)[..., 0]
    return np.where(of_nan, np.argmin(isnan, -1), found)  # a row of nan and -inf


def argmax_of_rows(p: np.ndarray) -> np.ndarray:
    """Positions of the largest numbers along the last axis; of a nan if a row has one."""
    return np.argmax(p, -1)


def argmin_of_rows(p: np.ndarray) -> np.ndarray:
    """Positions of the smallest numbers along the last axis; of a nan if a row has one."""
    return np.argmin(p, -1)


extreme((np.max, np.amax), argmax_of_rows, True)
extreme((np.min, np.amin), argmin_of_rows, False)
extreme((np.nanmax,), argmax_of_numbers, True)
extreme((np.nanmin,), lambda p: argmax_of_numbers(-p), False)


@implements(np.ptp)
def peak_to_peak(a: Value, axis: Option = None, out: ArrayValue | None = None, keepdims: Option = False) -> Value:
    """The largest element less the smallest."""
    refuse_out(np.ptp, {"out": out})
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


def without_nan(function: Function, plain: Function, neutral: float) -> None:
    """Declare a nan-ignoring function, which replaces nan by the neutral element of the ordinary function."""

    def implementation(a: Value, *args: Option, **options: Option) -> Value:
        return plain(np.where(observe(np.isnan, a), neutral, a), *args, **options)

    implements(function)(implementation)


_function: Function
for _function, _plain, _neutral in (
    (np.nansum, np.sum, 0.0),
    (np.nanprod, np.prod, 1.0),
    (np.nancumsum, np.cumsum, 0.0),
    (np.nancumprod, np.cumprod, 1.0),
):
    without_nan(_function, _plain, _neutral)


@implements(np.nanmean)
def nanmean(
    a: Value, axis: Option = None, dtype: Option = None, out: ArrayValue | None = None, keepdims: Option = False, *,
    where: Option = None,
) -> Value:  # fmt: skip
    """The mean of the elements that are not nan; nan if there are none."""
    refuse_out(np.nanmean, {"out": out})
    refuse_given(np.nanmean, dtype=dtype)
    mask = ~observe(np.isnan, a)
    if where is not None and where is not True and where is not NO_VALUE:
        mask &= mask_of(where, a)
    return mean_where(a, axis=axis, keepdims=keepdims is True, where=mask)


# ---- order statistics ------------------------------------------------------------------------------------------------
@implements(np.sort)
def sort(a: Value, axis: Option = -1, kind: Option = None, order: Option = None, *, stable: Option = None) -> Value:
    """The elements in ascending order along an axis; None sorts all of them. Every kind of sorting is stable."""
    refuse_given(np.sort, order=order)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return _permute(a, observe(np.argsort, a, axis=axis, kind="stable"), axis)


def _permute(a: Value, positions: np.ndarray, axis: Option) -> Value:
    """All elements along an axis, in the order of their positions there."""
    if not may_tie(a, positions, axis):
        return np.take_along_axis(a, positions, axis)
    rows, positions = np.moveaxis(a, axis, -1), np.moveaxis(positions, axis, -1)
    return np.moveaxis(take_picked(rows, positions, ranks_of_all(rows, positions)), -1, axis)


@implements(np.partition)
def partition(a: Value, kth: Option, axis: Option = -1, kind: Option = "introselect", order: Option = None) -> Value:
    """The elements, with the kth smallest in its place and no larger one before it."""
    refuse_given(np.partition, order=order)
    if axis is None:
        a, axis = a.reshape(-1), 0
    return _permute(a, np.argpartition(primal(a), kth, axis, kind), axis)


def select_ranks(rows: Value, rank: np.ndarray) -> Value:
    """The elements of each row with the given ranks in sorted order; nan for a row that contains one."""
    order = observe(np.argsort, rows, axis=-1, kind="stable")  # nan is last
    positions = np.where(observe(np.isnan, rows).any(-1, keepdims=True), order[..., -1:], order[..., rank])
    return take_picked(rows, positions, rank) if may_tie(rows, positions) else np.take_along_axis(rows, positions, -1)


@implements(np.median)
def median(
    a: Value, axis: Option = None, out: ArrayValue | None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Value:
    """The middle element of the sorted ones, or the mean of the two middle ones."""
    refuse_out(np.median, {"out": out})
    rows, reduced = rows_of(np.median, a, axis)
    n = rows.shape[-1]
    z = select_ranks(rows, np.array([n // 2]))
    if n % 2 == 0:
        z = (select_ranks(rows, np.array([n // 2 - 1])) + z) / 2.0
    return number_or_array(z.reshape(reduced if keepdims else rows.shape[:-1]))


# ---- element by element ----------------------------------------------------------------------------------------------
class _AsksForUfunc:
    """Gets the ufunc that a function of NumPy's calls as the result of the call."""

    def __array_ufunc__(self, ufunc: np.ufunc, *_: Value, **__: Option) -> np.ufunc:
        return ufunc


@stands_for(np.zeros(1).clip(_AsksForUfunc(), _AsksForUfunc()))  # type: ignore[call-overload]
@implements(np.clip, layout="own")
def clip(
    a: Value, a_min: Value | None = None, a_max: Value | None = None, out: ArrayValue | None = None, *,
    min: Value | None = None, max: Value | None = None, **options: Option,
) -> Value:  # fmt: skip
    """Elements outside the bounds are replaced by them; at a bound, both have half of the derivative."""
    refuse_out(np.clip, {"out": out})
    refuse_given(np.clip, **options)
    absent = (None, NO_VALUE)
    low, high = (next((x for x in xs if not any(x is y for y in absent)), None) for xs in ((a_min, min), (a_max, max)))
    # numbers on engines without array variables; NumPy's loops over objects would compare them
    if isinstance(a, np.ndarray) and a.dtype == object:
        a, low, high = (x[()] if isinstance(x, np.ndarray) else x for x in (a, low, high))
    if low is not None:
        a = np.maximum(a, low)
    if high is not None:
        a = np.minimum(a, high)
    return np.positive(a) if low is high is None else a


@implements(np.round, np.around)
def round_to(a: Value, decimals: int = 0, out: ArrayValue | None = None) -> Value:
    """Elements rounded to a number of decimals, with derivative zero."""
    refuse_out(np.round, {"out": out})
    if decimals == 0:
        return np.rint(a)
    shift = 10.0 ** abs(decimals)
    return np.rint(a * shift) / shift if decimals > 0 else np.rint(a / shift) * shift


if not isinstance(np.fix, np.ufunc):

    @implements(np.fix)
    def fix(x: Value, out: ArrayValue | None = None) -> Value:
        """Elements rounded towards zero, with derivative zero."""
        refuse_out(np.fix, {"out": out})
        return np.trunc(x)


@implements(np.nan_to_num)
def nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value | None = None, neginf: Value | None = None
) -> Value:
    """The finite elements, and constants for the others."""
    if not copy:
        raise UnsupportedError(
            "np.nan_to_num: copy must be True on variables, got False; write x[...] = np.nan_to_num(x)"
        )
    constants = np.nan_to_num(np.array([np.nan, np.inf, -np.inf]), nan=nan, posinf=posinf, neginf=neginf)
    masks = observe(np.isnan, x), observe(np.equal, x, np.inf), observe(np.equal, x, -np.inf)
    for mask, y in zip(masks, constants, strict=True):
        x = np.where(mask, y, x)
    return x if np.ndim(x) else x[()]


@implements(np.select)
def select(condlist: Value, choicelist: Value, default: Value = 0.0) -> Value:
    """The element of the first choice whose condition holds there, otherwise of the default."""
    if len(condlist) != len(choicelist):
        raise ValueError(f"np.select: expected as many choices as conditions, {len(condlist)}, got {len(choicelist)}")
    z = default
    conditions = [np.asarray(map_numbers(primal, condition)) for condition in condlist]
    for k, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(f"np.select: condlist[{k}] must be an array of bool, got {condition.dtype}")
    for condition, choice in zip(reversed(conditions), reversed(choicelist), strict=True):
        z = np.where(condition, choice, z)
    return z


@implements(np.piecewise, layout="own")
def piecewise(
    x: Value, condlist: Value, funclist: Sequence[Function | Value], *args: Option, **options: Option
) -> Value:
    """Functions of the elements, or constants, where conditions hold; if two conditions hold, the later one counts."""
    given = map_numbers(primal, condlist)
    if not isinstance(x, (Array, ComplexArray)):
        return np.piecewise(x, given, funclist, *args, **options)
    if np.isscalar(given) or (not isinstance(given[0], (list, np.ndarray)) and x.ndim != 0):
        given = [given]
    conditions = np.asarray(given, bool)
    if len(funclist) == len(conditions) + 1:
        conditions = np.concatenate([conditions, ~conditions.any(0, keepdims=True)])
    elif len(funclist) != len(conditions):
        raise ValueError(
            f"np.piecewise: expected {len(conditions)} or {len(conditions) + 1} functions, got {len(funclist)}"
        )
    y = np.zeros_like(x)
    for condition, f in zip(conditions, funclist, strict=True):
        if not callable(f):
            y[condition] = f
            continue
        chosen = x[condition]  # a condition with fewer axes selects rows
        if chosen.size:
            y[condition] = f(chosen, *args, **options)
    return y
