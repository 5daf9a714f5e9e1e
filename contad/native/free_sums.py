"""Sums whose order NumPy leaves open: an addition that a loop may do in several partial sums, side by side.

Nothing else in the loop may be reordered. How many partial sums there are depends on the processor and the length,
never on where the numbers lie.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def add_freely(typing, total, term):  # type: ignore[no-untyped-def]
    """total + term, in whatever order the additions of a loop are done."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(*args, flags=("reassoc",))

    return types.float64(types.float64, types.float64), emit
