"""Plain functions where variables are passed to them, as copies where something that they reach does not take those.

A Numba function takes plain numbers only: with variables it is one operation with a compiled derivative where there is
one, and its Python twin otherwise. `math` does not know variables, an ndarray has no room for them, and `isinstance`
cannot be told what they stand for. A function that names any of these, or a function that does, runs as a copy of
itself: its code with constants in place of these names (`contad.functions.bound_names`), over the same globals.
"""

import functools
import inspect
from collections.abc import Callable
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakSet

import numpy as np

from contad.errors import LostDerivativeError
from contad.functions.bound_names import CAN_BIND, bind_names
from contad.functions.memo import memo_of
from contad.functions.python_copy import is_dispatcher
from contad.functions.questions import (
    ANSWERS,
    answer,
    builtins_of,
    class_of_primal,
    code_of,
    handles_unseen,
    is_contads,
    passes_by_globals,
    questions_of,
)
from contad.functions.reached import Family, dispatches_on_type, functions_in, is_filled, is_users_class, methods_of
from contad.variables.array import Array
from contad.variables.creation import makes_arrays_of_variables
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Nested, NumbaFunction, Options
from contad.variables.stack import THREAD, count_remembered, forget_since
from contad.variables.trees import leaves_of, map_leaves

AtVariables = Callable[["OnNumbers", tuple[Nested, ...], Options], Nested]

_COPIES: WeakSet[FunctionType] = WeakSet()


def with_numba_callees(f: Function, at_variables: AtVariables) -> Function:
    """f, or a copy of it that takes variables where it, or a plain function that it reaches, does not.

    `at_variables(stand_in, args, kwargs)` computes the result of a Numba function where variables are passed to it.
    """
    if isinstance(f, LiveCopy) or (isinstance(f, FunctionType) and f in _COPIES):
        return f
    if isinstance(f, FunctionType):
        return _stand_ins_of(f, None, at_variables).live(f)
    if type(f) is functools.partial:
        function = with_numba_callees(f.func, at_variables)
        return f if function is f.func else functools.partial(function, *f.args, **f.keywords)
    if isinstance(f, MethodType):
        function, own = f.__func__, f.__self__
    else:  # an object that is called
        function, own = inspect.getattr_static(type(f), "__call__", None), f
    if not isinstance(function, FunctionType) or is_contads(function):
        return f
    stand_ins = _stand_ins_of(function, type(own), at_variables)
    return LiveCopy(f, stand_ins, own) if stand_ins.stands_for_any else f


def _stand_ins_of(f: FunctionType, owner: type | None, at_variables: AtVariables) -> "_StandIns":
    """What stands for f, a method of this class if one is given, and what it reaches, for what their names are now."""
    memo = memo_of(f)
    key = "for variables", owner
    known: _StandIns | None = memo.get(key)
    if known is None or not known.family.is_as_it_was():
        known = memo[key] = _StandIns(f, owner, at_variables, known is not None and known.family.assignable)
    return known


class LiveCopy:
    """What runs in place of a function: its copy, made anew where a name that was bound stands for something else.

    Arrays that the function makes are plain ones until a variable is to be assigned to one; then the function runs
    again, and from then on, with arrays that have room for variables.
    """

    def __init__(self, f: Function, stand_ins: "_StandIns", owner: Any = None) -> None:
        functools.update_wrapper(self, f, updated=())
        self.owner = owner  # of a method, or the object that is called
        self._use(stand_ins)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        for names, name, value in self.stand_ins.bound:
            if names.get(name) is not value:
                self._use(_stand_ins_of(self.stand_ins.f, self.stand_ins.owner, self.stand_ins.at_variables))
                break
        family = self.stand_ins.family
        if family.assignable or not family.may_assign or not makes_arrays_of_variables():
            return self.run(*args, **kwargs)
        given = map_leaves(_copy_of_array, (args, kwargs))  # f may write to its arguments
        before = count_remembered()
        try:
            result = self.run(*args, **kwargs)
        except Exception as error:
            if not (isinstance(error, LostDerivativeError) or _has_lost(before)):
                raise
        else:
            if not _has_lost(before):
                return result
        forget_since(before)
        self._use(self.stand_ins.with_assignable_arrays())
        args, kwargs = given
        return self.run(*args, **kwargs)

    def _use(self, stand_ins: "_StandIns") -> None:
        self.stand_ins, self.run = stand_ins, stand_ins.of(stand_ins.f)
        if self.owner is not None:
            self.run = MethodType(self.run, stand_ins.of_object(self.owner))


