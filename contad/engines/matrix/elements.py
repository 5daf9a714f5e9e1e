"""Values and cells of what meets an array variable: numbers, arrays, lists, object arrays of scalar variables."""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.matrix.array_var import ArrayVar, is_own, scalar_parts, scattered
from contad.variables.arguments import array as float_array, operand
from contad.variables.array import Array, numbers_in, require_no_inner
from contad.variables.layout import same_layout
from contad.variables.number import Number


def parts(stack: Any, y: Any) -> tuple[Any, Any]:
    """(value, cells) of what is assigned: a number, an array, or nested lists of numbers."""
    if y.__class__ is float:
        return y, 0
    require_no_inner(y, stack.level)
    if isinstance(y, Array):
        return (y._synced()._value, y.cells()) if isinstance(y, ArrayVar) and y._owner is stack else (y, 0)
    if isinstance(y, Number):
        return scalar_parts(y, stack)
    if isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object):
        return adopted_parts(stack, y)
    a = np.asarray(y)
    if a.dtype.kind not in "fiub":
        operand("an assignment", "the value", y)
    return a, 0


def adopted_parts(stack: Any, y: Any) -> tuple[Any, Any]:
    """(values, cells) of an object array, or nested lists, of numbers and arrays."""
    if not isinstance(y, np.ndarray):
        if any(isinstance(n, Array) for n in numbers_in(y)):
            return parts(stack, np.stack([np.stack(x) if isinstance(x, (list, tuple)) else x for x in y]))
        y = np.array(y, dtype=object) if numbers_in(y) else float_array("an assignment", "the value", y)
    if y.dtype != object:
        return y, 0
    values, cells = np.empty(y.shape, object), np.zeros(y.shape, np.int64)
    for k in np.ndindex(y.shape):
        require_no_inner(y[k], stack.level)
        values[k], cells[k] = scalar_parts(operand("an assignment", "the value", y[k]), stack)
    if not numbers_in(values):
        return values.astype(np.float64), cells
    top = max(numbers_in(values), key=lambda n: n._owner.level)._owner
    return top.adopted(values), cells


def taken(stack: Any, x: Any) -> Any:
    """An argument, with an object array that holds variables of the stack as an array variable."""
    if isinstance(x, np.ndarray) and x.dtype == object and any(is_own(n, stack) for n in x.flat):
        return stack.adopted(x)
    return x


def moved(stack: Any, move: Callable[[Any], Any], sources: dict[Any, Any]) -> Any:
    """move(sources) on the values and on the cells: nothing is recorded."""

    def part(x: Any, k: int) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(part(item, k) for item in x)
        x = taken(stack, x)
        if is_own(x, stack):
            return (x._synced()._value, x.cells() if isinstance(x, ArrayVar) else x._index)[k]
        return x if k == 0 else np.zeros(np.shape(x), np.int64)

    values = move({key: part(x, 0) for key, x in sources.items()})
    cells = move({key: part(x, 1) for key, x in sources.items()})
    return _wrapped(stack, values, cells)


def _wrapped(stack: Any, values: Any, cells: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return type(values)(_wrapped(stack, v, c) for v, c in zip(values, cells, strict=True))
    if not isinstance(values, (np.ndarray, Array)):
        return stack.element(values, int(cells))
    if isinstance(values, np.ndarray):
        values = np.array(values)
    return scattered(stack, values, same_layout(np.array(cells), values))
