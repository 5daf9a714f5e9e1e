"""Words at addresses, and symbols that machine code reaches by name. The arena is built on these."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

WORD = ir.IntType(64)


def place(builder: Any, address: Any, k: Any = 0) -> Any:
    """Emit the pointer to word k at an address."""
    base = builder.inttoptr(address, WORD.as_pointer())
    return builder.gep(base, [k if isinstance(k, ir.Value) else ir.Constant(WORD, k)])


@intrinsic
def word(typingctx, address, k):  # type: ignore[no-untyped-def]
    """Word k at an address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.load(place(builder, *args))

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def set_word(typingctx, address, k, value):  # type: ignore[no-untyped-def]
    """Set word k at an address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        builder.store(args[2], place(builder, *args[:2]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def pointer(typingctx, address):  # type: ignore[no-untyped-def]
    """An address as a pointer, for `carray`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


def emit_array_at(context: Any, builder: Any, kind: Any, address: Any, lengths: list[Any]) -> Any:
    """Emit an array of this type over the numbers at an address."""
    size = WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [size]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(address, context.get_value_type(kind.dtype).as_pointer())
    made = make_array(kind)(context, builder)
    populate_array(made, data, lengths, strides, size, meminfo=None)
    return made._getvalue()


def _numbers_at(dtype: Any, address: Any, shape: Any) -> Any:
    axes = len(shape) if isinstance(shape, types.BaseTuple) else 1
    kind = types.Array(dtype, axes, "C")

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        lengths = cgutils.unpack_tuple(builder, args[1], axes) if isinstance(shape, types.BaseTuple) else [args[1]]
        return emit_array_at(context, builder, kind, args[0], lengths)

    lengths = types.UniTuple(types.int64, axes) if isinstance(shape, types.BaseTuple) else types.int64
    return kind(types.int64, lengths), codegen


@intrinsic
def array_at(typingctx, address, shape):  # type: ignore[no-untyped-def]
    """The float64 numbers at an address as an array: of a length, or of a shape.

    It is `carray(pointer(address), shape, np.float64)`, which Numba takes a hundred times as long to compile.
    """
    return _numbers_at(types.float64, address, shape)


@intrinsic
def array_from(typingctx, pointer, length):  # type: ignore[no-untyped-def]
    """The float64 numbers at a C pointer as an array of this length."""
    kind = types.Array(types.float64, 1, "C")

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return emit_array_at(context, builder, kind, builder.ptrtoint(args[0], WORD), [args[1]])

    return kind(pointer, types.int64), codegen


@intrinsic
def integers_at(typingctx, address, shape):  # type: ignore[no-untyped-def]
    """The same for int64 integers."""
    return _numbers_at(types.int64, address, shape)


@intrinsic
def short_integers_at(typingctx, address, shape):  # type: ignore[no-untyped-def]
    """The same for uint32 integers."""
    return _numbers_at(types.uint32, address, shape)


@intrinsic
def numbers_at(typingctx, address):  # type: ignore[no-untyped-def]
    """The float64 numbers at an address, indexed as in C: negative indices lie before the address."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.inttoptr(args[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(types.int64), codegen


@intrinsic
def hold(typingctx, array):  # type: ignore[no-untyped-def]
    """Keep an array whose address is in use alive up to here: Numba frees an array after its last use."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return context.get_dummy_value()

    return types.void(array), codegen


@intrinsic
def is_null(typingctx, pointer):  # type: ignore[no-untyped-def]
    """Whether a C pointer is NULL."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return cgutils.is_null(builder, args[0])

    return types.boolean(pointer), codegen


@intrinsic
def call_kernel(typingctx, address, shape, values, constants, target):  # type: ignore[no-untyped-def]
    """Call the C function at an address with four pointers, given as addresses."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        function = ir.FunctionType(ir.VoidType(), [WORD] * 4).as_pointer()
        builder.call(builder.inttoptr(args[0], function), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.uintp] * 5), codegen


@intrinsic
def call_rule(typingctx, address, n, code, d, z, x, y):  # type: ignore[no-untyped-def]
    """Call the C function at an address with two integers and four numbers."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        number = ir.DoubleType()
        function = ir.FunctionType(number, [WORD, WORD, *[number] * 4]).as_pointer()
        return builder.call(builder.inttoptr(args[0], function), args[1:])

    return types.float64(types.int64, types.int64, types.int64, *[types.float64] * 4), codegen


@intrinsic
def add_atomically(typingctx, address, amount):  # type: ignore[no-untyped-def]
    """Add to the word at an address, and return its former value."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.atomic_rmw("add", place(builder, args[0]), args[1], "monotonic")

    return types.int64(types.int64, types.int64), codegen


def external_words(module: Any, name: str, n: int) -> Any:
    """A pointer to n words that are registered under a name."""
    if name in module.globals:
        return module.globals[name]
    variable = ir.GlobalVariable(module, ir.ArrayType(WORD, n), name)
    variable.linkage = "external"
    return variable


def external_function(module: Any, name: str, arity: int) -> Any:
    """The function on words that is registered under a name."""
    return cgutils.get_or_insert_function(module, ir.FunctionType(WORD, [WORD] * arity), name)
