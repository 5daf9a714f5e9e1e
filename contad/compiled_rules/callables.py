"""The code that Numba compiles for a function of contad in an njit function, unless it is a scalar rule."""

import functools
import sys
from typing import Any

import numpy as np
from numba import TypingError, types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, overload_by_text
from contad.compile.typing_rules import declared_type
from contad.errors import UnsupportedError
from contad.functions.transformed import Decorated
from contad.functions.user_call import numba_function
from contad.kernels.array_loops import with_compiled_callees
from contad.ops.logic import stop_gradient
from contad.rules.compilable import Compilable, is_in_bodies


def numba_type(function: Compilable) -> Any:
    """Numba's type of a function; UnsupportedError if there is nothing to compile."""
    if function.function.__module__.startswith("contad.scipy."):
        import contad.kernels.fourier_lines
        import contad.kernels.scipy_functions  # noqa: F401  (they declare them)
    if is_checkpoint(function) and function not in _declared:
        _declared.add(function)
        add_overload(function)(_type_checkpoint)
    if is_in_bodies(function) and function not in _declared:
        _declared.add(function)
        _declare(function)
    found = declared_type(function)
    if found is None:
        name = _public_name(function)
        raise UnsupportedError(f"{name} cannot be called inside njit; {function.instead}")
    return found


def _public_name(function: Compilable) -> str:
    """The name under which a public module offers a function; else its name in the module that defines it."""
    name = function.function.__name__
    offered = [
        home
        for home, module in list(sys.modules.items())
        if f"{home}.".startswith("contad.")
        and name in getattr(module, "__all__", ())
        and getattr(module, name) is function
    ]
    return f"{min(offered, default=function.function.__module__)}.{name}"


def is_checkpoint(x: Any) -> bool:
    """Whether it is `contad.checkpoint`, which a higher layer defines."""
    return isinstance(x, Compilable) and x.function.__name__ == "checkpoint"


_declared: set[Compilable] = set()
NESTED = (types.List, types.BaseTuple)  # types that stand for an array


def given_types(kinds: tuple[Any, ...]) -> list[Any]:
    """The types of the arguments up to the last one that a call gives; an omitted one among them becomes a number."""
    given = [isinstance(x, types.Type) and not isinstance(x, types.Omitted) for x in kinds]
    count = max((k + 1 for k, there in enumerate(given) if there), default=0)
    return [x if there else types.float64 for x, there in zip(kinds[:count], given, strict=False)]


# ---- functions that have bodies --------------------------------------------------------------------------------------
def axes_of(kind: Any) -> Any:
    """The number of axes of a type: 0 for a number. Lists and tuples count as arrays; for a literal text, the text."""
    if isinstance(kind, NESTED):
        inner = kind.dtype if isinstance(kind, types.List) else next(iter(kind), None)
        return "" if isinstance(inner, types.Array) else 1 + axes_of(inner)
    return kind.literal_value if isinstance(kind, types.StringLiteral) else getattr(kind, "ndim", 0)


def text_of_array(kind: Any, name: str) -> str:
    """An argument as bodies take it: `as_array` makes an array of a list or a tuple."""
    return f"as_array({name})" if isinstance(kind, NESTED) else name


def _declare(function: Compilable) -> None:
    """Let Numba functions call a function with bodies: the body for the axes of the arguments."""
    compile = functools.cache(njit(**INTERNAL_OPTIONS))

    def write(*kinds: Any) -> Any:
        given = given_types(kinds)
        if not all(is_plain(kind) or isinstance(kind, types.StringLiteral) for kind in given):
            return None
        body = function.body(tuple(map(axes_of, given)))
        if body is None:
            if refusal := function.refuse():
                raise TypingError(refusal)
            return None
        compiled = compile(with_compiled_callees(body, compile))
        passed = ", ".join(map(text_of_array, given, function.signature.parameters))
        return [f"return compiled({passed})"], {"compiled": compiled, "as_array": np.array}

    overload_by_text(function, str(function.signature)[1:-1], write)


# ---- checkpoints -----------------------------------------------------------------------------------------------------
def _type_checkpoint(f: Any) -> Any:
    """The function itself."""
    return (lambda f: f) if isinstance(f, types.Dispatcher) else None


def type_of_decorated(x: Decorated) -> Any:
    """Numba's type of an object that stands for a Numba function."""
    found = numba_function(x.decorated)
    if found is None:
        raise UnsupportedError(f"{x!r}: inside njit the function must be one made by numba.njit; decorate it")
    return found._numba_type_


# ---- constants -------------------------------------------------------------------------------------------------------
def is_plain(kind: Any) -> bool:
    """Whether a type is that of numbers, of arrays of them, or of tuples or lists of these."""
    if isinstance(kind, types.List):
        return is_plain(kind.dtype)
    if isinstance(kind, types.BaseTuple):
        return all(map(is_plain, kind))
    return isinstance(kind.dtype if isinstance(kind, types.Array) else kind, (types.Number, types.Boolean))


@add_overload(stop_gradient)
def _stop_gradient(x: Any) -> Any:
    """The number, or a copy of an array, because it is a copy on variables, too."""
    if not is_plain(x) or isinstance(x, types.List):
        return None
    if isinstance(x, types.BaseTuple):
        return None if isinstance(x, types.BaseNamedTuple) else stop_each(len(x))
    return (lambda x: x.copy()) if isinstance(x, types.Array) else lambda x: x


def stop_each(n: int) -> Any:
    """The code to compile for a tuple of n items."""
    known: dict[str, Any] = {"stop_gradient": stop_gradient}
    exec(f"def of_tuple(x):\n    return ({''.join(f'stop_gradient(x[{k}]), ' for k in range(n))})\n", known)
    return known["of_tuple"]
