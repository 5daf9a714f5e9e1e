"""Derivatives of compiled gradients: what can be compiled as a whole, as higher derivatives of the function itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from contad.errors import UnsupportedError
from contad.functions.user_call import positions
from contad.rules.compilable import WrittenOut, functions_of_text
from contad.variables.open_types import Function, NumbaType, Options

if TYPE_CHECKING:
    from contad.front.derivative import Derivative


def is_repeatable(f: Function, engine: str | None = None) -> bool:
    """Whether f is the compiled gradient by one argument, which can be compiled with a further derivative."""
    form = getattr(f, "form", None)
    repeatable = form is not None and form.kind == "grad" and form.single and not form.has_aux and not form.out
    return repeatable and engine in (None, "generated") and getattr(f, "engine", None) in (None, "generated")


def is_first_gradient(f: Any, engine: str | None = None) -> bool:
    """Whether f is one that is the gradient of a function."""
    return is_repeatable(f, engine) and not f.form.along


def gradient_of_gradient(
    f: Any, argnums: int | tuple[int, ...], made_by: tuple[Function, Options], eager: Callable[[], Function]
) -> "Derivative":
    """The compiled gradient of a gradient by a number, `f`; what is no number is left to `eager()`."""
    from contad.front.form import Form

    along = (*f.form.along, *f.form.argnums)
    return _differentiate(
        f, Form("grad", positions("grad", argnums), isinstance(argnums, int), along=along), made_by, eager
    )


def product_along(f: Any, eager: Callable[[], Function]) -> "Derivative":
    """The compiled tangent of a gradient: the arguments of the function, then the tangent of the one argument."""
    from contad.front.form import Form

    return _differentiate(f, Form("hvp", f.form.argnums, True), None, eager)


def jacobian_of_gradient(f: Any, made_by: tuple[Function, Options], eager: Callable[[], Function]) -> "Derivative":
    """The compiled Jacobian of a gradient by its argument."""
    from contad.front.form import Form

    return _differentiate(f, Form("hessian", f.form.argnums, True), made_by, eager)


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


class TangentOfGradient(WrittenOut):
    """contad.jvp of a gradient in a function that is differentiated: its value, and the product with the Hessian."""

    def __init__(self, transform: Any, gradient: "Derivative") -> None:
        """UnsupportedError for what is no first gradient by one argument."""
        self.what = f"{transform.function.__name__}: {gradient!r}"
        if not is_first_gradient(gradient):
            raise UnsupportedError(f"{self.what}: compiled code does not take it of this; take it in Python")
        known = {"gradient": gradient, "product": transform.made_for(gradient)}
        text = """def tangent(primals, tangents):
    return gradient(primals[0]), product(primals[0], tangents[0])
"""
        self.py_func: Function = functions_of_text(text, known)["tangent"]

    def write_out(self, given: tuple[NumbaType, ...]) -> Any:
        """The same for all types."""
        from numba import njit

        return njit(self.py_func)
