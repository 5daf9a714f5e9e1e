"""Kernels that pass adjoints back through whole-array operations: machine code that a tape calls by its address.

A kernel is compiled with the first operation that needs it, and has its own file on disk: it is part neither of the
sweep nor of a derivative. The machine code of an operation finds the address by name, and writes it to the tape.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from contad.compile.named_code import compiled_address, emit_address, emit_call, name_of

_ARGUMENTS = (types.int64, types.int64)
_SIGNATURE = types.none(*_ARGUMENTS)
NAMES: set[str] = set()  # of all kernels


def find_kernel(name: str) -> int:
    """The address of a kernel, compiled or loaded."""
    return compiled_address(name, _SIGNATURE)


def address_of_kernel(function: Callable[..., Any]) -> Callable[[], int]:
    """An njit function that gives the address of a kernel, which is a function of a module.

    A kernel takes the address of the arena and the last record of a block. It propagates the adjoints of the results to
    the cells of the operands, and leaves the adjoints of the results zero.
    """

    NAMES.add(name_of(function))

    @intrinsic
    def address(typingctx):  # type: ignore[no-untyped-def]
        """The address of the compiled kernel."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return emit_address(context, builder, find_kernel, name_of(function))

        return types.int64(), codegen

    made: Callable[[], int] = address
    return made


@intrinsic
def call_kernel(typingctx, address, header, block):  # type: ignore[no-untyped-def]
    """Call the kernel at an address, and raise its exceptions."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emit_call(context, builder, args[0], _SIGNATURE, args[1:])
        return context.get_dummy_value()

    return types.none(types.int64, *_ARGUMENTS), codegen
