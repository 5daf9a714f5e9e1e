"""A stand-in for a user's object: it reads the user's attributes live, and wraps the objects behind them as stand-ins.

It shares the user's dictionary, so that numbers and arrays are read directly. Only if an attribute holds functions, or
objects with methods, a descriptor in the class of the stand-in answers for it.
"""

import inspect
import threading
from collections.abc import Callable
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

from contad.functions.stand_in_classes import make_class, original
from contad.functions.stand_in_containers import StandInContainer

_MISSING = object()


class _StandingIn:
    """The stand-ins of objects during a call, one for each, by identity; and the objects whose names were checked.

    If arrays have no room for variables, other arrays stand in for them, under the negated identity.
    """

    __slots__ = ("checked", "depth", "objects")

    def __init__(self) -> None:
        self.depth = 0  # depth of nested calls
        self.objects: dict[int, tuple[Any, Any]] = {}
        self.checked: dict[int, Any] = {}

    def forget(self) -> None:
        """Forget all stand-ins."""
        self.objects.clear()
        self.checked.clear()


class _OfThread(threading.local):
    """The same for each thread. A call fetches it once, because reading such an attribute takes as long as a call."""

    def __init__(self) -> None:
        self.here = _StandingIn()


CALL = _OfThread()


class _Reached:
    """An attribute that leads to functions or objects: it returns the stand-in for the user's value."""

    def __init__(self, name: str, of: Callable[[Any], Any], view: type, slot: Any = None) -> None:
        self.name, self.of, self.view, self.slot = name, of, view, slot

    def __get__(self, x: Any, cls: type | None = None) -> Any:
        if x is None:
            return getattr(original(cls or self.view), self.name)
        if self.slot is not None:
            return self.of(self.slot.__get__(user_of(x)))
        value = x.__dict__.get(self.name, _MISSING)
        if value is _MISSING:  # it belongs to the class, or was deleted
            return getattr(super(self.view, x), self.name)
        return self.of(value)

    def __set__(self, x: Any, value: Any) -> None:
        value = user_of(value)
        if self.slot is not None:
            self.slot.__set__(user_of(x), value)
        else:
            x.__dict__[self.name] = value

    def __delete__(self, x: Any) -> None:
        if self.slot is not None:
            self.slot.__delete__(user_of(x))
        elif x.__dict__.pop(self.name, _MISSING) is _MISSING:
            raise AttributeError(self.name)


def user_of(x: Any) -> Any:
    """The user's object, list or function for which this stands in; anything else itself."""
    if isinstance(x, StandInContainer):
        return x.users
    if type(x) is _Namespace:
        return object.__getattribute__(x, "_read")[0]
    slot = vars(type(x)).get(_USERS)
    if slot is not None:
        try:
            return slot.__get__(x)
        except AttributeError:  # a copy of a stand-in
            return x
    return x


_USERS = "_contad_users"


def _same(x: Any, y: Any) -> Any:
    return user_of(x) is user_of(y) or NotImplemented


def _hash(x: Any) -> int:
    return object.__hash__(user_of(x))


def _is_objects(cls: type, name: str) -> bool:
    return getattr(cls, name) is getattr(object, name)


class ObjectView:
    """The class of stand-ins for objects of one of the user's classes; its methods are those of a stand-in class."""

    def __init__(self, cls: type, stand_in: type, of: Callable[[Any], Any], leads_on: Callable[[Any], bool]) -> None:
        self.of, self.leads_on = of, leads_on
        self.is_tuple = issubclass(cls, tuple)
        self.names: set[str] = set()  # names of attributes with an answer
        if self.is_tuple:
            self.made: Any = stand_in
            return
        about: dict[str, Any] = {"__slots__": (_USERS,), "_stands_for": cls}
        about |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        if _is_objects(cls, "__eq__") and _is_objects(cls, "__hash__"):
            about |= {"__eq__": _same, "__hash__": _hash}
        if _is_objects(cls, "__setattr__"):
            about["__setattr__"] = self._make_set(cls)
        self.made = make_class(type(stand_in), cls.__name__, (stand_in,), about)
        for c in cls.__mro__:
            for name, slot in vars(c).items():
                if isinstance(slot, MemberDescriptorType):
                    self._answer_for(name, slot)

    def _make_set(self, cls: type) -> Callable[[Any, str, Any], None]:
        def set_attribute(x: Any, name: str, value: Any) -> None:
            if name not in self.names and (self.leads_on(value) or user_of(value) is not value):
                self._look_at(cls, name)
            object.__setattr__(x, name, value)

        return set_attribute

    def of_object(self, x: Any) -> Any:
        """The stand-in for an object of the class."""
        if self.is_tuple:
            return tuple.__new__(self.made, map(self.of, x))
        new = object.__new__(self.made)
        object.__setattr__(new, _USERS, x)
        names = getattr(x, "__dict__", None)
        if names is not None:
            object.__setattr__(new, "__dict__", names)
            self.look_at(x)
        return new

    def look_at(self, x: Any) -> None:
        """Answer for the attributes of an object that lead to functions or objects."""
        for name in [name for name, y in vars(x).items() if name not in self.names and self.leads_on(y)]:
            self._look_at(type(x), name)

    def _look_at(self, cls: type, name: str) -> None:
        if not hasattr(type(inspect.getattr_static(cls, name, None)), "__set__"):  # a property would take precedence
            self._answer_for(name)

    def _answer_for(self, name: str, slot: Any = None) -> None:
        self.names.add(name)
        type.__setattr__(self.made, name, _Reached(name, self.of, self.made, slot))


class _Namespace(SimpleNamespace):
    """A stand-in for a types.SimpleNamespace: its attributes are stand-ins for the user's."""

    _stands_for = SimpleNamespace
    __hash__ = object.__hash__  # type: ignore[assignment]  # it may be a constant of code

    def __getattribute__(self, name: str) -> Any:
        users, of = object.__getattribute__(self, "_read")
        return vars(users) if name == "__dict__" else of(getattr(users, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_read")[0], name, user_of(value))

    def __delattr__(self, name: str) -> None:
        delattr(object.__getattribute__(self, "_read")[0], name)

    def __repr__(self) -> str:
        return repr(object.__getattribute__(self, "_read")[0])

    def __eq__(self, other: object) -> bool:
        return bool(user_of(self) == user_of(other))


def stand_for_namespace(x: SimpleNamespace, of: Callable[[Any], Any], leads_on: Callable[[Any], bool]) -> Any:
    """The stand-in for a types.SimpleNamespace with functions or objects in it; one of data alone stays itself."""
    if not any(map(leads_on, vars(x).values())):
        return x
    new = _Namespace()
    object.__setattr__(new, "_read", (x, of))
    return new
