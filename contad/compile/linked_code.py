"""Functions without machine code of their own: LLVM optimises them once, together with their callers.

Numba optimises a function, makes machine code from it, and then links its IR into each caller and optimises that again.
A function that Python never calls and that has one caller can skip the first two passes. Generated derivatives are such
functions, and so are functions that Numba itself writes in Python, such as `np.zeros`, when a derivative calls them.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import GenericRewrites, InlineClosureLikes, IRProcessing

from contad.compile.emitted_arrays import EmitNewArrays
from contad.compile.emitted_choices import EmitChoices
from contad.compile.lean_lowering import LeanLower
from contad.compile.lean_passes import InlineClosuresIfAny, RewriteNames, RewriteTyped, list_names_quickly
from contad.compile.type_inference import join_passes, remember_calls

_CELL = ir.IntType(8).as_pointer()


class _LinkedLibrary(JITCodeLibrary):
    """The code of a function until it is linked into its callers."""

    is_linked = True

    def _optimize_final_module(self) -> None:
        """Do nothing: its callers optimise it."""

    def _finalize_final_module(self) -> None:
        """Only make it ready to be linked, and define the cell of its environment, which Numba fills in."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        module = ir.Module(f"{self.name} cells")
        for x in self._final_module.global_variables:
            if x.linkage == llvm.Linkage.common and not self._codegen._engine.is_symbol_defined(x.name):
                cell = ir.GlobalVariable(module, _CELL, x.name)
                cell.linkage, cell.initializer = "common", ir.Constant(_CELL, None)
        self._codegen._add_module(llvm.parse_assembly(str(module)))
        self._codegen._engine.finalize_object()  # functions without machine code get no address
        self._finalized = True


class _DeferredLibrary(_LinkedLibrary):
    """Code that becomes machine code only when Numba asks for the address of a function, as it does for calls from
    Python."""

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        for x in self._final_module.functions:
            if not x.is_declaration:
                _deferred.setdefault(x.name, self)
        if any(x.name.startswith(RuntimeLinker.PREFIX) for x in self._final_module.global_variables):
            self._make()  # recursive functions call addresses

    def get_pointer_to_function(self, name: str) -> int:
        """The address of a function; 0 if it is not in this library."""
        self._ensure_finalized()
        if self.is_linked and any(f.name == name and not f.is_declaration for f in self._final_module.functions):
            self._make()
        return int(super().get_pointer_to_function(name))

    def _get_compiled_object(self) -> Any:
        """The machine code for the disk."""
        if self.is_linked:
            self._make()
        return super()._get_compiled_object()

    def _make(self) -> None:
        """Make machine code, as Numba does."""
        self.is_linked, self._shared_module = False, None
        self._dynamic_globals.clear()
        JITCodeLibrary._optimize_final_module(self)
        JITCodeLibrary._finalize_final_module(self)

    @classmethod
    def _unserialize(cls, codegen: Any, state: Any) -> Any:
        with _libraries(codegen, JITCodeLibrary):  # it is machine code already
            return JITCodeLibrary._unserialize(codegen, state)


_deferred: WeakValueDictionary[str, _DeferredLibrary] = WeakValueDictionary()  # by the names of their functions


class _Linker(RuntimeLinker):
    """Numba's linker, which fills in the targets of recursive calls. It compiles these targets first."""

    def scan_unresolved_symbols(self, module: Any, engine: Any) -> None:
        """Note the functions that a module calls by address."""
        super().scan_unresolved_symbols(module, engine)
        for name in list(self._unresolved):
            if name in _deferred:
                _deferred[name].get_pointer_to_function(name)


@contextmanager
def _libraries(codegen: Any, kind: type[JITCodeLibrary]) -> Iterator[None]:
    before, codegen._library_class = codegen._library_class, kind
    try:
        yield
    finally:
        codegen._library_class = before


