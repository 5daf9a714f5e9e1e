"""Sums whose order NumPy leaves open: an addition that a loop may do in several partial sums, side by side.

Nothing else in the loop may be reordered. How many partial sums there are depends on the processor and the length,
never on where the numbers lie.
"""

from typing import Any

from numba import types
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable


def add_freely(total: float, term: float) -> float:
    """total + term, in whatever order the additions of a loop are done."""
    return total + term


@type_callable(add_freely)
def _type_of_sum(context):  # type: ignore[no-untyped-def]
    return lambda total, term: signature(types.float64, types.float64, types.float64)


@lower_builtin(add_freely, types.float64, types.float64)
def _lower_sum(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc",))
