"""Sums that loops of a triangle wait for, four neighbours at a time.

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
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from contad.engines.source.ir.syntax import difference
from contad.engines.source.passes.dependence import (
    RAISED,
    WORK,
    is_pure,
    names_written,
    read_first,
    read_in,
)
from contad.engines.source.passes.fission import is_straight
from contad.engines.source.writing.live_names import names_in

_TOGETHER = 4
_SHORTEST = 32  # iterations, from which on that is less work
_FEWEST = 8  # terms that are worth it
_KEPT_OUT = {"top", "grow"}  # with these the workspace moves


class _Nest(NamedTuple):
    """A loop with sums in it."""

    loop: ast.For
    before: list[ast.stmt]
    inner: ast.For
    after: list[ast.stmt]
    again: list[ast.Assign]  # what the sums and the rest read of what comes before, computed twice
    sums: list[str]


def jam_sums(lines: list[str], roots: dict[str, frozenset[str]], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, its head first, with sums of neighbouring iterations together."""
    if not any(line.lstrip().startswith("for ") for line in lines):
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    roots = roots | {name: frozenset((name,)) for name in _find_rows(function.body)}
    nests = [nest for loop in _find_loops(function.body) if (nest := _find_nest(loop, roots)) is not None]
    found = list(lines)
    rows: list[str] = []
    for nest in reversed(nests):
        names = [fresh(f"{name}_sums") for name in nest.sums]
        rows += names
        found[nest.loop.lineno - 1 : nest.loop.end_lineno] = _write(nest, lines, names, fresh)
    return [found[0], *(f"    {name} = new_row()" for name in rows), *found[1:]]


def _find_rows(statements: list[ast.stmt]) -> set[str]:
    """The names of rows on the stack."""
    made = (s for s in statements if isinstance(s, ast.Assign) and isinstance(s.value, ast.Call))
    return {name for s in made if ast.unparse(s.value) == "new_row()" for name in names_written(s)}


def _find_loops(statements: Iterable[ast.stmt]) -> Iterator[ast.For]:
    """The loops with one loop in them, which has none."""
    for s in statements:
        if isinstance(s, ast.For):
            inside = [x for x in ast.walk(s) if isinstance(x, (ast.For, ast.While))]
            if len(inside) == 2:
                yield s
            else:
                yield from _find_loops(s.body)
        elif isinstance(s, (ast.If, ast.While)):
            yield from _find_loops([*s.body, *s.orelse])


def _limits(loop: ast.For) -> list[str]:
    """Where a loop over a range that counts up by one starts and stops; nothing for other loops."""
    call = loop.iter
    if loop.orelse or not isinstance(loop.target, ast.Name) or not isinstance(call, ast.Call) or len(call.args) > 2:
        return []
    return ["0", *map(ast.unparse, call.args)][-2:] if ast.unparse(call.func) == "range" else []


def _find_nest(loop: ast.For, roots: dict[str, frozenset[str]]) -> _Nest | None:
    """The parts of a loop whose sums may be added up together; None where they may not."""
    place = next((k for k, s in enumerate(loop.body) if isinstance(s, ast.For)), None)
    if place is None or not _limits(loop):
        return None
    before, inner, after = loop.body[:place], loop.body[place], loop.body[place + 1 :]
    assert isinstance(inner, ast.For) and isinstance(loop.target, ast.Name)
    start, *length = _limits(inner) or [""]
    adding = [s for s in inner.body if isinstance(s, ast.AugAssign)]
    sums = [s.target.id for s in adding if isinstance(s.target, ast.Name) and isinstance(s.op, (ast.Add, ast.Sub))]
    if start != "0" or not sums or len(sums) != len(adding) or not all(map(is_straight, inner.body)):
        return None
    if any(not isinstance(x, ast.Name) for s in inner.body if isinstance(s, ast.Assign) for x in s.targets):
        return None
    once = [name for s in inner.body for name in names_written(s)]
    if len(once) != len(set(once)) or any(read_in(s) & set(sums) for s in inner.body if s not in adding):
        return None
    if any(set(sums) & {x.id for x in names_in(s.value)} for s in adding):
        return None
    again = _find_again(before, inner, after, sums)
    if again is None or not _counts(length[0], loop.target.id, again, loop):
        return None
    if not _is_quiet([*before, *after]) or not _are_apart([before, inner.body, after], again, inner, length[0], roots):
        return None
    return _Nest(loop, before, inner, after, again, sums)


