"""ufunc.reduce, accumulate and reduceat of arrays of variables, and calls with where=."""

import itertools
from typing import Any

import numpy as np

from contad.errors import UnsupportedError
from contad.ops.calculus import cut
from contad.ops.log_sums import logsumexp
from contad.ops.selection import rows_of
from contad.protocols.number_protocols import find_exported_name
from contad.rules.numpy_functions import write_result
from contad.rules.scalar_rule import owner_of
from contad.variables.array import numbers_in
from contad.variables.complex_pair import is_complex
from contad.variables.number import map_numbers, observe, primal
from contad.variables.open_types import ArrayValue, Option, Options, Value

# for these, ufunc.reduce and ufunc.accumulate are separate functions; the first take initial= and where=
_REDUCTIONS: dict[np.ufunc, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.fmax: np.nanmax,
    np.fmin: np.nanmin,
}  # fmt: skip
_ACCUMULATIONS: dict[np.ufunc, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def call_method(ufunc: np.ufunc, method: str, inputs: tuple[Value, ...], options: Options) -> Value:
    """ufunc.reduce, accumulate or reduceat, or NotImplemented for options that only NumPy's loops have."""
    a, axis = inputs[0], options.get("axis", 0)
    if ufunc.nin != 2 or ufunc.nout != 1 or not hasattr(a, "shape") or not options.keys() <= _OPTIONS[method]:
        return NotImplemented
    if method == "reduce":
        return _reduce(ufunc, a, **({"axis": 0} | options))
    if np.ndim(a) == 0:
        raise TypeError(f"cannot {method} on a scalar")
    axis = np.lib.array_utils.normalize_axis_index(axis, a.ndim)
    if method == "reduceat":
        return _reduce_pieces(ufunc, a, np.asarray(map_numbers(primal, inputs[1])), axis)
    if ufunc in _ACCUMULATIONS:
        return _ACCUMULATIONS[ufunc](a, axis=axis)
    return np.concatenate(_fold(ufunc, a, axis), axis=axis) if a.shape[axis] else a.copy()


_OPTIONS = {
    "reduce": {"axis", "keepdims", "initial", "where"}, "accumulate": {"axis"}, "reduceat": {"axis"},
}  # fmt: skip


def _reduce(ufunc: np.ufunc, a: Value, axis: Option, keepdims: Option = False, **options: Option) -> Value:
    if ufunc in _REDUCTIONS:
        return _REDUCTIONS[ufunc](a, axis=axis, keepdims=keepdims, **options)
    if ufunc is np.logaddexp and not options:
        return logsumexp(a, axis=axis, keepdims=bool(keepdims))
    if "where" in options:
        name = find_exported_name(ufunc)
        raise UnsupportedError(f"{name}.reduce: where= is not supported on variables; pick elements by a[mask]")
    if not np.size(a) and "initial" not in options:
        return observe(ufunc.reduce, a, axis=axis, keepdims=keepdims)  # the identity, or an error
    several = axis is None or isinstance(axis, tuple)
    if several and np.ndim(a) > 1:
        observe(ufunc.reduce, a, axis=axis)  # raises for an operation that depends on the order of the axes
    rows, reduced = rows_of(np.max, a, axis)
    first = options.get("initial", ufunc.identity)
    start = [] if first is None else [np.broadcast_to(first, (*rows.shape[:-1], 1))]
    z = _fold(ufunc, rows, -1, start)[-1].reshape(reduced if keepdims is True else rows.shape[:-1])
    return z if z.ndim else z[()]


def _fold(ufunc: np.ufunc, a: Value, axis: int, start: list[ArrayValue] | None = None) -> list[ArrayValue]:
    """The results up to each element along an axis, which has length 1 in each of them."""
    pieces = [cut(a, axis, k, k + 1) for k in range(a.shape[axis])]
    return list(itertools.accumulate([*(start or []), *pieces], ufunc))


def _reduce_pieces(ufunc: np.ufunc, a: Value, places: np.ndarray, axis: int) -> ArrayValue:
    """ufunc.reduceat: from each place to the next, or only that element if the next place is not above it."""
    n = a.shape[axis]
    for k in places[(places < 0) | (places >= n)]:
        raise IndexError(f"{find_exported_name(ufunc)}.reduceat: index {k} out-of-bounds [0, {n})")
    parts = []
    for start, stop in zip(places, [*places[1:], n], strict=True):
        piece = cut(a, axis, start, max(stop, start + 1))
        parts.append(piece if stop <= start + 1 else ufunc.reduce(piece, axis=axis, keepdims=True))
    return np.concatenate(parts, axis=axis) if parts else cut(a, axis, 0, 0)


def call_where(ufunc: np.ufunc, inputs: tuple[Value, ...], out: Any, where: np.ndarray) -> Any:
    """A ufunc at the elements where a mask holds; the others are those of out=, or 0.0, where NumPy's are arbitrary.

    It is not evaluated at the other elements, whose derivative might not be finite.
    """
    name = find_exported_name(ufunc)
    shape = np.broadcast_shapes(*map(np.shape, inputs), where.shape)
    mask = np.broadcast_to(where, shape)
    found = ufunc(*(np.broadcast_to(x, shape)[mask] for x in inputs))
    results = found if isinstance(found, tuple) else (found,)
    if any(map(is_complex, results)):
        raise UnsupportedError(f"{name}: where= is not supported on complex variables; use np.where on the result")
    targets = [None] * len(results) if out is None else [*out] if isinstance(out, tuple) else [out]
    owner: Any = owner_of(name, numbers_in(list(inputs)))
    filled = []
    for target, z in zip(targets, results, strict=True):
        new = owner.writable(np.zeros(shape)) if target is None else target
        if target is not None:
            write_result(name, target, target)  # which refuses an array of floats, and one of another shape
        if np.shape(new) != shape:
            raise ValueError(f"{name}: out must have shape {shape}, got {np.shape(new)}")
        new[mask] = z
        filled.append(new)
    return tuple(filled) if isinstance(found, tuple) else filled[0]
