"""Queries of Python syntax trees: what they name and call, whether two are the same, their nodes and statements."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

CONVERSIONS = "np.float32", "np.float64"  # calls of these are one instruction


def _find_branches(kind: type) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold trees."""
    if issubclass(kind, (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)):
        return ()
    bare = {"attr", "ctx", "id", "kind", "name", "arg", "op", "ops", "type_comment"}
    return tuple(field for field in kind._fields if field not in bare)  # type: ignore[attr-defined]


_KINDS = [x for x in vars(ast).values() if isinstance(x, type) and issubclass(x, ast.AST)]
BRANCHES = {kind: _find_branches(kind) for kind in _KINDS}


def dotted_name(node: ast.AST) -> str:
    """The text of a plain or dotted name; empty for other nodes."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted_name(node.value)):
        return f"{before}.{node.attr}"
    return ""


def called_name(node: ast.AST | None) -> str:
    """The name of the function that an expression calls; empty if it is no call."""
    return dotted_name(node.func) if isinstance(node, ast.Call) else ""


def key(node: Any) -> Any:
    """A key that two trees share if and only if they are the same."""
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
    """Whether a tree is this constant; x must not be negative."""
    return isinstance(node, ast.Constant) and node.value == x and type(node.value) is type(x)


def integer_of(node: ast.AST) -> int | None:
    """The value of a constant integer expression; None for other expressions."""
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
    """The line of the user's source whose first statement this is; 0 for other statements."""
    return getattr(node, "note", 0)


def nodes_in(node: ast.AST) -> list[ast.AST]:
    """All nodes of a tree but operators, parents before children. `ast.walk` takes several times as long."""
    found: list[ast.AST] = [node]
    for x in found:
        for field in BRANCHES.get(type(x), ()):
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
    """The texts of the names in a tree."""
    return {x.id for x in names_in(node)}


def walk_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and the statements inside them, in order."""
    for s in body:
        yield s
        if isinstance(s, (ast.For, ast.While, ast.If)):
            yield from walk_statements(s.body)
            yield from walk_statements(s.orelse)


def head_of(s: ast.stmt) -> Any:
    """The iterable of a loop over one, the test of a branch or another loop; any other statement itself."""
    return s.iter if isinstance(s, ast.For) else s.test if isinstance(s, (ast.While, ast.If)) else s


def depth_of(node: ast.AST) -> int:
    """How deeply expressions are nested."""
    return 1 + max((depth_of(x) for x in ast.iter_child_nodes(node) if isinstance(x, ast.expr)), default=0)
