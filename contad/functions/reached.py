"""The plain functions that a function reaches, and which of them run as copies when they receive variables."""

import builtins
import cmath
import functools
import importlib.util
import math
import operator
import os
import struct
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    TracebackType,
)
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import DTypeLike

from contad.compile.dispatchers import is_dispatcher
from contad.functions.polynomial_classes import take_up
from contad.functions.questions import asks, attributes_of, is_contads, makes_arrays, questions_of
from contad.functions.stand_in_classes import function_of
from contad.functions.stand_in_containers import CONTAINERS, MAPPINGS
from contad.functions.stand_in_modules import ASSIGNABLE, PLAIN, StandIns
from contad.rules.definition import looked_up
from contad.variables.dtypes import FLOAT, PRECISION, SINGLE
from contad.variables.weak_cache import weak_cache

# the folders of Python and libraries, in the form in which the system compares file names; NumPy may be beside the
# user's modules
_PLACES = {os.path.dirname(os.__file__), *(sysconfig.get_path(x) for x in ("stdlib", "purelib", "platlib"))}
_PLACES |= {
    os.path.dirname(found.origin)
    for found in map(importlib.util.find_spec, ("llvmlite", "numba", "numpy", "optree", "scipy"))
    if found is not None and found.origin is not None
}
_INSTALLED = tuple(os.path.join(os.path.normcase(place), "") for place in _PLACES)
_LIBRARIES = frozenset(("site-packages", "dist-packages"))  # of another environment, by a .pth file; of Debian


@functools.lru_cache(4096)
def is_installed(filename: str) -> bool:
    """Whether a file belongs to a library. These are not searched: they are large, and their names do not lead to the
    user's."""
    name = os.path.normcase(filename)
    return name.startswith(_INSTALLED) or not _LIBRARIES.isdisjoint(name.split(os.sep))


def _is_left_alone(filename: str, module: object) -> bool:
    """Whether a file belongs to a library that the settings do not name."""
    return is_installed(filename) and str(module).partition(".")[0] not in SETTINGS.libraries


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
# objects that matter themselves; of other objects only the type matters
_KEPT = frozenset((FunctionType, BuiltinFunctionType, ModuleType, MethodType, np.ufunc, type(np.nan_to_num)))
_PLAIN = frozenset((object, float, int, str, bool, tuple, list, dict, np.ndarray))
DATA = frozenset((object, float, int, str, bool, complex, bytes, np.ndarray, np.float64, type(None)))
_MOST_CONTAINERS = 8  # of a container with containers in it
_MOST_OBJECTS = 8  # in containers, whose classes are watched
Watch = tuple[Callable[[Any], Any], Any, Any]  # read, x, and the value of read(x) as long as nothing has changed
_code_of, _defaults_of, _options_of = map(operator.attrgetter, ("__code__", "__defaults__", "__kwdefaults__"))
_func_of, _args_of, _keywords_of = map(operator.attrgetter, ("func", "args", "keywords"))
_order_of = operator.attrgetter("__mro__")  # setting bases makes another tuple


