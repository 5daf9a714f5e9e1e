"""Python's and NumPy's protocols on numbers: operators and ufuncs find their rule."""

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import contad.ops  # noqa: F401  (registers the operators)
from contad.array_base import Array
from contad.errors import UnsupportedError
from contad.number import Number, observed
from contad.rule import ScalarRule, rule, rule_of_ufunc, rules

# Functions of the primal alone: their results carry no derivative.
CONSTANTS: dict[Any, Callable[..., Any]] = {
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.not_equal: operator.ne, np.isfinite: np.isfinite, np.isnan: np.isnan, np.isinf: np.isinf,
    np.signbit: np.signbit, np.logical_not: np.logical_not, np.logical_and: np.logical_and, np.logical_or:
    np.logical_or, np.logical_xor: np.logical_xor,
}  # fmt: skip


def array_ufunc(self: Number, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Dispatch a NumPy or SciPy ufunc called with a variable or dual to the rule of that ufunc."""
    if method == "__call__" and not options:
        found = rule_of_ufunc(ufunc)
        if found is not None:
            if len(inputs) == 2 and (inputs[0].__class__ is np.ndarray or inputs[1].__class__ is np.ndarray):
                result = self._owner.number_and_array(found, *inputs)
                if result is not NotImplemented:
                    return result
            return found(*inputs)
    if any(isinstance(x, Array) for x in (*inputs, *(options.get("out") or ()))):
        return NotImplemented  # the array's affair
    name = exported_name(ufunc)
    if method == "reduce" and len(inputs) == 1 and options.get("out") is None:
        return inputs[0]  # np.sum(v), as of a float
    if method != "__call__":
        raise UnsupportedError(f"{name}.{method}: not supported on variables; call {name} and combine the results")
    if "out" in options:
        raise UnsupportedError(
            f"{name}: an array of floats cannot hold a variable (out=, or an operation in place); write a = a + v"
        )
    if options:
        raise UnsupportedError(f"{name}: the option {next(iter(options))}= is not supported on variables")
    if ufunc is np.positive:
        return inputs[0]
    if ufunc in CONSTANTS:
        result = np.asarray(observed(ufunc, *inputs), dtype=bool)
        return result if result.ndim else bool(result)
    raise UnsupportedError(
        f"{name}: contad has no derivative rule for this ufunc; write one with "
        f"@contad.scalar_rule(ufunc={name}), or use contad.value_of(v) where a constant is meant"
    )


def exported_name(ufunc: Any) -> str:
    """The name that a reader would look for: np.exp, scipy.special.erf, or that of a ufunc of somebody's own."""
    name: str = ufunc.__name__
    for prefix, module in (("np", np), ("scipy.special", sys.modules.get("scipy.special"))):
        if getattr(module, name, None) is ufunc:
            return f"{prefix}.{name}"
    return name


def rounded(self: Number, digits: int | None = None) -> Any:
    """round(v): a plain int, as for a float; round(v, digits): a number with derivative zero."""
    if digits is None:
        return int(observed(round, self))
    shift = 10.0**digits
    return rule("rint")(rule("multiply")(self, shift)) / shift


def general_methods(found: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
    """The methods of a rule by its general way: right for every number, and what engines improve on."""
    if found.arity == 2:
        # functions, to bind as methods
        return lambda x, y: found.operate(x, y), lambda y, x: found.operate(x, y)  # noqa: PLW0108
    return lambda x: found.general((x,)), None


def install(
    cls: type[Any], implement: Callable[[ScalarRule], tuple[Callable[..., Any], Callable[..., Any] | None]]
) -> None:
    """Give cls the operator methods of every rule that has an operator."""
    for found in rules():
        if found.operator is not None:
            setattr(cls, f"__{found.operator}__", on_first_use(cls, found, implement, 0))
            if found.arity == 2:
                setattr(cls, f"__r{found.operator}__", on_first_use(cls, found, implement, 1))


def on_first_use(cls: type[Any], found: ScalarRule, implement: Callable[..., Any], which: int) -> Callable[..., Any]:
    """An operator method that makes itself: to compile those of all operators would take most of the import."""

    def method(*args: Any) -> Any:
        made = implement(found)
        for name, one in zip((f"__{found.operator}__", f"__r{found.operator}__"), made, strict=True):
            if one is not None:
                setattr(cls, name, one)
        return made[which](*args)

    return method


install(Number, general_methods)
Number.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Number.__round__ = Number.round = rounded  # type: ignore[attr-defined]
