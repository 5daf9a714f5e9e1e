"""What `contad.profile` returns: the lines with what they take, as an object, as text and as HTML."""

import linecache
import os
from collections.abc import Sequence
from typing import NamedTuple

from contad.display.markup import show_bytes, show_seconds
from contad.profiling.line_clock import CallPath
from contad.variables.open_types import Nested

_SOURCE = 64  # characters of a line in the text


class ProfiledLine(NamedTuple):
    """One line of the user's code. What it calls in other functions of the user's is told of on their lines."""

    file: str  # empty for what belongs to no line: making variables of the arguments
    line: int
    function: str
    source: str
    calls: int  # how often the line ran
    records: int  # pushed on the stack
    forward: float  # seconds
    reverse: float
    bytes: int

    @property
    def seconds(self) -> float:
        """Of both sweeps."""
        return self.forward + self.reverse


class Profile:
    """The value and the gradient of a function, and what they took, line by line.

    `value` and `gradient` are those of `contad.value_and_grad`. `lines` are `ProfiledLine`s, by file and line;
    `forward`, `reverse` (seconds), `records` and `bytes` their sums. `root` is the tree of call paths. `overhead` tells
    how many times longer the profiled run took than an ordinary one; nan where there was none (`warm_up=False`).
    """

    def __init__(
        self, name: str, engine: str, value: Nested, gradient: Nested, root: CallPath, overhead: float
    ) -> None:
        self.name, self.engine = name, engine
        self.value, self.gradient = value, gradient
        self.root = root
        self.overhead = overhead
        self.lines = lines_of(root)
        self.forward = sum(line.forward for line in self.lines)
        self.reverse = sum(line.reverse for line in self.lines)
        self.records = sum(line.records for line in self.lines)
        self.bytes = sum(line.bytes for line in self.lines)

    @property
    def title(self) -> str:
        """One line on the whole."""
        return (
            f"{self.name}: engine {self.engine}, forward {show_seconds(self.forward)}, reverse "
            f"{show_seconds(self.reverse)}, {self.records} record{'' if self.records == 1 else 's'}, "
            f"{show_bytes(self.bytes)}"
        )

    @property
    def remark(self) -> str:
        """What the times are."""
        if self.overhead != self.overhead:
            return "The times are those of the profiled run."
        return (
            "The sums are the times of an ordinary run, in the shares of the profiled one, which took "
            f"{self.overhead:.3g} times as long."
        )

    def __str__(self) -> str:
        rows = [("line", "calls", "records", "forward", "reverse", "time", "bytes", "memory", "source")]
        titles: dict[int, str] = {}
        seen = ("", "")
        seconds, size = self.forward + self.reverse, self.bytes
        for line in self.lines:
            if (line.file, line.function) != seen:
                seen = line.file, line.function
                titles[len(rows)] = f"{line.function} ({os.path.basename(line.file)})" if line.file else ""
            counts = (str(line.line or ""), str(line.calls or ""), str(line.records or ""))
            times = (show_seconds(line.forward), show_seconds(line.reverse), show_share(line.seconds, seconds))
            memory = (show_bytes(line.bytes) if line.bytes else "", show_share(line.bytes, size))
            source = line.source if len(line.source) <= _SOURCE else line.source[: _SOURCE - 3] + "..."
            rows.append((*counts, *times, *memory, source))
        return f"{self.title}\n{self.remark}\n{_align(rows, titles)}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from contad.profiling.profile_display import write_profile

        return write_profile(self)


def show_share(part: float, whole: float) -> str:
    """A part of a whole in percent; nothing where it is nothing.

    >>> show_share(1.0, 3.0), show_share(0.0, 3.0)
    ('33.3 %', '')
    """
    return f"{100.0 * part / whole:.1f} %" if part > 0.0 and whole > 0.0 else ""


def _align(rows: Sequence[tuple[str, ...]], titles: dict[int, str]) -> str:
    """Columns of text, the last to the left, with a line above some of them."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = []
    for n, row in enumerate(rows):
        lines += [titles[n]] if titles.get(n) else []
        lines.append("  ".join([*(x.rjust(w) for x, w in zip(row, widths, strict=False)), row[-1]]).rstrip())
    return "\n".join(lines)


def lines_of(root: CallPath) -> list[ProfiledLine]:
    """All lines under a root, whatever way they were reached; those of a function are together, in order."""
    found: dict[tuple[str, int, str], list[float]] = {}
    files: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str], int] = {}  # where they begin
    for path in root.walk():
        place = place_of(path)
        files.setdefault(place[0], len(files))
        at = path.code.co_firstlineno if path.code is not None else 0
        key = place[0], place[2]
        functions[key] = min(functions.get(key, at), at)
        total = found.setdefault(place, [0, 0, 0.0, 0.0, 0])
        for k, x in enumerate((path.calls, path.records, path.forward, path.reverse, path.bytes)):
            total[k] += x

    def order(place: tuple[str, int, str]) -> tuple[int, int, str, int]:
        file, line, function = place
        return files[file], functions[file, function], function, line

    lines = []
    for place in sorted(found, key=order):
        calls, records, forward, reverse, size = found[place]
        file, line, function = place
        source = linecache.getline(file, line).rstrip() if file else f"({function})"
        if any(found[place]):
            lines.append(
                ProfiledLine(file, line, function, source, int(calls), int(records), forward, reverse, int(size))
            )
    return lines


def place_of(path: CallPath) -> tuple[str, int, str]:
    """File, line and function."""
    if path.code is None:
        return "", 0, "the arguments, as variables"
    return path.code.co_filename, path.line, path.code.co_qualname.rpartition("<locals>.")[2]
