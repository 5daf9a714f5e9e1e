"""Equal lengths: infers from single assignments and from checks which lengths in a function are equal.

    m = x.shape[0]
    z = np.empty((m, 2))              m, x.shape[0], len(x), z.shape[0] and n are one length from here on
    if n != m:
        raise ValueError(...)
"""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from contad.engines.source.ir.syntax import expression, number_statements
from contad.engines.source.ir.tree_queries import called_name, is_name, key, names_of, same
from contad.engines.source.passes.dependence import MAKERS
from contad.engines.source.passes.liveness import find_assignments

# nodes that may be a length, create an array or compare lengths
_LENGTHS = (ast.Name, ast.Subscript, ast.Call, ast.Compare, ast.UnaryOp)

_HIDDEN = expression("bool(1)")  # hides from Numba that a branch always raises


class EqualLengths:
    """The lengths of a function with numbered statements."""

    def __init__(self, function: ast.FunctionDef) -> None:
        number_statements(function)
        self.body = function.body
        self.given = {x.arg for x in function.args.args}
        self.assigned = find_assignments(function.body)

    def are_equal(self, x: ast.expr, y: ast.expr, before: ast.stmt) -> bool:
        """Whether two invariant lengths are known to be equal before a statement."""
        if not self.stays(x):
            return False
        found: set[Any] = set()
        waiting = [_key(y)]
        while waiting:
            length = waiting.pop()
            if length not in found:
                found.add(length)
                waiting += [other for other, line in self._equal.get(length, ()) if line < before.lineno]
        return _key(x) in found

    def stays(self, node: ast.expr) -> bool:
        """Whether the names in an expression are parameters, or assigned once; a parameter may become its copy."""
        for name in names_of(node):
            made = [s for s in self.assigned[name] if not _is_copy(s, name)]
            if len(made) + (name in self.given) > 1 or any(s not in self.body for s in made):
                return False
        return True

    @functools.cached_property
    def _equal(self) -> dict[Any, list[tuple[Any, int]]]:
        """Maps a length to equal ones, each with the line from which on they are equal."""
        found: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
        for x, y, s in self._list_pairs():
            if self.stays(x) and self.stays(y):
                found[_key(x)].append((_key(y), s.lineno))
                found[_key(y)].append((_key(x), s.lineno))
        return found

    def _list_pairs(self) -> Iterator[tuple[ast.expr, ast.expr, ast.stmt]]:
        """Pairs of expressions that are equal from a statement on: a name and its value, or lengths that it checks."""
        values: dict[str, ast.expr] = {}
        for s in self.body:
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and isinstance(s.value, _LENGTHS):
                name = s.targets[0].id
                values[name] = s.value
                yield s.targets[0], s.value, s
                for k, x in enumerate(_shape_of(s.value)):
                    yield expression("array.shape[k]", array=name, k=k), x, s
            elif isinstance(s, ast.If) and _surely_raises(s.body[0]) and not s.orelse:
                test = values.get(s.test.id) if isinstance(s.test, ast.Name) else s.test
                wanted: type[ast.cmpop] = ast.NotEq
                if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test, wanted = test.operand, ast.Eq
                if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], wanted):
                    yield test.left, test.comparators[0], s


def _key(length: ast.expr) -> Any:
    """The key of a length; len(x) and x.shape[0] have the same key."""
    if called_name(length) == "len":
        length = expression("array.shape[0]", array=length.args[0])  # type: ignore[attr-defined]
    return key(length)


def _surely_raises(s: ast.stmt) -> bool:
    """Whether a statement always raises, which a test hides from Numba."""
    if isinstance(s, ast.If) and same(s.test, _HIDDEN):
        s = s.body[0]
    return isinstance(s, ast.Raise)


def _shape_of(made: ast.expr) -> list[ast.expr]:
    """The lengths of an array that a call creates."""
    shape = made.args[-1] if isinstance(made, ast.Call) and called_name(made) in MAKERS else None
    return shape.elts if isinstance(shape, ast.Tuple) else []


def _is_copy(s: ast.AST, name: str) -> bool:
    """Whether a statement is `x = x.copy()`."""
    return isinstance(s, ast.Assign) and is_name(s.targets[0], name) and called_name(s.value) == f"{name}.copy"
