"""Single assignment for long functions: what straight-line code assigns again and again gets a name for each value.

Numba rewrites the whole function once for every name that is assigned more than once, so that the time it takes to
compile a long one would grow with the square of its length.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator

LONG = 100  # lines; shorter functions are left as they read best


def with_versions(lines: list[str], numbers: set[str], fresh: Callable[[str], str]) -> list[str]:
    """The lines of a function, with `x_2 = x + ...` in place of `x += ...` where no branch or loop assigns x.

    `numbers` are the names that may be treated so.
    """
    if len(lines) <= LONG:
        return lines
    names = _assigned_again(lines) & numbers
    return _Versions(lines, names, fresh).write() if names else lines


def _statements(lines: list[str]) -> list[ast.stmt]:
    """The statements of the body of a function."""
    (function,) = ast.parse("\n".join(["def f():", *lines])).body
    assert isinstance(function, ast.FunctionDef)
    return function.body


def _assigned_again(lines: list[str]) -> set[str]:
    """The names that are assigned more than once, at first not by `+=`, and never in a branch or a loop."""
    assigned: Counter[str] = Counter()
    inside: set[str] = set()
    for statement in _statements(lines):
        targets = [x.id for x in _names_in(statement) if isinstance(x.ctx, ast.Store)]
        starts = isinstance(statement, ast.AugAssign) and not assigned.keys() & targets
        if starts or not isinstance(statement, (ast.Assign, ast.AugAssign)):
            inside.update(targets)
        assigned.update(targets)
    return {name for name, count in assigned.items() if count > 1} - inside


def _names_in(node: ast.AST) -> Iterator[ast.Name]:
    return (x for x in ast.walk(node) if isinstance(x, ast.Name))


class _Versions:
    """Rewrites names where the syntax tree has them, so that everything else stays as it is written."""

    def __init__(self, lines: list[str], names: set[str], fresh: Callable[[str], str]) -> None:
        self.body = _statements(lines)
        self.lines = [line.encode() for line in lines]  # as syntax trees count columns
        self.names = names
        self.fresh = fresh
        self.current: dict[str, str] = {}
        self.edits: list[tuple[int, int, int, str]] = []  # line, first column, column after the last, text

    def write(self) -> list[str]:
        """The new lines."""
        for statement in self.body:
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                self._add(statement, statement.target)
            elif isinstance(statement, ast.Assign):
                self._read(statement.value)
                for target in statement.targets:
                    for name in _names_in(target):
                        self._edit(name, self._new(name.id) if isinstance(name.ctx, ast.Store) else self._now(name.id))
            else:
                self._read(statement)
        for line, first, last, text in sorted(self.edits, reverse=True):
            self.lines[line] = self.lines[line][:first] + text.encode() + self.lines[line][last:]
        return [line.decode() for line in self.lines]

    def _add(self, statement: ast.AugAssign, target: ast.Name) -> None:
        """x += y as x_2 = x + (y), if x has versions."""
        value = statement.value
        self._read(value)
        if target.id not in self.names:
            return
        line = value.lineno - 2
        between = self.lines[line][target.end_col_offset : value.col_offset].decode()
        before, _, parenthesis = between.partition("=")
        now = f"{self.current[target.id]} {before.strip()} "
        self._edit(target, self._new(target.id))
        bracket = "" if isinstance(value, ast.Name) or parenthesis.strip() else "()"
        start, end = target.end_col_offset, value.col_offset
        assert start is not None and value.end_col_offset is not None
        self.edits.append((line, start, end, f" = {now}{parenthesis.strip()}{bracket[:1]}"))
        self.edits.append((line, value.end_col_offset, value.end_col_offset, bracket[1:]))

    def _read(self, node: ast.AST) -> None:
        for name in _names_in(node):
            self._edit(name, self._now(name.id))

    def _now(self, name: str) -> str:
        return self.current.get(name, name)

    def _new(self, name: str) -> str:
        if name in self.names:
            self.current[name] = self.fresh(name) if name in self.current else name
        return self._now(name)

    def _edit(self, name: ast.Name, text: str) -> None:
        if text != name.id:
            assert name.end_col_offset is not None
            self.edits.append((name.lineno - 2, name.col_offset, name.end_col_offset, text))
