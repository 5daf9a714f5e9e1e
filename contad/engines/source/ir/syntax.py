"""Builds the expressions and statements of derivatives, Python syntax trees, from templates.

    statement("bar += y_bar * slope", bar=x_bar, y_bar=..., slope=...)

A template is a piece of Python. Keywords replace names in it, by a name (a string), a number, an expression or a list.
In a call, a subscript or a tuple, a list gives several members; elsewhere it gives its only member, or a tuple. A
statement that consists of such a name is replaced by a list of statements, without a copy. Each template is parsed once
in a process.
"""

import ast
import functools
import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from contad.engines.source.ir.tree_queries import BRANCHES, dotted_name, is_number

Part: TypeAlias = "ast.expr | str | float | int | bool | Sequence[Any] | None"


def expression(template: str, **parts: Part) -> ast.expr:
    """A new expression."""
    made = substitute(_read(template, "eval"), parts)
    assert isinstance(made, ast.expr)
    return made


def statements(template: str, **parts: Part) -> list[ast.stmt]:
    """New statements. A loop or branch in a template holds `pass` where statements are inserted later."""
    return [made for s in _read(template, "exec") for made in _fill_each(s, parts)]


def statement(template: str, **parts: Part) -> Any:
    """One new statement."""
    (made,) = statements(template, **parts)
    return made


def part(given: Part) -> ast.expr:
    """The tree that replaces a name in a template; a copy if it is already in another tree."""
    if isinstance(given, ast.expr):
        if "stands" in given.__dict__:
            return clone(given)
        given.stands = True  # type: ignore[attr-defined]
        return given
    if isinstance(given, str):
        return name(given)
    if isinstance(given, (list, tuple)):
        found = [part(x) for x in given]
        return found[0] if len(found) == 1 else ast.Tuple(found, ast.Load())
    return number(given)


def name(text: str) -> ast.expr:
    """A name, which may be dotted."""
    if text.isidentifier():
        return ast.Name(text, ast.Load())
    head, *rest = text.split(".")
    assert head.isidentifier(), text
    found: ast.expr = ast.Name(head, ast.Load())
    for attribute in rest:
        found = ast.Attribute(found, attribute, ast.Load())
    return found


def number(x: Any) -> ast.expr:
    """A constant."""
    if isinstance(x, float) and not math.isfinite(x):
        found = name("math.nan" if x != x else "math.inf")
        return found if x > 0 or x != x else ast.UnaryOp(ast.USub(), found)
    if isinstance(x, (int, float)) and not isinstance(x, bool) and math.copysign(1.0, x) < 0.0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-x))
    return ast.Constant(x)


def string(text: str) -> ast.expr:
    """A string as a constant."""
    return ast.Constant(text)


def call(function: str, arguments: Sequence[Part]) -> ast.expr:
    """A call of a function by its name."""
    return expression("function(arguments)", function=function, arguments=list(arguments))


def tuple_of(members: Sequence[Part]) -> ast.expr:
    """A tuple, possibly of one member."""
    return ast.Tuple([part(x) for x in members], ast.Load())


def total(terms: Sequence[Part]) -> ast.expr:
    """A left-associative sum; 0 without terms."""
    found = [part(x) for x in terms]
    return functools.reduce(lambda x, y: ast.BinOp(x, ast.Add(), y), found) if found else ast.Constant(0)


