"""Parts of arrays in the workspace: what a segment of a checkpointed loop is going to write, kept and put back."""

from typing import Any

import numpy as np
from numba import types

from contad.engines.source.runtime.workspace import NUMBERS, numbers
from contad.native.compiling import INTERNAL_OPTIONS
from contad.native.lanes import LanesType, lanes_at, put_lanes
from contad.native.overloads import add_overload


def root_of(n: int) -> int:
    """The number of iterations of a segment, where there are n in all: about the root."""
    return max(1, int(np.ceil(np.sqrt(n))))


def keep_part(work: Any, place: int, part: Any) -> None:
    """Keep the elements of an array from a place in the workspace on."""
    if part.dtype == object:  # lanes
        for x in part.flat:
            put_lanes(work, place, x, len(x.numbers))
            place += len(x.numbers)
        return
    found = work[place : place + part.size]
    (found if part.dtype == np.float64 else found.view(np.int64))[...] = part.reshape(part.size)


def put_part_back(work: Any, place: int, part: Any) -> None:
    """Write what has been kept into the array again."""
    if part.dtype == object:
        for at in np.ndindex(part.shape):
            count = len(part[at].numbers)
            part[at] = lanes_at(work, place, count)
            place += count
        return
    found = work[place : place + part.size]
    part[...] = (found if part.dtype == np.float64 else found.view(np.int64)).reshape(part.shape)


# ---- in compiled code ------------------------------------------------------------------------------------------------
@add_overload(root_of, jit_options=INTERNAL_OPTIONS)
def _root_of(n: Any) -> Any:
    return lambda n: max(1, int(np.ceil(np.sqrt(n))))


@add_overload(keep_part, jit_options=INTERNAL_OPTIONS)
def _keep_part(work: Any, place: Any, part: Any) -> Any:
    """Floats, by rows: Numba's assignment of arrays brings with it what writes a message of shapes."""
    if work != NUMBERS or not isinstance(part, types.Array):
        return None
    if part.dtype == types.float64 and part.ndim == 1:

        def keep(work: Any, place: Any, part: Any) -> None:
            found = numbers(work, place + part.size)[place:]
            for k in range(part.size):
                found[k] = part[k]

        return keep

    if part.dtype == types.float64:

        def keep_rows(work: Any, place: Any, part: Any) -> None:
            for k in range(len(part)):
                keep_part(work, place, part[k])
                place += part[k].size

        return keep_rows

    if isinstance(part.dtype, LanesType):
        count = part.dtype.count

        def keep_lanes(work: Any, place: Any, part: Any) -> None:
            for at in np.ndindex(part.shape):
                put_lanes(work, place, part[at], count)
                place += count

        return keep_lanes

    def keep_integers(work: Any, place: Any, part: Any) -> None:
        found = numbers(work, place + part.size)[place:].view(np.int64)
        for k, x in enumerate(part.flat):
            found[k] = x

    return keep_integers


@add_overload(put_part_back, jit_options=INTERNAL_OPTIONS)
def _put_part_back(work: Any, place: Any, part: Any) -> Any:
    """Likewise."""
    if work != NUMBERS or not isinstance(part, types.Array):
        return None
    if part.dtype == types.float64 and part.ndim == 1:

        def put_back(work: Any, place: Any, part: Any) -> None:
            found = numbers(work, place + part.size)[place:]
            for k in range(part.size):
                part[k] = found[k]

        return put_back

    if part.dtype == types.float64:

        def put_rows_back(work: Any, place: Any, part: Any) -> None:
            for k in range(len(part)):
                put_part_back(work, place, part[k])
                place += part[k].size

        return put_rows_back

    if isinstance(part.dtype, LanesType):
        count = part.dtype.count

        def put_lanes_back(work: Any, place: Any, part: Any) -> None:
            for at in np.ndindex(part.shape):
                part[at] = lanes_at(work, place, count)
                place += count

        return put_lanes_back

    def put_integers_back(work: Any, place: Any, part: Any) -> None:
        found = numbers(work, place + part.size)[place:].view(np.int64).reshape(part.shape)
        for at in np.ndindex(part.shape):
            part[at] = found[at]

    return put_integers_back
