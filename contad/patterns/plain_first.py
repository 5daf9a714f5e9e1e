"""Functions of arrays that run in plain Python until this has taken as long as their compilation would."""

import contextlib
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from contad.compile.compiling import NJIT_OPTIONS
from contad.engines.stream.patience import PATIENCE
from contad.variables.open_types import Function


class OutOfPatience(Exception):
    """A call in plain Python takes longer than expected."""


class Spent:
    """The seconds that all functions have taken in plain Python, by their iterations."""

    ITERATION = 1e-6  # seconds
    SMALLER = 0.5  # compile time relative to the sweeps of recordings

    def __init__(self) -> None:
        self.seconds = 0.0

    def iterations_left(self, is_kept: bool) -> int:
        """How many more iterations plain Python may take; `is_kept` tells whether machine code is on the disk."""
        limit = PATIENCE.loading if is_kept else self.SMALLER * PATIENCE.compiling
        return int((limit - self.seconds) / self.ITERATION)

    def add(self, iterations: int) -> None:
        """Count iterations."""
        self.seconds += self.ITERATION * iterations


SPENT = Spent()


class PlainFirst:
    """A function that runs in plain Python or compiled. If it has helpers, it must not change its arguments.

    iterations  function of the arguments: how many iterations of loops a call takes, in addition to calls of helpers
    helpers     functions that it calls, which are compiled into it; each call counts as one
    """

    def __init__(
        self, function: Function, signature: str | None, iterations: Callable[..., int],
        helpers: Sequence[Function],
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, function)
        self.function, self.signature, self.iterations, self.helpers = function, signature, iterations, helpers
        self.compiled: Any = None

    def __call__(self, *args: Any) -> Any:
        if self.compiled is None:
            iterations, most = int(self.iterations(*args)), SPENT.iterations_left(self.is_kept)
            if iterations <= most:
                SPENT.add(iterations)
                with contextlib.suppress(OutOfPatience), np.errstate(all="ignore"):
                    return self.plainly(most - iterations)(*args)
            self.compiled = self.compile()
        return self.compiled(*args)

    @functools.cached_property
    def is_kept(self) -> bool:
        """Whether Numba's cache has the machine code, at its default place."""
        file = Path(self.function.__code__.co_filename)
        return next((file.parent / "__pycache__").glob(f"{file.stem}.{self.function.__name__}-*.nbi"), None) is not None

    def plainly(self, most: int) -> Callable[..., Any]:
        """The function in plain Python; it raises OutOfPatience after `most` calls of helpers."""
        left = most

        def count(helper: Function) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    raise OutOfPatience
                SPENT.add(1)
                return helper(*args)

            return call

        return self._with({helper.__name__: count(helper) for helper in self.helpers})

    def compile(self) -> Any:
        """The function, compiled by Numba or loaded from the disk."""
        from contad.compile.machine_code import njit

        helpers = {f.__name__: njit(inline="always", **(NJIT_OPTIONS | {"cache": False}))(f) for f in self.helpers}
        signature = () if self.signature is None else (self.signature,)
        return njit(*signature, **NJIT_OPTIONS)(self._with(helpers))

    def _with(self, helpers: dict[str, Any]) -> FunctionType:
        """The function with these helpers in place of its own."""
        f = self.function
        made = FunctionType(f.__code__, sys.modules[f.__module__].__dict__ | helpers, f.__name__)
        made.__module__, made.__qualname__ = f.__module__, f.__qualname__
        return made


def plain_first(
    signature: str | None, iterations: Callable[..., int], *helpers: Function
) -> Callable[[Function], PlainFirst]:
    """Declare a function to be compiled once that pays: see `PlainFirst`."""
    return lambda function: PlainFirst(function, signature, iterations, helpers)
