"""Writes the partials of a rule as operations, so that they can be differentiated again.

The registry has the bodies; they are straight-line and call only operators and other rules.
"""

import ast
import functools
from typing import Any

from contad.engines.source.ir import known_functions as known
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import Function, function_of
from contad.engines.source.ir.ssa import Apply, Value
from contad.engines.source.tangents.appending import Appender
from contad.errors import UnsupportedError
from contad.rules.body import RuleBody


class Partials:
    """The partials of one scalar operation. Common subexpressions of their bodies are computed once."""

    def __init__(self, append: Appender, o: Apply) -> None:
        """Bind the parameters of the body."""
        body = o.function.rule.body
        assert body is not None
        self.append, self.body = append, body
        self.checked = o.function in (known.CHECKED_DIVIDE, known.CHECKED_RECIPROCAL)
        self.names: dict[str, Value] = dict(zip(body.parameters, [o.result, *o.inputs], strict=True))
        self.inverses: dict[Value, Value] = {}

    def __call__(self, k: int) -> Value:
        """The partial with respect to operand k."""
        assignments, result = self.body.slice(k)
        for name, tree in assignments:
            if name not in self.names:
                self.names[name] = self._value(tree)
        return self._value(result)

    def _value(self, tree: ast.expr) -> Value:
        found: Value = getattr(self, f"_of_{type(tree).__name__}")(tree)
        return found

    def _of_Constant(self, tree: ast.Constant) -> Value:
        return constant(tree.value)

    def _of_Name(self, tree: ast.Name) -> Value:
        if tree.id in self.names:
            return self.names[tree.id]
        return constant(self.body.resolve(tree))

    def _of_Attribute(self, tree: ast.Attribute) -> Value:
        return constant(self.body.resolve(tree))

    def _of_UnaryOp(self, tree: ast.UnaryOp) -> Value:
        x = self._value(tree.operand)
        if isinstance(tree.op, ast.UAdd):
            return x
        return self.append.apply(known.NOT if isinstance(tree.op, ast.Not) else known.NEGATIVE, x)

    def _of_BinOp(self, tree: ast.BinOp) -> Value:
        if isinstance(tree.op, ast.Pow):
            return self._power(self._value(tree.left), ast.literal_eval(tree.right))
        x, y = self._value(tree.left), self._value(tree.right)
        if isinstance(tree.op, ast.Div):
            return self._divide(x, y)
        return self.append.apply(known.OPERATORS[type(tree.op).__name__], x, y)

    def _power(self, x: Value, n: int) -> Value:
        if n == 1:
            return x
        if n == 2:
            return self.append.apply(known.SQUARE, x)
        function = known.power_by(n)
        return self.append.apply(known.POWER, x, constant(n)) if function is None else self.append.apply(function, x)

    def _divide(self, x: Value, y: Value) -> Value:
        """x / y, as a product if 1 / y is already computed."""
        if y in self.inverses:
            return self.append.apply(known.MULTIPLY, x, self.inverses[y])
        if x.constant == 1.0:
            inverse = known.CHECKED_RECIPROCAL if self.checked else known.RECIPROCAL
            self.inverses[y] = self.append.apply(inverse, y)
            return self.inverses[y]
        return self.append.apply(known.CHECKED_DIVIDE if self.checked else known.DIVIDE, x, y)

    def _of_Compare(self, tree: ast.Compare) -> Value:
        operands = [self._value(x) for x in (tree.left, *tree.comparators)]
        parts = [
            self.append.apply(known.COMPARISONS[type(op).__name__], operands[k], operands[k + 1])
            for k, op in enumerate(tree.ops)
        ]
        return self._join(known.AND, parts)

    def _of_BoolOp(self, tree: ast.BoolOp) -> Value:
        return self._join(known.AND if isinstance(tree.op, ast.And) else known.OR, list(map(self._value, tree.values)))

    def _join(self, function: Function, parts: list[Value]) -> Value:
        return functools.reduce(functools.partial(self.append.apply, function), parts)

    def _of_Call(self, tree: ast.Call) -> Value:
        called = self.body.resolve(tree.func)
        if getattr(called, "is_select", False):
            return self._select(*tree.args)
        operands = list(map(self._value, tree.args))
        return self.append.apply(_function_of(called, self.body), *operands)

    def _select(self, condition: ast.expr, then: ast.expr, otherwise: ast.expr) -> Value:
        """A conditional expression; it is a branch if a function would otherwise be called in vain."""
        test = self._value(condition)
        if test.constant is not None:
            return self._value(then if test.constant else otherwise)
        calls = [node for x in (then, otherwise) for node in ast.walk(x) if isinstance(node, ast.Call)]
        if not all(map(self._is_cheap, calls)):
            names, inverses = dict(self.names), dict(self.inverses)

            def compute(tree: ast.expr) -> Value:
                self.names, self.inverses = dict(names), dict(inverses)
                return self._value(tree)

            chosen = self.append.choose(test, lambda: compute(then), lambda: compute(otherwise))
            self.names, self.inverses = names, inverses
            return chosen
        return self.append.apply(known.SELECT, test, self._value(then), self._value(otherwise))

    def _is_cheap(self, tree: ast.Call) -> bool:
        called = self.body.resolve(tree.func)
        return getattr(called, "is_select", False) or called.name in ("absolute", "sqrt", "sign", "negative", "square")


def _function_of(rule: Any, body: RuleBody) -> Function:
    """The scalar function for a rule that a body calls."""
    found = known.function_with(rule) or function_of(rule)
    if found is None:
        raise UnsupportedError(
            f"{body.function.__name__}: {rule.name}, which it calls, has no partials, which second derivatives need; "
            "give its rule partials"
        )
    return found
