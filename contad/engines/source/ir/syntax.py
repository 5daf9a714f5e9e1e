"""Expressions and statements of derivatives: Python's own syntax tree, made from templates, and questions about it.

    statement("bar += y_bar * slope", bar=x_bar, y_bar=..., slope=...)

A template is a piece of Python; the names in it that are given as keywords stand for what they are given: a name as a
string, a number, an expression, or a list, which stands for all of its members where a call, a subscript or a tuple has
several, and elsewhere for one, or for a tuple of them. A statement that is such a name alone stands for a list of
statements, which are put in as they are. Each template is read once in a process.
"""

import ast
import functools
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Part: TypeAlias = "ast.expr | str | float | int | bool | Sequence[Any] | None"


# ---- making ----------------------------------------------------------------------------------------------------------
def expression(template: str, **parts: Part) -> ast.expr:
    """A new expression."""
    made = substitute(_read(template, "eval"), parts)
    assert isinstance(made, ast.expr)
    return made


def statements(template: str, **parts: Part) -> list[ast.stmt]:
    """New statements; a loop or branch of a template holds `pass` where others are put in later."""
    return [made for s in _read(template, "exec") for made in _fill_each(s, parts)]


def statement(template: str, **parts: Part) -> Any:
    """One new statement."""
    (made,) = statements(template, **parts)
    return made


def part(given: Part) -> ast.expr:
    """What a part of a template stands for, as a tree; a copy where it stands in another tree already."""
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
    """A name, which may have points in it."""
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
    """A tuple, also of one."""
    return ast.Tuple([part(x) for x in members], ast.Load())


def total(terms: Sequence[Part]) -> ast.expr:
    """A sum from the left; 0 of nothing."""
    found = [part(x) for x in terms]
    return functools.reduce(lambda x, y: ast.BinOp(x, ast.Add(), y), found) if found else ast.Constant(0)


def terms_of(tree: ast.expr) -> list[ast.expr]:
    """The terms of a sum from the left."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        return [*terms_of(tree.left), tree.right]
    return [tree]


def product(factors: Sequence[Part]) -> ast.expr:
    """A product from the left; 1 of nothing."""
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
    """A tree of its own that is the same, with its notes."""
    if isinstance(node, list):
        return [clone(x) for x in node]
    if not isinstance(node, ast.AST):
        return node
    made = _copy_of(node)
    for field in _BRANCHES[type(node)]:
        made.__dict__[field] = clone(made.__dict__.get(field))
    return made


def _copy_of(node: ast.AST) -> Any:
    """A node of its own with the same branches, which stands nowhere yet."""
    made = type(node).__new__(type(node))
    made.__dict__.update(node.__dict__)
    made.__dict__.pop("stands", None)
    return made


def _find_branches(kind: type) -> tuple[str, ...]:
    """The fields of nodes of a kind in which there may be trees."""
    if issubclass(kind, (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)):
        return ()
    bare = {"attr", "ctx", "id", "kind", "name", "arg", "op", "ops", "type_comment"}
    return tuple(field for field in kind._fields if field not in bare)  # type: ignore[attr-defined]


_KINDS = [x for x in vars(ast).values() if isinstance(x, type) and issubclass(x, ast.AST)]
_BRANCHES = {kind: _find_branches(kind) for kind in _KINDS}


def splice(body: list[ast.stmt], instead: Mapping[ast.stmt, list[ast.stmt]]) -> None:
    """Put other statements in the place of some that are anywhere in a body."""
    for s in body:
        for inner in (getattr(s, "body", []), getattr(s, "orelse", [])):
            if inner:
                splice(inner, instead)
    body[:] = [made for s in body for made in instead.get(s, (s,))] or [ast.Pass()]


def place_at(tree: ast.expr, place: ast.AST) -> ast.expr:
    """A new expression as one that stands where another node does in the user's source."""
    for x in ast.walk(tree):
        ast.copy_location(x, place)
    return tree


@functools.cache
def _read(template: str, kind: str) -> Any:
    """The tree of a template, without places but the number that Python's printer asks for in statements."""
    tree: Any = ast.parse(textwrap.dedent(template), mode=kind)
    for node in ast.walk(tree):
        for place in {"lineno", "col_offset", "end_lineno", "end_col_offset"} & vars(node).keys():
            if place != "lineno" or not isinstance(node, ast.stmt):
                delattr(node, place)
    return tree.body


