"""Compiled functions that keep Python's lock through calls that take a few microseconds.

Giving the lock up and taking it again costs as much as the gradient of some fifty terms, and no other thread gains from
so short a while. A call keeps it that follows soon upon another one of the same function, which so was brief, and has
no more numbers in its arguments; the processor's counter of cycles tells. All others give the lock up.
"""

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.callwrapper import PyCallWrapper
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.pythonapi import PythonAPI
from numba.core.typed_passes import NativeLowering

from contad.native.words import WORD

SOON = 1 << 14  # cycles


def has_cycles() -> bool:
    """Whether programs may read the counter of cycles on this processor, as LLVM knows them."""
    return bool(llvm.get_process_triple().startswith("x86_64"))


class _BriefAPI(PythonAPI):
    """What the wrapper of a function calls; the lock is given up unless the call is expected to be brief."""

    def __init__(self, context: Any, builder: Any) -> None:
        super().__init__(context, builder)
        self._size: Any = ir.Constant(WORD, 0)
        self._depth = 0

    def to_native_value(self, typ: Any, obj: Any) -> Any:
        """An argument; the numbers in it are counted."""
        self._depth += 1
        native = super().to_native_value(typ, obj)
        self._depth -= 1
        if not self._depth:
            self._size = self.builder.add(self._size, self._count(typ, native.value))
        return native

    def _count(self, typ: Any, value: Any) -> Any:
        total = ir.Constant(WORD, 0)
        if isinstance(typ, types.Array):
            total = self.context.make_array(typ)(self.context, self.builder, value).nitems
        elif isinstance(typ, types.BaseTuple):
            parts = cgutils.unpack_tuple(self.builder, value, len(typ))
            for kind, part in zip(typ, parts, strict=True):
                total = self.builder.add(total, self._count(kind, part))
        elif isinstance(typ, types.Integer):  # a length, perhaps
            total = self.context.cast(self.builder, value, typ, types.int64)
            total = self.builder.select(self.builder.icmp_signed("<", total, WORD(0)), self.builder.neg(total), total)
        return total

    def save_thread(self) -> Any:
        """Give the lock up, or not; the state of the thread, null where it keeps the lock."""
        builder = self.builder
        words = cgutils.add_global_variable(builder.module, ir.ArrayType(WORD, 2), "contad_brief_calls")
        words.initializer, words.linkage = ir.Constant(words.type.pointee, [0, -1]), "internal"
        before, size = (builder.gep(words, [WORD(0), WORD(k)]) for k in range(2))
        now = self._cycles()
        soon = builder.icmp_unsigned("<", builder.sub(now, builder.load(before)), WORD(SOON))
        keeps = builder.and_(soon, builder.icmp_signed("<=", self._size, builder.load(size)))
        builder.store(now, before)
        builder.store(self._size, size)
        state = cgutils.alloca_once_value(builder, ir.Constant(self.voidptr, None))
        with builder.if_then(builder.not_(keeps), likely=False):
            builder.store(super().save_thread(), state)
        return builder.load(state)

    def restore_thread(self, thread_state: Any) -> None:
        """Take the lock again where it was given up."""
        with self.builder.if_then(cgutils.is_not_null(self.builder, thread_state), likely=False):
            super().restore_thread(thread_state)

    def _cycles(self) -> Any:
        counter = self.builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(WORD, []))
        return self.builder.call(counter, [])


class _BriefWrapper(PyCallWrapper):
    """The function that Python calls."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        """As Numba's."""
        super().build_wrapper(_BriefAPI(self.context, builder), builder, closure, args, kws)


class _BriefLower(Lower):
    """Numba's way into machine code, with that wrapper."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Add the wrapper to the library."""
        module = self.context.create_module("wrapper")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        called = ir.Function(module, kind, self.fndesc.llvm_func_name)
        wrapper = _BriefWrapper(
            self.context, module, called, self.fndesc, self.env, call_helper=self.call_helper, release_gil=release_gil
        )
        wrapper.build()
        self.library.add_ir_module(module)


@register_pass(mutates_CFG=True, analysis_only=False)
class _BriefLowering(NativeLowering):
    _name = "brief_lowering"

    @property
    def lowering_class(self) -> Any:
        """What makes machine code of a function."""
        return _BriefLower if has_cycles() else Lower


class BriefCalls(CompilerBase):
    """Numba's compiler, as `njit(nogil=True, pipeline_class=BriefCalls)` takes it."""

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, with another last one."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_BriefLowering, text) if p is NativeLowering else (p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]
