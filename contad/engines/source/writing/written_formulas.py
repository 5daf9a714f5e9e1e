"""Formulas of distributions written out: where a loop is reversed at once, their value and partials share their lines.

What these lines compute of nothing that the loop changes is computed before it.
"""

import ast
import re
from collections.abc import Sequence

from contad.distributions.formula import Formula
from contad.engines.source.analysis.partials import source_of
from contad.engines.source.ir.single_assignment import Apply, Loop
from contad.engines.source.ir.writer import Writer, atom

_ASSIGNED = re.compile(r"\s*((?:\w+, )*\w+) (?:[-+*/|&]?)= ")
_LOOP = re.compile(r"\s*for (\w+(?:, \w+)*) in ")


class WrittenFormulas:
    """Writes the values of formulas line by line, and remembers the names of these lines and of those of partials."""

    def __init__(self, writer: Writer, fused: frozenset[Loop], enabled: bool) -> None:
        """`fused` are the loops that are reversed at once."""
        self.writer, self.fused, self.enabled = writer, fused, enabled
        self.lines_of: dict[Apply, dict[str, str]] = {}  # of each value that was written out: names and their texts
        self.numbers: set[str] = set()  # names of lines, but for those of conditions
        self.names: set[str] = set()

    def is_written_out(self, o: Apply) -> bool:
        """Whether a function of numbers is a formula in a loop that is reversed at once."""
        if not self.enabled or not isinstance(o.function.rule, Formula) or o.block is None:
            return False
        return o.block.parent in self.fused

    def write_value(self, o: Apply) -> str:
        """The text of a formula's value, after the lines that it needs."""
        names = [o.result.name]
        for x in o.inputs:
            text = self.writer.text(x)
            if x in self.writer.inside:
                text = self.writer.fresh(f"{o.result.name}_of")
                self.writer.line(f"{text} = {self.writer.inside[x]}")
            names.append(text)
        lines, result = source_of(o, len(o.inputs), names, f"{o.result.name}_", self.writer.call_rule, {})
        if any(name in self.writer.taken for name, _ in lines):
            return self.writer.apply(o)
        for name, text in lines:
            self.writer.line(f"{name} = {text}")
        self.lines_of[o] = dict(lines)
        self.note(lines)
        self.writer.taken |= dict(lines).keys()
        return atom(result)

    def note(self, lines: Sequence[tuple[str, str]]) -> None:
        """Remember lines of a formula."""
        for name, text in lines:
            self.names.add(name)
            if not _is_condition(text):
                self.numbers.add(name)


def _is_condition(text: str) -> bool:
    node = ast.parse(text, mode="eval").body
    bits = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr))
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return bits or negated or isinstance(node, (ast.Compare, ast.BoolOp))


def move_out(lines: Sequence[str], names: set[str]) -> list[str]:
    """Lines of a function, with those that assign one of these names before the loops that change nothing in them.

    Each of the names is assigned once, a number without side effects, so that it may be computed for a loop that does
    not run.
    """
    found = list(lines)
    if not names:
        return found
    k = 0
    while k < len(found):
        if _LOOP.match(found[k]):
            end = _end_of(found, k)
            assigned = {name for line in found[k:end] for name in _names_assigned(line)}
            moved = []
            for n in range(k + 1, end):
                match = _ASSIGNED.match(found[n])
                name = match[1] if match else ""
                if name in names and _depth(found[n]) == _depth(found[k]) + 4:
                    read = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", found[n].partition("=")[2]))
                    if "[" not in found[n] and not read & assigned:
                        assigned.discard(name)
                        moved.append(n)
            if moved:
                before = [found[n][4:] for n in moved]
                kept = [line for n, line in enumerate(found[k:end], k) if n not in moved]
                found[k:end] = [*before, *kept]
                k = max(0, k - _lines_around(found, k))  # an outer loop may change nothing in them, either
                continue
        k += 1
    return found


def _lines_around(lines: Sequence[str], k: int) -> int:
    """How many lines back the head of the block around line k is."""
    back = next((n for n in range(k - 1, -1, -1) if lines[n].strip() and _depth(lines[n]) < _depth(lines[k])), k)
    return k - back if _LOOP.match(lines[back]) else 0


def _names_assigned(line: str) -> list[str]:
    match = _ASSIGNED.match(line) or _LOOP.match(line)
    return match[1].split(", ") if match else []


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end_of(lines: Sequence[str], k: int) -> int:
    """The number of the first line after the block that line k is the head of."""
    depth = _depth(lines[k])
    return next((n for n in range(k + 1, len(lines)) if lines[n].strip() and _depth(lines[n]) <= depth), len(lines))
