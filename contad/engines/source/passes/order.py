"""The passes in order: each with its name, its function, and its condition."""

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from contad.engines.source.ir.writer import NameTable
from contad.engines.source.passes.code_motion import hoist_invariants
from contad.engines.source.passes.dead_stores import remove_dead_zeros
from contad.engines.source.passes.hoist_allocations import hoist_allocations
from contad.engines.source.passes.parallelise import SharedLoop, share_loops
from contad.engines.source.passes.partial_dead_code import ask_for_value
from contad.engines.source.passes.peel import peel
from contad.engines.source.passes.reassociation import reassociate
from contad.engines.source.passes.scalar_replacement import replace_by_scalars
from contad.engines.source.passes.stack_allocation import allocate_on_stack
from contad.engines.source.passes.strip_mining import strip_mine
from contad.engines.source.passes.unrolling import unroll_scatters


class Draft:
    """A derivative that passes rewrite: `run`, and later the functions of strips that threads share."""

    def __init__(
        self, run: ast.FunctionDef, names: NameTable, numerics: str, has_lanes: bool, hands_on: bool,
        optional_value: bool,
    ) -> None:  # fmt: skip
        """Start with `run` only; the other arguments are facts that passes need, named as in `DerivativeWriter`."""
        self.run, self.names, self.numerics = run, names, numerics
        self.has_lanes, self.hands_on, self.optional_value = has_lanes, hands_on, optional_value
        self.arrays: Mapping[str, Any] = {}  # the global arrays that it reads
        self.called: Mapping[str, ast.FunctionDef] = {}  # the callees of `run`
        self.tables: Mapping[str, NameTable] = {}  # of the callees
        self.loops: list[SharedLoop] = []  # loops that threads may share
        self.strips: list[ast.FunctionDef] = []
        self.serial: dict[int, str] = {}  # by index of a loop: why it is serial; empty if parallel
        self.definitions: list[ast.stmt] = []  # definitions in the module
        self.asks_value = False  # whether `run` takes a flag that asks for the value

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """The functions that passes rewrite."""
        return [self.run, *self.strips]

    def share(self) -> None:
        """Move parallel loops out of `run`."""
        self.strips, self.serial = share_loops(self.run, self.names, self.loops, self.called)

    def move(self) -> None:
        """Move loop-invariant statements out of loops."""
        for function in self.functions:
            hoist_invariants(function, self.names.lines)

    def allocate(self) -> None:
        """Put arrays that die with their iteration on the stack."""
        for function in self.functions:
            allocate_on_stack(function, self.names)
        for name, function in self.called.items():
            allocate_on_stack(function, self.tables[name], is_callee=True)

    def mine(self) -> None:
        """Strip-mine loops."""
        for function in self.functions:
            self.definitions += strip_mine(function, self.names, self.numerics == "simd", alone=not self.strips)

    def reorder(self) -> None:
        """Let sums be added in any order."""
        for function in self.functions:
            reassociate(function, (self.names.adjoints | self.names.sums) & self.names.floats)

    def unroll(self) -> None:
        """Unroll loops that scatter."""
        for function in self.functions:
            unroll_scatters(function, self.names, self.arrays)

    def ask(self) -> None:
        """Let callers skip the value."""
        self.asks_value = ask_for_value(self.run, self.names)


class ListedPass(NamedTuple):
    """One pass over a draft."""

    term: str
    rewrite: Callable[[Draft], object]
    needs: Callable[[Draft], bool] = lambda draft: True


def _is_scalar(draft: Draft) -> bool:
    return not draft.has_lanes


PASSES = (
    ListedPass("dead store elimination", lambda draft: remove_dead_zeros(draft.run)),
    ListedPass("loop peeling", lambda draft: peel(draft.run), _is_scalar),
    ListedPass("scalar replacement", lambda draft: replace_by_scalars(draft.run, draft.names), _is_scalar),
    ListedPass("privatisation, reductions", Draft.share),
    ListedPass(
        "loop-invariant code motion, of arrays", lambda draft: hoist_allocations(draft.run, draft.names),
        lambda draft: not draft.hands_on,
    ),
    ListedPass("stack allocation", Draft.allocate, _is_scalar),
    ListedPass("loop-invariant code motion", Draft.move),
    ListedPass("strip mining, loop fission", Draft.mine, lambda draft: draft.numerics != "libm"),
    ListedPass("loop unrolling", Draft.unroll, _is_scalar),
    ListedPass("partial dead code elimination", Draft.ask, lambda draft: draft.optional_value and not draft.strips),
    ListedPass("reassociation", Draft.reorder, _is_scalar),
)  # fmt: skip


def optimise(draft: Draft) -> None:
    """Rewrite a draft by all passes, in their order."""
    for listed in PASSES:
        if listed.needs(draft):
            listed.rewrite(draft)
