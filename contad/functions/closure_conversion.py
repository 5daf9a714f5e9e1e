"""Closure conversion: the variables that a function captures become arguments of it.

A function that a solver calls may read variables that are not its arguments. contad finds them behind names, and makes
copies of the functions and objects that lead to them, with other values. The user's objects do not change.
"""

import copy
import dis
import functools
import sys
from collections.abc import Callable, Sequence
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from contad.compile.dispatchers import is_dispatcher
from contad.errors import OWN_FILES
from contad.functions.reached import is_installed
from contad.rules.definition import codes_of, global_names
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Value
from contad.variables.weak_cache import weak_cache

_EMPTY = object()  # the contents of an empty cell
_LIBRARIES = frozenset(("contad", "numpy", "numba", *sys.stdlib_module_names)) - {"__main__"}
_PLAIN = (float, int, bool, str, bytes, complex, type(None), type, np.generic)


class Closure:
    """A function with the values that it captures at this moment; `variables` has each captured variable once.

    The search covers captured names, globals that the function names, defaults, arguments of functools.partial,
    attributes of objects of the user's classes, functions among all these, and lists, tuples, dicts and object arrays.
    Names that the function assigns to itself stay the user's. `kind` is the class that stands for a variable elsewhere.

    >>> import contad
    >>> with contad.nested():
    ...     x = contad.var(3.0)
    ...     closure = Closure(lambda t: x * t)
    ...     closure.variables[0] is x, closure.bind([5.0])(2.0)
    (True, 10.0)
    """

    def __init__(self, f: Function, kind: Any = Carrier) -> None:
        self.f, self.kind = f, kind
        self.variables: list[Value] = []
        self._held: dict[int, Any] = {}  # by identity; held, so that identities stay theirs
        self._parents: dict[int, list[int]] = {}
        self._contents: dict[int, Any] = {}  # of cells, at this moment
        self._visit(f, None)
        self._changes: set[int] = set()  # objects that lead to a variable
        ahead = [id(x) for x in self.variables]
        while ahead:
            known = ahead.pop()
            if known not in self._changes:
                self._changes.add(known)
                ahead += self._parents[known]

    def bind(self, values: Sequence[Value]) -> Function:
        """The function with these values in place of its variables."""
        if not self.variables:
            return self.f
        made: dict[int, Any] = {id(x): value for x, value in zip(self.variables, values, strict=True)}
        return self._rebuild(self.f, made)

    # ---- the walk ----------------------------------------------------------------------------------------------------
    def _visit(self, x: Any, parent: int | None) -> None:
        if isinstance(x, _PLAIN) or (isinstance(x, np.ndarray) and x.dtype != object):
            return
        known = id(x) in self._held
        self._held[id(x)] = x
        self._parents.setdefault(id(x), []).extend([] if parent is None else [parent])
        if known:
            return
        if isinstance(x, self.kind):
            self.variables.append(x)
            return
        for part in self._parts(x):
            self._visit(part, id(x))

    def _parts(self, x: Any) -> list[Any]:
        if isinstance(x, FunctionType):
            for cell in x.__closure__ or ():
                self._contents.setdefault(id(cell), _contents(cell))
                self._held[id(cell)] = cell
            captured = [self._contents[id(cell)] for cell in x.__closure__ or ()]
            names = () if _is_library_file(x.__code__.co_filename) else global_names(x.__code__) & x.__globals__.keys()
            named = [x.__globals__[name] for name in names]
            return [*captured, *named, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
        if isinstance(x, functools.partial):
            return [x.func, *x.args, *x.keywords.values()]
        if isinstance(x, MethodType):
            return [x.__func__, x.__self__]
        if isinstance(x, dict):
            return list(x.values())
        if isinstance(x, (list, tuple)):
            return list(x)
        if isinstance(x, np.ndarray):
            return list(x.flat)
        if is_dispatcher(x) or _is_of_library(type(x).__module__):
            return []
        return [*_attributes(x).values(), vars(type(x)).get("__call__")]

    # ---- copies ------------------------------------------------------------------------------------------------------
    def _rebuild(self, x: Any, made: dict[int, Any]) -> Any:
        if id(x) in made:
            return made[id(x)]
        if id(x) not in self._changes or self._held.get(id(x)) is not x:
            return x
        again: Callable[[Any], Any] = functools.partial(self._rebuild, made=made)
        if isinstance(x, FunctionType):
            return self._rebuild_function(x, made, again)
        if isinstance(x, functools.partial):
            return functools.partial(again(x.func), *map(again, x.args), **{k: again(v) for k, v in x.keywords.items()})
        if isinstance(x, MethodType):
            return MethodType(again(x.__func__), again(x.__self__))
        if isinstance(x, dict):
            made[id(x)] = new = copy.copy(x)
            new.update({k: again(v) for k, v in x.items()})
            return new
        if isinstance(x, list):
            made[id(x)] = items = copy.copy(x)
            items[:] = map(again, x)
            return items
        if isinstance(x, tuple):
            return type(x)(*map(again, x)) if hasattr(x, "_fields") else type(x)(map(again, x))
        if isinstance(x, np.ndarray):
            elements = [again(v) for v in x.flat]
            plain = all(isinstance(v, (float, int, np.number)) for v in elements)
            return np.array(elements, float if plain else object).reshape(x.shape)
        made[id(x)] = one = copy.copy(x)
        for name, attribute in _attributes(x).items():
            if id(attribute) in self._changes:
                object.__setattr__(one, name, again(attribute))
        return one

    def _rebuild_function(self, f: FunctionType, made: dict[int, Any], again: Callable[[Any], Any]) -> FunctionType:
        own = not _is_library_file(f.__code__.co_filename)
        names = {n: f.__globals__[n] for n in global_names(f.__code__) & f.__globals__.keys() if own}
        changed = {n for n, x in names.items() if id(x) in self._changes and self._held.get(id(x)) is x}
        scope = dict(f.__globals__) if changed else f.__globals__
        written = _written_names(f)
        closure = f.__closure__ or ()
        cells = [
            cell if name in written and id(self._contents[id(cell)]) not in self._changes else CellType()
            for name, cell in zip(f.__code__.co_freevars, closure, strict=True)
        ]
        new = FunctionType(f.__code__, scope, f.__name__, None, tuple(cells))
        made[id(f)] = new
        new.__defaults__ = f.__defaults__ and tuple(map(again, f.__defaults__))
        new.__kwdefaults__ = f.__kwdefaults__ and {k: again(v) for k, v in f.__kwdefaults__.items()}
        new.__qualname__, new.__module__ = f.__qualname__, f.__module__
        scope.update({n: again(names[n]) for n in changed})
        for cell, old in zip(cells, closure, strict=True):
            if cell is not old and self._contents[id(old)] is not _EMPTY:
                cell.cell_contents = again(self._contents[id(old)])
        return new


def _attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object, including those in slots."""
    names = [name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ()) if hasattr(x, name)]
    slots = {name: getattr(x, name) for name in names if name not in ("__dict__", "__weakref__")}
    return slots | getattr(x, "__dict__", {})


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


@weak_cache
def _written_in(code: Any) -> frozenset[str]:
    found = (i for c in codes_of(code) for i in dis.get_instructions(c))
    return frozenset(i.argval for i in found if i.opname in ("STORE_DEREF", "DELETE_DEREF"))


def _written_names(f: FunctionType) -> frozenset[str]:
    """The captured names to which a function assigns."""
    return _written_in(f.__code__)


def _is_library_file(filename: str) -> bool:
    """Whether code belongs to a library, by its file: the module of a hand-made function may be any."""
    return filename.startswith(OWN_FILES) or is_installed(filename)


@functools.lru_cache(maxsize=4096)
def _is_of_library(module: str | None) -> bool:
    if module is None or module.partition(".")[0] in _LIBRARIES:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_installed(file)
