"""Copies to the workspace the parts of arrays that a segment of a checkpointed loop will write, and restores them."""

from functools import partial
from typing import Any

import numpy as np
from numba import types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.overloads import in_machine_code, overload_by_text
from contad.engines.source.runtime.workspace import NUMBERS, integer, put_integer
from contad.kernels.lanes import LanesType, lanes_at, put_lanes


@in_machine_code
def root_of(n: int) -> int:
    """The number of iterations of a segment, if there are n in all: about the square root."""
    return max(1, int(np.ceil(np.sqrt(n))))


def keep_part(work: Any, place: int, part: Any) -> None:
    """Copy the elements of an array to the workspace, from `place` on."""
    if part.dtype == object:  # lanes
        for x in part.flat:
            put_lanes(work, place, x, len(x.numbers))
            place += len(x.numbers)
        return
    found = work[place : place + part.size]
    (found if part.dtype == np.float64 else found.view(np.int64))[...] = part.reshape(part.size)


def put_part_back(work: Any, place: int, part: Any) -> None:
    """Copy the kept elements back into the array."""
    if part.dtype == object:
        for at in np.ndindex(part.shape):
            count = len(part[at].numbers)
            part[at] = lanes_at(work, place, count)
            place += count
        return
    found = work[place : place + part.size]
    part[...] = (found if part.dtype == np.float64 else found.view(np.int64)).reshape(part.shape)


# ---- in compiled code ------------------------------------------------------------------------------------------------
def _write_nest(statement: str, work: Any, place: Any, part: Any) -> Any:
    """The text of loops that run the statement for each element of an array and its place k in the workspace.

    Numba's assignment of arrays would also compile the code that formats an error about shapes.
    """
    if work != NUMBERS or not isinstance(part, types.Array):
        return None
    lines = ["k = place", *(f"{'    ' * axis}for i_{axis} in range(part.shape[{axis}]):" for axis in range(part.ndim))]
    x, width = f"part[{', '.join(f'i_{axis}' for axis in range(part.ndim)) or '()'}]", 1
    keep, take = f"put_integer(work, k, int({x}))", "integer(work, k)"
    if part.dtype == types.float64:
        keep, take = f"work[k] = {x}", "work[k]"
    elif isinstance(part.dtype, LanesType):
        width = part.dtype.count
        keep, take = f"put_lanes(work, k, {x}, {width})", f"lanes_at(work, k, {width})"
    inner = [statement.format(keep=keep, take=f"{x} = {take}"), f"k += {width}"]
    return [*lines, *(f"{'    ' * part.ndim}{line}" for line in inner)], _KNOWN


_KNOWN = {x.__name__: x for x in (put_integer, integer, put_lanes, lanes_at)}
for _function, _statement in ((keep_part, "{keep}"), (put_part_back, "{take}")):
    overload_by_text(
        _function, "work, place, part", partial(_write_nest, _statement), jit_options=INTERNAL_OPTIONS
    )  # fmt: skip
