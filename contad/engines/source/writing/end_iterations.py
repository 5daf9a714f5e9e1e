"""The first or last iteration of a loop, which a test tells from all others, is written before or behind it.

    for t in range(n):                     if 0 < n:
        x_bar[t] += s                          t = 0
        test = t > 0                           x_bar[t] += s
        if test:                    ->     for t in range(1, n):
            x_bar[t - 1] += u                  x_bar[t] += s
                                               x_bar[t - 1] += u

What is left has no branch: it goes in vector registers, and adjoints of neighbours go on in numbers. Iterations keep
their order. So it is in loops without loops in them, whose branches all hang on such tests, and which none leaves.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import NamedTuple

from contad.engines.source.writing.first_writes import LEAVES
from contad.engines.source.writing.live_names import names_assigned
from contad.native.elementary.elementary_table import BY_CALL

MOST = 60  # statements of a loop, which are written twice
_HOLDS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_TURNED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE}


class Ends(NamedTuple):
    """A loop by its counter, its least number and the end of its numbers."""

    node: ast.For
    counter: str
    least: int
    stop: str  # behind the greatest one
    down: bool


class _Apart(NamedTuple):
    """What tests are in the iteration with the least index, or with the greatest one, and in all others."""

    is_least: bool
    there: bool
    elsewhere: bool


def write_ends(lines: list[str]) -> list[str]:
    """The lines of a function, its head first, with such iterations apart."""
    while (found := _find(lines)) is not None:
        lines = found
    return lines


def _find(lines: list[str]) -> list[str] | None:
    """The lines with the first of such iterations written apart; None without one."""
    if not any(line.lstrip().startswith("for ") for line in lines):
        return None
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    for node in ast.walk(function):
        ends = find_ends(node) if isinstance(node, ast.For) else None
        if ends is None or not (tests := _find_tests(ends, function)):
            continue
        if _body(ends.node, tests, False, function, lines):  # else the others do nothing
            return _write(ends, tests, function, lines)
    return None


def find_ends(node: ast.For) -> Ends | None:
    """A loop over all whole numbers of a range from a known one on, in either order; None of another one."""
    over = node.iter
    if not isinstance(over, ast.Call) or ast.unparse(over.func) != "range" or not isinstance(node.target, ast.Name):
        return None
    limits = [ast.unparse(x) for x in over.args]
    down = len(limits) == 3
    if down:
        if limits[2] != "-1" or not limits[0].endswith(" - 1") or not _is_whole(limits[1]):
            return None
        least, stop = int(limits[1]) + 1, limits[0].removesuffix(" - 1")
    else:
        first, stop = limits if len(limits) == 2 else ("0", limits[0])
        least = int(first) if _is_whole(first) else -1
    if least < 0 or not stop.isidentifier() or stop in names_assigned([node]):
        return None
    return Ends(node, node.target.id, least, stop, down)


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _find_tests(ends: Ends, function: ast.FunctionDef) -> dict[str, _Apart]:
    """The tests by their text, all of one end; none where the loop stays as it is."""
    loop = ends.node
    inside = [x for s in loop.body for x in ast.walk(s)]
    branches = [x for x in inside if isinstance(x, ast.If)]
    if not branches or any(x not in loop.body for x in branches):
        return {}
    if any(isinstance(x, (*LEAVES, ast.For, ast.While, ast.Raise, ast.Try)) for x in inside):
        return {}
    if ends.counter in names_assigned(loop.body) or sum(isinstance(x, ast.stmt) for x in inside) > MOST:
        return {}
    if loop not in function.body and any(isinstance(x, ast.Call) and ast.unparse(x.func) in BY_CALL for x in inside):
        return {}  # a function that one iteration would have alone, in another loop
    made: dict[str, list[ast.expr | None]] = {}
    for x in ast.walk(function):
        if isinstance(x, (ast.Assign, ast.AugAssign, ast.For)):
            for name in names_assigned(x.targets if isinstance(x, ast.Assign) else [x.target]):
                made.setdefault(name, []).append(x.value if isinstance(x, ast.Assign) and x in loop.body else None)
    found: dict[str, _Apart] = {}
    for branch in branches:
        test: ast.expr | None = branch.test
        if isinstance(test, ast.Name):
            values = made.get(test.id, [])
            test = values[0] if len(values) == 1 else None
        apart = _tell(test, ends)
        if apart is None:
            return {}
        found[ast.unparse(branch.test)] = apart
    least = next(iter(found.values())).is_least
    return {text: apart for text, apart in found.items() if apart.is_least == least}


def _tell(test: ast.expr | None, ends: Ends) -> _Apart | None:
    """Which end a test tells from all other iterations; None where it does not."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _HOLDS:
        return None
    left, op, right = ast.unparse(test.left), type(test.ops[0]), ast.unparse(test.comparators[0])
    if left not in (ends.counter, f"{ends.counter} + 1"):
        left, op, right = right, _TURNED.get(op, op), left
    holds = _HOLDS[op]
    if left == ends.counter and _is_whole(right):
        limit = int(right)
        apart = _Apart(True, holds(ends.least, limit), holds(ends.least + 1, limit))
        is_settled = limit <= ends.least or (limit == ends.least + 1 and op in (ast.Lt, ast.GtE))
    elif (left, right) in ((ends.counter, f"{ends.stop} - 1"), (f"{ends.counter} + 1", ends.stop)):
        apart, is_settled = _Apart(False, holds(0, 0), holds(-1, 0)), True
    else:
        return None
    return apart if is_settled and apart.there != apart.elsewhere else None


