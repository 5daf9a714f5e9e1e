"""The dependencies in a Numba function at a point, noted by compiled code as it runs."""

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import NumbaError, typeof, types

from contad.engines import compiled_engine
from contad.engines.source.ir.dependency_graph import NotedGraph
from contad.errors import EngineLimitError, StaleSourceError, UnsupportedError
from contad.front.choice import reason
from contad.front.user_function import UserFunction
from contad.memory.arena import TOO_LARGE, memory_limit
from contad.numba_functions.frozen import Frozen
from contad.numba_functions.request import Mode, Request
from contad.variables.open_types import Nested, Options
from contad.variables.trees import flatten, map_leaves

_ROW = 24  # bytes


def note_dependencies(
    function: UserFunction, what: str, argnums: Sequence[int], args: tuple[Nested, ...], kwargs: Options,
    mode: Mode = "dependencies",
) -> tuple[NotedGraph, Nested]:  # fmt: skip
    """The dependences and the value; the compiled code runs twice if the graph is larger than estimated.

    Raises:  UnsupportedError if no such code can be generated; MemoryError if the graph is too large; errors of f.
    """
    f = function.dispatcher
    bound = inspect.signature(f.py_func).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs or any(p.kind is p.VAR_POSITIONAL for p in bound.signature.parameters.values()):
        raise UnsupportedError(f"{what}: functions of any number of arguments (*args) are not compiled")
    given = tuple(map_leaves(_own, x) if n in argnums else x for n, x in enumerate(bound.args))
    count = 1
    nodes = []
    for n in argnums:
        tree = flatten(given[n])
        made: list[Any] = []
        for x in tree.leaves:
            size = np.size(x)
            made.append(np.arange(count, count + size).reshape(x.shape) if isinstance(x, np.ndarray) else count)
            count += size
        nodes.append(tree.unflatten(made))
    try:
        run = _build(function, what, tuple(argnums), tuple(map(_type_of, given)), mode)
        return _run(run, what, given, nodes, count)
    except (NumbaError, StaleSourceError, EngineLimitError) as error:
        raise UnsupportedError(f"{what}: {reason(error)}") from error


def _run(run: Any, what: str, given: tuple[Nested, ...], nodes: list[Nested], count: int) -> tuple[NotedGraph, Nested]:
    rows = max(4096, 32 * count)
    while True:
        if _ROW * rows > memory_limit():
            raise MemoryError(f"{what}: {TOO_LARGE}")
        graph = np.empty((rows, 3), np.int64)
        graph[:count] = 0
        graph[0, 0] = count
        value, found = run(given, (*nodes, graph))
        rows = int(graph[0, 0])
        if rows <= len(graph):
            leaves = flatten(found).leaves
            outputs = np.concatenate([np.zeros(0, np.int64), *map(np.ravel, leaves)]).astype(np.int64)
            return NotedGraph(graph[:rows], count - 1, outputs), value


def _build(function: UserFunction, what: str, argnums: tuple[int, ...], given: tuple[Any, ...], mode: Mode) -> Any:
    """The compiled code, or its refusal, kept with the function until the values of its names change."""
    kept = function.memo.get("noted dependences")
    if kept is None or kept.frozen.noted is not function.memo.get("frozen"):
        kept = function.memo["noted dependences"] = _Built(Frozen(function.dispatcher, what, function.memo), {})
    kept.frozen.check()
    key = mode, argnums, given
    if key not in kept.made:
        request = Request(function.dispatcher.py_func, function.dispatcher, given, argnums, False, mode)
        try:
            kept.made[key] = compiled_engine("generated").build(request)
        except (UnsupportedError, StaleSourceError) as error:
            kept.made[key] = error
    if isinstance(kept.made[key], Exception):
        raise kept.made[key]
    return kept.made[key]


class _Built(NamedTuple):
    frozen: Frozen
    made: dict[Any, Any]  # by mode, argnums and types


def _type_of(x: Nested) -> Any:
    try:
        found = typeof(x)
    except ValueError:
        found = None
    if found is None or found == types.pyobject:
        raise UnsupportedError(f"Numba has no type for {type(x).__name__}")
    return found


def _own(x: Any) -> Any:
    """A number or an array as a float, or floats."""
    return np.ascontiguousarray(x, np.float64) if isinstance(x, np.ndarray) else float(x)
