"""Requests of vector code to the processor and LLVM: the widest registers, and sums in any order."""

from typing import Any

from llvmlite import binding
from numba import types
from numba.core import config
from numba.core.typing import signature
from numba.extending import intrinsic, lower_builtin, type_callable

_WIDEST = '"prefer-vector-width"="512"'  # on processors with registers of 64 bytes


@intrinsic
def prefer_wide_registers(typing):  # type: ignore[no-untyped-def]
    """Make the calling function use the widest registers: it computes more than it reads and writes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set.add(builder.function.attributes, _WIDEST)  # llvmlite knows no attributes with values
        return context.get_dummy_value()

    return types.void(), emit


def processor_features() -> dict[str, bool]:
    """The features of the processor that Numba compiles for, by LLVM's names."""
    if config.CPU_FEATURES is None:
        return dict(binding.get_host_cpu_features())
    return {name.lstrip("+"): name.startswith("+") for name in config.CPU_FEATURES.split(",") if name}


# ---- sums in any order -----------------------------------------------------------------------------------------------
# Sums whose order NumPy leaves open. Nothing else in the loop may be reordered. The number of partial sums depends on
# the processor and the length, never on the alignment of the numbers.


def add_freely(total: float, term: float) -> float:
    """total + term, in any order of the additions of a loop."""
    return total + term


@type_callable(add_freely)
def _type_of_sum(context):  # type: ignore[no-untyped-def]
    return lambda total, term: signature(types.float64, types.float64, types.float64)


@lower_builtin(add_freely, types.float64, types.float64)
def _lower_sum(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc",))
