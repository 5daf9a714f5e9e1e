"""New float64 arrays in generated code, and arrays of another shape: IR in place of np.empty, np.zeros and reshape.

Numba implements these in Python, and compiles about six functions for each number of axes.
"""

from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils, ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.imputils import impl_ret_borrowed
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import _empty_nd_impl, _parse_shape, array_reshape, make_array, populate_array


def new_empty(shape: Any, dtype: Any = float) -> Any:
    """np.empty(shape, dtype)"""
    return np.empty(shape, dtype)


def new_zeros(shape: Any, dtype: Any = float) -> Any:
    """np.zeros(shape, dtype)"""
    return np.zeros(shape, dtype)


def emit_empty(context: Any, builder: Any, kind: Any, shape: Any, given: Any) -> Any:
    """Emit an array of this type; `given` is its length or its shape, of type `shape`. The code raises as NumPy
    does."""
    return _empty_nd_impl(context, builder, kind, _parse_shape(context, builder, shape, given))


def emit_zeros(context: Any, builder: Any, kind: Any, shape: Any, given: Any) -> Any:
    """Likewise, with zeros in it."""
    made = emit_empty(context, builder, kind, shape, given)
    cgutils.memset(builder, made.data, builder.mul(made.itemsize, made.nitems), 0)
    return made


def type_of_new(shape: Any, dtype: Any = None) -> Any:
    """The type of an array of a length, or of a shape; None if the argument is neither."""
    kind = types.float64 if dtype is None else dtype.dtype
    if isinstance(shape, types.Integer):
        return types.Array(kind, 1, "C")
    if isinstance(shape, types.BaseTuple) and all(isinstance(t, types.Integer) for t in shape):
        return types.Array(kind, len(shape), "C")
    return None


@type_callable(new_empty)
@type_callable(new_zeros)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return type_of_new


@lower_builtin(new_empty, types.Any)
@lower_builtin(new_empty, types.Any, types.NumberClass)
def _lower_empty(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return emit_empty(context, builder, signature.return_type, signature.args[0], args[0])._getvalue()


@lower_builtin(new_zeros, types.Any)
@lower_builtin(new_zeros, types.Any, types.NumberClass)
def _lower_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return emit_zeros(context, builder, signature.return_type, signature.args[0], args[0])._getvalue()


# ---- another shape ---------------------------------------------------------------------------------------------------
def reshape(array: Any, shape: Any) -> Any:
    """array.reshape(shape), for a shape without a -1."""
    return array.reshape(shape)


@type_callable(reshape)
def _type_of_reshape(context):  # type: ignore[no-untyped-def]
    return lambda array, shape: array.copy(ndim=len(shape))


@lower_builtin(reshape, types.Array, types.BaseTuple)
def _lower_reshape(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, made = signature.args[0], signature.return_type
    if kind.layout != "C":
        return array_reshape(context, builder, signature, args)
    given, shape = make_array(kind)(context, builder, args[0]), cgutils.unpack_tuple(builder, args[1])
    lengths = [context.cast(builder, n, t, types.intp) for n, t in zip(shape, signature.args[1], strict=True)]
    size, strides = context.get_constant(types.intp, 1), []
    for n in reversed(lengths):
        strides.insert(0, builder.mul(size, given.itemsize))
        size = builder.mul(size, n)
    with builder.if_then(builder.icmp_unsigned("!=", size, given.nitems), likely=False):
        text = "total size of new array must be unchanged"
        context.call_conv.return_user_exc(builder, ValueError, (text,))
    array = make_array(made)(context, builder)
    populate_array(array, given.data, lengths, strides, given.itemsize, given.meminfo, given.parent)
    return impl_ret_borrowed(context, builder, made, array._getvalue())


_NEW = {"empty": new_empty, "zeros": new_zeros}


@register_pass(mutates_CFG=False, analysis_only=False)
class EmitNewArrays(FunctionPass):
    """Replaces NumPy's calls by these, unless they ask for a dtype by other things than NumPy's names."""

    _name = "emit_new_arrays"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Replace the functions in the calls."""
        known, blocks = state.func_ir._definitions, state.func_ir.blocks.values()
        calls = [call for block in blocks for call in block.find_exprs("call")]
        plain = [call for call in calls if not (call.kws or call.vararg)]
        called = {x.func.name for x in plain if len(x.args) == 1 or (len(x.args) == 2 and _is_numpy(known, x.args[1]))}
        changed = False
        for block in blocks:
            for assignment in block.find_insts(ir.Assign):
                named = assignment.value
                if assignment.target.name in called and _is_numpy(known, assignment.target) and named.attr in _NEW:
                    made = _NEW[named.attr]
                    assignment.value = ir.Global(made.__name__, made, named.loc)
                    known[assignment.target.name] = [assignment.value]
                    changed = True
        return changed


def _is_numpy(known: Any, x: Any) -> bool:
    """Whether a name is that of an attribute of NumPy."""
    named = known[x.name][0]
    if not isinstance(named, ir.Expr) or named.op != "getattr":
        return False
    owner = known[named.value.name][0]
    return isinstance(owner, (ir.Global, ir.FreeVar)) and owner.value is np
