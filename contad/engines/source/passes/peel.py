"""Loop peeling: moves the first or last iteration, which a test distinguishes, before or after the loop.

    for t in range(n):                     if 0 < n:
        x_bar[t] += s                          t = 0
        test = t > 0                           x_bar[t] += s
        if test:                    ->     for t in range(1, n):
            x_bar[t - 1] += u                  x_bar[t] += s
                                               x_bar[t - 1] += u

The remaining loop has no branch: it vectorises, and scalar replacement applies to adjoints of neighbours. Iterations
keep their order. The pass applies to innermost loops without early exits, if all branches depend on such tests.

Ref: Bacon, Graham & Sharp (1994), section 6.3.5; Allen & Kennedy (2001), section 5.7.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from contad.engines.source.ir.syntax import clone, expression, splice, statements
from contad.engines.source.ir.tree_queries import (
    called_name,
    integer_of,
    is_name,
    key,
    names_in,
    nodes_in,
    note_of,
    walk_statements,
)
from contad.engines.source.passes.dependence import LEAVES, bounds_of, is_function, offset_of
from contad.engines.source.passes.liveness import find_assignments, names_assigned

MOST = 60  # statements of a loop, which peeling duplicates
_HOLDS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_TURNED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE}


class _Range(NamedTuple):
    """The counter, the least index and the end of the indices of a loop."""

    node: ast.For
    counter: str
    least: int
    stop: str  # one past the greatest index
    down: bool


class _Apart(NamedTuple):
    """The result of a test in the iteration with the least or greatest index, and in all others."""

    is_least: bool
    there: bool
    elsewhere: bool


_Tests = dict[Any, _Apart]  # by key of a test


def peel(function: ast.FunctionDef) -> None:
    """Peel iterations off the loops of a function."""
    waiting = [s for s in walk_statements(function.body) if isinstance(s, ast.For)]
    for node in waiting:
        loop = _find_range(node) if any(isinstance(s, ast.If) for s in node.body) else None
        tests = _find_tests(loop, function) if loop is not None else {}
        if loop is None or not tests or not _body(node, tests, False, function):  # else the loop would be empty
            continue
        parts = _write(loop, tests, function)
        splice(function.body, {node: parts})
        waiting += [s for s in parts if isinstance(s, ast.For)]  # to peel the other end


def _find_range(node: ast.For) -> _Range | None:
    """The range of a loop that steps by 1 or -1 and has a constant least index; None for other loops."""
    bounds = bounds_of(node) if called_name(node.iter) == "range" else None
    up = bounds.upwards if bounds is not None else None
    least = integer_of(up.start) if up is not None else None
    if bounds is None or up is None or least is None or least < 0:
        return None
    if not isinstance(up.stop, ast.Name) or up.stop.id in names_assigned([node]):
        return None
    return _Range(node, node.target.id, least, up.stop.id, bounds.down)  # type: ignore[attr-defined]


def _find_tests(loop: _Range, function: ast.FunctionDef) -> _Tests:
    """The tests, all for the same end; none if the loop is not peeled."""
    node = loop.node
    inside = list(walk_statements(node.body))
    branches = [x for x in inside if isinstance(x, ast.If)]
    if not branches or any(x not in node.body for x in branches):
        return {}
    if any(isinstance(x, (*LEAVES, ast.For, ast.While, ast.Raise, ast.Try)) for x in inside):
        return {}
    if loop.counter in names_assigned(node.body) or len(inside) > MOST:
        return {}
    if node not in function.body and any(map(is_function, nodes_in(node))):
        return {}  # only the peeled iteration would call a function with a kernel, outside of the loop
    found: _Tests = {}
    for branch in branches:
        test: ast.expr | None = branch.test
        if isinstance(test, ast.Name):
            test = _value_of(test.id, node, function)
        apart = _tell(test, loop)
        if apart is None:
            return {}
        found[key(branch.test)] = apart
    least = next(iter(found.values())).is_least
    return {test: apart for test, apart in found.items() if apart.is_least == least}


def _value_of(name: str, loop: ast.For, function: ast.FunctionDef) -> ast.expr | None:
    """The value that a loop assigns to a name; None if anything else assigns it."""
    makers = find_assignments(function.body)[name]
    (s,) = makers if len(makers) == 1 else (None,)
    return s.value if isinstance(s, ast.Assign) and s in loop.body else None


def _tell(test: ast.expr | None, loop: _Range) -> _Apart | None:
    """The end that a test distinguishes from all other iterations; None if it does not."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _HOLDS:
        return None
    left, op, right = test.left, type(test.ops[0]), test.comparators[0]
    if offset_of(left, loop.counter) not in (0, 1):
        left, op, right = right, _TURNED.get(op, op), left
    holds, limit, ahead = _HOLDS[op], integer_of(right), offset_of(left, loop.counter)
    if ahead == 0 and limit is not None:
        apart = _Apart(True, holds(loop.least, limit), holds(loop.least + 1, limit))
        is_settled = limit <= loop.least or (limit == loop.least + 1 and op in (ast.Lt, ast.GtE))
    elif (ahead == 0 and offset_of(right, loop.stop) == -1) or (ahead == 1 and is_name(right, loop.stop)):
        apart, is_settled = _Apart(False, holds(0, 0), holds(-1, 0)), True
    else:
        return None
    return apart if is_settled and apart.there != apart.elsewhere else None


def _write(loop: _Range, tests: _Tests, function: ast.FunctionDef) -> list[ast.stmt]:
    """The loop with the iteration at one end peeled off."""
    is_least = next(iter(tests.values())).is_least
    least, greatest = loop.least + is_least, 1 if is_least else 2  # of the others; the greatest from the end
    stop: Any = loop.stop if is_least else expression("n - 1", n=loop.stop)
    over: list[Any] = [least, stop] if least else [stop]
    if loop.down:
        over = [expression("n - k", n=loop.stop, k=greatest), least - 1, -1]
    others = statements(
        "for i in range(over): body", i=loop.counter, over=over, body=_body(loop.node, tests, False, function)
    )
    alone = statements(
        """
        if least < stop:
            i = end
            body
        """,
        least=loop.least, stop=loop.stop, i=loop.counter, end=loop.least if is_least else stop,
        body=_body(loop.node, tests, True, function),
    )  # fmt: skip
    for s in (*others, *alone):
        s.note = note_of(loop.node)  # type: ignore[attr-defined]
    return [*alone, *others] if is_least != loop.down else [*others, *alone]


def _body(node: ast.For, tests: _Tests, there: bool, function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of the peeled iteration if `there`, else of the others."""
    reads = [x.id for x in names_in(function) if isinstance(x.ctx, ast.Load)]
    found: list[ast.stmt] = []
    for s in node.body:
        if isinstance(s, ast.If) and (apart := tests.get(key(s.test))) is not None:
            found += s.body if (apart.there if there else apart.elsewhere) else s.orelse
        elif isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id in tests:
            name = s.targets[0].id
            if reads.count(name) > sum(isinstance(x, ast.If) and is_name(x.test, name) for x in node.body):
                found.append(s)
        else:
            found.append(s)
    return clone(found)
