"""Copies of the user's classes with copies of their methods: a subclass stands in for a class, and passes for it."""

import abc
import dataclasses
import functools
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

from contad.compile.dispatchers import is_dispatcher

_KEPT = ("__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__annotations__", "__slots__",
         "__abstractmethods__", "_abc_impl", "__contad__")  # fmt: skip


def function_of(x: Any) -> Any:
    """The function of a method as a class holds it: of a property, a static or class method, or a function itself."""
    if isinstance(x, property):
        return x.fget
    return x.func if isinstance(x, functools.cached_property) else getattr(x, "__func__", x)


def stand_for_class(cls: type, bases: tuple[type, ...], is_told: bool) -> Any:
    """A subclass of cls, and of the stand-ins of its bases, still without methods of its own.

    In its method resolution order every class follows its own stand-in, so that Python finds all names in the order of
    cls, and super() continues after cls. If `is_told`, x.__class__ of its objects is cls.
    """
    own = [new for new, c in zip(bases, cls.__bases__, strict=True) if new is not c]
    about: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    about["__slots__"] = ()
    if getattr(cls, "__hash__", None) is None:
        about["__hash__"] = object.__hash__  # its objects may be constants in code, which must be hashable
    if is_told:
        about["__class__"] = property(lambda _: cls)
    return make_class(_metaclass(type(cls)), cls.__name__, (cls, *own), {**about, "_stands_for": cls})


def make_class(kind: type, name: str, bases: tuple[type, ...], about: dict[str, Any]) -> Any:
    """Make a class unseen by a user's metaclass and `__init_subclass__`, which might count classes."""
    makes: Any = abc.ABCMeta if issubclass(kind, abc.ABCMeta) else type
    if not any("__init_subclass__" in vars(c) for base in bases for c in base.__mro__[:-1]):
        return makes.__new__(kind, name, bases, about)
    unnoticed = type(name, (), {"__slots__": (), "__init_subclass__": lambda _: None})
    made = makes.__new__(kind, name, (unnoticed, *bases), about)
    del unnoticed.__init_subclass__  # the user's subclasses of this one call the user's
    return made


def give_methods(new: Any, cls: type, of: Callable[[Any], Any]) -> None:
    """Give the stand-in of a class its methods, with of(f) for each function f."""
    for name, x in vars(cls).items():
        if name in _KEPT or (name == "__hash__" and x is None):
            continue
        if name == "__eq__" and "__dataclass_fields__" in vars(cls) and x.__code__.co_filename == "<string>":
            type.__setattr__(new, name, _equal_data)
            continue
        if isinstance(x, property) and isinstance(x.fget, FunctionType):
            method: Any = property(of(x.fget), x.fset and of(x.fset), x.fdel and of(x.fdel), x.__doc__)
        elif isinstance(x, functools.cached_property):
            method = functools.cached_property(of(x.func))
            method.__set_name__(new, name)
        elif isinstance(x, (staticmethod, classmethod)):
            method = type(x)(of(x.__func__))
        elif isinstance(x, FunctionType) or is_dispatcher(x):
            method = of(x)
        else:
            method = x if name[:2] == "__" else of(x)
            if method is x:
                continue
            if not hasattr(type(x), "__get__"):  # a C function, which is not a method
                method = staticmethod(method)
        type.__setattr__(new, name, method)
    abc.update_abstractmethods(new)


def _equal_data(x: Any, y: Any) -> Any:
    """x == y of a data class, whichever of them is a stand-in."""
    if original(type(x)) is not original(type(y)):
        return NotImplemented
    names = [f.name for f in dataclasses.fields(x) if f.compare]
    return tuple(getattr(x, name) for name in names) == tuple(getattr(y, name) for name in names)


def names_below(new: Any) -> set[str]:
    """The names that the stand-ins of a class and of its bases define themselves."""
    return {name for c in new.__mro__ if "_stands_for" in vars(c) for name in vars(c)}


def original(cls: type) -> type:
    """The class for which a class stands in; any other class itself."""
    return vars(cls).get("_stands_for", cls)


def super_of_users(*args: Any) -> Any:
    """super(...) in a method that names classes, which may be stand-ins: it continues after the original."""
    if not args:
        frame = sys._getframe(1)
        if frame.f_code.co_argcount == 0:
            raise RuntimeError("super(): no arguments")
        args = frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]]
    return super(original(args[0]), *args[1:])


_METACLASSES: WeakValueDictionary[int, Any] = WeakValueDictionary()  # by the identity of their originals


def _metaclass(kind: type) -> Any:
    """A metaclass whose classes accept instances of the original class, and pass assignments on to it."""
    known = _METACLASSES.get(id(kind))
    if known is not None:
        return known

    def of_original(name: str) -> Callable[..., Any]:
        of_kind = getattr(kind, name)  # which the user's subclasses of stand-ins also need
        return lambda cls, *args: of_kind(original(cls), *args)

    def set_attribute(cls: Any, name: str, value: Any) -> None:
        sets: Any = kind.__setattr__
        sets(cls if name == "__abstractmethods__" else original(cls), name, value)

    names: dict[str, Any] = {x: of_original(x) for x in ("__instancecheck__", "__subclasscheck__", "__delattr__")}
    names["__setattr__"] = set_attribute
    above = [_metaclass(c) for c in kind.__bases__ if issubclass(c, type)]
    made = _METACLASSES[id(kind)] = type(kind.__name__, (kind, *above), names)
    return made
