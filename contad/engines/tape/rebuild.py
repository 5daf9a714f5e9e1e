"""A rebuilt copy of the user's njit function and everything it calls, under contad's own options.

The code object is the user's own, so errors name the user's lines. Globals and captured values are those of the user's
function, except that njit functions are rebuilt as well, and that functions which create float arrays create arrays
that accept variables. Arguments and results are cast to the types of an explicit signature, and names to the types in
`locals=`. `parallel` is dropped: prange runs in order, on one tape.
"""

from collections.abc import Hashable
from types import FunctionType, ModuleType
from typing import Any

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.dispatchers import declared_names, is_dispatcher
from contad.compile.machine_code import njit
from contad.compiled_rules.user_rules import REBUILT
from contad.engines.tape.casts import with_casts, with_signature
from contad.engines.tape.operations import register
from contad.engines.tape.rule_records import register_holomorphic, register_user_rule
from contad.errors import UnsupportedError
from contad.functions.declared_types import signatures
from contad.functions.transformed import Decorated
from contad.functions.user_call import numba_function
from contad.kernels.array_loops import owns
from contad.rules.compilable import Compilable, WithParts
from contad.rules.definition import bind_captured, captured_values, copy_under, global_names
from contad.rules.scalar_rule import ScalarRule

_OWN = {name: INTERNAL_OPTIONS[name] for name in ("nogil", "no_cpython_wrapper", "no_cfunc_wrapper")}
# modules whose functions are differentiated like the user's
_SOLVERS = (
    "contad.scipy.integrate.compiled_solvers", "contad.scipy.optimize.compiled_roots",
    "contad.stan.compiled_complex", "contad.stan.compiled_series",
    *(
        f"contad.stan.functionals.compiled_{name}"
        for name in ("cubature", "differences", "functionals", "integrals", "mode_search")
    ),
)  # fmt: skip
_ON_THE_WAY = ("contad.scipy", "contad.scipy.integrate", "contad.scipy.optimize")  # modules on the way to them
_FOLLOWED = ("error_model", "fastmath", "boundscheck")  # options that change results of the user's function


class Rebuilt:
    """A function rebuilt with its callees."""

    def __init__(self, dispatcher: Any, replaced: dict[Any, Any]) -> None:
        self.replaced = replaced  # function that creates arrays -> its replacement
        self._made: dict[int, Any] = {}
        self._within: list[Any] = []  # dispatchers with casts around them
        self._bodies: dict[Any, Any] = {}
        self._modules: dict[int, ModuleType] = {}
        self._kept: list[Any] = []  # keeps objects alive, so that ids stay valid
        self.dispatcher = self.rebuild(dispatcher, {"error_model": "python"})

    @property
    def made(self) -> list[Any]:
        """The dispatchers of all functions rebuilt."""
        return [*self._made.values(), *self._within]

    def rebuild(self, dispatcher: Any, defaults: dict[str, Any] | None = None) -> Any:
        """The dispatcher's function under contad's options."""
        if id(dispatcher) in self._made:
            return self._made[id(dispatcher)]
        function: FunctionType = dispatcher.py_func
        options = {k: v for k, v in dispatcher.targetoptions.items() if k in _FOLLOWED and v is not None}
        options = (defaults or {}) | options
        names: dict[str, Any] = dict(function.__globals__)
        code, casts = function.__code__, declared_names(dispatcher)
        if casts:
            code = with_casts(dispatcher, casts, names)
        made = copy_under(function, names, code)
        # a recursive function finds itself among its own names
        found = self._made[id(dispatcher)] = njit(**_OWN | options)(made)
        if signatures(dispatcher):
            self._within.append(found)
            found, self._made[id(dispatcher)] = with_signature(dispatcher, found, _OWN)
        setattr(found, REBUILT, dispatcher)
        self._kept.append(dispatcher)
        used = global_names(function.__code__)
        if "objmode" in used:
            code = function.__code__
            raise UnsupportedError(
                f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}: Python code in objmode is not "
                "differentiated; move it out of the function"
            )
        for name in sorted(used & names.keys()):
            names[name] = self._translate(names[name], used)
        bind_captured(made, captured_values(function), lambda x: self._translate(x, used))
        self._made[id(dispatcher)] = found
        return found

    def _translate(self, value: Any, used: set[str]) -> Any:
        """A global or captured value as the rebuilt function sees it."""
        if isinstance(value, Compilable) and value.stands_for is not None:
            value = value.stands_for
        if is_dispatcher(value):
            home = str(value.py_func.__module__)  # for example one of contad's derivatives, which is called unchanged
            return value if home.startswith("contad.") and home not in _SOLVERS else self.rebuild(value)
        if isinstance(value, ModuleType):
            return self._module(value, used)
        if owns(value):
            return self.rebuild(self._bodies.setdefault(value, njit(**_OWN)(value)))
        try:
            if value in self.replaced:
                return self.replaced[value]
        except (TypeError, ValueError):  # not hashable, or an array
            pass
        if isinstance(value, ScalarRule):
            register(value)
            if value.holomorphic:
                register_holomorphic(value)
        elif isinstance(value, WithParts):
            register_user_rule(value)
        elif isinstance(value, Decorated):
            called = numba_function(value.decorated)
            return value if called is None else self.rebuild(called)
        return value

    def _module(self, module: ModuleType, used: set[str]) -> ModuleType:
        """A module with its njit functions rebuilt, and with functions that create arrays replaced, as far as used."""
        known = self._modules.get(id(module))
        if known is None:
            known = self._modules[id(module)] = ModuleType(module.__name__)
            # not named numpy, because Numba would rewrite np.array of a list to plain numbers
            known.__dict__.update(vars(module), __name__=f"contad's {module.__name__}")
            self._kept.append(module)
        for name in sorted(used & (vars(module).keys() | set(getattr(module, "__all__", ())))):
            found = getattr(module, name)  # some modules load their names on first use
            library = module.__name__.split(".")[0] in ("numpy", "math", "scipy", "numba", "contad")
            if not isinstance(found, ModuleType) and not library:
                setattr(known, name, self._translate(found, used))
            elif isinstance(found, ModuleType) and found is not module and (
                not library or found.__name__ in _ON_THE_WAY or found.__name__.startswith("contad.scipy.stats.")
            ):
                setattr(known, name, self._module(found, used))
            elif library and isinstance(found, Hashable) and found in self.replaced:
                setattr(known, name, self.replaced[found])
            elif is_dispatcher(found) or (isinstance(found, Compilable) and is_dispatcher(found.stands_for)):
                setattr(known, name, self._translate(found, used))
        return known
