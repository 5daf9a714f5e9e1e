"""The measurable facts of a compiled gradient: total times, and the numbers that each line stores."""

import linecache
import math
from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

from contad.display.markup import show_bytes, show_seconds
from contad.engines import compiled_engine
from contad.front.explanation import explain_call
from contad.memory.arena import memory_in_use
from contad.variables.array import copy_parts
from contad.variables.open_types import Nested, Options
from contad.variables.trees import map_leaves

_SHORT, _MOST_RUNS = 0.2, 20  # seconds for all timed calls, and their number


class StoredLine(NamedTuple):
    """A line of the user's code that stores numbers for the reverse sweep."""

    file: str
    line: int
    source: str
    numbers: tuple[str, ...]  # their names
    bytes: int  # for each iteration of the loop
    loop: int  # the line of the loop


class CompiledProfile:
    """The value and the gradient of a Numba function, their total times, and the numbers that its loops store.

    `forward` is the time of f itself, `seconds` that of its gradient, which includes the value: each is the least of a
    few calls from Python. `reverse` is the difference: the reverse sweep and the storing of numbers for it. `lines`
    list the stored numbers by the line that computes them. The time of a line is not measured, and is nan.
    """

    def __init__(
        self, name: str, engine: str, value: Nested, gradient: Nested, forward: float, seconds: float,
        lines: list[StoredLine], told: Any, memory: int,
    ) -> None:  # fmt: skip
        self.name, self.engine = name, engine
        self.value, self.gradient = value, gradient
        self.forward, self.seconds = forward, seconds
        self.reverse = max(seconds - forward, 0.0) if forward == forward else math.nan
        self.lines, self.told = lines, told
        self.memory = memory  # bytes that compiled gradients hold on all threads after the call

    @property
    def title(self) -> str:
        """A summary in one line."""
        if self.forward != self.forward:
            return f"{self.name}: engine {self.engine}, gradient {show_seconds(self.seconds)}"
        return (
            f"{self.name}: engine {self.engine}, f itself {show_seconds(self.forward)}, gradient "
            f"{show_seconds(self.seconds)} ({self.seconds / self.forward:.2f} times f), of which reverse sweep and "
            f"storing {show_seconds(self.reverse)}"
        )

    @property
    def remark(self) -> str:
        """A remark on what the profile leaves out."""
        if self.engine == "tape":
            stored = "the tape keeps 32 bytes for each operation on variables, of whatever line"
        else:
            stored = "bytes are those that the plan of the generated code stores"
        return (
            f"Machine code has no clock inside, so there are no times by line; {stored}. "
            f"Compiled gradients hold {show_bytes(self.memory)} of memory after the call."
        )

    def __str__(self) -> str:
        lines = [self.title, self.remark]
        for line in self.lines:
            numbers = ", ".join(line.numbers)
            each = f"{line.bytes} bytes in each iteration of the loop in line {line.loop}"
            lines.append(f"line {line.line:4}  {line.source.strip()}\n           {each}: {numbers}")
        if not self.lines and self.engine != "tape":
            lines.append("its loops store nothing")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from contad.display.flame_picture import Bar, draw_bars
        from contad.display.markup import Markup, page, paragraph, table

        parts: list[Markup] = [paragraph(self.remark)]
        if self.forward == self.forward:
            pieces = (("f itself", self.forward, 0.0), ("reverse sweep and storing", self.reverse, self.reverse))
            bars = [Bar(name, f"{name}: {show_seconds(t)}", t, second) for name, t, second in pieces]
            parts.append(draw_bars(bars, "time of the gradient"))
        rows = [[x.line, x.source, ", ".join(x.numbers), x.bytes, f"line {x.loop}"] for x in self.lines]
        if rows:
            head = ["line", "source", "stored numbers", "bytes", "in each iteration of the loop in"]
            parts.append(table(head, rows, left="stored numbers,in each iteration of the loop in", code="source"))
        return page(self.title, *parts, Markup(self.told._repr_html_()))


def profile_compiled(gradient: Any, name: str, args: tuple[Nested, ...], kwargs: Options) -> CompiledProfile:
    """The profile of a call that a compiled engine handles."""
    told = explain_call(gradient, args, kwargs)
    value, found = gradient(*args, **kwargs)
    seconds = _least(lambda: lambda: gradient(*args, **kwargs))
    memory = memory_in_use()

    def prepare() -> Callable[[], Nested]:
        """A call of f on copies, because f may write to its arguments."""
        own = tuple(map_leaves(copy_parts, x) for x in args)
        return lambda: gradient.f(*own, **kwargs)

    prepare()()
    forward = _least(prepare)
    engine = compiled_engine(told.engine)
    lines: list[StoredLine] = []
    if engine.loops is not None:
        given = gradient.types_of(args, kwargs)
        for loop in engine.loops(gradient.plan_for(given).request):
            lines += _lines_of(loop)
    return CompiledProfile(name, told.engine, value, found, forward, seconds, lines, told, memory)


def _least(prepare: Callable[[], Callable[[], Nested]]) -> float:
    """The least time of a few calls, in seconds."""
    times: list[float] = []
    while not times or (len(times) < _MOST_RUNS and sum(times) < _SHORT):
        call = prepare()
        begin = perf_counter()
        call()
        times.append(perf_counter() - begin)
    return min(times)


def _lines_of(loop: Any) -> list[StoredLine]:
    """The numbers that a loop stores, by the lines that compute them."""
    found: dict[tuple[str, int], list[str]] = {}
    for number in loop.stored:
        found.setdefault((number.file, number.line), []).append(number.shown)
    return [
        StoredLine(file, line, linecache.getline(file, line).rstrip(), tuple(names), 8 * len(names), loop.line)
        for (file, line), names in sorted(found.items())
    ]
