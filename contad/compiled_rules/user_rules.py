"""Calls inside Numba of operations with a user's reverse rule: their parts as Numba functions."""

import inspect
import re
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import NumbaError, types

from contad.compile.dispatchers import is_dispatcher
from contad.compile.named_bodies import body_by_name
from contad.compile.overloads import overload_by_text, require_compilable
from contad.compile.typing_rules import declared_type
from contad.compiled_rules.line_parts import PARTS
from contad.errors import RuleError, UnsupportedError
from contad.rules.array_rule import ArrayRule
from contad.rules.compilable import PART, MakesRules, Parts, WithParts, functions_of_text

_typed: set[WithParts] = set()
_given: dict[WithParts, Parts] = {}  # the compiled code
_declared: dict[WithParts, Parts] = {}


def numba_type(rule: WithParts) -> Any:
    """Numba's type of the operation, which makes `f(x)` a call of its value if no argument carries a derivative."""
    if rule not in _typed:
        parts = compile_parts(rule)
        _typed.add(rule)
        names = names_of(parts)

        def write(*kinds: Any) -> Any:
            if any(map(holds_derivative, kinds)):
                return None
            require_compilable(rule.name, parts.value, kinds)
            given = ", ".join(text_of(kind, name) for kind, name in zip(kinds, names, strict=True))
            return [f"return value({given})"], {"value": parts.value}

        overload_by_text(rule, parameters_of(parts), write)
    return declared_type(rule)


def type_of_maker(function: MakesRules) -> Any:
    """Numba's type of a maker of operations, which makes a call of the maker a call of the operation."""
    if function not in _makers:
        _makers.add(function)

        def write(args: Any, *kinds: Any) -> Any:
            if not isinstance(args, types.BaseTuple):
                raise UnsupportedError(f"{function.__name__}: args must be a tuple, got {args}; write (x,) for one")
            rule = function.rule_of(len(args), [_function_of(function, kind) for kind in kinds])
            if holds_derivative(args):
                DERIVE["variables"](rule)
            return ["return rule(*args)"], {"rule": rule}

        given = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in function.signature.parameters.values()]
        overload_by_text(function, ", ".join(str(p.replace(annotation=p.empty)) for p in given), write)
    return declared_type(function)


_makers: set[MakesRules] = set()


def _function_of(maker: MakesRules, kind: Any) -> Any:
    """The function, or the tuple of functions, of a type."""
    if isinstance(kind, types.BaseTuple):
        return tuple(_function_of(maker, part) for part in kind)
    if isinstance(kind, types.Dispatcher):
        return getattr(kind.dispatcher, REBUILT, kind.dispatcher)
    if isinstance(kind, types.Function):
        return kind.typing_key
    if kind is None or isinstance(kind, (types.NoneType, types.Omitted)):
        return None
    raise UnsupportedError(f"{maker.__name__}: inside njit a function was expected, got {kind}; {FUNCTIONS_BY_NAME}")


REBUILT = "__rebuilt_of__"  # if an engine's function names the user's function from which it was made
FUNCTIONS_BY_NAME = "name functions that numba.njit made outside, without signatures, and write several as a tuple"


def text_of(kind: Any, name: str) -> str:
    """The expression of an argument of that type in an implementation: its default if it is not given."""
    if isinstance(kind, types.Omitted):
        return repr(kind.value)
    return name if isinstance(kind, types.Type) else repr(kind)


def compile_parts(rule: WithParts) -> Parts:
    """The parts as Numba functions; RuleError if they have been declared again since then."""
    found = _parts_of(rule, ())
    if rule not in _declared:
        _declared[rule] = _compile(rule, found)
        _given[rule] = found
    elif found != _given[rule]:
        raise RuleError(f"{rule.name}: its rule was declared again after it was compiled; make a new function of it")
    return _declared[rule]


def backward_of(rule: WithParts, wanted: tuple[int, ...]) -> Any:
    """The Numba function that gives the cotangents of the arguments at `wanted`."""
    return _compile(rule, _parts_of(rule, wanted)).backward


# Makers of derivatives of parts, by name. The engine that generates source registers its own here, see
# `contad.engines.source.build`.
DERIVE: dict[str, Callable[..., Any]] = {}


