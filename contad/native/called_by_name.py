"""Kernels that are compiled once per installation, for one signature, and called by name from any machine code.

Numba links what a function calls into the function, and optimises it again with each caller. A kernel of these is no
part of its callers, which compile in a fraction of the time.
"""

import functools
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from contad.native.compiling import NJIT_OPTIONS
from contad.native.lapack import RUNS_WHEN_LOADED
from contad.native.machine_code import njit

MATRIX = types.Array(types.float64, 2, "C")
FLAG, COUNT = types.boolean, types.int64


def called_by_name(*kinds: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the function compiled for these types of arguments, as one that njit functions call by name.

    Matrices are in C order and writable. `kernel.compiled()` is the dispatcher.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        symbol = f"contad_kernel_{function.__module__}.{function.__name__}"

        @functools.cache
        def compile_kernel() -> Any:
            made = njit(**NJIT_OPTIONS)(function)
            made.compile(kinds)
            found = made.overloads[kinds]
            llvm.add_symbol(symbol, found.library.get_pointer_to_function(found.fndesc.llvm_func_name))
            return made

        def emit(typingctx: Any, given: tuple[Any, ...]) -> Any:
            if any(typingctx.can_convert(x, kind) is None for x, kind in zip(given, kinds, strict=True)):
                return None
            found = compile_kernel().overloads[kinds]
            result = found.signature.return_type

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                kind = context.call_conv.get_function_type(result, kinds)
                if RUNS_WHEN_LOADED:
                    called = cgutils.get_or_insert_function(builder.module, kind, symbol)
                    when_loaded = functools.partial(load, function.__module__, function.__name__)
                    context.active_code_library._reload_init.add(when_loaded)
                else:  # the address itself, so that Numba does not keep the machine code
                    at = found.library.get_pointer_to_function(found.fndesc.llvm_func_name)
                    address = context.add_dynamic_addr(builder, at, info=symbol)
                    called = builder.bitcast(address, kind.as_pointer())
                status, value = context.call_conv.call_function(builder, called, result, kinds, args)
                with cgutils.if_unlikely(builder, status.is_error):
                    context.call_conv.return_status_propagate(builder, status)
                return value if result != types.none else context.get_dummy_value()

            return result(*kinds), codegen

        names = ", ".join(inspect.signature(function).parameters)
        known: dict[str, Any] = {"emit": emit}
        exec(f"def call(typingctx, {names}):\n    return emit(typingctx, ({names},))\n", known)
        known["call"].__name__ = known["call"].__qualname__ = function.__name__
        made: Any = intrinsic(known["call"])
        made.compiled = compile_kernel
        made.__doc__ = function.__doc__
        return made

    return decorate


def load(module: str, name: str) -> None:
    """Compile a kernel, or load it, before machine code that calls it runs."""
    pkgutil.resolve_name(f"{module}:{name}").compiled()
