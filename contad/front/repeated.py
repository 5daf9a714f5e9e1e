"""Derivatives of compiled gradients that can be compiled as a whole, as higher derivatives of the function itself."""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from contad.errors import UnsupportedError
from contad.functions.user_call import positions
from contad.rules.compilable import WrittenOut, functions_of_text
from contad.variables.open_types import Function, NumbaFunction, NumbaType, Options

if TYPE_CHECKING:
    from contad.front.derivative import Derivative


def is_repeatable(f: Function, engine: str | None = None) -> bool:
    """Whether f is a compiled gradient by one argument that can be compiled together with a further derivative."""
    form = getattr(f, "form", None)
    repeatable = form is not None and form.kind == "grad" and form.single and not form.has_aux and not form.out
    return repeatable and engine in (None, "generated") and getattr(f, "engine", None) in (None, "generated")


def is_first_gradient(f: Any, engine: str | None = None) -> bool:
    """Whether f is a gradient of this kind of a function that is not itself a derivative."""
    return is_repeatable(f, engine) and not f.form.along


def gradient_of_gradient(
    f: Any, argnums: int | tuple[int, ...], made_by: tuple[Function, Options], eager: Callable[[], Function]
) -> "Derivative":
    """The compiled gradient of a gradient by a number, `f`; `eager()` takes arguments that are not numbers."""
    from contad.front.form import Form

    along = (*f.form.along, *f.form.argnums)
    return _differentiate(
        f, Form("grad", positions("grad", argnums), isinstance(argnums, int), along=along), made_by, eager
    )


def product_along(f: Any, eager: Callable[[], Function], count: int = 1) -> "Derivative":
    """The compiled tangent of a gradient: the arguments of the function, then the tangent of the one argument.

    For several arguments it takes a tuple of tangents, and the result is a tuple, too.
    """
    from contad.front.form import Form

    form = Form("hvp", f.form.argnums, True) if count == 1 else Form("pull", f.form.argnums, along=tuple(range(count)))
    return _differentiate(f, form, None, eager)


def jacobian_of_gradient(f: Any, made_by: tuple[Function, Options], eager: Callable[[], Function]) -> "Derivative":
    """The compiled Jacobian of a gradient by its argument."""
    from contad.front.form import Form

    return _differentiate(f, Form("hessian", f.form.argnums, True), made_by, eager)


def calling(derivative: "Derivative", count: int) -> NumbaFunction:
    """A Numba function of this many arguments that returns the derivative, and is differentiated like any caller of
    one."""
    from numba import njit

    memo, key = derivative.frozen.memo, ("calling", derivative.form, derivative.engine, count)
    if key not in memo:
        kind, names = derivative.form.kind, ", ".join(f"x_{k}" for k in range(count))
        text = f"def {kind}({names}):\n    return derivative({names})\n"
        memo[key] = njit(functions_of_text(text, {"derivative": derivative})[kind])
    made: NumbaFunction = memo[key]
    return made


def _differentiate(
    f: Any, form: Any, made_by: tuple[Function, Options] | None, eager: Callable[[], Function]
) -> "Derivative":
    from contad.front.derivative import Derivative

    memo = f.frozen.memo
    key = "of a gradient", form, f.engine, made_by and made_by[0]
    if key not in memo:
        memo[key] = Derivative(f.f, form, f.engine, eager, memo, made_by)
        memo[key].inner = f
    made: Derivative = memo[key]
    return made


def tangent_of_gradient(transform: Any, gradient: "Derivative", count: int) -> Any:
    """A Numba function (primals, tangents) for contad.jvp of a first gradient: the gradient and its tangent."""
    from numba import njit

    memo, key = gradient.frozen.memo, ("tangent", gradient.form, gradient.engine, count)
    if key not in memo:
        known: dict[str, Any] = {"gradient": gradient, "product": transform.made_for(gradient, count=count)}
        given = [f"primals[{k}]" for k in range(count)]
        parameters = list(inspect.signature(gradient.f.py_func).parameters.values())[count:]
        defaults = {f"default_of_{p.name}": p.default for p in parameters if p.default is not p.empty}
        known |= defaults
        every = ", ".join([*given, *defaults])
        product = f"product({every}, tangents[0])" if count == 1 else f"product({every}, tangents)[0]"
        text = f"def tangent(primals, tangents):\n    return gradient({', '.join(given)}), {product}\n"
        memo[key] = njit(functions_of_text(text, known)["tangent"])
    return memo[key]


class TangentOfGradient(WrittenOut):
    """contad.jvp of a gradient inside a function that is differentiated: its value, and the product with the
    Hessian."""

    def __init__(self, transform: Any, gradient: "Derivative") -> None:
        """UnsupportedError unless it is a first gradient by one argument."""
        self.what = f"{transform.function.__name__}: {gradient!r}"
        self.transform, self.gradient = transform, gradient
        if not is_first_gradient(gradient):
            raise UnsupportedError(f"{self.what}: compiled code does not take it of this; take it in Python")

    @staticmethod
    def py_func(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> None:
        """A Python function with its parameters."""

    def write_out(self, given: tuple[NumbaType, ...]) -> Any:
        """A function for this number of primals; UnsupportedError if a type does not tell the number."""
        from numba import types

        if not isinstance(given[0], types.BaseTuple):
            raise UnsupportedError(f"{self.what}: in compiled code primals and tangents must be tuples")
        return tangent_of_gradient(self.transform, self.gradient, len(given[0]))
