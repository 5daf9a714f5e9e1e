"""The program that notes what depends on what: patterns of random programs, and of what compiled code does."""

import numpy as np
import pytest

import contad
from contad.engines.source.analysis.influence import Influence
from contad.engines.source.ir.dependency_graph import NotedGraph
from contad.engines.source.ir.ssa import Kind
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents import dependency_writer
from contad.engines.source.tangents.branch_nodes import BranchNodes
from contad.engines.source.tangents.dependency_writer import DependencyWriter, add_nodes
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.functions.python_copy import Flags
from contad.patterns.closure import hessian_pattern, jacobian_pattern
from tests.engines.source.grids_and_chains import BY_NAME, HESSIANS, JACOBIANS
from tests.random_programs import dependency_programs


def pattern(f, args, find, write=DependencyWriter):
    """A pattern by the generated program, run as Python."""
    kinds = tuple(Kind("float" if np.asarray(x).dtype.kind == "f" else "int", np.ndim(x)) for x in args)
    program = read(f, kinds, Flags("numpy"), transform=lambda p: add_nodes(p, (0,), write))
    made = DerivativeWriter(program, (0,), mode="dependencies")
    names = {}
    with np.errstate(all="ignore"):
        exec(compile(made.source(), "<generated>", "exec"), names)
        names |= {"math": np, "note": names["note"].py_func, **made.constants()}
        n = args[0].size
        graph = np.zeros((20_000, 3), np.int64)
        graph[0, 0] = n + 1
        nodes = names["run"](args, (np.arange(1, n + 1).reshape(args[0].shape), graph))[1]
    return find(NotedGraph(graph[: graph[0, 0]], n, np.ravel(nodes)), n, np.ravel(nodes)).toarray()


PROGRAMS = {name: (jacobian_pattern, BY_NAME[name], *x) for name, x in JACOBIANS.items()}
PROGRAMS |= {name: (hessian_pattern, BY_NAME[name], *x) for name, x in HESSIANS.items()}


@pytest.mark.parametrize(("find", "f", "args", "taken", "of_all"), PROGRAMS.values(), ids=PROGRAMS)
def test_grids_and_chains(find, f, args, taken, of_all):
    """Every element that is other than zero is there; that of all branches has those of many points."""
    dense = contad.jacobian if find is jacobian_pattern else contad.hessian
    found = pattern(f, args, find)
    assert taken in (None, found.sum())
    of = "jacobian" if find is jacobian_pattern else "hessian"
    assert not np.any(found & ~contad.sparsity(f, *args, of=of).toarray())  # the recording's
    whole = pattern(f, args, find, BranchNodes)
    assert of_all in (None, whole.sum())
    rng = np.random.default_rng(1)
    for k in range(6):
        moved = (args[0] * rng.uniform(-3.0, 3.0, args[0].shape) if k else args[0], *args[1:])
        found = pattern(f, moved, find)
        assert not np.any(found & ~whole)
        if k < 2:
            matrix = np.reshape(dense(f)(*moved), found.shape)
            assert not np.any(~found & (np.abs(matrix) > 1e-13 * np.abs(matrix).max()))


@pytest.mark.parametrize("seed", [*range(1, 8), 41])
def test_random_programs(seed):
    """Callees, parts, products, writes in place; `dependency_programs` has thousands."""
    result = dependency_programs.check(seed)
    assert result is None or result.startswith("rejected")


FAULTS = {
    "stores are lost": (DependencyWriter, "_of_Store", lambda nodes, o: nodes.append.add(o)),
    "what is added is lost": (DependencyWriter, "_of_Accumulate", lambda nodes, o: nodes.append.add(o)),
    "nothing bends": (dependency_writer, "bent_pairs", lambda *_: ()),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(*FAULTS[fault])
    results = [dependency_programs.check(seed, small=True) for seed in range(20, 40)]
    assert any(str(result).startswith("wrong") for result in results)


# ---- all branches ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [1, 3, 5, 8, 12])
def test_random_programs_of_all_branches(seed):
    result = dependency_programs.check(seed, outcome=dependency_programs.outcome_of_all)
    assert result is None or result.startswith("rejected")


FAULTS_OF_BRANCHES = {
    "a branch overwrites": (BranchNodes, "uncertain", property(lambda _: False, lambda *_: None)),
    "one side only": (Influence, "decides", lambda *_: False),
    "indices are trusted": (BranchNodes, "_place", lambda nodes, x, made=(): list(x.indices)),
}


@pytest.mark.parametrize("fault", FAULTS_OF_BRANCHES)
def test_planted_faults_of_all_branches_are_found(fault, monkeypatch):
    monkeypatch.setattr(*FAULTS_OF_BRANCHES[fault], raising=False)

    def notices(name):
        try:
            test_grids_and_chains(*PROGRAMS[name])
        except (AssertionError, KeyError):
            return True
        return False

    assert any(notices(name) for name in ("burgers", "pick", "huber", "bisect", "early"))
