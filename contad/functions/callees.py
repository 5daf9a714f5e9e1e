"""Numba functions where variables are passed to them.

Compiled code takes plain numbers only. A plain function that names a Numba function runs as a copy of itself whose
globals, read live, give a stand-in: with variables it is one operation with a compiled derivative where there is one,
and the Numba function's Python twin otherwise. So does one that asks whether it is given floats or arrays (see
`contad.functions.questions`): variables are.
"""

import functools
import inspect
import operator
import sysconfig
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakSet

import numpy as np

from contad.functions.memo import memo_of
from contad.functions.object_arrays import answering
from contad.functions.python_copy import is_dispatcher
from contad.functions.questions import (
    answer,
    asks,
    attributes_of,
    builtins_of,
    class_of_primal,
    code_of,
    is_contads,
    names_of_objects,
    passes_by_globals,
    questions_of,
    warn_if_it_asks,
    warn_of_unanswered,
)
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Nested, NumbaFunction, Options
from contad.variables.trees import leaves_of

AtVariables = Callable[["OnNumbers", tuple[Nested, ...], Options], Nested]

_COPIES: WeakSet[FunctionType] = WeakSet()


def with_numba_callees(f: Function, at_variables: AtVariables) -> Function:
    """f, or a copy of it whose Numba functions take variables, where it or a plain function it calls names any.

    `at_variables(stand_in, args, kwargs)` computes the result of a Numba function where variables are passed to it.
    """
    if isinstance(f, FunctionType):
        return _for_variables(f, at_variables)
    if isinstance(f, MethodType):
        function, own = f.__func__, f.__self__
    else:  # an object that is called
        function, own = inspect.getattr_static(type(f), "__call__", None), f
    if not isinstance(function, FunctionType) or is_contads(function):
        return f
    _warn_of_hidden(function, type(own))
    copy = _for_variables(function, at_variables)
    return f if copy is function else MethodType(copy, own)


def _for_variables(f: FunctionType, at_variables: AtVariables) -> FunctionType:
    """f or its copy, made once for what the functions that it reaches name now."""
    if f in _COPIES:
        return f
    memo = memo_of(f)
    known: tuple[FunctionType, list[_Reached]] | None = memo.get("for variables")
    if known is not None and all(x.is_as_it_was() for x in known[1]):
        return known[0]
    seen: dict[int, _Reached] = {}
    copy = _StandIns(at_variables).of(f) if _dispatches_on_type(f) or _reaches_numba(f, seen) else f
    memo["for variables"] = copy, list(seen.values())
    return copy


_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def is_installed(filename: str) -> bool:
    """Whether a file is of a library, which is not searched: libraries are large, and what they name not the user's."""
    return filename.startswith(_INSTALLED) or "site-packages" in filename  # of another environment, by a .pth file


_MISSING = object()
_KEPT = frozenset((FunctionType, np.ufunc, type(np.nan_to_num)))  # types of what makes a difference by itself


class _Reached:
    """A function that another reaches, and what it named when it was looked at."""

    __slots__ = ("f", "code", "names", "kinds")

    def __init__(self, f: FunctionType) -> None:
        self.f = f
        self.code = f.__code__
        self.names = tuple(questions_of(f.__code__).names)
        self.kinds = [*map(_kind, self.values())]

    def values(self) -> list[Any]:
        """What its global and captured names, and its defaults, stand for now."""
        f = self.f
        own = f.__globals__
        values = [own.get(name, _MISSING) for name in self.names]
        if f.__closure__:
            values += [cell.cell_contents if _is_filled(cell) else _MISSING for cell in f.__closure__]
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
        return len(values) == len(self.kinds) and all(map(operator.is_, map(_kind, values), self.kinds))


def _kind(x: object) -> object:
    """What makes a difference of an object: functions make one each, other objects by their types."""
    kind = type(x)
    if kind in _PLAIN:
        return kind
    return x if kind in _KEPT or is_dispatcher(x) else kind


_PLAIN = frozenset((object, float, int, str, bool, tuple, list, dict, np.ndarray, ModuleType, type))


