"""Functions of contad that Numba functions may call too, by the name that Python calls them by."""

import functools
import inspect
import itertools
import linecache
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeGuard, TypeVar

from contad.errors import UnsupportedError
from contad.rules.definition import WRITTEN
from contad.variables.open_types import Function

P = ParamSpec("P")
R = TypeVar("R")


class Compilable(Generic[P, R]):
    """A function that compiled code finds as an object, whose type tells Numba what to compile in its place.

    `import contad` imports no Numba: what is compiled is found when Numba asks, by `contad.front.inside_njit`. Where a
    function `has_bodies`, that is the body for the axes of the arguments, which engines differentiate in its place.
    """

    has_bodies = False
    instead = "call it outside, and pass what it gives"  # where compiled code has nothing
    signature: inspect.Signature

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function: Any = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = self.function(*args, **kwargs)
        return found

    def __get__(self, instance: object, owner: type | None = None) -> "Compilable[P, R]":
        """Itself, as an attribute of a class too; which makes it a routine, so `help` shows that of its function."""
        return self

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.function.__name__}>"

    def __reduce__(self) -> str:
        return str(self.function.__qualname__)

    def body(self, given: tuple[Any, ...]) -> Any:
        """A function of Python for arguments with these numbers of axes, where a text is itself; None if there is none.

        It ends with the last argument that is given.
        """
        return None

    def rules(self) -> Sequence[Any]:
        """The rules that bodies call beside those that are found in them."""
        return ()

    def refuse(self) -> str:
        """What a call with arguments that there is no body for is told; "" leaves it to Numba."""
        return ""

    @property
    def stands_for(self) -> Any:
        """What compiled code calls in its place; None where that is this function."""
        return None

    @property
    def numpy(self) -> "Compilable[P, R]":
        """The function that the bodies compute, as `contad.kernels.array_loops` has it."""
        return self


def name_in_njit(module: ModuleType, instead: str = Compilable.instead) -> None:
    """Let a Numba function that calls what runs in Python alone be told so: of the public names of a module."""
    home = module.__name__
    for name in module.__all__:
        function = vars(module).get(name)
        if isinstance(function, FunctionType) and f"{function.__module__}.".startswith(f"{home}."):
            found: Compilable[..., Any] = Compilable(function)
            found.instead = instead
            setattr(module, name, found)
            setattr(sys.modules[function.__module__], name, found)


# modules of what bodies call, which Python runs, too
BODIES = "contad.scipy.", "contad.stan.bodies", "contad.stan.constraint_bodies"


def is_in_bodies(x: Any) -> TypeGuard[Compilable[Any, Any]]:
    """Whether it is a function that compiled code has as a body."""
    return isinstance(x, Compilable) and x.has_bodies


class Parts(NamedTuple):
    """What compiled code calls of an operation whose reverse rule a user has written.

    forward(*arguments) gives (value, saved); backward(*options, saved, z_bar) a tuple with a cotangent for each other
    argument, None where it is zero. Parts are compared to know whether they have been declared again.
    """

    value: Any  # functions, Numba's or plain ones
    forward: Any
    backward: Any  # None where it is the transpose of `tangent`, which is linear in the tangents
    options: tuple[int, ...]  # positions of arguments that are not differentiated
    # (*options, saved, a tangent for each other argument) -> the tangent of the value, where the rule has a forward
    # mode; saved is then (the value, *those arguments, more), of which `more` carries no derivative
    tangent: Any = None


PART = "<contad rule "  # how the names of the files begin that texts of parts stand in
_numbers = itertools.count()


def functions_of_text(text: str, known: dict[str, Any]) -> dict[str, Any]:
    """The functions that a text defines, which names what is known; their source can be read."""
    name = f"{PART}{next(_numbers)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), known)
    return known


def make_positional(name: str, function: Function) -> Function:
    """A function that takes by position what another one takes as keywords, as Numba has it; itself if there is none.

    UnsupportedError where an option without a default follows one with a default.
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
    """The base of operations with a rule of the user's that Numba functions may call."""

    name: str

    @abstractmethod
    def functions(self) -> tuple[Function | None, ...]:
        """All functions of the operation."""

    @abstractmethod
    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The parts, of which backward need give the cotangents of the arguments at `wanted` only.

        Raises UnsupportedError, with what to do, where there is something that Numba cannot be given.
        """


class MakesRules:
    """The base of functions that make an operation of functions where they are called: contad.function_gradients."""

    __name__: str
    signature: inspect.Signature

    @abstractmethod
    def rule_of(self, count: int, functions: Sequence[Any]) -> WithParts:
        """The operation on `count` arguments that functions make, which stand behind the arguments in the signature.

        It is the same one for the same functions.
        """


class MakesDerivatives:
    """The base of transforms that Numba functions call: contad.grad(f)(x), or contad.jvp(f, primals, tangents)."""

    @abstractmethod
    def derivative_for(self, f: Any, options: list[Any], named: dict[str, Any]) -> tuple[Any, bool]:
        """The derivative of a Numba function, and whether it is called at once, with the arguments after f."""


class WrittenOut:
    """The base of derivatives of Numba functions that Numba functions call."""

    what: str

    @abstractmethod
    def write_out(self, given: tuple[Any, ...]) -> Any:
        """A Numba function for arguments of these types that does the same.

        It calls derivatives of numbers and arrays alone, `contad.numba_functions.asked_derivatives.AskedDerivative`.
        """
