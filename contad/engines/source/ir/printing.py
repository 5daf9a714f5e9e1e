"""Prints a derivative as a module: its imports, its functions with the lines of the user's source, options of njit."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from contad.engines.source.ir.runtime_functions import RUNTIME
from contad.engines.source.ir.syntax import statement, string
from contad.engines.source.ir.tree_queries import called_name, nodes_in, note_of


# ---- functions -------------------------------------------------------------------------------------------------------
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


# ---- modules ---------------------------------------------------------------------------------------------------------
class ModuleFunction(NamedTuple):
    """A function of a module, its decorator, and whether threads share its strips."""

    function: ast.FunctionDef
    decorator: str
    is_shared: bool = False


def print_module(
    what: str, rules: Iterable[str], constants: Sequence[ast.stmt], functions: Sequence[ModuleFunction]
) -> str:
    """The text of a module: its docstring, the rules whose values it calls, its constants, its functions in order."""
    values = [
        statement("value = value_function(rule(name))", value=f"value_{rule}", name=string(rule))
        for rule in sorted(rules)
    ]
    body: list[str] = []
    for function, decorator, is_shared in functions:
        body += ["", "", *([f"@{decorator}"] if decorator else []), *print_function(function)]
        if is_shared:
            body += ["", "", f"share_{function.name} = sharer({function.name})"]
    used = {called_name(x) for s in (*values, *constants, *(f.function for f in functions)) for x in nodes_in(s)}
    used |= {f.decorator.partition("(")[0] for f in functions} | {"sharer" for f in functions if f.is_shared}
    own = [
        f"from contad.{module} import {', '.join(found)}"
        for module, names in RUNTIME.items()
        if (found := [name for name in names if name in used])
    ]
    lines = [f'"""{what}"""', "", "import math", "", "import numpy as np"]
    for block in (sorted(own), print_statements(values), print_statements(constants)):
        lines += ["", *block] if block else []
    return "\n".join([*lines, *body]) + "\n"


# ---- options ---------------------------------------------------------------------------------------------------------
# for functions that only generated code calls, with types that Python has no objects for
INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def options_of(fastmath: Any) -> dict[str, Any]:
    """Numba's options, given fastmath, a bool or a set of flags; divisions do not raise: the source checks them."""
    if isinstance(fastmath, frozenset):
        fastmath = _Sorted(fastmath)
    return {"error_model": "numpy", "nogil": True, "fastmath": fastmath}


class _Sorted(frozenset[str]):
    """A set whose repr is the same in every process."""

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, sorted(self)))}}}"
