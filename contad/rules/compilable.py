"""Functions of contad that Numba functions may also call, by the same names as Python."""

import functools
import inspect
import itertools
import linecache
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeGuard, TypeVar

from contad.errors import UnsupportedError
from contad.rules.definition import WRITTEN
from contad.variables.open_types import Function

P = ParamSpec("P")
R = TypeVar("R")


class Compilable(Generic[P, R]):
    """A function that compiled code sees as an object; its type tells Numba what to compile instead.

    `import contad` does not import Numba: `contad.front.inside_njit` finds the code to compile when Numba asks. If a
    function `has_bodies`, that code is the body for the axes of the arguments, and engines differentiate the body.
    """

    has_bodies = False
    instead = "call it outside, and pass its result"  # if there is no compiled form
    signature: inspect.Signature

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function: Any = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = self.function(*args, **kwargs)
        return found

    def __get__(self, instance: object, owner: type | None = None) -> "Compilable[P, R]":
        """Return the function itself, also from a class; this makes it a routine, so `help` shows its function's
        text."""
        return self

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.function.__name__}>"

    def __reduce__(self) -> str:
        return str(self.function.__qualname__)

    def body(self, given: tuple[Any, ...]) -> Any:
        """A Python function for arguments with these numbers of axes (strings stand for themselves), or None.

        Its parameters end with the last given argument.
        """
        return None

    def rules(self) -> Sequence[Any]:
        """The rules that bodies call, except those found in their source."""
        return ()

    def refuse(self) -> str:
        """The message for arguments without a body; "" leaves the error to Numba."""
        return ""

    @property
    def stands_for(self) -> Any:
        """The function that compiled code calls instead; None if it calls this one."""
        return None

    @property
    def numpy(self) -> "Compilable[P, R]":
        """The function that the bodies compute, in the form of `contad.kernels.array_loops`."""
        return self


class WithNumbaForm(Compilable[P, R]):
    """A function in whose place Numba functions call the Numba function of the same name in another module.

    `load` returns that module, which imports Numba; it is called on first use.
    """

    __name__: str

    def __init__(self, function: Callable[P, R], load: Callable[[], ModuleType]) -> None:
        super().__init__(function)
        self.load = load

    @property
    def stands_for(self) -> Any:
        """The Numba function."""
        return getattr(self.load(), self.__name__)


def name_in_njit(
    module: ModuleType, instead: str = Compilable.instead, forms: Mapping[str, Callable[[], ModuleType]] | None = None
) -> None:
    """Make calls of a module's public functions inside njit raise an error that says what to do instead.

    forms   by name, what loads the module with the Numba function that is called instead
    """
    home = module.__name__
    for name in module.__all__:
        function = vars(module).get(name)
        if isinstance(function, FunctionType) and f"{function.__module__}.".startswith(f"{home}."):
            form = (forms or {}).get(name)
            found: Compilable[..., Any] = WithNumbaForm(function, form) if form else Compilable(function)
            found.instead = instead
            setattr(module, name, found)
            setattr(sys.modules[function.__module__], name, found)


# modules of functions that bodies call and Python also runs
LOOPS = "contad.distributions.loops"  # the module of the functions that `contad.distributions.faces` writes
_STAN = "bodies", "complex_values", "constraint_bodies", "hypergeometric_series", "recursion_bodies"
BODIES = "contad.scipy.", *(f"contad.stan.{name}" for name in _STAN)


def is_in_bodies(x: Any) -> TypeGuard[Compilable[Any, Any]]:
    """Whether x is a function with bodies for compiled code."""
    return isinstance(x, Compilable) and x.has_bodies


class Parts(NamedTuple):
    """The functions of an operation with a user's reverse rule, for compiled code.

    forward(*arguments) returns (value, saved); backward(*options, saved, z_bar) returns a tuple with a cotangent for
    each other argument, None if it is zero. Comparing parts shows whether a rule has been declared again.
    """

    value: Any  # functions, of Numba or plain
    forward: Any
    backward: Any  # None for the transpose of `tangent`, which is linear in the tangents
    options: tuple[int, ...]  # positions of arguments that are not differentiated
    # (*options, saved, a tangent for each other argument) -> the tangent of the value, if the rule has a forward mode;
    # saved is then (the value, *those arguments, more), where `more` carries no derivative
    tangent: Any = None


