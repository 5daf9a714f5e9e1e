"""Numba's `overload` for typing functions with annotations, which Numba would compare as text."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from numba import objmode, types
from numba.core.errors import NumbaError, TypingError, UnsupportedBytecodeError
from numba.core.registry import cpu_target
from numba.core.typeconv import Conversion
from numba.extending import overload, overload_attribute, overload_method, register_jitable

from contad.compile.compiling import INTERNAL_OPTIONS

in_machine_code = register_jitable(**INTERNAL_OPTIONS)  # compiled code may call the function; Python calls it as it is

_earlier: list[tuple[Any, Any]] = []  # functions that have got overloads, and their types before


def is_float64(kind: Any, *ndims: int) -> bool:
    """Whether compiled kernels take arrays of a type: float64, with the given number of axes, if given."""
    return isinstance(kind, types.Array) and kind.dtype == types.float64 and (not ndims or kind.ndim in ndims)


def add_overload(function: Any, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`overload(function, **options)`; annotations of the typing function and of the implementation are dropped."""

    def register(typing: Callable[..., Any]) -> Callable[..., Any]:
        known = _known_type(function)
        if known is not None:
            _earlier.append((function, known))
        overload(function, target="cpu", **options)(_bare(typing))  # before Numba's own, which are for any target
        return typing

    return register


def join_overloads() -> None:
    """Make Numba treat functions as the types before their overloads: it may be typing a caller of them right now.

    If Numba types a function in several passes, it looks up the name of a callee in each pass, and the types must
    unify.
    """
    context = cpu_target.typing_context
    context.refresh()
    for function, known in _earlier:
        now = _known_type(function)
        if now != known:
            context.tm.set_compatible(known, now, Conversion.promote)
    _earlier.clear()


def _known_type(function: Any) -> Any:
    """The type that Numba has for a function now; None if it has none."""
    return cpu_target.typing_context._lookup_global(function)


def overload_by_text(function: Any, parameters: str, write: Callable[..., Any], **options: Any) -> None:
    """Let compiled code call a function with these parameters.

    For arguments of given types, `write(*types)` gives the lines of the body and the values of its names, or None. For
    a parameter `*args` it gets one tuple of types.
    """
    signature = inspect.signature(eval(f"lambda {parameters}: None"))

    def choose(*kinds: Any) -> Any:
        found = write(*kinds)
        if found is None:
            return None
        lines, names = found
        known = dict(names)
        exec("\n    ".join([f"def implementation({parameters}):", *lines]), known)
        return known["implementation"]

    known: dict[str, Any] = {"choose": choose}
    exec(f"def typing({parameters}):\n    return choose({', '.join(signature.parameters)})\n", known)
    add_overload(function, **options)(known["typing"])


def in_objmode(kind: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let compiled code call a Python function of a module in objmode; the result has this type."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        names = ", ".join(inspect.signature(function).parameters)
        name = function.__name__
        lines = ["with objmode(found=of_result):", f"    found = {name}({names})", "return found"]
        # code from the disk finds the names of an objmode block in the module to which the code belongs
        known = {"objmode": objmode, "of_result": kind, name: function, "__name__": function.__module__}
        overload_by_text(function, names, lambda *kinds: (lines, known))
        return function

    return declare


def stand_in(plain: Any, parameters: str, write: Callable[..., Any]) -> Any:
    """A function that behaves as `plain` in Python, and as the text of `write` in compiled code."""

    def stub(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **kwargs)

    stub.__name__ = stub.__qualname__ = plain.__name__
    overload_by_text(stub, parameters, write)
    return stub


def add_overload_method(kind: Any, name: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`overload_method(kind, name, **options)`, likewise."""

    def register(typing: Callable[..., Any]) -> Callable[..., Any]:
        overload_method(kind, name, **options)(_bare(typing))
        return typing

    return register


def add_overload_attribute(kind: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`overload_attribute(kind, name)` for a function with annotations, as `add_overload`."""

    def register(typing: Callable[..., Any]) -> Callable[..., Any]:
        overload_attribute(kind, name)(_bare(typing))
        return typing

    return register


def require_compilable(name: str, value: Any, kinds: tuple[Any, ...]) -> None:
    """Raise if Numba cannot compile the value function of a rule for these types: Numba's own message does not name the
    rule."""
    if any(not isinstance(k, types.Type) or isinstance(k, (types.Literal, types.Omitted)) for k in kinds):
        return
    if not all(k.is_precise() for k in kinds):
        return
    try:
        value.get_call_template(kinds, {})
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise TypingError(
            f"{name}: in a Numba function, Numba has to compile the value function of the rule as well, and cannot: "
            f"{error}\nWrite it in what Numba compiles, or call {name} from Python alone."
        ) from error


def _bare(typing: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(typing)
    def bare(*args: Any, **kwargs: Any) -> Any:
        implementation = typing(*args, **kwargs)
        if implementation is not None:
            implementation.__annotations__ = {}
        return implementation

    typing.__annotations__ = {}
    bare.__annotations__ = {}
    return bare
