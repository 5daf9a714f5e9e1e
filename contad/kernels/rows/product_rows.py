"""Kernels of products: `row_tables` specifies them. And a product and its adjoints as generated code calls them.

`put_product`, `add_left` and `add_right` take matrices and vectors; `put_product` writes an array, not a number. In
compiled code each of them calls a kernel of `contad.kernels.product_kernels`, with the addresses, strides and sizes of
the operands.
"""

from typing import Any

from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.called_by_name import find_kernel
from contad.compile.emitting import cgutils, make_array
from contad.compile.named_code import emit_address, emit_call, name_of
from contad.compile.overloads import in_machine_code
from contad.kernels.matrix_loops import clear
from contad.kernels.product_kernels import add_masked_at, put_product_at
from contad.ops.products import left_cotangent, right_cotangent

_SIGNATURE = types.none(*[types.int64] * 12)
_NUMBER = 8  # bytes


def put_product(z: Any, a: Any, b: Any) -> None:
    """z = a b, for an array z in C order."""
    z[...] = a @ b


def add_left(z_bar: Any, b: Any, a_bar: Any) -> None:
    """The adjoint of a in z = a b: a_bar += z_bar b^T."""
    a_bar += left_cotangent(z_bar, a_bar.shape, b)


def add_right(z_bar: Any, a: Any, b_bar: Any) -> None:
    """The adjoint of b in z = a b: b_bar += a^T z_bar."""
    b_bar += right_cotangent(z_bar, a, b_bar.shape)


@type_callable(put_product)
@type_callable(add_left)
@type_callable(add_right)
def _type_of_call(context):  # type: ignore[no-untyped-def]
    return lambda first, second, third: types.none


@lower_builtin(put_product, types.Array, types.Array, types.Array)
def _lower_product(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The product as matrices: a vector counts as a row if it is a, and as a column if it is b."""
    a_is_row = signature.args[1].ndim == 1
    z, a, b = map(MatrixWords, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, a_is_row, False))
    rows, inner = a.sizes
    fewer = builder.icmp_signed("<", b.sizes[0], inner)
    inner = builder.select(fewer, b.sizes[0], inner)  # a check raises later if they differ
    return _emit(context, builder, put_product_at, z, a, b, (rows, inner, b.sizes[1]))


@lower_builtin(add_left, types.Any, types.Array, types.Array)
def _lower_left(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The adjoints as matrices: a vector counts as a row if it is a, and as a column if it is b."""
    a_is_row = signature.args[2].ndim == 1
    d, b, a_bar = map(MatrixWords, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, False, True))
    return _emit(context, builder, add_masked_at, d, b.turn(), a_bar, (*d.sizes, b.sizes[0]))


@lower_builtin(add_right, types.Any, types.Array, types.Array)
def _lower_right(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Likewise: b_bar^T += z_bar^T a."""
    a_is_row = signature.args[1].ndim == 1
    d, a, b_bar = map(MatrixWords, [context] * 3, [builder] * 3, signature.args, args, (a_is_row, True, False))
    return _emit(context, builder, add_masked_at, d.turn(), a, b_bar.turn(), (*d.sizes[::-1], a.sizes[1]))


@lower_builtin(add_left, types.Number, types.Array, types.Array)
@lower_builtin(add_right, types.Number, types.Array, types.Array)
def _lower_scaled(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The adjoint of a factor of a dot product, whose own adjoint is a number: a loop."""
    return context.compile_internal(builder, _add_scaled, signature, args)


def _add_scaled(z_bar: Any, x: Any, bar: Any) -> None:
    if z_bar != 0.0:
        for k in range(len(x)):
            bar[k] += z_bar * x[k]


class MatrixWords:
    """An operand in emitted code: its address, sizes and strides."""

    def __init__(self, context: Any, builder: Any, kind: Any, x: Any, is_row: bool) -> None:
        made = make_array(kind)(context, builder, x)
        sizes, strides = (cgutils.unpack_tuple(builder, x, kind.ndim) for x in (made.shape, made.strides))
        if len(sizes) < 2:
            where = 0 if is_row else 1
            sizes.insert(where, context.get_constant(types.intp, 1))
            strides.insert(where, context.get_constant(types.intp, _NUMBER))
        self.sizes = sizes
        self.words = [builder.ptrtoint(made.data, context.get_value_type(types.int64)), *strides]

    def turn(self) -> "MatrixWords":
        """Its transpose."""
        made = object.__new__(MatrixWords)
        made.sizes, made.words = self.sizes[::-1], [self.words[0], *self.words[:0:-1]]
        return made


def _emit(context: Any, builder: Any, kernel: Any, *args: Any) -> Any:
    *operands, sizes = args
    at = emit_address(context, builder, find_kernel, name_of(kernel))
    words = [word for x in operands for word in x.words]
    emit_call(context, builder, at, _SIGNATURE, [*words, *sizes])
    return context.get_dummy_value()


# ---- rows ------------------------------------------------------------------------------------------------------------
@in_machine_code
def matmul_value(a, b, z):  # type: ignore[no-untyped-def]
    """z = a b"""
    put_product(z, a, b)


@in_machine_code
def matmul_adjoint(z_bar, a, b, a_bar, b_bar):  # type: ignore[no-untyped-def]
    """a_bar += z_bar b^T, b_bar += a^T z_bar"""
    if a_bar.size != 0:
        add_left(z_bar, b, a_bar)
    if b_bar.size != 0:
        add_right(z_bar, a, b_bar)


@in_machine_code
def matmul_tangent(a, b, a_dot, b_dot, z_dot):  # type: ignore[no-untyped-def]
    """z_dot = a_dot b + a b_dot, each by the adjoint of the other direction."""
    clear(z_dot)
    add_left(a_dot, b.T, z_dot)
    add_right(b_dot, a.T, z_dot)
