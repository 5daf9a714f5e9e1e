"""Functions of one object, such as code or a class, that cache their results as long as the object lives."""

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


def weak_cache(find: Callable[[T], R]) -> Callable[[T], R]:
    """Call find(x) once for each object x; its result must not refer to x.

    functools.cache would keep x alive. And it would mix up two equal code objects whose equal constants are different
    objects.

    >>> @weak_cache
    ... def name_of(cls):
    ...     return cls.__name__
    >>> name_of(weakref.ref), len(name_of.known)
    ('ReferenceType', 1)
    """
    known: dict[int, tuple[weakref.ref[Any], R]] = {}

    @functools.wraps(find)
    def look_up(x: T) -> R:
        key = id(x)
        entry = known.get(key)
        if entry is None:
            found = find(x)
            entry = known[key] = weakref.ref(x, lambda _: known.pop(key, None)), found
        return entry[1]

    look_up.known = known  # type: ignore[attr-defined]
    return look_up
