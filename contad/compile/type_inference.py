"""Numba's type inference, made faster for generated code, which is plainer than code that people write.

Numba resolves the type of each call again in every round, and it converts a function to SSA form before it infers
types. Generated text has hundreds of equal calls, and each of its names has one type.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import types
from numba.core import typeinfer
from numba.core.compiler_machinery import register_pass
from numba.core.errors import TypingError
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import ReconstructSSA


class MixedTypesError(Exception):
    """A name has several types."""


class _Inferer(typeinfer.TypeInferer):
    """Numba's type inferer, which remembers the types of calls."""

    watched: Any = None  # a function whose names may have several assignments: MixedTypesError if their types differ
    resolved: dict[Any, Any] | None = None  # the signatures of calls, in all functions that are compiled for one

    def __init__(self, context: Any, func_ir: Any, warnings: Any) -> None:
        super().__init__(context, func_ir, warnings)
        self._resolved: dict[Any, Any] = {} if _Inferer.resolved is None else _Inferer.resolved
        options = ConfigStack.top_or_none()  # which functions that Numba writes in Python inherit
        self._options = options and options.summary()
        self._is_watched = func_ir is _Inferer.watched

    def resolve_call(self, fnty: Any, pos_args: Any, kw_args: Any) -> Any:
        """The signature of a call. Methods depend on more than types: a list learns its element type from them."""
        if isinstance(fnty, (types.BoundFunction, types.RecursiveCall)):
            return super().resolve_call(fnty, pos_args, kw_args)
        call = self._options, fnty, tuple(pos_args), tuple(sorted(kw_args.items()))
        has_several = isinstance(fnty, types.Function)  # several signatures, and keeps the last one that was typed
        if call in self._resolved:
            found, way = self._resolved[call]
            if has_several:
                fnty._impl_keys[found.args] = way
            return found
        found = super().resolve_call(fnty, pos_args, kw_args)
        if found is not None and found.return_type.is_precise():
            self._resolved[call] = found, fnty.get_impl_key(found) if has_several else None
        return found

    def add_type(self, var: Any, tp: Any, loc: Any, unless_locked: bool = False) -> None:
        """Note a type of a name."""
        self._require_same(var, tp)
        super().add_type(var, tp, loc, unless_locked)

    def copy_type(self, src_var: Any, dest_var: Any, loc: Any) -> None:
        """Note the type of another name."""
        self._require_same(dest_var, self.typevars[src_var].type)
        super().copy_type(src_var, dest_var, loc)

    def _require_same(self, name: str, found: Any) -> None:
        known = self.typevars[name].type
        if self._is_watched and found is not None and known is not None:
            if types.unliteral(known) != types.unliteral(found):
                raise MixedTypesError(f"{name}: {known} and {found}")


@contextmanager
def remember_calls() -> Iterator[None]:
    """Inside, Numba resolves each type of call once. The caller holds Numba's lock."""
    if _Inferer.resolved is not None:
        yield
        return
    before, typeinfer.TypeInferer, _Inferer.resolved = typeinfer.TypeInferer, _Inferer, {}
    try:
        yield
    finally:
        typeinfer.TypeInferer, _Inferer.resolved = before, None


@contextmanager
def _watch(func_ir: Any) -> Iterator[None]:
    before, _Inferer.watched = _Inferer.watched, func_ir
    try:
        yield
    finally:
        _Inferer.watched = before


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypesOfNames(NopythonTypeInference):
    """Type inference before SSA conversion. If a name has several types, inference runs again after Numba's SSA
    pass."""

    _name = "infer_types_of_names"

    def run_pass(self, state: Any) -> bool:
        """Infer types."""
        with remember_calls():
            try:
                with _watch(state.func_ir):
                    return bool(super().run_pass(state))
            except (MixedTypesError, TypingError):
                ReconstructSSA().run_pass(state)
                super().run_pass(state)
                return bool(PreLowerStripPhis().run_pass(state))


def join_passes(passes: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """The passes of a pipeline with that one."""
    left_out = ReconstructSSA, PreLowerStripPhis
    named = {NopythonTypeInference: InferTypesOfNames}
    return [(named.get(kind, kind), text) for kind, text in passes if kind not in left_out]
