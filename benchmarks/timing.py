"""How times are taken: the minimum over repeats, warmed up, with a stated state of the garbage collector."""

import gc
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import Any, NamedTuple


@contextmanager
def switch_collector(on: bool) -> Iterator[None]:
    """Python's garbage collector on or off, starting from a collected heap; restored on the way out."""
    before = gc.isenabled()
    gc.collect()
    (gc.enable if on else gc.disable)()
    try:
        yield
    finally:
        (gc.enable if before else gc.disable)()


class Timing(NamedTuple):
    """What interleaved rounds found of one run."""

    seconds: float  # of a call: the minimum over repeats
    calls: int  # in the last repeat
    repeats: int
    busy: float  # seconds of processor time per second; above 1 where several threads have worked


def take_turns(
    runs: Mapping[str, Callable[[], Any]], repeats: int, least: float, budget: float = math.inf, warm: bool = False
) -> dict[str, Timing]:
    """Rounds in which all runs take turns, each calling for about `least` seconds.

    Taking turns spreads a busy moment of the machine over all of them. A run that has taken more than `budget` seconds
    leaves, after two repeats at the least. If they are warm, a call that is not counted goes before each repeat, which
    finds in the cache again what other runs have driven out.
    """
    best, calls, turns = {}, {}, dict.fromkeys(runs, 0)
    busy, elapsed = dict.fromkeys(runs, 0.0), dict.fromkeys(runs, 0.0)
    with switch_collector(on=True):
        for name, run in runs.items():
            run()
            best[name] = time_calls(run)
        for _ in range(repeats):
            for name, run in runs.items():
                if turns[name] >= 2 and elapsed[name] > budget:
                    continue
                calls[name] = max(1, math.ceil(least / best[name]))  # from the best so far: one alone may be disturbed
                if warm:
                    run()
                start = process_time()
                seconds = time_calls(run, calls[name])
                busy[name] += process_time() - start
                elapsed[name] += seconds
                best[name] = min(best[name], seconds / calls[name])
                turns[name] += 1
    return {name: Timing(best[name], calls[name], turns[name], busy[name] / elapsed[name]) for name in runs}


def time_calls(run: Callable[[], Any], calls: int = 1) -> float:
    """Seconds of a loop of calls."""
    start = perf_counter()
    for _ in range(calls):
        run()
    return perf_counter() - start


def compare_times(first: float, second: float) -> float:
    """How far two measurements of the same thing differ, relative to the smaller."""
    return abs(first - second) / min(first, second)


def format_table(header: Sequence[str], rows: Iterable[Sequence[str]], text: Collection[int] = (0,)) -> str:
    """A Markdown table with padded columns; those that hold text are named by their place, the others are numbers."""
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(header))]
    lines = []
    for row in cells:
        padded = (c.ljust(w) if k in text else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
        lines.append(f"| {' | '.join(padded)} |")
    rule = "|".join("-" * (w + 1) + ("-" if k in text else ":") for k, w in enumerate(widths))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])
