"""The loop passes of the engine `generated`, and how each is left out: for measurements alone."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

from contad.engines.source.analysis import hoist, scalar_expansion
from contad.engines.source.build import derivative_of
from contad.engines.source.ir.tree_queries import key
from contad.engines.source.passes import (
    code_motion,
    collapsing,
    compaction,
    dead_stores,
    fission,
    hoist_allocations,
    order,
    peel,
    reassociation,
    scalar_replacement,
    stack_allocation,
    strip_mining,
    unrolling,
)
from contad.engines.source.planning import fuse, running_choice, running_products, sinking
from contad.engines.source.reading import frontend
from contad.engines.source.writing import (
    adjoint_sweep,
    derivative_text,
    forward_sweep,
    loop_products,
)
from contad.numba_functions.request import Request

ROOT = Path(__file__).parents[1]


class Pass(NamedTuple):
    """A function of the engine that others look up in some modules, what takes its place, and where it is written."""

    name: str
    looked_up: tuple[ModuleType, ...]
    off: Callable[..., Any]
    files: tuple[ModuleType, ...]  # what would go with it
    tests: str = ""  # the file of tests/engines/source that has it as its subject, if there is one
    in_place: bool = False  # whether it changes a program, so that what it returns does not tell if it did

    @property
    def lines(self) -> int:
        """The lines that would go with it."""
        return sum(map(_count_lines, (str(module.__file__) for module in self.files)))

    @property
    def test_lines(self) -> int:
        return _count_lines(ROOT / "tests" / "engines" / "source" / self.tests) if self.tests else 0


def _count_lines(path: str | Path) -> int:
    return len(Path(path).read_text(encoding="utf-8").splitlines())


def _nothing(*_: Any, **__: Any) -> None:
    return None


_TEXT, _ORDER = (derivative_text,), (order,)
PASSES = {
    p.name: p
    for p in (
        Pass("hoist", (frontend,), _nothing, (hoist,), "programs/hoist.py", in_place=True),
        Pass(
            "expand_scalars", (frontend,), lambda *_: False, (scalar_expansion,), "programs/scalar_expansion.py",
            in_place=True,
        ),
        Pass("fuse_loops", _TEXT, lambda *_: frozenset(), (fuse,), "programs/fuse.py"),
        Pass("choices", _TEXT, lambda *_: {}, (running_choice,)),
        Pass("find_sunk", (adjoint_sweep,), lambda *_: {}, (sinking,), "planning/test_sinking.py"),
        Pass("running_products", _TEXT, lambda *_: {}, (running_products,), "planning/test_running_products.py"),
        Pass(
            "find_product", (loop_products, forward_sweep), _nothing, (loop_products,),
            "writing/test_loop_products.py",
        ),
        Pass("remove_dead_zeros", _ORDER, _nothing, (dead_stores,), "passes/dead_stores.py"),
        Pass("peel", _ORDER, _nothing, (peel,), "passes/peel.py"),
        Pass("replace_by_scalars", _ORDER, _nothing, (scalar_replacement,), "passes/scalar_replacement.py"),
        Pass("hoist_allocations", _ORDER, _nothing, (hoist_allocations,), "passes/hoist_allocations.py"),
        Pass("allocate_on_stack", _ORDER, _nothing, (stack_allocation,), "passes/stack_allocation.py"),
        Pass("hoist_invariants", _ORDER, _nothing, (code_motion,), "passes/code_motion.py"),
        Pass(
            "strip_mine", _ORDER, lambda *_, **__: [], (strip_mining, fission), "passes/strip_mining.py",
        ),
        Pass("reassociate", _ORDER, _nothing, (reassociation,), "passes/reassociation.py"),
        Pass("unroll_scatters", _ORDER, _nothing, (unrolling,), "passes/unrolling.py"),
        Pass("find_nest", (strip_mining,), _nothing, (collapsing,), "passes/test_strip_mining.py"),
        Pass("gather_calls", (fission,), _nothing, (compaction,)),
    )
}  # fmt: skip


@contextmanager
def without(names: Collection[str]) -> Iterator[None]:
    """Inside, derivatives are written without some passes."""
    with ExitStack() as stack:
        for name in names:
            for module in PASSES[name].looked_up:
                if hasattr(module, name):
                    stack.enter_context(mock.patch.object(module, name, PASSES[name].off))
        yield


def write(request: Request, skipped: Collection[str] = ()) -> str:
    """The source of a derivative, with some passes left out."""
    with without(skipped):
        return str(derivative_of(request).source("njit()"))


def _key_of(found: Any) -> Any:
    """What tells if a result is another one, or a tree that a pass has rewritten."""
    return tuple(map(_key_of, found)) if isinstance(found, (tuple, list)) else key(found)


def find_changing(request: Request, names: Mapping[str, Pass] = PASSES) -> set[str]:
    """The passes without which the source of a derivative is another one."""
    fired: set[str] = {p.name for p in names.values() if p.in_place}

    def watch(p: Pass, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **options: Any) -> Any:
            trees = [x for x in args if isinstance(x, ast.AST)]
            unchanged = _key_of([p.off(*args, **options), trees])
            found = original(*args, **options)
            if _key_of([found, trees]) != unchanged:
                fired.add(p.name)
            return found

        return watched

    with ExitStack() as stack:
        for p in names.values():
            for module in p.looked_up:
                if not p.in_place and hasattr(module, p.name):
                    original = getattr(module, p.name)
                    stack.enter_context(mock.patch.object(module, p.name, watch(p, original)))
        whole = write(request)
    return {name for name in fired if write(request, {name}) != whole}
