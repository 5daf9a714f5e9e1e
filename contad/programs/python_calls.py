"""The calls of Python in a recorded program: rules whose values or derivatives are not compiled.

A call reads and writes the cells of one run: values first, then adjoints or tangents.
"""

import math
from collections.abc import Sequence

import numpy as np

from contad.engines.stream.pullbacks import Continuation, ElementwisePullback, Part, Pullback
from contad.rules.scalar_rule import ScalarRule
from contad.variables.adjoints import Adjoints
from contad.variables.layout import is_immutable, read_only
from contad.variables.open_types import Rule, Value


class ScalarCall:
    """A scalar rule of numbers: one cell."""

    __slots__ = ("cells", "rule", "values")

    def __init__(self, rule: ScalarRule, cells: Sequence[int | None], values: Sequence[float]) -> None:
        self.rule = rule
        self.cells = tuple(cells)  # None for a constant
        self.values = tuple(values)

    def _arguments(self, values: np.ndarray) -> list[float]:
        return [v if cell is None else float(values[cell]) for cell, v in zip(self.cells, self.values, strict=True)]

    def evaluate(self, values: np.ndarray, first: int) -> None:
        """The value of the rule, into its cell."""
        values[first] = self.rule(*self._arguments(values))

    def pull(self, values: np.ndarray, adjoints: np.ndarray, first: int, evaluated: None = None) -> None:
        """Pass the adjoint of the cell on."""
        d = float(adjoints[first])
        if d != 0.0:
            arguments = self._arguments(values)
            for k, cell in enumerate(self.cells):
                if cell is not None:
                    adjoints[cell] += self.rule.product(k)(d, self.rule.partial(k)(float(values[first]), *arguments))

    def push(self, values: np.ndarray, dots: np.ndarray, first: int, evaluated: None = None) -> None:
        """The tangent of the cell."""
        arguments = self._arguments(values)
        dots[first] = sum(
            self.rule.product(k)(float(dots[cell]), self.rule.partial(k)(float(values[first]), *arguments))
            for k, cell in enumerate(self.cells)
            if cell is not None
        )


class ArrayCall:
    """A rule of arrays: the cells of its results, one after the other."""

    __slots__ = ("operands", "recorded", "size")

    def __init__(self, recorded: Continuation) -> None:
        active = {k for k, _, _ in recorded.operands}
        turned = recorded.turned if isinstance(recorded, Pullback) else ()
        # for each operand: its position, the first cell, the number of cells or -1 for a number, their shape, whether
        # it is the transpose's; arrays may have no axes
        self.operands = [
            (k, cell, math.prod(shape) if isinstance(recorded.values[k], np.ndarray) else -1,
             shape[::-1] if k in turned else shape, k in turned)
            for k, cell, shape in recorded.operands
        ]  # fmt: skip
        # copies, because the buffers of the recording are reused
        kept = [None if k in active else _own(v) for k, v in enumerate(recorded.values)]
        if isinstance(recorded, Pullback):
            self.recorded: Continuation = Pullback(
                recorded.rule, recorded.operands, kept, recorded.options, None, recorded.turned
            )
        else:
            self.recorded = ElementwisePullback(recorded.rule, recorded.operands, kept)
        self.recorded.is_tuple = recorded.is_tuple
        self.recorded.results = [part._replace(value=None) for part in recorded.results]
        self.size = sum(part.size for part in recorded.results)  # cells

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.recorded.rule

    def _arguments(self, cells: np.ndarray) -> dict[int, Value]:
        """The values of the operands in their cells, by position."""
        found: dict[int, Value] = {}
        for position, cell, size, shape, is_turned in self.operands:
            if size < 0:
                found[position] = float(cells[cell])
                continue
            a = cells[cell : cell + size].reshape(shape)
            if is_turned:
                a = a.T
            a.setflags(write=False)
            found[position] = a
        return found

    def look(self, values: np.ndarray) -> Continuation:
        """The continuation at other values, with its results."""
        recorded = self.recorded
        operands = list(recorded.values)
        for k, v in self._arguments(values).items():
            operands[k] = v
        if isinstance(recorded, Pullback):
            z, saved = recorded.rule.evaluate(operands, recorded.options)
            found: Continuation = Pullback(
                recorded.rule, recorded.operands, operands, recorded.options, saved, recorded.turned
            )
        else:
            z = self.rule.array_value(*operands)
            found = ElementwisePullback(self.rule, recorded.operands, operands)
        found.is_tuple = recorded.is_tuple
        zs = z if recorded.is_tuple else (z,)
        found.results = [
            Part(part.cell, part.size, part.shape, v, part.axes) for part, v in zip(recorded.results, zs, strict=True)
        ]
        return found

    def evaluate(self, values: np.ndarray, first: int) -> Continuation:
        """The value of the rule, into its cells; returns the data that its derivatives at these values need."""
        found = self.look(values)
        self._write(values, [part.value for part in found.results])
        return found

    def pull(self, values: np.ndarray, adjoints: np.ndarray, first: int, evaluated: Continuation) -> None:
        """Pass the adjoints of the cells on."""
        if adjoints[first] != 0.0 if self.size == 1 else adjoints[first : first + self.size].any():
            evaluated(Adjoints(None, adjoints, first))  # type: ignore[operator]

    def push(self, values: np.ndarray, dots: np.ndarray, first: int, evaluated: Continuation) -> None:
        """The tangents of the cells."""
        tangents = self._arguments(dots)
        z = evaluated.values_of_results()
        if isinstance(evaluated, Pullback):
            given = [tangents.get(k) for k in range(len(evaluated.values))]
            z_dot = evaluated.rule.push(z, given, evaluated.values, evaluated.options, evaluated.saved)
            self._write(dots, z_dot if evaluated.is_tuple else [z_dot])
        else:
            partials = {k: self.rule.array_partial(k)(z, *evaluated.values) for k in tangents}
            terms = [self.rule.product(k)(t, partials[k]) for k, t in tangents.items()]
            self._write(dots, [sum(np.broadcast_to(term, np.shape(z)) for term in terms)])

    def _write(self, cells: np.ndarray, results: Sequence[Value]) -> None:
        for part, v in zip(self.recorded.results, results, strict=True):
            if isinstance(v, float) and part.shape == ():
                cells[part.cell] = v
                continue
            block = cells[part.cell : part.cell + part.size].reshape(part.shape)
            turned = block if part.axes is None else np.transpose(block, part.axes)
            turned[...] = v


def _own(v: Value) -> Value:
    """A constant to which nobody else writes."""
    return v if not isinstance(v, np.ndarray) or is_immutable(v) else read_only(v.copy("K"))
