"""Subscripts: elements and views of arrays, parts of tuples."""

import ast
from typing import Any

from contad.engines.generated import functions
from contad.engines.generated.entries import Object, constant, is_array, is_number
from contad.engines.generated.expressions import Expressions
from contad.engines.generated.fresh import Environment
from contad.engines.generated.ir import INT, NEW_AXIS, Value


class Subscripts(Expressions):
    """Reads subscripts."""

    def read_Subscript(self, node: ast.Subscript, env: Environment) -> Any:
        base = self.expression(node.value, env)
        if isinstance(base, tuple):
            return self._part(base, node, env)
        if not is_array(base):
            self.refuse(node, f"the subscript {ast.unparse(node)!r}")
        array = self.computed(base)
        spec = self.subscript(array, node.slice, env)
        return self.load(array, spec) if all(isinstance(part, Value) for part in spec) else self.view(array, spec)

    def _part(self, parts: tuple[Any, ...], node: ast.Subscript, env: Environment) -> Any:
        if isinstance(node.slice, ast.Slice):
            limits = [None if x is None else self.number(x, env).constant for x in (node.slice.lower, node.slice.upper)]
            if node.slice.step is None and all(
                given is None or isinstance(x, int)
                for given, x in zip((node.slice.lower, node.slice.upper), limits, strict=True)
            ):
                return parts[slice(*limits)]
            self.refuse(node, "a slice of a tuple with variable limits")
        index = self.number(node.slice, env)
        if isinstance(index.constant, int):
            if not -len(parts) <= index.constant < len(parts):
                self.refuse(node, f"the subscript {ast.unparse(node)!r} is out of range", "use an index of the tuple")
            return parts[index.constant]
        if not parts or not all(is_number(part) and part.kind == parts[0].kind for part in parts):
            self.refuse(node, "a variable index into a tuple of different things", "use an array, or constant indices")
        found = parts[-1]
        for k, part in list(enumerate(parts))[-2::-1]:
            at = self.apply(functions.COMPARISONS["Eq"], index, constant(k))
            negative = self.apply(functions.COMPARISONS["Eq"], index, constant(k - len(parts)))
            found = self.apply(functions.SELECT, self.apply(functions.OR, at, negative), part, found)
        return found

    def subscript(self, array: Value, node: ast.expr, env: Environment) -> list[Any]:
        """An index (a value) or a slice (three values or None) for each dimension of an array."""
        spec: list[Any] = []
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        for part in parts:
            if isinstance(part, ast.Slice):
                limits = (part.lower, part.upper, part.step)
                spec.append(tuple(None if x is None else self.number(x, env) for x in limits))
                continue
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                new = sum(isinstance(x, ast.Constant) and x.value is None for x in parts)
                spec += [(None, None, None)] * (array.kind.ndim - len(parts) + 1 + new)
                continue
            index = self.expression(part, env)
            if isinstance(index, Object) and index.value is None:
                spec.append(NEW_AXIS)
                continue
            for x in index if isinstance(index, tuple) else (index,):
                if not is_number(x) or x.kind != INT:
                    self.refuse(part, f"the index {ast.unparse(part)!r}", "index with integers and slices, in a loop")
                spec.append(x)
        given = len(spec) - spec.count(NEW_AXIS)
        if given > array.kind.ndim:
            self.refuse(node, f"{given} indices of an array with {array.kind.ndim} dimension(s)")
        return spec + [(None, None, None)] * (array.kind.ndim - given)
