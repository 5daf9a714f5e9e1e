"""The places of active numbers in arguments and results, and source text that reads, lifts and rebuilds them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from numba import types

from contad.engines.tape.variables import Active, ActivePair
from contad.errors import OutputError, UnsupportedError


class Leaf(NamedTuple):
    """A number or an array inside an argument: the expression that reads it, and its type."""

    text: str
    type: Any


def leaves(text: str, kind: Any) -> Iterator[Leaf]:
    """The leaves of the value of an expression of that type, in order."""
    if isinstance(kind, types.BaseTuple):
        for k, inner in enumerate(kind):
            yield from leaves(f"{text}[{k}]", inner)
    else:
        yield Leaf(text, kind)


def map_leaves(function: Callable[[Leaf], str], text: str, kind: Any, names: dict[str, Any]) -> str:
    """The expression for a value of the same structure, with each leaf replaced by the text that `function` gives.

    Classes of named tuples in the expression are added to `names`.
    """
    if not isinstance(kind, types.BaseTuple):
        return function(Leaf(text, kind))
    inner = ", ".join(map_leaves(function, f"{text}[{k}]", item, names) for k, item in enumerate(kind))
    if isinstance(kind, types.BaseNamedTuple):
        name = f"{kind.instance_class.__name__}_{len(names)}"
        names[name] = kind.instance_class
        return f"{name}({inner})"
    return f"({inner},)" if len(kind) else "()"


def is_array(kind: Any) -> bool:
    """Whether a type is an array's."""
    return isinstance(kind, types.Array)


def require_active(position: int, leaf: Leaf) -> None:
    """Raise UnsupportedError unless a leaf of a differentiated argument is a float or an array of them."""
    element = leaf.type.dtype if is_array(leaf.type) else leaf.type
    if element not in (types.float32, types.float64, types.complex128):
        raise UnsupportedError(
            f"argument {position}: expected float64 or complex128 numbers, arrays of up to 3 dimensions, or tuples of "
            f"them, got {leaf.type}; leave it out of argnums, or convert it"
        )


def lower(text: str, kind: Any, names: dict[str, Any]) -> str:
    """The expression for a result without its derivatives, owned by the caller."""

    def plain(leaf: Leaf) -> str:
        if isinstance(leaf.type, ActivePair):
            return f"complex({leaf.text}.real.value, {leaf.text}.imag.value)"
        if isinstance(leaf.type, Active):
            return f"{leaf.text}.value"
        if is_array(leaf.type) and isinstance(leaf.type.dtype, ActivePair):
            return f"join_parts(values({leaf.text}.real), values({leaf.text}.imag))"
        if is_array(leaf.type) and isinstance(leaf.type.dtype, Active):
            return f"values({leaf.text})"
        return f"{leaf.text}.copy()" if is_array(leaf.type) else leaf.text

    return map_leaves(plain, text, kind, names)


def require_number(function: str, kind: Any) -> None:
    """Raise OutputError unless the type is that of one number."""
    if isinstance(kind, types.NoneType):
        raise OutputError(f"{function} returned None; return the value to differentiate")
    if isinstance(kind, (ActivePair, types.Complex)):
        raise OutputError(
            f"{function} returned a complex number; return a real one, such as np.abs(z) or z.real, or ask for "
            "contad.vjp"
        )
    if not isinstance(kind, (Active, types.Float, types.Integer)):
        one = "of an array of one element return z.sum(); " if is_array(kind) else ""
        raise OutputError(
            f"{function} must return one real number, got {kind}; {one}for several outputs use contad.jacobian or "
            "contad.vjp, for extra results has_aux=True"
        )


def require_pair(function: str, kind: Any) -> Any:
    """The type of the first of two results; OutputError if there are not two."""
    if not isinstance(kind, types.BaseTuple) or len(kind) != 2:
        raise OutputError(f"{function} must return (value, aux) as has_aux=True, got {kind}")
    return kind[0]
