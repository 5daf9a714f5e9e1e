"""What a rule may save for the reverse sweep: numbers, arrays, and tuples of them, by their Numba types."""

from collections.abc import Callable, Iterator
from typing import Any

from numba import types

from contad.errors import UnsupportedError


def require_packable(what: str, kind: Any) -> None:
    """UnsupportedError for a type of something that is not kept so."""
    for _, leaf in leaves("x", kind):
        element = leaf.dtype if isinstance(leaf, types.Array) else leaf
        fits = isinstance(element, (types.Integer, types.Boolean)) or element == types.float64
        if not fits and not isinstance(leaf, types.NoneType):
            raise UnsupportedError(
                f"{what} is kept for the reverse sweep; it must be made of numbers, arrays of float64, integers or "
                f"bools, and tuples of these, got {leaf}"
            )


def _item(text: str, n: int) -> str:
    return f"{text}[{n}]"


def leaves(whole: Any, kind: Any, item: Callable[[Any, int], Any] = _item) -> Iterator[tuple[Any, Any]]:
    """The expression and the type of each number and array in what an expression of some type gives.

    `item` makes the expression of one of a tuple; expressions are texts, or what it makes of them.
    """
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        for n, part in enumerate(kind):
            yield from leaves(item(whole, n), part, item)
    else:
        yield whole, kind


def as_read(kind: Any) -> Any:
    """The type of what is read."""
    if isinstance(kind, types.NoneType):
        return kind
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([as_read(item) for item in kind])
    if isinstance(kind, types.Array):
        return types.Array(kind.dtype, kind.ndim, "C")
    if isinstance(kind, types.Boolean):
        return types.boolean
    return types.int64 if isinstance(kind, types.Integer) else types.float64