def _find_named(f: FunctionType) -> list[Any]:
    """What a function's global and captured names, and its defaults, stand for now."""
    return [x for x in _Reached(f).values() if x is not _MISSING]


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _reaches_numba(f: FunctionType, seen: dict[int, _Reached]) -> bool:
    """Whether a function needs a copy; `seen` gets all functions on which that depends."""
    if id(f) in seen or f in _COPIES or is_installed(f.__code__.co_filename):
        return False
    reached = seen[id(f)] = _Reached(f)
    named = [x for x in reached.values() if x is not _MISSING]
    _warn_of_hidden(f)
    # all of them, because copies are made of each
    found = [is_dispatcher(x) or _dispatches_on_type(x) for x in named]
    found += [_reaches_numba(x, seen) for x in named if isinstance(x, FunctionType)]
    return asks(f, named) or (any(found) and not passes_by_globals(f))


def _dispatches_on_type(x: object) -> bool:
    """Whether x is a function of functools.singledispatch."""
    return isinstance(x, FunctionType) and callable(getattr(x, "dispatch", None)) and hasattr(x, "registry")


# ---- what no copy is made of -----------------------------------------------------------------------------------------
_MOST_ELEMENTS = 64  # of a container that is looked through
_LOOKED: WeakSet[FunctionType] = WeakSet()


def _warn_of_hidden(f: FunctionType, *owner: type) -> None:
    """Warn once of each function that f may reach by an attribute or out of a container, and that asks for types.

    `owner` is the class of an f that is a method.
    """
    if f in _LOOKED:
        return
    _LOOKED.add(f)
    found = _hidden_in(f, [*owner, *_find_named(f)])
    seen: set[int] = set()
    while found:
        g = found.pop()
        known = not isinstance(g, FunctionType) or id(g) in seen
        if known or is_contads(g) or is_installed(g.__code__.co_filename):
            continue
        seen.add(id(g))
        warn_if_it_asks(g.__code__)
        inner = _find_named(g)
        found += [*inner, *_hidden_in(g, inner)]


def _hidden_in(f: FunctionType, named: list[Any]) -> list[Any]:
    """What the objects that a function names hold as their elements, or under the names of its attributes."""
    attributes = attributes_of(f.__code__)
    found: list[Any] = []
    for x in named:
        if isinstance(x, functools.partial):
            found.append(x.func)
        elif isinstance(x, (list, tuple, dict)):
            found += (x.values() if isinstance(x, dict) else x) if len(x) <= _MOST_ELEMENTS else ()
        elif isinstance(x, ModuleType):
            found += [vars(x).get(name) for name in attributes]
        elif isinstance(x, type) or not (type(x) in _PLAIN or type(x) in _KEPT or is_dispatcher(x)):
            owner, names = (x, attributes) if isinstance(x, type) else (type(x), attributes | {"__call__"})
            methods = _attributes_of(owner, names)
            found += [g.fget if isinstance(g, property) else getattr(g, "__func__", g) for g in methods]
    return found


def _attributes_of(owner: type, names: frozenset[str]) -> list[Any]:
    """What a class has under these names, unbound; of its metaclass as well. As inspect.getattr_static, but faster."""
    found: dict[str, Any] = {}
    for c in (*inspect.getmro(type(owner))[::-1], *inspect.getmro(owner)[::-1]):
        own = c.__dict__
        found |= {name: own[name] for name in names if name in own}
    return [*found.values()]


