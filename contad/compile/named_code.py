"""Machine code that other machine code reaches by name: compiled once per installation, and not copied into callers.

Such a function is compiled with the first derivative that needs it, and not again with each. The call has Numba's
calling convention, so that exceptions propagate to the caller.
"""

import ctypes
import functools
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.linked_code import defer_code
from contad.compile.machine_code import njit
from contad.compile.words import WORD

_FIND = "contad_find_address"


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)
def _find(text: bytes) -> int:
    """The address that the function `find` of a module gives for a name; 0 if it fails."""
    try:
        find, name = text.decode().split()
        return int(pkgutil.resolve_name(find)(name))
    except BaseException:  # which C code cannot pass on
        sys.excepthook(*sys.exc_info())
        return 0


llvm.add_symbol(_FIND, ctypes.cast(_find, ctypes.c_void_p).value)


def emit_address(
    context: Any, builder: Any, find: Callable[[str], int], name: str, compile_now: bool = True
) -> Any:
    """Emit the word `find(name)`, the address of machine code; `find` is a function of a module.

    The caller looks the address up at its first use and keeps it in a word, so that machine code from the disk finds
    it, whatever was loaded before. Unless `compile_now`, nothing is compiled before that.
    """
    if compile_now:
        find(name)
    cell = cgutils.add_global_variable(builder.module, WORD, "contad_address")
    cell.initializer, cell.linkage = ir.Constant(WORD, 0), "internal"
    found = cgutils.alloca_once_value(builder, builder.load(cell))
    with builder.if_then(builder.icmp_signed("==", builder.load(found), ir.Constant(WORD, 0)), likely=False):
        look_up = cgutils.get_or_insert_function(builder.module, ir.FunctionType(WORD, [cgutils.voidptr_t]), _FIND)
        text = f"{find.__module__}:{find.__qualname__} {name}"
        address = builder.call(look_up, [context.insert_const_string(builder.module, text)])
        with builder.if_then(builder.icmp_signed("==", address, ir.Constant(WORD, 0)), likely=False):
            why = f"contad: {name} could not be found or compiled"
            context.call_conv.return_user_exc(builder, RuntimeError, (why,))
        builder.store(address, cell)
        builder.store(address, found)
    return builder.load(found)


# ---- functions of contad with separate machine code ------------------------------------------------------------------
def name_of(function: Callable[..., Any]) -> str:
    """The name of a function of a module, for `emit_address`."""
    return f"{function.__module__}:{function.__qualname__}"


@functools.cache
def compile_once(name: str, signature: Any, is_brief: bool = False) -> Any:
    """A function of a module, given by name, compiled for a signature or loaded from the disk.

    A brief one keeps Python's lock, and borrows its arrays.
    """
    from contad.compile.brief_calls import BorrowingCalls

    function = pkgutil.resolve_name(name)
    options = NJIT_OPTIONS | ({"nogil": False, "pipeline_class": BorrowingCalls} if is_brief else {})
    with defer_code():
        return njit(signature, **options)(getattr(function, "__wrapped__", function))


def compiled_address(name: str, signature: Any) -> int:
    """The address of a function of a module, given by name, compiled for a signature."""
    return address_of(compile_once(name, signature))


def address_of(function: Any) -> int:
    """The address of a function that is compiled for one signature."""
    (made,) = function.overloads.values()
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


def emit_call(
    context: Any, builder: Any, address: Any, signature: Any, args: Any, then: Callable[[], None] = lambda: None
) -> Any:
    """Emit the call of such a function at an address, and the propagation of its exceptions; return its result."""
    kind = context.call_conv.get_function_type(signature.return_type, signature.args)
    function = builder.inttoptr(address, kind.as_pointer())
    status, found = context.call_conv.call_function(builder, function, signature.return_type, signature.args, args)
    then()
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return found


@intrinsic
def attempt_call(typingctx, address, first, second, third, fourth):  # type: ignore[no-untyped-def]
    """Call such a function of four words without a result; return whether it has raised."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        words = (types.int64,) * 4
        kind = context.call_conv.get_function_type(types.none, words)
        function = builder.inttoptr(args[0], kind.as_pointer())
        status, _ = context.call_conv.call_function(builder, function, types.none, words, args[1:])
        return status.is_error

    return types.boolean(*[types.uintp] * 5), codegen
