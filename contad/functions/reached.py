"""The plain functions that a function reaches, and which of them run as copies where variables are passed to them."""

import functools
import operator
import sysconfig
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from contad.functions.python_copy import is_dispatcher
from contad.functions.questions import (
    asks,
    attributes_of,
    is_contads,
    makes_arrays,
    questions_of,
    warn_if_it_asks,
)
from contad.functions.stand_in_modules import ASSIGNABLE, PLAIN, StandIns

_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def is_installed(filename: str) -> bool:
    """Whether a file is of a library, which is not searched: libraries are large, and what they name not the user's."""
    return filename.startswith(_INSTALLED) or "site-packages" in filename  # of another environment, by a .pth file


def dispatches_on_type(x: object) -> bool:
    """Whether x is a function of functools.singledispatch."""
    return isinstance(x, FunctionType) and callable(getattr(x, "dispatch", None)) and hasattr(x, "registry")


def is_filled(cell: CellType) -> bool:
    """Whether a captured name is bound to anything but None."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


_MISSING = object()
# what makes a difference by itself; of other objects the type does
_KEPT = frozenset((FunctionType, BuiltinFunctionType, ModuleType, MethodType, np.ufunc, type(np.nan_to_num), type))
_PLAIN = frozenset((object, float, int, str, bool, tuple, list, dict, np.ndarray))
_MOST_ELEMENTS = 64  # of a container that is looked through


class Reached:
    """A function that another reaches, what it named when it was looked at, and the functions behind these names."""

    __slots__ = ("f", "code", "names", "named", "kinds", "inside", "contents")

    def __init__(self, f: FunctionType) -> None:
        self.f = f
        self.code = f.__code__
        self.names = tuple(questions_of(f.__code__).names)
        values = self.values()
        self.named = [x for x in values if x is not _MISSING]
        self.kinds = [*map(_kind, values)]
        self.inside = [(x, functions_in(x, attributes_of(f.__code__))) for x in self.named]
        # objects in which there are functions, with these: other ones may be put there
        self.contents = [(x, found) for x, found in self.inside if found and not isinstance(x, FunctionType)]

    def values(self) -> list[Any]:
        """What its global and captured names, and its defaults, stand for now."""
        f = self.f
        own = f.__globals__
        values = [own.get(name, _MISSING) for name in self.names]
        if f.__closure__:
            values += [cell.cell_contents if is_filled(cell) else _MISSING for cell in f.__closure__]
        if f.__defaults__:
            values += f.__defaults__
        if f.__kwdefaults__:
            values += f.__kwdefaults__.values()
        return values

    def is_as_it_was(self) -> bool:
        """Whether its names stand for the same functions, and for other objects of the same types."""
        if self.f.__code__ is not self.code:
            return False
        values = self.values()
        if len(values) != len(self.kinds) or not all(map(operator.is_, map(_kind, values), self.kinds)):
            return False
        if not self.contents:
            return True
        kept = {id(x) for x, _ in self.contents}
        now = [x for x in values if id(x) in kept]
        attributes = attributes_of(self.code)
        return len(now) >= len(self.contents) and all(
            _same(functions_in(x, attributes), found) for x, found in self.contents
        )


def _same(found: list[Any], before: list[Any]) -> bool:
    return len(found) == len(before) and all(map(operator.is_, found, before))


def _kind(x: object) -> object:
    """What makes a difference of an object: functions make one each, other objects by their types."""
    kind = type(x)
    if kind in _PLAIN:
        return kind
    return x if kind in _KEPT or is_dispatcher(x) else kind


def functions_in(x: Any, attributes: frozenset[str]) -> list[Any]:
    """The functions, Numba's too, that x is, or that code with these attributes may reach by it.

    Those are the elements of containers and partials, what a module of the user's has under such a name, and the
    methods of an object. Of libraries there are none.
    """
    if isinstance(x, FunctionType) or is_dispatcher(x):
        return [x]
    kind = type(x)
    if kind is functools.partial:
        return [g for y in (x.func, *x.args, *x.keywords.values()) for g in functions_in(y, attributes)]
    if kind is MethodType:
        return [*functions_in(x.__func__, attributes), *functions_in(x.__self__, attributes)]
    if kind in (list, tuple, dict):
        elements = x.values() if kind is dict else x
        return [g for y in elements for g in _functions_of(y)] if len(x) <= _MOST_ELEMENTS else []
    if kind is ModuleType:
        file = getattr(x, "__file__", None)
        if file is not None and (is_installed(file) or x.__name__.partition(".")[0] == "contad"):
            return []
        found = [vars(x).get(name) for name in sorted(attributes)]
        return [y for y in found if isinstance(y, FunctionType) or is_dispatcher(y)]
    return methods_of(kind, attributes) if is_users_class(kind) else []  # type: ignore[arg-type]


def _functions_of(x: Any) -> list[Any]:
    """A function in a container, or the functions of a partial or method in it."""
    if isinstance(x, FunctionType) or is_dispatcher(x):
        return [x]
    return functions_in(x, frozenset()) if isinstance(x, (functools.partial, MethodType)) else []


@functools.lru_cache(1024)
def is_users_class(cls: type) -> bool:
    """Whether objects of a class are the user's, hold what they have in a dictionary, and can have another class."""
    bases = cls.__mro__[:-1]
    return (
        all(isinstance(c, type) and c.__flags__ & 1 << 9 for c in bases)  # a class that Python code has made
        and cls.__basicsize__ == _Plain.__basicsize__
        and cls.__dictoffset__ != 0
        and not any("__init_subclass__" in vars(c) for c in bases)
        and type(cls).__call__ is type.__call__
        and not any(_is_of_library(c) for c in bases if c.__module__ not in ("abc", "typing"))
        and cls.__module__.partition(".")[0] != "contad"
    )


