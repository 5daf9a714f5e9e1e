"""The derivative of a Numba function as one object for Python and for compiled code: a Numba dispatcher.

Each combination of argument types is compiled at its first call, by the engine that takes it. A call from Python costs
as much as a call of a Numba function. Calls that no compiled engine takes run on the eager engine instead.
"""

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Hashable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numba import NumbaError, typeof, types
from numba.extending import typeof_impl

from contad.compile.dispatchers import is_dispatcher
from contad.compile.linked_code import defer_code, link
from contad.compile.numba_objects import (
    Dispatcher,
    as_python_object,
    given_type,
    given_value,
    global_compiler_lock,
    load_overload,
)
from contad.compile.typing_rules import normalize_signature
from contad.compiled_rules.user_rules import holds_derivative
from contad.engines import COMPILED, DEFAULT
from contad.errors import EngineLimitError, UnsupportedError
from contad.front.choice import Choice, choose, choose_lanes, describe_refusal, read_choice, reason, write_choice
from contad.front.first_call import FirstCall, is_comparable
from contad.front.form import DECIDED, FILLED, Form
from contad.front.plan import Plan, plan, write_out
from contad.front.taken_arguments import OUT, VECTOR
from contad.functions.python_copy import NOT_COPIED
from contad.functions.transformed import reference, remade
from contad.functions.user_call import level_of_user, memo_of
from contad.memory.arena import TOO_LARGE
from contad.numba_functions.array_arguments import name_returned, require_read, take_returned
from contad.numba_functions.fingerprint import Fingerprint, text_of_type
from contad.numba_functions.frozen import Frozen, Otherwise
from contad.numba_functions.modules import Served, install_finder
from contad.numba_functions.writes import may_write_arrays
from contad.ops.close_values import LOSSES, contract, fill_lost, was_lost
from contad.rules.compilable import WrittenOut
from contad.rules.definition import has_source
from contad.variables.number import Carrier, NoNumbaType
from contad.variables.open_types import Function, Nested, NumbaFunction, NumbaType, Options
from contad.variables.stack import attempt
from contad.variables.trees import flatten, holds_carriers, leaves_of, map_leaves

_STUBS: dict[str, Function] = {"vjp": lambda primals, z_bar: None, "jvp": lambda primals, tangents: None}
_STUBS["jvps"] = _STUBS["jvp"]


# For a Numba dispatcher a variable is some Python object, which refuses when asked for its type.
as_python_object(NoNumbaType)


@typeof_impl.register(Carrier)
def _no_type(val: Carrier, c: Any) -> None:
    NoNumbaType().refuse()


