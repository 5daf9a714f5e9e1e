"""A formula as single operations on names, and the adjoints of these names as further such lines."""

import ast
import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from contad.rules.body import RuleBody

Lines = list[tuple[str, ast.expr]]


class FormulaAssignment(NamedTuple):
    """result = operation(operands); the operation is the class of an operator in trees, a rule, or `select`."""

    result: str
    kind: Any
    operands: list[ast.expr]  # names and constants; for `select`, the condition comes first


class Operations:
    """The lines of a formula, each one operation on names and constants, or a condition."""

    def __init__(self, body: Any, parameters: set[str]) -> None:
        self.body = body
        self.parameters = set(parameters)
        self.lines: Lines = []
        self.found: list[FormulaAssignment] = []
        self.conditions: set[str] = set()
        self.count = 0

    def assign(self, name: str, value: ast.expr) -> None:
        """name = value."""
        if self._is_condition(value):
            self.conditions.add(name)
            self.lines.append((name, value))
        elif isinstance(value, (ast.Name, ast.Constant, ast.Attribute)):
            self._add(name, ast.Add, [self.atom(value), ast.Constant(0.0)])
        else:
            self._operate(name, value)

    def atom(self, value: ast.expr) -> ast.expr:
        """A name or a constant for the value of an expression."""
        if isinstance(value, ast.Constant):
            return value
        known = isinstance(value, ast.Name) and (value.id in self.parameters or value.id in dict(self.lines))
        if known:
            return value
        if isinstance(value, (ast.Name, ast.Attribute)):
            return constant_of(self.body.resolve(value))
        if isinstance(value, ast.UnaryOp) and isinstance(value.operand, ast.Constant):
            return value
        self.count += 1
        name = f"_t{self.count}"
        self._operate(name, value)
        return ast.Name(name, ast.Load())

    def _operate(self, name: str, value: ast.expr) -> None:
        if isinstance(value, ast.BinOp):
            if isinstance(value.op, ast.Pow):
                self._add(name, ast.Pow, [self.atom(value.left), value.right])
            else:
                self._add(name, type(value.op), [self.atom(value.left), self.atom(value.right)])
        elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            self._add(name, ast.USub, [self.atom(value.operand)])
        elif isinstance(value, ast.Call):
            called = self.body.resolve(value.func)
            if getattr(called, "is_select", False):
                self._add(name, called, [value.args[0], self.atom(value.args[1]), self.atom(value.args[2])])
            else:
                self._add(name, called, [self.atom(x) for x in value.args])
        else:
            raise self.body._error(value, f"{ast.unparse(value)} has no place in a formula")

    def _add(self, name: str, kind: Any, operands: list[ast.expr]) -> None:
        if kind is ast.USub:
            written: ast.expr = ast.UnaryOp(ast.USub(), operands[0])
        elif isinstance(kind, type):
            written = ast.BinOp(operands[0], kind(), operands[1])
        else:
            written = ast.Call(ast.Name(self.body.name_of(kind), ast.Load()), list(operands), [])
        self.lines.append((name, ast.fix_missing_locations(written)))
        self.found.append(FormulaAssignment(name, kind, operands))

    def _is_condition(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self.conditions
        return isinstance(node, (ast.Compare, ast.BoolOp)) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        )

    # ---- terms -------------------------------------------------------------------------------------------------------
    def without_constants(self, value: ast.expr, whole: Sequence[str]) -> ast.expr:
        """A sum without the terms that do not depend on differentiated parameters."""
        depends: dict[str, set[str]] = {name: {name} for name in self.parameters}
        for name, line in self.lines:
            depends[name] = self._read(line, depends)
        active = self.parameters - {*whole, "_value"}

        def keep(node: ast.expr) -> ast.expr | None:
            if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
                left, right = keep(node.left), keep(node.right)
                if right is None:
                    return left
                if left is None:
                    return right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), right)
                return ast.BinOp(left, node.op, right)
            return node if self._read(node, depends) & active else None

        return keep(value) or ast.Constant(0.0)

    def _read(self, node: ast.expr, depends: dict[str, set[str]]) -> set[str]:
        return set().union(*(depends.get(n.id, set()) for n in ast.walk(node) if isinstance(n, ast.Name)))


def constant_of(x: Any) -> ast.expr:
    """A number as an expression of a body."""
    x = float(x)
    if math.isfinite(x):
        return ast.Constant(x)
    name = ast.Name("_nan" if x != x else "_inf", ast.Load())
    return ast.UnaryOp(ast.USub(), name) if x < 0 else name


# ---- adjoints --------------------------------------------------------------------------------------------------------
def pull_back(operations: Operations, result: ast.expr) -> tuple[Lines, dict[str, ast.expr]]:
    """Lines that compute adjoints, and the nonzero partials of the result by the names of parameters."""
    return _Adjoints(operations).run(result)


