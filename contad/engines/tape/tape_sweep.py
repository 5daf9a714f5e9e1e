"""The sweep of a tape, compiled once per installation. Machine code of derivatives calls it by name.

As a part of each derivative it would take most of the compile time.
"""

import numpy as np
from numba import carray

from contad.compile.called_by_name import COUNT, called_by_name
from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.words import pointer, word
from contad.engines.tape.tape_array_records import call_kernel, has_adjoints, read_array_record
from contad.memory.arena import ADJOINTS, ARRAY_RECORD, RECORDS


@njit(**INTERNAL_OPTIONS)
def swept(header, top, first):  # type: ignore[no-untyped-def]
    """Propagate the adjoints of cells without an array record among them.

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

    There are array records among the cells. If a result of an array record has an adjoint, its kernel is called.
    """
    record = word(header, ARRAY_RECORD)
    while record >= first:
        previous, of_record, of_z, kernel = read_array_record(header, record)
        if of_z <= top:  # else it is newer than the swept cells
            swept(header, top, record + 1)
            if has_adjoints(header, of_z, min(top, record) + 1):
                call_kernel(kernel, header, record)
            top = of_record - 1
        record = previous
    swept(header, top, first)
