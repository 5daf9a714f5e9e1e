"""Numba compiles with few of LLVM's passes: tests run what they compile a few times, and compiling is what takes long.

`NUMBA_OPT=0` alone does more, and leaves a reference to each function that a function calls, by its address in this
process, so that no machine code could be kept on disk. Here what nobody reads is removed, and nothing else is done. The
level that Numba tells stays as it was, so that processes which tests start share what is compiled here.
`python -m tests.judges.light_compiling file.py` runs a script so. With `LIGHT_COMPILING` in the environment Numba may
tell another level than that of tests, whose kernels the cache has: only what is missing is compiled with few passes.

Numba gives each function copies of all that it calls, to be inlined. Nothing is inlined here, so that a function calls
others where they are; but for one that is kept on disk, which has to have them with it in another process.
"""

import contextlib
import functools
import os
import runpy
import sys
from pathlib import Path

from numba.core import codegen, config
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.codegen import CPUCodegen, CPUCodeLibrary, JITCodeLibrary, JITCPUCodegen
from numba.core.dispatcher import Dispatcher

from tests.judges import light_typing

IS_OLD = not hasattr(codegen, "create_pass_builder")  # before Numba 0.62 passes have other names
FULL = {
    (CPUCodegen, "_module_pass_manager"): CPUCodegen._module_pass_manager,
    (CPUCodeLibrary, "_optimize_functions"): CPUCodeLibrary._optimize_functions,
    (CPUCodeLibrary, "_optimize_final_module"): CPUCodeLibrary._optimize_final_module,
}
WHOLE = []  # whether functions have copies of what they call in any case
IMAGES = "contad.compile.image_code"  # whose functions are kept on disk, too
KEPT = []  # of each function that is being compiled, the innermost last: whether it is kept on disk


def _set_layout(library, module):
    module.data_layout = library._codegen._data_layout


def _run_few_passes(library):
    if config.OPT > 1 and type(library).__module__ == IMAGES:  # which has to have no function that nobody calls
        FULL[CPUCodeLibrary, "_optimize_final_module"](library)
    elif IS_OLD:
        passes = codegen.ll.create_module_pass_manager()
        passes.add_dead_code_elimination_pass()
        passes.add_global_dce_pass()
        passes.run(library._final_module)
    else:
        passes, builder = library._codegen._module_pass_manager(opt=0, loop_vectorize=False, slp_vectorize=False)
        passes.add_dead_code_elimination_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(library._final_module, builder)


def _callees(library, found):
    """The libraries of all functions that functions of a library call, one after another, in `found`."""
    for callee in library._linking_libraries:
        if callee not in found:
            found[callee] = None
            if not getattr(callee, "is_whole", False):
                _callees(callee, found)
    return found


def _parts(library, found):
    """Those of the functions that functions of a library call which are no machine code of their own."""
    for callee in library._linking_libraries:
        if getattr(callee, "is_linked", False) and callee not in found:
            found[callee] = None
            _parts(callee, found)
    return found


def _finalize(library):
    library._raise_if_finalized()
    if not IS_OLD:
        for callee in library._linking_libraries:
            library._reload_init.update(callee._reload_init)
    library.is_whole = bool(WHOLE) or (bool(KEPT) and KEPT[-1]) or type(library).__module__ == IMAGES
    for callee in _callees(library, {}) if library.is_whole else _parts(library, {}):
        library._final_module.link_in(callee._get_module_for_linking(), preserve=True)
    library._optimize_final_module()
    library._final_module.verify()
    library._finalize_final_module()


def _verify_declarations(library):
    for function in library._final_module.functions:
        if function.is_declaration and function.name.startswith("_ZN5numba"):
            assert library._codegen._engine.is_symbol_defined(function.name), function.name


def _noting(compile_function):
    @functools.wraps(compile_function)
    def noted(function, *args):
        KEPT.append(not isinstance(function._cache, NullCache))
        try:
            return compile_function(function, *args)
        finally:
            KEPT.pop()

    return noted


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
    """From now on, in this process, unless more is asked for."""
    if config.OPT == 1 or "LIGHT_COMPILING" in os.environ:
        _install(FEW)
        JITCodeLibrary.finalize, JITCodeLibrary._verify_declare_only_symbols = _finalize, _verify_declarations
        JITCPUCodegen._customize_tm_options = _select_fast
        Dispatcher.compile = _noting(Dispatcher.compile)
        CFunc.compile = _noting(CFunc.compile)


light_typing.begin()
begin()  # Numba chooses how it selects instructions when it compiles first, which importing contad does


@contextlib.contextmanager
def whole():
    """Inside, functions have copies of all that they call: for tests that read LLVM's text."""
    WHOLE.append(True)
    try:
        yield
    finally:
        WHOLE.pop()


@contextlib.contextmanager
def optimised():
    """Inside, functions are compiled as `NUMBA_OPT` says: for tests that look at machine code."""
    before = {(owner, name): getattr(owner, name) for owner, name in FULL}
    _install(FULL)
    try:
        with whole():
            yield
    finally:
        _install(before)


if __name__ == "__main__":
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    runpy.run_path(sys.argv[0], run_name="__main__")
