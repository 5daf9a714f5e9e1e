"""How times are taken: the minimum over repeats, warmed up, with a stated state of the garbage collector."""

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any


@contextmanager
def collector(on: bool) -> Iterator[None]:
    """Python's garbage collector on or off, starting from a collected heap; restored on the way out."""
    before = gc.isenabled()
    gc.collect()
    (gc.enable if on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if before else gc.disable)()


def fastest(run: Callable[[], Any], repeats: int, calls: int = 1) -> float:
    """Seconds per call: the minimum over repeats of a loop of calls, after one repeat that is not counted."""
    times = []
    for _ in range(repeats + 1):
        start = perf_counter()
        for _ in range(calls):
            run()
        times.append((perf_counter() - start) / calls)
    return min(times[1:])


def noise(first: float, second: float) -> float:
    """How far two measurements of the same thing differ, relative to the smaller."""
    return abs(first - second) / min(first, second)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with padded columns; the first column is text, the others are numbers."""
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    lines = []
    for row in cells:
        first, *numbers = (c.rjust(w) if k else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
        lines.append(f"| {' | '.join([first, *numbers])} |")
    rule = "|".join("-" * (w + 1) + (":" if k else "-") for k, w in enumerate(widths))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])
