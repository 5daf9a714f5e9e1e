"""Lists and dicts of the user's with stand-ins of functions in them; what is done to one is done to the user's, too."""

import operator
from collections.abc import Callable
from typing import Any

from contad.variables.trees import map_leaves


def _mirroring(kind: type, name: str) -> Callable[..., Any]:
    """A method that changes a container, and the user's in the same way."""
    own = getattr(kind, name)

    def change(container: Any, *args: Any, **options: Any) -> Any:
        users = map_leaves(container.users_of, (args, options))
        getattr(container.users, name)(*users[0], **users[1])
        return own(container, *args, **options)

    change.__name__ = name
    return change


class StandInList(list[Any]):
    """A list in place of one of the user's, which can be a constant of code."""

    users: list[Any]
    users_of: Callable[[Any], Any]
    __hash__ = object.__hash__  # type: ignore[assignment]


class StandInDict(dict[Any, Any]):
    """The same for a dict."""

    users: dict[Any, Any]
    users_of: Callable[[Any], Any]
    __hash__ = object.__hash__  # type: ignore[assignment]


for _name in ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "__setitem__", "__delitem__",
              "__iadd__", "__imul__"):  # fmt: skip
    setattr(StandInList, _name, _mirroring(list, _name))
for _name in ("__setitem__", "__delitem__", "pop", "popitem", "clear", "update", "setdefault", "__ior__"):
    setattr(StandInDict, _name, _mirroring(dict, _name))


def stand_for_container(
    x: list[Any] | dict[Any, Any], of: Callable[[Any], Any], users_of: Callable[[Any], Any]
) -> StandInList | StandInDict:
    """What stands for a list or dict, with of(y) for what is in it; users_of(z) is what z stands for."""
    new: Any = StandInDict((key, of(y)) for key, y in x.items()) if isinstance(x, dict) else StandInList(map(of, x))
    new.users, new.users_of = x, users_of
    return new


class Contents:
    """What is in a list or dict now; `get` tells whether it still is, as a dictionary of names tells of a name."""

    def __init__(self, x: list[Any] | dict[Any, Any]) -> None:
        self.container = x
        self.before = self._now()

    def get(self, name: str) -> bool:
        """Whether nothing has changed."""
        now = self._now()
        return len(now) == len(self.before) and all(map(operator.is_, now, self.before))

    def _now(self) -> list[Any]:
        x = self.container
        return [*x, *x.values()] if isinstance(x, dict) else [*x]
