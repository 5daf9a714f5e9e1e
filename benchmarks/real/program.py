"""One function of a field, with arguments of a size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Real:
    """A function, the work that it stands for, and its arguments from a generator and a size.

    It is differentiated by the arguments `argnums`. `why` says what takes the time where a gradient is dear.
    """

    function: Any  # a Numba function
    stands_for: str
    make: Callable[[np.random.Generator, int], tuple[Any, ...]]
    argnums: tuple[int, ...]
    small: int  # the size in tests
    large: int
    why: str = ""

    @property
    def name(self) -> str:
        return str(self.function.__name__)

    def arguments(self, size: int) -> tuple[Any, ...]:
        """The same ones at every call."""
        return self.make(np.random.default_rng(21), size)