def substitute(node: Any, parts: Mapping[str, Part]) -> Any:
    """A copy of a template, or of any tree, in which names stand for parts; statements keep their notes."""
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
    for field in _BRANCHES[type(node)]:
        value: Any = getattr(node, field, None)
        if field == "targets":  # where several are a tuple
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
    """What stands for one member of a list: several where it is a part that is a list."""
    if isinstance(node, ast.Expr) and isinstance(block := parts.get(dotted_name(node.value)), list):
        return block
    given = parts.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(given, (list, tuple)):
        made = [part(x) for x in given]
        return made if isinstance(node.ctx, ast.Load) else [_as_target(x) for x in made]
    return [substitute(node, parts)]


def _arguments(arguments: ast.arguments, parts: Mapping[str, Part]) -> ast.arguments:
    """Parameters of a function, where a part that is a list of names stands for several."""
    names: list[str] = []
    for x in arguments.args:
        given = parts.get(x.arg, x.arg)
        names += [given] if isinstance(given, str) else list(given)  # type: ignore[arg-type]
    return ast.arguments([], [ast.arg(x) for x in names], None, [], [], None, [])


def _as_target(node: ast.expr) -> ast.expr:
    """A new expression as what is assigned."""
    node.ctx = ast.Store()  # type: ignore[attr-defined]
    if isinstance(node, ast.Tuple):
        node.elts = [_as_target(x) for x in node.elts]
    return node


# ---- asking ----------------------------------------------------------------------------------------------------------
def dotted_name(node: ast.AST) -> str:
    """The text of a name with or without points; empty of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted_name(node.value)):
        return f"{before}.{node.attr}"
    return ""


def called_name(node: ast.AST | None) -> str:
    """The name of the function that an expression calls; empty where it is no call."""
    return dotted_name(node.func) if isinstance(node, ast.Call) else ""


def key(node: Any) -> Any:
    """What two trees have in common if and only if they are the same."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return type(node.value), repr(node.value)
    if isinstance(node, list):
        return tuple(map(key, node))
    if not isinstance(node, ast.AST):
        return node
    if isinstance(node, ast.expr_context):
        return None
    return type(node), *(key(getattr(node, field, None)) for field in node._fields)


def same(x: Any, y: Any) -> bool:
    """Whether two trees are the same."""
    return bool(key(x) == key(y))


def is_name(node: Any, text: str) -> bool:
    """Whether a tree is this name."""
    return isinstance(node, ast.Name) and node.id == text


def is_number(node: Any, x: float) -> bool:
    """Whether a tree is this constant, which is not negative."""
    return isinstance(node, ast.Constant) and node.value == x and type(node.value) is type(x)


def integer_of(node: ast.AST) -> int | None:
    """The integer that an expression of constants is; None of another one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = integer_of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        x, y = integer_of(node.left), integer_of(node.right)
        if x is None or y is None:
            return None
        return x + y if isinstance(node.op, ast.Add) else x - y
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def note_of(node: ast.AST) -> int:
    """The line of the user's source that a statement is the first one of; 0 of others."""
    return getattr(node, "note", 0)


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """A tree and all in it but operators, those around others before them; `ast.walk` takes several times as long."""
    found: list[ast.AST] = [node]
    for x in found:
        for field in _BRANCHES.get(type(x), ()):
            value = x.__dict__.get(field)
            if type(value) is list:
                found += value
            elif value is not None and isinstance(value, ast.AST):
                found.append(value)
    return found


def names_in(node: ast.AST) -> list[ast.Name]:
    """The names in a tree."""
    return [x for x in nodes_in(node) if type(x) is ast.Name]


def names_of(node: ast.AST) -> set[str]:
    """The names of these."""
    return {x.id for x in names_in(node)}


def walk_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and those in them, in order."""
    for s in body:
        yield s
        if isinstance(s, (ast.For, ast.While, ast.If)):
            yield from walk_statements(s.body)
            yield from walk_statements(s.orelse)


def depth_of(node: ast.AST) -> int:
    """How many expressions are nested in one another."""
    return 1 + max((depth_of(x) for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr)), default=0)


def number_statements(function: ast.FunctionDef) -> None:
    """Give statements the numbers of their first and last lines, by which passes tell what comes before what."""
    line = 0

    def number_one(s: ast.stmt) -> None:
        nonlocal line
        line += 1
        s.lineno = line
        for inner in (*getattr(s, "body", ()), *getattr(s, "orelse", ())):
            number_one(inner)
        s.end_lineno = line

    number_one(function)
