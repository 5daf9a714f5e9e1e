"""Values and cells of the partners of array variables: numbers, arrays, lists, object arrays of scalar variables."""

import functools
from collections.abc import Callable

import numpy as np

from contad.engines.matrix.array_var import ArraySlab, ArrayVar, is_own, scalar_parts, scatter
from contad.errors import UnsupportedError
from contad.variables.arguments import array as float_array, fail, kind_of, operand
from contad.variables.array import Array, numbers_in, require_no_inner
from contad.variables.layout import same_layout
from contad.variables.number import Number
from contad.variables.open_types import ArrayValue, CellIndex, Nested, Sources, Value
from contad.variables.trees import map_lists


def parts(stack: ArraySlab, y: Nested) -> tuple[Value, CellIndex]:
    """(value, cells) of an assigned number, array, or nested list of numbers."""
    if y.__class__ is float:
        return y, 0
    require_no_inner(y, stack.level)
    if isinstance(y, Array):
        return (y._sync_parts()._value, y.cells()) if isinstance(y, ArrayVar) and y._owner is stack else (y, 0)
    if isinstance(y, Number):
        return scalar_parts(y, stack)
    if isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object):
        return adopt_parts(stack, y)
    a = np.asarray(y)
    if a.dtype.kind not in "fiub":
        operand("an assignment", "the value", y)
    return a, 0


def adopt_parts(stack: ArraySlab, y: Nested) -> tuple[Value, CellIndex]:
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
    return top.adopt(values), cells


def take(stack: ArraySlab, x: Value) -> Value:
    """An argument; an object array that holds variables of the stack becomes an array variable."""
    if isinstance(x, np.ndarray) and x.dtype == object and any(is_own(n, stack) for n in x.flat):
        return stack.adopt(x)
    return x


def move_elements(
    stack: ArraySlab, move: Callable[[Sources], ArrayValue], sources: Sources
) -> ArrayValue:
    """move(sources) applied to the values and to the cells; it records nothing."""

    known: set[int] = set()  # ids of arrays whose memory the result must not share

    def part(k: int, x: Value) -> Value:
        x = take(stack, x)
        if is_own(x, stack):
            v: Value = (x._sync_parts()._value, x.cells() if isinstance(x, ArrayVar) else x._index)[k]
            known.add(id(v))
            return v
        known.add(id(x))
        return x if k == 0 else np.zeros(np.shape(x), np.int64)

    values, cells = (
        move({key: map_lists(functools.partial(part, k), x) for key, x in sources.items()}) for k in range(2)
    )
    return map_lists(functools.partial(_wrap, stack, known), values, cells)


def _wrap(stack: ArraySlab, known: set[int], values: ArrayValue, cells: CellIndex) -> Value:
    if isinstance(values, (np.ndarray, np.generic)) and values.dtype.kind not in "fiubO":
        fail("an array of variables", "its elements", "be real numbers", kind_of(values), UnsupportedError)
    if not isinstance(values, (np.ndarray, Array)):
        return stack.element(values, int(cells))
    if isinstance(values, np.ndarray) and not _is_new(values, known):
        values = np.array(values)
    if not isinstance(cells, np.ndarray) or not _is_new(cells, known):
        cells = np.array(cells)
    return scatter(stack, values, same_layout(cells, values))


def _is_new(a: np.ndarray, known: set[int]) -> bool:
    """Whether an array shares its memory with no other: it is no view, and none of the moved arrays."""
    return a.flags.owndata and a.flags.writeable and id(a) not in known
