"""Whether a Numba function may run once more than the user calls it: it neither draws random numbers nor prints."""

from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from contad.rules.function_names import global_names, named_values

ONCE = frozenset(("random", "print", "objmode"))  # names in functions that are not to run once more


def is_repeatable(f: FunctionType) -> bool:
    """Whether a function itself does nothing that a second run would do again; not those that it calls."""
    names = global_names(f.__code__)
    found = list(named_values(f).values())
    found += [vars(x)[name] for x in found if isinstance(x, ModuleType) for name in names & vars(x).keys()]
    return not names & ONCE and not any(map(draws, found))


def draws(x: Any) -> bool:
    """Whether something is np.random, or a function of it under any name."""
    owner = getattr(x, "__self__", None)
    home = x.__name__ if isinstance(x, ModuleType) else getattr(x, "__module__", None) or ""
    return isinstance(owner, np.random.RandomState) or "random" in str(home).split(".")
