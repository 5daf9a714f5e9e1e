"""Sums of formulas over arrays and numbers, as densities are of data: one pass computes the value and all partials.

By numbers the partials are sums, by arrays an array each, which the compiled sweep reads. A few elements are a loop of
Python's floats. To get the compiled function for a formula takes time, so that loop, or NumPy, evaluates some elements
before that.
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contad.distributions.float_loops import FEW, LoopKey, float_loop
from contad.engines.matrix.array_var import FLOAT, ArrayVar
from contad.engines.stream.record_head import JOIN, LINEAR, STRIDED
from contad.rules.scalar_rule import ScalarRule
from contad.variables.arguments import constant
from contad.variables.layout import layout_of
from contad.variables.number import stands_for_float
from contad.variables.open_types import Real, Value
from contad.variables.var import Var

if TYPE_CHECKING:
    from contad.engines.matrix.matrix_stack import MatrixStack

# elements that are evaluated first: where the function is in the disk cache, and where it is to be compiled
LOADING, COMPILING = 100_000, 2_000_000
PER_CALL = 200  # elements of a loop that take as long as a call of NumPy's functions for a formula
SHORT = 16  # elements of which each is a record of its own
OF_RULE = 20  # elements of a formula that take as long as one of a rule, which may be evaluated in Python
Key = tuple[
    str, tuple[bool, ...], tuple[bool, ...], tuple[str, ...]
]  # the formula, arrays, active arguments, conditions
_waited: dict[Key, float] = {}  # elements
_absent: set[Key] = set()  # not in the disk cache


def sum_formula(stack: "MatrixStack", rule: ScalarRule, args: Sequence[Value], conditions: tuple[str, ...]) -> Value:
    """The sum, recorded; None where it is not one of arrays of one shape and numbers, or elements are not as asked."""
    if rule.body is None or not rule.__module__.startswith("contad."):
        return None
    values: list[Value] = []
    cells: list[int] = []  # the first of each argument; -1 of constants
    shape: tuple[int, ...] = ()
    for k, x in enumerate(args):
        cell = -1
        if isinstance(x, Var) and x._owner is stack:
            cell, x = x._index, x._value
        elif x.__class__ is ArrayVar and x._owner is stack:
            y = x.operand()
            if y.__class__ is ArrayVar:
                cell, y = y.first, y._value
            x = y
        if x.__class__ is not float:
            if x.__class__ is not np.ndarray or x.dtype is not FLOAT:
                x = constant(rule.name, rule.argument_names[k], x)
            if x.__class__ is np.ndarray:
                if x.shape != (shape or x.shape) or not x.size or not x.ndim or x.dtype is not FLOAT:
                    return None
                shape = x.shape
            elif x.__class__ is not float:
                return None
        values.append(x)
        cells.append(cell)
    arrays = tuple([x.__class__ is not float for x in values])
    active = tuple([cell >= 0 for cell in cells])
    if True not in active or _is_routed(rule, active):
        return None
    if True not in arrays:
        found = float_loop(LoopKey(rule, arrays, active, conditions, True))(*values)
        if found is None:
            return None
        var_class = stack.float_class if all(map(stands_for_float, args)) else stack.var_class
        return _push(stack, cells, *found, var_class)
    if layout_of([x for x in values if x.__class__ is np.ndarray]) is not None:
        return None
    return _sum_arrays(stack, rule, (rule.name, arrays, active, conditions), values, cells)


@functools.cache
def _is_routed(rule: ScalarRule, active: tuple[bool, ...]) -> bool:
    assert rule.body is not None
    return any(rule.body.routes(k) for k, is_active in enumerate(active) if is_active)


def _sum_arrays(
    stack: "MatrixStack", rule: ScalarRule, key: Key, values: Sequence[Value], cells: Sequence[int]
) -> Value:
    n = next(x.size for x in values if x.__class__ is np.ndarray)
    if _is_worth_it(key, rule, n):
        return _call(stack, rule, key, values, cells)
    if n > FEW:
        return None
    given = [x if x.__class__ is float else x.reshape(-1).tolist() for x in values]
    found = float_loop(LoopKey(rule, *key[1:], True))(*given)
    return None if found is None else _push(stack, cells, *found, stack.var_class)


def _push(stack: "MatrixStack", cells: Sequence[int], total: float, slopes: Sequence[Any], var_class: Any) -> Var:
    """A number with its partials: a record for each number and for each element of short lists, and one for an array.

    An array is given by its place among the constants and its size.
    """
    fields: list[Real] = []
    arrays = []
    found = iter(slopes)
    for cell in cells:
        if cell < 0:
            continue
        slope = next(found)
        if slope.__class__ is float:
            fields += JOIN, cell, slope, total
        elif slope.__class__ is tuple:
            arrays.append((cell, *slope))
        elif len(slope) > SHORT:
            place, constants = stack.buffers.new_constant((len(slope),))
            constants[:] = slope
            arrays.append((cell, place, len(slope)))
        else:
            for x in slope:
                fields += JOIN, cell, x, total
                cell += 1
    if not fields:
        fields += LINEAR, 0, 0.0, total  # the cell of the result
    fields[0] = LINEAR
    z: Var = var_class()
    z._value = total
    z._owner = stack
    z._index = k = stack.top + len(fields) // 4 - 1
    stack.top = k + 1
    stack.push(fields)
    for cell, place, n in arrays:
        slot = stack.buffers.push_shape((k, 1, n, 0, 0, cell, 0, 1, place, 0, 1))
        stack.push((-(LINEAR + STRIDED), slot, 0, 0.0))
    if k >= stack.limit:
        stack.flush_if_long()
    return z


def _is_worth_it(key: Key, rule: ScalarRule, n: int) -> bool:
    """Whether the function is there, or enough has been evaluated without it."""
    waited = _waited.get(key, 0.0)
    if waited == np.inf:
        return True
    _waited[key] = waited = waited + n * (1 if hasattr(rule, "formula") else OF_RULE) + (PER_CALL if n > FEW else 0)
    if waited <= LOADING:
        return False
    from contad.native.formula_sums import SumKey, has_sum_function

    if waited <= COMPILING and (key in _absent or not has_sum_function(SumKey(rule, *key[1:]))):
        _absent.add(key)  # so that the files of the cache are listed once
        return False
    _waited[key] = np.inf
    return True


def _call(
    stack: "MatrixStack", rule: ScalarRule, key: Key, values: Sequence[Value], cells: Sequence[int]
) -> Value:
    """The sum and its partials by the compiled function, which writes those by arrays where they are kept."""
    from contad.native.formula_sums import SumKey, sum_function

    _, arrays, active, _ = key
    given = [x if x.__class__ is float else np.ascontiguousarray(x).reshape(-1) for x in values]
    n = next(len(x) for x in given if x.__class__ is not float)
    function = sum_function(SumKey(rule, *key[1:]))
    found = np.empty(1 + len(given))
    constants = [stack.buffers.new_constant((n,)) for is_array, is_active in zip(arrays, active, strict=True)
                 if is_array and is_active]  # fmt: skip
    places = iter([at for at, _ in constants])
    # as they are now: room for one may move the others
    total = function(*given, found, *(stack.buffers.constants[at : at + n] for at, _ in constants))
    if found[0] > 0.0:
        return None
    sums = iter(found[1:].tolist())
    slopes = [(next(places), n) if is_array else next(sums)
              for is_array, is_active in zip(arrays, active, strict=True) if is_active]  # fmt: skip
    return _push(stack, cells, float(total), slopes, stack.var_class)
