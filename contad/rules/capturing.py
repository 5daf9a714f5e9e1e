"""Users' rules whose functions capture data: arrays and numbers that must stay the same while a sweep needs them.

Engines evaluate derivatives when an operation is recorded, or in the sweep, as suits them. So each level notes what a
rule captures when it is first used there, and compares at every further use and before each sweep.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.variables.level import HeldData, Level
from contad.variables.open_types import Function, Value

# from the name of a rule, its functions, and how arrays are kept: the data that they capture; None where there are none
FindCaptured = Callable[[str, Sequence[Function | None], Callable[[np.ndarray], np.ndarray]], HeldData | None]

_data_of: FindCaptured


def set_data_of(find: FindCaptured) -> None:
    """What finds the data that functions capture: (name, functions, how arrays are kept); None without any."""
    global _data_of
    _data_of = find


class Capturing(ABC):
    """A rule, whose functions may capture data."""

    name: str
    methods: dict[type, Function]
    reflected: dict[type, Function]
    _without_data: tuple[Function | None, ...] = ()  # functions that have been found to capture none
    _found: tuple[tuple[Function | None, ...], HeldData] | None = None  # functions, and the data of the last walk

    @abstractmethod
    def functions(self) -> tuple[Function | None, ...]:
        """All functions of the rule."""

    def has_no_data(self) -> bool:
        """Whether the functions capture no data, as far as they have been looked at."""
        return self.__module__.startswith("contad.ops.") or self.functions() == self._without_data

    def read_captured(self, keep: Callable[[np.ndarray], np.ndarray]) -> HeldData | None:
        """The data with their present contents; None where there are none, as in rules of contad's own."""
        if self.has_no_data():
            return None
        functions = self.functions()
        known = self._found
        if known is not None and known[0] == functions:
            again = known[1].again()
            if again is not None:
                return again
        self._found = None
        found = _data_of(self.name, functions, keep)
        if found is None:
            self._without_data = functions
            return None
        again = found.again()
        if again is None:
            return found
        self._found = functions, found
        return again

    def apply_on(self, owner: Level, apply: Function, *args: Any) -> Value:
        """apply(self, *args), a method of the level that owns the operation, which holds the data of the rule."""
        data = owner.hold(self)
        if data is None:
            return apply(self, *args)
        try:
            z = apply(self, *args)
        finally:  # every use is to come this way, and not by what levels have made for speed
            self.methods = {kind: method for kind, method in self.methods.items() if kind is float}
            self.reflected = {}
        data.forget_changed()
        return z
