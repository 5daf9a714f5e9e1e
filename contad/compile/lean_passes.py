"""Numba's passes for generated code, without analyses whose results nobody uses.

Each pass analyses the live ranges of all names once or twice, and the last pass before lowering repeats this analysis.
The search for closures, which are rare in generated code, does the same, and so does the search for array expressions.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core import ir, postproc
from numba.core.compiler_machinery import register_pass
from numba.core.rewrites import rewrite_registry
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import GenericRewrites, InlineClosureLikes


class _NoLifetimes:
    """Stands in for the analysis of live ranges."""

    def __init__(self, func_ir: Any) -> None:
        pass

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Skip the analysis."""


@contextmanager
def _without_lifetimes() -> Iterator[None]:
    """Inside, passes skip the analysis. The caller holds Numba's lock."""
    before, postproc.PostProcessor = postproc.PostProcessor, _NoLifetimes
    try:
        yield
    finally:
        postproc.PostProcessor = before


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineClosuresIfAny(InlineClosureLikes):
    """Numba's pass, skipped unless the code contains an inner function, or a list, which may be a list
    comprehension."""

    _name = "inline_closures_if_any"

    def run_pass(self, state: Any) -> bool:
        """Inline closures."""
        if _has_any(state, "make_function", "build_list"):
            return bool(super().run_pass(state))
        _define_names(state.func_ir.blocks.values())
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class RewriteNames(GenericRewrites):
    """Numba's rewrites before type inference."""

    _name = "rewrite_names"

    def run_pass(self, state: Any) -> bool:
        """Rewrite."""
        with _without_lifetimes():
            return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class RewriteTyped(NopythonRewrites):
    """Numba's rewrites after type inference. They need live ranges only for array expressions."""

    _name = "rewrite_typed"

    def run_pass(self, state: Any) -> bool:
        """Rewrite."""
        if _makes_arrays(state) or _has_any(state, "build_list"):
            return bool(super().run_pass(state))
        with _without_lifetimes():
            rewrite_registry.apply("after-inference", state)
        return True


def _define_names(blocks: Any) -> None:
    """Define each name in each scope, as Numba does for each block; nearly all blocks have the same scope."""
    used = {x.name: x for block in blocks for statement in block.body for x in statement.list_vars()}
    for scope in {id(block.scope): block.scope for block in blocks}.values():
        for name, x in used.items():
            if name not in scope.localvars:
                scope.localvars.define(name, x)


_WITHOUT_NAMES = {str, int, bool, type(None), ir.Loc, ir.Const, ir.Global, ir.FreeVar, ir.Arg}


@contextmanager
def list_names_quickly() -> Iterator[None]:
    """Inside, Numba lists the names in a statement without a call for each of its parts. The caller holds its lock."""
    before = ir.Inst._rec_list_vars

    def list_names(statement: Any, part: Any) -> list[Any]:
        kind = type(part)
        if kind not in (dict, list, tuple):
            return list(before(statement, part))
        found = []
        for x in part.values() if kind is dict else part:
            kind = type(x)
            if kind is ir.Var:
                found.append(x)
            elif kind is ir.Expr:
                found += list_names(x, x._kws)
            elif kind not in _WITHOUT_NAMES:
                found += statement._rec_list_vars(x)
        return found

    ir.Inst._rec_list_vars = list_names
    try:
        yield
    finally:
        ir.Inst._rec_list_vars = before


def _has_any(state: Any, *ops: str) -> bool:
    return any(x.op in ops for block in state.func_ir.blocks.values() for x in block.find_exprs())


def _makes_arrays(state: Any) -> bool:
    """Whether an operator, or a call of an elementwise function, may give an array."""
    for block in state.func_ir.blocks.values():
        for assignment in block.find_insts(ir.Assign):
            x = assignment.value
            if isinstance(x, ir.Expr) and isinstance(state.typemap.get(assignment.target.name), types.Array):
                if x.op in ("unary", "binop", "inplace_binop") or (x.op == "call" and _is_by_elements(state, x)):
                    return True
    return False


def _is_by_elements(state: Any, call: Any) -> bool:
    kind = state.typemap.get(call.func.name)
    return hasattr(getattr(kind, "typing_key", None), "nin")
