"""Calls that leave the arena as it was when an exception passes through, and the sweep."""

from typing import Any

import numpy as np
from numba import carray, njit
from numba.core import cgutils
from numba.extending import intrinsic

from contad.compiled import NJIT_OPTIONS
from contad.native.arena import ADJOINTS, INTERNAL_OPTIONS, RECORDS, USED, _pointer, pointer, word


@intrinsic
def guarded(typingctx, function, header, mark, given):  # type: ignore[no-untyped-def]
    """function(header, mark, given); on an exception the arena is cut back to the mark, and `given` is freed."""
    found = function.get_call_type(typingctx, (header, mark, given), {})
    signature = found.return_type(function, header, mark, given)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        compiled = function.dispatcher.overloads[tuple(found.args)]
        context.add_linking_libs([compiled.library])
        called = context.declare_function(builder.module, compiled.fndesc)
        status, result = context.call_conv.call_function(builder, called, found.return_type, found.args, args[1:])
        with cgutils.if_unlikely(builder, status.is_error):
            builder.store(args[2], _pointer(builder, args[1], USED))
            context.nrt.decref(builder, given, args[3])
            context.call_conv.return_status_propagate(builder, status)
        return result

    return signature, codegen


@njit(**NJIT_OPTIONS)
def adjoints(header):  # type: ignore[no-untyped-def]
    """The adjoints of all cells, as an array."""
    return carray(pointer(word(header, ADJOINTS)), word(header, USED), np.float64)


@njit(**NJIT_OPTIONS)
def sweep(header, top, first):  # type: ignore[no-untyped-def]
    """Propagate the adjoints of the cells from `top` down to `first`, and leave these zero.

    A cell whose adjoint is zero is passed over, so that an infinite or undefined partial of it makes no nan.
    """
    adjoint = carray(pointer(word(header, ADJOINTS)), top + 1, np.float64)
    partials = carray(pointer(word(header, RECORDS)), (top + 1, 3), np.float64)
    cells = carray(pointer(word(header, RECORDS)), (top + 1, 6), np.int32)
    for k in range(top, first - 1, -1):
        d = adjoint[k]
        if d != 0.0:
            adjoint[k] = 0.0
            adjoint[cells[k, 4]] += partials[k, 0] * d
            adjoint[cells[k, 5]] += partials[k, 1] * d
    adjoint[0] = 0.0


@njit(**NJIT_OPTIONS)
def collected(header, cell, n):  # type: ignore[no-untyped-def]
    """The adjoints of n cells as an array of its own; they are left zero."""
    found = carray(pointer(word(header, ADJOINTS)), cell + n, np.float64)[cell:]
    copied = found.copy()
    found[:] = 0.0
    return copied


@njit(**NJIT_OPTIONS)
def collected_number(header, cell):  # type: ignore[no-untyped-def]
    """The adjoint of a cell, which is left zero."""
    found = carray(pointer(word(header, ADJOINTS)), cell + 1, np.float64)
    d = found[cell]
    found[cell] = 0.0
    return d


@njit(**NJIT_OPTIONS)
def seeded_number(header, cell, z_bar):  # type: ignore[no-untyped-def]
    """Add to the adjoint of a cell."""
    adjoints(header)[cell] += z_bar


@njit(**INTERNAL_OPTIONS)
def seeded(header, z, z_bar):  # type: ignore[no-untyped-def]
    """Add the elements of z_bar to the adjoints of those of z."""
    adjoint = adjoints(header)
    for k in np.ndindex(z.shape):
        adjoint[z[k].cell] += z_bar[k]
