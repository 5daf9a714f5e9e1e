"""Quantiles of samples by all of NumPy's methods, with weights and without nan; moments without nan."""

import math

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.products import as_array
from contad.ops.reductions import mask_of, root_of, squares_where
from contad.ops.selection import number_or_array, rows_of, select_ranks
from contad.ops.shape import refuse_given
from contad.ops.tied_elements import may_tie, take_picked
from contad.rules.numpy_functions import NO_VALUE, implements, refuse_out
from contad.variables.array import numbers_in
from contad.variables.number import observe, peek
from contad.variables.open_types import ArrayValue, Function, Option, Value

# from q = 0 to 1, the place of a quantile among n sorted elements grows by n plus this
_GROWTH = {"linear": -1.0, "interpolated_inverted_cdf": 0.0, "hazen": 0.0, "weibull": 1.0,
           "median_unbiased": 1.0 / 3.0, "normal_unbiased": 0.25}  # fmt: skip


def interpolate(rows: Value, position: ArrayValue, last: ArrayValue | None = None, varies: bool = False) -> Value:
    """The sorted elements of each row, interpolated at places that may lie between two of them.

    position  (m,), or (..., m) for places of each row
    last      the place of the last one in each row, (..., 1), if nan after it are left out
    varies    whether there is a derivative with respect to the place
    """
    n = rows.shape[-1]
    end = n - 1 if last is None else np.maximum(last, 0)
    place = observe(np.asarray, position)
    below = np.where(np.isnan(place), 0.0, np.floor(place)).astype(int)
    below = np.clip(below, 0, np.maximum(end - varies, 0))
    t = position - below
    x = _at_ranks(rows, below, last is not None)
    if not varies and not np.any(place != below) and not observe(np.isinf, rows).any():
        return x  # a read
    y = _at_ranks(rows, np.minimum(below + 1, end), last is not None)
    near = place - below < 0.5  # from the nearer end, like NumPy, including its nan at infinite elements
    return np.where(near, x, y) + (y - x) * np.where(near, t, t - 1.0)


def _at_ranks(rows: Value, rank: np.ndarray, leaves_nan: bool) -> Value:
    """The elements with these ranks in each row; nan sort last, or make their whole row nan."""
    if not leaves_nan and rank.ndim == 1:
        return select_ranks(rows, rank)
    order = observe(np.argsort, rows, axis=-1, kind="stable")
    positions = np.take_along_axis(order, rank, -1)
    return take_picked(rows, positions, rank) if may_tie(rows, positions) else np.take_along_axis(rows, positions, -1)


def _find_places(function: Function, rows: Value, q: np.ndarray, options: dict[str, Option]) -> np.ndarray:
    """The places of quantiles among the sorted elements of each row, with or without nan: (..., m).

    They are the results of NumPy's function for the ranks instead of the elements.
    """
    values = observe(np.asarray, rows)
    order = np.argsort(np.argsort(values, -1, kind="stable"), -1, kind="stable")
    ranks = np.where(np.isnan(values), np.nan, order)
    return np.moveaxis(np.asarray(function(ranks, q, axis=-1, **options)), 0, -1)


def _quantiles(function: Function, scale: float) -> None:
    """Declare np.quantile or a similar function, whose q is `scale` at the largest element."""
    leaves_nan = function.__name__.startswith("nan")

    def implementation(
        a: Value, q: Value, axis: Option = None, out: ArrayValue | None = None, overwrite_input: bool = False,
        method: Option = "linear", keepdims: Option = False, *, weights: Value | None = None,
        interpolation: Option = None,
    ) -> Value:  # fmt: skip
        name = f"np.{function.__name__}"
        refuse_out(function, {"out": out})
        refuse_given(function, interpolation=interpolation)
        if numbers_in(weights):
            raise UnsupportedError(f"{name}: weights must be constants; contad.value_of gives their values")
        a, q = as_array(a), as_array(q)
        share = observe(np.asarray, q) / scale
        if np.ndim(q) > 2 or (np.ndim(q) == 2 and not np.size(q)):
            raise ValueError(f"{name}: q must be a number, a vector or a matrix with elements, got shape {np.shape(q)}")
        if not np.all((share >= 0.0) & (share <= 1.0)):
            raise ValueError(f"{name}: q must be in [0, {scale:g}], got {peek(q)}")
        rows, reduced = rows_of(function, a, axis)
        n, last = rows.shape[-1], None
        if leaves_nan or weights is not None:
            options: dict[str, Option] = {"method": method}
            if weights is not None:
                options["weights"] = _weights_of_rows(name, np.asarray(weights), a.shape, rows.shape, axis)
            place: Value = _find_places(function, rows, share.ravel() * scale, options)
            if leaves_nan:
                n = np.sum(~observe(np.isnan, rows), axis=-1, keepdims=True)
                last = n - 1
        elif method == "linear":
            place = share.ravel() * (n - 1)
        else:
            place = np.quantile(np.arange(float(n)), share.ravel(), method=method)
        varies = bool(numbers_in(q)) and method in _GROWTH and weights is None
        if varies:
            growth = np.where((place > 0.0) & (place < n - 1) | (method == "linear"), n + _GROWTH[method], 0.0)
            change = (np.reshape(q, (-1,)) - share.ravel() * scale) / scale
            place = place + growth * change
        z = interpolate(rows, place, last, varies)
        return number_or_array(
            np.moveaxis(z, -1, 0).reshape(share.shape + (reduced if keepdims is True else z.shape[:-1]))
        )

    implements(function)(implementation)