# ---- copies ----------------------------------------------------------------------------------------------------------
class _StandIns:
    """What stands for Numba functions and for plain functions that call them, made once for each."""

    def __init__(self, at_variables: AtVariables) -> None:
        self.at_variables = at_variables
        self.made: dict[int, tuple[object, Any]] = {}

    def need(self, value: object) -> bool:
        if is_dispatcher(value):
            return True
        return isinstance(value, FunctionType) and (_dispatches_on_type(value) or _reaches_numba(value, {}))

    def of(self, value: Any) -> Any:
        if not isinstance(value, FunctionType) and not is_dispatcher(value):
            return value
        known = self.made.get(id(value))
        if known is None:
            # the value too, so that its id stays its own
            stand_in = OnNumbers(value, self.at_variables) if is_dispatcher(value) else value
            known = self.made[id(value)] = value, stand_in
            if isinstance(value, FunctionType) and _dispatches_on_type(value):
                self.made[id(value)] = known = value, self._dispatching(value)
            elif not is_dispatcher(value) and self.need(value):
                return self._copy(value)
        return known[1]

    def _copy(self, f: FunctionType) -> FunctionType:
        answers = answering if names_of_objects(f, _find_named(f)) else _as_it_is
        captured = [cell.cell_contents if _is_filled(cell) else None for cell in f.__closure__ or ()]
        replaced = [self.need(x) or answers(x) is not x for x in captured]
        cells = tuple(CellType() if new else cell for new, cell in zip(replaced, f.__closure__ or (), strict=True))
        needs_names = questions_of(f.__code__).inside or answers is answering or self._names_any(f)
        if needs_names and not passes_by_globals(f):
            copy = FunctionType(code_of(f), _Globals(f, self, answers), f.__name__, None, cells)
        else:  # with the function's own globals, which are read faster
            if answers is answering:
                warn_of_unanswered(f)
            copy = answer(f, cells)
        copy.__dict__ = f.__dict__  # shared, so that both see an attribute that is set later
        _COPIES.add(copy)
        self.made[id(f)] = (f, copy)  # before its cells are filled: a function that captures itself meets it there
        for new, cell, own in zip(replaced, f.__closure__ or (), cells, strict=True):
            if new:
                own.cell_contents = answers(self.of(cell.cell_contents))
        copy.__defaults__ = f.__defaults__ and tuple(answers(self.of(x)) for x in f.__defaults__)
        copy.__kwdefaults__ = f.__kwdefaults__ and {k: answers(self.of(x)) for k, x in f.__kwdefaults__.items()}
        return copy

    def _names_any(self, f: FunctionType) -> bool:
        """Whether a global name of a function is one for which something stands in."""
        names = questions_of(f.__code__).names
        return any(self.need(f.__globals__[name]) for name in names if name in f.__globals__)

    def _dispatching(self, function: Any) -> Function:
        """A function of functools.singledispatch, for which a variable is of the class that it stands for."""

        @functools.wraps(function)
        def dispatch(*args: Nested, **kwargs: Nested) -> Nested:
            return self.of(function.dispatch(class_of_primal(args[0])))(*args, **kwargs)

        return dispatch


def _as_it_is(x: object) -> object:
    return x


class _Globals(dict[str, Any]):
    """The globals of a function, read live, through the stand-ins."""

    def __init__(self, f: FunctionType, stand_ins: _StandIns, answers: Callable[[object], object]) -> None:
        real = f.__globals__
        # what Python reads past __missing__: for imports, warnings and classes inside the function
        super().__init__({name: real[name] for name in ("__name__", "__package__", "__spec__") if name in real})
        super().__setitem__("__builtins__", builtins_of(f))
        self.real = real
        self.stand_ins = stand_ins
        self.answers = answers

    def __missing__(self, name: str) -> Any:
        return self.answers(self.stand_ins.of(self.real[name]))

    # for code that calls globals()
    def __setitem__(self, name: str, value: object) -> None:
        self.real[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self.real

    def get(self, name: str, default: object = None) -> Any:
        return self[name] if name in self.real else default


class OnNumbers:
    """A dispatcher that runs as it is on plain arguments; `at_variables(self, args, kwargs)` answers other calls."""

    def __init__(self, dispatcher: NumbaFunction, at_variables: AtVariables) -> None:
        self.dispatcher = dispatcher
        self.at_variables = at_variables
        self.twin: Function | None = None  # made where no compiled derivative answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str | tuple[Any, ...]:
        return OnNumbers, (self.dispatcher, self.at_variables)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        if any(map(holds_number, (*args, *kwargs.values()))):
            return self.at_variables(self, args, kwargs)
        functions = {name: x.dispatcher for name, x in kwargs.items() if isinstance(x, OnNumbers)}
        return self.dispatcher(*(x.dispatcher if isinstance(x, OnNumbers) else x for x in args), **kwargs | functions)


def holds_number(x: Nested) -> bool:
    """Whether x is or contains a variable or a dual; object arrays are taken to."""
    return any(x.dtype == object if isinstance(x, np.ndarray) else isinstance(x, Carrier) for x in leaves_of(x))
