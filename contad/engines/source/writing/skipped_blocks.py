"""Loops that choose, such as for a maximum, in blocks: those in which nothing is chosen are passed over.

    for k in range(1, n):                      for block in range(1, n, 256):
        t = x[k]                                   first = place(block)
        test = t > largest                         count = min(256, n - first)
        largest_2 = select(test, t, largest)       changes = 0
        chosen_2 = select(test, k, chosen)         for at in range(count):
        largest = largest_2              ->            k = first + at
        chosen = chosen_2                              t = x[k]
                                                       changes |= t > largest
                                                   if changes:
                                                       for k in range(first, first + count): ...

An iteration whose test fails leaves everything as it was. So the tests of a block may be asked first with what was
chosen before it, in vector registers, as none waits for another: if all fail, they fail one after the other as well.
Of random numbers few blocks have a new maximum.
"""

import ast
import functools
from collections.abc import Callable, Sequence

from contad.engines.source.writing.live_names import LiveNames, Names, names_read
from contad.engines.source.writing.loop_statements import read_in
from contad.engines.source.writing.row_parts import is_straight
from contad.native.elementary.rows import ROWS


def skip_blocks(lines: list[str], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, its head first, with loops that choose in blocks, unless they stand in other loops."""
    if not any("select(" in line for line in lines):
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    found, live = list(lines), LiveNames(function.body)
    for loop in reversed(_outermost(function.body)):
        needed = _find_test(loop, live.after[loop])
        if needed is None:
            continue
        end = loop.end_lineno or loop.lineno
        found[loop.lineno - 1 : end] = _write(loop, needed, lines[loop.lineno - 1 : end], fresh)
    return found


def _outermost(statements: Sequence[ast.stmt]) -> list[ast.For]:
    """The loops that stand in no other."""
    found: list[ast.For] = []
    for s in statements:
        if isinstance(s, ast.For):
            found.append(s)
        elif isinstance(s, ast.If):
            found += [*_outermost(s.body), *_outermost(s.orelse)]
    return found


def _find_test(loop: ast.For, after: Names) -> list[ast.Assign] | None:
    """The statements that the test of a loop is made of, and the test, which is the last of them; None for others.

    `after` are the names that are live after the loop.
    """
    call, body = loop.iter, [_OfRegisters().visit(s) for s in loop.body]
    is_range = isinstance(call, ast.Call) and ast.unparse(call.func) == "range" and len(call.args) in (1, 2)
    if not is_range or loop.orelse or not isinstance(loop.target, ast.Name) or not all(map(is_straight, body)):
        return None
    made: dict[str, ast.Assign] = {}
    carried: set[str] = set()
    for s in body:
        if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name) or s.targets[0].id in made:
            return None
        carried |= read_in(s) - made.keys()
        made[s.targets[0].id] = s
    carried &= made.keys()
    if after & ({loop.target.id, *made} - carried) or names_read(call) & made.keys():
        return None
    tests = {_test_of(made, name) for name in carried}
    test = tests.pop() if len(tests) == 1 else None
    if test is None or not isinstance(made[test].value, (ast.Compare, ast.BinOp)):
        return None
    needed, waiting = set(), [test]
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [x for x in read_in(made[name]) if x in made and x not in carried]
    return [s for name, s in made.items() if name in needed]


class _OfRegisters(ast.NodeTransformer):
    """Writes `and` and `or` between comparisons of names as & and |, which have no branches.

    Only the test of a block is written so: the loop that chooses is faster with branches.
    """

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """By & and |, if all operands may be evaluated."""
        if not all(isinstance(x, _COMPARED) for x in ast.walk(node)):
            return node
        first, *others = (self.visit(x) for x in node.values)
        operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        return functools.reduce(lambda left, right: ast.BinOp(left, operator, right), others, first)


_COMPARED = (ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.Name, ast.Constant, ast.expr_context)


def _test_of(made: dict[str, ast.Assign], name: str) -> str | None:
    """The name of the test on which a carried name changes; None where it changes in other ways."""
    value = made[name].value
    if isinstance(value, ast.Name) and value.id in made:
        value = made[value.id].value
    if not (isinstance(value, ast.Call) and ast.unparse(value.func) == "select"):
        return None
    test, _, kept = value.args
    is_kept = isinstance(kept, ast.Name) and kept.id == name
    return test.id if is_kept and isinstance(test, ast.Name) and test.id in made else None


def _write(loop: ast.For, needed: list[ast.Assign], lines: list[str], fresh: Callable[[str], str]) -> list[str]:
    """A loop in blocks."""
    assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)
    start, stop = ["0", *map(ast.unparse, loop.iter.args)][-2:]
    index, (*others, test) = loop.target.id, needed
    indent = lines[0][: loop.col_offset]
    _, _, note = lines[0].partition("  # ")
    block, first, count, changes, at = map(fresh, ("block", "first", "count", "changes", "at"))
    counted = f"place({block})" if start.isdigit() else block
    left = f"({stop})" if not stop.isidentifier() else stop
    made = [
        f"for {block} in range({start}, {stop}, {ROWS}):{note and f'  # {note}'}",
        f"    {first} = {counted}",
        f"    {count} = min({ROWS}, {left} - {first})",
        f"    {changes} = 0",
        f"    for {at} in range({count}):",
        f"        {index} = {first} + {at}",
        *(f"        {ast.unparse(s)}" for s in others),
        f"        {changes} |= {ast.unparse(test.value)}",
        f"    if {changes}:",
        f"        for {index} in range({first}, {first} + {count}):",
    ]
    inner = [" " * 8 + line for line in lines[1:]]
    return [indent + line for line in made] + inner
