"""The results of `contad.profile`: lines with their costs, as an object, as text and as HTML."""

import os
from collections.abc import Sequence

from contad.display.markup import show_bytes, show_seconds
from contad.profiling.line_clock import CallPath
from contad.profiling.profiled_lines import lines_of, show_share
from contad.variables.open_types import Nested

_SOURCE = 64  # characters of a line in the text


class LineProfile:
    """The value and the gradient of a function, and their costs, line by line.

    `value` and `gradient` are those of `contad.value_and_grad`. `lines` are `ProfiledLine`s, by file and line;
    `forward`, `reverse` (seconds), `records` and `bytes` are their sums. `root` is the tree of call paths. `overhead`
    is the time of the profiled run relative to an ordinary one; nan if there was none (`warm_up=False`).
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
    def seconds(self) -> float:
        """The seconds of both sweeps."""
        return self.forward + self.reverse

    @property
    def title(self) -> str:
        """A summary in one line."""
        return (
            f"{self.name}: engine {self.engine}, forward {show_seconds(self.forward)}, reverse "
            f"{show_seconds(self.reverse)}, {self.records} record{'' if self.records == 1 else 's'}, "
            f"{show_bytes(self.bytes)}"
        )

    @property
    def remark(self) -> str:
        """A remark on the times."""
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
        seconds, size = self.seconds, self.bytes
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


def _align(rows: Sequence[tuple[str, ...]], titles: dict[int, str]) -> str:
    """Aligned columns of text, the last one to the left, with a line above some rows."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = []
    for n, row in enumerate(rows):
        lines += [titles[n]] if titles.get(n) else []
        lines.append("  ".join([*(x.rjust(w) for x, w in zip(row, widths, strict=False)), row[-1]]).rstrip())
    return "\n".join(lines)
