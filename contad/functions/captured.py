"""Captured arrays and numbers: the data that a function reads besides its arguments, if it is evaluated again or later.

contad copies arguments. It cannot copy captured data, so it compares them with their earlier contents.
"""

import array
import collections.abc
import copy
import dis
import functools
import inspect
import math
import sys
import types
from collections.abc import Callable, Collection, Sequence
from operator import is_
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from contad.compile.dispatchers import is_dispatcher
from contad.errors import ChangedDataError
from contad.functions.reached import is_installed
from contad.rules.capturing import Capturing
from contad.rules.definition import codes_of
from contad.variables.array import is_plain
from contad.variables.layout import is_immutable, same_bits
from contad.variables.number import Carrier, map_numbers, peek
from contad.variables.open_types import Function, Nested, Value
from contad.variables.trees import flatten
from contad.variables.weak_cache import weak_cache

_NONE = object()
_OWN = object()  # data that the function changes itself: a workspace, a count
_LIBRARIES = frozenset(("contad", "numpy", "builtins", *sys.stdlib_module_names)) - {"__main__"}
_BUFFERS = (bytearray, memoryview, array.array)
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)  # methods of objects of C code: `buffer.dot`
_VALUES = frozenset((float, int, bool, str, bytes, complex, type(None), range, slice, CodeType))
# methods that Python calls although a function does not name them
_SPECIAL = frozenset(
    [f"__{n}__" for n in ("call", "getitem", "iter", "len", "contains", "array", "getattr", "enter", "float", "bool")]
    + [f"__{n}__" for n in ("neg", "pos", "abs")]
    + [f"__{r}{n}__" for r in ("", "r") for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")]
)

Read = Callable[[], Any]  # returns the present value of a name


class SameObjects:
    """Reads and the objects that they returned, one or several each, compared by identity."""

    __slots__ = ("several", "single")

    def __init__(self) -> None:
        self.single: list[tuple[Callable[[], Any], object]] = []
        self.several: list[tuple[Callable[[], Collection[Any]], list[object]]] = []

    def add(self, read: Callable[[], Any], x: object) -> None:
        """Add one object that was read."""
        self.single.append((read, x))

    def add_each(self, read: Callable[[], Collection[Any]]) -> None:
        """Add the objects that a container holds now; `read` returns the container."""
        self.several.append((read, [*read()]))

    def hold(self) -> bool:
        """Whether every read returns the same objects."""
        for read, x in self.single:
            if read() is not x:
                return False
        for each, xs in self.several:
            now = each()
            if len(now) != len(xs) or not all(map(is_, now, xs)):
                return False
        return True


class Captured:
    """The data that functions capture, with their present contents: arrays, numbers, texts and functions.

    They are found behind names (closures and globals), defaults, arguments of functools.partial, and attributes that
    the functions name, on the user's objects, classes and modules; in containers and object arrays of any depth. Data
    that a function assigns or changes itself do not count, such as a counter or a workspace. `keep` copies an array.

    If all data are immutable objects, such as constants, functions and library routines, equal identities prove that
    nothing changed, and `again` gives the same for another level without another walk.
    """

    __slots__ = ("attributes", "entries", "identities", "is_shared", "keep", "name", "objects", "seen")
    identities: SameObjects | None  # None if identities do not tell

    def __init__(
        self, name: str, functions: Sequence[Function | None], keep: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        self.name = name
        self.entries: list[_Entry] = []
        self.identities = SameObjects()
        self.is_shared = False  # whether other levels have these entries
        self.keep = keep
        self.attributes: dict[str, None] = {}  # that the functions name, of any object, in the order of discovery
        self.objects: list[tuple[str, Read, object]] = []  # objects that may have these attributes
        self.seen: dict[int, object] = {}  # by identity; the objects are kept alive, so that identities stay unique
        for f in functions:
            if f is not None:
                self._follow(getattr(f, "__name__", type(f).__name__), functools.partial(_same_one, f), f)
        looked = [0, 0]  # the number of inspected objects and attributes; an inspection may add more of both
        while looked != [len(self.objects), len(self.attributes)]:
            before, looked = looked, [len(self.objects), len(self.attributes)]
            names = list(self.attributes)
            for k, one in enumerate(self.objects[: looked[0]]):
                for attribute in names[before[1] if k < before[0] else 0 : looked[1]]:
                    self._note_attribute(*one, attribute)
        del self.keep  # a method of a level, which would keep the level alive

    def again(self) -> "Captured | None":
        """The same for another level, if identities prove that a walk would find the same now; else None."""
        if self.identities is None or not self.identities.hold():
            return None
        found = Captured.__new__(Captured)
        found.name, found.entries, found.identities, found.is_shared = self.name, self.entries, self.identities, True
        return found

    def has_data(self) -> bool:
        """Whether anything but functions and classes can change."""
        return any(not isinstance(x, (CodeType, type)) for entry in self.entries for x in entry.before)

    def forget_changed(self) -> None:
        """After an evaluation: data that changed during it belong to the function."""
        if self.identities is not None and self.identities.hold():
            return
        if self.is_shared:
            self.entries, self.is_shared = [*map(copy.copy, self.entries)], False
        for entry in self.entries:
            entry.forget_changed()

    def require_unchanged(self) -> None:
        """Raise ChangedDataError if any of the data have changed."""
        if self.identities is not None and self.identities.hold():
            return
        for entry in self.entries:
            place = entry.changed_place()
            if place is not None:
                raise ChangedDataError(
                    f"{self.name}: {place}, which is captured, has changed since the function was called, and the "
                    "derivative needs what it was; pass it as an argument, which is copied"
                )

    # ---- the walk ----------------------------------------------------------------------------------------------------
    def _is_new(self, x: object) -> bool:
        if id(x) in self.seen:
            return False
        self.seen[id(x)] = x
        return True

    def _note(self, name: str, read: Read, is_read_only: bool = True, rule: Capturing | None = None) -> None:
        """Note the value of a name, or the functions of a rule; values that the functions assign to the name are their
        own."""
        x = read()
        if self.identities is not None:
            if rule is None:
                self.identities.add(read, x)
            else:
                self.identities.add_each(rule.functions)
        if not is_read_only and (x.__class__ in _VALUES or isinstance(x, np.generic)):
            return
        if x is _NONE or (isinstance(x, (ModuleType, FunctionType, type)) and _is_of_library(x)):
            return
        entry = _Entry(name, read, x, self.keep)
        self.entries.append(entry)
        if rule is None and not entry.is_told_by_identity(x):
            self.identities = None
        for k, leaf in enumerate(() if entry.is_plain else entry.leaves):
            if leaf.__class__ not in _VALUES:
                self._follow(*entry.place(x, k), leaf)

    def _follow(self, name: str, read: Read, x: Any) -> None:
        """Follow x, unless it is a number or an array of numbers."""
        if isinstance(x, FunctionType):
            self._note_function(read, x)
        elif isinstance(x, MethodType):
            self.identities = None
            self._follow(name, functools.partial(_attribute, read, "__func__"), x.__func__)
            self._follow("self", functools.partial(_attribute, read, "__self__"), x.__self__)
        elif isinstance(getattr(x, "__wrapped__", None), FunctionType):  # of a checkpoint, or another transform
            if self.identities is not None:
                self.identities.add(functools.partial(getattr, x, "__wrapped__", None), x.__wrapped__)
            self._note_function(functools.partial(_attribute, read, "__wrapped__"), x.__wrapped__)
        elif isinstance(x, Carrier):
            self.identities = None
        elif self._is_new(x):
            if _open(x) is not None:
                self._note(name, lambda: _open(read()), True, x if isinstance(x, Capturing) else None)
            elif self.identities is not None and hasattr(x, "__dict__"):
                self.identities.add_each(vars(x).values)
            if not _is_of_library(x if isinstance(x, (type, ModuleType)) else type(x)):
                self._note_object(name, read, x)

    def _note_object(self, name: str, read: Read, x: Any) -> None:
        """Note a user's object, class or module whose attributes functions may name."""
        self.objects.append((name, read, x))
        self.identities = None
        for owner in type(x).__mro__:
            for special in _SPECIAL & vars(owner).keys():
                method = vars(owner)[special]
                if isinstance(method, FunctionType):
                    self._note_function(functools.partial(_same_one, method), method)

    def _note_function(self, read: Read, f: FunctionType) -> None:
        """Note the captured values and the defaults of a function."""
        if _is_of_library(f) or not self._is_new(f):
            return
        code = f.__code__
        if self.identities is not None:
            for part in ("__code__", "__defaults__", "__kwdefaults__"):
                self.identities.add(functools.partial(getattr, f, part), getattr(f, part))
            if f.__kwdefaults__:
                self.identities.add_each(f.__kwdefaults__.values)
        captured, of_module, attributes = _names(code)
        self.attributes |= dict.fromkeys(attributes)
        for k, free in enumerate(code.co_freevars):
            self._note(free, functools.partial(_contents, read, k), free in captured)
        for known in of_module:
            self._note(known, functools.partial(f.__globals__.get, known, _NONE))
        defaults = f.__defaults__ or ()
        for k, parameter in enumerate(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]):
            self._note(f"the default of {parameter}", functools.partial(_default, read, k))
        for parameter in f.__kwdefaults__ or ():
            self._note(f"the default of {parameter}", functools.partial(_default, read, parameter))

    def _note_attribute(self, name: str, read: Read, x: Any, attribute: str) -> None:
        found = inspect.getattr_static(x, attribute, _NONE)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, property):
            found = found.fget
        elif isinstance(found, functools.cached_property):
            found = found.func
        if isinstance(found, FunctionType):
            self._note_function(functools.partial(_same_one, found), found)
        elif found is not _NONE:
            self._note(f"{name}.{attribute}", functools.partial(_attribute, read, attribute))


