"""Random programs for patterns: the program that notes what depends on what, run as plain Python.

The programs are those of `tests.random_programs.generated_programs`. The patterns of gradient and Hessian have every
element that the engine `matrix` finds other than zero, and none that its recording has not.

    python -m tests.random_programs.dependency_programs --count 2000 --seed 1
"""

import sys

import numpy as np

import contad
from contad.engines.source.ir.dependency_graph import NotedGraph
from contad.engines.source.reading.frontend import read
from contad.engines.source.tangents.branch_nodes import BranchNodes
from contad.engines.source.tangents.dependency_writer import DependencyWriter, add_nodes
from contad.engines.source.writing.derivative_text import DerivativeWriter
from contad.errors import LostDerivativeError, UnsupportedError
from contad.functions.python_copy import python_twin
from contad.patterns.closure import hessian_pattern, jacobian_pattern
from tests.random_programs import generated_programs as first
from tests.random_programs.searching import parse_options

SIZES = [np.size(x) for x in first.arguments(0)[: len(first.ARGNUMS)]]


def program_of(function, aux=False, calls=False, parts=0, write=DependencyWriter):
    """The generated program that notes what depends on what, as Python."""
    with first.planned(calls=calls, parts=parts):

        def transform(program):
            program.returned = program.returned[0] if aux else program.returned
            add_nodes(program, first.ARGNUMS, write)

        program = read(function, first.KINDS, transform=transform)
        made = DerivativeWriter(program, first.ARGNUMS, True, mode="dependencies")
        names = first.run_text(made.source(), made.constants())
    if "note" in names:
        names["note"] = names["note"].py_func
    return names["run"]


def graph_of(run, args):
    """The value, and what the program notes at these arguments."""
    starts = 1 + np.concatenate([[0], np.cumsum(SIZES)])
    nodes = [np.arange(n).reshape(np.shape(x)) + start if np.ndim(x) else int(start)
             for x, n, start in zip(args, SIZES, starts, strict=False)]  # fmt: skip
    graph = np.zeros((200_000, 3), np.int64)
    graph[0, 0] = starts[-1]
    value, found = run(tuple(first.copied(args)), (*nodes, graph))
    return value, NotedGraph(graph[: graph[0, 0]], sum(SIZES), np.ravel(found))


def eager(function, args, maker):
    """The gradient, the Hessian and both patterns by the engine `matrix`."""
    twin = python_twin(function, dict(first.TWINS))

    def f(*given):
        return twin(*given)[0] if maker.aux else twin(*given)

    blocks = contad.hessian(f, first.ARGNUMS)(*args)
    hessian = np.concatenate([
        np.concatenate([np.reshape(b, (m, n)) for b, n in zip(row, SIZES, strict=True)], axis=1)
        for row, m in zip(blocks, SIZES, strict=True)
    ])  # fmt: skip
    gradient = first.flat(contad.grad(f, first.ARGNUMS)(*args))
    found = [contad.sparsity(f, *args, of=of, argnums=first.ARGNUMS) for of in ("jacobian", "hessian")]
    return gradient[None], hessian, *(pattern.toarray() for pattern in found)


def outcome(maker, block, seed):
    """None if all agree, or what went wrong; raises Rejected where the program proves nothing."""
    text = maker.source(block)
    f = first.namespace(text, seed)["f"]
    args = first.arguments(seed)
    _, value, raised = first.meant(text, seed)
    if raised is not None:
        raise first.Rejected(type(raised).__name__)
    try:
        options = maker.aux, seed % 2 == 1, first.PARTS[seed % len(first.PARTS)]
        run = program_of(f, *options)
        got_value, graph = graph_of(run, args)
    except Exception as error:
        return first.failure(error, None)
    if not first.close(got_value, value):
        return f"wrong value: {got_value} for {value}"
    try:
        gradient, hessian, *expected = eager(f, args, maker)
    except (UnsupportedError, LostDerivativeError):
        raise first.Rejected("the reference does not take it") from None
    if not np.all(np.isfinite(hessian)):
        raise first.Rejected("not finite")
    for name, find, matrix, of_recording in (
        ("gradient", jacobian_pattern, gradient, expected[0]), ("Hessian", hessian_pattern, hessian, expected[1])
    ):  # fmt: skip
        pattern = find(graph, graph.columns, graph.outputs).toarray()
        scale = 1e-13 * np.abs(matrix).max(initial=0.0)
        if np.any(~pattern & (np.abs(matrix) > scale)):
            return f"wrong {name}: misses {np.argwhere(~pattern & (np.abs(matrix) > scale))[0]}"
        if np.any(pattern & ~of_recording):
            return f"coarse {name}: has {np.argwhere(pattern & ~of_recording)[0]}, which the recording has not"
    return None


def outcome_of_all(maker, block, seed):
    """None if the patterns of all branches have those of many points, or what went wrong."""
    f = first.namespace(maker.source(block), seed)["f"]
    options = maker.aux, seed % 2 == 1, first.PARTS[seed % len(first.PARTS)]
    args = first.arguments(seed)
    try:
        run = program_of(f, *options)
        graph_of(run, args)
    except Exception as error:
        raise first.Rejected(type(error).__name__) from None
    try:
        of_all = program_of(f, *options, write=BranchNodes)
        graph = graph_of(of_all, args)[1]
    except UnsupportedError as error:
        raise first.Rejected("refused: " + str(error).split(": ")[-1].split(" is not known")[0]) from None
    except (ArithmeticError, ValueError) as error:  # of numbers that are none of the function's; compiled, they are nan
        raise first.Rejected(f"as Python, {type(error).__name__}") from None
    except Exception as error:
        return f"crash {type(error).__name__}: {error}"
    has = [find(graph, graph.columns, graph.outputs).toarray() for find in (jacobian_pattern, hessian_pattern)]
    for other in range(20):
        moved = [*first.arguments(seed + 1000 + other)[: len(first.ARGNUMS)], *args[len(first.ARGNUMS) :]]
        try:
            taken = graph_of(run, moved)[1]
        except Exception:
            continue
        for found, name, find in zip(has, ("gradient", "Hessian"), (jacobian_pattern, hessian_pattern), strict=True):
            missed = find(taken, taken.columns, taken.outputs).toarray() & ~found
            if missed.any():
                return f"wrong {name} of all branches: misses {np.argwhere(missed)[0]} at {other}"
    return None


def check(seed, small=False, outcome=outcome):
    """The outcome of one program: None, what went wrong, or "rejected: why"."""
    return first.check(seed, small, outcome, 2 * first.SECONDS, objects=False)


def main():
    every = "patterns of all branches, held against those of points"
    options = parse_options(__doc__, 500, small="short programs", all=every)
    return first.search(outcome_of_all if options.all else outcome, options, objects=False)


if __name__ == "__main__":
    sys.exit(main())
