"""Machine code that other machine code reaches by name: compiled once per installation, and a part of no caller's.

What is called so is not compiled again with each derivative. The call has Numba's calling convention, so that what is
raised inside is raised in the caller.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import cgutils


def publish(name: str, function: Any) -> None:
    """Let machine code find a function that is compiled for one signature."""
    (made,) = function.overloads.values()
    llvm.add_symbol(name, made.library.get_pointer_to_function(made.fndesc.llvm_func_name))


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
