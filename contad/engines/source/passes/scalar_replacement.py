"""Scalar replacement across iterations: a loop carries the adjoints of neighbours in scalars, and writes each once.

    for i in range(n):                     x_bar_here = 0.0
        x_bar[i] += s                      for i in range(n):
        x_bar[i + 1] += t          ->          x_bar_here += s
                                               x_bar_next = t
                                               x_bar[i] = x_bar_here
                                               x_bar_here = x_bar_next
                                           if 0 < n:
                                               x_bar[n] = x_bar_here

An element that one iteration writes and the next one reads makes the processor wait, and prevents vectorisation. The
order of additions does not change. The pass applies to loops that access the array only by such unconditional
additions. It carries two neighbours only if the array is zero before the loop, except for the addition of a peeled
iteration to the first one: nothing is gained otherwise.

Ref: Callahan, Carr & Kennedy (1990), "Improving register allocation for subscripted variables"; Allen & Kennedy (2001),
section 8.3.
"""

import ast
import itertools
from typing import NamedTuple

from contad.engines.source.ir.ssa import FLOAT, Kind
from contad.engines.source.ir.syntax import clone, expression, splice, statement, statements
from contad.engines.source.ir.tree_queries import (
    called_name,
    integer_of,
    is_name,
    is_number,
    names_of,
    nodes_in,
    note_of,
    same,
    walk_statements,
)
from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes.dead_stores import Zeros, find_zeros, store_instead
from contad.engines.source.passes.dependence import (
    LEAVES,
    MAKERS,
    added_to,
    bounds_of,
    indices_of,
    offset_of,
    touches_only,
)
from contad.engines.source.passes.equal_lengths import EqualLengths
from contad.engines.source.passes.liveness import names_assigned, names_read

VECTOR = Kind("float", 1)
MOST_CARRIED = 3  # carried scalars


class _StencilLoop(NamedTuple):
    """A loop that counts up from a constant: its array, and the statements that add to it, by offset."""

    node: ast.For
    name: str
    counter: str
    first: int
    end: ast.expr
    added: list[tuple[ast.AugAssign, int]]
    behind: int  # the least offset
    ahead: int  # the greatest offset


class _HeldBefore(NamedTuple):
    """The zeros of an array before a loop, from the last element of its first iteration on."""

    zeros: Zeros | None  # None if they fill an array of the caller
    alone: ast.If | None  # a peeled iteration that has accessed the element before that one
    add: ast.AugAssign | None  # its first access, if that is an addition


def replace_by_scalars(function: ast.FunctionDef, table: NameTable) -> None:
    """Apply scalar replacement to the loops of a function."""
    made = {s.targets[0].id: s for s in function.body if _makes_vector(s, table)}  # type: ignore[attr-defined]
    loops = [s for s in walk_statements(function.body) if made and isinstance(s, ast.For)]
    shared = {x for s in loops if called_name(s.iter) == "prange" for x in walk_statements([s])}  # only additions
    pairs = [(x, name) for x in loops if x not in shared for name in sorted({*map(added_to, x.body)} & made.keys())]
    found = [loop for x, name in pairs if (loop := _find(x, name, function, table)) is not None]
    if not found:
        return
    lengths = EqualLengths(function)
    instead: dict[ast.stmt, list[ast.stmt]] = {}
    for loop in found:
        before, reach = _zeros_before(made[loop.name], function, loop), loop.ahead - loop.behind
        if len(lengths.assigned[loop.name]) != 1 or (before is None and reach < 2):
            continue
        is_whole = before is not None and _is_whole(loop, before, lengths)
        if is_whole:
            before.zeros.leave_empty()  # type: ignore[union-attr]
            if before.add is not None:  # type: ignore[union-attr]
                instead[before.add] = [store_instead(before.add)]  # type: ignore[union-attr]
        names = [table.fresh(f"{loop.name}_{part}") for part in ("here", *["then"] * (reach - 1), "next")]
        table.add(FLOAT, names)
        _write(loop, names, instead, before, is_whole)
    splice(function.body, instead)


