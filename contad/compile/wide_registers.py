"""What the processor has for vectors, and its widest registers where LLVM would take half of them."""

from typing import Any

from llvmlite import binding
from numba import types
from numba.core import config
from numba.extending import intrinsic

_WIDEST = '"prefer-vector-width"="512"'  # where there are registers of 64 bytes


@intrinsic
def prefer_wide_registers(typing):  # type: ignore[no-untyped-def]
    """Have the function that calls this use the widest registers: it computes more than it reads and writes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set.add(builder.function.attributes, _WIDEST)  # llvmlite knows no attributes with values
        return context.get_dummy_value()

    return types.void(), emit


def processor_features() -> dict[str, bool]:
    """What the processor that Numba compiles for has, by LLVM's names."""
    if config.CPU_FEATURES is None:
        return dict(binding.get_host_cpu_features())
    return {name.lstrip("+"): name.startswith("+") for name in config.CPU_FEATURES.split(",") if name}
