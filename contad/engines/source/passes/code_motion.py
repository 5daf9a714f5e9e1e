"""Loop-invariant code motion: computes loop-invariant numbers before the loop.

    for i in range(n):                     t = math.log(s)
        t = math.log(s)             ->     for i in range(n):
        total += x[i] * t                      total += x[i] * t

It moves only given names: those of the lines of formulas. One statement without side effects assigns each, so it may
be computed for a loop that does not run.

Ref: Muchnick (1997), section 13.2; Allen & Kennedy (2001), section 4.5.
"""

import ast
from collections.abc import Set

from contad.engines.source.ir.tree_queries import names_of, nodes_in
from contad.engines.source.passes.liveness import names_assigned


def hoist_invariants(function: ast.FunctionDef, names: Set[str]) -> ast.FunctionDef:
    """A function with the assignments of `names` moved before the loops in which they are invariant."""
    if names:
        _visit(function.body, names)
    return function


def _visit(body: list[ast.stmt], names: Set[str]) -> bool:
    """Move invariant assignments of loops in a body before them; True if any moved."""
    k, moved_any = 0, False
    while k < len(body):
        s = body[k]
        if isinstance(s, ast.For):
            moved = _take(s, names)
            while _visit(s.body, names):
                moved += _take(s, names)
            body[k:k] = moved
            k += len(moved)
            moved_any |= bool(moved)
        elif isinstance(s, (ast.If, ast.While)):
            _visit(s.body, names)
            _visit(s.orelse, names)
        k += 1
    return moved_any


def _take(loop: ast.For, names: Set[str]) -> list[ast.stmt]:
    """Remove the invariant assignments from the body of a loop, and return them."""
    assigned = set(names_assigned([loop]))
    moved: list[ast.stmt] = []
    for s in loop.body:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id in names:
            reads_array = any(isinstance(x, ast.Subscript) for x in nodes_in(s.value))
            if not reads_array and not assigned & {*names_of(s.value)}:
                assigned.discard(s.targets[0].id)
                moved.append(s)
    loop.body = [s for s in loop.body if s not in moved] or [ast.Pass()]
    return moved
