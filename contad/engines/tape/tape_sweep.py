"""The sweep of a tape, compiled once per installation. Machine code of derivatives calls it by name.

As a part of each derivative it would take most of the compile time.
"""

import numpy as np
from numba import carray

from contad.compile.called_by_name import COUNT, called_by_name
from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import pointer, word
from contad.engines.tape.array_kernels import call_kernel
from contad.engines.tape.tape_array_records import has_adjoints, read_block
from contad.memory.arena import ADJOINTS, NEWEST, RECORDS


@njit(**INTERNAL_OPTIONS)
def swept(header, top, first):  # type: ignore[no-untyped-def]
    """Propagate the adjoints of cells without a block among them.

    It skips a cell whose adjoint is zero, so that an infinite or undefined partial makes no nan.
    """
    adjoint = carray(pointer(word(header, ADJOINTS)), top + 1, np.float64)
    partials = carray(pointer(word(header, RECORDS)), (top + 1, 3), np.float64)
    cells = carray(pointer(word(header, RECORDS)), (top + 1, 6), np.int32)
    below = 0.0  # the next cell's adjoint, kept in a register: most records use the result of the one before
    for k in range(top, first - 1, -1):
        d = adjoint[k] + below
        adjoint[k] = 0.0
        below = 0.0
        if d != 0.0:
            x, y = cells[k, 4], cells[k, 5]
            if x == k - 1:
                below = partials[k, 0] * d
            else:
                adjoint[x] += partials[k, 0] * d
            if y == k - 1:
                below += partials[k, 1] * d
            else:
                adjoint[y] += partials[k, 1] * d
    if top >= first:
        adjoint[first - 1] += below
    adjoint[0] = 0.0


@called_by_name(COUNT, COUNT, COUNT)
def sweep(header, top, first):  # type: ignore[no-untyped-def]
    """Propagate the adjoints of the cells from `top` down to `first`, and leave these zero.

    There are blocks between the cells. If a result of a block has an adjoint, its kernel is called.
    """
    block = word(header, NEWEST)
    while block >= first:
        previous, of_block, of_z, kernel = read_block(header, block)
        if of_z <= top:  # else it is newer than the swept cells
            swept(header, top, block + 1)
            if has_adjoints(header, of_z, min(top, block) + 1):
                call_kernel(kernel, header, block)
            top = of_block - 1
        block = previous
    swept(header, top, first)
