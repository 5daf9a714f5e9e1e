"""What the reverse pass needs to know of one operation: which operands its derivative reads, and its source.

The derivative bodies are those of the registry; `contad.native.rule_source` writes them.
"""

import ast
import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from contad.engines.source.ir.known_functions import SELECT, TO_FLOAT, Function
from contad.engines.source.ir.single_assignment import FLOAT, Apply, Value
from contad.native.rule_source import or_call, partial_tree
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


def source_of_rule(
    rule: ScalarRule,
    k: int,
    names: list[str],
    prefix: str,
    called: Callable[[ScalarRule], str],
    inverses: Mapping[str, str],
) -> tuple[list[tuple[str, str]], str]:
    """Names with their texts, and an expression, for the derivative of a rule with respect to operand k.

    The partials of a formula number one more than its operands, the last of which is its value. `names` are those of
    the result and the operands. `called(rule)` names a compiled function for a rule whose value is no expression. What
    is divided by one of `inverses` is multiplied by the name that it maps to.
    """
    assert rule.body is not None
    lines, result = partial_tree(rule, k, names, prefix, or_call(called))
    written = [(name, _write(tree, inverses)) for name, tree in (*lines, ("", result))]
    return written[:-1], written[-1][1]


def _write(tree: ast.expr, inverses: Mapping[str, str]) -> str:
    """An expression with `select` for conditional expressions, and products by an inverse for divisions."""
    return ast.unparse(_ByInverse(inverses).visit(_Branchless().visit(tree)))


_CHEAP = ("abs", "select", "math.sqrt", "math.isnan")
_NOT_RECALLED = (*_CHEAP, "math.isinf", "math.isfinite", "math.copysign", "math.floor")


class _ByInverse(ast.NodeTransformer):
    """Multiplies by the inverse of a divisor that has a name."""

    def __init__(self, inverses: Mapping[str, str]) -> None:
        self.inverses = inverses

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = self.inverses.get(ast.unparse(node.right)) if isinstance(node.op, ast.Div) else None
        if name is None:
            return node
        inverse = ast.Name(name, ast.Load())
        is_one = isinstance(node.left, ast.Constant) and node.left.value == 1.0
        return inverse if is_one else ast.BinOp(node.left, ast.Mult(), inverse)


class _Branchless(ast.NodeTransformer):
    """Replaces conditions in a partial by calls that need no branch, unless a function would be called in vain."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        calls = [n for x in (node.body, node.orelse) for n in ast.walk(x) if isinstance(n, ast.Call)]
        if any(ast.unparse(call.func) not in _CHEAP for call in calls):
            return node
        return ast.Call(ast.Name("select", ast.Load()), [node.test, node.body, node.orelse], [])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        if not all(isinstance(x, (ast.Compare, ast.BinOp, ast.Name)) for x in node.values):
            return node
        return functools.reduce(lambda x, y: ast.BinOp(x, operator, y), node.values)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 or not all(isinstance(x, ast.Name) for x in node.comparators[:-1]):
            return node
        operands = [node.left, *node.comparators]
        parts: list[ast.expr] = [ast.Compare(operands[n], [op], [operands[n + 1]]) for n, op in enumerate(node.ops)]
        return functools.reduce(lambda x, y: ast.BinOp(x, ast.BitAnd(), y), parts)


class _Recalls(ast.NodeTransformer):
    """Calls of functions that take long, by `recall`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name in _NOT_RECALLED or not name.startswith(("math.", "value_")) or len(node.args) > 2:
            return node
        return ast.Call(ast.Name("recall", ast.Load()), [*_MEMORY, node.func, *node.args], [])


_MEMORY = [ast.Name("memory", ast.Load()), ast.Name("marks", ast.Load())]


def recall_calls(text: str) -> str:
    """An expression in which functions that take long are computed once for all blocks of directions."""
    return ast.unparse(_Recalls().visit(ast.parse(text, mode="eval")))


def passes(operation: Apply) -> list[Value]:
    """The operands through which a derivative passes."""
    if operation.result.kind != FLOAT:
        return []
    return [
        x for k, x in enumerate(operation.inputs) if x.kind == FLOAT and partial(operation.function, k).literal != 0.0
    ]
