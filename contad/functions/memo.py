"""Everything made from a function, or for a class, kept with it."""

from collections.abc import Hashable
from types import MethodType
from typing import Any

from contad.variables.open_types import NumbaFunction


class Memo(dict[Any, Any]):
    """Everything made from a function. A pickle of the function by value leaves it out."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        return Memo, ()


def memo_of(f: NumbaFunction) -> dict[Hashable, Any]:
    """The memo of f, kept in an attribute of f so that it dies with f; a new one if f takes no attributes."""
    memo: dict[Hashable, Any] = Memo()
    # each access makes a new bound method; its dictionary is the function's, which would keep the instance alive
    if not isinstance(f, MethodType) and hasattr(f, "__dict__"):
        # functools.wraps and copy.copy copy the memo of f, so it must name its owner
        owner, memo = f.__dict__.get("__contad__", (None, memo))
        if owner is not f and isinstance(f.__dict__, dict):
            memo = Memo()
            f.__dict__["__contad__"] = f, memo
    return memo


def memo_for(cls: type) -> dict[Hashable, Any]:
    """The memo of methods for objects of a user's class, kept in an attribute of the class."""
    made = vars(cls).get("__contad__")
    if made is None or made[0] is not cls:  # a copy of a class has the attributes of the original
        made = cls, Memo()
        type.__setattr__(cls, "__contad__", made)
    memo: dict[Hashable, Any] = made[1]
    return memo
