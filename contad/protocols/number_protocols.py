"""Python's and NumPy's protocols on numbers: operators and ufuncs find their rule."""

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import contad.ops
import contad.protocols.number_methods  # noqa: F401  (both register what numbers can do)
from contad.errors import LostDerivativeError, UnsupportedError
from contad.rules.numpy_functions import NO_VALUE, written_for
from contad.rules.scalar_rule import ScalarRule, _by_ufunc, rule, rule_of_ufunc, rules
from contad.variables.array import Array, as_array
from contad.variables.complex_pair import ComplexPair
from contad.variables.creation import array
from contad.variables.number import Number, map_numbers, observe, primal
from contad.variables.open_types import ArrayValue, Function, Key, Option, Options, Value
from contad.variables.trees import CONTAINERS

# Functions of the primal alone: their results carry no derivative.
CONSTANTS: dict[np.ufunc, Function] = {
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.not_equal: operator.ne, np.isfinite: np.isfinite, np.isnan: np.isnan, np.isinf: np.isinf,
    np.signbit: np.signbit, np.logical_not: np.logical_not, np.logical_and: np.logical_and, np.logical_or:
    np.logical_or, np.logical_xor: np.logical_xor,
}  # fmt: skip


LOGICAL = (np.logical_not, np.logical_and, np.logical_or, np.logical_xor)


def array_ufunc(
    number: Number, ufunc: np.ufunc, method: str, first: Value, *others: Value, **options: Option
) -> Value:
    """Dispatch a NumPy or SciPy ufunc called with a variable or dual to the rule of that ufunc."""
    if method == "__call__" and not options:
        found = _by_ufunc[ufunc] if ufunc in _by_ufunc else rule_of_ufunc(ufunc)
        if found is not None:
            kind, methods = number.__class__, found.methods  # by `in`: dict methods take longer
            implementation = methods[kind] if first is number and kind in methods else None
            if implementation is not None and not others:
                result = implementation(number)
                if not kind.is_float:
                    return result
            elif implementation is not None and len(others) == 1 and others[0].__class__ in (kind, float):
                result = implementation(number, others[0])
            else:
                inputs = (first, *others)
                if len(inputs) > 1 and any(x.__class__ is not float and isinstance(x, CONTAINERS) for x in inputs):
                    inputs = tuple(map(_as_array, inputs))
                if len(inputs) == 2 and (inputs[0].__class__ is np.ndarray or inputs[1].__class__ is np.ndarray):
                    result = number._owner.number_and_array(found, *inputs)
                    if result is not NotImplemented:
                        return result
                result = found(*inputs)
            if isinstance(result, Number) and result.is_float:
                result.__class__ = result.numpy_class
            return result
    inputs = (first, *others)
    if any(isinstance(x, (Array, ComplexPair)) for x in (*inputs, *(options.get("out") or ()))):
        return NotImplemented  # the array handles it
    if method == "__call__" and not options and (written := written_for(ufunc)) is not None:
        return written(*(_as_array(x) if isinstance(x, CONTAINERS) else x for x in inputs))
    name = find_exported_name(ufunc)
    if method != "__call__":
        return _of_arrays(name, ufunc, method, inputs, options)
    inputs = tuple(map(_as_array, inputs))
    if options.get("where") is True:
        del options["where"]
        return ufunc(*inputs, **options)
    if "where" in options and any(isinstance(as_array(x), Array) for x in inputs if isinstance(x, Number)):
        return ufunc(*(as_array(x) if isinstance(x, Number) else x for x in inputs), **options)
    if "out" in options:
        target = options["out"][0]
        if len(options) == len(options["out"]) == 1 and isinstance(target, np.ndarray) and target.dtype == object:
            target[...] = ufunc(*inputs)
            return target
        raise LostDerivativeError(
            f"{name}: an array of floats cannot hold a variable (out=, or an operation in place); write a = a + v"
        )
    if options.keys() == {"dtype"} and np.dtype(options["dtype"]) in (object, np.float64):  # which it has
        return ufunc(*inputs)
    if options:
        raise UnsupportedError(f"{name}: the option {next(iter(options))}= is not supported on variables")
    if ufunc is np.positive or ufunc is np.conjugate:
        return inputs[0].in_class(inputs[0].numpy_class)
    if ufunc is np.divmod:
        return np.floor_divide(*inputs), np.remainder(*inputs)
    if ufunc in LOGICAL:
        inputs = tuple(observe(operator.ne, x, 0.0) if isinstance(x, Number) else x for x in inputs)
        return ufunc(*inputs)
    if ufunc in CONSTANTS:
        if not number.is_float:  # or NumPy would round the number to the precision of the other operand
            inputs = tuple(_in_float64(x) for x in inputs)
        return np.asarray(observe(ufunc, *inputs), dtype=bool)[()]
    raise refuse_ufunc(ufunc, "v")


# for these, ufunc.reduce is a separate function
REDUCTIONS: dict[np.ufunc, Any] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min, np.fmax: np.nanmax,
    np.fmin: np.nanmin, np.logical_or: np.any, np.logical_and: np.all,
}  # fmt: skip


