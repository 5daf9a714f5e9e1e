"""Adjoints of earlier rows, to which a loop adds a multiple of its own row, wait for three rows more.

    for i in range(n - 1, -1, -1):           weights = np.zeros((4, n))
        for j in range(i, -1, -1):           for i in range(n - 1, -1, -1):
            d = z_bar[i, j] / z[j, j]            first = first_of_four(i, z_bar, weights, z)
            z_bar[i, j] = 0.0                    for j in range(i, -1, -1):
            for k in range(j):                       d = z_bar[i, j] / z[j, j]
                z_bar[i, k] -= d * z[j, k]    ->     z_bar[i, j] = 0.0
                z_bar[j, k] -= d * z[i, k]           if 0 <= j < first:
                                                         weights[i - first, j] = -d
                                                         for k in range(j):
                                                             z_bar[i, k] -= d * z[j, k]
                                                     else:
                                                         (the loop as it was)
                                                 if i == first:
                                                     add_late_rows(z_bar, weights, z, first)

Every row of such a nest reads and writes a matrix that only the second cache holds, which is what it waits for. Rows
before the four of row i are not asked for until these are done: in the loop over i, elements of z_bar are added to, or
they are of row i. Nothing else changes its order. (A product may be `chain(d, z[i, k])`.)
"""

import ast
import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from contad.engines.source.writing.array_accesses import indices_of
from contad.engines.source.writing.first_writes import write_zeros
from contad.engines.source.writing.live_names import LiveNames, names_assigned, names_read
from contad.engines.source.writing.loop_statements import RAISED, is_pure
from contad.engines.source.writing.row_parts import is_straight

_TOGETHER = 4
_SHORTEST = 80  # rows, from which on that is less work
_CALLED = {RAISED, "grow", "integer"}  # besides what is pure: no array but the workspace is at stake
_SUMS = (ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.UnaryOp, ast.USub)
_WEIGHTS = (ast.Name, ast.Constant, *_SUMS, ast.expr_context)  # what raises nothing where there is no element
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.Raise, ast.Pass)


class Matrices(NamedTuple):
    """What the text does not tell of names."""

    matrices: frozenset[str]  # arrays of float64 with two axes
    adjoints: frozenset[str]  # the adjoints of such arrays, which are sums in any order
    roots: Mapping[str, frozenset[str]]  # of arrays: the memory that they may be


class _LateRow(NamedTuple):
    """A nest of loops over i, j and k, without the statement that waits: z_bar[j, k] += weight * z[i, k]."""

    outer: ast.For
    inner: ast.For
    row: str  # i
    earlier: str  # j
    target: str  # z_bar
    source: str  # z
    weight: str
    kept: list[ast.stmt]  # what the loop over k still does


