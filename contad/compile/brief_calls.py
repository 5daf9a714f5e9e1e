"""Compiled functions that hold the GIL during calls that take a few microseconds.

Releasing the lock and taking it again costs as much as the gradient of fifty terms, and other threads gain nothing from
so short a release. A call keeps the lock if it follows soon after another call of the same function, which must then
have been brief, and if its arguments hold no more numbers. The processor's cycle counter measures the interval. All
other calls release the lock.

Calls whose results are new borrow their array arguments, and return copies of small results to Python.
"""

import sys
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

from contad.compile.array_objects import FEW, emit_copy, is_copied
from contad.compile.words import WORD, external_words, place

SOON = 1 << 14  # cycles
_KIND, _DESCRIPTOR = 1, 7  # words of NumPy's array object: its class and its dtype
_ORDER, _SWAPPED = 26, ord(">" if sys.byteorder == "little" else "<")  # a byte of the dtype: the byte order


def has_cycles() -> bool:
    """Whether user code may read the cycle counter on this processor, according to LLVM."""
    return bool(llvm.get_process_triple().startswith("x86_64"))


class _BriefAPI(PythonAPI):
    """The Python API that the wrapper of a function calls. It releases the lock unless it expects the call to be
    brief."""

    def __init__(self, context: Any, builder: Any) -> None:
        super().__init__(context, builder)
        self._size: Any = ir.Constant(WORD, 0)
        self._depth = 0
        self.what, self.names = "a compiled derivative", iter(())  # in messages

    def to_native_value(self, typ: Any, obj: Any) -> Any:
        """An argument; this counts its numbers."""
        if not self._depth:
            self._argument, self._name = obj, next(self.names, "an argument")
        self._depth += 1
        native = super().to_native_value(typ, obj)
        self._depth -= 1
        if not self._depth:
            self._size = self.builder.add(self._size, self._count(typ, native.value))
        return native

    def nrt_adapt_ndarray_from_python(self, ary: Any, ptr: Any) -> Any:
        """Read an array, unless NumPy would read it differently: Numba ignores masks and the byte order.

        Python decides about swapped arrays and other classes: subclasses of arrays, and objects that are not arrays.
        """
        builder = self.builder
        address, plain = builder.ptrtoint(ary, WORD), external_words(builder.module, "contad_array_class", 1)
        kind = builder.load(place(builder, address, _KIND))
        is_plain = builder.icmp_unsigned("==", kind, builder.ptrtoint(plain, WORD))
        asks = cgutils.alloca_once_value(builder, builder.not_(is_plain))
        with builder.if_then(is_plain, likely=True):
            descriptor = builder.inttoptr(builder.load(place(builder, address, _DESCRIPTOR)), self.voidptr)
            order = builder.load(builder.gep(descriptor, [WORD(_ORDER)]))
            builder.store(builder.icmp_unsigned("==", order, order.type(_SWAPPED)), asks)
        failure = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), 0))
        with builder.if_then(builder.load(asks), likely=False):
            builder.store(self._ask_python(ary), failure)
        with builder.if_then(builder.icmp_unsigned("==", builder.load(failure), failure.type.pointee(0)), likely=True):
            builder.store(self._adapt(ary, ptr), failure)
        return builder.load(failure)

    def _ask_python(self, ary: Any) -> Any:
        """0 if Python accepts an array, -1 if it raises."""
        builder = self.builder
        code = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), -1))
        name = self.context.insert_const_string(self.module, "contad.numba_functions.array_arguments")
        load = self._get_function(ir.FunctionType(self.pyobj, [self.cstring]), name="PyImport_ImportModule")
        module = builder.call(load, [name])
        with cgutils.if_likely(builder, cgutils.is_not_null(builder, module)):
            check = self.object_getattr_string(module, "require_array_read")
            self.decref(module)
            named = (self.what, self._name)
            texts = [self.string_from_string(self.context.insert_const_string(self.module, text)) for text in named]
            none = self.call_function_objargs(check, [ary, self._argument, *texts])
            for made in (check, *texts):
                self.decref(made)
            with builder.if_then(cgutils.is_not_null(builder, none)):
                self.decref(none)
                builder.store(code.type.pointee(0), code)
        return builder.load(code)

    def _adapt(self, ary: Any, ptr: Any) -> Any:
        return super().nrt_adapt_ndarray_from_python(ary, ptr)

    def err_set_string(self, exctype: Any, msg: Any) -> None:
        """Raise an exception, unless a more specific one is already set."""
        with self.builder.if_then(cgutils.is_null(self.builder, self.err_occurred())):
            super().err_set_string(exctype, msg)

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
        """Release the lock, or keep it; the result is the thread state, or null if it keeps the lock."""
        if not has_cycles():
            return super().save_thread()
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
        """Take the lock again if it was released."""
        with self.builder.if_then(cgutils.is_not_null(self.builder, thread_state), likely=False):
            super().restore_thread(thread_state)

    def _cycles(self) -> Any:
        counter = self.builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(WORD, []))
        return self.builder.call(counter, [])