def _of_arrays(name: str, ufunc: np.ufunc, method: str, inputs: tuple[Value, ...], options: Options) -> Value:
    """A ufunc method, with numbers as arrays without axes."""
    if method == "outer" and not options:
        return ufunc(*inputs)
    further = any(all(options.get(name) is not x for x in (NO_VALUE, None, True)) for name in ("initial", "where"))
    if method == "reduce" and (ufunc not in REDUCTIONS or further) and isinstance(as_array(inputs[0]), Array):
        return ufunc.reduce(as_array(inputs[0]), **options)[()]
    if method == "reduce" and ufunc in REDUCTIONS:
        keepdims, axis = options.pop("keepdims", False), options.pop("axis", 0)
        for option, x in options.items():
            if not (x is None or x is NO_VALUE or _changes_nothing(ufunc, option, x)):
                raise UnsupportedError(f"{name}.reduce: {option}= is not supported on variables, got {x!r}")
        return REDUCTIONS[ufunc](*inputs, axis=axis, keepdims=keepdims)
    if method == "reduce":
        raise UnsupportedError(f"{name}.reduce: not supported on variables; call {name} and combine the results")
    if method == "at":
        return at_elements(ufunc, *inputs)
    raise TypeError(f"{name}.{method}: cannot {method} on a scalar")


def at_elements(ufunc: np.ufunc, a: ArrayValue, indices: Key, *others: Value) -> None:
    """ufunc.at: one element after another, so that repeated indices accumulate, and each element finds its rule."""
    if not isinstance(a, Array) and not (isinstance(a, np.ndarray) and a.dtype == object):
        raise LostDerivativeError(
            f"{find_exported_name(ufunc)}.at: an array of floats cannot hold a variable; create it with contad.zeros"
        )
    positions = np.arange(a.size).reshape(a.shape)[map_numbers(primal, indices)]
    copies = [np.broadcast_to(_read_before(y), positions.shape) for y in others]
    for k in np.ndindex(positions.shape):
        index = np.unravel_index(positions[k], a.shape)
        a[index] = ufunc(a[index], *(y[k] for y in copies))


def _read_before(y: Value) -> Value:
    """An operand, copied if it may overlap with the output: NumPy reads it before it writes."""
    return np.copy(_as_array(y))


def _in_float64(x: Value) -> Value:
    return x.astype(np.float64) if isinstance(x, (np.floating, np.ndarray)) and x.dtype.kind == "f" else x


def _changes_nothing(ufunc: np.ufunc, option: str, x: Value) -> bool:
    """Whether an option of a reduction has its default effect."""
    return (option == "where" and x is True) or (
        option == "dtype" and ufunc not in LOGICAL and np.dtype(x) == np.float64
    )


def _as_array(x: Value) -> Value:
    """A list or tuple as the array that NumPy would make."""
    if isinstance(x, dict):
        raise UnsupportedError("a ufunc: expected numbers and arrays, got dict; call contad's function of that name")
    return array(x) if isinstance(x, (list, tuple)) else x


def find_exported_name(ufunc: np.ufunc) -> str:
    """The name that a reader would look for: np.exp, scipy.special.erf, or the name of a user's own ufunc."""
    name: str = ufunc.__name__
    special = sys.modules.get("scipy.special")
    for prefix, module in (("np", np), ("scipy.special", special)):
        if module is not None and vars(module).get(name) is ufunc:
            return f"{prefix}.{name}"
    within = name.removeprefix("_")  # scipy.special.zeta calls a ufunc _zeta
    return f"scipy.special.{within}" if within != name and hasattr(special, within) else name


def refuse_ufunc(ufunc: np.ufunc, variable: str) -> UnsupportedError:
    """The error for a ufunc without a rule; `variable` names the argument in the message."""
    name = find_exported_name(ufunc)
    own = name.rpartition(".")[2]
    instead = f"write one with @contad.scalar_rule(ufunc={name})"
    if ufunc.__name__ not in (name, own):  # a ufunc inside a function with a known name
        instead = "write a function that calls it, with a rule by @contad.scalar_rule"
    return UnsupportedError(
        f"{name}: contad has no derivative rule for this ufunc; {instead}, or use contad.value_of({variable}) where a "
        "constant is meant"
    )


def round_number(number: Number, digits: int | None = None) -> Value:
    """round(v): a plain int, as for a float; round(v, digits): a number with derivative zero."""
    if digits is None:
        return int(observe(round, number))
    shift = 10.0**digits
    return rule("rint")(rule("multiply")(number, shift)) / shift


def general_methods(found: ScalarRule) -> tuple[Function, Function | None]:
    """The methods of a rule by its general path: right for every number; engines replace them by faster ones."""
    if found.arity == 2:
        # functions, to bind as methods
        return lambda x, y: found.operate(x, y), lambda y, x: found.operate(x, y)  # noqa: PLW0108
    return lambda x: found.general((x,)), None


def install(
    cls: type[Any], implement: Callable[[ScalarRule], tuple[Function, Function | None]]
) -> None:
    """Give cls the operator methods of every rule that has an operator."""
    for found in rules():
        if found.operator is not None:
            setattr(cls, f"__{found.operator}__", on_first_use(cls, found, implement, 0))
            if found.arity == 2:
                setattr(cls, f"__r{found.operator}__", on_first_use(cls, found, implement, 1))


def on_first_use(cls: type[Any], found: ScalarRule, implement: Function, which: int) -> Function:
    """An operator method that makes itself at its first call: compiling all operators would take most of the import
    time."""

    def method(*args: Value) -> Value:
        made: Any = make_methods(cls, found, implement)[which]
        return made(*args)

    return method


def make_methods(cls: type[Any], found: ScalarRule, implement: Function) -> tuple[Function, Function | None]:
    """Make the methods of an operator, the second one reflected, and give them to cls."""
    made: tuple[Function, Function | None] = implement(found)
    for name, one in zip((f"__{found.operator}__", f"__r{found.operator}__"), made, strict=True):
        if one is not None:
            setattr(cls, name, one)
    return made


install(Number, general_methods)
Number.__array_ufunc__ = array_ufunc  # type: ignore[attr-defined]
Number.__round__ = round_number  # type: ignore[attr-defined]