def _find_again(
    before: list[ast.stmt], inner: ast.For, after: list[ast.stmt], sums: list[str]
) -> list[ast.Assign] | None:
    """The statements that make what is read after them of what comes before the sums; None where that is not possible.

    They read no number that changes in the loop but its index and each other.
    """
    written = {name for s in before for name in names_written(s)}
    later = {name for s in [*inner.body, *after] for name in names_written(s)}
    own = names_written(inner.target) | {x for s in inner.body for x in names_written(s)} - set(sums)
    if not set(sums) <= {name for s in before if isinstance(s, (ast.Assign, ast.If)) for name in names_written(s)}:
        return None
    entering = read_first(before)
    if entering & (written | later):  # carried from iteration to iteration
        return None
    if (written - set(sums)) & later or own & (written | read_first(after)):
        return None
    found: dict[str, ast.Assign] = {}
    waiting = sorted((read_first([*inner.body, *after, inner]) - own) & (written - set(sums)))
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        makers = [s for s in before if name in names_written(s)]
        (maker,) = makers if len(makers) == 1 else (None,)
        if not isinstance(maker, ast.Assign) or not isinstance(maker.targets[0], ast.Name):
            return None
        read = {x.id for x in names_in(maker.value)}
        if read & (later | set(sums)):
            return None
        found[name] = maker
        waiting += sorted(read & written)
    return [s for s in before if s in found.values()]  # type: ignore[misc]


def _counts(length: str, index: str, again: list[ast.Assign], loop: ast.For) -> bool:
    """Whether a length is the index of a loop, or something that does not change in it and the index."""
    if length == index:
        return True
    maker = next((s for s in again if ast.unparse(s.targets[0]) == length), None)
    sum_ = maker.value if maker is not None else None
    if not isinstance(sum_, ast.BinOp) or not isinstance(sum_.op, ast.Add):
        return False
    left, right = sum_.left, sum_.right
    changed = {name for s in loop.body for name in names_written(s)} | {index}
    return isinstance(left, ast.Name) and left.id not in changed and ast.unparse(right) == index


def _is_quiet(statements: list[ast.stmt]) -> bool:
    """Whether statements call what is pure, raise one error only, and leave the workspace where it is."""
    return all(_is_allowed(node) for s in statements for node in ast.walk(s))


def _is_allowed(node: ast.AST) -> bool:
    """Whether that is true of a node, whatever it has in it."""
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Call) and ast.unparse(node.exc.func) == RAISED
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        return called == RAISED or is_pure(called)
    if isinstance(node, (ast.Attribute, ast.Slice)):
        return _is_module(node)
    if isinstance(node, ast.Name):
        return node.id not in _KEPT_OUT
    return not isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.While, ast.Delete))


