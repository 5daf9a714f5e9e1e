"""The table of scalar functions in generated code: how each is written, and the rule with its derivative.

The reader looks up each function that a user calls (`math.sin`, `np.sin`, the operator `*`, a rule of contad). The
derivative is always that of the registry. Functions without a rule, such as comparisons, have no derivative.
"""

import ast
import itertools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.engines.source.ir.ssa import BOOL, FLOAT, INT, SINGLE, Kind, kind_of_elements
from contad.engines.source.ir.syntax import expression
from contad.engines.source.ir.tree_queries import names_of
from contad.ops.arithmetic import absolute
from contad.ops.logic import select
from contad.ops.powers import literal_power
from contad.rules.body import COMPARISONS as COMPARED, SYMBOLS
from contad.rules.scalar_rule import ScalarRule, rule, rule_of_ufunc, rules


class Function(NamedTuple):
    """A pure function of numbers."""

    name: str
    template: str  # with the operands x0, x1 ...
    rule: ScalarRule | None
    # the kind of the result: "float", "single", "int", "bool", "same" as the operands, or "wide", at least int
    result: str
    cost: float = 1.0  # of recomputing it, in units of an addition

    @property
    def arity(self) -> int:
        """The number of its operands."""
        names = {*names_of(expression(self.template))}
        return next(k for k in itertools.count() if f"x{k}" not in names)

    def write(self, operands: Sequence[ast.expr]) -> ast.expr:
        """The call of the function as an expression."""
        return expression(self.template, **{f"x{k}": x for k, x in enumerate(operands)})

    def kind(self, kinds: list[Kind]) -> Kind:
        """The kind of the result for operands of these kinds."""
        if self.result in ("same", "wide"):
            bases = {kind.base for kind in kinds}
            if "float" in bases:
                return SINGLE if self.keeps_single(kinds) else FLOAT
            return INT if "int" in bases or self.result == "wide" else BOOL
        return SINGLE if self.keeps_single(kinds) else kind_of_elements(self.result)

    def keeps_single(self, kinds: Sequence[Kind]) -> bool:
        """Whether the result for numbers of these kinds is float32: in Numba it is if all of them are."""
        computes = self in _OF_SINGLES or self.template.startswith(("math.", "np."))
        return self.result != "bool" and computes and all(kind.elements == "single" for kind in kinds)


def _function(name: str, template: str, result: str, cost: float = 1.0, rule_name: str | None = None) -> Function:
    return Function(name, template, rule(rule_name) if rule_name else None, result, cost)


ADD = _function("add", "x0 + x1", "wide", 1, "add")
SUBTRACT = _function("subtract", "x0 - x1", "wide", 1, "subtract")
MULTIPLY = _function("multiply", "x0 * x1", "wide", 1, "multiply")
DIVIDE = _function("divide", "x0 / x1", "float", 5, "divide")
# a check that raises precedes it, so the divisor is not 0
CHECKED_DIVIDE = _function("checked_divide", "x0 / x1", "float", 5, "divide")
# its derivative reads only the result, and needs no second division
RECIPROCAL = _function("reciprocal", "1.0 / x0", "float", 5, "reciprocal")
CHECKED_RECIPROCAL = _function("checked_reciprocal", "1.0 / x0", "float", 5, "reciprocal")
FLOOR_DIVIDE = _function("floor_divide", "x0 // x1", "wide", 8, "floor_divide")
REMAINDER = _function("remainder", "x0 % x1", "wide", 8, "remainder")
POWER = _function("power", "x0 ** x1", "wide", 40, "power")
POWER_BY_UFUNC = POWER._replace(template="np.power(x0, x1)")  # for arrays; it calls libm for each element
NEGATIVE = _function("negative", "-x0", "wide", 0.5, "negative")
ABSOLUTE = _function("absolute", "abs(x0)", "wide", 0.5, "absolute")
SQUARE = _function("square", "x0 * x0", "wide", 1, "square")
OUTSIDE = _function("outside", "not -x1 <= x0 < x1", "bool", 2)  # whether an index is out of range
NOT = _function("not", "not x0", "bool", 0.5)
AND = _function("and", "x0 and x1", "bool", 0.5)
OR = _function("or", "x0 or x1", "bool", 0.5)
TO_FLOAT = _function("float", "float(x0)", "float", 0.5)
TO_INT = _function("int", "int(x0)", "int", 1)
TO_INT32 = _function("int32", "np.int64(np.int32(x0))", "int", 1)  # Numba computes it in 64 bits
CONSTANT = _function("constant", "float(x0)", "float", 0.5)  # drops the derivative
WIDENED = {  # for elements of arrays with fewer than 64 bits
    "single": _function("float64", "np.float64(x0)", "float", 0.5),
    "unsigned": _function("int64", "np.int64(x0)", "int", 0.5),
}
ROUNDED = _function("float32", "np.float32(x0)", "single", 1)
# operators whose result is float32 if all operands are
_OF_SINGLES = (ADD, SUBTRACT, MULTIPLY, DIVIDE, CHECKED_DIVIDE, SQUARE, NEGATIVE, ABSOLUTE)
TO_BOOL = _function("bool", "bool(x0)", "bool", 0.5)
FLOOR = _function("floor", "math.floor(x0)", "int", 1)
CEIL = _function("ceil", "math.ceil(x0)", "int", 1)
POWER_OF_TWO = _function("power_of_two", "math.ldexp(1.0, x0)", "float", 10)
EXPONENT = _function("exponent", "math.frexp(x0)[1]", "int", 10)


