"""Users' rules whose functions capture data. These data must not change until a sweep has used them.

An engine may evaluate derivatives when it records an operation, or in the sweep. So each level notes the captured data
at the first use of a rule, and compares them at every later use and before each sweep.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.variables.level import HeldData, Level
from contad.variables.open_types import Function, Value

# (name of a rule, its functions, how to keep arrays) -> the data that they capture, or None
FindCaptured = Callable[[str, Sequence[Function | None], Callable[[np.ndarray], np.ndarray]], HeldData | None]

_data_of: FindCaptured


def set_data_of(find: FindCaptured) -> None:
    """Set the function that finds captured data: (name, functions, how to keep arrays) -> data, or None."""
    global _data_of
    _data_of = find


class Capturing(ABC):
    """A rule whose functions may capture data."""

    name: str
    methods: dict[type, Function]
    reflected: dict[type, Function]
    _without_data: tuple[Function | None, ...] = ()  # functions that are known to capture none
    _found: tuple[tuple[Function | None, ...], HeldData] | None = None  # functions, and the data of the last walk

    @abstractmethod
    def functions(self) -> tuple[Function | None, ...]:
        """All functions of the rule."""

    def has_no_data(self) -> bool:
        """Whether the functions are known to capture no data."""
        return self.__module__.startswith("contad.ops.") or self.functions() == self._without_data

    def read_captured(self, keep: Callable[[np.ndarray], np.ndarray]) -> HeldData | None:
        """The data with their present contents; None if there are none, as in contad's own rules."""
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
        finally:  # every use must come through here, and not through a level's fast implementation
            self.methods = {kind: method for kind, method in self.methods.items() if kind is float}
            self.reflected = {}
        data.forget_changed()
        return z