def _has_lost(before: int) -> bool:
    """Whether a level has remembered a lost derivative since that many errors."""
    levels: list[Any] = [*THREAD.open, *THREAD.forward]
    noted = [s.caught for s in levels if s.caught is not None and s.caught[2] > before]
    return any(isinstance(error, LostDerivativeError) for error, _, _ in noted)


def _copy_of_array(x: Nested) -> Nested:
    return x.copy("K") if isinstance(x, (Array, np.ndarray)) else x


# ---- copies ----------------------------------------------------------------------------------------------------------
class _StandIns:
    """What stands for functions, and for the objects by which they are reached, made once for each."""

    def __init__(self, f: FunctionType, owner: type | None, at_variables: AtVariables, assignable: bool) -> None:
        self.f, self.owner, self.at_variables = f, owner, at_variables
        self.family = Family(f, owner, assignable)
        self.family.stand_ins.update()
        self.bound: list[tuple[dict[str, Any], str, Any]] = []  # (globals, name, what it stood for)
        self.made: dict[int, tuple[object, Any]] = {}  # the value too, so that its id stays its own
        self.classes: dict[type, type] = {}
        self.copy: LiveCopy | None = None

    @property
    def stands_for_any(self) -> bool:
        """Whether the function has to run in another way than as it is."""
        return bool(self.family.needing) or self.family.may_assign

    def with_assignable_arrays(self) -> "_StandIns":
        """The same for arrays that have room for variables, from now on."""
        new = memo_of(self.f)["for variables", self.owner] = _StandIns(self.f, self.owner, self.at_variables, True)
        return new

    def live(self, f: FunctionType) -> Function:
        """f, or what runs in place of it."""
        if self.copy is None and self.stands_for_any:
            self.copy = LiveCopy(f, self)
        return self.copy or f

    def of(self, value: Any) -> Any:
        """What stands for a value that a function names; anything else as it is."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        answer = self.family.stand_ins.of.get(id(value))
        if answer is not None:
            return answer
        known = self.made.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, FunctionType):
            new = self._function(value)
        elif is_dispatcher(value):
            new = OnNumbers(value, self.at_variables)
        elif not any(map(self.family.needs, functions_in(value, self.family.attributes))):
            new = value
        elif kind is functools.partial:
            options = {name: self.of(x) for name, x in value.keywords.items()}
            new = functools.partial(self.of(value.func), *map(self.of, value.args), **options)
        elif kind is MethodType:
            new = MethodType(self.of(value.__func__), self.of(value.__self__))
        elif kind is dict:
            new = _Dict((name, self.of(x)) for name, x in value.items())
        elif kind in (list, tuple):
            new = (_List if kind is list else tuple)(map(self.of, value))
        elif kind is ModuleType:
            new = _LiveModule(value, self)
        else:
            new = self.of_object(value)
        self.made[id(value)] = value, new
        return new

    def of_object(self, x: Any) -> Any:
        """An object of the user's with the methods of the copies; it shares its attributes with the user's."""
        cls: Any = type(x)
        if not is_users_class(cls) or not any(map(self.family.needs, methods_of(cls))):
            return x
        if cls not in self.classes:
            self.classes[cls] = type(cls)(cls.__name__, (cls,), self._methods(cls))
        new: Any = object.__new__(self.classes[cls])
        object.__setattr__(new, "__dict__", x.__dict__)
        return new

    def _methods(self, cls: type) -> dict[str, Any]:
        """The methods of a class of which copies are made."""
        names: dict[str, Any] = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        for c in cls.__mro__[-2::-1]:
            for name, x in vars(c).items():
                if isinstance(x, property) and isinstance(x.fget, FunctionType):
                    new: Any = property(self.of(x.fget), x.fset, x.fdel, x.__doc__)
                elif isinstance(x, (staticmethod, classmethod)):
                    new = type(x)(self.of(x.__func__))
                elif isinstance(x, FunctionType) or is_dispatcher(x):
                    new = self.of(x)
                else:
                    names.pop(name, None)
                    continue
                names[name] = new
        if getattr(cls, "__hash__", None) is None:
            names["__hash__"] = object.__hash__  # constants of code must be hashable
        return names

    def _function(self, f: FunctionType) -> Any:
        if dispatches_on_type(f):
            return self._dispatching(f)
        return self._copy(f) if id(f) in self.family.needing and f not in _COPIES else f

    def _copy(self, f: FunctionType) -> FunctionType:
        code = code_of(f)
        cells = [*(f.__closure__ or ())]
        # those whose contents are others; a name that is not bound yet keeps its cell
        replaced = [is_filled(cell) and self._stands_in(cell.cell_contents) for cell in cells]
        own = tuple(CellType() if new else cell for new, cell in zip(replaced, cells, strict=True))
        inner = questions_of(f.__code__).inside and (handles_unseen(f.__code__) or not CAN_BIND)
        if (inner or not CAN_BIND) and not passes_by_globals(f):
            copy = FunctionType(code, _Globals(f, self), f.__name__, None, own)
        else:
            copy = answer(f, own, builtins_of(f, self.family.stand_ins))
        copy.__dict__ = f.__dict__  # shared, so that both see an attribute that is set later
        copy.__qualname__, copy.__doc__ = f.__qualname__, f.__doc__
        _COPIES.add(copy)
        self.made[id(f)] = f, copy  # before its names are bound: a function that names itself meets it there
        if type(copy.__globals__) is dict and CAN_BIND:
            copy.__code__ = bind_names(code, self._names(f))
        for new, cell, mine in zip(replaced, cells, own, strict=True):
            if new:
                mine.cell_contents = self.of(cell.cell_contents)
        copy.__defaults__ = f.__defaults__ and tuple(map(self.of, f.__defaults__))
        copy.__kwdefaults__ = f.__kwdefaults__ and {k: self.of(x) for k, x in f.__kwdefaults__.items()}
        return copy

    def _stands_in(self, value: Any) -> bool:
        """Whether something stands for a value; functions of which copies are being made may be captured by it."""
        if isinstance(value, FunctionType):
            return self.family.needs(value)
        return self.of(value) is not value

    def _names(self, f: FunctionType) -> dict[str, Any]:
        """The global and built-in names of a function for which something stands; not those that it assigns to."""
        asked = questions_of(f.__code__)
        names = {}
        for name in asked.names - asked.stored:
            if name in f.__globals__:
                value = f.__globals__[name]
                new = self.of(value)
                if new is not value:
                    names[name] = new
                    self.bound.append((f.__globals__, name, value))
            elif name in ANSWERS:
                names[name] = ANSWERS[name]
        return names

    def _dispatching(self, function: Any) -> Function:
        """A function of functools.singledispatch, for which a variable is of the class that it stands for."""

        @functools.wraps(function)
        def dispatch(*args: Nested, **kwargs: Nested) -> Nested:
            return self.of(function.dispatch(class_of_primal(args[0])))(*args, **kwargs)

        return dispatch


_PLAIN = frozenset((object, float, int, str, bool, complex, bytes, np.ndarray, np.float64, type(None)))


class _List(list[Any]):
    """A list that can be a constant of code, which must be hashable."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class _Dict(dict[Any, Any]):
    """The same for a dict."""

    __hash__ = object.__hash__  # type: ignore[assignment]


class _LiveModule(ModuleType):
    """A module of the user's, read live, through the stand-ins."""

    def __init__(self, module: ModuleType, stand_ins: _StandIns) -> None:
        super().__init__(module.__name__, module.__doc__)
        object.__setattr__(self, "_read", (module, stand_ins))

    def __getattribute__(self, name: str) -> Any:
        module, stand_ins = object.__getattribute__(self, "_read")
        return stand_ins.of(getattr(module, name))

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "_read")[0], name, value)

    def __dir__(self) -> list[str]:
        return dir(object.__getattribute__(self, "_read")[0])


class _Globals(dict[str, Any]):
    """The globals of a function, read live, through the stand-ins."""

    def __init__(self, f: FunctionType, stand_ins: _StandIns) -> None:
        real = f.__globals__
        # what Python reads past __missing__: for imports, warnings and classes inside the function
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
