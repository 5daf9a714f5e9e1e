"""Sums of formulas over arrays, as densities are of data: one pass computes the value and all partials.

By numbers the partials are sums, by arrays an array each, which the compiled sweep reads. To get the function for a
formula takes time, so NumPy evaluates some elements before that.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from contad.engines.matrix.array_records import Operand, operands_of
from contad.engines.stream.record_head import LINEAR, STRIDED
from contad.rules.scalar_rule import ScalarRule
from contad.variables.array import is_plain
from contad.variables.layout import layout_of
from contad.variables.number import peek
from contad.variables.open_types import Value

if TYPE_CHECKING:
    from contad.engines.matrix.matrix_stack import MatrixStack

# elements that NumPy evaluates first: where the function is in the disk cache, and where it is to be compiled
LOADING, COMPILING = 100_000, 2_000_000
PER_CALL = 200  # elements that take as long as a call
OF_RULE = 20  # elements of a formula that take as long as one of a rule, which may be evaluated in Python
Key = tuple[
    str, tuple[bool, ...], tuple[bool, ...], tuple[str, ...]
]  # the formula, arrays, active arguments, conditions
_waited: dict[Key, float] = {}  # elements
_absent: set[Key] = set()  # not in the disk cache


def sum_formula(stack: "MatrixStack", rule: ScalarRule, args: Sequence[Value], conditions: tuple[str, ...]) -> Value:
    """The sum, recorded; None where it is not one of arrays of one shape and numbers, or elements are not as asked."""
    arrays = tuple([np.ndim(x) > 0 for x in args])
    shapes = {np.shape(x) for x in args if np.ndim(x)}
    if len(shapes) != 1 or 0 in next(iter(shapes)) or rule.body is None or not rule.__module__.startswith("contad."):
        return None
    plain = [peek(x) for x in args]
    if layout_of([v for v in plain if isinstance(v, np.ndarray)]) is not None:
        return None
    operands, values = operands_of(stack, rule, args)
    on = {k for k, _, _ in operands}
    if not operands or not all(map(is_plain, values)) or any(map(rule.body.routes, on)):
        return None
    key = rule.name, arrays, tuple([k in on for k in range(rule.arity)]), conditions
    if not _is_worth_it(key, rule, int(np.prod(next(iter(shapes))))):
        return None
    return _record(stack, rule, key, operands, values)


def _is_worth_it(key: Key, rule: ScalarRule, n: int) -> bool:
    """Whether the function is there, or NumPy has evaluated enough without it."""
    waited = _waited.get(key, 0.0)
    if waited == np.inf:
        return True
    _waited[key] = waited = waited + n * (1 if hasattr(rule, "formula") else OF_RULE) + PER_CALL
    if waited <= LOADING:
        return False
    from contad.native.formula_sums import SumKey, has_sum_function

    if waited <= COMPILING and (key in _absent or not has_sum_function(SumKey(rule, *key[1:]))):
        _absent.add(key)  # so that the files of the cache are listed once
        return False
    _waited[key] = np.inf
    return True


def _record(
    stack: "MatrixStack", rule: ScalarRule, key: Key, operands: Sequence[Operand], values: Sequence[Value]
) -> Value:
    """Compute the sum and its partials, and push a record for each active argument, the first with the result."""
    from contad.native.formula_sums import SumKey, sum_function

    arrays, active = key[1:3]
    given = [
        np.ascontiguousarray(v, dtype=np.float64).reshape(-1) if is_array else float(v)
        for v, is_array in zip(values, arrays, strict=True)
    ]
    n = next(len(v) for v in given if isinstance(v, np.ndarray))
    function = sum_function(SumKey(rule, *key[1:]))
    found = np.empty(1 + len(given))
    buffers = stack.buffers
    slopes = {k: buffers.new_constant((n,)) for k, is_array in enumerate(arrays) if is_array and active[k]}
    total = function(*given, found, *(buffers.constants[at : at + n] for at, _ in slopes.values()))
    if found[0] > 0.0:
        return None
    first = stack.room(1)
    z = stack.buffers.values[first : first + 1].reshape(())
    z[...] = total
    sums = iter(found[1:].tolist())
    is_pushed = False
    for k, cell, _ in operands:
        if arrays[k]:
            place, numbers = slopes[k][0], (n, 1)
        else:
            place, slope = buffers.new_constant(())
            slope[...] = next(sums)
            numbers = (1, 0)
        count, step = numbers
        slot = buffers.push_shape((first, 1, count, 0, 0, cell, 0, step, place, 0, step))
        if is_pushed:
            stack.push((-(LINEAR + STRIDED), slot, 0, 0.0))
        else:
            stack.push_values(LINEAR + STRIDED, slot, 0, z)
            is_pushed = True
    return stack.element(float(z), first)
