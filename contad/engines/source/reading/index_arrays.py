"""Subscripts with index arrays and masks: reads copy elements to a new array, writes store them in order."""

import ast
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Object
from contad.engines.source.ir.ssa import INT, NEW_AXIS, Check, Value
from contad.engines.source.ir.syntax import expression, place_at
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.reader import Reader


def has_arrays(spec: list[Any]) -> bool:
    """Whether the indices of a subscript include an index array or a mask."""
    return any(isinstance(part, Value) and part.is_array for part in spec)


class IndexArrays:
    """Reads and writes the elements at index arrays, which must be adjacent and of the same length."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.arrays = reader, reader.arrays
        self.builder, self.progress = reader.builder, reader.progress

    def read(self, array: Value, spec: list[Any], node: ast.AST) -> Value:
        """The elements as a new array."""
        part, first, positions = self._split(array, spec, node)
        if array.kind.narrow:
            self.progress.stop(
                "the elements of an array of fewer than 64 bits at positions", "make it int64 or float64"
            )
        made = self.builder.create("empty", self._shape(part, first, positions), array.kind.elements, array.hint)
        self.arrays.over(
            self.arrays.shape(made),
            lambda at: self.arrays.put(made, at, self.builder.load(part, self._at(part, first, positions, at))),
        )
        return made

    def write(self, array: Value, spec: list[Any], entry: Any, node: ast.AST) -> None:
        """elements = entry, in order: if an element occurs twice, the last write wins."""
        part, first, positions = self._split(array, spec, node)
        positions = [self.arrays.copy_elements(x) if set(x.roots) & set(array.roots) else x for x in positions]
        shape = self._shape(part, first, positions)
        self.arrays.write(part, shape, entry, node, lambda at: self._at(part, first, positions, at))

    def _split(self, array: Value, spec: list[Any], node: ast.AST) -> tuple[Value, int, list[Value]]:
        """The view that the other indices give, its axis of the first index array, and the positions of each."""
        places = [k for k, part in enumerate(spec) if isinstance(part, Value) and part.is_array]
        first, last = places[0], places[-1]
        numbers = [k for k, part in enumerate(spec) if isinstance(part, Value) and not part.is_array]
        apart = [k for k in numbers if any(not isinstance(spec[j], Value) for j in range(min(k, first), max(k, last)))]
        if len(places) != last - first + 1 or apart or NEW_AXIS in spec:
            self.progress.refuse(node, "the indices in {node}", "index with one array after another")
        view = [WHOLE if k in places else part for k, part in enumerate(spec)]
        part = array if all(x == WHOLE for x in view) else self.builder.view(array, view)
        axis = sum(not isinstance(x, Value) for x in view[:first])
        positions = [
            self._positions(spec[k], self.builder.length(part, axis + n), node) for n, k in enumerate(places)
        ]  # fmt: skip
        for x in positions[1:]:
            self.arrays.require_equal(self.builder.length(positions[0], 0), self.builder.length(x, 0))
        return part, axis, positions

    def _positions(self, index: Value, length: Value, node: ast.AST) -> Value:
        """The positions in an index array, or those where a mask is True."""
        if index.kind.ndim != 1 or index.kind.base not in ("int", "bool"):
            self.progress.refuse(node, "the index in {node}", "index with vectors of integers")
        if index.kind.base == "int":
            return index
        self.arrays.require_equal(length, self.builder.length(index, 0))
        tree = place_at(expression("np.nonzero(mask)[0]"), node)
        found: Value = self.reader.expression(tree, {"np": Object(np), "mask": index})
        return found

    def _shape(self, part: Value, first: int, positions: list[Value]) -> list[Value]:
        shape = self.arrays.shape(part)
        return [*shape[:first], self.builder.length(positions[0], 0), *shape[first + len(positions) :]]

    def _at(self, part: Value, first: int, positions: list[Value], at: list[Value]) -> list[Value]:
        """The indices, in the view, of the element at `at` in the result."""
        found = [self.builder.convert(self.builder.load(x, [at[first]]), INT) for x in positions]
        if self.progress.flags.boundscheck:
            for axis, x in enumerate(found, first):
                outside = self.builder.apply(known_functions.OUTSIDE, x, self.builder.length(part, axis))
                self.builder.add(Check(outside, ("IndexError", "index is out of bounds")))
        assert all(x.kind == INT for x in found)
        return [*at[:first], *found, *at[first + 1 :]]
