"""Rules as source for compiled code: partials under given names, and values.

Every engine that generates code takes it from here. This module edits a syntax tree and writes it out once. Callers may
rename parameters to any text that is an operand.
"""

import ast
import cmath
import copy
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Protocol

import numpy as np

from contad.errors import RuleError, UnsupportedError
from contad.ops._scipy import special
from contad.ops.powers import COMMON, literal_power
from contad.rules.body import RuleBody
from contad.rules.definition import captured_values, definition_of
from contad.rules.scalar_rule import ScalarRule
from contad.variables.stack import attempt

Lines = list[tuple[str, ast.expr]]  # assignments: a name and its value
_AS_THEY_ARE: Mapping[str, str] = {}
ValueOf = Callable[..., ast.expr]  # of a rule and the expressions of its arguments


# ---- partials --------------------------------------------------------------------------------------------------------
def partial_tree(
    rule: ScalarRule, k: int, names: Sequence[str], prefix: str, value: ValueOf | None = None
) -> tuple[Lines, ast.expr]:
    """Partial k of a rule as assignments and an expression, for compiled Python.

    `names` are those of the result and the arguments; names of the body get the prefix. Calls of core rules become
    their value expressions, and `select` becomes a conditional expression. Raises RuleError if a called rule has no
    one-line value, unless `value` makes an expression from the rule and its arguments.
    """
    body = rule.body
    assert body is not None
    assignments, result = body.slice(k)
    renamed = dict(zip(body.parameters, names, strict=False)) | {name: prefix + name for name, _ in assignments}
    inliner = _Inliner(body, renamed, value or value_expression)
    lines: Lines = []
    for name, x in assignments:
        copied = inliner.copy(x)
        if isinstance(copied, ast.Name):  # a second name for a value
            renamed[name] = copied.id
        else:
            lines.append((renamed[name], copied))
    return lines, inliner.copy(result)


def partial_source(
    rule: ScalarRule,
    k: int,
    names: Sequence[str],
    prefix: str,
    value: ValueOf | None = None,
    functions: Mapping[str, str] = _AS_THEY_ARE,
    powers: str = "",
) -> tuple[list[str], str]:
    """Partial k of a rule as source lines and an expression, see `partial_tree`.

    The partial of a power by its base first compares the exponent with common ones, or looks it up in a mapping of the
    name `powers`. `functions` maps callees to their replacements.
    """
    assignments, result = partial_tree(rule, k, names, prefix, value)
    if rule.name == "power" and k == 0 and rule.__module__.startswith("contad.ops."):
        result = with_shortcuts(result, names, powers)
    written = [(name, ast.unparse(with_functions(x, functions))) for name, x in (*assignments, ("", result))]
    return [f"{name} = {text}" for name, text in written[:-1]], written[-1][1]


def with_functions(tree: ast.expr, functions: Mapping[str, str]) -> ast.expr:
    """An expression that calls other functions: {"math.exp": "fast_exp"}."""
    for node in ast.walk(tree) if functions else ():
        if isinstance(node, ast.Call) and (name := functions.get(ast.unparse(node.func))) is not None:
            node.func = ast.Name(name, ast.Load())
    return tree


def names_read(lines: Sequence[str]) -> set[str]:
    """The names in source; names of modules also with their attributes.

    >>> sorted(names_read(["t = x * math.exp(y)"]))
    ['math', 'math.exp', 't', 'x', 'y']
    """
    nodes = list(ast.walk(ast.parse("\n".join(lines))))
    attributes = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    return attributes | {node.id for node in nodes if isinstance(node, ast.Name)}