class Reached:
    """A function that another reaches, the values of its names when inspected, and the functions behind these names."""

    __slots__ = ("f", "code", "defaults", "options", "names", "named", "kinds", "inside", "contents")

    def __init__(self, f: FunctionType) -> None:
        self.f = f
        self.code, self.defaults, self.options = f.__code__, f.__defaults__, f.__kwdefaults__
        self.names = tuple(questions_of(f.__code__).names)
        values = self.values()
        self.named = [x for x in values if x is not _MISSING]
        self.kinds = [*map(_kind, values)]
        self.inside = [(x, functions_in(x, attributes_of(f.__code__))) for x in self.named if type(x) not in DATA]
        # objects that hold functions, with these functions, which may be exchanged
        self.contents = [(x, found) for x, found in self.inside if found and not isinstance(x, FunctionType)]

    def values(self) -> list[Any]:
        """The present values of its global and captured names, and of its defaults."""
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
        """Whether its names still mean the same functions, and otherwise objects of the same types."""
        f = self.f
        if f.__code__ is not self.code or f.__defaults__ is not self.defaults or f.__kwdefaults__ is not self.options:
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

    def watches(self, is_copied: bool) -> Iterator[Watch]:
        """The watched values: the function, its defaults if a copy holds them, and the functions behind its names."""
        f = self.f
        yield _code_of, f, f.__code__
        if is_copied or f.__defaults__:
            yield _defaults_of, f, f.__defaults__
        if is_copied or f.__kwdefaults__:
            yield _options_of, f, f.__kwdefaults__
        own = f.__globals__
        named = [(own.get, name, own.get(name)) for name in looked_up(f.__code__)]
        named = [one for one in named if one[2] is not None or not hasattr(builtins, one[1])]
        for read, x, value in named + [(_contents_of, cell, _contents_of(cell)) for cell in f.__closure__ or ()]:
            if isinstance(value, ModuleType):
                attributes = attributes_of(f.__code__)
                found = vars(value) if value is math or value is cmath else _named_in(value, attributes)
                found = {name: found[name] for name in attributes & found.keys()}
                yield from ((vars(value).get, name, y) for name, y in found.items() if _is_code(y))
            elif value is None or _is_code(value):  # a function may replace None
                yield read, x, value
                if type(value) is functools.partial:
                    yield from parts_of_partial(value)
                    yield from _kinds_in(value)
            elif is_users_class(type(value)):  # to which the class of an object can change
                yield _TypeRead(read), x, type(value)
            elif type(value) in CONTAINERS:
                yield from _kinds_in(value)
        yield from _kinds_in(f.__defaults__ or ())
        yield from _kinds_in(f.__kwdefaults__ or {})


class _TypeRead:
    """Reads a value and returns its type."""

    __slots__ = ("read",)

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read

    def __call__(self, x: Any) -> type:
        return type(self.read(x))


def _kinds_in(xs: Any) -> Iterator[Watch]:
    """The classes of the user's objects in a container or a partial; this keeps none of the objects alive."""
    found = [x for x in objects_in(xs, frozenset()) if not isinstance(x, type)]
    for x in found if len(found) <= _MOST_OBJECTS else ():
        with suppress(TypeError):  # an object with slots may not support weak references
            yield _is_of_kind, (ref(x), type(x)), True


def _is_of_kind(known: tuple[Any, type]) -> bool:
    """Whether an object, if it still exists, has the same class as before."""
    x = known[0]()
    return x is None or type(x) is known[1]


def parts_of_partial(f: functools.partial[Any]) -> Iterator[Watch]:
    """The parts of a partial, which `__setstate__` replaces."""
    yield _func_of, f, f.func
    yield _args_of, f, f.args
    yield _keywords_of, f, f.keywords
    yield from ((f.keywords.get, name, x) for name, x in f.keywords.items() if type(x) not in DATA)


def _is_code(x: object) -> bool:
    """Whether x is a function or a class, or an object that holds its functions permanently."""
    return isinstance(x, (type, functools.partial)) or (_kind(x) is x and type(x) is not ModuleType)


def _contents_of(cell: CellType) -> Any:
    return cell.cell_contents if is_filled(cell) else None


def _same(found: list[Any], before: list[Any]) -> bool:
    return len(found) == len(before) and all(map(operator.is_, found, before))


def _kind(x: object) -> object:
    """The part of an object that matters: a function itself, for other objects the type."""
    kind = type(x)
    if kind in _PLAIN:
        return kind
    return x if kind in _KEPT or isinstance(x, type) or is_dispatcher(x) else kind


def looked_into(x: Any) -> list[Any]:
    """The items of a container to inspect: no data, and containers only if there are few."""
    inside = x.values() if type(x) in MAPPINGS else x
    if DATA.issuperset(map(type, inside)):
        return []
    left_out = DATA if len(x) <= _MOST_CONTAINERS else DATA | CONTAINERS
    return [y for y in inside if type(y) not in left_out]


