"""Numba compiles with few of LLVM's passes: tests run what they compile a few times, and compiling is what takes long.

`NUMBA_OPT=0` alone does more, and leaves a reference to each function that a function calls, by its address in this
process, so that no machine code could be kept on disk. Here what nobody reads is removed, and nothing else is done. The
level that Numba tells stays as it was, so that processes which tests start share what is compiled here.
"""

import contextlib

from numba.core import codegen, config
from numba.core.codegen import CPUCodegen, CPUCodeLibrary, JITCPUCodegen

FULL = {
    (CPUCodegen, "_module_pass_manager"): CPUCodegen._module_pass_manager,
    (CPUCodeLibrary, "_optimize_functions"): CPUCodeLibrary._optimize_functions,
    (CPUCodeLibrary, "_optimize_final_module"): CPUCodeLibrary._optimize_final_module,
}


def _set_layout(library, module):
    module.data_layout = library._codegen._data_layout


def _run_few_passes(library):
    passes, builder = library._codegen._module_pass_manager(opt=0, loop_vectorize=False, slp_vectorize=False)
    passes.add_dead_code_elimination_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.run(library._final_module, builder)


FEW = FULL | {
    (CPUCodeLibrary, "_optimize_functions"): _set_layout,
    (CPUCodeLibrary, "_optimize_final_module"): _run_few_passes,
}


def _install(methods):
    for (owner, name), method in methods.items():
        setattr(owner, name, method)


def _select_fast(target, options, full=JITCPUCodegen._customize_tm_options):
    """Instructions are chosen one by one."""
    full(target, options)
    options["opt"] = 0


def begin():
    """From now on, in this process, unless more is asked for. Before Numba 0.62 passes had other names."""
    if config.OPT == 1 and hasattr(codegen, "create_pass_builder"):
        _install(FEW)
        JITCPUCodegen._customize_tm_options = _select_fast


begin()  # Numba chooses how it selects instructions when it compiles first, which importing contad does


@contextlib.contextmanager
def optimised():
    """Inside, functions are compiled as `NUMBA_OPT` says: for tests that look at machine code."""
    before = {(owner, name): getattr(owner, name) for owner, name in FULL}
    _install(FULL)
    try:
        yield
    finally:
        _install(before)
