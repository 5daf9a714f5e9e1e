"""max and min of numbers in generated code: IR that is emitted in place of their calls.

Numba implements these two in Python, and compiles a function for each list of types.
"""

import operator
from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.cpython.builtins import do_minmax
from numba.extending import lower_builtin


def largest(*x: Any) -> Any:
    """max(x, y, ...)"""
    return max(*x)


def smallest(*x: Any) -> Any:
    """min(x, y, ...)"""
    return min(*x)


class _Choice(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        """The signature of a call with numbers."""
        kinds = tuple(types.unliteral(kind) for kind in args)
        if not all(isinstance(kind, (types.Number, types.Boolean)) for kind in kinds):
            return None
        found = self.context.unify_types(*kinds)
        return found and signature(found, *kinds)


@infer_global(largest)
class _Largest(_Choice):
    pass


@infer_global(smallest)
class _Smallest(_Choice):
    pass


@lower_builtin(largest, types.VarArg(types.Any))
def _lower_largest(context: Any, builder: Any, called: Any, args: Any) -> Any:
    return do_minmax(context, builder, called.args, args, operator.gt)


@lower_builtin(smallest, types.VarArg(types.Any))
def _lower_smallest(context: Any, builder: Any, called: Any, args: Any) -> Any:
    return do_minmax(context, builder, called.args, args, operator.lt)


@register_pass(mutates_CFG=False, analysis_only=False)
class EmitChoices(FunctionPass):
    """Replaces Python's calls with several arguments by these."""

    _name = "emit_choices"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace the functions in the calls."""
        blocks = state.func_ir.blocks.values()
        calls = [call for block in blocks for call in block.find_exprs("call")]
        others = {call.func.name for call in calls if len(call.args) < 2 or call.kws or call.vararg}
        called = {call.func.name for call in calls} - others
        changed = False
        for block in blocks:
            for assignment in block.find_insts(ir.Assign):
                named = assignment.value
                made = _find_emitted(named) if assignment.target.name in called else None
                if made is not None:
                    assignment.value = ir.Global(made.__name__, made, named.loc)
                    state.func_ir._definitions[assignment.target.name] = [assignment.value]
                    changed = True
        return changed


def _find_emitted(named: Any) -> Any:
    """The replacement of max or min; None if the name means another function."""
    value = named.value if isinstance(named, ir.Global) else None
    return largest if value is max else smallest if value is min else None
