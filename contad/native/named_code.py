"""Machine code that other machine code reaches by name: compiled once per installation, and a part of no caller's.

What is called so is not compiled again with each derivative, but with the first one that needs it. The call has Numba's
calling convention, so that what is raised inside is raised in the caller.
"""

import ctypes
import functools
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils

from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import njit
from contad.native.words import WORD


def address_of(function: Any) -> int:
    """The address of a function that is compiled for one signature."""
    (made,) = function.overloads.values()
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


@functools.cache
def compile_once(function: Callable[..., Any], signature: Any) -> Any:
    """A function of a module, compiled for a signature or loaded from the disk."""
    return njit(signature, **NJIT_OPTIONS)(function)


_FIND = "contad_find_code"


@ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)
def _find(text: bytes) -> int:
    """The address of the machine code that `make(function)` gives, both by module and name; 0 where it fails."""
    try:
        make, function = map(pkgutil.resolve_name, text.decode().split())
        return address_of(make(function))
    except BaseException:  # which C code cannot pass on
        sys.excepthook(*sys.exc_info())
        return 0


llvm.add_symbol(_FIND, ctypes.cast(_find, ctypes.c_void_p).value)


def emit_pointer(context: Any, builder: Any, make: Any, function: Any, signature: Any) -> Any:
    """Emit the pointer to the machine code of `make(function)`, two functions of modules, for a signature.

    It is looked up when it is first used, and kept in a word of the caller's: so machine code from the disk finds it,
    whatever was loaded before.
    """
    make(function)  # in this process, it is there when the caller runs
    text = " ".join(f"{f.__module__}:{f.__qualname__}" for f in (make, function))
    cell = cgutils.add_global_variable(builder.module, WORD, "contad_code")
    cell.initializer, cell.linkage = ir.Constant(WORD, 0), "internal"
    found = cgutils.alloca_once_value(builder, builder.load(cell))
    with builder.if_then(builder.icmp_signed("==", builder.load(found), ir.Constant(WORD, 0)), likely=False):
        kind = ir.FunctionType(WORD, [cgutils.voidptr_t])
        find = cgutils.get_or_insert_function(builder.module, kind, _FIND)
        address = builder.call(find, [context.insert_const_string(builder.module, text)])
        with builder.if_then(builder.icmp_signed("==", address, ir.Constant(WORD, 0)), likely=False):
            why = f"contad: {function.__name__} could not be compiled"
            context.call_conv.return_user_exc(builder, RuntimeError, (why,))
        builder.store(address, cell)
        builder.store(address, found)
    kind = context.call_conv.get_function_type(signature.return_type, signature.args)
    return builder.inttoptr(builder.load(found), kind.as_pointer())


def emit_call(context: Any, builder: Any, pointer: Any, signature: Any, args: Any) -> Any:
    """Emit the call of a function at a pointer; what it returns."""
    status, found = context.call_conv.call_function(builder, pointer, signature.return_type, signature.args, args)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    return found
