"""Sums of formulas in recorded programs: the lines of the formula, where compiled code has every operation of them.

A program calls Python for a formula, because other inputs may lead to other cases of it. Where no case holds, the cases
become guards, and the lines are recorded like operations that users write. A selection by a condition that depends on
variables becomes a sum of both sides, of which a mask keeps one (`contad.distributions.formula.keep`).
"""

import ast
import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.distributions.formula import CHOICES, Formula, keep
from contad.ops import maximum
from contad.ops.logic import select
from contad.programs.codes import code_of
from contad.rules.body import names_in
from contad.rules.scalar_rule import ScalarRule
from contad.rules.vectorised import REWRITTEN, Vectoriser
from contad.variables.number import Carrier, peek
from contad.variables.open_types import Value

Test = Callable[..., Any]


def sum_of_lines(rule: ScalarRule, args: Sequence[Value], conditions: tuple[str, ...]) -> Value:
    """The sum over the elements of arrays of one shape and numbers; None where Python evaluates the formula."""
    if not isinstance(rule, Formula):
        return None
    plain = [peek(x) for x in args]
    if any(x.__class__ is not float and np.asarray(x).dtype.kind not in "biuf" for x in plain):
        return None
    shapes = {np.shape(x) for x in plain if np.ndim(x)}
    active = tuple([isinstance(x, Carrier) for x in args])
    lines = _lines_of(rule, active)
    if lines is None or len(shapes) > 1 or any(0 in shape for shape in shapes):
        return None
    tests = _tests_of(rule, conditions)
    with np.errstate(all="ignore"):
        if not all(np.all(test(*plain)) for test in tests):
            return None
        for test in tests:
            test(*args)  # whose comparisons are guards
        z = lines(*args)
    if np.shape(peek(z)) not in shapes and shapes:
        return None
    return np.sum(z) if shapes else z


@functools.cache
def _lines_of(rule: Formula, active: tuple[bool, ...]) -> Callable[..., Any] | None:
    """The formula where no case holds, as a function, if the program has all its operations on active arguments."""
    body = rule.body
    parameters = body.parameters[1:]
    assignments, result = body.slice(rule.arity)
    for _ in body.cases:
        assert isinstance(result, ast.Call)
        result = result.args[2]
    depending = {name for name, is_active in zip(parameters, active, strict=True) if is_active}
    scope: dict[str, Any] = REWRITTEN | _CHOICES
    masks = _Masks(body, depending)
    form = Vectoriser(lambda node: ast.unparse(node) not in _CHOICES and body.resolve(node) is select)
    lines = []
    for name, expression in [*assignments, ("_result", result)]:
        if not _take_names(body, expression, depending, {*parameters, *dict(assignments)}, scope):
            return None
        written = ast.fix_missing_locations(masks.visit(copy.deepcopy(expression)))
        if names_in(expression) & depending:
            depending.add(name)
        lines.append(f"    {form.write_assignment(name, written)}\n")
    text = f"def lines({', '.join(parameters)}):\n{''.join(lines)}    return _result\n"
    exec(compile(text, f"<contad lines of {rule.name}>", "exec"), scope)
    found: Callable[..., Any] | None = scope["lines"]
    return found


def _take_names(
    body: Any, expression: ast.expr, depending: set[str], local: set[str], scope: dict[str, Any]
) -> bool:
    """Put the names of an expression into the scope; returns whether a program has its operations."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute):
            return False
        if not isinstance(node, ast.Name) or node.id in local:
            continue
        scope[node.id] = body.resolve(node)
    for node in ast.walk(expression):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        called = scope[node.func.id]
        reads = [bool(names_in(x) & depending) for x in node.args]
        if any(reads) and called is not select:
            if isinstance(called, Formula):
                inner = _lines_of(called, tuple(reads))
                if inner is None or called.body.cases:
                    return False
                scope[node.func.id] = inner
            elif code_of(called, "".join("cv"[reads_one] for reads_one in reads)) is None:
                return False
    return True


@functools.cache
def _tests_of(rule: Formula, conditions: tuple[str, ...]) -> list[Test]:
    """The tests that each element has to pass: the conditions of a density hold, and no case of its formula does."""
    body = rule.body
    parameters = body.parameters[1:]
    form = Vectoriser(lambda node: False)
    texts = [(condition, [f"p_{k}" for k in range(rule.arity)]) for condition in conditions]
    texts += [(f"not ({case})", list(parameters)) for case, _ in body.cases]
    known = REWRITTEN | body.extra | {"np": np}
    return [
        eval(f"lambda {', '.join(names)}: {ast.unparse(form.rewritten(ast.parse(text, mode='eval').body))}", known)
        for text, names in texts
    ]


class _Masks(ast.NodeTransformer):
    """Rewrites conditions that depend on variables as numbers 1 and 0, and selections as products with them."""

    def __init__(self, body: Any, depending: set[str]) -> None:
        self.body, self.depending = body, depending

    def depends(self, node: ast.AST) -> bool:
        """Whether an expression depends on variables."""
        return bool(names_in(node) & self.depending)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """The product of chained comparisons, all of which have to hold."""
        if not self.depends(node):
            return node
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        links = [_COMPARE[type(op)](x, y) for x, op, y in zip(sides, node.ops, sides[1:], strict=False)]
        return functools.reduce(lambda x, y: ast.BinOp(x, ast.Mult(), y), links)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """All conditions, or any."""
        if not self.depends(node):
            return node
        values = [self.visit(x) if self.depends(x) else _call("_as_numbers", x) for x in node.values]
        if isinstance(node.op, ast.And):
            return functools.reduce(lambda x, y: ast.BinOp(x, ast.Mult(), y), values)
        return functools.reduce(lambda x, y: _call("_maximum", x, y), values)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """A condition that does not hold."""
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not) and self.depends(node):
            return ast.BinOp(ast.Constant(1.0), ast.Sub(), operand)
        return ast.UnaryOp(node.op, operand)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The sum of the masked sides of a selection."""
        chooses = self.body.resolve(node.func) is select and self.depends(node.args[0])
        args = [self.visit(x) for x in node.args]
        return _call("_choose", *args) if chooses else ast.Call(node.func, args, [])


def _choose(condition: Value, x: Value, y: Value) -> Value:
    return keep(condition, x) + keep(1.0 - condition, y)


def _as_numbers(condition: Value) -> Value:
    return np.asarray(condition, np.float64) if np.ndim(condition) else float(condition)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*args], [])


_CHOICES = {"_choose": _choose, "_as_numbers": _as_numbers, "_maximum": maximum} | {
    f"_{rule.name}": rule for rule in CHOICES
}
_COMPARE: dict[type, Callable[[ast.expr, ast.expr], ast.expr]] = {
    ast.Lt: lambda x, y: _call("_is_less", x, y),
    ast.Gt: lambda x, y: _call("_is_less", y, x),
    ast.LtE: lambda x, y: _call("_is_at_most", x, y),
    ast.GtE: lambda x, y: _call("_is_at_most", y, x),
    ast.Eq: lambda x, y: _call("_is_equal", x, y),
    ast.NotEq: lambda x, y: ast.BinOp(ast.Constant(1.0), ast.Sub(), _call("_is_equal", x, y)),
}