class _Adjoints:
    def __init__(self, operations: Operations) -> None:
        self.operations, self.body = operations, operations.body
        self.lines: Lines = []
        self.terms: dict[str, list[ast.expr]] = {}

    def run(self, result: ast.expr) -> tuple[Lines, dict[str, ast.expr]]:
        self._pass(result, ast.Constant(1.0))
        for operation in reversed(self.operations.found):
            bar = self._adjoint(operation.result)
            if bar is not None:
                self._pull(operation, bar)
        found = {name: self._adjoint(name) for name in self.terms.copy() if name in self.operations.parameters}
        return self.lines, {name: bar for name, bar in found.items() if bar is not None}

    def _pass(self, operand: ast.expr, bar: ast.expr) -> None:
        if isinstance(operand, ast.Name) and operand.id not in ("_nan", "_inf"):
            self.terms.setdefault(operand.id, []).append(bar)

    def _name(self, value: ast.expr) -> ast.expr:
        if isinstance(value, (ast.Name, ast.Constant)):
            return value
        name = f"_d{len(self.lines)}"
        self.lines.append((name, ast.fix_missing_locations(value)))
        return ast.Name(name, ast.Load())

    def _adjoint(self, name: str) -> ast.expr | None:
        terms = self.terms.get(name)
        if not terms:
            return None
        total = terms[0]
        for term in terms[1:]:
            negative = isinstance(term, ast.UnaryOp) and isinstance(term.op, ast.USub)
            total = (
                ast.BinOp(total, ast.Sub(), term.operand)  # type: ignore[attr-defined]
                if negative else ast.BinOp(total, ast.Add(), term)
            )  # fmt: skip
        return self._name(total)

    def _pull(self, operation: FormulaAssignment, bar: ast.expr) -> None:
        kind, operands = operation.kind, operation.operands
        z = ast.Name(operation.result, ast.Load())
        if kind is ast.Add or kind is ast.Sub:
            self._pass(operands[0], bar)
            self._pass(operands[1], bar if kind is ast.Add else negative_of(bar))
        elif kind is ast.USub:
            self._pass(operands[0], negative_of(bar))
        elif kind is ast.Mult:
            self._pass(operands[0], times(bar, operands[1]))
            self._pass(operands[1], times(bar, operands[0]))
        elif kind is ast.Div:
            quotient = self._name(ast.BinOp(bar, ast.Div(), operands[1]))
            self._pass(operands[0], quotient)
            self._pass(operands[1], negative_of(times(quotient, z)))
        elif kind is ast.Pow:
            n = ast.literal_eval(operands[1])
            below = operands[0] if n == 2 else ast.BinOp(operands[0], ast.Pow(), ast.Constant(n - 1))
            self._pass(operands[0], times(bar, ast.BinOp(ast.Constant(float(n)), ast.Mult(), below)))
        elif getattr(kind, "is_select", False):
            condition, x, y = operands
            for operand, branches in ((x, (bar, ast.Constant(0.0))), (y, (ast.Constant(0.0), bar))):
                self._pass(operand, ast.Call(ast.Name("_select", ast.Load()), [condition, *branches], []))
        elif isinstance(kind, type):
            raise self.body._error(operands[0], f"{kind.__name__} has no place in a formula")
        else:
            self._pull_rule(kind, operands, z, bar)

    def _pull_rule(self, rule: Any, operands: list[ast.expr], z: ast.expr, bar: ast.expr) -> None:
        """The partials of a rule, inlined."""
        inner: RuleBody = rule.body
        names: dict[str, ast.expr] = dict(zip(inner.parameters, [z, *operands], strict=True))
        copier = _Copier(self.body, inner, names)
        for k, operand in enumerate(operands):
            if not isinstance(operand, ast.Name) or inner.literal(k) == 0.0:
                continue
            assignments, result = inner.slice(k)
            for name, value in assignments:
                if name not in names:
                    own = f"_d{len(self.lines)}"
                    self.lines.append((own, copier.copy(value)))
                    names[name] = ast.Name(own, ast.Load())
            self._pass(operand, times(bar, copier.copy(result)))


class _Copier(ast.NodeTransformer):
    """Copies expressions of one body into another."""

    def __init__(self, body: Any, inner: RuleBody, names: dict[str, ast.expr]) -> None:
        self.body, self.inner, self.names = body, inner, names

    def copy(self, expression: ast.expr) -> ast.expr:
        """The expression in the names of the other body."""
        found: ast.expr = self.visit(copy.deepcopy(expression))
        return ast.fix_missing_locations(found)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.names:
            return copy.deepcopy(self.names[node.id])
        return constant_of(self.inner.resolve(node))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return constant_of(self.inner.resolve(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = self.inner.resolve(node.func)
        return ast.Call(
            ast.Name(self.body.name_of(called), ast.Load()), [self.visit(argument) for argument in node.args], []
        )


def negative_of(x: ast.expr) -> ast.expr:
    """-x."""
    if isinstance(x, ast.Constant):
        return ast.Constant(-float(x.value))  # type: ignore[arg-type]
    if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub):
        return x.operand
    return ast.UnaryOp(ast.USub(), x)


def times(bar: ast.expr, partial: ast.expr) -> ast.expr:
    """bar * partial, without products with 1 and -1."""
    for x, y in ((bar, partial), (partial, bar)):
        if isinstance(x, ast.Constant) and x.value in (1.0, -1.0):
            return y if x.value == 1.0 else negative_of(y)
    return ast.BinOp(bar, ast.Mult(), partial)
