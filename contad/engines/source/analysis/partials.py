"""Tells the reverse sweep which operands the derivative of an operation reads, and writes the derivative as source.

The derivatives are those of the registry; `contad.compiled_rules.rule_source` turns them into source.
"""

import ast
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from contad.compiled_rules.rule_source import or_call, partial_tree
from contad.engines.source.ir.known_functions import ROUNDED, SELECT, TO_FLOAT, WIDENED, Function
from contad.engines.source.ir.ssa import FLOAT, Apply, Value
from contad.engines.source.ir.syntax import Part, clone, substitute
from contad.engines.source.ir.tree_queries import called_name, key
from contad.rules.scalar_rule import ScalarRule


class Partial(NamedTuple):
    """The derivative of a function with respect to one operand: a constant, or the values that it reads."""

    literal: float | None
    reads_result: bool
    reads: tuple[int, ...]  # numbers of operands


@functools.cache
def partial(function: Function, k: int) -> Partial:
    """The derivative with respect to operand k; the constant 0.0 if there is no derivative."""
    if function is SELECT:
        return Partial(0.0, False, ()) if k == 0 else Partial(None, False, (0,))
    if function in (TO_FLOAT, ROUNDED, WIDENED["single"]):
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


def write_partial(
    rule: ScalarRule,
    k: int,
    operands: Sequence[ast.expr],
    prefix: str,
    called: Callable[[ScalarRule], object],
    inverses: Mapping[Any, str],
) -> tuple[list[tuple[str, ast.expr]], ast.expr]:
    """The derivative of a rule with respect to operand k: pairs (name, source), and an expression that reads the names.

    A formula returns one partial for each operand, and its value last. `operands` are the result and the operands.
    `called` collects each rule whose value is not an expression, so that the source calls it as a function.
    Divisions by a key of `inverses` become multiplications by the name that the key maps to.
    """
    lines, result, rules = _read_partial(rule, rule.body, k, len(operands))
    for inner in rules:
        called(inner)
    parts: dict[str, Part] = {f"{_OPERAND}{n}": x for n, x in enumerate(operands)}
    parts |= {f"{_LINE}{name}": f"{prefix}{name}" for name, _ in lines}

    def write(tree: ast.expr) -> ast.expr:
        written = substitute(tree, parts)
        return cast(ast.expr, ByInverse(inverses.get).visit(written)) if inverses else written

    return [(f"{prefix}{name}", write(tree)) for name, tree in lines], write(result)


@functools.cache
def _read_partial(
    rule: ScalarRule, body: Any, k: int, count: int
) -> tuple[list[tuple[str, ast.expr]], ast.expr, list[ScalarRule]]:
    """A partial of a rule without branches, in names that begin with `_OPERAND` and `_LINE`; and what it calls.

    `body` is part of the key of the cache: a rule that gets another body is read again.
    """
    rules: list[ScalarRule] = []

    def call(inner: ScalarRule) -> str:
        rules.append(inner)
        return f"value_{inner.name}"

    lines, result = partial_tree(rule, k, [f"{_OPERAND}{n}" for n in range(count)], _LINE, or_call(call))
    branchless = [(name.removeprefix(_LINE), _Branchless().visit(tree)) for name, tree in lines]
    return branchless, _Branchless().visit(result), rules


def find_negated(tree: ast.expr) -> ast.expr | None:
    """The expression without its leading minus sign: a * b for -a * b; None if it has no leading minus sign."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return None if isinstance(tree.operand, (ast.BinOp, ast.UnaryOp)) else tree.operand
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Mult, ast.Div)):
        left = find_negated(tree.left)
        return None if left is None else ast.BinOp(left, tree.op, tree.right)
    return None


_OPERAND, _LINE = "operand_", "line_"  # prefixes of names in the partials that `_read_partial` returns
_CHEAP = ("abs", "select", "math.sqrt", "math.isnan")
_NOT_RECALLED = (*_CHEAP, "math.isinf", "math.isfinite", "math.copysign", "math.floor")


class ByInverse(ast.NodeTransformer):
    """Turns divisions by the keys of a table of inverses into multiplications."""

    def __init__(self, find_inverse: Callable[[Any], str | None]) -> None:
        self.find_inverse = find_inverse

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = self.find_inverse(key(node.right)) if isinstance(node.op, ast.Div) else None
        if name is None:
            return node
        inverse = ast.Name(name, ast.Load())
        is_one = isinstance(node.left, ast.Constant) and node.left.value == 1.0
        return inverse if is_one else ast.BinOp(node.left, ast.Mult(), inverse)


class _Branchless(ast.NodeTransformer):
    """Replaces conditions in a partial by branch-free calls, unless a function would then be called in vain."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        calls = [n for x in (node.body, node.orelse) for n in ast.walk(x) if isinstance(n, ast.Call)]
        if any(called_name(x) not in _CHEAP for x in calls):
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
    """Wraps calls of expensive functions in `recall`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = called_name(node)
        if name in _NOT_RECALLED or not name.startswith(("math.", "value_")) or len(node.args) > 2:
            return node
        return ast.Call(ast.Name("recall", ast.Load()), [*map(clone, _MEMORY), node.func, *node.args], [])


_MEMORY = [ast.Name("memory", ast.Load()), ast.Name("marks", ast.Load())]


def recall_calls(tree: ast.expr) -> ast.expr:
    """An expression that computes expensive functions once for all chunks of directions."""
    return cast(ast.expr, _Recalls().visit(tree))


def passes(operation: Apply) -> list[Value]:
    """The operands through which a derivative passes."""
    if operation.result.kind != FLOAT:
        return []
    return [
        x for k, x in enumerate(operation.inputs) if x.kind == FLOAT and partial(operation.function, k).literal != 0.0
    ]
