"""Inlines the tangents of matrix functions: reads their formulas as it reads a user's function."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.runtime_functions import NORM, MatrixFunction
from contad.engines.source.ir.ssa import Kind, MatrixCall, SourceFunction, Value, View
from contad.engines.source.ir.walks import leaves
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents import complex_formulas, matrix_formulas as formulas
from contad.engines.source.tangents.appending import Appender
from contad.errors import UnsupportedError
from contad.functions.python_copy import Flags


class MatrixTangents:
    """Inlines formulas into a function."""

    def __init__(self, append: Appender, is_reversed: bool, in_lanes: bool) -> None:
        self.append = append
        self.in_lanes = in_lanes  # whether tangents have lanes: no tangent may decide a branch then
        self.is_reversed = is_reversed  # whether the reverse sweep differentiates the tangents again
        self.is_called = False  # whether it writes into a callee, in which products are loops

    def tangents(self, o: MatrixCall, dots: Mapping[Value, Value]) -> list[Value]:
        """The tangents of the results of a call that may have one, from those of its operands."""
        given = [*map(self._copy_view, o.read), *o.filled, *o.results]
        found = [dots[x] if x in dots else self.append.zeros(self.append.shape_of(x)) for x in o.operands]
        given += map(self._copy_view, found)
        formula = formulas.norm_on_line if o.function is NORM and self.is_reversed else find_formula(o.function)
        facts = {"again": self.is_reversed, "in_lanes": self.in_lanes}
        given += [constant(facts[x]) for x in inspect.signature(formula).parameters if x in facts]
        return self._write(formula, given)

    def _copy_view(self, x: Value) -> Value:
        """The array, or a copy of a view: Numba computes fast products only of contiguous arrays."""
        if not (x.is_array and isinstance(x.operation, View)):
            return x
        made = self.append.zeros(self.append.shape_of(x))
        self.append.copy_into(made, x)
        return made

    def _write(self, formula: Callable[..., Any], given: list[Value]) -> list[Value]:
        """Inline a formula; its results."""
        function = _read_formula(formula, tuple((x.kind, x.constant) for x in given))
        new = dict(zip(leaves(tuple(function.parameters)), given, strict=True))
        self.append.append_copies(function.block.operations, new, self.is_called)
        return [new.get(x, x) for x in leaves(function.returned)]


def find_formula(function: MatrixFunction) -> Callable[..., Any]:
    """The formula of a function."""
    found = getattr(formulas, function.name, None) or getattr(complex_formulas, function.name, None)
    if found is None:
        name = function.name.removeprefix("complex_")
        raise UnsupportedError(
            f"np.linalg.{name} of a complex matrix: it has no tangents in compiled code; call it outside of njit"
        )
    made: Callable[..., Any] = found
    return made


@functools.cache
def _read_formula(formula: Callable[..., Any], given: tuple[tuple[Kind, Any], ...]) -> SourceFunction:
    """A formula in SSA form, to be copied."""
    kinds = tuple(kind if x is None else constant(x) for kind, x in given)
    return read(formula, kinds, Flags(error_model="numpy"))
