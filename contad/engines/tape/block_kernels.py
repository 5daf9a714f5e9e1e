"""What passes adjoints back through whole-array operations: machine code that a tape reaches by its address.

A kernel is compiled with the first operation that needs it, and kept on disk by itself: neither the sweep nor a
derivative has it as a part. Machine code of an operation finds the address by name, and writes it on the tape.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from contad.native.named_code import compile_once, emit_call, emit_pointer
from contad.native.words import WORD

_ARGUMENTS = (types.int64, types.int64)
_SIGNATURE = types.none(*_ARGUMENTS)


def compile_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel, or load it."""
    return compile_once(function, _SIGNATURE)


def address_of_kernel(function: Callable[..., Any]) -> Callable[[], int]:
    """An njit function that gives the address of a kernel, which is a function of a module.

    A kernel takes the address of the arena and the last record of a block. It adds to the adjoints of the operands'
    cells what those of the results ask for, which it leaves zero.
    """

    @intrinsic
    def address(typingctx):  # type: ignore[no-untyped-def]
        """The address of the compiled kernel."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ptrtoint(emit_pointer(context, builder, compile_kernel, function, _SIGNATURE), WORD)

        return types.int64(), codegen

    made: Callable[[], int] = address
    return made


@intrinsic
def call_kernel(typingctx, address, header, block):  # type: ignore[no-untyped-def]
    """Call the kernel at an address; what it raises is raised here."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = context.call_conv.get_function_type(types.none, _ARGUMENTS)
        emit_call(context, builder, builder.inttoptr(args[0], kind.as_pointer()), _SIGNATURE, args[1:])
        return context.get_dummy_value()

    return types.none(types.int64, *_ARGUMENTS), codegen
