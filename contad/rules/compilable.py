"""Functions of contad that Numba functions may call too, by the name that Python calls them by."""

import functools
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Compilable(Generic[P, R]):
    """A function that compiled code finds as an object, whose type tells Numba what to compile in its place.

    `import contad` imports no Numba: what is compiled is found when Numba asks, by `contad.front.inside_njit`.
    """

    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = self.function(*args, **kwargs)
        return found

    def __get__(self, instance: object, owner: type | None = None) -> "Compilable[P, R]":
        """Itself, as an attribute of a class too; which makes it a routine, so `help` shows that of its function."""
        return self

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.function.__name__}>"

    def __reduce__(self) -> str:
        return str(self.function.__qualname__)
