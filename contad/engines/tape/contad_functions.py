"""Functions of contad's own on variables and duals inside njit: what makes constants of them."""

from typing import Any

from numba import types

from contad.compile.overloads import add_overload
from contad.compiled_rules.callables import is_plain, stop_each
from contad.compiled_rules.line_parts import PARTS
from contad.engines.tape.arrays import is_active_array, zeros_of
from contad.engines.tape.rule_records import register_user_rule
from contad.engines.tape.variables import Active
from contad.ops.logic import stop_gradient


@add_overload(stop_gradient)
def _stop_gradient(x: Any) -> Any:
    """The plain number; of an array one of constants, so that a name may hold either; of a tuple one of these."""
    if isinstance(x, Active):
        return lambda x: x.value
    if is_active_array(x):
        zeros = zeros_of[x.dtype]

        def of_array(x: Any) -> Any:
            """Constants."""
            made = zeros(x.size)
            for k, element in enumerate(x.flat):
                made[k] = element.value
            return made.reshape(x.shape)

        return of_array
    if isinstance(x, types.BaseTuple) and not isinstance(x, types.BaseNamedTuple) and not is_plain(x):
        return stop_each(len(x))
    return None


for _rule in PARTS:
    register_user_rule(_rule)
