"""The types that Numba gives to an expression of the user's, and what they are in a program."""

from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from numba import types
from numba.core import compiler, compiler_machinery, typed_passes
from numba.core.registry import cpu_target

from contad.engines.source.ir.single_assignment import MOST_AXES, SINGLE, Kind

BASES = {"float64": "float", "int64": "int", "bool": "bool"}
NARROW = ("int32", "int16", "int8")
# what a call may write into, or hand out parts of
MUTABLE = (
    types.List, types.ListType, types.DictType, types.Set, types.ClassInstanceType, types.StructRef, types.Record,
    types.NumPyRandomGeneratorType,
)  # fmt: skip


@compiler_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class _Told(compiler_machinery.AnalysisPass):
    """Ends a pipeline of Numba's with the type that it has found."""

    _name = "contad_told"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.cr = state.return_type
        return False


class _Types(compiler.CompilerBase):
    """Numba's compiler as far as type inference."""

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_untyped_pipeline(self.state)
        passes.add_pass(typed_passes.NopythonTypeInference, "types")
        passes.add_pass(_Told, "told")
        passes.finalize()
        return [passes]


def result_type(f: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """The type of what a function returns at arguments of Numba types; None where Numba cannot type it."""
    flags = compiler.Flags()
    flags.nrt = True
    assert isinstance(f, FunctionType)
    try:
        return compiler.compile_extra(
            cpu_target.typing_context, cpu_target.target_context, f, given, None, flags, {}, pipeline_class=_Types
        )
    except Exception:  # Numba's errors, and whatever its typing of code that it does not know raises
        return None


def number_type(kind: Kind, readonly: bool) -> Any:
    """The Numba type of a number or array of a program. Layouts are not known: an array may be any."""
    base = {"float": types.float64, "int": types.int64, "bool": types.boolean}[kind.base]
    if not kind.ndim:
        return base
    base = types.float32 if kind.small == "single" else types.int32 if kind.narrow else base
    return types.Array(base, kind.ndim, "C", readonly=readonly)


def kind_of(t: Any) -> Any:
    """The kind of a result of a Numba type: a kind, a tuple of kinds, or None where a program has none."""
    if isinstance(t, types.Literal):
        return kind_of(t.literal_type)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and str(t.dtype) in (*BASES, *NARROW):
        return Kind(BASES.get(str(t.dtype), "int"), t.ndim, str(t.dtype) in NARROW)
    if isinstance(t, types.Array) and 1 <= t.ndim <= MOST_AXES and t.dtype == types.float32:
        return replace(SINGLE, ndim=t.ndim, narrow=True)
    if t == types.float32:
        return SINGLE
    if isinstance(t, types.BaseTuple):
        parts = [kind_of(part) for part in t.types]
        if None in parts:
            return None
        return t.instance_class._make(parts) if isinstance(t, types.BaseNamedTuple) else tuple(parts)
    return Kind(BASES[str(t)]) if str(t) in BASES else None


def is_fresh(t: Any) -> bool:
    """Whether an array of this type shares no memory with read-only arguments: it can be written."""
    return bool(t.mutable)