# ---- values of names -------------------------------------------------------------------------------------------------
class _Entry:
    """The earlier value of a name, as the leaves of a container or as one leaf, and the function that reads it now."""

    __slots__ = ("before", "grows", "is_plain", "leaves", "lone", "name", "read", "spec")

    def __init__(self, name: str, read: Read, x: Any, keep: Callable[[np.ndarray], np.ndarray]) -> None:
        self.name = name
        self.read = read
        self.leaves, self.spec = _flatten(x)
        self.is_plain = _VALUES.issuperset(map(type, self.leaves))
        self.before = self.leaves if self.is_plain else [*map(_essence, self.leaves)]
        for k, a in enumerate(() if self.is_plain else self.before):
            if isinstance(a, np.ndarray) and not is_immutable(a):
                self.before[k] = keep(a)
        self.lone = x if self.spec.num_nodes == 1 and not _holds_numbers(x) else _OWN  # an object with no contents
        self.grows = False  # whether the function itself changes the contents

    def is_told_by_identity(self, x: Any) -> bool:
        """Whether the compared contents are the same as long as x is the same object."""
        if self.is_plain:
            return x.__class__ is tuple or x.__class__ in _VALUES
        if self.leaves[0] is not x:  # a container, or an empty one
            return False
        before = self.before[0]
        return before is x or before is type(x) or isinstance(x, (FunctionType, *_BOUND)) or is_dispatcher(x)

    def place(self, x: Any, k: int) -> tuple[str, Read]:
        """The name of leaf k of x, and how to read it now."""
        if self.spec.num_nodes == 1:
            return self.name, self.read
        import optree

        accessor = optree.tree_accessors(x, none_is_leaf=True)[k]
        return accessor.codify(self.name), functools.partial(_access, self.read, accessor)

    def changed_place(self) -> str | None:
        """The name of the value that has changed, if any."""
        x = self.read()
        if x is self.lone:  # the common case: then only its class, or the code of a function, can differ
            before = self.before[0]
            if before is x or before is type(x) or (x.__class__ is FunctionType and before is x.__code__):
                return None
        leaves, spec = _flatten(x)
        if spec == self.spec:
            if self._is_equal(leaves):
                return None
            same = [*map(_is_same, map(_essence, leaves), self.before)]
            if all(same):
                return None
            path = () if spec.num_nodes == 1 else spec.paths()[same.index(False)]
        elif not self.grows:
            return self.name
        else:
            now = dict(zip(spec.paths(), map(_essence, leaves), strict=True))
            changed = [p for p, x in zip(self.spec.paths(), self.before, strict=True) if not _is_same(now.get(p), x)]
            if not changed:
                return None
            path = changed[0]
        return self.name + "".join(f"[{key!r}]" for key in path)

    def forget_changed(self) -> None:
        """Stop comparing values that have changed."""
        leaves, spec = _flatten(self.read())
        if spec == self.spec:
            if self._is_equal(leaves):
                return
            now = [*map(_essence, leaves)]
        else:
            self.grows = True
            by_path = dict(zip(spec.paths(), map(_essence, leaves), strict=True))
            now = [by_path.get(path) for path in self.spec.paths()]
        self.before = [x if _is_same(y, x) else _OWN for y, x in zip(now, self.before, strict=True)]

    def _is_equal(self, leaves: list[object]) -> bool:
        """Whether the leaves are unchanged plain values; for long lists at the speed of C code."""
        return self.is_plain and leaves == self.before


