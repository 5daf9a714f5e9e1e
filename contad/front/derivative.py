"""The derivative of a Numba function as one object for Python and for compiled code: a dispatcher of Numba's.

Each combination of argument types is compiled when it is first met, by the engine that takes it. A call from Python
costs what a call of a Numba function costs; what no compiled engine takes runs on the eager engine instead.
"""

import functools
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

from numba import typeof, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import OmittedArg
from numba.core.registry import CPUDispatcher
from numba.core.sigutils import normalize_signature
from numba.extending import typeof_impl

from contad.engines import ASKED
from contad.errors import FrozenValueError, UnsupportedError
from contad.front.choice import Choice, choose, reason, refused
from contad.front.form import Form
from contad.front.plan import Plan, plan
from contad.native.fingerprint import changed_since_compiled, fingerprint
from contad.native.modules import Served, install_finder
from contad.number import Carrier, NoNumbaType

_STUBS: dict[str, Callable[..., Any]] = {"vjp": lambda primals, z_bar: None, "jvp": lambda primals, tangents: None}


# To a dispatcher of Numba's a variable is some Python object; asked for its type, it refuses.
NoNumbaType._code = types.pyobject._code


@typeof_impl.register(Carrier)
def _no_type(val: Carrier, c: Any) -> None:
    NoNumbaType().refuse()