def defer_rows(lines: list[str], facts: Matrices, fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, its head first, with rows that wait."""
    if not any(re.search(r"\[\w+, \w+\] [+-]= ", line) for line in lines):
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    if any(isinstance(x, ast.Try) for x in ast.walk(function)):
        return lines
    live = LiveNames(function.body)
    loops = [s for s in function.body if isinstance(s, ast.For)]
    found = list(lines)
    for late in reversed([late for loop in loops if (late := _find(loop, facts, live)) is not None]):
        _write(late, found, fresh)
    return found


# ---- the proof -------------------------------------------------------------------------------------------------------
def _find(outer: ast.For, facts: Matrices, live: LiveNames) -> _LateRow | None:
    """The nest of a loop over rows that counts down, if one of its statements may wait."""
    if not _counts_down(outer) or not all(map(_is_plain, _walk(outer.body))):
        return None
    for middle in (s for s in outer.body if isinstance(s, ast.For)):
        for inner in (s for s in middle.body if isinstance(s, ast.For)):
            if not isinstance(middle.target, ast.Name) or not isinstance(inner.target, ast.Name):
                continue
            if not ast.unparse(middle.iter).startswith("range("):  # which has no number twice
                continue
            if ast.unparse(inner.iter) != f"range({middle.target.id})" or not all(map(is_straight, inner.body)):
                continue
            if names_assigned([inner]) & live.after[inner]:
                continue
            for s in inner.body:
                late = _split(outer, middle, inner, s)
                if late is not None and _may_wait(late, s, facts):
                    return late
    return None


def _counts_down(outer: ast.For) -> bool:
    """Whether a loop is over a range with the step -1, whose ends and index it leaves as they are."""
    call = outer.iter
    if not isinstance(outer.target, ast.Name) or not isinstance(call, ast.Call) or ast.unparse(call.func) != "range":
        return False
    if len(call.args) != 3 or ast.unparse(call.args[2]) != "-1":
        return False
    return not (names_read(call) | {outer.target.id}) & names_assigned(outer.body)


def _walk(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    return (x for s in statements for x in ast.walk(s))


def _is_plain(node: ast.AST) -> bool:
    """Whether a node, whatever it has in it, goes on to the next statement, and calls nothing that touches an array."""
    if isinstance(node, ast.stmt):
        return isinstance(node, _STATEMENTS) and not (isinstance(node, ast.For) and node.orelse)
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        return called in _CALLED or is_pure(called)
    return not isinstance(node, (ast.Slice, ast.Lambda, ast.NamedExpr, ast.Starred))


def _split(outer: ast.For, middle: ast.For, inner: ast.For, late: ast.stmt) -> _LateRow | None:
    """A nest with a statement of its innermost loop taken out, by how it is written; None where it is another one."""
    assert isinstance(outer.target, ast.Name) and isinstance(middle.target, ast.Name)
    assert isinstance(inner.target, ast.Name)
    i, j, k = outer.target.id, middle.target.id, inner.target.id
    if len({i, j, k}) < 3 or j in names_assigned(middle.body) or k in names_assigned(inner.body):
        return None
    if not isinstance(late, ast.AugAssign) or not isinstance(late.op, (ast.Add, ast.Sub)):
        return None
    made: dict[str, ast.expr] = {}
    for s in inner.body:
        if isinstance(s, ast.Assign):
            if len(s.targets) != 1 or not isinstance(s.targets[0], ast.Name) or s.targets[0].id in made:
                return None
            if names_read(s.value) & (names_assigned(inner.body) - made.keys()):  # of the iteration before
                return None
            made[s.targets[0].id] = _Inlined(made).visit(copy.deepcopy(s.value))
        elif not isinstance(s, ast.AugAssign) or not isinstance(s.target, ast.Subscript):
            return None
    value = _Inlined(made).visit(copy.deepcopy(late.value))
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        weight, element = value.left, value.right
    elif isinstance(value, ast.Call) and ast.unparse(value.func) == "chain":
        weight, element = value.args
    else:
        return None
    target, source = _element(late.target, j, k), _element(element, i, k)
    if not target or not source or not all(isinstance(x, _WEIGHTS) for x in ast.walk(weight)):
        return None
    if names_read(weight) & names_assigned([inner]):
        return None
    signed = weight if isinstance(late.op, ast.Add) else ast.UnaryOp(ast.USub(), weight)
    return _LateRow(outer, inner, i, j, target, source, ast.unparse(signed), _without(inner.body, late))


class _Inlined(ast.NodeTransformer):
    """An expression with others in the place of names."""

    def __init__(self, made: dict[str, ast.expr]) -> None:
        self.made = made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """What a name stands for."""
        return copy.deepcopy(self.made.get(node.id, node))


def _element(node: ast.expr, row: str, column: str) -> str:
    """The array of which a node is the element at these indices; "" where it is something else."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return ""
    return node.value.id if list(map(ast.unparse, indices_of(node))) == [row, column] else ""


def _without(body: list[ast.stmt], late: ast.stmt) -> list[ast.stmt]:
    """Statements without one of them, and without what only that one reads."""
    kept: list[ast.stmt] = []
    needed: set[str] = set()
    for s in reversed(body):
        if s is late or (isinstance(s, ast.Assign) and not names_assigned([s]) & needed):
            continue
        needed |= names_read(s)
        kept.insert(0, s)
    return kept


def _may_wait(late: _LateRow, statement: ast.AugAssign | ast.stmt, facts: Matrices) -> bool:
    """Whether nothing in the loop over rows reads or replaces what waits, or writes what that reads."""
    target, source = facts.roots.get(late.target), facts.roots.get(late.source)
    if target is None or source is None or target & source or late.target not in facts.adjoints:
        return False
    if late.source not in facts.matrices:
        return False
    if names_assigned([late.outer]) & {late.target, late.source}:
        return False
    assert isinstance(statement, ast.AugAssign)
    added = [s.target for s in _walk(late.outer.body) if isinstance(s, ast.AugAssign) and _adds(s)]
    whole = {x.value for x in _walk(late.outer.body) if isinstance(x, ast.Subscript)}
    for node in _walk(late.outer.body):
        if isinstance(node, ast.Name) and node not in whole and facts.roots.get(node.id, frozenset()) & target:
            return False  # all of an array
        if not isinstance(node, ast.Subscript) or node is statement.target or _is_length(node):
            continue
        roots = facts.roots.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if roots is None:
            return False
        if roots & source and not isinstance(node.ctx, ast.Load):
            return False
        if roots & target and node not in added and not _is_of_row(node, late):
            return False
    return True


def _is_length(node: ast.Subscript) -> bool:
    """Whether a node is a length of an array, and none of its elements."""
    return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"


def _adds(s: ast.AugAssign) -> bool:
    """Whether a statement adds to an element: the order of sums is free."""
    return isinstance(s.op, (ast.Add, ast.Sub)) and isinstance(s.target, ast.Subscript)


def _is_of_row(node: ast.Subscript, late: _LateRow) -> bool:
    """Whether an element is of the row of the outer loop, which is not one of those before the four."""
    indices = list(map(ast.unparse, indices_of(node)))
    return ast.unparse(node.value) == late.target and len(indices) == 2 and indices[0] == late.row


# ---- as text ---------------------------------------------------------------------------------------------------------
def _write(late: _LateRow, lines: list[str], fresh: Callable[[str], str]) -> None:
    """Write a nest so, in these lines."""
    outer, inner = late.outer, late.inner
    assert isinstance(outer.iter, ast.Call) and isinstance(inner.target, ast.Name)
    stop, rows = ast.unparse(outer.iter.args[1]), _count_rows(outer.iter.args[0])
    weights, first, waits = map(fresh, ("weights", "first", "waits"))
    made = write_zeros(f"({_TOGETHER}, {rows} if {waits} else 0)", lines)
    around, within, deep = (" " * x for x in (outer.col_offset, outer.body[0].col_offset, inner.col_offset))
    given = f"{late.target}, {weights}, {late.source}"
    end = first if stop == "-1" else f"max({first}, ({stop}) + 1)"
    assert inner.end_lineno is not None and outer.end_lineno is not None
    lines.insert(outer.end_lineno, f"{within}if {late.row} == {end}:")
    lines.insert(outer.end_lineno + 1, f"{within}    add_late_rows({given}, {first})")
    begin, behind = inner.lineno - 1, inner.end_lineno
    whole, head = ["    " + line for line in lines[begin:behind]], lines[begin].strip()
    kept = [f"{deep}    {head}", *(f"{deep}        {ast.unparse(s)}" for s in late.kept)] if late.kept else []
    lines[begin:behind] = [
        f"{deep}if 0 <= {late.earlier} < {first}:",
        f"{deep}    {weights}[{late.row} - {first}, {late.earlier}] = {late.weight}",
        *kept,
        f"{deep}else:",
        *whole,
    ]
    lines.insert(outer.lineno, f"{within}{first} = first_of_four({late.row}, {given}) if {waits} else 0")
    lines.insert(outer.lineno - 1, f"{around}{weights} = {made}")
    lines.insert(outer.lineno - 1, f"{around}{waits} = {rows} >= {_SHORTEST}")


def _count_rows(start: ast.expr) -> str:
    """One more than the row with which a loop starts."""
    if isinstance(start, ast.BinOp) and isinstance(start.op, ast.Sub) and ast.unparse(start.right) == "1":
        return ast.unparse(start.left)
    return f"({ast.unparse(start)}) + 1"
