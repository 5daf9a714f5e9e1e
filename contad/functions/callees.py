"""Plain functions called with variables: they run as copies if they reach something that does not take variables.

A Numba function takes plain numbers only: with variables it is one operation if it has a compiled derivative, and its
Python twin otherwise. `math` does not know variables, an ndarray has no room for them, and `isinstance` cannot know
what they stand for. A function that names any of these, or a function that does, runs as a copy of itself: its code
with constants in place of these names (`contad.functions.bound_names`), over the same globals.
"""

import functools
import inspect
from collections.abc import Collection, Iterable
from types import CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any
from weakref import WeakSet

import numpy as np

from contad.compile.dispatchers import is_dispatcher
from contad.errors import LostDerivativeError
from contad.functions import reached
from contad.functions.array_making import stand_for_vectorized
from contad.functions.bound_names import CAN_BIND, bind_names
from contad.functions.live_reads import LiveGlobals, LiveModule, Standing, is_of_module, weakly
from contad.functions.methods_of_arrays import ASSIGNABLE_METHODS, METHODS
from contad.functions.polynomial_classes import take_up
from contad.functions.questions import (
    answer,
    built_in_answer,
    builtins_of,
    class_of_primal,
    code_of,
    handles_unseen,
    is_contads,
    modules_of,
    passes_by_globals,
    questions_of,
    warn_if_it_asks,
)
from contad.functions.reached import SETTINGS
from contad.functions.stand_in_classes import give_methods, names_below, stand_for_class
from contad.functions.stand_in_containers import (
    CONTAINERS,
    Contents,
    StandInContainer,
    bring_up_to_date,
    fill,
    make_empty,
    stand_for_container,
)
from contad.functions.stand_in_objects import CALL, ObjectView, stand_for_namespace, user_of
from contad.functions.user_call import AtVariables, OnNumbers, memo_for, memo_of
from contad.rules.definition import looked_up
from contad.variables.array import Array
from contad.variables.creation import makes_arrays_of_variables
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Nested, Options
from contad.variables.stack import THREAD, forget_since
from contad.variables.trees import map_leaves

Arguments = tuple[Any, Options]

_COPIES: WeakSet[FunctionType] = WeakSet()


def with_numba_callees(f: Function, at_variables: AtVariables, takes_others: bool = True) -> Function:
    """f, or a copy that takes variables, if f or a plain function that it reaches does not take them.

    `at_variables(stand_in, args, kwargs)` computes the result of a Numba function called with variables. `takes_others`
    says whether callers may pass functions and objects to f that have no stand-ins yet.
    """
    if isinstance(f, LiveCopy) or (isinstance(f, FunctionType) and f in _COPIES):
        return f
    if isinstance(f, FunctionType):
        stand_ins = _stand_ins_of(f, frozenset(), at_variables)
        return stand_ins.live(f) if takes_others or stand_ins.stands_for_any else f
    if type(f) is functools.partial:
        function = with_numba_callees(f.func, at_variables)  # which takes the arguments in the partial
        return f if function is f.func else functools.partial(function, *f.args, **f.keywords)
    function, own = _method_of(f)
    if not isinstance(function, FunctionType) or is_contads(function):
        return f
    stand_ins = _stand_ins_of(function, frozenset((type(own),)), at_variables)
    stands = stand_ins.stands_for_any or reached.leads_to_objects(own, frozenset())
    return LiveCopy(f, stand_ins, own) if stands or (takes_others and _takes_others(function)) else f


def _method_of(f: Function) -> tuple[Any, Any]:
    """The function that a bound method, or an object that is called, runs now, and its object."""
    if isinstance(f, MethodType):
        return f.__func__, f.__self__
    return inspect.getattr_static(type(f), "__call__", None), f


def _stand_ins_of(
    f: FunctionType, owners: frozenset[type], at_variables: AtVariables, assignable: bool = False, anew: bool = False
) -> "_StandIns":
    """The stand-ins for f, called with objects of these classes, and for everything that it reaches by present names.

    It is made again after a change, and if `anew` requests it.
    """
    own = next(iter(owners)) if len(owners) == 1 else None
    # a method of a base may outlive the class; its stand-in for the class does not
    kept = memo_of(f) if own is None or not reached.is_method(f, own) else memo_for(own)
    memo = kept.setdefault("for variables", {})
    if len(memo) > _MOST_CLASSES:
        memo.clear()
    key = f, owners, SETTINGS.libraries
    known: _StandIns | None = memo.get(key)
    assignable = assignable or (known is not None and known.family.assignable)
    if anew or known is None or known.family.assignable < assignable or not known.family.is_as_it_was():
        known = memo[key] = _StandIns(f, owners, at_variables, assignable)
    return known


