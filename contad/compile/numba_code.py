"""Facts that Numba's analysis of a function gives: types and shapes of results, names it reads, recursive calls."""

import re
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType, TracebackType
from typing import Any

import numpy as np
from numba import NumbaError, types
from numba.core import compiler, compiler_machinery, ir, typed_passes
from numba.core.compiler import run_frontend
from numba.core.ir_utils import find_callname, find_const, get_definition, guard
from numba.core.registry import cpu_target

_MAKERS = {("empty", "numpy"), ("zeros", "numpy"), ("ones", "numpy"), ("full", "numpy")}


# ---- types -----------------------------------------------------------------------------------------------------------
@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class _Told(compiler_machinery.AnalysisPass):
    """Ends a Numba pipeline with the type that it inferred."""

    _name = "contad_told"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.cr = state.return_type
        return False


class _Types(compiler.CompilerBase):
    """Numba's compiler, up to type inference."""

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_untyped_pipeline(self.state)
        passes.add_pass(typed_passes.NopythonTypeInference, "types")
        passes.add_pass(_Told, "told")
        passes.finalize()
        return [passes]


def result_type(f: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """The return type of a function for arguments of these Numba types; None if Numba cannot type it."""
    flags = compiler.Flags()
    flags.nrt = True
    assert isinstance(f, FunctionType)
    try:
        return compiler.compile_extra(
            cpu_target.typing_context, cpu_target.target_context, f, given, None, flags, {}, pipeline_class=_Types
        )
    except Exception:  # Numba's errors, and any error that its typing raises on unknown code
        return None


# ---- shapes ----------------------------------------------------------------------------------------------------------
def literal_shape(f: Any) -> tuple[int, ...] | None:
    """The shape that every return of f has, if np.empty(2), np.zeros((2, 3)) or np.array([a, b]) makes it; else
    None."""
    try:
        code = run_frontend(f.py_func)
    except (NumbaError, NotImplementedError):
        return None
    found = {guard(_shape_of, code, s.value) for b in code.blocks.values() for s in b.body if isinstance(s, ir.Return)}
    shape = found.pop() if len(found) == 1 else None
    return shape if shape is not None and all(n > 0 for n in shape) else None


def _shape_of(code: Any, value: Any) -> tuple[int, ...] | None:
    """The shape of a variable that is assigned once."""
    made = get_definition(code, value)
    while isinstance(made, ir.Expr) and made.op == "cast":
        made = get_definition(code, made.value)
    if not isinstance(made, ir.Expr) or made.op != "call" or not made.args:
        return None
    name = find_callname(code, made)
    if name in _MAKERS:
        given = get_definition(code, made.args[0])
        is_tuple = isinstance(given, ir.Expr) and given.op == "build_tuple"
        shape = tuple(find_const(code, n) for n in (given.items if is_tuple else [made.args[0]]))
        return shape if all(isinstance(n, (int, np.integer)) for n in shape) else None
    if name == ("array", "numpy"):
        given = made.args[0]
        listed = get_definition(code, given)
        owner = get_definition(code, given, lhs_only=True)
        is_list = isinstance(listed, ir.Expr) and listed.op in ("build_list", "build_tuple")
        is_unnamed = isinstance(owner, ir.Var) and given.name == owner.name and given.name.startswith("$")
        return (len(listed.items),) if is_list and is_unnamed else None  # a list with a name may have grown
    return None


# ---- names and calls -------------------------------------------------------------------------------------------------
UNBOUND = ir.UNDEFINED  # the value of a name that the function reads before it binds the name


def names_read(overload: Any) -> list[tuple[str, Any]]:
    """The globals and captured names that compiled code has read, with the values that it has copied."""
    blocks = getattr(overload.type_annotation, "blocks", {}).values()
    reads = [s.value for block in blocks for s in block.body if isinstance(s, ir.Assign)]
    reads = [x for x in reads if isinstance(x, (ir.Global, ir.FreeVar))]
    return [(x.name, x.value) for x in reads if not isinstance(x.value, ModuleType)]


def texts_read(overload: Any) -> list[tuple[str, str]]:
    """The same for code from Numba's cache, which keeps its intermediate representation as text."""
    text = overload.type_annotation
    return re.findall(r" = (?:global|freevar)\((\w+): (.*)\)  :: ", text) if isinstance(text, str) else []


def recursive_calls(overload: Any) -> Iterator[tuple[Any, Any, Any]]:
    """(place, dispatcher, signature) of each recursive call in compiled code."""
    annotation = overload.type_annotation
    for call, signature in annotation.calltypes.items():
        if isinstance(call, ir.Expr) and call.op == "call" and signature is not None:
            callee = annotation.typemap.get(call.func.name)
            if isinstance(callee, types.RecursiveCall):
                yield call.loc, callee.dispatcher_type.dispatcher, signature


def places_of_typing(traceback: TracebackType | None) -> Iterator[tuple[str, int]]:
    """(file, line) of each expression that Numba was typing when it raised an error, outermost first."""
    while traceback is not None:
        loc = getattr(traceback.tb_frame.f_locals.get("self"), "loc", None)
        if isinstance(loc, ir.Loc):
            yield loc.filename, loc.line
        traceback = traceback.tb_next
