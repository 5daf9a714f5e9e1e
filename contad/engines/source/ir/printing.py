"""Prints derivatives: turns syntax trees into lines of text, and notes the lines of the user's source."""

import ast
from collections.abc import Iterable, Iterator

from contad.engines.source.ir.syntax import note_of


def print_function(function: ast.FunctionDef) -> list[str]:
    """The lines of a function."""
    names = ", ".join(x.arg for x in function.args.args)
    return [f"def {function.name}({names}):", *print_statements(function.body, 1)]


def print_statements(body: Iterable[ast.stmt], depth: int = 0) -> list[str]:
    """The lines of statements at a depth of indentation."""
    indent = "    " * depth
    return [indent + line for s in body for line in _print(s)]


def show(node: ast.AST) -> str:
    """A node for a message: the first line of its text, or its name if it has no text."""
    return _text(node).splitlines()[0] if isinstance(node, (ast.expr, ast.stmt)) else type(node).__name__


def _print(s: ast.stmt) -> Iterator[str]:
    """The lines of a statement."""
    note = f"  # line {note_of(s)}" if note_of(s) else ""
    if isinstance(s, ast.For):
        yield f"for {_text(s.target)} in {_text(s.iter)}:{note}"
        yield from print_statements(s.body, 1)
    elif isinstance(s, ast.While):
        yield f"while {_text(s.test)}:{note}"
        yield from print_statements(s.body, 1)
    elif isinstance(s, ast.If):
        yield f"if {_text(s.test)}:{note}"
        yield from print_statements(s.body, 1)
        if len(s.orelse) == 1 and isinstance(s.orelse[0], ast.If):
            head, *rest = _print(s.orelse[0])
            yield from (f"el{head}", *rest)
        elif s.orelse:
            yield "else:"
            yield from print_statements(s.orelse, 1)
    elif isinstance(s, ast.Return) and s.value is not None:
        yield f"return {_text(s.value)}{note}"
    elif isinstance(s, ast.Assign):
        yield " = ".join(map(_text, (*s.targets, s.value))) + note
    else:
        yield _text(s) + note


def _text(node: ast.AST) -> str:
    """The text of a node as a whole statement or right-hand side: a tuple without parentheses."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(map(ast.unparse, node.elts))
    return ast.unparse(node)
