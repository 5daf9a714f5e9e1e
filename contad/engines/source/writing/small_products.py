"""Small arrays of a known shape: compiled, they are on the stack, and LLVM turns their elements into variables."""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import cgutils, ir, make_array, pack, populate_array

MOST = 32  # elements of an array


def small_zeros(shape: tuple[int, ...]) -> Any:
    """An array of zeros of a literal shape. In compiled code it must not outlive the function or an iteration."""
    return np.zeros(shape)


@type_callable(small_zeros)
def _type_of_small_zeros(context):  # type: ignore[no-untyped-def]
    def typer(shape: Any) -> Any:
        literal = isinstance(shape, types.BaseTuple) and all(isinstance(n, types.IntegerLiteral) for n in shape.types)
        return types.Array(types.float64, len(shape.types), "C") if literal else None

    return typer


@lower_builtin(small_zeros, types.BaseTuple)
def _lower_small_zeros(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Emit an array on the stack."""
    shape = [n.literal_value for n in signature.args[0].types]
    number = ir.DoubleType()
    zeros = ir.Constant(ir.ArrayType(number, math.prod(shape)), None)
    data = cgutils.alloca_once(builder, zeros.type)
    builder.store(zeros, data)
    made = make_array(signature.return_type)(context, builder)
    strides = [8 * math.prod(shape[k + 1 :]) for k in range(len(shape))]
    populate_array(
        made,
        data=builder.bitcast(data, number.as_pointer()),
        shape=[context.get_constant(types.intp, n) for n in shape],
        strides=[context.get_constant(types.intp, n) for n in strides],
        itemsize=context.get_constant(types.intp, 8),
        meminfo=None,
    )
    return pack(made)