class _Plain:
    pass


def _is_of_library(cls: type) -> bool:
    codes = [f.__code__ for f in vars(cls).values() if isinstance(f, FunctionType)]
    return any(is_installed(code.co_filename) for code in codes if not code.co_filename.startswith("<"))


_NOT_CALLED = frozenset(("__init__", "__new__", "__repr__", "__str__", "__del__", "__reduce__", "__init_subclass__"))


def methods_of(cls: type, attributes: frozenset[str] | None = None) -> list[Any]:
    """The functions that a class and its bases define, unwrapped; of those with a name, those that are attributes."""
    found: list[Any] = []
    for c in cls.__mro__[:-1]:
        for name, x in vars(c).items():
            if attributes is not None and name not in attributes and (name[:2] != "__" or name in _NOT_CALLED):
                continue
            f = x.fget if isinstance(x, property) else getattr(x, "__func__", x)
            if isinstance(f, FunctionType) or is_dispatcher(f):
                found.append(f)
    return found


class Family:
    """All plain functions that a function reaches by its names, and those among them that need copies.

    `assignable` says whether variables can be assigned to the arrays that they make.
    """

    def __init__(self, f: FunctionType, owner: type | None = None, assignable: bool = False) -> None:
        self.reached: dict[int, Reached] = {}
        self.assignable = assignable
        self.stand_ins: StandIns = ASSIGNABLE if assignable else PLAIN
        self.attributes: frozenset[str] = frozenset()  # that the functions name
        self._search(f, owner)
        # whether it makes arrays, and may assign to them
        own = [r for r in self.reached.values() if not is_contads(r.f)]
        self.may_assign = any(questions_of(r.code).writes for r in own) and any(
            makes_arrays(r.f, r.named, ASSIGNABLE) for r in own
        )
        self.needing = {key for key, r in self.reached.items() if self._needs_itself(r)}
        grown = True
        while grown:
            more = {
                key
                for key, r in self.reached.items()
                if key not in self.needing
                and any(self.needs(h) for x, found in r.inside if found for h in functions_in(x, self.attributes))
            }
            self.needing |= more
            grown = bool(more)
        for r in self.reached.values():
            _warn_of_new_objects(r)
            del r.named, r.inside  # which may be large

    def _search(self, f: FunctionType, owner: type | None) -> None:
        """Find the functions; methods call others of their objects, whose names are then known."""
        owners = set() if owner is None else {owner}
        left: list[Any] = [f]
        while left:
            while left:
                g = left.pop()
                if id(g) in self.reached or (g is not f and not self._is_users(g)):
                    continue
                one = self.reached[id(g)] = Reached(g)
                self.attributes |= attributes_of(one.code)
                owners |= {type(x) for x, found in one.inside if found}
                left += [h for _, found in one.inside for h in found]
            methods = [h for c in owners if is_users_class(c) for h in methods_of(c, self.attributes)]
            left = [h for h in methods if id(h) not in self.reached and self._is_users(h)]

    @staticmethod
    def _is_users(g: Any) -> bool:
        return isinstance(g, FunctionType) and not is_contads(g) and not is_installed(g.__code__.co_filename)

    def _needs_itself(self, r: Reached) -> bool:
        if is_contads(r.f):  # which knows variables
            return False
        if asks(r.f, r.named):
            return True
        return self.assignable and makes_arrays(r.f, r.named, ASSIGNABLE)

    def needs(self, x: Any) -> bool:
        """Whether something stands for a function."""
        return id(x) in self.needing or is_dispatcher(x) or dispatches_on_type(x)

    def is_as_it_was(self) -> bool:
        """Whether all functions name what they named."""
        return all(r.is_as_it_was() for r in self.reached.values())


# ---- what no copy is made of -----------------------------------------------------------------------------------------
@functools.lru_cache(4096)
def _warn_of_class(cls: type, attributes: frozenset[str]) -> None:
    """Warn once of methods that may be called of new objects, and that ask for types."""
    for f in methods_of(cls):
        if isinstance(f, FunctionType) and not is_contads(f) and not is_installed(f.__code__.co_filename):
            if f.__name__ in attributes:
                warn_if_it_asks(f.__code__)


def _warn_of_new_objects(r: Reached) -> None:
    """Warn once of each class that a function names, whose methods ask for types: no copy is made of those."""
    for x in r.named:
        if isinstance(x, type) and is_users_class(x):
            _warn_of_class(x, attributes_of(r.code))
