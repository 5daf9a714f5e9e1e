"""Reassociation: lets LLVM add the terms of a sum in any order, as partial sums in the lanes of a vector register.

    for i in range(n):                     for i in range(n):
        s_bar += x[i] * y[i]        ->         s_bar = add_freely(s_bar, x[i] * y[i])

In order, each addition waits for the one before. Adjoints are sums whose order nobody wrote; so are the sums of
densities. Sums that the user wrote keep their order. Only innermost loops of assignments change, because LLVM
vectorises no others.

Ref: Muchnick (1997), section 12.3.1.
"""

import ast
from collections.abc import Set

from contad.engines.source.ir.syntax import statement
from contad.engines.source.ir.tree_queries import CONVERSIONS, called_name, names_of, nodes_in, walk_statements

_VECTORISED = {"abs", "float", "masked_product", "masked_slope", "select", "larger", "math.sqrt", *CONVERSIONS}
_FORMULA = "value_"  # the prefix of formulas, which LLVM inlines


def reassociate(function: ast.FunctionDef, sums: Set[str]) -> ast.FunctionDef:
    """A function whose innermost loops add to `sums` in any order."""
    for loop in walk_statements(function.body):
        if isinstance(loop, ast.For) and all(map(_is_plain, loop.body)):
            loop.body = [_reorder(s, loop.body, sums) for s in loop.body]
    return function


def _is_plain(s: ast.stmt) -> bool:
    """Whether LLVM may vectorise a statement."""
    calls = {called_name(x) for x in nodes_in(s) if isinstance(x, ast.Call)} - _VECTORISED
    return isinstance(s, (ast.Assign, ast.AugAssign)) and all(x.startswith(_FORMULA) for x in calls)


def _reorder(s: ast.stmt, body: list[ast.stmt], sums: Set[str]) -> ast.stmt:
    """The same addition in any order, if it is one to a sum that nothing else in the loop reads or writes."""
    if not isinstance(s, ast.AugAssign) or not isinstance(s.target, ast.Name) or s.target.id not in sums:
        return s
    x = s.target.id
    if x in names_of(s.value) or any(x in names_of(other) for other in body if other is not s):
        return s
    if not isinstance(s.op, (ast.Add, ast.Sub)):
        return s
    term = s.value if isinstance(s.op, ast.Add) else ast.UnaryOp(ast.USub(), s.value)
    return statement("x = add_freely(x, term)", x=x, term=term)