class _Row(NamedTuple):
    """The structure of a list or a tuple of leaves; optree would take fifty times as long to inspect it."""

    kind: type
    length: int
    num_nodes: int = 2  # as optree counts them: more than a leaf

    def paths(self) -> list[tuple[int]]:
        return [(k,) for k in range(self.length)]


_LEAVES = frozenset((float, int, bool, str, np.ndarray, ModuleType, FunctionType, type))
_ITEMS = _VALUES | _LEAVES


@functools.cache
def _structure_of_leaf() -> Any:
    """The structure of a number, a function or anything else that is not a container."""
    import optree

    leaf: Any = 0.0
    return optree.tree_structure(leaf, none_is_leaf=True)


def _flatten(x: Any) -> tuple[list[Any], Any]:
    """The leaves of a container, and its structure."""
    if x.__class__ in (list, tuple) and _ITEMS.issuperset(map(type, x)):
        return [*x], _Row(x.__class__, len(x))
    if x.__class__ in _LEAVES:  # as for most names
        return [x], _structure_of_leaf()
    import optree

    return optree.tree_flatten(x, none_is_leaf=True)


def _essence(x: Any) -> Any:
    """The compared value: an array of the numbers, a plain value, the code of a function, or the class of anything
    else."""
    if x.__class__ in _VALUES or isinstance(x, (type, np.generic, np.ufunc)):
        return x
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x
    if isinstance(x, FunctionType):
        return x.__code__
    if isinstance(x, MethodType):
        return _essence(x.__func__)
    if isinstance(x, _BOUND):
        return x.__qualname__
    if isinstance(x, Carrier):
        return np.array(map_numbers(peek, x))
    if isinstance(x, (set, frozenset)):
        return frozenset(x)
    if is_dispatcher(x):
        return x.py_func.__code__
    a = _as_array(x)
    return type(x) if a is None else a