def pairing_of(rule: WithParts, plain: tuple[Any, ...], z: Any, wanted: tuple[int, ...]) -> Any:
    """The Numba function (*options, saved, z_bar, the tangents of some arguments) -> <the tangent of the value, z_bar>.

    Its gradient by the tangents is the backward part of a rule with forward mode only.
    """
    parts = compile_parts(rule)
    key = rule, tuple(isinstance(t, types.Array) for t in plain), isinstance(z, types.Array), wanted
    if key not in _pairings:
        rest = [k for k in range(len(plain)) if k not in parts.options]
        options = [f"option_{k}" for k in parts.options]
        dots = [f"np.zeros_like(saved[{1 + n}])" if key[1][k] else "0.0" for n, k in enumerate(rest)]
        for k in wanted:
            dots[rest.index(k)] = f"d_{k}"
        tangent = f"tangent({', '.join([*options, 'saved', *dots])})"
        text = f"def pairing({', '.join([*options, 'saved', 'z_bar', *(f'd_{k}' for k in wanted)])}):\n"
        text += f"    return np.sum({tangent} * z_bar)\n" if key[2] else f"    return {tangent} * z_bar\n"
        known = functions_of_text(text, {"np": np, "tangent": parts.tangent})
        _pairings[key] = numba.njit(known["pairing"])
    return _pairings[key]


_pairings: dict[Any, Any] = {}


def transposed_backward(rule: WithParts, plain: tuple[Any, ...], z: Any, saved: Any, wanted: tuple[int, ...]) -> Any:
    """The backward part of a rule with forward mode only, as a separate Numba function.

    It runs generated source, and so uses the thread's workspace: never call it inside another generated derivative.
    """
    parts = compile_parts(rule)
    rest = [k for k in range(len(plain)) if k not in parts.options]
    options = [plain[k] for k in parts.options]
    given = (*options, saved, z, *(plain[k] for k in wanted))
    run = DERIVE["gradient"](pairing_of(rule, plain, z, wanted), given, len(options) + 2, nested=False)
    names = ", ".join([*(f"option_{k}" for k in parts.options), "saved", "z_bar"])
    given_of = {k: f"saved[{1 + rest.index(k)}]" for k in wanted}
    ones = ", ".join(f"np.ones({x}.shape)" if isinstance(plain[k], types.Array) else "1.0" for k, x in given_of.items())
    results = "".join(f"found[{wanted.index(k)}], " if k in wanted else "None, " for k in rest)
    text = f"def backward({names}):\n    _, found = run({names}, {ones})\n    return ({results})\n"
    return numba.njit(functions_of_text(text, {"np": np, "run": run})["backward"])


def _parts_of(rule: WithParts, wanted: tuple[int, ...]) -> Parts:
    found = PARTS.get(rule)  # type: ignore[call-overload]
    return rule.compiled_parts(wanted) if found is None else found


def _compile(rule: WithParts, parts: Parts) -> Parts:
    """Numba functions in place of plain functions and their callees."""
    is_own = isinstance(rule, ArrayRule) and rule.__module__.startswith("contad.") and not rule.option_names
    value, forward, backward, tangent = (
        _dispatcher_of(f, is_own) for f in (parts.value, parts.forward, parts.backward, parts.tangent)
    )
    return Parts(value, forward, backward, parts.options, tangent)


def _dispatcher_of(function: Any, is_own: bool, name: str = "") -> Any:
    """The Numba function of a part. contad's own bodies are called by name, except for tangents, which engines read."""
    if function is None or is_dispatcher(function):
        return function
    if function.__code__.co_filename.startswith(PART):  # the name of a rule
        names = function.__globals__
        for key in function.__code__.co_names:
            if isinstance(names.get(key), FunctionType):
                names[key] = _dispatcher_of(names[key], is_own, key)
    elif is_own and name != "push":
        return body_by_name(function)
    return numba.njit(function)


def names_of(parts: Parts) -> list[str]:
    """The names of the arguments."""
    return list(inspect.signature(parts.value.py_func).parameters)


def parameters_of(parts: Parts) -> str:
    """The parameters as text, with their defaults, which Numba takes if they are plain numbers or None."""
    parameters = inspect.signature(parts.value.py_func).parameters.values()
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters)


def holds_derivative(kind: Any) -> bool:
    """Whether a type is an engine's own, an array of these, or a tuple that holds any."""
    if isinstance(kind, types.BaseTuple):
        return any(map(holds_derivative, kind))
    return any(type(x).__module__.startswith("contad.") for x in (kind, getattr(kind, "dtype", kind)))