def functions_in(x: Any, attributes: frozenset[str], depth: int = 4) -> list[Any]:
    """The functions that x is or leads to; of NumPy and `math` only those with a replacement.

    x leads to functions in nested containers and partials, to those under one of these attribute names in a user's
    module, and to the methods of an object or a class. It leads to no functions of other libraries.
    """
    if dispatches_on_type(x):
        return [x, *x.registry.values()]
    if isinstance(x, FunctionType) or is_dispatcher(x) or (id(x) in PLAIN.of and type(x) is not ModuleType):
        return [x]
    parts = _parts_of(x, attributes)
    if parts is not None:
        return [g for y in parts for g in functions_in(y, attributes, depth - 1)] if depth else []
    if isinstance(x, type):  # calling it makes an object, whose methods are called
        return methods_of(x, attributes | _MAKING) if is_users_class(x) else []
    return methods_of(type(x), attributes) if is_users_class(type(x)) else []


def classes_in(x: Any, attributes: frozenset[str]) -> set[type]:
    """The user's classes that x is, or to which x, or objects that code with these attributes finds in x, belong."""
    return {y if isinstance(y, type) else type(y) for y in objects_in(x, attributes)}


def objects_in(x: Any, attributes: frozenset[str], depth: int = 4) -> list[Any]:
    """The user's classes and objects that x is, or that code with these attributes finds in x."""
    parts = _parts_of(x, attributes)
    if parts is not None:
        return [z for y in parts for z in objects_in(y, attributes, depth - 1)] if depth else []
    cls: Any = x if isinstance(x, type) else type(x)
    return [x] if cls not in DATA and is_users_class(cls) else []


def leads_to_objects(x: Any, attributes: frozenset[str], depth: int = 4) -> bool:
    """Whether x, or an object that code with these attributes finds in x, holds functions or objects."""
    parts = _parts_of(x, attributes)
    if parts is not None:
        return depth > 0 and any(leads_to_objects(y, attributes, depth - 1) for y in parts)
    cls: Any = x if isinstance(x, type) else type(x)
    if cls is SimpleNamespace:
        return any(map(leads_on, vars(x).values()))
    return cls not in DATA and is_users_class(cls) and (class_leads_on(cls) or any(map(leads_on, held_by(x))))


def held_by(x: Any) -> list[Any]:
    """The attribute values of a user's object, except data."""
    if isinstance(x, type):
        return []
    found = [*getattr(x, "__dict__", {}).values()]
    if isinstance(x, tuple):
        found += x
    for c in type(x).__mro__:
        found += [getattr(x, name, None) for name, slot in vars(c).items() if isinstance(slot, MemberDescriptorType)]
    return [y for y in found if type(y) not in DATA]


def leads_on(x: Any, depth: int = 4) -> bool:
    """Whether x, held by an object, is a function or an object that does more than hold data, or holds one of these."""
    kind: Any = type(x)
    if kind in DATA:
        return False
    if kind in CONTAINERS:  # an empty one may get items
        return depth > 0 and (not x or any(leads_on(y, depth - 1) for y in looked_into(x)))
    if isinstance(x, _FUNCTIONS) or id(x) in ASSIGNABLE.of or is_dispatcher(x):
        return True
    if isinstance(x, type):
        return is_users_class(x)
    if kind is SimpleNamespace:
        return depth > 0 and any(leads_on(y, depth - 1) for y in vars(x).values())
    if not is_users_class(kind):
        return False
    return _does_more(kind) or (depth > 0 and any(leads_on(y, depth - 1) for y in held_by(x)))


_FUNCTIONS = (FunctionType, MethodType, functools.partial, np.vectorize)


@weak_cache
def class_leads_on(cls: type) -> bool:
    """Whether a user's class has functions or objects that are not its methods."""
    named = [(name, x) for c in cls.__mro__[:-1] for name, x in vars(c).items() if name[:2] != "__"]
    return any(leads_on(x) for name, x in named if not isinstance(x, (FunctionType, type)) and name not in _MADE_UP)