class Derivative(CPUDispatcher):
    """A dispatcher that computes a derivative of the dispatcher f.

    `eager()` gives the function that answers calls which no compiled engine takes, with the same arguments.
    `made_by` is the transform and its options that make this object of f: what a pickle holds.
    """

    def __init__(
        self,
        f: Any,
        form: Form,
        engine: str | None,
        eager: Callable[[], Callable[..., Any]],
        made_by: tuple[Callable[..., Any], dict[str, Any]] | None = None,
    ) -> None:
        self.what = f"{form.kind}: {f.__name__}"  # Numba asks for the name of what it initialises
        super().__init__(_STUBS.get(form.kind, f.py_func), targetoptions={"nopython": True})
        self.f = f
        self.form = form
        self.engine = engine
        self.noted = fingerprint(f)  # what Numba will freeze
        self.choices: dict[Any, Choice] = {}
        self.eager = functools.cache(eager)
        self._served: list[Any] = []  # modules whose functions are among the overloads
        self.__name__ = f.__name__
        self._made_by = made_by or (None, {})
        install_finder()

    def __repr__(self) -> str:
        return f"<contad.{self.what}>"

    # ---- calls from Python -------------------------------------------------------------------------------------------
    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Called by Numba for argument types that are new; what it returns is called with the arguments."""
        self._compilation_chain_init_hook()
        try:
            given = tuple(types.Omitted(a.value) if isinstance(a, OmittedArg) else self._type_of(a) for a in args)
            return self.compile(given)
        except UnsupportedError:
            if self.engine is not None and not any(map(holds_carriers, args)):
                raise
            return self._run_eager
        finally:
            self._types_active_call: set[Any] = set()

    def _type_of(self, x: Any) -> Any:
        if holds_carriers(x):
            raise UnsupportedError(f"{self.what}: an argument is a number of a derivative that is being taken outside")
        try:
            found = typeof(x)
        except Exception:  # whatever Numba raises for values without a type
            found = None
        if found is None or found == types.pyobject:
            raise UnsupportedError(f"{self.what}: Numba has no type for {type(x).__name__}")
        return found

    def typeof_pyval(self, val: Any) -> Any:
        """The type of an argument, for Numba's choice among what has been compiled."""
        return types.pyobject if holds_carriers(val) else super().typeof_pyval(val)

    def _run_eager(self, *args: Any) -> Any:
        if self.py_func.__code__.co_flags & inspect.CO_VARARGS:  # which Numba has packed
            args = (*args[:-1], *args[-1])
        return self.eager()(*(a.value if isinstance(a, OmittedArg) else a for a in args))

    def types_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The types of a call, defaults filled in."""
        try:
            inspect.signature(self.f.py_func).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.what}: {error}") from None
        named = {name: self._type_of(x) for name, x in kwargs.items()}
        return tuple(self.fold_argument_types(tuple(map(self._type_of, args)), named)[1])

    # ---- compilation -------------------------------------------------------------------------------------------------
    def compile(self, sig: Any) -> Any:
        """The entry point for arguments of these types, compiled or loaded when first asked for.

        Raises UnsupportedError where no engine takes them, FrozenValueError where a global or captured value of f has
        changed since this derivative was asked for.
        """
        args = tuple(map(types.unliteral, normalize_signature(sig)[0]))
        with global_compiler_lock:
            known = self.overloads.get(args)
            if known is not None:
                return known.entry_point
            choice = self.choices.get(args)
            if choice is not None and choice.engine is None:
                raise UnsupportedError(self._refusal(choice))
            self._require_unchanged()
            found = self._compiled(args)
            self.add_overload(found)
            return found.entry_point

    def _require_unchanged(self) -> None:
        now = fingerprint(self.f)
        for since, changed in (
            ("this derivative was made", self.noted.changed(now)),
            ("the function was compiled", changed_since_compiled(now.dispatchers)),
        ):
            for name, before, after in changed:
                raise FrozenValueError(
                    f"{self.what}: {name} has changed since {since}, from {before} to {after}; Numba freezes such "
                    "values, so pass it as an argument, or define the function again"
                )

    def _compiled(self, args: tuple[Any, ...]) -> Any:
        """The result of compilation for these types, from the disk if it is there."""
        p = self._plan(args)
        served = self._module(args)
        text = served.text()
        choice = None if text is None else _choice_in(text)
        if choice is None:
            choice = choose(p, self._engines())
            if not choice.lasting:
                served = self._module(args, lasting=False)
            if choice.engine or choice.lasting:
                served.write(_header(choice) + (p.source(served.stable) if choice.engine else ""))
        self.choices[args] = choice
        if choice.engine is None:
            raise UnsupportedError(self._refusal(choice))
        module = served.load({"run": choice.run})
        derivative = module.derivative
        self._served.append(module)
        found = None if choice.run else derivative._cache.load_overload(args, self.targetctx)
        if found is not None:
            self.targetctx.insert_user_function(found.entry_point, found.fndesc, [found.library])
            return found
        if choice.run is None:  # machine code is missing, damaged, or for another processor
            choice = choose(p, [choice.engine])
            if choice.run is None:
                raise UnsupportedError(self._refusal(choice))
            vars(module)["run"] = choice.run
        derivative.compile(args)
        return derivative.overloads[args]

    def _plan(self, args: tuple[Any, ...]) -> Plan:
        try:
            return plan(self.f, self.form, args, self.what)
        except UnsupportedError as error:
            self.choices[args] = choice = Choice(None, None, (("", reason(error)),))
            raise UnsupportedError(self._refusal(choice)) from None

    def _module(self, args: tuple[Any, ...], lasting: bool = True) -> Served:
        """The generated module for these types; one of this process where another would choose another engine."""
        key = (repr(self.form), " ".join(self._engines()), *map(str, args))
        named = not any(isinstance(t, types.Callable) for t in args)  # another process names functions otherwise
        return Served("derivative", self.f, key, self.noted, named and lasting)

    def _engines(self) -> tuple[str, ...]:
        return (self.engine,) if self.engine else ASKED

    def _refusal(self, choice: Choice) -> str:
        return f"{self.what}: " + "; ".join(refused(name, why) for name, why in choice.refusals)

    # ---- as a value --------------------------------------------------------------------------------------------------
    def __reduce__(self) -> Any:
        """By reference to f: by its name, where that leads to f."""
        return _remake, (*self._made_by, _reference(self.f))


def holds_carriers(x: Any) -> bool:
    """Whether x is or contains a number of an outer level."""
    if isinstance(x, (tuple, list)):
        return any(map(holds_carriers, x))
    return isinstance(x, Carrier)


def _header(choice: Choice) -> str:
    return f"# {json.dumps({'engine': choice.engine, 'refusals': choice.refusals})}\n"


def _choice_in(text: str) -> Choice:
    header = json.loads(text.partition("\n")[0].removeprefix("# "))
    return Choice(header["engine"], None, tuple((name, why) for name, why in header["refusals"]))


def _reference(f: Any) -> Any:
    """The name of f, `module:qualified.name`, where that leads to f; else f."""
    found: Any = sys.modules.get(f.__module__)
    for part in f.__qualname__.split("."):
        found = getattr(found, part, None)
    return f"{f.__module__}:{f.__qualname__}" if found is f else f


def _remake(transform: Callable[..., Any], options: dict[str, Any], reference: Any) -> Any:
    return transform(pkgutil.resolve_name(reference) if isinstance(reference, str) else reference, **options)