class _BorrowingAPI(_BriefAPI):
    """The same for a function whose results are new: it borrows its array arguments.

    Numba takes a reference to each array, for which it allocates and frees memory. Here the caller holds the arrays. A
    result without memory of its own can only be an argument's memory, and is copied.
    """

    def __init__(self, context: Any, builder: Any) -> None:
        super().__init__(context, builder)
        self._borrows = False

    def to_native_value(self, typ: Any, obj: Any) -> Any:
        """An argument. Tuples are fine: nobody can remove an array from a tuple meanwhile, as from a list."""
        if not self._depth:
            self._borrows = _holds_arrays_itself(typ)
        return super().to_native_value(typ, obj)

    def _adapt(self, ary: Any, ptr: Any) -> Any:
        if not self._borrows:
            return super()._adapt(ary, ptr)
        kind = ir.FunctionType(ir.IntType(32), [self.pyobj, self.voidptr])
        return self.builder.call(self._get_function(kind, name="numba_adapt_ndarray"), (ary, ptr))

    def nrt_adapt_ndarray_to_python(self, aryty: Any, ary: Any, dtypeptr: Any) -> Any:
        """An array as an object; a small one becomes a new array with memory of its own."""
        builder = self.builder
        array = self.context.make_array(aryty)(self.context, builder, ary)
        is_own = cgutils.is_not_null(builder, array.meminfo)
        made = cgutils.alloca_once(builder, self.pyobj)
        is_small = cgutils.false_bit
        if is_copied(aryty):
            is_small = builder.icmp_signed("<=", array.nitems, WORD(FEW))
        with builder.if_else(is_small) as (few, many):
            with few:
                if is_copied(aryty):
                    builder.store(emit_copy(builder, aryty, array, self.pyobj), made)
            with many:
                builder.store(super().nrt_adapt_ndarray_to_python(aryty, ary, dtypeptr), made)
                is_made = cgutils.is_not_null(builder, builder.load(made))
                with builder.if_then(builder.and_(is_made, builder.not_(is_own)), likely=False):
                    borrowed = builder.load(made)
                    builder.store(self.call_method(borrowed, "copy"), made)
                    self.decref(borrowed)
        return builder.load(made)


def _holds_arrays_itself(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return all(map(_holds_arrays_itself, kind))
    return isinstance(kind, (types.Array, types.Number, types.Boolean, types.NoneType))


class _BriefWrapper(PyCallWrapper):
    """The function that Python calls."""

    api: type[_BriefAPI] = _BriefAPI
    called: Any = None  # the names of the function and of its arguments in messages

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        """As Numba's."""
        api = self.api(self.context, builder)
        api.what, names = self.called or (api.what, ())
        given = zip(names, self.fndesc.argtypes, strict=False)
        api.names = iter([name for name, t in given if not isinstance(t, types.Omitted)])
        super().build_wrapper(api, builder, closure, args, kws)


class _BorrowingWrapper(_BriefWrapper):
    """The same, which borrows arrays."""

    api = _BorrowingAPI


class _BriefLower(Lower):
    """Numba's lowering, with this wrapper."""

    wrapper: type[_BriefWrapper] = _BriefWrapper

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        """Add the wrapper to the library."""
        module = self.context.create_module("wrapper")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        called = ir.Function(module, kind, self.fndesc.llvm_func_name)
        wrapper = self.wrapper(
            self.context, module, called, self.fndesc, self.env, call_helper=self.call_helper, release_gil=release_gil
        )
        wrapper.called = self.func_ir.func_id.func.__globals__.get("__called")
        wrapper.build()
        self.library.add_ir_module(module)


class _BorrowingLower(_BriefLower):
    """The same, for functions that borrow arrays."""

    wrapper = _BorrowingWrapper


@register_pass(mutates_CFG=True, analysis_only=False)
class _BriefLowering(NativeLowering):
    _name = "brief_lowering"
    lower: type[_BriefLower] = _BriefLower

    @property
    def lowering_class(self) -> Any:
        """The class that lowers a function."""
        return self.lower


@register_pass(mutates_CFG=True, analysis_only=False)
class _BorrowingLowering(_BriefLowering):
    _name = "borrowing_lowering"
    lower = _BorrowingLower


class BriefCalls(CompilerBase):
    """Numba's compiler, as `njit(nogil=True, pipeline_class=BriefCalls)` takes it."""

    lowering: type[_BriefLowering] = _BriefLowering

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, with another last one."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(self.lowering, text) if p is NativeLowering else (p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]


class BorrowingCalls(BriefCalls):
    """The same for functions whose results are new: they read array arguments without taking references."""

    lowering = _BorrowingLowering
