"""NumPy's ufunc protocol and Python's operators on arrays of variables and duals."""

from collections.abc import Callable
from typing import Any

import numpy as np

import contad.protocols.complex_functions
import contad.variables.array_methods  # noqa: F401  (installs the methods of ndarrays)
from contad.errors import UnsupportedError
from contad.ops import reciprocal, sqrt, square
from contad.ops.sparse_patterns import is_sparse
from contad.ops.sparse_products import product_before_constant, product_with_constant
from contad.protocols.number_protocols import (
    CONSTANTS,
    at_elements,
    find_exported_name,
    general_methods,
    install,
    refuse_ufunc,
)
from contad.protocols.ufunc_methods import call_method, call_where
from contad.rules.array_rule import _by_ufunc as _array_rules_by_ufunc, array_rule_of
from contad.rules.numpy_functions import NO_VALUE, entry_of, write_result, written_for
from contad.rules.scalar_rule import ScalarRule, _by_ufunc, rule_of_ufunc, rules
from contad.variables.array import Array
from contad.variables.complex_pair import NO_ROOM, ComplexPair
from contad.variables.number import map_numbers, observe, primal
from contad.variables.open_types import Function, Option, Value

_MATMUL, _NDARRAY = np.matmul, np.ndarray  # global names take half the time of attributes

Implement = Callable[[ScalarRule], tuple[Function, Function | None]]


def array_ufunc(x: Value, ufunc: np.ufunc, method: str, first: Value, *others: Value, **options: Option) -> Value:
    """Dispatch a ufunc that was called with an array variable."""
    if method == "__call__" and not options:
        if first.__class__ is _NDARRAY and x is others[0]:  # the most frequent: a plain array before it
            rule = _product if ufunc is _MATMUL else _by_ufunc.get(ufunc) or _array_rules_by_ufunc.get(ufunc)
            if rule is not None:
                implementation = rule.reflected.get(x.__class__)
                if implementation is not None:
                    return implementation(x, first)
        rule = _by_ufunc[ufunc] if ufunc in _by_ufunc else _array_rules_by_ufunc.get(ufunc)
        if rule is not None:
            kind, methods = first.__class__, rule.methods  # by `in`: dict methods take longer
            if kind in methods and kind is not float:
                return methods[kind](first, *others) if others else methods[kind](first)
            if len(others) == 1:
                implementation = rule.reflected.get(others[0].__class__)
                if implementation is not None:
                    return implementation(others[0], first)
        entry = entry_of(ufunc)
        if entry is not None:
            return entry.implementation(first, *others)
    inputs = (first, *others)
    out = options.pop("out", None)
    name = find_exported_name(ufunc)
    if method == "__call__" and not options:
        return _find_called(ufunc, inputs) if out is None else write_result(name, out, ufunc(*inputs), True)
    for option in ("dtype", "initial", "casting", "order", "subok"):
        if options.get(option) is None or options.get(option) is NO_VALUE:
            options.pop(option, None)
    if "dtype" in options and np.dtype(options["dtype"]) == (bool if ufunc in CONSTANTS else np.float64):
        del options["dtype"]  # which it has
    if "where" in options:
        mask = np.asarray(map_numbers(primal, options.pop("where")))
        if mask.dtype != bool:
            raise TypeError(f"{name}: where must be an array of bool, got {mask.dtype}")
        if mask.ndim or not mask:
            options["where"] = mask
    if ufunc in CONSTANTS and method != "at" and "dtype" not in options:
        return observe(getattr(ufunc, method), *inputs, **options, **({} if out is None else {"out": out}))
    if method == "__call__":
        for option in ("casting", "subok"):  # results are arrays of float64
            options.pop(option, None)
        if options.keys() == {"where"}:
            return call_where(ufunc, inputs, out, options["where"])
        if not options:
            return _find_called(ufunc, inputs) if out is None else write_result(name, out, ufunc(*inputs), True)
    if method == "at" and not options:
        return at_elements(ufunc, *inputs)
    if method == "outer" and not options:
        a, b = inputs
        return ufunc(np.reshape(a, (*np.shape(a), *(1,) * np.ndim(b))), b)
    if method in ("reduce", "accumulate", "reduceat"):
        result = call_method(ufunc, method, inputs, options)
        if result is not NotImplemented:
            return result if out is None else write_result(name, out, result)
    more = f" with {', '.join(f'{key}=' for key in options)}" if options else ""
    raise UnsupportedError(
        f"{name}{'' if method == '__call__' else '.' + method}{more}: not supported on variables; call {name} and "
        "combine the results"
    )


