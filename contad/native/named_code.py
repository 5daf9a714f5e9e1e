"""Machine code that other machine code reaches by name: compiled once per installation, and a part of no caller's.

What is called so is not compiled again with each derivative. The call has Numba's calling convention, so that what is
raised inside is raised in the caller.
"""

import functools
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import cgutils
from numba.core.codegen import CodeLibrary

from contad.native.compiling import NJIT_OPTIONS
from contad.native.machine_code import njit
from contad.native.words import WORD

RUNS_WHEN_LOADED = "_reload_init" in CodeLibrary.__init__.__code__.co_names  # whether Numba has the hook below


def publish(name: str, function: Any) -> None:
    """Let machine code find a function that is compiled for one signature."""
    (made,) = function.overloads.values()
    llvm.add_symbol(name, made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


@functools.cache
def compile_named(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function of a module for a signature, or load it, and give machine code its address."""
    made = njit(signature, **NJIT_OPTIONS)(function)
    publish(symbol_of(function), made)
    return made


def symbol_of(function: Callable[..., Any]) -> str:
    """The name by which machine code finds a function that `compile_named` has compiled."""
    return f"contad_{function.__module__}.{function.__qualname__}"


def emit_address(context: Any, builder: Any, function: Callable[..., Any], signature: Any, again: Callable[[], Any]) -> Any:
    """Emit the pointer to a function that is compiled when it is first needed.

    `again` compiles or loads it, where a process loads the machine code around from the disk.
    """
    kind = context.call_conv.get_function_type(signature.return_type, signature.args)
    made = again()
    if not RUNS_WHEN_LOADED:  # the address itself, so that Numba does not keep the machine code
        (compiled,) = made.overloads.values()
        at = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        word = builder.ptrtoint(context.add_dynamic_addr(builder, at, info=symbol_of(function)), WORD)
        return builder.inttoptr(word, kind.as_pointer())
    context.active_code_library._reload_init.add(again)
    return cgutils.get_or_insert_function(builder.module, kind, symbol_of(function))


def emit_call(
    context: Any, builder: Any, name: str, kinds: tuple[Any, ...], args: Any, register: Callable[[], None]
) -> Any:
    """Emit the call of a published function that returns nothing; the value of nothing.

    `register`, a function of a module, publishes it again where the caller's machine code comes from the disk.
    """
    kind = context.call_conv.get_function_type(types.none, kinds)
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    status, _ = context.call_conv.call_function(builder, function, types.none, kinds, args)
    with cgutils.if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)
    # where Numba has no such hook, the modules that machine code came from import the one of `register`
    when_loaded: set[Any] = getattr(context.active_code_library, "_reload_init", set())
    when_loaded.add(register)
    return context.get_dummy_value()
