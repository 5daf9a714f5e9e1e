"""Operator methods and rule implementations of a variable class, generated from the registry.

Every engine needs the same dispatch: both operands are variables of one stack; one is a plain number; anything else
goes the slow way. Written as one generic Python function it would cost twice as much, so the source is generated,
with the engine's own lines for "record this operation" pasted in.
"""

import linecache
import math
import sys
from threading import get_ident
from typing import Any, Protocol

import numpy as np

from contad.rules.operators import ARITHMETIC
from contad.rules.scalar_rule import ScalarRule
from contad.variables.number import Number
from contad.variables.open_types import Function, Value
from contad.variables.stack import forget

# Values of operators, written out: calling the rule's function would cost as much as the rest of the method.
_VALUES = {name: f"x {symbol} y" for name, symbol in ARITHMETIC.items()}
_VALUES |= {"pow": "pow(x, y)", "neg": "-x", "abs": "abs(x)"}

# a number of an outer level has a derivative that only the rule knows, though its function may run on it
_CORE = "function({0}) if {1} else evaluate({0})"

_UNARY = """\
def {name}(a):
    s = a._owner
    if s.thread != get_ident(): s.check_usable({operation!r})
    x = a._value
    try: z = {value}
    except Exception: z = failed(x)
{record_v}
    return c
"""

_BINARY = """\
def {name}(a, b):
    kind = type(b)
    if kind is Var or kind is Other:
        s = a._owner
        if b._owner is s:
            if s.thread != get_ident(): s.check_usable({operation!r})
            x = a._value; y = b._value
            try: z = {value}
            except Exception: z = failed(x, y)
{record_vv}
            return c
    elif kind is float or kind is int or kind is float64:
        s = a._owner
        if s.thread != get_ident(): s.check_usable({operation!r})
        x = a._value; y = b if kind is float else float(b)
        try: z = {value}
        except Exception: z = failed(x, y)
{record_vc}
        return c
    return general(a, b)

def r{name}(b, a):
    kind = type(a)
    if kind is float or kind is int or kind is float64:
        s = b._owner
        if s.thread != get_ident(): s.check_usable({operation!r})
        x = a if kind is float else float(a); y = b._value
        try: z = {value}
        except Exception: z = failed(x, y)
{record_cv}
        return c
    return general(a, b)
"""


def _where_it_failed(rule: ScalarRule) -> Function:
    """The value of an operation where Python gave an error: NumPy's, or the error that np.errstate asks for.

    Of a power the error may be one of a number of an outer level, which math.pow has met.
    """

    def raise_or_evaluate(*args: Value) -> Value:
        if rule.operator == "pow":
            forget(sys.exception())
        rule.raise_as_numpy(args)
        return rule.evaluate(*args)

    return raise_or_evaluate


def value_function(rule: ScalarRule) -> Function:
    """What computes the value of plain numbers: the function of `math` where that is all that the rule's own calls."""
    like = _CALL_OF_MATH.get(rule.arity)
    code = getattr(rule.function, "__code__", None)
    if like is None or code is None or not rule.math or not hasattr(math, rule.math):
        return rule.function
    is_call = code.co_code == like.co_code and code.co_names == ("math", rule.math)
    return getattr(math, rule.math) if is_call and rule.function.__globals__.get("math") is math else rule.function


def _call_with_one(x: Value) -> Value:
    return math.sin(x)


def _call_with_two(x: Value, y: Value) -> Value:
    return math.atan2(x, y)


# by arity: the code of such a function
_CALL_OF_MATH = {1: _call_with_one.__code__, 2: _call_with_two.__code__}


class Recorder(Protocol):
    """What an engine adds to the generated methods."""

    def __call__(self, rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
        """Lines that record an operation, and the names they need.

        `active` is "v", "vv", "vc" or "cv" (variable or constant, per argument). The lines may use the operands a, b,
        their values x, y, the result z, its variable c, which has value and owner, and the stack s.
        """


def generate(
    cls: type[Number], rule: ScalarRule, record: Recorder
) -> tuple[Function, Function | None]:
    """The implementation of a rule for variables of class cls, and its reflection for a plain first operand.

    Results stand for Python floats where all operands do (`PythonFloat`), else for NumPy's numbers.
    """
    other = cls.numpy_class if cls.is_float else cls.float_class
    scope: dict[str, Any] = {
        "Var": cls, "Other": other, "get_ident": get_ident, "float64": np.float64, "pow": math.pow, "abs": abs,
        "function": value_function(rule), "evaluate": rule.evaluate, "failed": _where_it_failed(rule),
        "general": rule.operate if rule.operator else lambda *args: rule.general(args),
    }  # fmt: skip
    arguments = ", ".join("xy"[: rule.arity])
    floats = " and ".join(f"type({x}) is float" for x in "xy"[: rule.arity])
    fields = {
        "name": f"{rule.name}_{cls.__name__}",
        "operation": rule.name,
        # a core rule's function returns a float, as it is compiled; any other may return a NumPy number or an int
        "value": _VALUES.get(rule.operator or "")
        or (_CORE if rule.core else "evaluate({0})").format(arguments, floats),
    }
    template = _UNARY if rule.arity == 1 else _BINARY
    for active, indent in (("v", 1),) if rule.arity == 1 else (("vv", 3), ("vc", 2), ("cv", 2)):
        lines, names = record(rule, active)
        made = "Var"
        if cls.is_float and active != "v":
            made = "kind" if active == "vv" else "(Other if kind is float64 else Var)"
        lines = f"c = {made}(); c._value = z; c._owner = s\n{lines}"
        fields[f"record_{active}"] = "\n".join("    " * indent + line for line in lines.splitlines())
        scope.update(names)
    source = template.format(**fields)
    filename = f"<contad {cls.__module__.rpartition('.')[2]}: {rule.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)  # readable in tracebacks
    exec(compile(source, filename, "exec"), scope)
    return scope[fields["name"]], scope.get("r" + fields["name"])