class Derivative(Dispatcher, WrittenOut):
    """A dispatcher that computes a derivative of the dispatcher f.

    `eager()` gives the function that answers calls which no compiled engine takes, with the same arguments.
    `memo` holds everything made from f.
    `made_by` is the transform and its options that make this object from f; a pickle holds these.
    """

    def __init__(
        self,
        f: NumbaFunction,
        form: Form,
        engine: str | None,
        eager: Callable[[], Function],
        memo: dict[Hashable, Any],
        made_by: tuple[Function, Options] | None = None,
    ) -> None:
        self.what = f"{form.shown}: {f.__name__}"  # Numba asks for the name of what it initialises
        stub = _with_vector(f, form) if form.takes_more else _STUBS.get(form.kind, f.py_func)
        super().__init__(stub)
        self.f = f
        self.form = form
        self.engine = engine
        self.frozen = Frozen(f, self.what, memo, self._forget_calls)
        self.choices: dict[tuple[NumbaType, ...], Choice] = {}
        self.eager = functools.cache(eager)
        # modules whose functions are among the overloads
        self._made: dict[tuple[NumbaType, ...], tuple[ModuleType, Served]] = {}
        self._linked: dict[tuple[NumbaType, ...], Any] = {}  # code that only compiled callers have asked for
        self._saving: Derivative | None = None  # takes calls that need too much memory
        self._following: Derivative | None = None  # takes calls at which this engine reaches its limit
        self._columns: Derivative | None = None  # the same derivatives by forward mode
        self._called: set[tuple[NumbaType, ...]] = set()  # types of calls from Python that go straight to machine code
        self.__name__ = f.__name__
        self.inner: Derivative | None = None  # the function of which this is the gradient, if that is a gradient
        self._recompilations = np.zeros(1, np.int64)  # which bound calls check
        self.called: dict[tuple[Hashable, ...], Any] = {}  # operations for differentiated callers of this
        self.calls_of_tape: list[Any] = []  # the compiled code of these
        self._kept: list[Any] = []  # objects that entries need to check functions among the arguments
        self._made_by = made_by or (None, {})
        install_finder()

    def another(self, form: Form, engine: str | None) -> "Derivative":
        """Another derivative of the same function."""
        return Derivative(self.f, form, engine, self.eager, self.frozen.memo)

    def __repr__(self) -> str:
        return f"<contad.{self.what}>"

    def _repr_html_(self) -> str:
        from contad.display.markup import paragraph, table
        from contad.functions.transformed import list_arguments, write_function

        form = self.form
        facts = []
        if form.argnums:
            facts.append(("with respect to", list_arguments(self.f.py_func, form.argnums)))
        facts.append(("engine", self.engine or f"the first that takes it of {', '.join(COMPILED)}, {DEFAULT}"))
        rows = []
        for args, choice in self.choices.items():
            why = "; ".join(describe_refusal(*refusal) for refusal in choice.refusals)
            rows.append([", ".join(map(str, args)), choice.engine or DEFAULT, why])
        more = paragraph("Not called yet: nothing is compiled.")
        if rows:
            more = table(["types of arguments", "engine", "why"], rows, left="types of arguments,engine,why")
        return write_function(f"contad.{self.what}", self.f, facts, more)

    @property
    def noted(self) -> Fingerprint:
        """The function as it was when this derivative was requested."""
        return self.frozen.noted

    # ---- calls from Python -------------------------------------------------------------------------------------------
    def find_entry(self, *args: Nested, **kwargs: Nested) -> Function:
        """The entry point for argument types without admitted machine code."""
        self.frozen.check()
        require_read(self.what, zip(self._argument_names(len(args)), args, strict=True))
        try:
            with attempt():
                for one in leaves_of(args):
                    if is_dispatcher(one):
                        self._frozen_argument(one).check()
                given = tuple(given_type(a) or self._type_of(a) for a in args)
                self.compile(given)
                return functools.partial(self._call_first, tuple(map(types.unliteral, given)))
        except UnsupportedError as error:
            if self.engine is not None and not any(map(holds_carriers, args)):
                raise
            return functools.partial(self._run_eager, str(error))

    def _call_first(self, given: tuple[NumbaType, ...], *args: Nested) -> Nested:
        """The first call with arguments of these types; after its success, calls go straight to machine code.

        Raises ValueMismatchError if the engine computes another value than f.
        """
        otherwise, losses = self._otherwise(given), LOSSES[0]
        try:
            result = self._call_and_compare(given, args)
        except (EngineLimitError, MemoryError) as error:
            if otherwise is None or otherwise.at is None or not isinstance(error, otherwise.at):
                raise
            return otherwise.call(*args)
        if otherwise is not None and otherwise.lost is not None and LOSSES[0] != losses:
            result = otherwise.lost(*args)
        with global_compiler_lock:
            if given not in self._called:
                self._called.add(given)
                entry = self.frozen.guard(self.overloads[given].entry_point, otherwise)
                for one in leaves_of(args):
                    if is_dispatcher(one):
                        entry = self._frozen_argument(one).guard(entry, kept=self._kept)
                self.let_in(given, entry)
        return result

    def _frozen_argument(self, function: NumbaFunction) -> Frozen:
        """The frozen values of a Numba function among the arguments; they live as long as its machine code."""
        by_derivative = memo_of(function).setdefault("as an argument", weakref.WeakKeyDictionary())
        found: Frozen | None = by_derivative.get(self)
        if found is None:
            what = f"{self.what}, the function {function.__name__} among its arguments"
            found = Frozen(function, what, memo_of(function), _weakly(self._forget_calls))
            found.require_unchanged()
            by_derivative[self] = found
        return found

    def _call_and_compare(self, given: tuple[NumbaType, ...], args: tuple[Nested, ...]) -> Nested:
        module, served = self._made[given]
        dispatchers = self.noted.dispatchers
        args = tuple(map(given_value, args))
        told, form = self.frozen.is_told(), self.form
        no_value = self.form.mode == "vjp"  # with the value of f
        compared = (told and (no_value or served.is_compared())) or (no_value and self.form.has_aux)
        if compared or not is_comparable(dispatchers, self.form.of_f(given)):
            result = self.overloads[given].entry_point(*args)
        else:
            choice = self.choices[given]
            call = FirstCall(self.f, dispatchers, self.what, str(choice.engine))
            if choice.lanes:  # with lanes, Python does not call `run`
                result = self.overloads[given].entry_point(*args)
                if not no_value and vars(module).get("run") is not None:
                    call.require_same(module.value(*args), self.form.of_f(args), self._convert(args))
            elif form.gives_value and not form.along:
                result = self.overloads[given].entry_point(*args)
                call.require_same(result[0], self.form.of_f(args), self._convert(args))
            elif not no_value and vars(module).get("run") is not None:
                result = call(module.derivative.py_func, self._plan(given).run_types, self.form, args)
            else:  # machine code came from the disk
                result = self.overloads[given].entry_point(*args)
                call.require_same(self._value_of(given, args), self.form.of_f(args), self._convert(args))
            served.mark_compared()
        return result

    def _otherwise(self, given: tuple[NumbaType, ...]) -> Otherwise | None:
        """The function that answers calls for which compiled code of these types raises; None if nothing may."""
        choice = self.choices[given]
        at: type[Exception] | None = None
        call = lost = None
        if not is_comparable(self.noted.dispatchers, self.form.of_f(given)):  # it may run only once
            return None
        if choice.limited and not self.engine:
            at, call = EngineLimitError, functools.partial(self._call_next_engine, given)
        elif choice.stores:
            at, call = MemoryError, functools.partial(self._call_checkpointed, given)
        kinds = FILLED if self.engine else FILLED + DECIDED
        if choice.loses and self.form.kind in kinds and self._made_by[0] is not None and not may_write_arrays(self.f):
            lost = functools.partial(self._find_lost, given)
        return Otherwise(at, call, lost) if at or lost else None

    def _find_lost(self, given: tuple[NumbaType, ...], *args: Nested) -> Nested:
        """Answer a call whose sweep loses digits: compute the nans another way."""
        args = tuple(map(given_value, args))
        was_lost()  # the notes from before
        form, result = self.form, self.overloads[given].entry_point(*args)
        if form.kind in FILLED and not was_lost():
            return result
        place = 1 if form.gives_value else 0 if form.has_aux else None
        found = result if place is None else result[place]
        by_columns, why = form.kind in FILLED, f"{self.what}: digits are lost where values of a spectrum are close"
        filled = fill_lost(found, lambda: self._by_columns(args) if by_columns else self._run_eager(why, *args))
        if form.out:
            for x, y in zip(flatten(found).leaves, flatten(filled).leaves, strict=True):
                np.copyto(x, y)
            return result
        return filled if place is None else (*result[:place], filled, *result[place + 1 :])

    def find_lost_cotangents(self, found: Nested, primals: tuple[Nested, ...], z_bar: Nested) -> Nested:
        """The cotangents of a pullback that has lost digits, with those from forward mode in place of nans."""
        if may_write_arrays(self.f) or not is_comparable(self.noted.dispatchers, tuple(map(self._type_of, primals))):
            return found
        return fill_lost(found, lambda: contract(z_bar, self._by_columns(primals)))

    def _by_columns(self, args: Sequence[Nested]) -> Nested:
        """The same derivatives of f by forward mode."""
        if self._columns is None:
            argnums = self.form.argnums or tuple(range(len(args)))
            form = Form("jacfwd", argnums, self.form.single, self.form.has_aux)
            self._columns = self.another(form, None)
        found = self._columns(*(args[:-1] if self.form.out else args))
        return found[0] if self.form.has_aux else found

    def _call_checkpointed(self, given: tuple[NumbaType, ...], *args: Nested) -> Nested:
        """Answer a call that exceeds the memory limit, with checkpointed loops; warn once."""
        args = tuple(map(given_value, args))
        if self._saving is None:
            form = self.form._replace(checkpoint=True)
            self._saving = self.another(form, self.choices[given].engine)
        try:
            result = self._saving(*args)
        except MemoryError as error:
            raise MemoryError(f"{self.what}: {error}, with all loops checkpointed where they can be") from None
        if not self.frozen.memo.setdefault("told of memory", False):
            self.frozen.memo["told of memory"] = True
            why = (
                f"{self.what}: {TOO_LARGE}; its loops are checkpointed, which computes them twice. Ask for it by "
                "checkpoint=True, or mark loops by contad.checkpointed"
            )
            warnings.warn(why, stacklevel=level_of_user())
        return result

    def _call_next_engine(self, given: tuple[NumbaType, ...], *args: Nested) -> Nested:
        """Answer a call for which compiled code of these types raises EngineLimitError; warn once."""
        args = tuple(map(given_value, args))
        try:
            following = COMPILED[COMPILED.index(str(self.choices[given].engine)) + 1]
            if self._following is None:
                self._following = self.another(self.form, following)
            result = self._following(*args)
        except UnsupportedError as error:
            following, result = DEFAULT, self._run_eager(str(error), *args)
        if not self.frozen.memo.setdefault("told of a limit", False):
            self.frozen.memo["told of a limit"] = True
            try:
                self.overloads[given].entry_point(*args)
            except EngineLimitError as error:
                why = f"{self.what}: {error}; the engine {following} answers this call, at a higher cost"
                warnings.warn(why, stacklevel=level_of_user())
        return result

    def _value_of(self, given: tuple[NumbaType, ...], args: tuple[Nested, ...]) -> Nested:
        """The value by code on disk; if that gives no value, by another derivative."""
        form, engine = self.form, self.engine
        if form.kind in ("value_and_grad", "jvp"):
            return self.overloads[given].entry_point(*args)[0]
        if form.mode in ("vjp", "jvp"):
            primals = form.of_f(args)
            argnums = form.argnums or range(len(primals))
            args = primals, tuple(map_leaves(_zeros, primals[n]) for n in argnums)
            form, engine = Form("jvp", form.argnums), "tape"
        else:
            args = form.of_f(args)
            form = form._replace(kind="value_and_grad", along=(), out=False)
        other = self.another(form, engine)
        return other.compile(tuple(map(self._type_of, args)))(*args)[0]

    def _convert(self, args: tuple[Nested, ...]) -> tuple[Nested, ...]:
        """The arguments of f, with differentiated ones as floats."""
        args = self.form.of_f(args)
        argnums = self.form.argnums or range(len(args))
        convert = functools.partial(_as_floats, self.form.keeps_dtype)
        return tuple(map_leaves(convert, x) if n in argnums else x for n, x in enumerate(args))

    def _argument_names(self, count: int) -> list[str]:
        """The names of the arguments in messages."""
        if self.form.is_packed:
            return ["primals", "cotangent" if self.form.kind == "vjp" else "tangents"]
        return [f"argument {n}" for n in range(count)]

    def _type_of(self, x: Nested) -> NumbaType:
        if holds_carriers(x):
            raise UnsupportedError(f"{self.what}: an argument is a number of a derivative that is being taken outside")
        try:
            found = typeof(x)
        except Exception:  # any error of Numba for values without a type
            found = None
        if found is None or found == types.pyobject:
            advice = "; pass its numbers, x.to_numpy()" if hasattr(x, "to_numpy") else ""
            raise UnsupportedError(f"{self.what}: Numba has no type for {type(x).__name__}{advice}")
        return found

    def typeof_pyval(self, val: Nested) -> NumbaType:
        """The type of an argument, for Numba's choice among compiled signatures."""
        try:
            return types.pyobject if holds_carriers(val) else super().typeof_pyval(val)
        except NumbaError:  # of an array in a tuple; the refusal names it
            return types.pyobject

    def _run_eager(self, why: str, *args: Nested) -> Nested:
        if self.py_func.__code__.co_flags & inspect.CO_VARARGS:  # which Numba has packed
            args = (*args[:-1], *args[-1])
        try:
            found = self.eager()(*map(given_value, args))
        except UnsupportedError as error:
            if NOT_COPIED not in str(error):
                raise
            raise UnsupportedError(f"{why}; a Python copy of it, which might do, is not made: {error}") from None
        if self.form.gives_matrix and not any(map(holds_carriers, args)):
            self._warn_of_copy(why)
        return found

    def _warn_of_copy(self, why: str) -> None:
        """Warn once for a function that matrices of its derivatives run at Python's speed."""
        if not self.frozen.memo.setdefault("told of a copy", False):
            self.frozen.memo["told of a copy"] = True
            warnings.warn(f"{why}; a Python copy of it answers, at Python's speed", stacklevel=level_of_user())

    def bind(self, args: tuple[Nested, ...], kwargs: Options) -> Function | None:
        """A call of machine code bound to these arguments; None if there is no machine code for their types.

        If gradients are written into arrays, the call returns the value, or nothing. This computes the gradient once.
        """
        from contad.numba_functions.bound_entries import bind_entry, is_plain

        if not self.form.is_packed:
            given = self._bind_arguments(args, kwargs)
            given.apply_defaults()
            args = given.args
        self(*args)
        try:
            kinds = tuple(map(types.unliteral, map(self._type_of, args)))
            self.compile(kinds)
        except UnsupportedError:  # the eager engine has answered
            return None
        if not all(map(is_plain, kinds)):
            return None
        returned = name_returned(self.form.out, self.form.gives_value)
        otherwise = self._otherwise(kinds)
        if otherwise is not None:
            at, *calls = otherwise
            bound = [call and (lambda _, call=call: take_returned(call(*args), returned)) for call in calls]
            otherwise = Otherwise(at, *bound)
        guard = functools.partial(self.frozen.guard, otherwise=otherwise)
        return bind_entry(self.overloads[kinds], args, returned, self._recompilations, self.what, guard)

    def types_of(self, args: tuple[Nested, ...], kwargs: Options) -> tuple[NumbaType, ...]:
        """The types of a call, defaults filled in."""
        if self.form.is_packed:  # of (primals, cotangent or tangents), whatever the parameters of f
            return tuple(map(self._type_of, args))
        self._bind_arguments(args, kwargs)
        named = {name: self._type_of(x) for name, x in kwargs.items()}
        return tuple(self.fold_argument_types(tuple(map(self._type_of, args)), named)[1])

    def _bind_arguments(self, args: tuple[Nested, ...], kwargs: Options) -> inspect.BoundArguments:
        try:
            return inspect.signature(self.py_func).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.what}: {error}") from None

    # ---- compilation -------------------------------------------------------------------------------------------------
    def compile(self, sig: Any) -> Any:
        """The entry point for arguments of these types, compiled or loaded at the first request.

        Raises UnsupportedError if no engine takes them, FrozenValueError if a global or captured value of f has changed
        since this derivative was requested.
        """
        return self._find(tuple(map(types.unliteral, normalize_signature(sig)[0])), self.overloads).entry_point

    def link(self, given: tuple[NumbaType, ...]) -> Any:
        """The result of compilation for compiled callers."""
        args = tuple(map(types.unliteral, given))
        return self._find(args, self.overloads if args in self.overloads else self._linked)

    def _find(self, args: tuple[NumbaType, ...], among: dict[tuple[NumbaType, ...], Any]) -> Any:
        """The result among these results of compilation, made at the first request."""
        with global_compiler_lock:
            known = among.get(args)
            if known is not None:
                self.frozen.check()
                return known
            choice = self.choices.get(args)
            if choice is not None and choice.engine is None:
                self.frozen.check()
                raise UnsupportedError(self._refusal(choice))
            self.frozen.require_unchanged()
            with defer_code():
                among[args] = self._compile(args, among is self._linked)  # `_call_first` lets in calls from Python
            return among[args]

    def write_out(self, given: tuple[NumbaType, ...]) -> NumbaFunction:
        """A Numba function for arguments of these types that does the same, for a caller that is differentiated."""
        return write_out(self, given)

    def _forget_calls(self) -> None:
        """Stop all calls, also bound ones, from going straight to machine code."""
        self._recompilations[0] += 1
        self._called.clear()
        self.forget_entries()

    def recompile(self) -> None:
        """Compile all signatures again, with the present values of the names of the function."""
        self.frozen.note()
        self._forget_calls()
        self.choices.clear()
        self._linked.clear()
        self._made.clear()
        self._following = self._saving = self._columns = None
        self.eager.cache_clear()
        super().recompile()

    def _compile(self, args: tuple[NumbaType, ...], is_linked: bool = False) -> Any:
        """The result of compilation for these types, from the disk if it is there; `is_linked` for callers alone."""
        if any(map(holds_derivative, args)):
            # the tape's overloads of NumPy functions must not appear while Numba types a function that calls these
            from contad.front.called_gradients import compile_call

            return compile_call(self, args)
        p = self._plan(args)
        served = self._module(args)
        text = served.text()
        choice = self.choices.get(args) or (None if text is None else read_choice(text))
        if choice is None:
            p, choice = choose_lanes(p, self._plan(args, lanes=True), self._engines())
        elif choice.lanes:
            p = self._plan(args, lanes=True)
        if not choice.lasting:
            served, text = self._module(args, lasting=False), None
        if text is None and (choice.engine or choice.lasting):
            text = p.asking(choice.run).source(served.stable) if choice.engine else ""
            served.write(write_choice(choice) + text)
        self.choices[args] = choice
        if choice.engine is None:
            raise UnsupportedError(self._refusal(choice))
        if not served.stable:
            self._warn_of_compilation(args)
        names = {"run": choice.run, "run_along": choice.along, "__called": (self.what, self._argument_names(len(args)))}
        if self.form.needs_f:
            names["f"] = self.f
        module = served.load(names)
        derivative = module.derivative
        self._made[args] = module, served
        found = None if choice.run else load_overload(derivative, args, self.targetctx)
        if found is not None:
            return found
        if choice.run is None:  # machine code is missing, damaged, or for another processor
            again = choose(p, [choice.engine])
            if again.run is None:
                raise UnsupportedError(self._refusal(again))
            vars(module).update(run=again.run, run_along=again.along)
            self.choices[args] = choice._replace(run=again.run, along=again.along)
        if is_linked:
            derivative = link(nogil=True, error_model="numpy")(derivative.py_func)
            vars(module).update(derivative=derivative)  # Numba forgets the code of functions that nobody holds
        derivative.compile(args)
        return derivative.overloads[args]

    def _warn_of_compilation(self, args: tuple[NumbaType, ...]) -> None:
        """Warn once for a function why each process compiles its derivatives, if the user could change that."""
        whys = [f"{what}, which machine code reads where it is; pass it as an argument" for what in self.noted.in_place]
        if any(map(_holds_function, args)):
            whys.append("the Numba function among the arguments; let it be a global or captured name instead")
        if whys and not self.frozen.memo.setdefault("warned", False):
            self.frozen.memo["warned"] = True
            warnings.warn(
                f"{self.what}: each process compiles this derivative anew, because of {whys[0]}",
                stacklevel=level_of_user(),
            )

    def plan_for(self, args: tuple[NumbaType, ...], lanes: bool = False) -> Plan:
        """The plan for arguments of these types."""
        return plan(self.f, self.form, args, self.what, lanes)

    def _plan(self, args: tuple[NumbaType, ...], lanes: bool = False) -> Plan:
        try:
            return self.plan_for(args, lanes)
        except (UnsupportedError, NumbaError) as error:  # the latter if Numba cannot compile f itself
            self.choices[args] = choice = Choice(None, None, None, (("", reason(error)),))
            raise UnsupportedError(self._refusal(choice)) from None

    def _module(self, args: tuple[NumbaType, ...], lasting: bool = True) -> Served:
        """The generated module for these types; for this process only, if another would choose another engine."""
        texts = [text_of_type(t) for t in args]
        readable = has_source(self.f.py_func)  # else an engine refuses
        key = (repr(self.form), " ".join(self._engines()), str(readable), *(text for text, _ in texts))
        return Served("derivative", self.f, key, self.noted, lasting and all(stable for _, stable in texts))

    def _engines(self) -> tuple[str, ...]:
        return (self.engine,) if self.engine else COMPILED

    def _refusal(self, choice: Choice) -> str:
        begin = f"{self.what}: "
        return begin + "; ".join(describe_refusal(name, why.removeprefix(begin)) for name, why in choice.refusals)

    # ---- as a value --------------------------------------------------------------------------------------------------
    def __reduce__(self) -> tuple[Any, ...]:
        """By reference to f: by name, if the name leads to f in other processes."""
        transform, options = self._made_by
        if transform is None:
            raise UnsupportedError(f"pickle: {self!r} is a part of what contad.{self.form.kind} returns")
        of = reference(self.f) if self.inner is None else self.inner
        return remade, (transform, (of,), options)


