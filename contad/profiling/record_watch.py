"""The line of each record, and the time of its part of the reverse sweep.

Consecutive records of one line are a segment. Compiled sweeps run over one segment at a time, in the order of an
ordinary sweep, so that the derivative is the same to the last bit. The cost of starting and stopping the clock is
measured and subtracted.
"""

import bisect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from contad.engines.stream.pullbacks import Continuation
from contad.engines.stream.record_stream import CELL_BYTES, RECORD_BYTES, Recording
from contad.engines.stream.storage import Buffers
from contad.engines.stream.sweep import compile_sweeps
from contad.profiling.line_clock import CallPath, LineClock
from contad.variables.open_types import Real


class RecordWatch(ABC):
    """Watches a stack that is profiled: notes the line of each record as it is pushed."""

    on_numbers = False  # whether sweeps have to run in Python

    def __init__(self, s: Any, clock: LineClock) -> None:
        self.stack, self.clock = s, clock
        self.records = 0
        self._push = s.push
        s.push = self._push_noted
        s.watch = self

    def _push_noted(self, record: Any) -> None:
        self._push(record)
        begin = perf_counter()
        path = self.clock.current
        n, size = self.note(path, record)
        path.records += n
        path.bytes += size
        self.records += n
        self.clock.last += perf_counter() - begin  # this is not the user's time

    @abstractmethod
    def note(self, path: CallPath, record: Any) -> tuple[int, int]:
        """Note the line of records that have just been pushed; returns their number and bytes."""

    @abstractmethod
    def prepare_sweep(self) -> None:
        """End the recording, after the last record."""

    @abstractmethod
    def cost_of_segment(self) -> float:
        """The seconds that it takes to time an empty segment."""


class StreamWatch(RecordWatch):
    """Watches a stack of records."""

    stack: Recording

    def __init__(self, s: Recording, clock: LineClock) -> None:
        super().__init__(s, clock)
        # for each segment: its line, its first row and the first cell of that row
        self.paths: list[CallPath] = []
        self.rows: list[int] = []
        self.cells: list[int] = []
        self._top, self._beside, self._callbacks = s.top, self._count_beside(), len(s.callbacks)
        self._waiting: CallPath | None = None  # the line whose continuation runs in Python
        self._since = 0.0

    def _count_beside(self) -> int:
        b = self.stack.buffers
        return b.constants_top + b.shapes_top

    def note(self, path: CallPath, record: Sequence[Real]) -> tuple[int, int]:
        if not self.paths or self.paths[-1] is not path:
            self.paths.append(path)
            self.rows.append(self.records + 1)
            self.cells.append(self._top)
        n = len(record) // 4
        top, beside = self.stack.top, self._count_beside()
        size = RECORD_BYTES * n + CELL_BYTES * (top - self._top) + 8 * (beside - self._beside)
        self._top, self._beside = top, beside
        callbacks = self.stack.callbacks
        if len(callbacks) > self._callbacks:
            self._callbacks = len(callbacks)
            newest = callbacks[self._callbacks - 1]
            if isinstance(newest, Continuation):
                size += newest.saved_bytes()
        return n, size

    def prepare_sweep(self) -> None:
        self.stack.flush()
        self._compiled = compile_sweeps().sweep
        self._since = perf_counter()

    def sweep(self, b: Buffers, row: int, k: int, top: int) -> tuple[int, int]:
        """Run the compiled sweep segment by segment."""
        if self._waiting is not None:
            self._waiting.reverse += perf_counter() - self._since
            self._waiting.segments += 1
            self._waiting = None
        compiled = self._compiled
        at = bisect.bisect_right(self.rows, row) - 1
        while row > 0:
            before = self.rows[at] - 1
            path = self.paths[at]
            begin = perf_counter()
            stopped, last = compiled(b, row, k, top, before)
            self._since = perf_counter()
            path.reverse += self._since - begin
            path.segments += 1
            if stopped > before:
                self._waiting = path
                return stopped, last
            row, k = before, self.cells[at] - 1
            at -= 1
        return 0, 0

    def look_at_row(self, row: int, k: int, adjoints: Sequence[Real]) -> None:
        """After a record of a mixed stack, which is swept in Python row by row."""
        now = perf_counter()
        path = self.paths[bisect.bisect_right(self.rows, row) - 1]
        path.reverse += now - self._since
        path.segments += 1
        self._since = perf_counter()

    def cost_of_segment(self) -> float:
        b = self.stack.buffers
        times = []
        for _ in range(31):
            begin = perf_counter()
            self._compiled(b, 0, 0, 0)
            times.append(perf_counter() - begin)
        return sorted(times)[len(times) // 2]


class ClosureWatch(RecordWatch):
    """Watches a stack of closures, which are timed one by one."""

    def __init__(self, s: Any, clock: LineClock) -> None:
        super().__init__(s, clock)
        self.paths: list[CallPath] = []

    def note(self, path: CallPath, record: Any) -> tuple[int, int]:
        self.paths.append(path)
        return 1, self.stack.footprint_of(record).bytes

    def prepare_sweep(self) -> None:
        chain = self.stack.chain
        chain[:] = [_time(f, path) for f, path in zip(chain, self.paths, strict=True)]

    def cost_of_segment(self) -> float:
        path = CallPath(None, 0)
        timed, times = _time(lambda adj: None, path), []
        for _ in range(31):
            path.reverse = 0.0
            timed([])
            times.append(path.reverse)
        return sorted(times)[len(times) // 2]


def _time(chain: Callable[[list[Real]], None], path: CallPath) -> Callable[[list[Real]], None]:
    def timed_chain(adj: list[Real]) -> None:
        begin = perf_counter()
        chain(adj)
        path.reverse += perf_counter() - begin
        path.segments += 1

    return timed_chain