def _weights_of_rows(
    name: str, weights: np.ndarray, shape: tuple[int, ...], rows: tuple[int, ...], axis: Option
) -> np.ndarray:
    """Weights of the elements of a, or of those along one axis, in the rows of a."""
    if weights.shape == shape:
        return rows_of(np.quantile, weights, axis)[0]
    if weights.ndim == 1 and weights.shape == rows[-1:]:
        return np.broadcast_to(weights, rows)
    raise TypeError(f"{name}: weights must have the shape of a, {shape}, or that of its axis, got {weights.shape}")


_quantiles(np.quantile, 1.0)
_quantiles(np.percentile, 100.0)
_quantiles(np.nanquantile, 1.0)
_quantiles(np.nanpercentile, 100.0)


@implements(np.nanmedian)
def nanmedian(
    a: Value, axis: Option = None, out: ArrayValue | None = None, overwrite_input: bool = False,
    keepdims: Option = False,
) -> Value:  # fmt: skip
    """The middle one of the elements that are not nan, or the mean of the two middle ones; nan if there are none."""
    refuse_out(np.nanmedian, {"out": out})
    rows, reduced = rows_of(np.nanmedian, a, axis)
    if not np.size(rows):  # no rows
        return observe(np.nanmedian, a, axis, keepdims=keepdims)
    place = _find_places(np.nanquantile, rows, np.array([0.5]), {})
    place = np.where(np.isnan(place), 0.0, place)
    low, high = np.floor(place).astype(int), np.ceil(place).astype(int)
    z = _at_ranks(rows, low, True)
    if np.any(low != high):
        z = np.where(low == high, z, (z + _at_ranks(rows, high, True)) / 2.0)
    return number_or_array(z.reshape(reduced if keepdims is True else rows.shape[:-1]))


# ---- moments ---------------------------------------------------------------------------------------------------------
def _squares(
    function: Function, a: Value, axis: Option, dtype: Option, out: ArrayValue | None, ddof: float, keepdims: Option,
    options: dict[str, Option],
) -> tuple[Value, np.ndarray]:  # fmt: skip
    """The sums of squares about the means, and NumPy's divisors for them, nan if nothing is left."""
    refuse_out(function, {"out": out})
    mean, correction, where = (options.pop(name, NO_VALUE) for name in ("mean", "correction", "where"))
    refuse_given(function, dtype=dtype, **options)
    mask = ~observe(np.isnan, a)
    if where is not NO_VALUE and where is not True:
        mask &= mask_of(where, a)
    squares, number = squares_where(a, mask, axis, keepdims is True, None if mean is NO_VALUE else mean)
    freedom = number - (ddof if correction is NO_VALUE else correction)
    return squares, np.where(freedom <= 0, math.nan, freedom)[()]


@implements(np.nanvar)
def nanvar(
    a: Value, axis: Option = None, dtype: Option = None, out: ArrayValue | None = None, ddof: float = 0,
    keepdims: Option = False, **options: Option,
) -> Value:  # fmt: skip
    """The variance of the elements that are not nan; nan if there are too few."""
    squares, freedom = _squares(np.nanvar, a, axis, dtype, out, ddof, keepdims, options)
    return squares / freedom


@implements(np.nanstd)
def nanstd(
    a: Value, axis: Option = None, dtype: Option = None, out: ArrayValue | None = None, ddof: float = 0,
    keepdims: Option = False, **options: Option,
) -> Value:  # fmt: skip
    """The standard deviation of the elements that are not nan; 0 with derivative 0 if they are equal."""
    squares, freedom = _squares(np.nanstd, a, axis, dtype, out, ddof, keepdims, options)
    return root_of(squares / freedom)