def _find_called(ufunc: np.ufunc, inputs: tuple[Value, ...]) -> Any:
    rule = rule_of_ufunc(ufunc)
    if rule is not None:
        return rule(*(np.asarray(x) if isinstance(x, (list, tuple)) else x for x in inputs))
    written = written_for(ufunc)
    if written is not None:
        return written(*(np.asarray(x) if isinstance(x, (list, tuple)) else x for x in inputs))
    if ufunc is np.positive or ufunc is np.conjugate:
        return inputs[0]._move(ufunc)
    if ufunc is np.divmod:
        return inputs[0] // inputs[1], inputs[0] % inputs[1]
    if ufunc in CONSTANTS:
        return observe(ufunc, *inputs)
    raise refuse_ufunc(ufunc, "x")


def _in_place(operator: str) -> Callable[[Value, Value], Value]:
    name = f"__{operator}__"

    def method(x: Value, other: Value) -> Value:
        result = getattr(x, name)(other)
        if isinstance(other, ComplexPair) or isinstance(result, ComplexPair):
            raise TypeError(f"{operator} in place: {NO_ROOM}")
        if result is NotImplemented:
            return result
        if np.shape(result) != x.shape:
            raise ValueError(f"{operator} in place: the result must have shape {x.shape}, got {np.shape(result)}")
        x[...] = result
        return x

    return method


_POWERS = {2.0: square, -1.0: reciprocal, 0.5: sqrt}


def _power(general: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    """x ** y, which NumPy computes as a square, a reciprocal or a root where y is such a number."""

    def method(x: Value, y: Value) -> Value:
        special = _POWERS.get(y) if y.__class__ is int or y.__class__ is float else None
        return general(x, y) if special is None else special(x)

    return method


def install_arrays(cls: type[Any], implement: Implement) -> None:
    """Give a class of arrays the operator methods of every rule with an operator, and the in-place ones."""

    def with_powers(rule: ScalarRule) -> tuple[Function, Function | None]:
        method, reflected = implement(rule)
        return (_power(method) if rule.operator == "pow" else method), reflected

    install(cls, with_powers)
    cls.__pow__ = _power(cls.__pow__)  # making the method takes longer than most users' code, which only has squares
    for rule in rules():
        if rule.operator is not None and rule.arity == 2:
            setattr(cls, f"__i{rule.operator}__", _in_place(rule.operator))


def _matmul_in_place(x: Value, other: Value) -> Value:
    result = x @ other
    if np.shape(result) != x.shape:
        raise ValueError(f"matmul in place: the result must have shape {x.shape}, got {np.shape(result)}")
    x[...] = result
    return x


def _matmul(x: Value, y: Value) -> Value:
    method = _product.methods.get(x.__class__)
    if method is not None and (y.__class__ is np.ndarray or y.__class__ is x.__class__):
        return method(x, y)
    if not isinstance(y, _DENSE):
        if getattr(y, "__array_ufunc__", y) is None:  # as NumPy's own operators defer to such an operand
            return NotImplemented
        if is_sparse(y):
            return product_before_constant(x, y)
    return np.matmul(x, y)


def _rmatmul(x: Value, y: Value) -> Value:
    """y @ x: SciPy's sparse arrays and matrices defer to x."""
    if y.__class__ is np.ndarray:
        method = _product.reflected.get(x.__class__)
        if method is not None:
            return method(x, y)
    return np.matmul(y, x) if isinstance(y, _DENSE) or not is_sparse(y) else product_with_constant(y, x)


_product = array_rule_of("matmul")
_DENSE = (Array, np.ndarray, list, tuple)
install_arrays(Array, general_methods)
_operators: dict[str, Function] = {
    "__array_ufunc__": array_ufunc,
    "__matmul__": _matmul,
    "__rmatmul__": _rmatmul,
    "__imatmul__": _matmul_in_place,
    "__pos__": lambda x: x._move(np.positive),
    "__divmod__": lambda x, y: (x // y, x % y),
    "__rdivmod__": lambda x, y: (y // x, y % x),
}
for _name, _method in _operators.items():
    setattr(Array, _name, _method)
