"""What the command writes on a terminal: colours, and the table of a point and its gradient."""

import math
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO

BOLD, RED, DIM = "1", "1;31", "2"
ROWS = 24  # printed rows; --json gives all
LONG = 8  # arrays with more numbers are cut off


# ---- colours ---------------------------------------------------------------------------------------------------------
def has_colours(stream: TextIO | None = None) -> bool:
    """Whether a stream (stdout) is a terminal and the user has not set NO_COLOR."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, colours: bool) -> str:
    """The text in a style of the terminal.

    >>> paint("no", RED, False), paint("no", RED, True)
    ('no', '\\x1b[1;31mno\\x1b[0m')
    """
    return f"\x1b[{style}m{text}\x1b[0m" if colours else text


def highlight_python(text: str) -> str:
    """Python source in the terminal's own colours; unchanged if Pygments is missing."""
    try:
        from pygments import highlight
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return text
    return str(highlight(text, PythonLexer(stripnl=False, ensurenl=False), TerminalFormatter()))


# ---- the table: a row for each number, the first, last and largest ones of long arrays -------------------------------
class Group(NamedTuple):
    """A number, or the numbers of an array: names, point and gradient."""

    name: str
    shape: tuple[int, ...]
    names: Sequence[str]
    point: Sequence[float]
    gradient: Sequence[float]

    @property
    def is_long(self) -> bool:
        """Whether some of its numbers are left out."""
        return len(self.names) > LONG

    def largest(self) -> int:
        """The index of the derivative with the largest absolute value."""
        return max(range(len(self.gradient)), key=lambda k: abs(self.gradient[k]))

    def describe(self) -> str:
        """The remark on a long array beside its name."""
        low, high = min(self.gradient), max(self.gradient)
        return f"{' x '.join(map(str, self.shape))} numbers, derivatives from {low:.4g} to {high:.4g}"


class TableRow(NamedTuple):
    """A line of the table: a name with its numbers, or with a text in their place."""

    name: str
    cells: tuple[str, str] | None
    words: str = ""


def table(groups: Sequence[Group], colours: bool = False) -> list[str]:
    """The lines of the table, with numbers aligned at their decimal points."""
    rows, left = _rows(groups)
    width = max(len("argument"), *(len(row.name) for row in rows))
    columns = [
        _align(title, [row.cells[k] for row in rows if row.cells]) for k, title in enumerate(("point", "gradient"))
    ]
    cells = zip(*(column[1:] for column in columns), strict=True)
    heading = f"  {'argument':<{width}}  {columns[0][0]}  {columns[1][0]}"
    lines = [paint(heading.rstrip(), BOLD, colours)]
    for row in rows:
        if row.cells:
            lines.append(f"  {row.name:<{width}}  {'  '.join(next(cells))}".rstrip())
        else:
            lines.append(f"  {row.name:<{width}}  {paint(row.words, DIM, colours)}".rstrip())
    if left:
        lines.append(f"  ... and {left} more; --json prints all")
    return lines


def _rows(groups: Sequence[Group]) -> tuple[list[TableRow], int]:
    """The rows to print, and how many numbers they neither show nor mention."""
    rows: list[TableRow] = []
    shown = left = 0
    for group in groups:
        if shown >= ROWS:
            left += len(group.names)
            continue
        kept = range(len(group.names))
        if group.is_long:
            rows.append(TableRow(group.name, None, group.describe()))
            kept = sorted({0, 1, 2, group.largest(), len(group.names) - 1})  # type: ignore[assignment]
        before = -1
        for k in kept:
            if k > before + 1:
                rows.append(TableRow("  ...", None, f"{k - before - 1} more"))
            name = f"  {group.names[k]}" if group.is_long else group.names[k]
            rows.append(TableRow(name, (write_number(group.point[k]), write_number(group.gradient[k]))))
            before = k
        shown += len(kept)
    return rows, left


def _align(title: str, texts: list[str]) -> list[str]:
    """The title and the numbers, aligned at their decimal points and padded to one width.

    >>> _align("x", ["1.25", "-10", "3e-07"])
    ['   x   ', '  1.25 ', '-10    ', '  3e-07']
    """
    heads = [text[: _end_of_integer(text)] for text in texts]
    before = max(map(len, heads), default=0)
    tails = [text[len(head) :] for text, head in zip(texts, heads, strict=True)]
    after = max(map(len, tails), default=0)
    cells = [f"{head:>{before}}{tail:<{after}}" for head, tail in zip(heads, tails, strict=True)]
    width = max(len(title), before + after)
    return [f"{title:^{width}}", *(f"{cell:>{width}}" for cell in cells)]


def _end_of_integer(text: str) -> int:
    return next((k for k, c in enumerate(text) if c in ".e"), len(text))


def write_number(x: float) -> str:
    """
    >>> write_number(0.7857142857142857), write_number(650.0), write_number(-0.0)
    ('0.7857142857', '650', '0')
    """
    return f"{x or 0.0:.10g}" if math.isfinite(x) else str(x)
