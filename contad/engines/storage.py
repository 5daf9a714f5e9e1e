"""The storage of a recording: records, values, constants and adjoints in buffers that are reused.

Values and adjoints reserve address space once, where the system gives memory page by page on first use, so that they
never move in ordinary recordings; beyond it they grow by doubling. A cell's value is written once, so a view of the
old buffer stays right.
"""

import mmap
import sys
from typing import Any

import numpy as np

from contad.engines.sweep import FORMS

ROWS = 4096
RESERVED = 1 << 27 if sys.maxsize > 1 << 32 else 1 << 20  # numbers: 1 GiB of addresses


def reserved(size: int = RESERVED) -> np.ndarray:
    """An array whose memory is taken from the system as it is used; smaller where the system refuses."""
    if sys.platform == "win32":  # which charges memory when it is reserved
        return np.empty(ROWS)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    while True:
        try:
            return np.frombuffer(mmap.mmap(-1, 8 * size, flags=flags), np.float64)
        except (OSError, ValueError, MemoryError):
            if size <= ROWS:
                raise
            size //= 4


class Buffers:
    """The storage of one recording, reused from one gradient to the next."""

    __slots__ = ("adjoints", "constants", "records", "shapes", "shapes_stream", "staging", "stream", "values")

    def __init__(self) -> None:
        self.stream: list[Any] = []
        self.shapes_stream: list[int] = []
        self.staging: Any = np.empty((ROWS, 4))
        self.records = np.zeros((ROWS, 3))
        self.values = reserved()
        self.adjoints = reserved()
        self.constants = np.ones(ROWS)  # what kernels read as constant arrays: a one, the number of a record, copies
        self.shapes = np.zeros(ROWS, np.int64)
        self.shapes[: len(FORMS)] = FORMS

    def grow(self, name: str, n: int) -> None:
        """Make the buffer of that name hold n entries, doubling it."""
        old = getattr(self, name)
        if n > len(old):
            new = np.empty((max(n, 2 * len(old)), *old.shape[1:]), old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def zero_adjoints(self, n: int) -> np.ndarray:
        """The adjoints of n cells, zero."""
        if n > len(self.adjoints):
            self.adjoints = np.empty(len(self.values))
        adjoints = self.adjoints[:n]
        adjoints[:] = 0.0
        return adjoints