# ---- types of parts --------------------------------------------------------------------------------------------------
def saved_types(rule: WithParts, parts: Parts, plain: tuple[Any, ...]) -> tuple[Any, Any]:
    """The types of the value and of the saved data, which the forward part returns."""
    found = _compile_part(rule, "forward part", parts.forward, plain)
    if not isinstance(found, types.BaseTuple) or len(found) != 2:
        raise RuleError(f"{rule.name}: forward must return (value, saved), got {found}")
    return found[0], found[1]


def forward_types(rule: WithParts, parts: Parts, plain: tuple[Any, ...]) -> tuple[Any, Any]:
    """The same of a rule with a real value."""
    z, saved = saved_types(rule, parts, plain)
    if not (isinstance(z, (types.Float, types.Integer)) or (isinstance(z, types.Array) and z.dtype == types.float64)):
        raise UnsupportedError(f"{rule.name}: inside njit its value must be a number or a float64 array, got {z}")
    return z, saved


def _compile_part(rule: WithParts, part: str, function: Any, kinds: tuple[Any, ...]) -> Any:
    """The type of the result of a part; UnsupportedError if Numba does not compile it."""
    try:
        return _result_type(function, kinds)
    except NumbaError as error:
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        unknown = re.search(r"No implementation of function .* found for signature:\s*>>> ([^\n]*)", text)
        said = f"no implementation of {unknown[1].strip()}" if unknown else text.partition("\n\n")[0].splitlines()[-1]
        raise UnsupportedError(
            f"{rule.name}: Numba does not compile its {part} for ({', '.join(map(str, kinds))}): {said}; write it as "
            "for numba.njit, or call it outside"
        ) from error


def _result_type(function: Any, kinds: tuple[Any, ...]) -> Any:
    function.compile(kinds)
    return function.overloads[kinds].signature.return_type


def backward_types(rule: WithParts, backward: Any, given: tuple[Any, ...], count: int) -> Any:
    """The types of the cotangents that the backward part returns; checks their number."""
    found = _compile_part(rule, "backward part", backward, given)
    if not isinstance(found, types.BaseTuple) or len(found) != count:
        got = len(found) if isinstance(found, types.BaseTuple) else found
        raise RuleError(
            f"{rule.name}: the result of its reverse rule must have one cotangent for each of {count} arguments, "
            f"got {got}"
        )
    return found


def require_cotangent(rule: WithParts, n: int, kind: Any, ndim: int) -> None:
    """RuleError unless a type fits a cotangent of argument n, with this number of axes; None stands for zeros."""
    if isinstance(kind, types.NoneType):
        return
    if ndim:
        fits = isinstance(kind, types.Array) and kind.ndim == ndim
    else:
        fits = isinstance(kind, (types.Float, types.Integer))
    if not fits:
        raise RuleError(f"{rule.name}: the cotangent of argument {n} must have its shape, got {kind}")


def wrong_shape(name: str) -> str:
    """The error message for a cotangent of another shape, which only the sweep can detect."""
    return f"{name}: a cotangent must have the shape of its argument"


# ---- values that a rule may save -------------------------------------------------------------------------------------
def require_packable(what: str, kind: Any) -> None:
    """UnsupportedError for a type that cannot be saved like this."""
    for _, leaf in leaves("x", kind):
        element = leaf.dtype if isinstance(leaf, types.Array) else leaf
        fits = isinstance(element, (types.Integer, types.Boolean)) or element == types.float64
        if not fits and not isinstance(leaf, types.NoneType):
            raise UnsupportedError(
                f"{what} is kept for the reverse sweep; it must be made of numbers, arrays of float64, integers or "
                f"bools, and tuples of these, got {leaf}"
            )


def _item(text: str, n: int) -> str:
    return f"{text}[{n}]"


def leaves(whole: Any, kind: Any, item: Callable[[Any, int], Any] = _item) -> Iterator[tuple[Any, Any]]:
    """The expression and the type of each number and array in the value of an expression of this type.

    `item` makes the expression of an item of a tuple; expressions are texts, or results of `item`.
    """
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        for n, part in enumerate(kind):
            yield from leaves(item(whole, n), part, item)
    else:
        yield whole, kind


def as_read(kind: Any) -> Any:
    """The type after reading."""
    if isinstance(kind, types.NoneType):
        return kind
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([as_read(item) for item in kind])
    if isinstance(kind, types.Array):
        return types.Array(kind.dtype, kind.ndim, "C")
    if isinstance(kind, types.Boolean):
        return types.boolean
    return types.int64 if isinstance(kind, types.Integer) else types.float64
