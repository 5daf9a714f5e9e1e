"""Kernels compiled once per installation, for one signature, and called by name from any machine code.

Numba links callees into their callers and optimises them again with each caller. These kernels stay outside of their
callers, which then compile in a fraction of the time.
"""

import functools
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import intrinsic

from contad.compile.compiling import NJIT_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.named_code import address_of, emit_address, emit_call, name_of
from contad.compile.overloads import add_overload

MATRIX = types.Array(types.float64, 2, "C")
FLAG, COUNT = types.boolean, types.int64


_IN_MACHINE_CODE = """
@intrinsic
def call(typingctx, {names}):
    return emit(typingctx, ({names},))

def typing({names}):
    return lambda {names}: call({names})
"""


def called_by_name(*kinds: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: compile the function for arguments of these types; Python and njit functions call it.

    Matrices are in C order and writable. `kernel.compiled()` is the dispatcher.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        @functools.cache
        def compile_kernel() -> Any:
            made = njit(**NJIT_OPTIONS)(function)
            made.compile(kinds)
            return made

        def emit(typingctx: Any, given: tuple[Any, ...]) -> Any:
            if any(typingctx.can_convert(x, kind) is None for x, kind in zip(given, kinds, strict=True)):
                return None
            compiled = compile_kernel().overloads[kinds].signature

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                value = emit_call(
                    context, builder, emit_address(context, builder, find_kernel, name_of(function)), compiled, args
                )
                return value if compiled.return_type != types.none else context.get_dummy_value()

            return compiled.return_type(*kinds), codegen

        @functools.wraps(function)
        def call_in_python(*args: Any) -> Any:
            return compile_kernel()(*args)

        names = ", ".join(inspect.signature(function).parameters)
        known: dict[str, Any] = {"emit": emit, "intrinsic": intrinsic}
        exec(_IN_MACHINE_CODE.format(names=names), known)
        add_overload(call_in_python)(known["typing"])
        call_in_python.compiled = compile_kernel  # type: ignore[attr-defined]
        return call_in_python

    return decorate


def find_kernel(name: str) -> int:
    """The address of a kernel, compiled or loaded."""
    return address_of(pkgutil.resolve_name(name).compiled())
