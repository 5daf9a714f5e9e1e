"""Whether a recorded function draws random numbers, which its program would repeat for ever."""

import sys
import warnings
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from contad.functions.closure_conversion import Closure
from contad.rules.definition import global_names
from contad.variables.array import numbers_in
from contad.variables.open_types import Function, Nested

# makers of generators that the system may seed; a generator with a fixed seed draws the same at every call
_MAKERS = frozenset(("default_rng", "RandomState", "SeedSequence", "Random", "SystemRandom", "urandom", "token_bytes"))


class DrawWatch:
    """Looks at random number generators before a function is recorded, and warns if they have moved afterwards."""

    def __init__(self, what: str, f: Function, run: Function, args: Sequence[Nested]) -> None:
        self.what, self.run, self.args = what, run, args
        held = list(Closure(f)._held.values()) if isinstance(f, FunctionType) else []
        self.generators = [x for x in (*held, *args) if hasattr(x, "bit_generator")]
        names = set().union(*(global_names(x.__code__) for x in held if isinstance(x, FunctionType)))
        self.makes_generators = bool(names & _MAKERS)
        self.before = self._states()

    def tell(self) -> None:
        """Warn if draws were frozen."""
        if not self._have_moved() and not (self.makes_generators and self._differs()):
            return
        warnings.warn(
            f"{self.what}: it draws random numbers, and the program repeats those of its recording at every call; pass "
            "the draws, or what is made of them, as an argument (or, where they are to stay, make the generator in the "
            "function with a seed)",
            UserWarning, stacklevel=4,
        )  # fmt: skip

    def _states(self) -> dict[Any, Any]:
        states: dict[Any, Any] = {k: x.bit_generator.state for k, x in enumerate(self.generators)}
        if "numpy.random" in sys.modules:
            states["numpy"] = np.random.get_state(legacy=False)  # noqa: NPY002
        if "random" in sys.modules:
            states["random"] = sys.modules["random"].getstate()
        return states

    def _have_moved(self) -> bool:
        after = self._states()  # includes modules that were imported meanwhile
        return any(not _same(x, after[name]) for name, x in self.before.items())

    def _differs(self) -> bool:
        """Whether two calls on the example give different results."""
        if any(numbers_in(x) for x in self.args):
            return False
        first, second = self.run(*self.args), self.run(*self.args)
        return not np.array_equal(np.asarray(first), np.asarray(second), equal_nan=True)


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, dict):
        return isinstance(y, dict) and x.keys() == y.keys() and all(_same(x[k], y[k]) for k in x)
    if isinstance(x, np.ndarray):
        return np.array_equal(x, y)
    return bool(x == y)