@contextmanager
def defer_code() -> Iterator[None]:
    """Inside, callees are linked into a function, and optimised only together with it."""
    codegen = cpu_target.target_context.codegen()
    codegen._rtlinker.__class__ = _Linker  # from now on: users' functions may call this code
    with global_compiler_lock:
        rtsys.initialize(cpu_target.target_context)  # Numba's own functions, whose addresses the linker asks for
        with (
            _libraries(codegen, _DeferredLibrary), remember_calls(), _refresh_if_grown(), _without_timers(),
            _without_collections(), _escape_by_table(), list_names_quickly(),
        ):  # fmt: skip
            yield


def calls_function(dispatcher: Any, names: frozenset[str]) -> bool:
    """Whether the compiled code of a Numba function, with the code linked into it, calls C functions of these names."""
    modules = [x.library._final_module for x in dispatcher.overloads.values()]
    return any(x.is_declaration and x.name in names for module in modules for x in module.functions)


@contextmanager
def _without_timers() -> Iterator[None]:
    """Inside, Numba does not time each of the thousands of calls of LLVM."""
    lock = llvm.ffi.lib._lock
    with lock._lock:
        timers, lock._cblist = lock._cblist, []
    try:
        yield
    finally:
        with lock._lock:
            lock._cblist = timers


_ESCAPED = np.frombuffer("".join(f"\\{k:02x}" for k in range(256)).encode(), np.uint8).reshape(256, 3)


@contextmanager
def _escape_by_table() -> Iterator[None]:
    """Inside, the bytes of constant arrays become text at once: llvmlite looks up one after the other, many times."""
    before = ir.values._escape_string

    def escape(text: Any) -> str:
        if isinstance(text, str) or len(text) < 1000:
            return str(before(text))
        return _ESCAPED[np.frombuffer(text, np.uint8)].tobytes().decode()

    ir.values._escape_string = escape
    try:
        yield
    finally:
        ir.values._escape_string = before


@contextmanager
def _refresh_if_grown() -> Iterator[None]:
    """Inside, Numba looks for new overloads only if there are any, and not with each function that it compiles."""
    context, known = cpu_target.target_context, -1

    def refresh() -> None:
        nonlocal known
        if known != (known := _count_registered(context)):
            type(context).refresh(context)

    if "refresh" in vars(context):
        yield
        return
    context.refresh = refresh
    try:
        yield
    finally:
        del context.refresh


def _count_registered(context: Any) -> int:
    """How many overloads, attributes, casts and constants Numba's registries have."""
    loaders = [*context._registries.items(), *context.typing_context._registries.items()]
    return sum(len(getattr(registry, name)) for registry, loader in loaders for name in loader.registry_items)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Inside, Python's garbage collector waits: it would walk the compiler's live trees again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):
    """Numba's last pass, which lowers into a `_LinkedLibrary`."""

    _name = "linked_lowering"
    lower = LeanLower
    library: type[JITCodeLibrary] = _LinkedLibrary

    @property
    def lowering_class(self) -> Any:
        """The class that lowers a function to LLVM IR."""
        return self.lower

    def run_pass(self, state: Any) -> bool:
        """Numba's pass."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


_PASSES: dict[Any, Any] = {
    InlineClosureLikes: InlineClosuresIfAny, GenericRewrites: RewriteNames, NopythonRewrites: RewriteTyped,
}  # fmt: skip


class LinkedCode(CompilerBase):
    """Numba's compiler with this last pass and the other passes for generated code."""

    lowering: type[NativeLowering] = LinkedLowering

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        own = _PASSES | {NativeLowering: self.lowering}
        passes.passes = [
            (own.get(numbas, numbas), text) for numbas, text in join_passes(passes.passes)
        ]
        passes.add_pass_after(EmitNewArrays, IRProcessing)
        passes.add_pass_after(EmitChoices, IRProcessing)
        passes.finalize()
        return [passes]


def link(**options: Any) -> Any:
    """`numba.njit(**options)` for a function that only compiled code calls, and which is linked into its callers."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=LinkedCode, **options)
