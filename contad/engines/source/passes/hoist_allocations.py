"""Loop-invariant allocations: arrays that every iteration makes anew, of a shape known before the loop, are made once.

    for k in range(n):                      z = np.empty((m, m))
        z = np.empty((m, m))        ->      for k in range(n):
        ...                                     ...

No iteration reads what the one before has left there: no array outlives the iteration that makes it, and an empty one
holds anything. To make a small array takes as long as to fill it.

Ref: Muchnick (1997), section 13.2 (loop-invariant code motion), for allocations.
"""

import ast
from collections import Counter
from collections.abc import Iterator

from contad.engines.source.ir.syntax import called_name, names_in, splice


def hoist_allocations(function: ast.FunctionDef) -> ast.FunctionDef:
    """A function with such arrays before the outermost of their loops."""
    if not (found := list(_find(function.body, None))):
        return function
    stored = Counter(x.id for x in names_in(function) if isinstance(x.ctx, ast.Store))
    lengths = {name for s in function.body if _is_length(s) and stored[name := s.targets[0].id] == 1}  # type: ignore
    instead: dict[ast.stmt, list[ast.stmt]] = {}
    for s, name, shape, loop in found:
        known = all(isinstance(n, ast.Constant) or (isinstance(n, ast.Name) and n.id in lengths) for n in shape)
        if known and stored[name] == 1:
            instead[s] = []
            instead.setdefault(loop, [loop]).insert(-1, s)
    splice(function.body, instead)
    return function


def _find(body: list[ast.stmt], loop: ast.For | None) -> Iterator[tuple[ast.stmt, str, list[ast.expr], ast.For]]:
    """Where iterations make arrays: the name, the shape, and the outermost loop with nothing but loops between."""
    for s in body:
        if isinstance(s, ast.For):
            yield from _find(s.body, loop or s)
        elif isinstance(s, (ast.If, ast.While)):  # where a loop may begin, but none goes on
            yield from _find([*s.body, *s.orelse], None)
        elif loop is not None and isinstance(s, ast.Assign) and called_name(s.value) == "np.empty":
            target, (shape, *others) = s.targets[0], s.value.args  # type: ignore[attr-defined]
            if isinstance(target, ast.Name) and isinstance(shape, ast.Tuple) and not others:
                yield s, target.id, shape.elts, loop


def _is_length(s: ast.stmt) -> bool:
    """Whether a statement gives a name to the length of an array."""
    return (
        isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and isinstance(s.value, ast.Subscript)
        and isinstance(s.value.value, ast.Attribute) and s.value.value.attr == "shape"
    )  # fmt: skip
