"""Which of NumPy's functions have bodies written as loops, by the number of axes of the arguments."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple


class LoopBody(NamedTuple):
    """One way to compute a function."""

    function: Any
    # for each argument up to the last given one its number of axes, 0 for a number; None if it is None, or omitted with
    # default None; a text is the argument itself
    ndims: tuple[int | str | None, ...]


class ArrayFunction(NamedTuple):
    """A NumPy function: its signature, and its bodies by the axes of its arguments."""

    numpy: Callable[..., Any]
    signature: inspect.Signature
    bodies: list[LoopBody]

    def body(self, ndims: tuple[int | str | None, ...]) -> Any:
        """The body for arguments with these numbers of axes; None if there is none."""
        return next((body.function for body in self.bodies if body.ndims == ndims), None)


ARRAY_FUNCTIONS: dict[Any, ArrayFunction] = {}


def loop_body(numpy: Any, names: str, *ndims: int | str | None) -> Callable[[Any], Any]:
    """Register a function as the body of a NumPy function with arguments `names`, for these numbers of axes."""

    def add(function: Any) -> Any:
        text = f"lambda {names}: None"
        known = ARRAY_FUNCTIONS.setdefault(numpy, ArrayFunction(numpy, inspect.signature(eval(text)), []))
        known.bodies.append(LoopBody(function, ndims))
        return function

    return add
