"""Operator methods and rule implementations of a variable class, generated from the registry.

Every engine needs the same dispatch: both operands are variables of one stack; one is a plain number; anything else
takes the slow path. One generic Python function would cost twice as much, so contad generates the source and inserts
the lines with which the engine records an operation.
"""

import linecache
import math
import re
import sys
from typing import Any, Protocol

import numpy as np

from contad.rules.body import ARITHMETIC
from contad.rules.scalar_rule import ScalarRule, is_nested
from contad.variables.number import Number
from contad.variables.open_types import Function, Value
from contad.variables.stack import forget

# Expressions for the values of operators: a call of the rule's function would cost as much as the rest of the method.
_VALUES = {name: f"x {symbol} y" for name, symbol in ARITHMETIC.items()}
_VALUES |= {"pow": "pow(x, y)", "neg": "-x", "abs": "abs(x)"}

# only the rule knows the derivative by a number of an outer level, although its function may run on that number
_CORE = "function({0}) if {1} else evaluate({0})"

_UNARY = """\
def {name}(a):
    s = a._owner
    if not s.lock._is_owned(): s.check_usable({operation!r})
{body_v}
    return c
"""

_BINARY = """\
def {name}(a, b):
    kind = type(b)
    if kind is Var or kind is Other:
        s = a._owner
        if b._owner is s:
            if not s.lock._is_owned(): s.check_usable({operation!r})
{body_vv}
            return c
{cases_vc}
    return general(a, b)

def r{name}(b, a):
    kind = type(a)
{cases_cv}
    return general(a, b)
"""

# a variable and a number of one of these kinds
_NUMBER = """\
    {word} {kinds}:
        s = {v}._owner
        if not s.lock._is_owned(): s.check_usable({operation!r})
        {number} = {converted}
{body}
        return c"""


_BODY = """\
{reads}try: z = {value}
except Exception:
{otherwise}
{nested}c = {made}(); c._value = z; c._owner = s
{record}"""


# numbers of an outer level may be at a kink, where the twin of a rule replaces it
_FAILED = "    z = failed({arguments})"
_FAILED_BESIDE_KINK = """\
    found = at_kink({operands})
    if found is not None: return found
    z = failed({arguments})"""

# or at a pole of a rule without a twin, which their own operation does not detect
_NESTED = """\
if z.__class__ is not float:
    found = at_kink({operands})
    if found is not None: return found
"""


def _refuse() -> None:
    raise TypeError("numbers of an outer level")


def _find_twin(rule: ScalarRule) -> Function:
    """The operation at a kink or pole for numbers of an outer level, where Python's own may fail; else None."""

    def at_kink(*args: Value) -> Value | None:
        if rule.twin is not None:
            if not any(map(is_nested, args)):
                return None
            forget(sys.exception())
        twin = rule.find_twin(args)
        return None if twin is None else twin.general(args)

    return at_kink


def _where_it_failed(rule: ScalarRule) -> Function:
    """NumPy's value of an operation where Python raised an error, or the error that np.errstate asks for.

    For a power, the error may come from math.pow on a number of an outer level.
    """

    def raise_or_evaluate(*args: Value) -> Value:
        if rule.operator == "pow":
            forget(sys.exception())
        rule.raise_as_numpy(args)
        return rule.evaluate(*args)

    return raise_or_evaluate