def _makes_vector(s: ast.stmt, table: NameTable) -> bool:
    """Whether a statement creates an array of numbers with one axis."""
    if not isinstance(s, ast.Assign) or called_name(s.value) not in (*MAKERS, "fill_with_zeros"):
        return False
    return isinstance(s.targets[0], ast.Name) and table.kinds.get(s.targets[0].id) == VECTOR


def _find(node: ast.For, name: str, function: ast.FunctionDef, table: NameTable) -> _StencilLoop | None:
    """The loop, if it may carry the neighbours of this array; else None."""
    bounds = bounds_of(node)
    if bounds is None or bounds.step != 1 or any(isinstance(x, (*LEAVES, ast.Try)) for x in walk_statements([node])):
        return None
    first, end = integer_of(bounds.start), clone(bounds.stop)
    changed, counter = names_assigned(node.body), node.target.id  # type: ignore[attr-defined]
    if first is None or first < 0 or counter in changed or names_read(end) & changed:
        return None
    added: list[tuple[ast.AugAssign, int]] = []
    for s in node.body:
        if name not in names_of(s):
            continue
        if added_to(s) != name:
            return None
        assert isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Subscript)
        indices = indices_of(s.target)
        offset = offset_of(indices[0], counter) if len(indices) == 1 else None
        if offset is None or name in names_of(s.value):
            return None
        added.append((s, offset))
    behind, ahead = (choose(offset for _, offset in added) for choose in (min, max))
    if not 1 <= ahead - behind <= MOST_CARRIED or first + behind < 0:  # negative indices count from the end
        return None
    if _others_of(function, name, table) & {x for s in node.body for x in names_of(s)}:
        return None
    return _StencilLoop(node, name, counter, first, end, added, behind, ahead)


def _others_of(function: ast.FunctionDef, name: str, table: NameTable) -> set[str]:
    """Other names that may refer to the memory of this array."""
    own = table.roots.get(name, frozenset((name,)))
    found = {other for other, roots in table.roots.items() if other != name and roots & own}
    ahead = {name}
    while ahead:
        known = ahead.pop()
        for s in walk_statements(function.body):
            if isinstance(s, ast.Assign) and not _reads_elements(s.value, known):
                ahead |= names_assigned(s.targets) - found - {name}
                found |= names_assigned(s.targets) - {name}
    return found


def _reads_elements(value: ast.expr, name: str) -> bool:
    """Whether an expression uses an array, if at all, only to read its elements or its shape."""
    inside = [
        x.value for x in nodes_in(value)
        if (isinstance(x, ast.Subscript) and not any(isinstance(y, ast.Slice) for y in indices_of(x)))
        or (isinstance(x, ast.Attribute) and x.attr in ("shape", "size"))
    ]  # fmt: skip
    return all(x in inside for x in nodes_in(value) if is_name(x, name))


def _zeros_before(made: ast.stmt, function: ast.FunctionDef, loop: _StencilLoop) -> _HeldBefore | None:
    """The zeros of an array, if the loop is the first to access it except for a peeled iteration; else None."""
    zeros, name = find_zeros(made), loop.name
    if zeros is None and (called_name(made.value) != "fill_with_zeros" or note_of(made)):  # type: ignore[attr-defined]
        return None
    later = function.body[function.body.index(made) + 1 :]
    alone, *others = [s for s in later if name in names_of(s)]
    if alone is loop.node:
        return _HeldBefore(zeros, None, None)
    if not isinstance(alone, ast.If) or alone.orelse or others[:1] != [loop.node] or loop.ahead - loop.behind != 1:
        return None
    if not same(alone.body[0], statement("i = k", i=loop.counter, k=loop.first + loop.behind)):
        return None
    touching = [s for s in alone.body if name in names_of(s)]
    is_there = all(touches_only(s, name, [loop.counter]) for s in touching)
    if not touching or not is_there or loop.counter in names_assigned(alone.body[1:]):
        return None
    add = touching[0]
    adds = isinstance(add, ast.AugAssign) and isinstance(add.op, ast.Add) and name not in names_of(add.value)
    return _HeldBefore(zeros, alone, add if adds and added_to(add) == name else None)  # type: ignore[arg-type]