PART = "<contad rule "  # prefix of the file names of generated parts
_numbers = itertools.count()


def functions_of_text(text: str, known: dict[str, Any]) -> dict[str, Any]:
    """The functions that a text defines, with `known` as its globals; their source can be read."""
    name = f"{PART}{next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), known)
    return known


def make_positional(name: str, function: Function) -> Function:
    """A function that takes the keyword-only arguments of another one by position, as Numba requires; itself if it has
    none.

    Raises UnsupportedError if an option without a default follows one with a default.
    """
    code = function.__code__
    count = code.co_kwonlyargcount
    if not count:
        return function
    names = code.co_varnames[code.co_argcount : code.co_argcount + count]
    known = function.__kwdefaults__ or {}
    defaults = [known[n] for n in names if n in known]
    if any(n in known for n in names[: count - len(defaults)]):
        raise UnsupportedError(f"{name}: inside njit, options without a default stand before those with one")
    code = code.replace(co_argcount=code.co_argcount + count, co_kwonlyargcount=0)
    made = FunctionType(code, function.__globals__, function.__name__, tuple(defaults), function.__closure__)
    made.__module__ = function.__module__
    made.__dict__[WRITTEN] = function
    return made


class WithParts:
    """The base of operations with a user's rule that Numba functions may call."""

    name: str

    @abstractmethod
    def functions(self) -> tuple[Function | None, ...]:
        """All functions of the operation."""

    @abstractmethod
    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts; backward needs to return only the cotangents of the arguments at `wanted`.

        Raises UnsupportedError, with a remedy, if Numba does not support something.
        """


class MakesRules:
    """The base of functions whose call makes an operation from functions: contad.function_gradients."""

    __name__: str
    signature: inspect.Signature

    @abstractmethod
    def rule_of(self, count: int, functions: Sequence[Any]) -> WithParts:
        """The operation on `count` arguments that functions define, which follow the arguments in the signature. The
        same functions give the same operation.
        """


class MakesDerivatives:
    """The base of transforms that Numba functions call: contad.grad(f)(x), or contad.jvp(f, primals, tangents)."""

    @abstractmethod
    def derivative_for(self, f: Any, options: list[Any], named: dict[str, Any]) -> tuple[Any, bool]:
        """The derivative of a Numba function, and whether the same call passes the arguments after f."""


class WrittenOut:
    """The base of derivatives of Numba functions that Numba functions call."""

    what: str

    @abstractmethod
    def write_out(self, given: tuple[Any, ...]) -> Any:
        """A Numba function for arguments of these types that does the same.

        It calls only derivatives of numbers and arrays, `contad.numba_functions.asked_derivatives.AskedDerivative`.
        """


# ---- bodies of NumPy's functions -------------------------------------------------------------------------------------
class LoopBody(NamedTuple):
    """One way to compute a function."""

    function: Any
    # for each argument up to the last given one its number of axes, 0 for a number; None if it is None, or omitted with
    # default None; a text is the argument itself
    ndims: tuple[int | str | None, ...]


class ArrayFunction(NamedTuple):
    """A NumPy function: its signature, and its bodies by the axes of its arguments."""

    numpy: Callable[..., Any]
    signature: inspect.Signature
    bodies: list[LoopBody]

    def body(self, ndims: tuple[int | str | None, ...]) -> Any:
        """The body for arguments with these numbers of axes; None if there is none."""
        return next((body.function for body in self.bodies if body.ndims == ndims), None)


ARRAY_FUNCTIONS: dict[Any, ArrayFunction] = {}


def loop_body(numpy: Any, names: str, *ndims: int | str | None) -> Callable[[Any], Any]:
    """Register a function as the body of a NumPy function with arguments `names`, for these numbers of axes."""

    def add(function: Any) -> Any:
        text = f"lambda {names}: None"
        known = ARRAY_FUNCTIONS.setdefault(numpy, ArrayFunction(numpy, inspect.signature(eval(text)), []))
        known.bodies.append(LoopBody(function, ndims))
        return function

    return add
