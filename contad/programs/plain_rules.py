"""Rules that the interpreter compiles beside those of the sweep: whose value functions are plain arithmetic.

A value function may branch, where it calls nothing but the module math; it is copied into the interpreter, as
`value_of_<name>`, and the partials of such rules may call it.
"""

import ast
import functools
import math
from collections.abc import Sequence
from typing import Any

from contad.errors import RuleError
from contad.rules.body import value_expression
from contad.rules.definition import definition_of, named
from contad.rules.scalar_rule import ScalarRule, rules
from contad.variables.stack import attempt


@functools.cache
def compiled_rules() -> tuple[ScalarRule, ...]:
    """The rules of contad that qualify, in order of their names."""
    found = {rule for rule in rules() if not rule.core and rule.arity <= 2 and _is_arithmetic(rule)}
    while True:  # bodies may call each other's values
        kept = {rule for rule in found if all(_called(rule, k) <= found for k in range(rule.arity))}
        if kept == found:
            return tuple(sorted(found, key=lambda rule: rule.name))
        found = kept


def _is_arithmetic(rule: ScalarRule) -> bool:
    if not rule.function.__module__.startswith("contad.ops."):
        return False
    try:
        with attempt():
            value_source(rule)
    except (RuleError, OSError):
        return False
    return True


def value_source(rule: ScalarRule) -> str:
    """The value function as source that refers to the module math only; RuleError where it cannot be."""
    definition, _ = definition_of(rule.function)
    assert isinstance(definition, ast.FunctionDef)
    copy = ast.parse(ast.unparse(definition)).body[0]
    assert isinstance(copy, ast.FunctionDef)
    copy.name = f"value_of_{rule.name}"
    copy.body = [s for s in copy.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    local = {*rule.argument_names, *(n.id for n in ast.walk(copy) if isinstance(n, ast.Name) and _is_stored(n))}
    return ast.unparse(ast.fix_missing_locations(_Closed(rule.function, local).visit(copy)))


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


class _Closed(ast.NodeTransformer):
    """Constants of the module written out; anything else that is neither local nor of the module math is refused."""

    def __init__(self, function: Any, local: set[str]) -> None:
        self.function = function
        self.local = local

    def _refuse(self, node: ast.expr, message: str) -> Exception:
        return RuleError(f"{self.function.__name__}: {message}")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in ("abs", "float"):
            node.args = [self.visit(argument) for argument in node.args]
            return node
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if named(self.function, node.value, self._refuse, "") is not math:
            raise self._refuse(node, f"{ast.unparse(node)} is not of the module math")
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.local:
            return node
        value = named(self.function, node, self._refuse, "")
        if not isinstance(value, float):
            raise self._refuse(node, f"{node.id} is not a number")
        return ast.Constant(value)


def _called(rule: ScalarRule, k: int) -> set[ScalarRule]:
    """The rules without a one-line value that partial k calls."""
    assert rule.body is not None
    assignments, result = rule.body.slice(k)
    calls = [n for e in (result, *(e for _, e in assignments)) for n in ast.walk(e) if isinstance(n, ast.Call)]
    targets = [rule.body.resolve(call.func) for call in calls]
    return {t for t in targets if isinstance(t, ScalarRule) and not t.core}


def value(rule: Any, arguments: Sequence[ast.expr]) -> ast.expr:
    """The value of a rule at argument expressions: written out, or a call of its copy."""
    if rule.core:
        return value_expression(rule, arguments)
    return ast.Call(ast.Name(f"value_of_{rule.name}", ast.Load()), list(arguments), [])