def value_function(rule: ScalarRule) -> Function:
    """The function for the value of plain numbers: that of `math` if the rule's function only calls it."""
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
    """The lines that an engine adds to the generated methods."""

    def __call__(self, rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
        """Lines that record an operation, and the names they need.

        `active` is "v", "vv", "vc" or "cv" (variable or constant, per argument). The lines may use the operands a, b,
        their values x, y, the result z, its variable c, which has value and owner, and the stack s.
        """


def generate(
    cls: type[Number], rule: ScalarRule, record: Recorder
) -> tuple[Function, Function | None]:
    """The implementation of a rule for variables of class cls, and its reflection for a plain first operand.

    Results represent Python floats if all operands do (`PythonFloat`), else NumPy's numbers.
    """
    other = cls.numpy_class if cls.is_float else cls.float_class
    scope: dict[str, Any] = {
        "Var": cls, "Other": other, "float64": np.float64, "pow": math.pow, "abs": abs,
        "function": value_function(rule), "evaluate": rule.evaluate, "failed": _where_it_failed(rule),
        "general": rule.operate if rule.operator else lambda *args: rule.general(args),
    }  # fmt: skip
    arguments = ", ".join("xy"[: rule.arity])
    floats = " and ".join(f"type({x}) is float" for x in "xy"[: rule.arity])
    fields = {"name": f"{rule.name}_{cls.__name__}", "operation": rule.name}
    # a core rule's function is compiled and returns a float; any other may return a NumPy number or an int
    value = _VALUES.get(rule.operator or "") or (_CORE if rule.core else "evaluate({0})").format(arguments, floats)
    failed, nested, operands = _FAILED, "", "a, b" if rule.arity == 2 else "a"
    if rule.has_twin():
        scope["at_kink"] = _find_twin(rule)
        nested = _NESTED.format(operands=operands) if rule.twin is None else ""
    if rule.twin is not None:  # numbers of an outer level fail
        failed = _FAILED_BESIDE_KINK.format(operands=operands, arguments="{arguments}")
        own = {"abs": "fabs(x)", "pow": value}
        value = own.get(rule.operator or "", f"function({arguments}) if {floats} else refuse()")
        scope |= {"fabs": math.fabs, "refuse": _refuse}
    template = _UNARY if rule.arity == 1 else _BINARY
    for active in ("v",) if rule.arity == 1 else ("vv", "vc", "cv"):
        lines, names = record(rule, active)
        scope.update(names)
        if active in _PLACES:
            fields[f"cases_{active}"] = _write_cases(cls, rule.name, active, value, arguments, lines, failed, nested)
        else:
            made = "kind" if cls.is_float and active == "vv" else "Var"
            fields[f"body_{active}"] = _write_body(
                active, value, made, arguments, lines, failed, nested, 3 if active == "vv" else 1
            )
    source = template.format(**fields)
    filename = f"<contad {cls.__module__.rpartition('.')[2]}: {rule.name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)  # readable in tracebacks
    exec(compile(source, filename, "exec"), scope)
    return scope[fields["name"]], scope.get("r" + fields["name"])


# by activity: the name of the number's value, the number, the variable
_PLACES = {"vc": ("y", "b", "a"), "cv": ("x", "a", "b")}


def _write_cases(
    cls: type[Number], operation: str, active: str, value: str, arguments: str, record: str, failed: str,
    nested: str,
) -> str:
    """The branches for a variable and a plain number: a NumPy number makes the result a NumPy number."""
    number, constant, v = _PLACES[active]
    cases = []
    for kind, made in (("float", "Var"), ("int", "Var"), ("float64", "Other")):
        converted = constant if kind == "float" else f"float({constant})"
        cases.append((f"kind is {kind}", converted, made))
    if not cls.is_float:  # all are
        every = " or ".join(kinds for kinds, _, _ in cases)
        cases = [(every, f"{constant} if kind is float else float({constant})", "Var")]
    return "\n".join(
        _NUMBER.format(
            word="elif" if active == "vc" or k else "if", kinds=kinds, v=v, operation=operation, number=number,
            converted=converted, body=_write_body(active, value, made, arguments, record, failed, nested, 2),
        )
        for k, (kinds, converted, made) in enumerate(cases)
    )  # fmt: skip


def _write_body(
    active: str, value: str, made: str, arguments: str, record: str, failed: str, nested: str, indent: int
) -> str:
    """The lines between the checks and the return; a value that they read only once has no name."""
    read = {name: f"{operand}._value" for name, operand, kind in zip("xy", "ab", active, strict=False) if kind == "v"}
    named = [name for name in read if len(re.findall(rf"\b{name}\b", f"{value}\n{record}")) > 1]
    for name in read.keys() - named:
        value, arguments, record = (re.sub(rf"\b{name}\b", read[name], text) for text in (value, arguments, record))
    reads = "".join(f"{name} = {read[name]}\n" for name in named)
    text = _BODY.format(
        reads=reads, value=value, otherwise=failed.format(arguments=arguments), made=made, record=record,
        nested=nested,
    )
    return "\n".join("    " * indent + line for line in text.splitlines())
