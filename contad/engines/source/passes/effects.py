"""Side effects of calls: which calls passes may move, repeat or drop, and which run without Python.

    math.log(x)          pure: may be moved, repeated, and dropped if nothing reads it
    value_of_user(x)     the value of a user's rule: pure, but it must run where the user wrote it
    np.zeros((n,))       creates an array, which must not move because other statements may write it
    grow(work, n)        only accesses the workspace
    forward_of_g(x)      may do anything
"""

from collections.abc import Mapping

from contad.compiled_rules.rules import needs_no_python
from contad.rules.scalar_rule import ScalarRule

MAKERS = frozenset(("np.zeros", "np.empty", "np.ones", "np.full", "small_zeros", "lent_empty", "lent_zeros"))
ON_WORK = frozenset(("grow", "integer", "put_integer"))
RAISED = "ZeroDivisionError"  # cannot corrupt memory, so earlier parts may run for later iterations
_PURE = frozenset(("abs", "bool", "chain", "chain_slope", "float", "int", "len", "max", "min", "range", "select"))
_QUIET = _PURE | {
    *("integer", "put_integer", "small_zeros", "np.zeros", "np.empty", "np.ones", "np.int64", "np.float64"),
    *("np.isfinite", "np.power", "np.sign", "np.minimum", "np.maximum", "np.arctan", "np.arctan2"),  # on numbers
}  # fmt: skip
_VALUE = "value_"  # the prefix of value functions of rules
_Rules = Mapping[str, ScalarRule]


def is_pure(function: str) -> bool:
    """Whether a call of this name has no side effects."""
    module, _, name = function.rpartition(".")
    if function in MAKERS or name == "copy":
        return False
    is_rule = not module and function.startswith(_VALUE) and not function.startswith("value_of_")
    return function in _PURE or module in ("math", "np") or is_rule


def may_be_left_out(function: str, rules: _Rules) -> bool:
    """Whether a call may be dropped unnoticed: a value function of the user's may print or raise."""
    if function.startswith(_VALUE):
        rule = rules.get(function.removeprefix(_VALUE))
        return rule is not None and rule.__module__.startswith("contad.ops.")
    return is_pure(function)


def is_quiet(function: str, rules: _Rules) -> bool:
    """Whether a call runs without Python, and writes only objects that it creates."""
    rule = rules.get(function.removeprefix(_VALUE)) if function.startswith(_VALUE) else None
    if rule is not None:
        return needs_no_python(rule)
    return function.startswith("math.") or function in _QUIET or function.endswith("Error")
