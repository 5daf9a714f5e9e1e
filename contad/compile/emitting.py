"""LLVM IR written by hand: the parts of LLVM and of Numba's arrays and structures that intrinsics and lowerings
need, and requests for vector code."""

from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.core.callconv import Status, excinfo_ptr_t
from numba.core.imputils import (
    impl_ret_borrowed,
    impl_ret_new_ref,
    lower_constant,
)
from numba.core.typing import signature
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic, lower_builtin, type_callable
from numba.np.arrayobj import (
    _empty_nd_impl,
    _parse_shape,
    intrin_alloc,
    make_array,
    populate_array,
)

__all__ = [
    "add_freely", "cgutils", "counter_of_threads", "emit_lengths", "emit_new_array", "emit_reraise",
    "impl_ret_borrowed", "impl_ret_new_ref", "intrin_alloc", "ir", "link_text", "lower_constant", "make_array",
    "name_address", "named_address", "pack", "populate_array", "prefer_wide_registers", "processor_features",
    "tuple_setitem",
]  # fmt: skip


def pack(proxy: Any) -> Any:
    """The value of a structure or an array whose fields have been set one by one."""
    return proxy._getvalue()


def emit_lengths(context: Any, builder: Any, kind: Any, shape: Any) -> Any:
    """Emit the lengths in a shape of this type, an integer or a tuple; negative lengths raise."""
    return _parse_shape(context, builder, kind, shape)


def emit_new_array(context: Any, builder: Any, kind: Any, lengths: Any) -> Any:
    """Emit an array of this type with memory of its own, as a structure whose fields can be read."""
    return _empty_nd_impl(context, builder, kind, lengths)


def emit_reraise(context: Any, builder: Any, code: Any, cause: Any) -> None:
    """Emit the exception that another call in Numba's convention has raised, given as two words."""
    code, cause = builder.trunc(code, ir.IntType(32)), builder.inttoptr(cause, excinfo_ptr_t)
    status = Status(code, *[cgutils.false_bit] * 2, cgutils.true_bit, *[cgutils.false_bit] * 3, cause)
    context.call_conv.return_status_propagate(builder, status)


# ---- names that machine code links against ---------------------------------------------------------------------------
def name_address(name: str, address: Any) -> None:
    """Give an address the name by which machine code of this process calls or reads it."""
    llvm.add_symbol(name, address)


def named_address(name: str) -> int:
    """The address that machine code finds under a name."""
    return int(llvm.address_of_symbol(name))


def counter_of_threads() -> Any:
    """The C function that returns the number of threads that Numba uses; ImportError or ValueError if it can run
    none."""
    from numba.np.ufunc import parallel

    numba.get_num_threads()
    return parallel._get_num_threads


def link_text(text: str, name: str) -> tuple[int, Any]:
    """The address of a function given as LLVM IR, and the object that must live as long as it is called."""
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    return int(engine.get_function_address(name)), (engine, machine)


# ---- vector code -----------------------------------------------------------------------------------------------------
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
        return dict(llvm.get_host_cpu_features())
    return {name.lstrip("+"): name.startswith("+") for name in config.CPU_FEATURES.split(",") if name}


# ---- sums in any order -----------------------------------------------------------------------------------------------
# Sums whose order NumPy leaves open. Nothing else in the loop may be reordered. The number of partial sums depends on
# the processor and the length, never on the alignment of the numbers.


def add_freely(total: float, term: float) -> float:
    """total + term, in any order of the additions of a loop."""
    return total + term


@type_callable(add_freely)
def _type_of_sum(context):  # type: ignore[no-untyped-def]
    return lambda total, term: signature(*[types.float32 if total == term == types.float32 else types.float64] * 3)


@lower_builtin(add_freely, types.float32, types.float32)
@lower_builtin(add_freely, types.float64, types.float64)
def _lower_sum(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=("reassoc",))
