"""Reads subscripts: elements and views of arrays, parts of tuples."""

import ast
from typing import Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import (
    ArrayOfComplex,
    Complex,
    Object,
    Opaque,
    Point,
    Rows,
    StructuredArray,
    constant,
    is_array,
    is_number,
)
from contad.engines.source.ir.ssa import INT, NEW_AXIS, Check, Value
from contad.engines.source.reading import points, structured_arrays
from contad.engines.source.reading.bounded_buffers import BoundedBuffer, KeyedBuffer
from contad.engines.source.reading.builder import WHOLE
from contad.engines.source.reading.index_arrays import IndexArrays, has_arrays
from contad.engines.source.reading.made_containers import Keyed
from contad.engines.source.reading.progress import Environment
from contad.engines.source.reading.reader import Reader


class SubscriptReader:
    """Reads subscripts."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.arrays = reader, reader.arrays
        self.builder, self.progress = reader.builder, reader.progress
        self.index_arrays = IndexArrays(reader)

    def read(self, node: ast.Subscript, env: Environment) -> Any:
        """An element or a view of an array, elements at an index array, or a part of a tuple."""
        base = self.reader.expression(node.value, env)
        if isinstance(base, Point):
            return points.read_part(self.reader, base, node, env)
        if isinstance(base, Complex):
            return self._read_complex(base, node, env)
        if isinstance(base, tuple):
            return self._part(base, node, env)
        if structured_arrays.is_argument(base):
            base = structured_arrays.read_argument(self.reader, base)
        if isinstance(base, StructuredArray):
            return structured_arrays.read_part(self.reader, base, node, env)
        if isinstance(base, Rows) or (isinstance(base, BoundedBuffer) and isinstance(node.slice, ast.Slice)):
            self.reader.refuse(node, "{node}, a part of a list", "make an array of the list")
        if isinstance(base, (BoundedBuffer, KeyedBuffer, Keyed)):
            return base.read(self.reader.expression(node.slice, env), node)
        if is_number(base) and self.reader.expression(node.slice, env) == ():
            return base  # Numba may hold it as a 0-dimensional array
        if not is_array(base):
            kind = f" of {base.type}" if isinstance(base, Opaque) else ""
            self.reader.refuse(node, f"the subscript {{node}}{kind}")
        array = self.arrays.compute(base)
        spec = self.subscript(array, node.slice, env)
        if has_arrays(spec):
            return self.index_arrays.read(array, spec, node)
        return (
            self.builder.load(array, spec)
            if all(isinstance(part, Value) for part in spec)
            else self.builder.view(array, spec)
        )

    def _read_complex(self, base: Complex, node: ast.Subscript, env: Environment) -> Any:
        """An element, a view, or elements at an index array, of both parts."""
        array = self.reader.complex.compute(base)
        if is_number(array.real):
            if self.reader.expression(node.slice, env) == ():
                return array
            self.reader.refuse(node, "the subscript {node} of a complex number")
        spec = self.subscript(array.real, node.slice, env)
        if has_arrays(spec):
            return ArrayOfComplex(*(self.index_arrays.read(part, spec, node) for part in array))
        return self.reader.complex.view(array, spec)

    def _part(self, parts: tuple[Any, ...], node: ast.Subscript, env: Environment) -> Any:
        """A part of a tuple: by a constant index or slice, or, among numbers, by a variable index."""
        if isinstance(node.slice, ast.Slice):
            limits = [
                None if x is None else self.reader.number(x, env).constant for x in (node.slice.lower, node.slice.upper)
            ]
            if node.slice.step is None and all(
                given is None or isinstance(x, int)
                for given, x in zip((node.slice.lower, node.slice.upper), limits, strict=True)
            ):
                return parts[slice(*limits)]
            self.reader.refuse(node, "a slice of a tuple with variable limits", "use constants, or make it an array")
        index = self.reader.number(node.slice, env)
        if isinstance(index.constant, int):
            if not -len(parts) <= index.constant < len(parts):
                self.reader.refuse(node, "the subscript {node} is out of range", "use an index of the tuple")
            return parts[index.constant]
        if not parts or not all(is_number(part) and part.kind == parts[0].kind for part in parts):
            self.reader.refuse(
                node, "a variable index into a tuple of different things", "use an array, or constant indices"
            )
        found = parts[-1]
        for k, part in list(enumerate(parts))[-2::-1]:
            at = self.builder.apply(known_functions.COMPARISONS["Eq"], index, constant(k))
            negative = self.builder.apply(known_functions.COMPARISONS["Eq"], index, constant(k - len(parts)))
            found = self.builder.apply(
                known_functions.SELECT, self.builder.apply(known_functions.OR, at, negative), part, found
            )
        return found

    def subscript(self, array: Value, node: ast.expr, env: Environment) -> list[Any]:
        """An index (a value) or a slice (three values or None) for each dimension of an array."""
        spec: list[Any] = []
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        for part in parts:
            if isinstance(part, ast.Slice):
                limits = (part.lower, part.upper, part.step)
                spec.append(tuple(None if x is None else self.reader.number(x, env) for x in limits))
                continue
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                new = sum(isinstance(x, ast.Constant) and x.value is None for x in parts)
                spec += [WHOLE] * (array.kind.ndim - len(parts) + 1 + new)
                continue
            index = points.element(self.arrays, self.reader.expression(part, env))
            if isinstance(index, Object) and index.value is None:
                spec.append(NEW_AXIS)
                continue
            for x in index if isinstance(index, tuple) else (index,):
                if is_array(x) and x.kind.base in ("int", "bool"):
                    spec.append(self.arrays.compute(x))
                    continue
                if is_number(x) and x.kind.small == "unsigned":
                    x = self.builder.convert(x, INT)  # noqa: PLW2901  (the same number)
                if not is_number(x) or x.kind != INT:
                    self.reader.refuse(part, "the index {node}", "index with integers and slices, in a loop")
                spec.append(x)
        given = len(spec) - spec.count(NEW_AXIS)
        if given > array.kind.ndim:
            what = f"{given} indices of an array with {array.kind.ndim} dimension(s)"
            self.reader.refuse(node, what, "give one for each dimension at most")
        self._check_indices(array, [part for part in spec if part != NEW_AXIS])
        return spec + [WHOLE] * (array.kind.ndim - given)

    def _check_indices(self, array: Value, spec: list[Any]) -> None:
        """Raise if an index is out of range, provided that the current function has bounds checks."""
        for axis, index in enumerate(spec):
            if is_number(index) and self.progress.flags.boundscheck:
                outside = self.builder.apply(known_functions.OUTSIDE, index, self.builder.length(array, axis))
                self.builder.add(Check(outside, ("IndexError", "index is out of bounds")))