def _takes_others(f: FunctionType) -> bool:
    """Whether f may receive functions and objects besides the differentiated argument."""
    code = f.__code__
    return code.co_argcount + code.co_kwonlyargcount > 1 or code.co_flags & _OF_ANY_LENGTH != 0


_MOST_CLASSES = 16  # combinations of argument classes for which copies of one function are kept
_OF_ANY_LENGTH = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_Own = tuple["_StandIns", Function, Arguments]


class LiveCopy:
    """Runs in place of a function: its copy, made again after its code or a bound name has changed.

    It replaces functions and objects among its arguments in the same way. Arrays that the function makes are plain
    until it assigns a variable to one. Then the function runs again, and from then on its arrays have room for
    variables.
    """

    current: "_Current"  # one object, because threads share this one

    def __init__(self, f: Function, stand_ins: "_StandIns", owner: Any = None) -> None:
        functools.update_wrapper(self, f, updated=())
        self.owner = owner  # of a method, or the object that is called
        self.owners = stand_ins.owners
        self._use(stand_ins)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        stand_ins, run, as_it_is, standing = self.current
        if self.owner is not None and not (type(self.owner) is self.kind and (standing is None or standing.look())):
            stand_ins, run, as_it_is, standing = self.look_again()
        for read, x, value in stand_ins.watched:
            if read(x) is not value:
                stand_ins, run, as_it_is, standing = self.look_again()
                break
        if as_it_is and (not self.takes_others or (not kwargs and ORDINARY.issuperset(map(type, args)))):
            return run(*args, **kwargs)
        if not SETTINGS.rewrite:
            return self.__wrapped__(*args, **kwargs)  # type: ignore[attr-defined]
        call = CALL.here
        call.depth += 1
        try:
            if stand_ins.permanent:
                call.objects.update(stand_ins.permanent)
            if standing is not None:
                standing.put_into(call.objects)
            own = given = args, kwargs
            if kwargs or not ORDINARY.issuperset(map(type, args)):
                stand_ins, run, own = self._replace(stand_ins, run, args, kwargs)
            # it finds the functions of other objects as it runs
            family = stand_ins.family
            if family.assignable or not (family.may_assign or stand_ins.views) or not makes_arrays_of_variables():
                return run(*own[0], **own[1])
            return self._try(stand_ins, run, own, given)
        finally:
            call.depth -= 1
            if call.depth == 0 and (call.objects or call.checked):
                call.forget()

    def _replace(self, stand_ins: "_StandIns", run: Function, args: tuple[Nested, ...], kwargs: Options) -> "_Own":
        """Call the copy with stand-ins for the functions and objects among its arguments."""
        others = [x for x in (*args, *kwargs.values()) if type(x) not in ORDINARY]
        if not all(map(stand_ins.knows, others)):
            stand_ins, run, _, _ = self._use(self._with_classes(stand_ins, others))
        own = tuple(map(stand_ins.of_argument, args)), {name: stand_ins.of_argument(x) for name, x in kwargs.items()}
        return stand_ins, run, own

    def _try(self, stand_ins: "_StandIns", run: Function, own: Arguments, given: Arguments) -> Nested:
        """The result at its arguments; if arrays had no room for variables, a second run gets the original
        arguments."""
        given = map_leaves(_copy_of_array, given)  # f may write to its arguments
        before = THREAD.remembered
        try:
            result = run(*own[0], **own[1])
        except Exception as error:
            if not (isinstance(error, LostDerivativeError) or _has_lost(before)):
                raise
        else:
            if not _has_lost(before):
                return result
        forget_since(before)
        CALL.here.forget()
        self._use(stand_ins.again(assignable=True))
        return self(*given[0], **given[1])

    def _with_classes(self, stand_ins: "_StandIns", args: list[Nested]) -> "_StandIns":
        """The stand-in for the function if it also receives objects of these classes."""
        classes = frozenset[type]().union(*(reached.classes_in(x, stand_ins.family.attributes) for x in args))
        if len(stand_ins.owners) > _MOST_CLASSES:  # made anew for every call
            classes |= self.owners
            return _stand_ins_of(stand_ins.f, classes, stand_ins.at_variables, stand_ins.family.assignable)
        return stand_ins.again(classes)

    def look_again(self) -> "_Current":
        """Make everything again, from the present function and names."""
        stand_ins = self.current[0]
        if self.owner is not None:
            function, _ = _method_of(self.__wrapped__)  # type: ignore[attr-defined]
            if not isinstance(function, FunctionType):
                self.current = stand_ins, self.__wrapped__, True, None  # type: ignore[attr-defined]
                return self.current
            if function is not stand_ins.f or type(self.owner) is not self.kind:
                self.owners = frozenset((type(self.owner),))
                return self._use(_stand_ins_of(function, self.owners, stand_ins.at_variables))
        return self._use(stand_ins.again(anew=True))

    def _use(self, stand_ins: "_StandIns") -> "_Current":
        run = stand_ins.of(stand_ins.f)
        standing, self.kind = None, type(self.owner)
        if self.owner is not None:
            standing = stand_ins.standing(self.owner)
            run = MethodType(run, self.owner if standing is None else standing.new)
        self.takes_others = _takes_others(stand_ins.f)
        # whether it is the function itself, and only arguments may have stand-ins
        stands = stand_ins.permanent or stand_ins.views or stand_ins.stands_for_any
        as_it_is = run is self.__wrapped__ and not stands  # type: ignore[attr-defined]
        self.current = stand_ins, run, as_it_is, standing
        return self.current


