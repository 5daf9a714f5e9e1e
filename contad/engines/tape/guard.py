"""Calls that restore the arena when an exception passes through; seeds of adjoints."""

from typing import Any

import numpy as np
from numba import carray
from numba.extending import intrinsic

from contad.compile.compiling import INTERNAL_OPTIONS, NJIT_OPTIONS
from contad.compile.emitting import cgutils
from contad.compile.machine_code import njit
from contad.compile.words import place, pointer, word
from contad.memory.arena import ADJOINTS, ARRAY_RECORD, USED, release


@intrinsic
def guard(typingctx, function, header, mark, last, given, allocation, size):  # type: ignore[no-untyped-def]
    """function(header, mark, given), guarded: an exception leaves the arena as it was.

    It cuts the arena back to `mark` and to `last`, which was the last array record, and releases `allocation`.
    """
    found = function.get_call_type(typingctx, (header, mark, given), {})
    signature = found.return_type(function, header, mark, last, given, allocation, size)
    release_type = typingctx.resolve_value_type(release)
    released = release_type.get_call_type(typingctx, (allocation, size), {})

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Emit the call, and the clean-up if it raises."""
        compiled = function.dispatcher.overloads[tuple(found.args)]
        context.add_linking_libs([compiled.library])
        called = context.declare_function(builder.module, compiled.fndesc)
        passed = [args[1], args[2], args[4]]
        status, result = context.call_conv.call_function(builder, called, found.return_type, found.args, passed)
        with cgutils.if_unlikely(builder, status.is_error):
            builder.store(args[2], place(builder, args[1], USED))
            builder.store(args[3], place(builder, args[1], ARRAY_RECORD))
            give_back = context.get_function(release_type, released)
            context.add_linking_libs(getattr(give_back, "libs", ()))
            give_back(builder, args[5:])
            context.call_conv.return_status_propagate(builder, status)
        return result

    return signature, codegen


@njit(**NJIT_OPTIONS)
def adjoints(header):  # type: ignore[no-untyped-def]
    """The adjoints of all cells, as an array."""
    return carray(pointer(word(header, ADJOINTS)), word(header, USED), np.float64)


@njit(**NJIT_OPTIONS)
def seed_number(header, cell, z_bar):  # type: ignore[no-untyped-def]
    """Add to the adjoint of a cell."""
    adjoints(header)[cell] += z_bar


@njit(**INTERNAL_OPTIONS)
def seed(header, z, z_bar):  # type: ignore[no-untyped-def]
    """Add the elements of z_bar to the adjoints of those of z."""
    if z_bar.shape != z.shape:
        raise ValueError("vjp: z_bar must have the shape of the result")
    adjoint = adjoints(header)
    for k in np.ndindex(z.shape):
        adjoint[z[k].cell] += z_bar[k]