def _is_module(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("math", "np")


def _are_apart(
    parts: list[list[ast.stmt]],
    again: Sequence[ast.stmt],
    inner: ast.For,
    length: str,
    roots: dict[str, frozenset[str]],
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


def _is_behind(read: ast.Subscript, stored: ast.Subscript, index: str, length: str) -> bool:
    """Whether an element is read at an index of the sum on an axis where another one is stored at its length."""
    if ast.unparse(read.value) != ast.unparse(stored.value):
        return False
    axes = zip(_indices(read), _indices(stored), strict=True)
    return any(ast.unparse(x) == index and ast.unparse(y) == length for x, y in axes)


def _indices(element: ast.Subscript) -> list[ast.expr]:
    return element.slice.elts if isinstance(element.slice, ast.Tuple) else [element.slice]


def _elements(statements: Iterable[ast.stmt]) -> list[ast.Subscript]:
    """The elements of arrays that statements read and store; one that is added to, as stored."""
    return [x for s in statements for x in ast.walk(s) if isinstance(x, ast.Subscript)]


# ---- as text ---------------------------------------------------------------------------------------------------------
def _write(nest: _Nest, lines: list[str], rows: list[str], fresh: Callable[[str], str]) -> list[str]:
    """A loop whose sums go together."""
    loop, inner = nest.loop, nest.inner
    assert isinstance(loop.target, ast.Name) and isinstance(inner.target, ast.Name)
    start, stop = _limits(loop)
    index, length = loop.target.id, _limits(inner)[1]
    four, last, begun = map(fresh, ("four", "last", "begun"))
    note = lines[loop.lineno - 1].partition("  # ")[2]
    stop = stop if stop.isidentifier() else f"({stop})"
    made = [
        f"for {four} in range({start}, {stop.strip('()')}, {_TOGETHER}):{note and f'  # {note}'}",
        f"    {last} = min({four} + {_TOGETHER}, {stop})",
        f"    {begun} = 0",
        f"    for {index} in range({four}, {last}):",
        *_original(nest.before, lines, loop, 4),
        *(f"        {row}[{index} - {four}] = {name}" for row, name in zip(rows, nest.sums, strict=True)),
        f"    if {last} - {four} == {_TOGETHER}:",
        f"        {index} = {four}",
        *(f"        {ast.unparse(s)}" for s in nest.again),
        f"        if {length} >= {_FEWEST}:",
        f"            {begun} = {length}",
    ]
    ways = [_Renaming(nest, four, k, fresh) for k in range(_TOGETHER)]
    for k, way in enumerate(ways):
        made += [f"            {way.names[index]} = {four} + {k}"]
        made += [f"            {way.text(s)}" for s in nest.again]
        made += [f"            {way.names[x]} = {row}[{k}]" for row, x in zip(rows, nest.sums, strict=True)]
    made.append(f"            for {inner.target.id} in range({begun}):")
    made += [f"                {way.text(s)}" for way in ways for s in inner.body]
    for k, way in enumerate(ways):
        made += [f"            {row}[{k}] = {way.names[x]}" for row, x in zip(rows, nest.sums, strict=True)]
    made.append(f"    for {index} in range({four}, {last}):")
    made += [f"        {ast.unparse(s)}" for s in nest.again]
    made += [f"        {name} = {row}[{index} - {four}]" for row, name in zip(rows, nest.sums, strict=True)]
    head, *terms = _original([inner], lines, loop, 4)
    made += [head.replace(f"range({length})", f"range({begun}, {length})", 1), *terms]
    made += _original(nest.after, lines, loop, 4)
    indent = " " * loop.col_offset
    short = [
        f"if {difference(stop, start)} < {_SHORTEST}:",
        *_original([loop], lines, loop, 4),
        "else:",
    ]
    return [indent + line for line in [*short, *("    " + line for line in made)]]


def _original(statements: list[ast.stmt], lines: list[str], loop: ast.For, more: int) -> list[str]:
    """The lines of statements of a loop, as they were, relative to it and further to the right."""
    found = [line for s in statements for line in lines[s.lineno - 1 : s.end_lineno]]
    return [" " * more + line[loop.col_offset :] for line in found]


class _Renaming(ast.NodeTransformer):
    """Names of one of the four iterations."""

    def __init__(self, nest: _Nest, four: str, k: int, fresh: Callable[[str], str]) -> None:
        written = {name for s in (*nest.again, *nest.inner.body) for name in names_written(s)}
        self.names = {name: fresh(f"{name}_of_{k}") for name in sorted(written | names_written(nest.loop.target))}

    def text(self, statement: ast.stmt) -> str:
        """A statement with these names."""
        return ast.unparse(self.visit(ast.parse(ast.unparse(statement)).body[0]))

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """A name."""
        return ast.Name(self.names.get(node.id, node.id), node.ctx)
