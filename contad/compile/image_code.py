"""How Numba makes an image: one function that C can call, which contains its callees and has no Python wrapper."""

import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Flags, compile_extra
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.sigutils import normalize_signature

from contad.compile.compiling import Image
from contad.compile.lean_lowering import LeanLower
from contad.compile.linked_code import LinkedCode, LinkedLowering, defer_code, link
from contad.compile.machine_code import FLAGS
from contad.errors import UnsupportedError

OPTIONS: dict[str, Any] = {"error_model": "numpy", "boundscheck": False, "_nrt": False}  # no references are counted
_SETTINGS = "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", *(x for x in FLAGS if x != "USING_SVML")  # of Numba
_HIGHEST = 3  # optimisation
_EXCEPTION = "picklebuf"  # in Numba's names of exceptions
_WRAPPER = "cfunc."  # the prefix of Numba's names of functions for C
_made: list[Image] = []


def _import_arrays() -> None:
    """Import Numba's support of arrays, but not SciPy, which takes 0.1 s: Numba asks whether SciPy is installed.

    Numba asks again when a function calls SciPy.
    """
    from numba.np import linalg

    ask, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = ask
    finally:
        linalg.ensure_blas = ask


_import_arrays()


@contextmanager
def _without_unrolling(codegen: Any) -> Iterator[None]:
    """Inside, LLVM does not unroll loops: unrolled vector loops are no faster, and compile 20% longer."""

    def build(opt: int = config.OPT, **vectorize: bool) -> Any:
        tuning = llvm.create_pipeline_tuning_options(opt)
        tuning.loop_vectorization = vectorize.get("loop_vectorize", config.LOOP_VECTORIZE)
        tuning.slp_vectorization = vectorize.get("slp_vectorize", config.SLP_VECTORIZE)
        tuning.loop_unrolling = False
        return llvm.create_pass_builder(codegen._tm, tuning)

    codegen._pass_builder = build  # before the method of the class, which older versions of Numba do not have
    try:
        yield
    finally:
        del codegen._pass_builder


class _ImageLibrary(JITCodeLibrary):
    """The code of the function. This process does not load it."""

    def _optimize_final_module(self) -> None:
        """Drops everything that the function for C does not need, and defines reference counting for code that others
        compiled."""
        if any(x.is_declaration and x.name.startswith("NRT_") for x in self._final_module.functions):
            self._final_module.link_in(rtsys.library._get_module_for_linking(), preserve=True)
        for x in self._final_module.functions:
            if not x.is_declaration and not x.name.startswith(_WRAPPER):
                x.linkage = "internal"
        with _without_unrolling(self._codegen):
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        module = self._final_module
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        (function,) = [x for x in module.functions if x.name.startswith(_WRAPPER)]
        is_clean = config.OPT == _HIGHEST  # else functions that nobody calls are still there
        if is_clean and any(_EXCEPTION in x.name for x in module.global_variables):
            raise UnsupportedError(f"{_stems[-1]}: a function for C cannot raise; compile it with Numba's njit")
        function.name = f"contad_{_stems[-1]}"
        names = [*module.functions, *module.global_variables]
        calls = sorted(x.name for x in names if x.is_declaration and not x.name.startswith("llvm."))
        _made.append(Image(function.name, tuple(calls), self._codegen._tm.emit_object(module)))
        self._finalized = True


_stems: list[str] = []  # of the code being compiled


class _ImageLower(LeanLower):
    """Numba's lowering to LLVM IR, with an entry for C that does not need Numba."""

    def create_cfunc_wrapper(self) -> None:
        """Add the function for C, which raises nothing."""
        context, of = self.context, self.fndesc
        module = context.create_module("function_for_c")
        called = ir.Function(module, context.call_conv.get_function_type(of.restype, of.argtypes), of.llvm_func_name)
        kind = ir.FunctionType(context.get_value_type(of.restype), [context.get_value_type(x) for x in of.argtypes])
        function = ir.Function(module, kind, of.llvm_cfunc_wrapper_name)
        builder = ir.IRBuilder(function.append_basic_block())
        _, found = context.call_conv.call_function(builder, called, of.restype, of.argtypes, function.args)
        builder.ret(found)
        self.library.add_ir_module(module)


@register_pass(mutates_CFG=True, analysis_only=False)
class _ImageLowering(LinkedLowering):
    _name = "image_lowering"
    lower = _ImageLower
    library = _ImageLibrary


class _ImageCode(LinkedCode):
    """Numba's compiler for generated code, with `_ImageLower` as its last pass."""

    lowering = _ImageLowering


def builtin_function(function: Callable[..., Any]) -> Image:
    """Make the image of a function of three words that Python can call (`contad.python_objects.python_objects`)."""
    return c_function("int64(int64, int64, int64)")(function)


def c_function(signature: str) -> Callable[[Callable[..., Any]], Image]:
    """Make the image of a function; UnsupportedError if it can raise."""

    def decorate(function: Callable[..., Any]) -> Image:
        flags = Flags()
        cpu_target.options.parse_as_flags(flags, {"nopython": True, **OPTIONS})
        flags.no_cpython_wrapper = flags.no_compile = True
        kinds, result = normalize_signature(signature)
        context = cpu_target.typing_context, cpu_target.target_context
        with defer_code():
            compile_extra(*context, function, kinds, result, flags, {}, pipeline_class=_ImageCode).library.finalize()
        return _made.pop()

    return decorate


def inline(function: Callable[..., Any]) -> Any:
    """A function that only the function for C calls."""
    return link(**OPTIONS)(function)


def compile_image(stem: str, text: str) -> tuple[Image, bool]:
    """The image of the one function for C in a generated module, and whether other processes may use it."""
    name = f"contad._generated.{stem}"
    path = f"<{name}>"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path  # for messages about it
    module = ModuleType(name)
    module.__file__ = path
    with global_compiler_lock:
        sys.modules[name] = module
        _stems.append(stem)
        try:
            exec(compile(text, path, "exec"), module.__dict__)
        finally:
            _stems.pop()
            del sys.modules[name]
    (found,) = [x for x in vars(module).values() if isinstance(x, Image)]
    return found, _is_as_configured()


def _is_as_configured() -> bool:
    """Whether Numba compiles as in another process: nobody has changed its options in this process."""
    spec = importlib.util.find_spec("numba.core.config")
    assert spec is not None and spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return all(getattr(fresh, x) == getattr(config, x) for x in _SETTINGS)
