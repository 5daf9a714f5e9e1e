"""A profile in a notebook: bars by call path, and the table of lines."""

import linecache
from collections.abc import Callable, Sequence
from typing import Protocol

from contad.display.flame_picture import Bar, draw_bars
from contad.display.markup import Markup, element, page, paragraph, show_bytes, show_seconds, table
from contad.profiling.line_clock import CallPath
from contad.profiling.profiled_lines import ProfiledLine, place_of, show_share

_DEEPEST = 24  # functions of a call path that are drawn; the last one includes its calls


class ShownProfile(Protocol):
    """The attributes of a profile that are shown: see `LineProfile`."""

    root: CallPath
    lines: list[ProfiledLine]
    bytes: int

    @property
    def seconds(self) -> float:
        """The seconds of both sweeps."""

    @property
    def title(self) -> str:
        """A summary in one line."""

    @property
    def remark(self) -> str:
        """A remark on the times."""


def write_profile(found: ShownProfile) -> str:
    """The HTML of a profile."""
    times = _bars(found.root, lambda p: (p.forward + p.reverse, p.reverse), _tell_times, 0)
    sizes = _bars(found.root, lambda p: (float(p.bytes), 0.0), lambda own, _: show_bytes(own), 0)
    parts: list[Markup] = [
        paragraph(found.remark),
        paragraph("Time by function and line: ", _key("#3b82f6", "forward"), " ", _key("#f59e0b", "reverse")),
        draw_bars(times, "time by call path"),
        paragraph("Memory of the stack by function and line:"),
        draw_bars(sizes, "memory by call path", ("#10b981", "#10b981")),
        _lines(found),
    ]
    return page(found.title, *parts)


def _key(tint: str, text: str) -> Markup:
    """The key of a tint."""
    return element("span", f"\u25a0 {text}", style=f"color:{tint}")


def _tell_times(whole: float, second: float) -> str:
    return f"{show_seconds(whole)}: forward {show_seconds(whole - second)}, reverse {show_seconds(second)}"


def _bars(
    path: CallPath, measure: Callable[[CallPath], tuple[float, float]], tell: Callable[[float, float], str], depth: int
) -> list[Bar]:
    """The bars of the functions that a line calls, and below each of them the bars of its lines."""
    bars = []
    if path.code is None and any(measure(path)):
        own, second = measure(path)
        bars.append(Bar("arguments", f"the arguments, as variables\n{tell(own, second)}", own, second))
    functions: dict[str, list[CallPath]] = {}
    for child in path.children.values():
        functions.setdefault(place_of(child)[2], []).append(child)
    for name, lines in functions.items():
        below = []
        for line in sorted(lines, key=lambda p: p.line):
            file, number, _ = place_of(line)
            inner = line.walk() if depth >= _DEEPEST else [line]
            sums = [sum(part) for part in zip(*map(measure, inner), strict=True)]
            inside = _bars(line, measure, tell, depth + 1) if depth < _DEEPEST else []
            source = linecache.getline(file, number).strip()
            bar = Bar(f"{number}: {source}", "", sums[0], sums[1], inside)
            below.append(bar._replace(more=f"{file}:{number}\n{source}\n{tell(bar.whole, bar.whole_second)}"))
        bar = Bar(name, "", 0.0, 0.0, below)
        bars.append(bar._replace(more=f"{name}\n{tell(bar.whole, bar.whole_second)}"))
    return bars


def _lines(found: ShownProfile) -> Markup:
    """The table of all lines."""
    head = ["line", "function", "calls", "records", "forward", "reverse", "time", "bytes", "memory", "source"]
    rows: list[Sequence[object]] = [
        [
            line.line or "", line.function if line.file else "", line.calls or "", line.records or "",
            show_seconds(line.forward), show_seconds(line.reverse), _meter(line.seconds, found.seconds),
            show_bytes(line.bytes) if line.bytes else "", _meter(line.bytes, found.bytes), line.source,
        ]
        for line in found.lines
    ]  # fmt: skip
    return table(head, rows, left="function", code="source")


def _meter(part: float, whole: float) -> Markup | str:
    """A share in percent, on a tinted bar of that length."""
    text = show_share(part, whole)
    if not text:
        return ""
    filled = f"{100.0 * part / whole:.1f}%"
    tint = "rgba(128,128,128,0.35)"
    return element("span", text, style=f"background:linear-gradient(to right,{tint} {filled},transparent {filled})")
