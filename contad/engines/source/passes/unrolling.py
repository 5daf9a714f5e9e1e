"""Loop unrolling: adds four terms to an adjoint at once if consecutive iterations meet the same element.

    for i in range(n):                          for i in range(0, n - 3, 4):
        k = county[i]                               k_0, term_0 = county[i], y_bar[i]
        a_bar[k] += y_bar[i]          ->            ...
                                                    if k_0 == k_1 and k_0 == k_2 and k_0 == k_3:
                                                        a_bar[k_0] += term_0 + term_1 + (term_2 + term_3)
                                                    else:
                                                        a_bar[k_0] += term_0
                                                        ...
                                                        missed += 1
                                                    ...
                                                for i in range(done, n):
                                                    ...

An addition to an element waits until the one before has been stored, which takes longer than the rest of a short loop.
Data are often sorted by the index. The pass looks at the indices, and takes additions at those of a global array with
many groups of four, as in the data of a model. If the groups end, the first loop stops soon, and the second one, which
is as it was, does the rest. Nobody wrote the order of these sums. The pass changes innermost loops of a few assignments
in which nothing else touches the memory of the adjoint.

Ref: Bacon, Graham & Sharp (1994), section 6.2.4.
"""

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from contad.engines.source.ir.ssa import FLOAT, INT
from contad.engines.source.ir.syntax import Part, clone, expression, part, splice, statement, statements
from contad.engines.source.ir.tree_queries import called_name, is_number, names_of, nodes_in, note_of, walk_statements
from contad.engines.source.ir.writer import BAR, NameTable
from contad.engines.source.passes.dependence import Bounds, added_to, bounds_of, indices_of

MOST = 12  # statements of a loop; a longer one waits for no addition
_AT_ONCE = 4


def unroll_scatters(function: ast.FunctionDef, names: NameTable, arrays: Mapping[str, Any]) -> None:
    """Unroll such loops; `arrays` has the global arrays by their names."""
    grouped = {name for name, x in arrays.items() if isinstance(x, np.ndarray) and _has_groups(x)}
    grouped |= _list_made(function, grouped) if grouped else set()
    instead: dict[ast.stmt, list[ast.stmt]] = {}
    for loop in walk_statements(function.body):
        bounds = bounds_of(loop)
        if isinstance(loop, ast.For) and bounds is not None and called_name(loop.iter) == "range":
            if abs(bounds.step) == 1 and grouped and (adds := _find_adds(loop, names, grouped)):
                instead[loop] = _unroll(loop, bounds, adds, names)
    splice(function.body, instead)


def _has_groups(indices: np.ndarray) -> bool:
    """Whether three of four groups of four integers in a row are equal."""
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or len(indices) < _AT_ONCE:
        return False
    groups = indices[: len(indices) // _AT_ONCE * _AT_ONCE].reshape(-1, _AT_ONCE)
    return bool(np.mean(np.all(groups == groups[:, :1], axis=1)) >= 0.75)


def _list_made(function: ast.FunctionDef, grouped: set[str]) -> set[str]:
    """The arrays whose elements are made from elements of these arrays, as by `county - 1`."""
    read: dict[str, list[set[str]]] = {}
    for s in walk_statements(function.body):
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript):
            read.setdefault(_array(s.targets[0]), []).append(_list_read(s.value))
    return {x for x, stored in read.items() if all(arrays and arrays <= grouped for arrays in stored)}


def _list_read(value: ast.expr) -> set[str]:
    """The arrays whose elements an expression reads."""
    return {_array(x) for x in nodes_in(value) if isinstance(x, ast.Subscript)}


def _array(element: ast.Subscript) -> str:
    """The name of the array of an element; the empty name if it has none."""
    return element.value.id if isinstance(element.value, ast.Name) else ""


