"""The decisions of a recorded function that depend on values, written as comparisons: the guards of its program.

Each decision (the sign of an element, the position of the largest, an integer part) becomes comparisons that hold
exactly where the decision has the same outcome. Where one fails, the program does not run.
"""

import math
import operator
from collections.abc import Callable
from typing import Protocol

import numpy as np

from contad.engines.matrix.array_var import ArrayVar, is_own
from contad.engines.matrix.elements import take
from contad.engines.matrix.matrix_products import factor_of
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.engines.stream.kernels import two_axes
from contad.errors import UnsupportedError
from contad.ops.determinants import det as determinant, log_determinant, sign_of_determinant
from contad.ops.matrix_functions import as_positions
from contad.ops.selection import argmax_of_rows, argmin_of_rows
from contad.programs.codes import COMPARE, ORDER
from contad.variables.array import Array
from contad.variables.number import Number, peek
from contad.variables.open_types import ArrayValue, Function, Option, Real, Value
from contad.variables.var import Var


class GuardWriter(Protocol):
    """The interface through which decisions become guards: see `contad.programs.tracer.Tracer`."""

    stack: MatrixStack

    def guard(self, name: str, x: Var, y: Real) -> bool:
        """The outcome of a comparison; the program requires the same outcome in every run."""

    def push_guard(self, code: int, slot: int) -> None:
        """Push a record that requires the same outcome of a comparison of arrays."""


# ---- comparisons -----------------------------------------------------------------------------------------------------
def decide_comparison(tracer: GuardWriter, name: str, x: Value, y: Value) -> bool | np.ndarray:
    """A comparison such as x < y of numbers and arrays, of which one is a variable; the outcome becomes a guard."""
    x, y = take(tracer.stack, x), take(tracer.stack, y)
    if not any(isinstance(v, (np.ndarray, Array)) for v in (x, y)):
        if is_own(x, tracer.stack):
            return tracer.guard(name, x, y if is_own(y, tracer.stack) else float(y))
        return tracer.guard(MIRRORED[name], y, float(x))
    for k, v in enumerate((x, y)):
        if not np.ndim((y, x)[k]) and v.__class__ is ArrayVar:
            factor = factor_of(v)
            if factor is not None and factor.turned:  # compared in its memory order, without a copy
                pair = (v.T, y) if k == 0 else (x, v.T)
                return np.ascontiguousarray(decide_comparison(tracer, name, *pair).T)  # type: ignore[union-attr]
    plain = [peek(v) for v in (x, y)]
    shape = np.broadcast_shapes(*map(np.shape, plain))
    axes = two_axes(shape, *(_strides(s, shape) for s in (shape, *map(np.shape, plain))))
    if axes is None:  # more axes than records have: the operands in full
        return decide_comparison(tracer, name, *(np.broadcast_to(v, shape).copy() if np.ndim(v) else v for v in (x, y)))
    outcome = np.asarray(getattr(operator, name)(*plain))
    if outcome.size:
        fields = [_side(tracer, v) for v in (x, y)]
        outer, inner, *steps = axes
        if outcome.all() or not outcome.any():
            expected = tracer.stack.buffers.push_constant(outcome.reshape(-1)[:1].astype(np.float64))
            steps[:2] = 0, 0
        else:
            expected = tracer.stack.buffers.push_constant(outcome.astype(np.float64))
        (a, a_in_cells), (b, b_in_cells) = fields
        shape_of_guard = (
            expected, outer, inner, *steps[:2], a, *steps[2:4], b, *steps[4:6], ORDER.index(name), a_in_cells,
            b_in_cells,
        )  # fmt: skip
        slot = tracer.stack.buffers.push_cells(np.array(shape_of_guard))
        tracer.push_guard(COMPARE, slot)
    return outcome if outcome.ndim else bool(outcome)


MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _strides(shape: tuple[int, ...], broadcast: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array in C order that is broadcast."""
    return tuple(step // 8 for step in np.broadcast_to(np.empty(shape), broadcast).strides)


def _side(tracer: GuardWriter, v: Value) -> tuple[int, int]:
    """The place of an operand, and whether it is a cell or a constant."""
    if isinstance(v, ArrayVar) and v._owner is tracer.stack:
        v = v.operand()
    if is_own(v, tracer.stack):
        return (v.first if isinstance(v, ArrayVar) else v._index), 1
    return tracer.stack.buffers.push_constant(np.ascontiguousarray(peek(v), dtype=np.float64)), 0


def comparison(name: str) -> Function:
    """The decision of a comparison."""
    return lambda tracer, x, y: decide_comparison(tracer, name, x, y)


# ---- numbers ---------------------------------------------------------------------------------------------------------
def within(tracer: GuardWriter, x: Value, low: float, low_included: bool, high: float, high_included: bool) -> None:
    """Guards that hold where x is between two numbers."""
    decide_comparison(tracer, "ge" if low_included else "gt", x, low)
    decide_comparison(tracer, "le" if high_included else "lt", x, high)


def truncate(tracer: GuardWriter, x: Value) -> int:
    """int(x)"""
    x = _number("int", x)
    k = int(x._value)
    within(tracer, x, k if k > 0 else k - 1, k > 0, k + 1 if k >= 0 else k, k < 0)
    return k


def floor(tracer: GuardWriter, x: Value) -> int:
    """math.floor(x)"""
    x = _number("floor", x)
    k = math.floor(x._value)
    within(tracer, x, k, True, k + 1, False)
    return k


def ceil(tracer: GuardWriter, x: Value) -> int:
    """math.ceil(x)"""
    x = _number("ceil", x)
    k = math.ceil(x._value)
    within(tracer, x, k - 1, False, k, True)
    return k


def round_even(tracer: GuardWriter, x: Value) -> int:
    """round(x), halves to the even integer"""
    x = _number("round", x)
    k = round(x._value)
    within(tracer, x, k - 0.5, k % 2 == 0, k + 0.5, k % 2 == 0)
    return k


def truth(tracer: GuardWriter, x: Value) -> bool:
    """bool(x) of one number"""
    return bool(decide_comparison(tracer, "ne", _number("bool", x), 0.0))


def _number(function: str, x: Value) -> Number:
    """x as a scalar variable."""
    if isinstance(x, Number):
        return x
    if x.size != 1:
        raise UnsupportedError(f"{function}: expected one number, got an array of shape {x.shape}")
    return x.item()


# ---- arrays ----------------------------------------------------------------------------------------------------------
def is_nan(tracer: GuardWriter, x: Value) -> bool | np.ndarray:
    """np.isnan(x)"""
    return decide_comparison(tracer, "ne", x, x)


def is_infinite(tracer: GuardWriter, x: Value) -> bool | np.ndarray:
    """np.isinf(x)"""
    return decide_comparison(tracer, "eq", x, math.inf) | decide_comparison(tracer, "eq", x, -math.inf)


def is_finite(tracer: GuardWriter, x: Value) -> bool | np.ndarray:
    """np.isfinite(x)"""
    return decide_comparison(tracer, "lt", x, math.inf) & decide_comparison(tracer, "gt", x, -math.inf)


def argsort(
    tracer: GuardWriter, a: ArrayValue, axis: int | None = -1, kind: str | None = None, order: None = None, *,
    stable: bool | None = None,
) -> np.ndarray:  # fmt: skip
    """np.argsort(a), stably: each element is below the next one, or equal to it and before it."""
    if axis is None:
        a, axis = np.reshape(a, -1), 0
    rows = np.moveaxis(a, axis, -1)
    positions = np.argsort(peek(rows), -1, kind="stable")
    if rows.shape[-1] > 1:
        _require_numbers("np.argsort", rows)
        ordered = np.take_along_axis(rows, positions, -1)
        in_order = positions[..., :-1] < positions[..., 1:]
        _all_hold(tracer, "le", ordered[..., :-1][in_order], ordered[..., 1:][in_order])
        _all_hold(tracer, "lt", ordered[..., :-1][~in_order], ordered[..., 1:][~in_order])
    return np.ascontiguousarray(np.moveaxis(positions, -1, axis))  # in NumPy's memory order, whatever the order of a


def largest(sign: str, plain: Callable[..., np.ndarray]) -> Function:
    """np.argmax or np.argmin: no element is beyond the one found, and those before it are not as far."""
    beyond = f"{sign}t"

    def decision(
        tracer: GuardWriter, a: ArrayValue, axis: Option = None, out: ArrayValue | None = None, *,
        keepdims: bool = False,
    ) -> int | np.ndarray:  # fmt: skip
        if out is not None:
            raise UnsupportedError(f"np.{plain.__name__}: out= is not supported on variables")
        flat = axis is None
        rows = np.reshape(a, -1) if flat else np.moveaxis(a, axis, -1)
        _require_numbers(f"np.{plain.__name__}", rows)
        positions = np.expand_dims(plain(peek(rows), axis=-1), -1)
        _is_extreme(tracer, beyond, rows, positions)
        if flat:
            found = int(positions[0])
            return np.full((1,) * np.ndim(a), found) if keepdims is True else found
        return np.moveaxis(positions, -1, axis) if keepdims is True else positions[..., 0]

    return decision


def of_rows(sign: str, plain: Callable[..., np.ndarray]) -> Function:
    """The positions of extremes along the last axis, as np.max and np.min ask for them."""
    return lambda tracer, rows: largest(sign, plain)(tracer, rows, axis=-1)


def _is_extreme(tracer: GuardWriter, beyond: str, rows: ArrayValue, positions: np.ndarray) -> None:
    if positions.size == 1:  # one row needs no copies: parts of it are compared with a number
        row, k = np.reshape(rows, -1), int(positions.item())
        back = MIRRORED[beyond]
        _all_hold(tracer, back, row[:k], row[k])
        _all_hold(tracer, f"{back[0]}e", row[k + 1 :], row[k])
        return
    extreme = np.broadcast_to(np.take_along_axis(rows, positions, -1), rows.shape)
    before = np.arange(rows.shape[-1]) < positions
    _all_hold(tracer, beyond, extreme[before], rows[before])
    after = np.arange(rows.shape[-1]) > positions
    _all_hold(tracer, f"{beyond[0]}e", extreme[after], rows[after])


def searchsorted(
    tracer: GuardWriter, a: ArrayValue, v: Value, side: str = "left", sorter: None = None
) -> int | np.ndarray:
    """np.searchsorted(a, v): each number is between the two elements where it is put."""
    if sorter is not None:
        raise UnsupportedError("np.searchsorted: sorter= is not supported in a recorded program")
    found = np.searchsorted(peek(a), peek(v), side)  # type: ignore[call-overload]
    points, n = np.reshape(v, -1), np.size(a)
    places = np.reshape(found, -1)
    below, above = places > 0, places < n
    # an element of a at the place or after it is not below v (left), or above v (right)
    _all_hold(tracer, "lt" if side == "left" else "le", np.take(a, places[below] - 1), points[below])
    _all_hold(tracer, "ge" if side == "left" else "gt", np.take(a, places[above]), points[above])
    return found if np.ndim(found) else int(found)


def stay_equal(function: Function) -> Function:
    """The decision of a function of discrete numbers: every number keeps its present value."""

    def decision(tracer: GuardWriter, x: ArrayValue) -> np.ndarray:
        _all_hold(tracer, "eq", x, peek(x))
        found: np.ndarray = function(peek(x))
        return found

    return decision


def find_sign(tracer: GuardWriter, a: ArrayValue) -> Value:
    """The sign of the determinants of a, each scaled to -1 or 1; for a singular matrix the logarithm decides."""
    found = sign_of_determinant(peek(a))
    log = log_determinant(a)
    regular = np.isfinite(peek(log))
    decide_comparison(tracer, "gt", log, -math.inf)
    if np.size(a) and np.any(regular):
        scale = np.exp(np.where(regular, log, 0.0) * (-1.0 / np.shape(a)[-1]))
        z = determinant(a * np.expand_dims(np.expand_dims(scale, -1), -1)) if np.ndim(log) else determinant(a * scale)
        decide_comparison(tracer, "gt", z, 0.0)
    return found


def _all_hold(tracer: GuardWriter, name: str, x: Value, y: Value) -> None:
    """A guard that a comparison holds for all elements, as it does now."""
    if np.size(x):
        decide_comparison(tracer, name, x, y)


def _require_numbers(function: str, rows: ArrayValue) -> None:
    if np.isnan(peek(rows)).any():
        raise UnsupportedError(f"{function}: of an array with nan; record the program at other inputs")


DECISIONS: dict[Function, Function] = {
    **{getattr(operator, name): comparison(name) for name in ORDER},
    np.less: comparison("lt"), np.less_equal: comparison("le"), np.greater: comparison("gt"),
    np.greater_equal: comparison("ge"), np.equal: comparison("eq"), np.not_equal: comparison("ne"),
    int: truncate, math.trunc: truncate, math.floor: floor, math.ceil: ceil, round: round_even, bool: truth,
    math.isnan: is_nan, math.isinf: is_infinite, math.isfinite: is_finite,
    np.isnan: is_nan, np.isinf: is_infinite, np.isfinite: is_finite,
    np.argsort: argsort, np.argmax: largest("g", np.argmax), np.argmin: largest("l", np.argmin),
    np.searchsorted: searchsorted,
    as_positions: stay_equal(as_positions), sign_of_determinant: find_sign,
    argmax_of_rows: of_rows("g", np.argmax), argmin_of_rows: of_rows("l", np.argmin),
}  # fmt: skip