def with_shortcuts(partial: ast.expr, names: Sequence[str], powers: str = "") -> ast.expr:
    """The partial of x ** y by x as compiled code evaluates it: by the common exponents, before the general power.

    `names` are those of (z, x, y). `powers` is the name of a mapping with a function of (z, x) for each common
    exponent.
    """
    z, x, y = names
    if powers:
        partial = ast.IfExp(_expression(f"{y} in {powers}"), _expression(f"{powers}[{y}]({z}, {x})"), partial)
    for c in reversed(COMMON) if not powers else ():
        rule = literal_power(c)
        assert rule is not None
        _, short = partial_tree(rule, 0, (z, x), "")
        partial = ast.IfExp(_expression(f"{y} == {c!r}"), short, partial)
    # at a pole, which may be at -0.0, the quotient has the sign of another branch of the power
    return ast.IfExp(_expression(f"{y} < 0.0 and math.isfinite({z})"), _expression(f"{y} * {z} / {x}"), partial)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Inliner(ast.NodeTransformer):
    def __init__(self, body: RuleBody, names: dict[str, str], value: ValueOf) -> None:
        self.body = body
        self.names = names
        self.value = value

    def copy(self, expression: ast.expr) -> ast.expr:
        """The expression under the new names; the body keeps its own."""
        found: ast.expr = self.visit(copy.deepcopy(expression))
        return found

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.names:
            return ast.Name(self.names[node.id], ast.Load())
        return self._number(self.body.resolve(node), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._number(self.body.resolve(node), node)

    def _number(self, value: Any, node: ast.expr) -> ast.AST:
        if not isinstance(value, (int, float)):
            raise RuleError(
                f"{self.body.function.__name__}: {ast.unparse(node)} is not a number and cannot be compiled"
            )
        if math.isinf(value) or math.isnan(value):
            return _expression("math.nan" if value != value else "math.inf" if value > 0 else "-math.inf")
        return ast.Constant(value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        target = self.body.resolve(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        if getattr(target, "is_select", False):
            return ast.IfExp(*arguments)
        return self.value(target, arguments)


# ---- values as expressions -------------------------------------------------------------------------------------------
def value_expression(rule: Any, arguments: Sequence[ast.expr]) -> ast.expr:
    """The value of a core rule at argument expressions: its one-line function with the parameters replaced.

    Also for another rule, if it returns its argument unchanged.
    """
    definition = _definition(rule.function)
    assert isinstance(definition, ast.FunctionDef)
    last = definition.body[-1]
    statements = [s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    is_short = rule.core or isinstance(getattr(last, "value", None), ast.Name)
    if not is_short or len(statements) != 1 or not isinstance(last, ast.Return) or last.value is None:
        raise RuleError(f"{rule.name}: only core rules with a one-line value can be called in the body of a core rule")
    replacement = dict(zip(rule.argument_names, arguments, strict=True))

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return replacement.get(node.id, node)

    return Replace().visit(copy.deepcopy(last.value))


@functools.lru_cache(maxsize=1024)
def _definition(function: Callable[..., Any]) -> ast.stmt:
    return definition_of(function)[0]


def or_call(name: Callable[[Any], str]) -> ValueOf:
    """The value of a rule as an expression if it has one, else a call of the function `name(rule)`."""

    def value(rule: Any, arguments: Sequence[ast.expr]) -> ast.expr:
        try:
            with attempt():
                return value_expression(rule, arguments)
        except RuleError:
            return ast.Call(ast.Name(name(rule), ast.Load()), list(arguments), [])

    return value


# ---- values as functions ---------------------------------------------------------------------------------------------
class Callees(Protocol):
    """Names for the callees of the value of a rule; any of them may refuse."""

    def name_of_value(self, rule: ScalarRule) -> str: ...

    def name_of_helper(self, function: FunctionType) -> str: ...

    def name_of_special(self, name: str) -> str: ...


def value_source(function: Any, name: str, callees: Callees, modules: tuple[ModuleType, ...] = (math, np)) -> str:
    """A value function, or one that such a function calls, as source of the given name for compiled code.

    It gives NumPy's results where Python's floats raise. It refers to the `modules`, numbers, and the names from
    `callees`.
    """
    definition, _ = definition_of(function)
    if not isinstance(definition, ast.FunctionDef):
        raise UnsupportedError(f"{function.__qualname__}: the value of a rule is compiled from a def statement")
    definition.name = name
    definition.body = definition.body[1:] if ast.get_docstring(definition) else definition.body
    translated = _Translator(function, callees, modules).visit(definition)
    return ast.unparse(ast.fix_missing_locations(translated))


class _Translator(ast.NodeTransformer):
    def __init__(self, function: FunctionType, callees: Callees, modules: tuple[ModuleType, ...]) -> None:
        self.function = function
        self.callees = callees
        self.modules = modules
        self.local = set(function.__code__.co_varnames)
        self.values = function.__globals__ | captured_values(function)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return node if self._global(node) is None else self._reference(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        base = node.value
        if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and self._global(base.func) is special:
            return ast.Name(self.callees.name_of_special(node.attr), ast.Load())
        if isinstance(self._global(base), ScalarRule) and node.attr == "function":
            return self._reference(base)
        if self._global(base) is math and node.attr == "floor":
            return ast.Attribute(ast.Name("np", ast.Load()), "floor", ast.Load())  # math.floor is an int64 in Numba
        if self._global(base) is cmath and np in self.modules:  # which has these functions, too
            name = f"arc{node.attr[1:]}" if node.attr in ("asin", "acos", "atan") else node.attr
            return ast.Attribute(ast.Name("np", ast.Load()), name, ast.Load())
        if isinstance(self._global(base), ModuleType) and self._global(base) not in self.modules:
            return self._reference(node)
        return self.generic_visit(node)

    def _global(self, node: ast.expr) -> Any:
        """The value of a global name or of an attribute of a module; None for anything else."""
        if isinstance(node, ast.Attribute):
            base = self._global(node.value)
            return getattr(base, node.attr, None) if isinstance(base, ModuleType) else None
        return self.values.get(node.id) if isinstance(node, ast.Name) and node.id not in self.local else None

    def _reference(self, node: ast.expr) -> ast.AST:
        value = self._global(node)
        if isinstance(value, ModuleType) and value in self.modules:
            return ast.Name("math" if value is math else "np", ast.Load())
        if isinstance(value, (int, float, tuple)):
            return _expression(repr(value))
        if isinstance(value, ScalarRule):
            return ast.Name(self.callees.name_of_value(value), ast.Load())
        if isinstance(value, FunctionType):
            return ast.Name(self.callees.name_of_helper(value), ast.Load())
        raise UnsupportedError(
            f"{self.function.__module__}.{self.function.__qualname__}: {ast.unparse(node)} is a "
            f"{type(value).__name__}; in compiled code the value of a rule uses numbers, functions and rules only"
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if ast.unparse(node.func) == "math.pow":
            node.args = [_as_float(x) for x in node.args]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):  # Numba's powers with integer exponents raise if a square underflows
            node.left, node.right = _as_float(node.left), _as_float(node.right)
        return node

    def visit_Try(self, node: ast.Try) -> list[ast.AST]:
        return [self.visit(statement) for statement in node.body]  # compiled arithmetic gives inf and nan

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        return None if node.arg == "strict" else self.generic_visit(node)


def _as_float(expression: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("float", ast.Load()), [expression], [])
