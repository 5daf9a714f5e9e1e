"""Results of transforms as objects: how they pickle, and how a notebook shows them.

They pickle by the transform, its options and the function. The pickle holds the function by name if its reader can find
it by that name. It holds a Numba function of `__main__`, or one made inside a function, by value, as Numba does.
"""

import contextlib
import functools
import inspect
import pkgutil
import sys
import threading
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from contad.errors import UnsupportedError
from contad.functions.user_call import name_of, numba_function
from contad.variables.open_types import Function, Nested, Options


class Transformed:
    """`run`, which transform(f, *args, **options) has made: a function with a pickle."""

    def __init__(self, run: Function, transform: Function, *args: Nested, **options: Nested) -> None:
        functools.update_wrapper(self, run)
        self.run = run
        self.made_by = transform, args, options

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        return self.run(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<contad.{self.run.__name__}>"

    def _repr_html_(self) -> str:
        transform, args, options = self.made_by
        given = [*map(repr, args[1:]), *(f"{name}={x!r}" for name, x in options.items())]
        facts = [("made by", f"contad.{transform.__name__}(f{''.join(f', {text}' for text in given)})")]
        return write_function(repr(self)[1:-1], args[0] if args else self.run, facts)

    def __reduce__(self) -> str | tuple[Any, ...]:
        transform, args, options = self.made_by
        return own_name(self) or (remade, (transform, tuple(map(reference, args)), options))


class Decorated(Transformed):
    """A function that replaces another one, and can also be called as a method.

    Compiled code calls the original one.
    """

    @property
    def decorated(self) -> Function:
        """The other function."""
        found: Function = self.made_by[1][0]
        return found

    def __reduce__(self) -> str | tuple[Any, ...]:
        return by_value(self) or super().__reduce__()

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """As for functions: the object is the first argument."""
        return self if instance is None else MethodType(self, instance)


SEND = "send the function and its arguments, and call contad.vjp there"


class OfThisProcess:
    """A function that holds a recording of one process. Pickling it raises an error that says what to send instead."""

    def __init__(self, run: Callable[[Nested], Nested], name: str, remedy: str) -> None:
        self.run = run
        self.__name__ = self.__qualname__ = name
        self.remedy = remedy

    def __call__(self, cotangent: Nested) -> Nested:
        return self.run(cotangent)

    def __repr__(self) -> str:
        return f"<{self.__qualname__}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise UnsupportedError(f"pickle: the {self.__qualname__} holds what this process has recorded; {self.remedy}")


def own_name(x: Any) -> str | None:
    """The name that leads to x in its module, for example to the result of a decorator; None if there is none.

    It does not search the main program, because another process may have a different one.
    """
    if x.__module__ == "__main__":
        return None
    found: Any = sys.modules.get(x.__module__)
    for part in x.__qualname__.split("."):
        found = getattr(found, part, None)
    return str(x.__qualname__) if found is x else None


_SAVING = threading.local()


def by_value(x: Any) -> tuple[Any, ...] | None:
    """The pickled form of an object of the main program that has taken the names of functions; None for other modules.

    By cloudpickle, which saves functions of the main program by value. cloudpickle also saves the objects inside of x.
    """
    if x.__module__ != "__main__" or getattr(_SAVING, "is_going_on", False):
        return None
    from numba import cloudpickle

    _SAVING.is_going_on = True
    try:
        return cloudpickle.loads, (cloudpickle.dumps(x),)
    finally:
        _SAVING.is_going_on = False


class _Named:
    """The name of a function in a pickle, `module:qualified.name`."""

    def __init__(self, name: str) -> None:
        self.name = name


def reference(f: Nested) -> Nested:
    """A Numba function by name, if another process finds it by this name; anything else unchanged."""
    dispatcher = numba_function(f)
    name = None if dispatcher is None else own_name(dispatcher)
    return _Named(f"{dispatcher.__module__}:{name}") if name else f


def remade(transform: Function, args: tuple[Nested, ...], options: Options) -> Any:
    """Make the object in a pickle again."""
    return transform(*(pkgutil.resolve_name(x.name) if isinstance(x, _Named) else x for x in args), **options)


# ---- notebooks -------------------------------------------------------------------------------------------------------
def write_function(title: str, f: Any, facts: Sequence[tuple[str, object]], *more: str) -> str:
    """The HTML of an object made from the user's function f: facts about it, more markup, and the source of f."""
    from contad.display.markup import code_block, fold, page, table

    plain = getattr(f, "py_func", f)
    while isinstance(plain, functools.partial):
        plain = plain.func
    rows = [("function", f"{name_of(f)}{_signature(f)}"), *facts]
    code = getattr(plain, "__code__", None)
    if code is not None:
        rows.append(("defined in", f"{code.co_filename}:{code.co_firstlineno}"))
    parts = [table(["", " "], rows, left=", "), *more]
    with contextlib.suppress(OSError, TypeError):  # typed at the console, or not Python code
        parts.append(fold("source", code_block(inspect.getsource(plain).rstrip())))
    return page(title, *parts)


def list_arguments(f: Any, argnums: Sequence[int]) -> str:
    """The names of arguments, or their numbers if they have no names."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        names = []
    return ", ".join(names[n] if n < len(names) else f"argument {n}" for n in argnums)


def _signature(f: Any) -> str:
    try:
        return str(inspect.signature(f))
    except (TypeError, ValueError):
        return "(...)"
