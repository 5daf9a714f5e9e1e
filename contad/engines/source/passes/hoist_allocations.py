"""Loop-invariant allocations: allocates an array once that every iteration creates with the same shape.

    for k in range(n):                      z = np.empty((m, m))
        z = np.empty((m, m))        ->      y = np.empty((m,))
        y = np.zeros((m,))                  for k in range(n):
        ...                                     for element in range(m):
                                                    y[element] = 0.0
                                                ...

No iteration reads the values of the previous one: no array outlives its iteration, an empty one may hold anything, and
zeros are written again. Allocating a small array takes longer than filling it.

Ref: Muchnick (1997), section 13.2 (loop-invariant code motion), for allocations.
"""

import ast
from collections.abc import Collection, Iterator

from contad.engines.source.ir.ssa import INT
from contad.engines.source.ir.syntax import clone, expression, splice, statement
from contad.engines.source.ir.tree_queries import called_name, integer_of, note_of
from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes.liveness import find_assignments


def hoist_allocations(function: ast.FunctionDef, names: NameTable) -> None:
    """Allocate such arrays before the outermost of their loops."""
    if not (found := list(_find(function.body, None))):
        return
    stored = find_assignments(function.body)
    lengths: set[str] = set()
    for s in function.body:
        if _is_length(s, lengths) and len(stored[name := s.targets[0].id]) == 1:  # type: ignore[attr-defined]
            lengths.add(name)
    instead: dict[ast.stmt, list[ast.stmt]] = {}
    for s, name, shape, loop in found:
        known = all(isinstance(n, ast.Constant) or (isinstance(n, ast.Name) and n.id in lengths) for n in shape)
        if known and len(stored[name]) == 1:
            made = statement("z = np.empty(shape)", z=name, shape=ast.Tuple(shape, ast.Load()))
            made.note = note_of(s)
            instead.setdefault(loop, [loop]).insert(-1, made)
            instead[s] = []
            if called_name(s.value) == "np.zeros":  # type: ignore[attr-defined]
                instead[s] = [_clear(name, shape, names)]
                instead[s][0].note = note_of(s)  # type: ignore[attr-defined]
    splice(function.body, instead)


def _find(body: list[ast.stmt], loop: ast.For | None) -> Iterator[tuple[ast.stmt, str, list[ast.expr], ast.For]]:
    """The allocations in loops: statement, name, shape, and the outermost loop with no while loop between."""
    for s in body:
        if isinstance(s, ast.For):
            yield from _find(s.body, loop or s)
        elif isinstance(s, ast.If):
            yield from _find([*s.body, *s.orelse], loop)
        elif isinstance(s, ast.While):  # arrays cannot move out of it
            yield from _find(s.body, None)
        elif loop is not None and isinstance(s, ast.Assign) and called_name(s.value) in ("np.empty", "np.zeros"):
            target, (shape, *others) = s.targets[0], s.value.args  # type: ignore[attr-defined]
            if isinstance(target, ast.Name) and isinstance(shape, ast.Tuple) and not others:
                yield s, target.id, shape.elts, loop


def _clear(array: str, shape: list[ast.expr], names: NameTable) -> ast.stmt:
    """Loops that write zeros into an array."""
    indices = [names.fresh("element") for _ in shape]
    names.add(INT, indices)
    made: ast.stmt = statement("z[indices] = 0.0", z=array, indices=[expression("k", k=k) for k in indices])
    for k, length in reversed(list(zip(indices, shape, strict=True))):
        loop = statement("for k in range(n): pass", k=k, n=clone(length))
        loop.body = [made]
        made = loop
    return made


def _is_length(s: ast.stmt, lengths: Collection[str]) -> bool:
    """Whether a statement names the length of an array or of a slice."""

    def is_natural(x: ast.expr) -> bool:
        if isinstance(x, ast.Call):
            return called_name(x) == "select" and all(map(is_natural, x.args[1:]))
        if isinstance(x, ast.Subscript):
            return isinstance(x.value, ast.Attribute) and x.value.attr == "shape"
        number = integer_of(x)
        return x.id in lengths if isinstance(x, ast.Name) else number is not None and number >= 0

    return isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and is_natural(s.value)