def power_by(exponent: float) -> Function | None:
    """The power with a literal exponent, if it has a shorter derivative than the general power."""
    rule = literal_power(exponent)
    cost = 3.0 if isinstance(exponent, int) else 40.0
    if rule is None:
        return None
    return Function(rule.name, f"x0 ** {exponent!r}", rule, "float", cost)


# for rule bodies and conditional expressions: has no branch; the chosen operand has the derivative
SELECT = Function("select", "select(x0, x1, x2)", None, "same", 1)

OPERATORS = {
    "Add": ADD, "Sub": SUBTRACT, "Mult": MULTIPLY, "Div": DIVIDE, "FloorDiv": FLOOR_DIVIDE, "Mod": REMAINDER,
    "Pow": POWER, "USub": NEGATIVE,
}  # fmt: skip
COMPARISONS = {
    tree.__name__: _function(symbol, f"x0 {symbol} x1", "bool")
    for tree, symbol in SYMBOLS.items()
    if symbol in COMPARED.values()
}
BITWISE = {  # for integers, and for boolean masks
    name: _function(symbol, f"x0 {symbol} x1", "same")
    for name, symbol in (("BitAnd", "&"), ("BitOr", "|"), ("BitXor", "^"), ("LShift", "<<"), ("RShift", ">>"))
}

_NOT_IN_NUMBA = ("exp2", "cbrt", "fmod")  # functions of `math` that Numba lacks
_BY_RULE = ("logaddexp",)  # ufuncs whose rule computes the value from numbers that the partials read, too
_COST = {"sqrt": 8.0, "hypot": 10.0, "copysign": 1.0, "maximum": 1.0, "minimum": 1.0, "sign": 1.0, "reciprocal": 5.0}
# NumPy's and the module `operator`'s functions for operators
_OPERATOR_UFUNCS = {
    np.add: ADD, np.subtract: SUBTRACT, np.multiply: MULTIPLY, np.divide: DIVIDE, np.negative: NEGATIVE,
    np.absolute: ABSOLUTE, np.fabs: ABSOLUTE, np.square: SQUARE,
}  # fmt: skip


def _table() -> dict[Any, Function]:
    """Maps each callable of users to its function, with or without a rule."""
    found: dict[Any, Function] = {abs: ABSOLUTE, operator.neg: NEGATIVE, math.floor: FLOOR, math.ceil: CEIL}
    found[math.trunc] = TO_INT
    in_math = [r for r in rules() if r.math and r.math not in _NOT_IN_NUMBA]
    for r in in_math:
        arguments = ", ".join(f"x{k}" for k in range(r.arity))
        template = f"math.{r.math}({arguments})"
        found[getattr(math, r.math)] = Function(r.name, template, r, "float", _COST.get(r.name, 30.0))
    for name in ("isnan", "isinf", "isfinite"):
        for module in (math, np):
            found[getattr(module, name)] = Function(name, f"math.{name}(x0)", None, "bool")
    for value in vars(np).values():
        if isinstance(value, np.ufunc) and (known := rule_of_ufunc(value)) is not None:
            arguments = ", ".join(f"x{k}" for k in range(known.arity))
            home = "value_" if known.name in _BY_RULE else "np."
            template = f"{home}{value.__name__}({arguments})"
            found[value] = Function(known.name, template, known, "float", _COST.get(known.name, 30.0))
    for r in in_math:  # gives the same number as the NumPy function of that name, and compiles faster
        ufunc = vars(np).get(r.name) if r.math == r.name else None  # np.str would warn
        if ufunc in found:
            found[ufunc] = found[getattr(math, r.math)]
    return found | _OPERATOR_UFUNCS


_FUNCTIONS = _table()
MAXIMUM = _FUNCTIONS[np.maximum]


def function_with(rule: ScalarRule) -> Function | None:
    """The scalar function with the derivative of a rule, written with operators if possible."""
    known = (*_OPERATOR_UFUNCS.values(), *_FUNCTIONS.values())
    return next((f for f in known if f.rule is rule), None)


def function_of(called: Callable[..., Any]) -> Function | None:
    """The scalar function for a callable in the user's function; None if there is none."""
    if isinstance(called, ScalarRule):
        if called.body is None:
            return None
        if called.operator is None and called.core:
            same = next((f for f in _FUNCTIONS.values() if f.rule is called), None)
            if same is not None:
                return same
        arguments = ", ".join(f"x{k}" for k in range(called.arity))
        return Function(called.name, f"value_{called.name}({arguments})", called, "float", 100.0)
    try:
        return _FUNCTIONS.get(called)
    except TypeError:  # unhashable
        return None


LARGEST = sys.float_info.max


def masked_product(d: float, p: float) -> float:
    """d p, and 0 where d is 0."""
    return d * p if d != 0.0 else 0.0


def masked_product_partials(z, d, p):  # type: ignore[no-untyped-def]
    """For d: the partial, masked where d is 0. For p: the tangent."""
    return select(d != 0.0 or absolute(p) <= LARGEST, p, 0.0), d


_rule = ScalarRule(masked_product, None, None, False, ())
_rule.partials(masked_product_partials)

MASKED_PRODUCT = Function("masked_product", "masked_product(x0, x1)", _rule, "float")
