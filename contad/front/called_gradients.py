"""Gradients that a function calls which is differentiated by the tape: operations with a backward part.

z = grad(f)(x, y)     x_bar, y_bar = the gradient of <df/dx, z_bar>, by forward over reverse
"""

from typing import TYPE_CHECKING, Any

from numba import njit, types

from contad.engines.tape.rule_records import register_user_rule
from contad.errors import UnsupportedError
from contad.front.form import Form
from contad.native.user_rules import holds_derivative
from contad.rules.compilable import Parts, WithParts
from contad.variables.open_types import Function, Nested, NumbaType

if TYPE_CHECKING:
    from contad.front.derivative import Derivative


class CalledGradient(WithParts):
    """The gradient of a function by one argument, where the arguments at `active` have derivatives."""

    def __init__(self, gradient: "Derivative", active: tuple[int, ...]) -> None:
        self.name, self.gradient, self.active = gradient.what, gradient, active
        self.parts = self._make_parts()
        self.calls: list[Any] = []

    def __call__(self, *args: Nested) -> Nested:
        """The gradient, as compiled code computes it; Numba asks for something that can be called."""
        return self.gradient(*args)

    def functions(self) -> tuple[Function | None, ...]:
        """The gradient stands for all of it."""
        return (self.gradient.f,)

    def compiled_parts(self, wanted: tuple[int, ...] = ()) -> Parts:
        """The gradient, what it is taken at, and the product with second derivatives."""
        return self.parts

    def _make_parts(self) -> Parts:
        gradient = self.gradient
        own, form, code = type(gradient), gradient.form, gradient.f.py_func.__code__
        names = [f"x_{k}" for k in range(code.co_argcount)]
        options = [name for k, name in enumerate(names) if k not in self.active]
        pull = Form("pull", self.active, along=(*form.along, *form.argnums))
        more = "generated", gradient.eager, gradient.frozen.memo  # an engine that leaves the caller's records alone
        known: dict[str, Any] = {"value_": own(gradient.f, form, *more), "pull_": own(gradient.f, pull, *more)}
        given = ", ".join(names)
        kept = "".join(f"x_{k}, " for k in self.active)
        taken = ", ".join(f"saved[{self.active.index(k)}]" if k in self.active else x for k, x in enumerate(names))
        lines = [
            f"def value({given}):",
            f"    return value_({given})",
            f"def forward({given}):",
            f"    return value_({given}), ({kept})",
            f"def backward({', '.join([*options, 'saved', 'z_bar'])}):",
            f"    return pull_({taken}, z_bar)",
        ]
        exec("\n".join(lines), known)
        places = tuple(k for k in range(len(names)) if k not in self.active)
        return Parts(njit(known["value"]), njit(known["forward"]), njit(known["backward"]), places)


def compile_call(gradient: "Derivative", given: tuple[NumbaType, ...]) -> Any:
    """The result of compilation of a gradient for arguments of which some are variables of the tape."""
    active = tuple(k for k, t in enumerate(given) if holds_derivative(t))
    form = gradient.form
    if form.kind != "grad" or not form.single or form.has_aux:
        raise UnsupportedError(
            f"{gradient.what}: a function that is differentiated may call gradients by one argument; call contad.grad, "
            "or differentiate in Python"
        )
    if any(isinstance(given[k], types.BaseTuple) for k in active):
        raise UnsupportedError(
            f"{gradient.what}: a function that is differentiated calls gradients at numbers and arrays; pass no tuple"
        )
    rule = gradient.called.get(active)
    if rule is None:
        rule = gradient.called[active] = CalledGradient(gradient, active)
    register_user_rule(rule)
    names = ", ".join(f"x_{k}" for k in range(len(given)))
    known: dict[str, Any] = {"rule": rule}
    exec(f"def call({names}):\n    return rule({names})\n", known)
    call = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(known["call"])  # a variable is nothing to Python
    call.compile(given)
    rule.calls.append(call)  # with which Numba forgets what it has compiled
    return call.overloads[given]
