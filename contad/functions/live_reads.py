"""The user's modules, globals and objects as copies of functions see them: read live, through the stand-ins."""

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any
from weakref import ref

from contad.functions.questions import builtins_of
from contad.functions.stand_in_objects import ObjectView


def weakly(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A bound method that does not keep its object alive, for names in code; without the object, x stands for itself.

    The garbage collector does not look into code: a constant of code that leads back to this code would live for ever.
    """
    own, function = ref(method.__self__), method.__func__  # type: ignore[attr-defined]

    def call(x: Any) -> Any:
        found = own()
        return x if found is None else function(found, x)

    return call


class Standing:
    """A user's object with its stand-in, which follows the present attributes of the object."""

    def __init__(self, x: Any, new: Any, view: ObjectView, key: int) -> None:
        self.x, self.new, self.view, self.key = x, new, view, key
        self.kind, self.names = type(x), getattr(x, "__dict__", None)

    def put_into(self, objects: dict[int, tuple[Any, Any]]) -> None:
        """Register it as the stand-in of the object there, by identity."""
        objects[self.key] = self.x, self.new

    def look(self, _: object = None) -> bool:
        """Look at the attributes; return whether the object still has the same class and dictionary."""
        if type(self.x) is not self.kind:
            return False
        if self.names is not None:
            if self.x.__dict__ is not self.names:
                return False
            self.view.look_at(self.x)
        return True


class LiveModule(ModuleType):
    """A user's module, read live, through the stand-ins."""

    def __init__(self, module: ModuleType, of: Callable[[Any], Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        object.__setattr__(self, "_read", (module, of))

    def __getattribute__(self, name: str) -> Any:
        module, of = object.__getattribute__(self, "_read")
        return of(getattr(module, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_read")[0], name, value)

    def __dir__(self) -> list[str]:
        return dir(object.__getattribute__(self, "_read")[0])


def is_of_module(names: dict[str, Any]) -> bool:
    """Whether these globals belong to a loaded module, and so live as long as Python runs."""
    module = sys.modules.get(names.get("__name__", ""))
    return module is not None and vars(module) is names


class LiveGlobals(dict[str, Any]):
    """The globals of a function, read live, through the stand-ins."""

    def __init__(self, f: FunctionType, stand_ins: Any) -> None:
        real = f.__globals__
        # names that Python reads past __missing__: for imports, warnings and classes inside the function
        super().__init__({name: real[name] for name in ("__name__", "__package__", "__spec__") if name in real})
        super().__setitem__("__builtins__", builtins_of(f, stand_ins.family.stand_ins))
        self.real = real
        self.stand_ins = stand_ins

    def __missing__(self, name: str) -> Any:
        return self.stand_ins.of(self.real[name])

    # for code that calls globals()
    def __setitem__(self, name: str, value: object) -> None:
        self.real[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.real

    def get(self, name: str, default: object = None) -> Any:
        return self[name] if name in self.real else default
