"""What the reverse pass needs to know of one operation: which operands its derivative reads, and its source.

The derivative bodies are those of the registry; `contad.rules.body` slices them per argument and pastes them.
"""

import ast
import functools
from collections.abc import Callable
from typing import NamedTuple

from contad.engines.source.ir.known_functions import SELECT, TO_FLOAT, Function
from contad.engines.source.ir.single_assignment import FLOAT, Apply, Value
from contad.rules.body import inline, or_call
from contad.rules.scalar_rule import ScalarRule


class Partial(NamedTuple):
    """The derivative of a function with respect to one operand: a number, or a text in the result and the operands."""

    literal: float | None
    reads_result: bool
    reads: tuple[int, ...]  # operands


@functools.cache
def partial(function: Function, k: int) -> Partial:
    """The derivative with respect to operand k; literal 0.0 where there is none."""
    if function is SELECT:
        return Partial(0.0, False, ()) if k == 0 else Partial(None, False, (0,))
    if function is TO_FLOAT:
        return Partial(1.0, False, ())
    if function.rule is None or function.rule.body is None:
        return Partial(0.0, False, ())
    body = function.rule.body
    literal = body.literal(k)
    if literal is not None:
        return Partial(literal, False, ())
    assignments, result = body.slice(k)
    names = {
        n.id
        for tree in (result, *(value for _, value in assignments))
        for n in ast.walk(tree)
        if isinstance(n, ast.Name)
    }
    parameters = body.parameters
    return Partial(None, parameters[0] in names, tuple(j for j, name in enumerate(parameters[1:]) if name in names))


def source_of(
    operation: Apply, k: int, names: list[str], prefix: str, called: Callable[[ScalarRule], str]
) -> tuple[list[str], str]:
    """Lines and an expression for the derivative with respect to operand k; `names` of the result and the operands.

    `called(rule)` names a compiled function for a rule whose value is no expression.
    """
    rule = operation.function.rule
    assert rule is not None and rule.body is not None
    lines, text = inline(rule.body, k, dict(zip(rule.body.parameters, names, strict=True)), prefix, or_call(called))
    return [_without_branches(line) for line in lines], _without_branches(text)


_CHEAP = ("abs", "select", "math.sqrt", "math.isnan")


def _without_branches(text: str) -> str:
    """A line or an expression with `select` for conditional expressions, unless a function would be called in vain."""
    if not any(word in text for word in (" if ", " and ", " or ")):
        return text
    return ast.unparse(_Branchless().visit(ast.parse(text)))


class _Branchless(ast.NodeTransformer):
    """Replaces conditions in a partial by calls that need no branch."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        calls = [n for x in (node.body, node.orelse) for n in ast.walk(x) if isinstance(n, ast.Call)]
        if any(ast.unparse(call.func) not in _CHEAP for call in calls):
            return node
        return ast.Call(ast.Name("select", ast.Load()), [node.test, node.body, node.orelse], [])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        if not all(isinstance(x, (ast.Compare, ast.BinOp)) for x in node.values):
            return node
        return functools.reduce(lambda x, y: ast.BinOp(x, operator, y), node.values)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 or not all(isinstance(x, ast.Name) for x in node.comparators[:-1]):
            return node
        operands = [node.left, *node.comparators]
        parts: list[ast.expr] = [ast.Compare(operands[n], [op], [operands[n + 1]]) for n, op in enumerate(node.ops)]
        return functools.reduce(lambda x, y: ast.BinOp(x, ast.BitAnd(), y), parts)


def passes(operation: Apply) -> list[Value]:
    """The operands through which a derivative passes."""
    if operation.result.kind != FLOAT:
        return []
    return [
        x for k, x in enumerate(operation.inputs) if x.kind == FLOAT and partial(operation.function, k).literal != 0.0
    ]