_MADE_UP = {"_abc_impl", "_fields", "_field_defaults"}  # by `abc` and `collections.namedtuple`


@weak_cache
def _does_more(cls: type) -> bool:
    """Whether a class has methods other than those of data classes."""
    own = {name for c in cls.__mro__[:-1] for name, x in vars(c).items() if isinstance(function_of(x), FunctionType)}
    return not own <= _OF_DATA or any(is_dispatcher(x) for c in cls.__mro__[:-1] for x in vars(c).values())


def _parts_of(x: Any, attributes: frozenset[str]) -> list[Any] | None:
    """The objects that code with these attributes may reach through x, if x only holds or names others; else None."""
    kind = type(x)
    if kind in CONTAINERS:
        return looked_into(x)
    if kind is functools.partial:
        return [x.func, *x.args, *x.keywords.values()]
    if kind is MethodType:
        return [x.__func__, x.__self__]
    if kind is ModuleType:
        return [*_named_in(x, attributes).values()]
    return [x.pyfunc] if kind is np.vectorize else None


def _named_in(module: ModuleType, attributes: frozenset[str]) -> dict[str, Any]:
    """The values of these names in a user's module, except data."""
    file = getattr(module, "__file__", None)
    if file is not None and (_is_left_alone(file, module.__name__) or module.__name__.partition(".")[0] == "contad"):
        return {}
    found = {name: vars(module).get(name) for name in sorted(attributes)}
    return {name: x for name, x in found.items() if type(x) not in DATA}


def is_users_class(cls: type) -> bool:
    """Whether objects of a class are the user's, with attributes in a dictionary or slots, or a named tuple's."""
    answers, libraries = _answers_of(cls), SETTINGS.libraries
    if libraries not in answers:
        answers[libraries] = _is_users_class(cls)
    return answers[libraries]


@weak_cache
def _answers_of(cls: type) -> dict[frozenset[str], bool]:
    """Whether objects of a class count as the user's, given the libraries in the settings."""
    return {}


def _is_users_class(cls: type) -> bool:
    bases = [c for c in cls.__mro__[:-1] if c is not tuple or not hasattr(cls, "_fields")]  # named tuples
    slots = sum(isinstance(x, MemberDescriptorType) for c in bases for x in vars(c).values())
    sizes = [c.__basicsize__ + slots * _POINTER for c in (object, _Plain)] if tuple not in cls.__mro__ else [
        tuple.__basicsize__
    ]  # fmt: skip
    return (
        all(isinstance(c, type) and c.__flags__ & 1 << 9 for c in bases)  # a class that Python code has made
        and cls.__basicsize__ in sizes
        and type(cls).__call__ is type.__call__
        and not any(_is_of_library(c) for c in bases if c.__module__ not in _OF_BASES)
        and not any("_stands_for" in vars(c) for c in bases)
        and cls.__module__.partition(".")[0] != "contad"
    )


_OF_BASES = frozenset(("abc", "typing", "argparse"))  # bases of user classes from the standard library
_POINTER = struct.calcsize("P")


class _Plain:
    pass


def _is_of_library(cls: type) -> bool:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return file is not None and _is_left_alone(file, cls.__module__)


_MAKING = frozenset(("__init__", "__new__"))
_NOT_CALLED = frozenset(("__init__", "__new__", "__repr__", "__str__", "__del__", "__reduce__", "__init_subclass__"))


def is_method(f: FunctionType, cls: type) -> bool:
    """Whether a function is a method of a class, or of a base."""
    return any(vars(c).get(f.__name__) is f for c in cls.__mro__)


def methods_of(cls: type, attributes: frozenset[str] | None = None) -> list[Any]:
    """The functions that a class and its bases define, unwrapped; given names, only those among the names."""
    found: list[Any] = []
    for c in cls.__mro__[:-1]:
        for name, x in vars(c).items():
            if attributes is not None and name not in attributes and (name[:2] != "__" or name in _NOT_CALLED):
                continue
            f = function_of(x)
            if isinstance(f, FunctionType) or is_dispatcher(f):
                found.append(f)
    return found


