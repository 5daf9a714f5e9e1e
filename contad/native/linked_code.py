"""Functions that are no machine code of their own: they are optimised with what calls them, once.

Numba optimises a function, makes machine code of it, and then links what it was into each caller, which it optimises
with it. What Python never calls and has one caller, a generated derivative above all, need not wait for the first two.
"""

from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

_CELL = ir.IntType(8).as_pointer()


class _LinkedLibrary(JITCodeLibrary):
    """The code of a function until it is linked into that of its callers."""

    is_linked = True

    def _optimize_final_module(self) -> None:
        """Its callers do."""

    def _finalize_final_module(self) -> None:
        """Make it ready to be linked, and no more; but for the cell of its environment, which Numba fills in."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        module = ir.Module(f"{self.name} cells")
        for x in self._final_module.global_variables:
            if x.linkage == llvm.Linkage.common and not self._codegen._engine.is_symbol_defined(x.name):
                cell = ir.GlobalVariable(module, _CELL, x.name)
                cell.linkage, cell.initializer = "common", ir.Constant(_CELL, None)
        self._codegen._add_module(llvm.parse_assembly(str(module)))
        self._finalize_specific()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Numba's pass, into a library of that kind."""
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class _LinkedCode(CompilerBase):
    """Numba's compiler with that last pass."""

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_LinkedLowering, text) if p is NativeLowering else (p, text) for p, text in passes.passes]
        passes.finalize()
        return [passes]


def link(**options: Any) -> Any:
    """`numba.njit(**options)` for a function that only compiled code calls, whose machine code is a part of that."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=_LinkedCode, **options)
