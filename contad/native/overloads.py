"""Numba's `overload` for typing functions that carry annotations, which Numba would compare as text."""

import functools
from collections.abc import Callable
from typing import Any

from numba.extending import overload


def overloaded(function: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`overload(function, **options)`; annotations of the typing function and of the implementation are dropped."""

    def register(typing: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(typing)
        def bare(*args: Any, **kwargs: Any) -> Any:
            implementation = typing(*args, **kwargs)
            if implementation is not None:
                implementation.__annotations__ = {}
            return implementation

        typing.__annotations__ = {}
        bare.__annotations__ = {}
        overload(function, **options)(bare)
        return typing

    return register
