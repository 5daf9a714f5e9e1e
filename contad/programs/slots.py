"""Slots: memory that values use one after the other, by a linear scan over their live ranges."""

from collections.abc import Sequence
from typing import NamedTuple

ALIGNED = 8  # numbers of a cache line


def align(n: int) -> int:
    """n rounded up to whole cache lines."""
    return -(-n // ALIGNED) * ALIGNED


class Live(NamedTuple):
    """The numbers of a value, and the first and the last moment at which it is live."""

    width: int
    first: int
    last: int | None  # None if its slot is never free again
    is_of_strip: bool = True  # whether the width is that of each unit of a strip; other values share no slots


class Slots:
    """Memory in slots, each of which serves values of one width."""

    def __init__(self) -> None:
        self.widths: list[tuple[int, bool]] = []  # of each slot, and whether that is per unit of a strip
        self.free: dict[int, list[int]] = {}
        self.places: list[int] = []

    def take(self, width: int, is_of_strip: bool = True) -> int:
        """The number of a slot of this width."""
        if is_of_strip and self.free.get(width):
            return self.free[width].pop()
        self.widths.append((width, is_of_strip))
        return len(self.widths) - 1

    def give(self, slot: int) -> None:
        """Free a slot for reuse."""
        self.free.setdefault(self.widths[slot][0], []).append(slot)

    def scan(self, values: Sequence[Live]) -> list[int]:
        """The slot of each value: values that are live at the same moment have different slots."""
        events = [(live.first, False, k) for k, live in enumerate(values)]
        events += [(live.last, True, k) for k, live in enumerate(values) if live.last is not None]
        found = [-1] * len(values)
        for _, is_end, k in sorted(events):
            if is_end:
                self.give(found[k])
            else:
                found[k] = self.take(values[k].width, values[k].is_of_strip)
        return found

    @property
    def width(self) -> int:
        """Numbers for each unit of a strip."""
        return sum(width for width, is_of_strip in self.widths if is_of_strip)

    def lay_out(self, start: int, units: int = 1) -> int:
        """Give the slots places from `start` on; returns their end."""
        self.places = []
        for width, is_of_strip in self.widths:
            self.places.append(start)
            start = align(start + width * (units if is_of_strip else 1))
        return start