def _find_adds(loop: ast.For, names: NameTable, grouped: set[str]) -> list[ast.AugAssign]:
    """The additions to elements of adjoints at an index from these arrays; none if they must not be delayed."""
    plain = all(isinstance(s, (ast.Assign, ast.AugAssign)) for s in loop.body)
    if not plain or len(loop.body) > MOST:
        return []
    data = _list_grouped(loop.body, grouped)
    adds = [s for s in loop.body if added_to(s).endswith(BAR) and _is_at(s, data)]
    others = {x for s in loop.body if s not in adds for x in names_of(s)}
    others |= {x for s in adds for x in names_of(s.value)}  # type: ignore[attr-defined]
    taken = {root for x in others for root in names.roots.get(x, frozenset((x,)))}
    apart = all(taken.isdisjoint(names.roots.get(added_to(s), frozenset((added_to(s),)))) for s in adds)
    return adds if apart else []  # type: ignore[return-value]


def _list_grouped(body: list[ast.stmt], grouped: set[str]) -> set[str]:
    """The names that depend on elements of arrays, all of which are among these."""
    read: dict[str, set[str]] = {}  # the arrays, by the names that depend on their elements
    for s in body:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
            read[s.targets[0].id] = _list_read(s.value).union(*(read.get(x, ()) for x in names_of(s.value)))
    return {x for x, arrays in read.items() if arrays and arrays <= grouped}


def _is_at(s: ast.stmt, data: set[str]) -> bool:
    """Whether the only index of an addition is one of these names."""
    indices = indices_of(s.target)  # type: ignore[attr-defined]
    return len(indices) == 1 and isinstance(indices[0], ast.Name) and indices[0].id in data


def _unroll(loop: ast.For, bounds: Bounds, adds: list[ast.AugAssign], names: NameTable) -> list[ast.stmt]:
    """The loop over groups of iterations, and the loop over the rest."""
    index = loop.target.id  # type: ignore[attr-defined]
    first, at, done, missed = map(names.fresh, ("first", "at", "done", "missed"))
    places = {s: [names.fresh("place") for _ in range(_AT_ONCE)] for s in adds}
    terms = {s: [names.fresh("term") for _ in range(_AT_ONCE)] for s in adds}
    names.add(INT, [first, at, done, missed, *(x for found in places.values() for x in found)])
    names.add(FLOAT, [x for found in terms.values() for x in found])

    def go_to(count: Part) -> ast.stmt:
        """The index after so many iterations."""
        start = clone(bounds.start)
        given = expression("start - count" if bounds.down else "start + count", start=start, count=count)
        return statement("index = given", index=index, given=part(count) if is_number(start, 0) else given)

    body: list[ast.stmt] = []
    for j in range(_AT_ONCE):
        body.append(go_to(expression("first + j", first=first, j=j) if j else first))
        for s in loop.body:
            if s in places:
                (k,), term = indices_of(s.target), s.value  # type: ignore[arg-type]
                body += statements("p = k\nt = term", p=places[s][j], k=clone(k), t=terms[s][j], term=clone(term))
            else:
                body.append(clone(s))
    body += [_add_at_once(s, places[s], terms[s], missed) for s in adds]
    # it goes on while three of four groups have one place each
    body += statements("done = first + 4\nif missed > 4 + first // 16: break", done=done, first=first, missed=missed)
    groups = statement("for first in range(0, span - 3, 4): pass", first=first, span=clone(bounds.span))
    rest = statement("for at in range(done, span): pass", at=at, done=done, span=clone(bounds.span))
    groups.note = rest.note = note_of(loop)
    groups.body, rest.body = body, [go_to(at), *loop.body]
    return [*statements("done = 0\nmissed = 0", done=done, missed=missed), groups, rest]


def _add_at_once(s: ast.AugAssign, places: list[str], terms: list[str], missed: str) -> ast.stmt:
    """One addition if all places are the same, otherwise one for each, which is counted."""

    def add(place: str, term: ast.expr) -> ast.stmt:
        made: ast.AugAssign = clone(s)
        made.target.slice, made.value = part(place), term  # type: ignore[union-attr]
        return made

    same = [expression("a == b", a=places[0], b=x) for x in places[1:]]
    made: ast.If = statement("if test: pass\nelse: pass", test=expression("a & b & c", a=same[0], b=same[1], c=same[2]))
    total = expression("t + u + (v + w)", **dict(zip("tuvw", terms, strict=True)))
    made.body = [add(places[0], total)]
    made.orelse = [add(place, part(term)) for place, term in zip(places, terms, strict=True)]
    made.orelse += statements("missed += 1", missed=missed)
    return made
