"""Loop collapsing: computes the functions of two nested loops along one row, because inner loops may be short.

    for s in range(n):                     for block in range(0, n, wide):
        total = 0.0                            for at in range(count):
        for r in range(m):                         for r in range(m):
            t = math.exp(a[r] + b[s, r])               exp_of_rows[at * m + r] = a[r] + b[s, r]
            total += t             ->          exp_rows(exp_of_rows, t_rows, count * m)
        x[s] = total                           for at in range(count):
                                                   total = 0.0
                                                   for r in range(m):
                                                       total += t_rows[at * m + r]
                                                   x[s] = total

The first part computes arguments, for some iterations; then the functions run; then the rest follows in its order. So
the first part must only write numbers, and must not read anything that the rest writes. If arrays may alias, the loop
tests that when it begins. (Collapsing merges nested loops: Bacon, Graham & Sharp 1994, section 6.3. Here it merges only
the functions in them.)
"""

import ast
from collections.abc import Callable
from typing import NamedTuple

from contad.engines.source.ir.tree_queries import called_name, dotted_name, names_of, nodes_in
from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes.dependence import LoopStatements
from contad.engines.source.passes.fission import LoopParts, Plain, find_parts
from contad.engines.source.passes.liveness import Names, exposed_names, names_assigned

MOST = 1000  # the most that an iteration may add to an integer, which then practically never reaches 2^53
STORED = "put_integer()"  # instead of a name, for integers in the workspace


class NestParts(NamedTuple):
    """The parts of a loop around an inner loop that calls functions."""

    inner: ast.For
    length: ast.expr  # of the inner loop
    ahead: list[ast.stmt]  # statements of the outer loop that arguments need
    floats: list[str]  # names from `ahead` that the rest reads
    integers: list[str]  # the same for integers
    rest: list[ast.stmt]  # the other statements of the outer loop, including the inner loop
    parts: LoopParts  # of the inner loop
    apart: list[tuple[str, str]]  # arrays that must not share memory

    @property
    def functions(self) -> set[str]:
        """The functions that run along rows."""
        return self.parts.functions

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.parts.size + len(self.floats) + len(self.integers)


class OuterBody(LoopStatements):
    """The statements of an outer loop; notes the pairs of arrays that it assumes to be different."""

    def __init__(self, loop: ast.For, names: NameTable) -> None:
        """Analyse the outer loop."""
        self.apart: dict[tuple[str, str], None] = {}
        super().__init__(loop, names)

    def is_still(self, array: str) -> bool:
        """Whether the loop does not write an array, provided that arrays that may alias do not."""
        if super().is_still(array):
            return True
        if array not in self.roots or array in self.writers or "" in self.stores:
            return False
        met = sorted(x for x in self.stored if self.roots[x] & self.roots[array])
        if array in met or any(x in self.writers for x in met):
            return False
        self.apart.update(dict.fromkeys((array, x) for x in met))
        return True


def find_nest(
    outer: OuterBody, inner: ast.For, body: LoopStatements, integers: set[str], live: Names,
    fresh: Callable[[str], str],
) -> NestParts | None:
    """The parts of a nest, from its outer and inner loops; None if its first part may not run ahead.

    `integers` are the names of integers, `live` those that are live after the loop.
    """
    if not outer.runs_to_its_end or names_of(inner.iter) & {*outer.writers, outer.index}:
        return None
    parts = find_parts(body, fresh, False)
    if parts is None or parts.entering or not all(map(outer.is_movable, parts.before)):
        return None
    between = {x for line in parts.lines if isinstance(line, Plain) for x in names_of(line.expression)}
    if between - set(parts.rows) & {*outer.writers, outer.index}:
        return None
    counter = {inner.target.id}  # type: ignore[attr-defined]
    needed = (exposed_names(parts.before) | set(parts.given) - names_assigned(parts.before)) - counter
    needed &= outer.writers.keys()
    if any(max(outer.writers[name]) > outer.statements.index(inner) for name in needed):  # a previous iteration's
        return None
    moved = outer.closure(needed)
    if moved is None or not _are_own(parts, inner, outer, live):
        return None
    made = names_assigned([outer.statements[k] for k in moved])
    leaving: set[str] = set()
    for k, s in enumerate(outer.statements):
        if k in moved:
            continue
        items = [item for item in parts.after if isinstance(item, ast.stmt)] if s is inner else [s]
        read = {x for item in items for x in exposed_names([item])}
        for name in read & made:  # only moved statements before k may write it
            if k < max(outer.writers[name]) or not moved.issuperset(outer.writers[name]):
                return None
        leaving |= read & made
    ahead = [outer.statements[k] for k in sorted(moved)]
    if not leaving <= outer.floats | integers:
        return None
    return NestParts(
        inner, inner.iter.args[0], ahead,  # type: ignore[attr-defined]
        sorted(leaving & outer.floats),
        sorted(leaving - outer.floats), [s for k, s in enumerate(outer.statements) if k not in moved], parts,
        list(outer.apart),
    )  # fmt: skip


