"""Whether what has been read is the same objects as before."""

from collections.abc import Callable, Collection
from operator import is_
from typing import Any


class SameObjects:
    """Reads with the objects that they gave, one or several each, compared by identity."""

    __slots__ = ("several", "single")

    def __init__(self) -> None:
        self.single: list[tuple[Callable[[], Any], object]] = []
        self.several: list[tuple[Callable[[], Collection[Any]], list[object]]] = []

    def add(self, read: Callable[[], Any], x: object) -> None:
        """One object, which has been read."""
        self.single.append((read, x))

    def add_each(self, read: Callable[[], Collection[Any]]) -> None:
        """What a container holds now."""
        self.several.append((read, [*read()]))

    def hold(self) -> bool:
        """Whether every read gives the same objects."""
        for read, x in self.single:
            if read() is not x:
                return False
        for each, xs in self.several:
            now = each()
            if len(now) != len(xs) or not all(map(is_, now, xs)):
                return False
        return True
