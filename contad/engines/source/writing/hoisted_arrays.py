"""Arrays that every iteration of a loop makes anew, of a shape that is known before it, are made once.

    for k in range(n):                      z = np.empty((m, m))
        z = np.empty((m, m))        ->      for k in range(n):
        ...                                     ...

What an iteration has left there is not read by the next one: no array outlives the iteration that makes it, and what it
does not write holds anything. To make a small array takes as long as to fill it.
"""

import ast
import re

_EMPTY = re.compile(r" +(\w+) = np\.empty\(\((\w+(?:, \w+)*),?\)\)$")


def make_once(lines: list[str]) -> list[str]:
    """The lines of a function, its head first, with such arrays before the outermost of their loops."""
    found = {k: match for k, line in enumerate(lines) if (match := _EMPTY.match(line.partition("  # ")[0]))}
    if not found:
        return lines
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    loops = _find_loops(function.body, None, {})
    lengths = {x for x in _find_lengths(function.body) if _count(function, x) == 1}
    moved: dict[int, list[int]] = {}
    for k, match in found.items():
        loop = loops.get(k + 1)
        if loop is not None and all(x.isdigit() or x in lengths for x in match[2].split(", ")):
            if _count(function, match[1]) == 1:
                moved.setdefault(loop.lineno - 1, []).append(k)
    gone = {k for several in moved.values() for k in several}
    made: list[str] = []
    for k, line in enumerate(lines):
        indent = " " * (len(line) - len(line.lstrip()))
        made += [indent + lines[j].strip() for j in moved.get(k, ())]
        if k not in gone:
            made.append(line)
    return made


def _find_loops(body: list[ast.stmt], outermost: ast.For | None, found: dict[int, ast.For]) -> dict[int, ast.For]:
    """By the line of an assignment that each iteration makes, the outermost loop, with nothing but loops between."""
    for s in body:
        if isinstance(s, ast.Assign) and outermost is not None:
            found[s.lineno] = outermost
        elif isinstance(s, ast.For):
            _find_loops(s.body, outermost or s, found)
        elif isinstance(s, (ast.If, ast.While)):  # where a loop may begin, but none goes on
            _find_loops([*s.body, *s.orelse], None, found)
    return found


def _find_lengths(body: list[ast.stmt]) -> set[str]:
    """The names that lengths of arrays are given outside of loops."""
    return {
        s.targets[0].id
        for s in body
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and _is_length(s.value)
    }


def _is_length(value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript) and isinstance(value.value, ast.Attribute) and value.value.attr == "shape"


def _count(function: ast.FunctionDef, name: str) -> int:
    """How often a name is assigned."""
    return sum(isinstance(x, ast.Name) and x.id == name and isinstance(x.ctx, ast.Store) for x in ast.walk(function))
