"""Subscripts: elements and views of arrays, parts of tuples."""

import ast
from typing import Any

from contad.engines.source.ir import known_functions
from contad.engines.source.ir.entries import Object, Opaque, constant, is_array, is_number
from contad.engines.source.ir.single_assignment import INT, NEW_AXIS, Check, Value
from contad.engines.source.reading.expressions import ExpressionReader
from contad.engines.source.reading.progress import Environment


class SubscriptReader:
    """Reads subscripts."""

    def __init__(self, expressions: ExpressionReader) -> None:
        self.expressions, self.arrays = expressions, expressions.arrays
        self.builder, self.progress = expressions.builder, expressions.progress

    def read(self, node: ast.Subscript, env: Environment) -> Any:
        """An element or a view of an array, elements at positions, or a part of a tuple."""
        base = self.expressions.expression(node.value, env)
        if isinstance(base, tuple):
            return self._part(base, node, env)
        if not is_array(base):
            kind = f" of {base.type}" if isinstance(base, Opaque) else ""
            self.progress.refuse(node, f"the subscript {ast.unparse(node)!r}{kind}")
        array = self.arrays.compute(base)
        if array.kind.ndim == 1 and not isinstance(node.slice, (ast.Slice, ast.Tuple, ast.Constant)):
            at = self.expressions.expression(node.slice, env)
            if is_array(at) and at.kind.ndim == 1 and at.kind.base == "int":
                return self._gather(array, self.arrays.compute(at))
            if is_number(at) and at.kind == INT:
                spec: list[Any] = [at]
                self._check_indices(array, spec)
            else:
                spec = self.subscript(array, node.slice, env)
        else:
            spec = self.subscript(array, node.slice, env)
        return (
            self.builder.load(array, spec)
            if all(isinstance(part, Value) for part in spec)
            else self.builder.view(array, spec)
        )

    def _gather(self, array: Value, at: Value) -> Value:
        """The elements at positions, as a new array."""
        if array.kind.narrow:
            self.progress.stop("the elements of an array of small integers at positions", "make it an array of int64")
        made = self.builder.create("empty", [self.builder.length(at, 0)], array.kind.base, array.hint)

        def gather(k: list[Value]) -> None:
            position: list[Any] = [self.builder.load(at, k)]
            self._check_indices(array, position)
            self.arrays.put(made, k, self.builder.load(array, position))

        self.arrays.over(self.arrays.shape(made), gather)
        return made

    def _part(self, parts: tuple[Any, ...], node: ast.Subscript, env: Environment) -> Any:
        """A part of a tuple: by a constant index or slice, or the choice that a variable index makes among numbers."""
        if isinstance(node.slice, ast.Slice):
            limits = [
                None if x is None else self.expressions.number(x, env).constant
                for x in (node.slice.lower, node.slice.upper)
            ]
            if node.slice.step is None and all(
                given is None or isinstance(x, int)
                for given, x in zip((node.slice.lower, node.slice.upper), limits, strict=True)
            ):
                return parts[slice(*limits)]
            self.progress.refuse(node, "a slice of a tuple with variable limits")
        index = self.expressions.number(node.slice, env)
        if isinstance(index.constant, int):
            if not -len(parts) <= index.constant < len(parts):
                self.progress.refuse(
                    node, f"the subscript {ast.unparse(node)!r} is out of range", "use an index of the tuple"
                )
            return parts[index.constant]
        if not parts or not all(is_number(part) and part.kind == parts[0].kind for part in parts):
            self.progress.refuse(
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
                spec.append(tuple(None if x is None else self.expressions.number(x, env) for x in limits))
                continue
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                new = sum(isinstance(x, ast.Constant) and x.value is None for x in parts)
                spec += [(None, None, None)] * (array.kind.ndim - len(parts) + 1 + new)
                continue
            index = self.expressions.expression(part, env)
            if isinstance(index, Object) and index.value is None:
                spec.append(NEW_AXIS)
                continue
            for x in index if isinstance(index, tuple) else (index,):
                if not is_number(x) or x.kind != INT:
                    self.progress.refuse(
                        part, f"the index {ast.unparse(part)!r}", "index with integers and slices, in a loop"
                    )
                spec.append(x)
        given = len(spec) - spec.count(NEW_AXIS)
        if given > array.kind.ndim:
            self.progress.refuse(node, f"{given} indices of an array with {array.kind.ndim} dimension(s)")
        self._check_indices(array, [part for part in spec if part != NEW_AXIS])
        return spec + [(None, None, None)] * (array.kind.ndim - given)

    def _check_indices(self, array: Value, spec: list[Any]) -> None:
        """Raise where an index is out of range, if the function that is being read checks that."""
        for axis, index in enumerate(spec):
            if isinstance(index, Value) and self.progress.flags.boundscheck:
                outside = self.builder.apply(known_functions.OUTSIDE, index, self.builder.length(array, axis))
                self.builder.add(Check(outside, "IndexError('index is out of bounds')"))