_OF_DATA = _NOT_CALLED | {"__eq__", "__hash__", "__post_init__", "__setattr__", "__delattr__", "_make", "_replace",
                          "_asdict", "__getnewargs__", "__getstate__", "__setstate__", "__reduce__"}  # fmt: skip


class Family:
    """All plain functions that a function reaches by names, and those of them that need copies.

    `owners` are the classes of objects that are passed to it; `assignable` says whether variables can be assigned to
    the arrays that the functions make. Without a function, the family is everything that the methods of these classes
    reach.
    """

    def __init__(
        self, f: FunctionType | None, owners: frozenset[type] = frozenset(), assignable: bool = False
    ) -> None:  # fmt: skip
        self.reached: dict[int, Reached] = {}
        self.assignable = assignable
        self.stand_ins: StandIns = ASSIGNABLE if assignable else PLAIN
        self.attributes: frozenset[str] = frozenset()  # that the functions name
        self._search(f, owners)
        take_up(self.attributes, [x for r in self.reached.values() for x in r.named if type(x) not in DATA])
        # whether the family makes arrays, and may assign to them
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
                and any(
                    any(map(self.needs, functions_in(x, self.attributes))) or leads_to_objects(x, self.attributes)
                    for x, _ in r.inside
                )
            }
            self.needing |= more
            grown = bool(more)
        self.watched = [*self._watches()]
        # if it compares classes, its objects have to report the user's classes
        self.compares_classes = any(questions_of(r.code).compares_classes for r in self.reached.values())
        for r in self.reached.values():
            del r.named, r.inside  # which may be large

    def _search(self, f: FunctionType | None, given: frozenset[type]) -> None:
        """Find the functions. Methods call other methods of their objects, so this repeats as more names become
        known."""
        owners = set(given)
        left: list[Any] = [h for c in given for h in methods_of(c) if self._is_users(h)] if f is None else [f]
        while left:
            while left:
                g = left.pop()
                if id(g) in self.reached or (g is not f and not self._is_users(g)):
                    continue
                one = self.reached[id(g)] = Reached(g)
                self.attributes |= attributes_of(one.code)
                owners.update(*(classes_in(x, self.attributes) for x, _ in one.inside))
                left += [h for _, found in one.inside for h in found]
            methods = [h for c in owners if is_users_class(c) for h in methods_of(c, self.attributes | _MAKING)]
            left = [h for h in methods if id(h) not in self.reached and self._is_users(h)]
        self.owners = frozenset(owners)

    def _watches(self) -> Iterator[Watch]:
        """The watched values, which show at a few identities for each function that nothing relevant has changed."""
        for key, r in self.reached.items():
            if not is_contads(r.f):
                yield from r.watches(key in self.needing)
        names = self.attributes | _MAKING | {"__call__"}
        # a class without bases cannot get others
        yield from ((_order_of, c, c.__mro__) for c in self.owners if c.__bases__ != (object,) and is_users_class(c))
        for c in {c for owner in self.owners if is_users_class(owner) for c in owner.__mro__[:-1]}:
            own = vars(c)
            yield from ((own.get, name, own[name]) for name in names & own.keys() if _is_code(function_of(own[name])))

    @staticmethod
    def _is_users(g: Any) -> bool:
        if not isinstance(g, FunctionType) or is_contads(g):
            return False
        inner = vars(g).get("__wrapped__")  # from a library decorator, such as contextlib.contextmanager
        held = [c.cell_contents for c in g.__closure__ or () if is_filled(c)]
        if isinstance(inner, FunctionType) and any(x is inner for x in held):
            return Family._is_users(inner)
        return not _is_left_alone(g.__code__.co_filename, g.__module__)

    def _needs_itself(self, r: Reached) -> bool:
        if is_contads(r.f):  # which knows variables
            return False
        if asks(r.f, r.named):
            return True
        return self.assignable and makes_arrays(r.f, r.named, ASSIGNABLE)

    def needs(self, x: Any) -> bool:
        """Whether a function has a stand-in."""
        return id(x) in self.needing or id(x) in self.stand_ins.of or is_dispatcher(x) or dispatches_on_type(x)

    def is_as_it_was(self) -> bool:
        """Whether the names of all functions have the same values as before."""
        return all(r.is_as_it_was() for r in self.reached.values())