def terms_of(tree: ast.expr) -> list[ast.expr]:
    """The terms of a left-associative sum."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        return [*terms_of(tree.left), tree.right]
    return [tree]


def product(factors: Sequence[Part]) -> ast.expr:
    """A left-associative product; 1 without factors."""
    found = [part(x) for x in factors]
    return functools.reduce(lambda x, y: ast.BinOp(x, ast.Mult(), y), found) if found else ast.Constant(1)


def difference(x: Part, y: Part) -> ast.expr:
    """x - y."""
    first, second = part(x), part(y)
    return first if is_number(second, 0) else ast.BinOp(first, ast.Sub(), second)


def either(tests: Sequence[Part]) -> ast.expr:
    """Whether any of the tests holds."""
    found = [part(x) for x in tests]
    return found[0] if len(found) == 1 else ast.BoolOp(ast.Or(), found)


def both(tests: Sequence[Part]) -> ast.expr:
    """Whether all of the tests hold."""
    found = [part(x) for x in tests]
    return found[0] if len(found) == 1 else ast.BoolOp(ast.And(), found)


def clone(node: Any) -> Any:
    """A deep copy of a tree, with its notes."""
    if isinstance(node, list):
        return [clone(x) for x in node]
    if not isinstance(node, ast.AST):
        return node
    made = _copy_of(node)
    for field in BRANCHES[type(node)]:
        made.__dict__[field] = clone(made.__dict__.get(field))
    return made


def _copy_of(node: ast.AST) -> Any:
    """A shallow copy of a node, in no tree yet."""
    made = type(node).__new__(type(node))
    made.__dict__.update(node.__dict__)
    made.__dict__.pop("stands", None)
    return made


def splice(body: list[ast.stmt], instead: Mapping[ast.stmt, list[ast.stmt]]) -> None:
    """Replace statements anywhere in a body by others."""
    for s in body:
        for inner in (getattr(s, "body", []), getattr(s, "orelse", [])):
            if inner:
                splice(inner, instead)
    body[:] = [made for s in body for made in instead.get(s, (s,))] or [ast.Pass()]


def place_at(tree: ast.expr, place: ast.AST) -> ast.expr:
    """A new expression with the source position of another node."""
    for x in ast.walk(tree):
        ast.copy_location(x, place)
    return tree


@functools.cache
def _read(template: str, kind: str) -> Any:
    """The tree of a template, without positions but the line number that Python's printer needs in statements."""
    tree: Any = ast.parse(textwrap.dedent(template), mode=kind)
    for node in ast.walk(tree):
        for place in {"lineno", "col_offset", "end_lineno", "end_col_offset"} & vars(node).keys():
            if place != "lineno" or not isinstance(node, ast.stmt):
                delattr(node, place)
    return tree.body


def substitute(node: Any, parts: Mapping[str, Part]) -> Any:
    """A copy of a template, or of any tree, in which parts replace names; statements keep their notes."""
    if isinstance(node, ast.Name):
        if node.id not in parts:
            return _copy_of(node)
        made = part(parts[node.id])
        return made if isinstance(node.ctx, ast.Load) else _as_target(made)
    if isinstance(node, ast.Constant):
        return number(node.value)
    if not isinstance(node, ast.AST):
        return node
    made = _copy_of(node)
    for field in BRANCHES[type(node)]:
        value: Any = getattr(node, field, None)
        if field == "targets":  # several targets are a tuple
            made.__dict__[field] = [substitute(x, parts) for x in value]
        elif isinstance(value, list):
            made.__dict__[field] = [filled for x in value for filled in _fill_each(x, parts)]
        elif value is not None:
            made.__dict__[field] = substitute(value, parts)
    if isinstance(node, ast.FunctionDef):
        made.name = parts.get(node.name, node.name)
        made.args = _arguments(node.args, parts)
    return made


def _fill_each(node: Any, parts: Mapping[str, Part]) -> list[Any]:
    """The trees that replace one member of a list: several if the part is a list."""
    if isinstance(node, ast.Expr) and isinstance(block := parts.get(dotted_name(node.value)), list):
        return block
    given = parts.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(given, (list, tuple)):
        made = [part(x) for x in given]
        return made if isinstance(node.ctx, ast.Load) else [_as_target(x) for x in made]
    return [substitute(node, parts)]


def _arguments(arguments: ast.arguments, parts: Mapping[str, Part]) -> ast.arguments:
    """Parameters of a function, in which a list of names replaces one name by several."""
    names: list[str] = []
    for x in arguments.args:
        given = parts.get(x.arg, x.arg)
        names += [given] if isinstance(given, str) else list(given)  # type: ignore[arg-type]
    return ast.arguments([], [ast.arg(x) for x in names], None, [], [], None, [])


def _as_target(node: ast.expr) -> ast.expr:
    """A new expression as the target of an assignment."""
    node.ctx = ast.Store()  # type: ignore[attr-defined]
    if isinstance(node, ast.Tuple):
        node.elts = [_as_target(x) for x in node.elts]
    return node


def number_statements(function: ast.FunctionDef) -> None:
    """Give statements the numbers of their first and last lines, from which passes tell the order of statements."""
    line = 0

    def number_one(s: ast.stmt) -> None:
        nonlocal line
        line += 1
        s.lineno = line
        for inner in (*getattr(s, "body", ()), *getattr(s, "orelse", ())):
            number_one(inner)
        s.end_lineno = line

    number_one(function)