def _write(ends: Ends, tests: dict[str, _Apart], function: ast.FunctionDef, lines: list[str]) -> list[str]:
    """The lines with the iteration of one end apart."""
    node = ends.node
    assert node.end_lineno is not None
    is_least = next(iter(tests.values())).is_least
    head = lines[node.lineno - 1]
    indent = head[: len(head) - len(head.lstrip())]
    note = head.partition("  # ")[2]
    note = f"  # {note}" if note else ""
    least, stop = (ends.least + 1, ends.stop) if is_least else (ends.least, f"{ends.stop} - 1")
    over = f"{stop} - 1, {least - 1}, -1" if ends.down else f"{least}, {stop}" if least else stop
    if ends.down and not is_least:
        over = f"{ends.stop} - 2, {least - 1}, -1"
    others = [f"{indent}for {ends.counter} in range({over}):{note}", *_body(node, tests, False, function, lines)]
    alone = [
        f"{indent}if {ends.least} < {ends.stop}:{note}",
        f"{indent}    {ends.counter} = {ends.least if is_least else f'{ends.stop} - 1'}",
        *_body(node, tests, True, function, lines),
    ]
    parts = [*alone, *others] if is_least != ends.down else [*others, *alone]
    return [*lines[: node.lineno - 1], *parts, *lines[node.end_lineno :]]


def _body(
    node: ast.For, tests: dict[str, _Apart], there: bool, function: ast.FunctionDef, lines: list[str]
) -> list[str]:
    """The lines of an iteration, at the end or elsewhere."""
    reads = [x.id for x in ast.walk(function) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)]
    found: list[str] = []
    for s in node.body:
        assert s.end_lineno is not None
        if isinstance(s, ast.If) and (apart := tests.get(ast.unparse(s.test))) is not None:
            taken = s.body if (apart.there if there else apart.elsewhere) else s.orelse
            for x in taken:
                assert x.end_lineno is not None
                found += [line[4:] for line in lines[x.lineno - 1 : x.end_lineno]]
        elif isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id in tests:
            name = s.targets[0].id
            branches = sum(isinstance(x, ast.If) and ast.unparse(x.test) == name for x in node.body)
            if reads.count(name) > branches:
                found += lines[s.lineno - 1 : s.end_lineno]
        else:
            found += lines[s.lineno - 1 : s.end_lineno]
    return found