def _is_whole(loop: _StencilLoop, before: _HeldBefore, lengths: EqualLengths) -> bool:
    """Whether the loop, if it runs, writes all elements of the array; if it does not run, the code before it does."""
    zeros, alone, end = before.zeros, before.alone, loop.end
    if zeros is None or loop.first + loop.behind != 0 or not isinstance(end, ast.Name):
        return False
    if alone is not None and not (
        loop.behind == -1 and before.add is not None and same(alone.test, expression("0 < n", n=end))
    ):
        return False
    if isinstance(zeros.shape, ast.Tuple) and len(zeros.shape.elts) != 1:
        return False
    made = lengths.assigned[end.id]
    if len(made) != 1 or not isinstance(made[0], ast.Assign) or made[0] not in lengths.body or end.id in lengths.given:
        return False
    base: ast.expr = end
    if loop.ahead:
        base = made[0].value
        if not isinstance(base, ast.BinOp) or not isinstance(base.op, ast.Sub) or not is_number(base.right, loop.ahead):
            return False
        base = base.left
    length = zeros.length(0)
    return lengths.stays(length) and lengths.are_equal(base, length, loop.node)


def _write(
    loop: _StencilLoop, names: list[str], instead: dict[ast.stmt, list[ast.stmt]], before: _HeldBefore | None,
    is_whole: bool,
) -> None:  # fmt: skip
    """Write the new loop. Unless the array is known to be zero before the loop, the loop reads its elements."""
    is_zero = before is not None and before.alone is None
    runs = expression("first < end", first=loop.first, end=loop.end)
    begun: list[ast.stmt] = []
    ended: list[ast.stmt] = []
    for k, x in enumerate(names[:-1], loop.behind):
        held = expression("a[k] if runs else 0.0", a=loop.name, k=loop.first + k, runs=runs)
        begun += statements("x = held", x=x, held=0.0 if is_zero else held)
        ended += statements("a[end] = x", a=loop.name, end=_shift(loop.end, k), x=x)
    end = statement("if runs: pass", runs=runs)
    end.body = ended
    if is_whole and is_zero:
        end.orelse = statements("a[:] = 0.0", a=loop.name)
    parts = instead.get(loop.node, [loop.node])
    place = parts.index(loop.node)
    instead[loop.node] = [*parts[:place], *begun, loop.node, end, *parts[place + 1 :]]
    newest = next(s for s, offset in loop.added if offset == loop.ahead)
    for s, offset in loop.added:
        x, value = names[offset - loop.behind], s.value
        if s is not newest:
            made = statement("x += value", x=x, value=value)
            made.op = s.op
        elif before is None:
            held = expression("a[i]", a=loop.name, i=indices_of(s.target)[0])  # type: ignore[arg-type]
            made = statement("x = value", x=x, value=ast.BinOp(held, s.op, value))
        else:
            made = statement("x = value" if isinstance(s.op, ast.Add) else "x = -value", x=x, value=value)
        made.note = note_of(s)
        instead[s] = [made]
    written = instead[loop.added[-1][0]]
    written += statements("a[i] = x", a=loop.name, i=_shift(expression("i", i=loop.counter), loop.behind), x=names[0])
    for x, following in itertools.pairwise(names):
        written += statements("x = y", x=x, y=following)


def _shift(index: ast.expr, offset: int) -> ast.expr:
    """An index plus an offset."""
    return expression("i + k" if offset > 0 else "i - k", i=index, k=abs(offset)) if offset else index
