"""Transforms inside compiled code: a transform maps a Numba function to its derivative, which is a dispatcher."""

import inspect
from typing import Any, Protocol

from numba import types
from numba.extending import lower_builtin, overload

from contad.compile.typing_rules import AbstractTemplate, fold_arguments, overload_template, signature
from contad.compiled_rules.user_rules import REBUILT
from contad.errors import UnsupportedError
from contad.front.repeated import calling, is_first_gradient, tangent_of_gradient
from contad.variables.open_types import Function, NumbaType


class Typed(Protocol):
    """A transform that has a type: see `Transform`."""

    function: Function
    made_for: Function | None


def type_of(transform: Typed) -> NumbaType:
    """The Numba type of `contad.grad` and its kin; found by Numba where a compiled function names it."""
    return _type_of_call(transform) if transform.made_for else _type_of_maker(transform)


def _type_of_maker(transform: Typed) -> NumbaType:
    """The type of a transform whose result is called later, as contad.grad(f)(x)."""
    name = transform.function.__name__
    own = inspect.signature(transform.function)
    # Numba has no keyword-only parameters
    either = [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in own.parameters.values()]
    called = own.replace(parameters=either)

    class Template(AbstractTemplate):
        """Answers Numba's question for the type of contad.grad(f)."""

        key = transform

        def generic(self, args: tuple[NumbaType, ...], kws: dict[str, NumbaType]) -> Any:
            """The answer for arguments of these types; None to make Numba ask again with literal types."""
            given = fold_arguments(
                called, args, kws, lambda _, p, t: t, lambda _, p, default: types.Omitted(default), lambda _, p, t: t
            )
            f, *options = given
            _require_function(name, f)
            values = list(map(_constant, options))
            if any(value is NotImplemented for value in values):
                return None
            of = getattr(f.dispatcher, REBUILT, f.dispatcher)
            made = transform.function(of, **dict(zip(list(called.parameters)[1:], values, strict=True)))
            if hasattr(f.dispatcher, "form") and not hasattr(made, "_numba_type_"):
                _refuse_derivative(name, f)
            return signature(made._numba_type_, *given).replace(pysig=called)

    @lower_builtin(transform, types.VarArg(types.Any))
    def nothing_to_compute(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.get_dummy_value()

    return types.Function(Template)


def _require_function(name: str, f: NumbaType) -> None:
    if not isinstance(f, types.Dispatcher):
        raise UnsupportedError(f"contad.{name}: inside compiled code f must be a function made by numba.njit, got {f}")


def _refuse_derivative(name: str, f: Any) -> None:
    raise UnsupportedError(
        f"contad.{name}: compiled code does not take it of {f.dispatcher!r}; take it of a function made by numba.njit "
        "that calls this"
    )


def _constant(t: Any) -> Any:
    """The value of an option in compiled code; NotImplemented if its type does not tell."""
    if isinstance(t, types.Omitted):
        return t.value
    if isinstance(t, types.Literal):
        return t.literal_value
    if isinstance(t, types.BaseTuple):
        values = tuple(_constant(x) for x in t)
        return NotImplemented if NotImplemented in values else values
    if isinstance(t, types.NoneType):
        return None
    return NotImplemented if isinstance(t, types.Type) else t


def _type_of_call(transform: Any) -> NumbaType:
    """The type of a transform that is called with f and its arguments, as contad.jvp(f, primals, tangents)."""

    if "several" in inspect.signature(transform.function).parameters:
        call = _call_along_several(transform)
    else:

        def call(f, primals, tangents):  # type: ignore[no-untyped-def]
            return transform.function(f, primals, tangents)

        @overload(call)
        def typed_call(f, primals, tangents):  # type: ignore[no-untyped-def]
            if not isinstance(f, types.Dispatcher):
                return None
            if hasattr(f.dispatcher, "form"):
                _refuse_derivative(transform.function.__name__, f)
            derivative = transform.made_for(f.dispatcher)
            return lambda f, primals, tangents: derivative(primals, tangents)

    class Checked(overload_template(call)):  # type: ignore[misc]
        """Checks the function again: Numba keeps an overload's answer for these types, and the function may have
        changed since."""

        def generic(self, args: tuple[NumbaType, ...], kws: dict[str, NumbaType]) -> Any:
            """As usual; FrozenValueError if the values of the function have changed."""
            if args and isinstance(args[0], types.Dispatcher):
                of = args[0].dispatcher
                (of if hasattr(of, "form") else transform.made_for(of)).frozen.check()
            return super().generic(args, kws)

    return types.Function(Checked)


def _call_along_several(transform: Any) -> Any:
    """contad.jvp(f, primals, tangents, several=True), as an overload."""

    def call(f, primals, tangents, several=False):  # type: ignore[no-untyped-def]
        return transform.function(f, primals, tangents, several=several)

    @overload(call)
    def typed_call(f, primals, tangents, several=False):  # type: ignore[no-untyped-def]
        chosen = _constant(several)
        if chosen is NotImplemented or not isinstance(f, types.Dispatcher):
            return None
        of = f.dispatcher
        if hasattr(of, "form"):
            if not isinstance(primals, types.BaseTuple):
                _refuse_derivative(transform.function.__name__, f)
            if is_first_gradient(of) and not chosen:
                return _of_gradient(transform, of, len(primals))
            of = calling(of, len(primals))
        derivative = transform.made_for(of, bool(chosen))
        return lambda f, primals, tangents, several=False: derivative(primals, tangents)

    return call


def _of_gradient(transform: Any, gradient: Any, count: int) -> Any:
    """contad.jvp(f, primals, tangents) of a gradient f: its value, and the tangent by second derivatives."""
    tangent = tangent_of_gradient(transform, gradient, count)
    return lambda f, primals, tangents, several=False: tangent(primals, tangents)