# ---- the settings of this process ------------------------------------------------------------------------------------
class _Settings:
    rewrite = True
    libraries: frozenset[str] = frozenset()  # installed packages whose functions also run as copies


SETTINGS = _Settings()


class _Before:
    """The settings as they were, which the end of a `with` block puts back."""

    def __init__(self) -> None:
        self.rewrite, self.libraries = SETTINGS.rewrite, SETTINGS.libraries
        self.keeps, self.accumulate = PRECISION.keeps, PRECISION.accumulate

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, where: TracebackType | None) -> None:
        SETTINGS.rewrite, SETTINGS.libraries = self.rewrite, self.libraries
        PRECISION.keeps, PRECISION.accumulate = self.keeps, self.accumulate

    def __repr__(self) -> str:
        names = sorted(SETTINGS.libraries)
        shown = f"rewrite={names if names and SETTINGS.rewrite else SETTINGS.rewrite}"
        shown += ", keep_dtype=True" if PRECISION.keeps else ""
        shown += ", accumulate=float64" if PRECISION.accumulate == FLOAT else ""
        return f"contad.settings({shown})"


def settings(
    *, rewrite: bool | str | Collection[str] | None = None, keep_dtype: bool | None = None,
    accumulate: DTypeLike | None = None,
) -> _Before:  # fmt: skip
    """Change the settings of this process: from now on, or until the end of a `with` block.

    rewrite says which functions run as copies of themselves, in which `math`, `np.zeros`, `isinstance` and Numba
    functions take variables: with True, the default, plain functions that do not belong to an installed package; with
    the name of a package, or several, those of these packages as well; with False none. A function that is
    differentiated itself may belong to any package.

    With keep_dtype=True, float32 arguments keep their dtype: f computes in the dtypes that NumPy's promotion gives, and
    the gradient of each argument has the argument's dtype. Otherwise, today's default, float32 arguments become
    float64. True becomes the default in the release after this one.

    accumulate is the dtype in which compiled derivatives of Numba functions accumulate sums of float32 numbers before
    they round once, those of the function and those of cotangents: np.float64, or np.float32, the default. Eager
    engines always compute in double precision and round once.

    Raises:  TypeError if rewrite or keep_dtype is something else; ValueError for another dtype to accumulate in.

    >>> with settings(rewrite=False):
    ...     settings()
    contad.settings(rewrite=False)
    >>> settings()
    contad.settings(rewrite=True)
    >>> with settings(keep_dtype=True, accumulate=np.float64):
    ...     settings()
    contad.settings(rewrite=True, keep_dtype=True, accumulate=float64)
    """
    libraries = None
    if not isinstance(rewrite, bool) and rewrite is not None:
        names = (rewrite,) if isinstance(rewrite, str) else rewrite
        if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
            raise TypeError(
                f"settings: rewrite must be True, False, or names of packages to rewrite as well, got {rewrite!r}"
            )
        libraries = frozenset(name.partition(".")[0] for name in names)
    if keep_dtype is not None and not isinstance(keep_dtype, bool):
        raise TypeError(f"settings: keep_dtype must be True or False, got {keep_dtype!r}")
    if accumulate is not None and np.dtype(accumulate) not in (SINGLE, FLOAT):
        raise ValueError(f"settings: accumulate must be np.float32 or np.float64, got {np.dtype(accumulate)}")
    before = _Before()
    if rewrite is not None:
        SETTINGS.rewrite, SETTINGS.libraries = bool(rewrite) or libraries is not None, libraries or frozenset()
    if keep_dtype is not None:
        PRECISION.keeps = keep_dtype
    if accumulate is not None:
        PRECISION.accumulate = np.dtype(accumulate)
    return before
