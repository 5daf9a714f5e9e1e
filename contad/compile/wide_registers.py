"""The widest vector registers for functions that compute more than they read and write: LLVM takes half of them."""

from typing import Any

from numba import types
from numba.extending import intrinsic

_WIDEST = '"prefer-vector-width"="512"'  # where there are registers of 64 bytes


@intrinsic
def prefer_wide_registers(typing):  # type: ignore[no-untyped-def]
    """Say so of the function that calls this, in which nothing else changes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set.add(builder.function.attributes, _WIDEST)  # llvmlite knows no attributes with values
        return context.get_dummy_value()

    return types.void(), emit
