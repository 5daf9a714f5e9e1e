"""New float64 arrays in generated code: IR that is emitted in place of calls of np.empty and np.zeros.

Numba implements these two in Python, and compiles about six functions for each number of axes.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils, ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import _empty_nd_impl, _parse_shape


def new_empty(shape: Any) -> Any:
    """np.empty(shape)"""
    return np.empty(shape)


def new_zeros(shape: Any) -> Any:
    """np.zeros(shape)"""
    return np.zeros(shape)


def emit_empty(context: Any, builder: Any, kind: Any, shape: Any, given: Any) -> Any:
    """Emit an array of this type; `given` is its length or its shape, of type `shape`. The code raises as NumPy
    does."""
    return _empty_nd_impl(context, builder, kind, _parse_shape(context, builder, shape, given))


def emit_zeros(context: Any, builder: Any, kind: Any, shape: Any, given: Any) -> Any:
    """Likewise, with zeros in it."""
    made = emit_empty(context, builder, kind, shape, given)
    cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
    return made


def type_of_new(shape: Any) -> Any:
    """The type of an array of a length, or of a shape; None if the argument is neither."""
    if isinstance(shape, types.Integer):
        return types.Array(types.float64, 1, "C")
    if isinstance(shape, types.BaseTuple) and all(isinstance(t, types.Integer) for t in shape):
        return types.Array(types.float64, len(shape), "C")
    return None


@type_callable(new_empty)
@type_callable(new_zeros)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return type_of_new


@lower_builtin(new_empty, types.Any)
def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return emit_empty(context, builder, signature.return_type, signature.args[0], args[0])._getvalue()


@lower_builtin(new_zeros, types.Any)
def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return emit_zeros(context, builder, signature.return_type, signature.args[0], args[0])._getvalue()


_NEW = {"empty": new_empty, "zeros": new_zeros}


@register_pass(mutates_CFG=False, analysis_only=False)
class EmitNewArrays(FunctionPass):
    """Replaces NumPy's calls by these, unless they ask for another dtype."""

    _name = "emit_new_arrays"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace the functions in the calls."""
        known, blocks = state.func_ir._definitions, state.func_ir.blocks.values()
        calls = [call for block in blocks for call in block.find_exprs("call")]
        called = {call.func.name for call in calls if len(call.args) == 1 and not (call.kws or call.vararg)}
        changed = False
        for block in blocks:
            for assignment in block.find_insts(ir.Assign):
                named = assignment.value
                if assignment.target.name in called and isinstance(named, ir.Expr) and named.op == "getattr":
                    module = known[named.value.name]
                    if named.attr in _NEW and getattr(module[0], "value", None) is np:
                        made = _NEW[named.attr]
                        assignment.value = ir.Global(made.__name__, made, named.loc)
                        known[assignment.target.name] = [assignment.value]
                        changed = True
        return changed