def _weakly(method: Callable[[], None]) -> Callable[[], None]:
    """A bound method that does not keep its object alive."""
    held = weakref.WeakMethod(method)

    def call() -> None:
        found = held()
        if found is not None:
            found()

    return call


def _with_vector(f: NumbaFunction, form: Form) -> Function:
    """A function with the parameters of f and one for the vector, or for arrays; none has a default."""
    code = f.py_func.__code__
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    name = OUT if form.out else VECTOR
    names.insert(form.vector % (len(names) + 1), name)
    made: dict[str, Function] = {}
    exec(f"def product({', '.join(names)}):\n    return {name}\n", made)
    return made["product"]


def _holds_function(t: NumbaType) -> bool:
    return isinstance(t, types.Dispatcher) or (isinstance(t, types.BaseTuple) and any(map(_holds_function, t)))


def _as_floats(keeps_dtype: bool, x: Nested) -> Nested:
    """Arrays and numbers as floats; None and functions, which named tuples may hold, unchanged."""
    if keeps_dtype and getattr(x, "dtype", None) == np.float32:
        return x
    if isinstance(x, np.ndarray):
        return x if np.iscomplexobj(x) else x.astype(float)
    return float(x) if isinstance(x, (int, float, np.number)) and not np.iscomplexobj(x) else x


def _zeros(x: Nested) -> Nested:
    """A tangent of zeros."""
    return np.zeros(x.shape) if isinstance(x, np.ndarray) else 0.0
