"""What functions that are evaluated again, or later, read besides their arguments: captured arrays and numbers.

Arguments are copied, captured data cannot be; they are compared with what they were.
"""

import dis
import functools
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from contad.errors import ChangedDataError
from contad.functions.callees import is_installed
from contad.variables.array import is_plain
from contad.variables.layout import is_immutable, same_bits
from contad.variables.number import map_numbers, peek
from contad.variables.trees import flatten

Entry = tuple[str, Callable[[], Any], Any]  # a name, what reads it now, and what it was
_NONE = object()
LARGEST = 256  # entries of a container that is compared
_LIBRARIES = frozenset(("contad", "numpy", "builtins", *sys.stdlib_module_names)) - {"__main__"}


class Captured:
    """The arrays, numbers and texts that functions capture, as closures or globals, with their present contents.

    Also those in dicts, lists and tuples of up to LARGEST entries, in attributes that the functions name, of objects,
    classes and modules of the user's, and what methods find so. What a function assigns itself is no part of it: a
    counter, say. `keep` copies an array.
    """

    __slots__ = ("attributes", "entries", "keep", "name", "objects", "seen")

    def __init__(self, name: str, functions: Sequence[Any], keep: Callable[[np.ndarray], np.ndarray]) -> None:
        self.name = name
        self.entries: list[Entry] = []
        self.keep = keep
        self.attributes: set[str] = set()  # that the functions name, of whatever
        self.objects: list[tuple[str, Callable[[], Any], Any]] = []  # whose attributes they may be
        self.seen: dict[Any, Any] = {}  # by identity; the objects are held, so that identities stay theirs
        for f in functions:
            self._note_callable(f)
        tried: set[tuple[int, str]] = set()
        while pairs := {(n, a) for n in range(min(len(self.objects), LARGEST)) for a in self.attributes} - tried:
            tried |= pairs  # looking at them may bring in more of both
            for n, attribute in sorted(pairs):
                self._note_attribute(*self.objects[n], attribute)

    def _is_new(self, x: Any) -> bool:
        if id(x) in self.seen:
            return False
        self.seen[id(x)] = x
        return True

    def _note_callable(self, f: Any) -> None:
        if not isinstance(f, FunctionType) and isinstance(getattr(f, "__wrapped__", None), FunctionType):
            f = f.__wrapped__  # of a checkpoint, or another transform
        if isinstance(f, functools.partial):
            for x in (f.func, *f.args, *f.keywords.values()):
                self._note_callable(x)
        elif isinstance(f, (tuple, list)):
            for x in f:
                self._note_callable(x)
        elif isinstance(f, MethodType):
            if isinstance(f.__func__, FunctionType):
                self._note_function(f.__func__, f.__self__)
        elif isinstance(f, FunctionType):
            self._note_function(f, None)
        elif callable(f) and not _is_of_library(type(f)):
            call: Any = type(f).__call__
            if isinstance(call, FunctionType):
                self._note_function(call, f)

    def _note_function(self, f: FunctionType, owner: Any) -> None:
        """What a function captures, and what it finds in the object that it is a method of."""
        if _is_of_library(f):
            return
        if owner is not None:
            self._note_object("self", lambda: owner, owner)
        if not self._is_new(f):
            return
        captured, of_module, attributes = _names(f.__code__)
        self.attributes |= attributes
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self._note_value(name, functools.partial(_contents, cell), name in captured)
        for name in of_module:
            self._note_value(name, functools.partial(f.__globals__.get, name, _NONE), True)

    def _note_value(self, name: str, read: Callable[[], Any], is_read_only: bool) -> None:
        x = read()
        if isinstance(x, np.ndarray):
            if x.dtype != object and not is_immutable(x):
                self.entries.append((name, read, self.keep(x)))
        elif x.__class__ in (float, int, bool, str) or isinstance(x, np.generic):
            if is_read_only:
                self.entries.append((name, read, x))
        elif isinstance(x, (FunctionType, MethodType, functools.partial)):
            self._note_callable(x)
        elif x.__class__ in (tuple, list, dict):
            if len(x) <= LARGEST and self._is_new(x):
                for key in x if isinstance(x, dict) else range(len(x)):
                    self._note_value(f"{name}[{key!r}]", functools.partial(_item, read, key), True)
        elif x is not None and x is not _NONE:
            self._note_object(name, read, x)

    def _note_object(self, name: str, read: Callable[[], Any], x: Any) -> None:
        """An object, a class or a module of the user's, whose attributes functions may name."""
        if not _is_of_library(x if isinstance(x, (type, ModuleType)) else type(x)) and self._is_new(x):
            self.objects.append((name, read, x))

    def _note_attribute(self, name: str, read: Callable[[], Any], x: Any, attribute: str) -> None:
        found = inspect.getattr_static(x, attribute, _NONE)
        if isinstance(found, property):
            if isinstance(found.fget, FunctionType):
                self._note_function(found.fget, None)
        elif isinstance(found, FunctionType):
            self._note_function(found, None)
        elif found is not _NONE:
            self._note_value(f"{name}.{attribute}", functools.partial(_attribute, read, attribute), True)

    def forget_changed(self) -> None:
        """After an evaluation: what has changed by it is the function's own, a workspace or a count."""
        if self.entries:
            self.entries = [entry for entry in self.entries if _is_same(entry[1](), entry[2])]

    def require_unchanged(self) -> None:
        """Raise ChangedDataError where one of them is not what it was."""
        for name, read, before in self.entries:
            if not _is_same(read(), before):
                raise ChangedDataError(
                    f"{self.name}: {name}, which is captured, has changed since the function was called, and the "
                    "derivative needs what it was; pass it as an argument, which is copied"
                )


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet filled
        return _NONE


