"""Parts of arrays in the workspace: what a segment of a checkpointed loop is going to write, kept and put back."""

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
def _write_nest(statement: str, work: Any, place: Any, part: Any) -> Any:
    """The text of loops over the elements of an array, which run the statement for each element and its place k.

    Numba's assignment of arrays would add the code that writes a message about shapes.
    """
    if work != NUMBERS or not isinstance(part, types.Array):
        return None
    lines = ["k = place", *(f"{'    ' * axis}for i_{axis} in range(part.shape[{axis}]):" for axis in range(part.ndim))]
    x, step = f"part[{', '.join(f'i_{axis}' for axis in range(part.ndim)) or '()'}]", 1
    keep, take = f"put_integer(work, k, int({x}))", "integer(work, k)"
    if part.dtype == types.float64:
        keep, take = f"work[k] = {x}", "work[k]"
    elif isinstance(part.dtype, LanesType):
        step = part.dtype.count
        keep, take = f"put_lanes(work, k, {x}, {step})", f"lanes_at(work, k, {step})"
    inner = [statement.format(keep=keep, take=f"{x} = {take}"), f"k += {step}"]
    return [*lines, *(f"{'    ' * part.ndim}{line}" for line in inner)], _KNOWN


_KNOWN = {x.__name__: x for x in (put_integer, integer, put_lanes, lanes_at)}
for _function, _statement in ((keep_part, "{keep}"), (put_part_back, "{take}")):
    overload_by_text(
        _function, "work, place, part", partial(_write_nest, _statement), jit_options=INTERNAL_OPTIONS
    )  # fmt: skip
