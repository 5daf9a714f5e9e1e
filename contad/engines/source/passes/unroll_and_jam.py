"""Unroll-and-jam: four neighbouring iterations of a loop of a triangle add up the sums that they wait for together.

    for j in range(n):                         for four in range(0, n, 4):
        entry = a[i, j]                            last = min(four + 4, n)
        for k in range(j):                         begun = 0
            entry -= l[i, k] * l[j, k]             for j in range(four, last):
        l[i, j] = entry / l[j, j]      ->              entry = a[i, j]
                                                       sums[j - four] = entry
                                                   if last - four == 4 and four >= 8:
                                                       (the four sums, for k in range(four))
                                                       begun = four
                                                   for j in range(four, last):
                                                       entry = sums[j - four]
                                                       for k in range(begun, j):
                                                           entry -= l[i, k] * l[j, k]
                                                       l[i, j] = entry / l[j, j]

An addition has to wait for the one before it, so that one sum after the other leaves the processor idle three quarters
of the time. Terms up to the first of the four read nothing that the four iterations write, so that all of them may be
summed at once; each sum adds its terms in the order in which it did.

Ref: Allen & Kennedy (2001), section 8.4; Bacon, Graham & Sharp (1994), section 6.3.1 (unrolling of an outer loop).
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from contad.engines.source.ir.syntax import (
    called_name,
    clone,
    difference,
    dotted_name,
    expression,
    is_name,
    is_number,
    names_in,
    nodes_in,
    note_of,
    same,
    splice,
    statement,
    statements,
)
from contad.engines.source.passes.dependence import RAISED, WORK, bounds_of, indices_of, is_pure
from contad.engines.source.passes.fission import is_straight
from contad.engines.source.passes.liveness import exposed_names, names_assigned

_TOGETHER = 4
_SHORTEST = 32  # iterations, from which on that is less work
_FEWEST = 8  # terms that are worth it
_KEPT_OUT = {"top", "grow"}  # with these the workspace moves
_Roots: TypeAlias = dict[str, frozenset[str]]  # of arrays: the memory that they may be


class _Nest(NamedTuple):
    """A loop with sums in it."""

    loop: ast.For
    before: list[ast.stmt]
    inner: ast.For
    after: list[ast.stmt]
    again: list[ast.Assign]  # what the sums and the rest read of what comes before, computed twice
    sums: list[str]


def unroll_and_jam(function: ast.FunctionDef, roots: _Roots, fresh: Callable[[str], str]) -> ast.FunctionDef:
    """A function with sums of neighbouring iterations together."""
    made = [s for s in function.body if isinstance(s, ast.Assign) and called_name(s.value) == "new_row"]  # on the stack
    roots = roots | {name: frozenset((name,)) for name in names_assigned(made)}
    nests = [nest for loop in _find_loops(function.body) if (nest := _find_nest(loop, roots)) is not None]
    instead: dict[ast.stmt, list[ast.stmt]] = {}
    rows: list[str] = []
    for nest in reversed(nests):
        names = [fresh(f"{name}_sums") for name in nest.sums]
        rows += names
        instead[nest.loop] = _write(nest, names, fresh)
    if instead:
        splice(function.body, instead)
        function.body[:0] = [s for name in rows for s in statements("row = new_row()", row=name)]
    return function


def _find_loops(statements: Iterable[ast.stmt]) -> Iterator[ast.For]:
    """The loops with one loop in them, which has none."""
    for s in statements:
        if isinstance(s, ast.For):
            inside = [x for x in nodes_in(s) if isinstance(x, (ast.For, ast.While))]
            if len(inside) == 2:
                yield s
            else:
                yield from _find_loops(s.body)
        elif isinstance(s, (ast.If, ast.While)):
            yield from _find_loops([*s.body, *s.orelse])


def _limits(loop: ast.For) -> list[ast.expr]:
    """Where a loop over a range that counts up by one starts and stops; nothing for other loops."""
    bounds = bounds_of(loop)
    is_up = bounds is not None and bounds.step == 1 and called_name(loop.iter) == "range"
    return clone([bounds.start, bounds.stop]) if is_up else []  # type: ignore[union-attr]


def _find_nest(loop: ast.For, roots: _Roots) -> _Nest | None:
    """The parts of a loop whose sums may be added up together; None where they may not."""
    place = next((k for k, s in enumerate(loop.body) if isinstance(s, ast.For)), None)
    if place is None or not _limits(loop):
        return None
    before, inner, after = loop.body[:place], loop.body[place], loop.body[place + 1 :]
    assert isinstance(inner, ast.For) and isinstance(loop.target, ast.Name)
    start, length = _limits(inner) or (None, None)
    adding = [s for s in inner.body if isinstance(s, ast.AugAssign)]
    sums = [s.target.id for s in adding if isinstance(s.target, ast.Name) and isinstance(s.op, (ast.Add, ast.Sub))]
    if not is_number(start, 0) or not sums or len(sums) != len(adding) or not all(map(is_straight, inner.body)):
        return None
    if any(not isinstance(x, ast.Name) for s in inner.body if isinstance(s, ast.Assign) for x in s.targets):
        return None
    once = [name for s in inner.body for name in names_assigned([s])]
    if len(once) != len(set(once)) or any(exposed_names([s]) & set(sums) for s in inner.body if s not in adding):
        return None
    if any(set(sums) & {x.id for x in names_in(s.value)} for s in adding):
        return None
    again = _find_again(before, inner, after, sums)
    if again is None or length is None or not _counts(length, loop.target.id, again, loop):
        return None
    if not _is_quiet([*before, *after]) or not _are_apart([before, inner.body, after], again, inner, length, roots):
        return None
    return _Nest(loop, before, inner, after, again, sums)


def _find_again(
    before: list[ast.stmt], inner: ast.For, after: list[ast.stmt], sums: list[str]
) -> list[ast.Assign] | None:
    """The statements that make what is read after them of what comes before the sums; None where that is not possible.

    They read no number that changes in the loop but its index and each other.
    """
    written = names_assigned(before)
    later = names_assigned([*inner.body, *after])
    own = names_assigned([inner.target]) | names_assigned(inner.body) - set(sums)
    if not set(sums) <= {name for s in before if isinstance(s, (ast.Assign, ast.If)) for name in names_assigned([s])}:
        return None
    entering = exposed_names(before)
    if entering & (written | later):  # carried from iteration to iteration
        return None
    if (written - set(sums)) & later or own & (written | exposed_names(after)):
        return None
    found: dict[str, ast.Assign] = {}
    waiting = sorted((exposed_names([*inner.body, *after, inner]) - own) & (written - set(sums)))
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        makers = [s for s in before if name in names_assigned([s])]
        (maker,) = makers if len(makers) == 1 else (None,)
        if not isinstance(maker, ast.Assign) or not isinstance(maker.targets[0], ast.Name):
            return None
        read = {x.id for x in names_in(maker.value)}
        if read & (later | set(sums)):
            return None
        found[name] = maker
        waiting += sorted(read & written)
    return [s for s in before if s in found.values()]  # type: ignore[misc]


def _counts(length: ast.expr, index: str, again: list[ast.Assign], loop: ast.For) -> bool:
    """Whether a length is the index of a loop, or something that does not change in it and the index."""
    if is_name(length, index):
        return True
    maker = next((s for s in again if same(s.targets[0], length)), None)
    sum_ = maker.value if maker is not None else None
    if not isinstance(sum_, ast.BinOp) or not isinstance(sum_.op, ast.Add):
        return False
    left, right = sum_.left, sum_.right
    changed = names_assigned(loop.body) | {index}
    return isinstance(left, ast.Name) and left.id not in changed and is_name(right, index)


def _is_quiet(statements: list[ast.stmt]) -> bool:
    """Whether statements call what is pure, raise one error only, and leave the workspace where it is."""
    return all(_is_allowed(node) for s in statements for node in nodes_in(s))


def _is_allowed(node: ast.AST) -> bool:
    """Whether that is true of a node, whatever it has in it."""
    if isinstance(node, ast.Raise):
        return called_name(node.exc) == RAISED
    if isinstance(node, ast.Call):
        return called_name(node) == RAISED or is_pure(called_name(node))
    if isinstance(node, (ast.Attribute, ast.Slice)):
        return isinstance(node, ast.Attribute) and dotted_name(node.value) in ("math", "np")
    if isinstance(node, ast.Name):
        return node.id not in _KEPT_OUT
    return not isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.While, ast.Delete))


def _are_apart(
    parts: list[list[ast.stmt]], again: Sequence[ast.stmt], inner: ast.For, length: ast.expr, roots: _Roots
) -> bool:
    """Whether the first part of an iteration, and its terms up to the first of the four, may run ahead of the last.

    And whether what is computed `again` reads what it has read.
    """
    assert isinstance(inner.target, ast.Name)
    first, terms, last = map(_elements, parts)
    stored, moved = [[x for x in part if isinstance(x.ctx, ast.Store)] for part in (last, first)]
    pairs = [*((x, y, False) for x in stored for y in first), *((x, y, True) for x in stored for y in terms)]
    pairs += [(x, y, False) for x in moved for y in (*terms, *last, *_elements(again))]
    for one, other, may_be_behind in pairs:
        of_one, of_other = (roots.get(x.value.id) if isinstance(x.value, ast.Name) else None for x in (one, other))
        if of_one is None or of_other is None:
            return False
        if not of_one & of_other or (of_one == {WORK} and isinstance(other.ctx, ast.Store)):
            continue
        if not may_be_behind or not _is_behind(other, one, inner.target.id, length):
            return False
    return True


def _is_behind(read: ast.Subscript, stored: ast.Subscript, index: str, length: ast.expr) -> bool:
    """Whether an element is read at an index of the sum on an axis where another one is stored at its length."""
    if not same(read.value, stored.value):
        return False
    axes = zip(indices_of(read), indices_of(stored), strict=True)
    return any(is_name(x, index) and same(y, length) for x, y in axes)


def _elements(statements: Iterable[ast.stmt]) -> list[ast.Subscript]:
    """The elements of arrays that statements read and store; one that is added to, as stored."""
    return [x for s in statements for x in nodes_in(s) if isinstance(x, ast.Subscript)]


def _write(nest: _Nest, rows: list[str], fresh: Callable[[str], str]) -> list[ast.stmt]:
    """A loop whose sums go together."""
    loop, inner = nest.loop, nest.inner
    (start, stop), (_, length) = _limits(loop), _limits(inner)
    i, k = loop.target.id, inner.target.id  # type: ignore[attr-defined]
    sums = list(zip(rows, nest.sums, strict=True))
    four, last, begun = map(fresh, ("four", "last", "begun"))
    renamed = sorted(names_assigned([*nest.again, *inner.body, loop.target]))
    begin: list[ast.stmt] = []
    terms: list[ast.stmt] = []
    end: list[ast.stmt] = []
    for n in range(_TOGETHER):
        names = {name: fresh(f"{name}_of_{n}") for name in renamed}
        begin += [*statements("i = four + n", i=names[i], four=four, n=n), *_rename(nest.again, names)]
        begin += [s for row, x in sums for s in statements("x = row[n]", x=names[x], row=row, n=n)]
        terms += _rename(inner.body, names)
        end += [s for row, x in sums for s in statements("row[n] = x", x=names[x], row=row, n=n)]
    rest = clone(inner)
    rest.iter = expression("range(begun, length)", begun=begun, length=length)
    made = statement(
        """
        if span < shortest:
            loop
        else:
            for four in range(start, stop, together):
                last = min(four + together, stop)
                begun = 0
                for i in range(four, last):
                    before
                    put
                if last - four == together:
                    i = four
                    again
                    if length >= fewest:
                        begun = length
                        begin
                        for k in range(begun):
                            terms
                        end
                for i in range(four, last):
                    made
                    take
                    rest
                    after
        """,
        span=difference(stop, start), shortest=_SHORTEST, fewest=_FEWEST, together=_TOGETHER, loop=[loop], start=start,
        stop=stop, four=four, last=last, begun=begun, i=i, k=k, length=length, before=clone(nest.before),
        put=[s for row, x in sums for s in statements("row[i - four] = x", row=row, i=i, four=four, x=x)],
        again=_rename(nest.again, {}), made=_rename(nest.again, {}), begin=begin, terms=terms, end=end,
        take=[s for row, x in sums for s in statements("x = row[i - four]", row=row, i=i, four=four, x=x)],
        rest=[rest], after=clone(nest.after),
    )  # fmt: skip
    made.orelse[0].note = note_of(loop)
    return [made]


def _rename(body: Sequence[ast.stmt], names: dict[str, str]) -> list[ast.stmt]:
    """Copies of statements, without their notes, with other names."""
    made: list[ast.stmt] = clone(list(body))
    for s in made:
        s.note = 0  # type: ignore[attr-defined]
        for x in names_in(s):
            x.id = names.get(x.id, x.id)
    return made