def _as_array(x: object) -> np.ndarray | None:
    """The numbers of an object that behaves as an ndarray: a buffer, a pandas series; else None."""
    if isinstance(x, np.ndarray) or not _holds_numbers(x):
        return None
    try:
        a = np.asarray(x)
    except Exception:  # a user's class may raise anything
        return None
    return None if a.dtype == object else a


def _holds_numbers(x: object) -> bool:
    """Whether an object may behave as an array, so that its numbers are compared."""
    return isinstance(x, (np.ndarray, *_BUFFERS)) or hasattr(type(x), "__array__")


def _open(x: Any) -> list[Any] | dict[Any, Any] | None:
    """The contents, as a plain container, of an object that optree takes for a leaf; None if it has none."""
    if isinstance(x, np.ndarray):
        return x.tolist() if x.dtype == object else None
    if isinstance(x, Capturing):
        return [f for f in x.functions() if f is not None]
    if isinstance(x, functools.partial):
        return {"func": x.func, "args": x.args, "keywords": x.keywords}
    if isinstance(x, _BOUND):
        return None if isinstance(x.__self__, ModuleType) else [x.__self__]
    if isinstance(x, dict):  # of a subclass, whose own methods may do more than return the contents
        return dict(dict.items(x))
    kinds: tuple[Any, ...] = (list, tuple, collections.deque)
    for kind in kinds:
        if isinstance(x, kind):
            return [*kind.__iter__(x)]
    if isinstance(x, (type, ModuleType, str, bytes)) or not _is_of_library(type(x)):
        return None
    if isinstance(x, types.SimpleNamespace):
        return dict(vars(x))
    if _as_array(x) is not None:
        return None
    if isinstance(x, collections.abc.Mapping):
        return dict(x)
    if isinstance(x, (collections.abc.Sequence, collections.abc.ValuesView, collections.abc.ItemsView)):
        return [*x]
    arrays = {k: a for k, a in getattr(x, "__dict__", {}).items() if isinstance(a, np.ndarray)}
    return arrays or None  # of a sparse matrix, an interpolation


