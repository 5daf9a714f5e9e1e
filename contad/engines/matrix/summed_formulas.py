"""Sums of formulas over arrays and numbers, such as densities of data: one pass computes the value and all partials.

The partial by a number is a sum, the partial by an array is an array, which the compiled sweep reads. Python evaluates
a few elements by a loop of floats, more by lines of NumPy, until it has spent as much time as compiling or loading the
function takes.
"""

import functools
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from contad.compile.compiling import is_cached
from contad.engines.matrix.array_var import ArraySlab, ArrayVar
from contad.engines.stream.storage import JOIN, LINEAR, STRIDED
from contad.rules.float_loops import LoopKey, float_loop
from contad.rules.numpy_sums import numpy_sum
from contad.rules.scalar_rule import ScalarRule
from contad.variables.arguments import constant
from contad.variables.dtypes import FLOAT
from contad.variables.layout import layout_of
from contad.variables.number import stands_for_float
from contad.variables.open_types import Real, Value
from contad.variables.var import Var

# seconds in which Python evaluates first, if the function is in the disk cache, and if it has to be compiled
LOADING, COMPILING = 0.1, 1.0
FEW = 80  # elements up to which a loop of floats takes less time than NumPy for a value and all partials
SHORT = 16  # elements up to which each has a record of its own


class SumRecipe:
    """The evaluation of sums of one formula; some arguments are arrays, and some have partials."""

    def __init__(self, rule: ScalarRule, conditions: tuple[str, ...], code: int) -> None:
        self.rule, self.conditions = rule, conditions
        self.arrays = tuple([bool(code >> 2 * k & 1) for k in range(rule.arity)])
        self.active = tuple([bool(code >> 2 * k & 2) for k in range(rule.arity)])
        self.spent = 0.0  # seconds without compiled code; infinite once it is used
        self.is_absent = False  # whether the disk cache is known not to have it
        body = rule.body
        self.is_known = body is not None and True in self.active and rule.__module__.startswith("contad.")
        if body is not None and any(map(body.routes, [k for k, on in enumerate(self.active) if on])):
            self.is_known = False
        self.key = LoopKey(rule, self.arrays, self.active, conditions, True)

    @functools.cached_property
    def loop(self) -> Callable[..., Any]:
        """The loop of floats."""
        return float_loop(self.key)

    @functools.cached_property
    def lines(self) -> Callable[..., Any]:
        """The lines of NumPy."""
        return numpy_sum(self.key)

    def is_due(self) -> bool:
        """Whether compiled code evaluates: it is available, or Python has spent enough time."""
        if self.spent == np.inf:
            return True
        if self.spent < LOADING:
            return False
        if self.spent < COMPILING:
            self.is_absent = self.is_absent or not is_cached(self.key.stem, self.key.texts)  # this lists its files
            if self.is_absent:
                return False
        self.spent = np.inf
        return True

    def evaluate(self, values: Sequence[Value], n: int) -> tuple[float, Sequence[Any]] | None:
        """The sum and its partials by Python, for arrays of n elements; None if an element fails the conditions."""
        start = perf_counter()
        flat: list[Value] = [x if x.__class__ is float else x.reshape(-1) for x in values]
        if n <= FEW:
            flat = [x if x.__class__ is float else x.tolist() for x in flat]
        found: tuple[float, Sequence[Any]] | None = (self.lines if n > FEW else self.loop)(*flat)
        self.spent += perf_counter() - start
        return found


@functools.cache
def recipe_of(rule: ScalarRule, conditions: tuple[str, ...], code: int) -> SumRecipe:
    """The recipe for arguments by their code: bits 2 k and 2 k + 1 tell whether k is an array, and has a partial."""
    return SumRecipe(rule, conditions, code)


def sum_formula(stack: ArraySlab, rule: ScalarRule, args: Sequence[Value], conditions: tuple[str, ...]) -> Value:
    """Record the sum; None for arguments other than numbers and arrays of one shape, or if an element fails."""
    number, python_number = stack.var_class, stack.float_class
    values: list[Value] = []
    cells: list[int] = []  # the first cell of each argument that has a partial
    shape: tuple[int, ...] = ()
    code, bit = 0, 1
    for k, given in enumerate(args):
        x = given
        kind = x.__class__
        if kind is number or kind is python_number or kind is ArrayVar:
            if x._owner is not stack:
                return None
            if kind is ArrayVar:
                x = x.operand()
            if x.__class__ is not np.ndarray:  # else it is all constants
                cells.append(x.first if kind is ArrayVar else x._index)
                code |= 2 * bit
                x = x._value
        elif kind is not float and (kind is not np.ndarray or x.dtype is not FLOAT):
            x = constant(rule.name, rule.argument_names[k], x)
        if x.__class__ is np.ndarray:
            if x.shape != (shape or x.shape) or not x.ndim or not x.size or x.dtype is not FLOAT:
                return None
            shape = x.shape
            code |= bit
        elif x.__class__ is not float:
            return None
        values.append(x)
        bit *= 4
    recipe = recipe_of(rule, conditions, code)
    if not recipe.is_known:
        return None
    if not shape:
        found = recipe.loop(*values)
        as_float = all(map(stands_for_float, args))
        return None if found is None else _push(stack, cells, found, python_number if as_float else number)
    arrays = [x for x in values if x.__class__ is np.ndarray]
    if len(shape) > 1 and layout_of(arrays) is not None:
        return None
    if recipe.is_due():
        return _call(stack, recipe, values, cells)
    found = recipe.evaluate(values, arrays[0].size)
    return None if found is None else _push(stack, cells, found, number)


def _push(stack: ArraySlab, cells: Sequence[int], found: tuple[float, Sequence[Any]], var_class: Any) -> Var:
    """Push a number with its partials: a record for each number and each element of short lists, and one for an array.

    An array is given by its place among the constants and its size.
    """
    total, slopes = found
    fields: list[Real] = []
    arrays = []
    for cell, slope in zip(cells, slopes, strict=True):
        if slope.__class__ is float:
            fields += JOIN, cell, slope, total
        elif slope.__class__ is tuple:
            arrays.append((cell, *slope))
        elif len(slope) > SHORT:  # the lines of NumPy give arrays
            place, constants = stack.buffers.new_constant((len(slope),))
            constants[:] = slope
            arrays.append((cell, place, len(slope)))
        else:
            for k, x in enumerate(slope):
                fields += JOIN, cell + k, x, total
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


def _call(stack: ArraySlab, recipe: SumRecipe, values: Sequence[Value], cells: Sequence[int]) -> Value:
    """The sum and its partials by the compiled function, which writes partials by arrays where they are kept."""
    from contad.compiled_rules.formula_sums import sum_function

    given = [x if x.__class__ is float else np.ascontiguousarray(x).reshape(-1) for x in values]
    n = next(x.size for x in values if x.__class__ is np.ndarray)
    function = sum_function(recipe.key)
    found = np.empty(1 + len(given))
    kinds = [is_array for is_array, is_active in zip(recipe.arrays, recipe.active, strict=True) if is_active]
    places = [stack.buffers.new_constant((n,))[0] for is_array in kinds if is_array]
    constants = stack.buffers.constants  # after all are allocated, because an allocation may move the others
    total = function(*given, found, *(constants[at : at + n] for at in places))
    if found[0] > 0.0:
        return None
    sums, found_places = iter(found[1:].tolist()), iter(places)
    slopes = [(next(found_places), n) if is_array else next(sums) for is_array in kinds]
    return _push(stack, cells, (float(total), slopes), stack.var_class)