_Current = tuple["_StandIns", Function, bool, "Standing | None"]


def direct(run: Function) -> tuple[Function, Collection[reached.Watch]]:
    """The function that `run` calls with ordinary arguments as long as no watched value changes, and this object.

    This object itself if it does more than that.
    """
    if isinstance(run, LiveCopy) and run.current[2]:
        return run.current[1], run.current[0].watched
    return run, ()


def _has_lost(before: int) -> bool:
    """Whether a level has remembered a lost derivative after that number of errors."""
    levels: list[Any] = [*THREAD.open, *THREAD.forward]
    noted = [s.caught for s in levels if s.caught is not None and s.caught[2] > before]
    return any(isinstance(error, LostDerivativeError) for error, _, _ in noted)


def _copy_of_array(x: Nested) -> Nested:
    return x.copy("K") if isinstance(x, (Array, np.ndarray)) else x


# ---- copies ----------------------------------------------------------------------------------------------------------
class _StandIns:
    """The stand-ins for functions, and for the objects that lead to them, made once for each."""

    def __init__(
        self, f: FunctionType | None, owners: frozenset[type], at_variables: AtVariables, assignable: bool
    ) -> None:  # fmt: skip
        self.f: Any = f
        self.owners, self.at_variables = owners, at_variables
        self.family = reached.Family(f, owners, assignable)
        self.family.stand_ins.update()
        # and the earlier values of names with stand-ins
        self.watched: list[reached.Watch] = [*self.family.watched]
        self.made: dict[int, tuple[object, Any]] = {}  # also the value, so that its id stays in use
        self.classes: dict[type, type] = {}
        self.views: dict[type, ObjectView | None] = {}
        self.permanent: dict[int, tuple[Any, Any]] = {}  # objects that functions name, with their stand-ins
        self.others: dict[type, _StandIns] = {}  # for classes of objects found in attributes
        self.copy: LiveCopy | None = None

    @property
    def stands_for_any(self) -> bool:
        """Whether the function cannot run unchanged."""
        return bool(self.family.needing) or self.family.may_assign

    def knows(self, x: Any) -> bool:
        """Whether the classes of an argument are known."""
        return isinstance(x, Carrier) or reached.classes_in(x, self.family.attributes) <= self.owners

    def again(
        self, owners: frozenset[type] = frozenset(), assignable: bool = False, anew: bool = False
    ) -> "_StandIns":
        """The same for the present values of names, for objects of more classes, or for arrays with room for
        variables."""
        assignable = assignable or self.family.assignable
        return _stand_ins_of(self.f, self.owners | owners, self.at_variables, assignable, anew)

    def live(self, f: FunctionType) -> Function:
        """The function that runs in place of f."""
        if self.copy is None:
            self.copy = LiveCopy(f, self)
        return self.copy

    def of_argument(self, x: Any) -> Any:
        """The stand-in for a value that the function receives, or that an object holds: one for the duration of a
        call."""
        kind = type(x)
        if kind in ORDINARY:
            return x
        if isinstance(x, Carrier):
            ORDINARY.add(kind)
            return x
        key = id(x) if self.family.assignable else ~id(x)
        call = CALL.here
        known = call.objects.get(key)
        if known is not None:
            if isinstance(known[1], StandInContainer):
                bring_up_to_date(known[1], self.of_argument)
            return known[1]
        new = self._of_argument(x, kind)
        if new is not x and kind not in _VALUES and call.depth:
            call.objects[key] = x, new
        return new

    def _of_argument(self, x: Any, kind: type) -> Any:
        take_up(frozenset(), (x,))
        answer = self.family.stand_ins.find(x)
        if answer is not None:
            return answer
        if is_dispatcher(x):
            return OnNumbers(x, self.at_variables, weakly(self.of_argument))
        if kind in _FUNCTIONS:
            return with_numba_callees(x, self.at_variables, False)
        if kind is np.vectorize:
            return stand_for_vectorized(x, self.of_argument(x.pyfunc))
        if kind is SimpleNamespace:
            return stand_for_namespace(x, weakly(self.of_argument), reached.leads_on)
        if kind in CONTAINERS:
            inside = reached.looked_into(x)
            if x and all(self.of_argument(y) is y for y in inside):
                return x
            return stand_for_container(x, self.of_argument, weakly(self.users_of))
        if isinstance(x, type):
            return self._for(x)._class(x) if reached.is_users_class(x) else x
        return self.of_object(x)

    def of(self, value: Any) -> Any:
        """The stand-in for a value that a function names; anything else unchanged."""
        kind = type(value)
        if kind in reached.DATA:
            return value
        answer = self.family.stand_ins.find(value)
        if answer is not None:
            return answer
        known = self.made.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, FunctionType):
            new = self._function(value)
        elif is_dispatcher(value):
            new = OnNumbers(value, self.at_variables, weakly(self.of_argument))
        elif isinstance(value, type):
            new = self._class(value)
        elif kind is np.vectorize:
            new = stand_for_vectorized(value, self.of(value.pyfunc))
        elif kind in _VALUES:
            new = value
            if any(self.of(y) is not y for y in reached.looked_into(value)):
                new = stand_for_container(value, self.of, weakly(self.users_of))
        elif kind in CONTAINERS:
            new = make_empty(value, weakly(self.users_of))
            self.made[id(value)] = value, new  # before it is filled: its contents may name it, or hold it
            if any(self.of(y) is not y for y in reached.looked_into(value)):
                fill(new, self.of)
                self.watched.append((Contents(value).get, "", True))
            else:
                new = value
        elif kind is SimpleNamespace:
            new = stand_for_namespace(value, weakly(self.of_argument), reached.leads_on)
        elif reached.is_users_class(kind):
            new = self.of_permanent(value)
        elif not any(
            map(self.family.needs, reached.functions_in(value, self.family.attributes))
        ) and not reached.leads_to_objects(value, self.family.attributes):  # fmt: skip
            new = value
        elif kind is functools.partial:
            options = {name: self.of(x) for name, x in value.keywords.items()}
            new = functools.partial(self.of(value.func), *map(self.of, value.args), **options)
            self.watched += [*reached.parts_of_partial(value)]
        elif kind is MethodType:
            new = MethodType(self.of(value.__func__), self.of(value.__self__))
        elif kind is ModuleType:
            new = LiveModule(value, weakly(self.of))
            self._watch(value, self.family.attributes)
        else:
            new = value
        self.made[id(value)] = value, new
        return new

    def users_of(self, new: Any) -> Any:
        """The value for which a stand-in stands; anything else itself."""
        value = user_of(new)
        if value is not new or type(new) in reached.DATA:
            return value
        if isinstance(new, LiveCopy):
            return new.__wrapped__  # type: ignore[attr-defined]
        made = (*self.made.values(), *CALL.here.objects.values())
        return next((value for value, known in made if known is new), new)

    def of_permanent(self, x: Any) -> Any:
        """The stand-in for an object that a function names, for all calls."""
        standing = self.standing(x)
        if standing is None:
            return x
        standing.put_into(self.permanent)
        self.watched.append((standing.look, None, True))
        return standing.new

    def standing(self, x: Any) -> Standing | None:
        """An object with its stand-in; None if the object stands for itself."""
        new = self.of_object(x)
        if new is x:
            return None
        view: Any = self._for(type(x)).views[type(x)]
        return Standing(x, new, view, id(x) if self.family.assignable else ~id(x))

    def of_object(self, x: Any) -> Any:
        """A user's object with copied methods; it shares the attributes of the user's."""
        cls = type(x)
        if cls in reached.DATA or not reached.is_users_class(cls):
            return x
        stand_ins = self._for(cls)
        view = stand_ins.views.get(cls)
        if view is None:
            stand_in = stand_ins._class(cls)
            if stand_in is cls:
                if not any(map(reached.leads_on, reached.held_by(x))) and not reached.class_leads_on(cls):
                    return x
                stand_in = stand_ins._make_class(cls)
            view = stand_ins.views[cls] = ObjectView(cls, stand_in, weakly(stand_ins.of_argument), reached.leads_on)
            self.views[cls] = view
        return view.of_object(x)

    def _for(self, cls: type) -> "_StandIns":
        """The maker of stand-ins for a class: this object, or a separate one for a class found in attributes."""
        if cls in self.owners or cls in self.classes or cls in self.family.owners:
            return self
        known = self.others.get(cls)
        checked = CALL.here.checked
        if known is not None and id(known) not in checked:
            checked[id(known)] = known
            if not known.is_current():
                known = None
        if known is None:
            if len(self.others) > _MOST_OTHERS:
                self.others.clear()
            known = self.others[cls] = _StandIns(None, frozenset((cls,)), self.at_variables, self.family.assignable)
            known.others = self.others  # one for each class
            checked[id(known)] = known  # which also keeps it as long as the call lasts
        return known

    def is_current(self) -> bool:
        """Whether the bound names still have the same values."""
        return all(read(x) is value for read, x, value in self.watched)

    def _class(self, cls: type) -> Any:
        """A user's class, or its stand-in if its methods, or those of its bases, have copies."""
        known = self.classes.get(cls)
        if known is None:
            if cls in reached.DATA or not reached.is_users_class(cls):
                return cls
            if any(map(self.family.needs, reached.methods_of(cls))) or reached.class_leads_on(cls):
                return self._make_class(cls)
            return cls
        return known

    def _make_class(self, cls: type) -> Any:
        bases = tuple(map(self._class, cls.__bases__))
        if cls in self.classes:  # a method of a base names it
            return self.classes[cls]
        known = self.classes[cls] = stand_for_class(cls, bases, self.family.compares_classes)
        give_methods(known, cls, self.of)  # which may name the class
        self._watch(cls, names_below(known))
        return known

    def _watch(self, x: Any, names: Iterable[str]) -> None:
        """Note the values of these names in a module or a class, except data."""
        values = vars(x)
        named = ((name, values.get(name)) for name in names)
        self.watched += [(values.get, name, value) for name, value in named if type(value) not in _NUMBERS]

    def _function(self, f: FunctionType) -> Any:
        if reached.dispatches_on_type(f):
            return self._dispatching(f)
        return self._copy(f) if id(f) in self.family.needing and f not in _COPIES else f

    def _copy(self, f: FunctionType) -> FunctionType:
        code = code_of(f)
        cells = [*(f.__closure__ or ())]
        # those with other contents; an unbound name keeps its cell, and super() keeps its class
        kept = None if questions_of(f.__code__).gives_classes else "__class__"
        named = zip(f.__code__.co_freevars, cells, strict=True)
        replaced = [x != kept and reached.is_filled(cell) and self._stands_in(cell.cell_contents) for x, cell in named]
        own = tuple(CellType() if new else cell for new, cell in zip(replaced, cells, strict=True))
        inner = questions_of(f.__code__).inside and (handles_unseen(f.__code__) or not CAN_BIND)
        lasts = is_of_module(f.__globals__)  # else a stand-in for a name may lead to these globals, and to the code
        built_in = builtins_of(f, self.family.stand_ins)
        if (inner or not CAN_BIND or not (lasts or not self._leads_on_inside(f))) and not passes_by_globals(f):
            copy = FunctionType(code, LiveGlobals(f, self), f.__name__, None, own)
        else:
            built_in = built_in if lasts else type(built_in)(built_in)
            copy = answer(f, own, built_in)
        copy.__dict__ = f.__dict__  # shared, so that both see an attribute that is set later
        copy.__qualname__, copy.__doc__ = f.__qualname__, f.__doc__
        _COPIES.add(copy)
        self.made[id(f)] = f, copy  # before its names are bound, because a function that names itself finds it there
        if type(copy.__globals__) is dict and CAN_BIND:
            asked = questions_of(f.__code__)
            known = ASSIGNABLE_METHODS if self.family.assignable else METHODS
            methods = known if asked.of_methods or asked.of_copy else {}
            copy.__code__ = bind_names(code, self._names(f), methods, modules_of(f), None if lasts else built_in)
        for new, cell, mine in zip(replaced, cells, own, strict=True):
            if new:
                mine.cell_contents = self.of(cell.cell_contents)
        copy.__defaults__ = f.__defaults__ and tuple(map(self.of, f.__defaults__))
        copy.__kwdefaults__ = self._options(f.__kwdefaults__)
        return copy

    def _leads_on_inside(self, f: FunctionType) -> bool:
        """Whether inner functions of f read globals with stand-ins, other than those of NumPy and `math`."""
        inside = {name for c in f.__code__.co_consts if isinstance(c, CodeType) for name in looked_up(c)}
        values = [f.__globals__[name] for name in inside & f.__globals__.keys()]
        own = [x for x in values if self.family.stand_ins.find(x) is None]
        names = self.family.attributes
        return any(
            reached.leads_to_objects(x, names) or any(map(self.family.needs, reached.functions_in(x, names)))
            for x in own
        )

    def _options(self, defaults: dict[str, Any] | None) -> dict[str, Any] | None:
        """The defaults of keyword-only arguments: the function's own, or replacements as long as these are
        unchanged."""
        made = {name: self.of(x) for name, x in (defaults or {}).items()}
        if defaults is None or all(new is defaults[name] for name, new in made.items()):
            return defaults
        self.watched += [(defaults.get, name, x) for name, x in defaults.items()]
        return made

    def _stands_in(self, value: Any) -> bool:
        """Whether a value has a stand-in. It may capture functions whose copies are being made."""
        if isinstance(value, FunctionType):
            return self.family.needs(value)
        if isinstance(value, type):
            return self._class(value) is not value
        return self.of(value) is not value

    def _names(self, f: FunctionType) -> dict[str, Any]:
        """The global and built-in names of a function with stand-ins, except those to which it assigns."""
        asked = questions_of(f.__code__)
        names = {}
        for name in asked.names - asked.stored:
            if name in f.__globals__:
                value = f.__globals__[name]
                new = self.of(value)
                compares = asked.compares_types or "__class__" in asked.names
                if isinstance(value, type) and new is not value and compares:
                    # which are not those of the copies there
                    for method in reached.methods_of(value, self.family.attributes):
                        warn_if_it_asks(method.__code__)
                elif new is not value:
                    names[name] = new
                    self.watched.append((f.__globals__.get, name, value))
            elif (new := built_in_answer(name, asked)) is not None:
                names[name] = new
        return names

    def _dispatching(self, function: Any) -> Function:
        """A function of functools.singledispatch that dispatches a variable by the type of its primal."""
        of = weakly(self.of)

        @functools.wraps(function)
        def dispatch(*args: Nested, **kwargs: Nested) -> Nested:
            return of(function.dispatch(class_of_primal(args[0])))(*args, **kwargs)

        return dispatch


_FUNCTIONS = frozenset((FunctionType, MethodType, functools.partial))
_VALUES = frozenset((tuple, frozenset))  # containers that nobody changes
_MOST_OTHERS = 256  # classes of objects found in attributes
ORDINARY: set[type] = set(reached.DATA)  # of arguments; classes of variables are added at their first use
_NUMBERS = reached.DATA - {type(None)}