def _is_same(x: object, before: object) -> bool:
    if isinstance(before, np.ndarray):
        return isinstance(x, np.ndarray) and same_bits(x, before)
    if x is before or before is _OWN:
        return True
    return x.__class__ is before.__class__ and bool(x == before or (x != x and before != before))


# ---- how things are read, now and later ------------------------------------------------------------------------------
def _same_one(x: object) -> object:
    return x


def _contents(read: Read, k: int) -> Any:
    try:
        return read().__closure__[k].cell_contents
    except (AttributeError, LookupError, TypeError, ValueError):  # not yet filled, or another function
        return _NONE


def _default(read: Read, key: int | str) -> Any:
    f = read()
    try:
        return f.__defaults__[key] if isinstance(key, int) else f.__kwdefaults__[key]
    except (AttributeError, LookupError, TypeError):
        return _NONE


def _attribute(read: Read, name: str) -> Any:
    return getattr(read(), name, _NONE)


def _access(read: Read, accessor: Any) -> Any:
    try:
        return accessor(read())
    except (AttributeError, LookupError, TypeError):
        return _NONE


def _is_of_library(x: Any) -> bool:
    """Whether a function, class or module belongs to contad, Python or an installed library."""
    return _is_library(x.__name__ if isinstance(x, ModuleType) else (x.__module__ or ""))


@functools.lru_cache(maxsize=4096)
def _is_library(module: str) -> bool:
    if module.partition(".")[0] in _LIBRARIES:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_installed(file)


@weak_cache
def _names(code: CodeType) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]]:
    """The captured names to which a function and its inner functions do not assign, and the globals and attributes that
    they only read; a string may be an attribute's name, too."""
    read: set[str] = set()
    named: set[str] = set()
    written: set[str] = set()
    stored: set[str] = set()
    for c in codes_of(code):
        for i in dis.get_instructions(c):
            if i.opname in ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF"):
                written.add(i.argval)
            elif i.opname in ("STORE_ATTR", "DELETE_ATTR"):
                stored.add(i.argval)
            elif i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                read.add(i.argval)
            elif i.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                named.add(i.argval)
        named |= {x for x in c.co_consts if isinstance(x, str) and x.isidentifier()}
    return frozenset(code.co_freevars) - written, tuple(sorted(read - written)), tuple(sorted(named - stored))


def require_same_value(name: str, y: Nested, z: Nested) -> None:
    """Raise ChangedDataError if a second evaluation of a function gives another value."""
    again, before = (flatten(map_numbers(peek, x)).leaves for x in (y, z))
    for a, b in zip(again, before, strict=False):
        if np.shape(a) != np.shape(b) or not (_close(a, b) if is_plain(a) and is_plain(b) else True):
            raise ChangedDataError(
                f"{name}: evaluated again for its derivative, the function gave {_show(a)} where it gave {_show(b)}; "
                "it reads data that have changed, or random numbers: pass them as arguments, which are copied"
            )


def _close(a: Value, b: Value) -> bool:
    if a.__class__ is float and b.__class__ is float:
        return a == b or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (a != a and b != b)
    return bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))


def _show(x: Nested) -> str:
    return f"an array of shape {np.shape(x)} around {np.mean(x):.6g}" if np.ndim(x) else f"{float(x):.17g}"