def find_inner(loop: ast.For, is_calling: Callable[[ast.stmt], bool]) -> ast.For | None:
    """The only inner loop that calls functions, if it runs over 0, ..., m - 1 and calls them at its top level."""
    found = [s for s in loop.body if not isinstance(s, (ast.Assign, ast.AugAssign)) and is_calling(s)]
    if len(found) != 1 or not isinstance(found[0], ast.For):
        return None
    inner = found[0]
    over = inner.iter
    if not (isinstance(over, ast.Call) and called_name(over) == "range" and len(over.args) == 1):
        return None
    return inner if isinstance(inner.target, ast.Name) and not inner.orelse and not loop.orelse else None


def _are_own(parts: LoopParts, inner: ast.For, outer: LoopStatements, live: Names) -> bool:
    """Whether only the first part of the inner loop reads its names, or the second part computes them again."""
    again = names_assigned([x for x in parts.after if isinstance(x, ast.stmt)]) | set(parts.read)
    again |= {x for x in parts.after if isinstance(x, str)}
    lost = names_assigned(parts.before) - again
    return not lost & live and not any(lost & exposed_names([s]) for s in outer.statements if s is not inner)


def find_integers(function: ast.FunctionDef) -> set[str]:
    """Names that always hold integers that a float represents exactly."""
    values: dict[str, list[ast.expr | None]] = {}
    for s in nodes_in(function):
        if isinstance(s, ast.For) and isinstance(s.target, ast.Name):
            values.setdefault(s.target.id, []).append(ast.Constant(0) if called_name(s.iter) == "range" else None)
        elif isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
            values.setdefault(s.targets[0].id, []).append(s.value)
        elif isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Tuple) and isinstance(s.value, ast.Tuple):
            for target, value in zip(s.targets[0].elts, s.value.elts, strict=True):
                values.setdefault(dotted_name(target), []).append(value)
        elif isinstance(s, (ast.Assign, ast.AugAssign, ast.For)):
            for name in names_assigned([s]):
                values.setdefault(name, []).append(None)
        elif isinstance(s, ast.Call) and called_name(s) == "put_integer":
            values.setdefault(STORED, []).append(s.args[-1])
    found = values.keys() - {x.arg for x in function.args.args}
    while lost := {name for name in found if not all(_is_integer(value, found) for value in values[name])}:
        found = found - lost
    return set(found) - {STORED}


def _is_integer(value: ast.expr | None, known: set[str]) -> bool:
    """Whether an expression is such an integer, if these names are: it may differ from one of them by a constant."""
    if isinstance(value, ast.Constant):
        return type(value.value) is int and value.value <= MOST
    if isinstance(value, ast.Name):
        return value.id in known
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.USub) and _is_integer(value.operand, known)
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        return isinstance(value.right, ast.Constant) and all(_is_integer(x, known) for x in (value.left, value.right))
    if isinstance(value, ast.Call):
        if called_name(value) == "integer":
            return STORED in known
        return called_name(value) == "select" and all(_is_integer(x, known) for x in value.args[1:])
    return False