def _attribute(read: Callable[[], Any], name: str) -> Any:
    return getattr(read(), name, _NONE)


def _item(read: Callable[[], Any], key: Any) -> Any:
    try:
        return read()[key]
    except (LookupError, TypeError):
        return _NONE


def _is_of_library(x: Any) -> bool:
    """Whether a function, class or module is of contad, Python or an installed library."""
    return _is_library(x.__name__ if isinstance(x, ModuleType) else (x.__module__ or ""))


@functools.lru_cache(maxsize=4096)
def _is_library(module: str) -> bool:
    if module.partition(".")[0] in _LIBRARIES:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_installed(file)


@functools.lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[frozenset[str], tuple[str, ...], frozenset[str]]:
    """The captured names that a function and those inside it do not assign to, and the globals and attributes that
    they read only."""
    read: set[str] = set()
    named: set[str] = set()
    written: set[str] = set()
    stored: set[str] = set()
    codes = [code]
    for c in codes:
        for i in dis.get_instructions(c):
            if i.opname in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF"):
                written.add(i.argval)
            elif i.opname in ("STORE_ATTR", "DELETE_ATTR"):
                stored.add(i.argval)
            elif i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read.add(i.argval)
            elif i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                named.add(i.argval)
        codes += [x for x in c.co_consts if isinstance(x, CodeType)]
    return frozenset(code.co_freevars) - written, tuple(sorted(read - written)), frozenset(named - stored)


def _is_same(x: Any, before: Any) -> bool:
    if isinstance(before, np.ndarray):
        return isinstance(x, np.ndarray) and same_bits(x, before)
    return x.__class__ is before.__class__ and (x == before or (x != x and before != before))


def require_same_value(name: str, y: Any, z: Any) -> None:
    """Raise ChangedDataError where a function that is evaluated again gives another value than it gave before."""
    again, before = (flatten(map_numbers(peek, x)).leaves for x in (y, z))
    for a, b in zip(again, before, strict=False):
        if np.shape(a) != np.shape(b) or not (_close(a, b) if is_plain(a) and is_plain(b) else True):
            raise ChangedDataError(
                f"{name}: evaluated again for its derivative, the function gave {_shown(a)} where it gave {_shown(b)}; "
                "it reads data that have changed, or random numbers: pass them as arguments, which are copied"
            )


def _close(a: Any, b: Any) -> bool:
    if a.__class__ is float and b.__class__ is float:
        return a == b or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (a != a and b != b)
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))


def _shown(x: Any) -> str:
    return f"an array of shape {np.shape(x)} around {np.mean(x):.6g}" if np.ndim(x) else f"{float(x):.17g}"
