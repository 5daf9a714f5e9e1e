"""Scalar renaming: what straight-line code assigns again and again gets a name for each value, as in static single
assignment.

Numba rewrites the whole function once for every name that is assigned more than once, so that the time it takes to
compile a long one would grow with the square of its length.
"""

import ast
from collections import Counter

from contad.engines.source.ir.name_table import NameTable
from contad.engines.source.ir.syntax import names_in, note_of, statement, walk_statements
from contad.engines.source.passes.liveness import names_assigned

LONG = 100  # statements; shorter functions are left as they read best


def rename_scalars(function: ast.FunctionDef, names: NameTable) -> None:
    """Write `x_2 = x + ...` in place of `x += ...` where no branch or loop assigns x, a number."""
    if sum(1 for _ in walk_statements(function.body)) <= LONG:
        return
    renamed = _assigned_again(function.body) & names.numbers
    if renamed:
        versions = _Versions(renamed, names)
        function.body = [versions.rename(s) for s in function.body]


def _assigned_again(body: list[ast.stmt]) -> set[str]:
    """The names that are assigned more than once, at first not by `+=`, and never in a branch or a loop."""
    assigned: Counter[str] = Counter()
    inside: set[str] = set()
    for s in body:
        targets = names_assigned([s])
        starts = isinstance(s, ast.AugAssign) and not assigned.keys() & targets
        if starts or not isinstance(s, (ast.Assign, ast.AugAssign)):
            inside.update(targets)
        assigned.update(targets)
    return {name for name, count in assigned.items() if count > 1} - inside


class _Versions(ast.NodeTransformer):
    """Gives names what they are called now."""

    def __init__(self, names: set[str], table: NameTable) -> None:
        self.names, self.table = names, table
        self.current: dict[str, str] = {}

    def rename(self, s: ast.stmt) -> ast.stmt:
        """A statement of the body of the function, by the names as they are before it."""
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name) and s.target.id in self.names:
            before = ast.Name(s.target.id, ast.Load())
            made: ast.Assign = statement("x = value", x=s.target.id, value=ast.BinOp(before, s.op, s.value))
            made.note = note_of(s)  # type: ignore[attr-defined]
            s = made
        if not isinstance(s, ast.Assign):
            return self.visit(s)
        s.value = self.visit(s.value)
        for target in s.targets:
            for x in names_in(target):
                if isinstance(x.ctx, ast.Store) and x.id in self.names:
                    self.current[x.id] = self._next(x.id) if x.id in self.current else x.id
            self.visit(target)
        return s

    def _next(self, name: str) -> str:
        """A name for another value."""
        made = self.table.fresh(name)
        self.table.add(self.table.kinds[name], [made])
        return made

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.current.get(node.id, node.id)
        return node
