"""The user's containers with stand-ins for the functions in them. A change to one changes the user's container, too."""

import operator
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from contad.variables.trees import map_leaves


class StandInContainer:
    """A stand-in for a user's container that can be a constant of code."""

    __slots__ = ()
    users: Any
    users_of: Callable[[Any], Any]
    before: "list[Any]"  # the contents of the user's, as last seen
    __hash__ = object.__hash__


def _mirroring(kind: type, name: str) -> Callable[..., Any]:
    """A method that changes a container, and the user's container in the same way."""
    own = getattr(kind, name)

    def change(container: Any, *args: Any, **options: Any) -> Any:
        users = map_leaves(container.users_of, (args, options))
        getattr(container.users, name)(*users[0], **users[1])
        container.before = contents_of(container.users)
        return own(container, *args, **options)

    change.__name__ = name
    return change


_CHANGING: dict[Any, tuple[str, ...]] = {
    list: ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "__setitem__", "__delitem__",
           "__iadd__", "__imul__"),
    dict: ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update", "setdefault", "__ior__"),
    set: ("add", "discard", "remove", "pop", "clear", "update", "difference_update", "intersection_update",
          "symmetric_difference_update", "__ior__", "__iand__", "__isub__", "__ixor__"),
    deque: ("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "remove", "clear", "reverse",
            "rotate", "__setitem__", "__delitem__", "__iadd__", "__imul__"),
}  # fmt: skip
_CHANGING[defaultdict] = _CHANGING[dict]


def _stand_in(kind: Any) -> Any:
    methods = {name: _mirroring(kind, name) for name in _CHANGING[kind]}
    return type(kind.__name__, (StandInContainer, kind), {"__module__": __name__, "_stands_for": kind, **methods})


_STAND_INS = {kind: _stand_in(kind) for kind in _CHANGING}
CONTAINERS = frozenset((*_CHANGING, tuple, frozenset))
MAPPINGS = frozenset((dict, defaultdict))


def stand_for_container(x: Any, of: Callable[[Any], Any], users_of: Callable[[Any], Any]) -> Any:
    """The stand-in for a container, with of(y) for each item y; users_of(z) is the object for which z stands."""
    kind = type(x)
    if kind in (tuple, frozenset):
        return kind(map(of, x))
    new = make_empty(x, users_of)
    fill(new, of)
    return new


def make_empty(x: Any, users_of: Callable[[Any], Any]) -> Any:
    """The still empty stand-in for a mutable container; `fill` fills it."""
    made = _STAND_INS[type(x)]
    new = made.__new__(made)
    new.users, new.users_of = x, users_of
    return new


def fill(new: Any, of: Callable[[Any], Any]) -> None:
    """Put of(y) for each item y of the user's container into its stand-in."""
    x, kind = new.users, type(new)._stands_for
    if kind in MAPPINGS:
        more = (x.default_factory and of(x.default_factory),) if kind is defaultdict else ()
        kind.__init__(new, *more, [(key, of(y)) for key, y in x.items()])
    else:
        more = (x.maxlen,) if kind is deque else ()
        kind.__init__(new, [of(y) for y in x], *more)
    new.before = contents_of(x)


def bring_up_to_date(new: Any, of: Callable[[Any], Any]) -> None:
    """Take over changes in the user's container since the last look."""
    now = contents_of(new.users)
    if len(now) != len(new.before) or not all(map(operator.is_, now, new.before)):
        kind = type(new)._stands_for
        kind.clear(new)
        fill(new, of)


def contents_of(x: Any) -> list[Any]:
    """The contents of a container."""
    return [*x, *x.values()] if type(x) in MAPPINGS else [*x]


class Contents:
    """The contents of a container. `get` says whether they are unchanged; it has the signature of `dict.get`."""

    def __init__(self, x: Any) -> None:
        self.container = x
        self.before = contents_of(x)

    def get(self, name: str) -> bool:
        """Whether nothing has changed."""
        now = contents_of(self.container)
        return len(now) == len(self.before) and all(map(operator.is_, now, self.before))
