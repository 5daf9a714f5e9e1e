"""Loops as a function: a state carried from step to step, stacked results, and checkpointed pieces."""

import itertools
from typing import Any

import numpy as np

from contad.transforms.checkpoints import checkpoint
from contad.variables.arguments import require_callable
from contad.variables.complex_pair import is_complex
from contad.variables.number import Carrier
from contad.variables.open_types import Function, Nested, Value
from contad.variables.trees import assemble, flatten, leaves_of, map_leaves


def scan(
    step: Function, state: Nested, xs: Nested = None, *, length: int | None = None, reverse: bool = False,
    pieces: int = 1,
) -> tuple[Nested, Nested]:  # fmt: skip
    """The state after all steps, and the stacked results of the steps.

        state, y_k = step(state, x_k)     k = 0, ..., n - 1

    A plain loop, which can be differentiated at every order and on every engine; steps may branch freely. With
    `pieces`, the loop is divided into that many pieces. Reverse mode stores only the states between them, and evaluates
    a piece again when the sweep reaches it; about sqrt(n) pieces take the least memory. Inside `@njit`, write the loop.

    Args:    step    step(state, x) -> (state, y); y may be None.
             state   a number, an array or a tree of them; steps must keep its structure.
             xs      an array, or a tree of arrays, of which x_k is the k-th row; None if `length` is given.
             length  n, the number of steps; xs must have as many rows.
             reverse whether to begin with the last row; y_k stays at position k.
             pieces  the number of checkpointed pieces; if there are several, everything in a step that carries a
                     derivative must come from state or x.
    Returns: (state, ys), where ys has the structure of y and a first axis of length n; None if n is 0.
    Raises:  ValueError if lengths differ or are missing, or if a step changes the structure or shapes of the state or
             of y; TypeError if a step does not return a pair; RuleError if pieces capture variables.
    Cost:    that of the steps; with pieces, one more evaluation of each in reverse mode, and memory for one piece and
             for a state between each two.
    Ref:     Griewank & Walther (2008), chapter 12.

    >>> from contad import grad, scan
    >>> scan(lambda total, x: (total + x, total * x), 0.0, np.array([1.0, 2.0, 3.0]))[1]
    array([0., 2., 9.])
    >>> round(grad(lambda r: scan(lambda z, _: (r * z * (1.0 - z), None), 0.3, length=3)[0])(2.0), 4)
    0.2657
    """
    n = _count(flatten(xs).leaves, length)
    require_callable("scan", "step", step)
    if not isinstance(pieces, (int, np.integer)) or pieces < 1:
        raise ValueError(f"scan: expected pieces to be a positive integer, but got {pieces!r}")
    count = min(pieces, max(n, 1))
    parts = list(itertools.pairwise(n * k // count for k in range(count + 1)))
    run = _Steps(step, reverse).run_piece_of_scan
    state = map_leaves(_copy, state)  # a step may write into it
    if len(parts) > 1:
        run = checkpoint(run)
    found: list[Nested] = []
    for start, stop in reversed(parts) if reverse else parts:
        rows = map_leaves(lambda leaf, a=start, b=stop: None if leaf is None else leaf[a:b], xs)
        state, ys = run(state, rows, stop - start)
        found.append(ys)
    if reverse:
        found.reverse()
    if len(found) == 1:
        return state, found[0]
    return state, map_leaves(lambda *leaves: None if leaves[0] is None else np.concatenate(leaves), *found)


class _Steps:
    """Consecutive steps of one loop."""

    def __init__(self, step: Function, reverse: bool) -> None:
        self.step, self.reverse = step, reverse

    def run_piece_of_scan(self, state: Nested, xs: Nested, n: int) -> tuple[Nested, Nested]:
        """The state after n steps over the rows of xs, and the stacked results of the steps."""
        structure_of_state: Any = _structure(state)
        structure_of_y: Any = None
        found: list[Nested] = []
        for k in reversed(range(n)) if self.reverse else range(n):
            given: Any = self.step(state, map_leaves(lambda leaf, k=k: None if leaf is None else leaf[k], xs))
            if not isinstance(given, tuple) or len(given) != 2:
                raise TypeError(f"scan: expected step to return (state, y), but got {type(given).__name__}")
            state, y = given
            if _structure(state) != structure_of_state:
                raise ValueError(f"scan: step {k} changes the structure of the state, which was {structure_of_state}")
            if not found:
                structure_of_y = _structure(y)
            elif _structure(y) != structure_of_y:
                raise ValueError(f"scan: step {k} changes the structure of y, which was {structure_of_y}")
            of_state = leaves_of(state)  # the next step may write into them
            found.append(map_leaves(lambda leaf, own=of_state: _copy(leaf) if any(leaf is x for x in own) else leaf, y))
        if self.reverse:
            found.reverse()
        return state, map_leaves(lambda *leaves: _stack(leaves), *found, is_leaf=is_complex) if found else None


def _count(leaves: list[Nested], length: int | None) -> int:
    """How many steps there are."""
    for leaf in leaves:
        if not getattr(leaf, "shape", ()):
            raise ValueError(
                "scan: expected xs to be an array, or a tree of arrays, with an axis of steps, but a leaf is a number; "
                "convert a list of numbers to an array"
            )
    if length is not None and length < 0:
        raise ValueError(f"scan: expected length to be 0 or more, but got {length}")
    counts = {len(leaf) for leaf in leaves} | ({length} if length is not None else set())
    if len(counts) != 1:
        given = ", ".join(map(str, sorted(counts))) or "neither"
        raise ValueError(f"scan: expected xs of one length, or a length, but got {given}")
    return counts.pop()


def _copy(leaf: Nested) -> Nested:
    """A copy of an array; anything else unchanged."""
    return leaf.copy() if getattr(leaf, "shape", ()) else leaf


def _structure(x: Nested) -> Any:
    """The structure of a tree, and the shapes of its leaves, of which a complex number or array is one."""
    shapes: list[Any] = []

    def note(leaf: Nested) -> Nested:
        if leaf is None:
            return None
        shapes.append(getattr(leaf, "shape", ()))
        return 0.0

    spec = flatten(map_leaves(note, x, is_leaf=is_complex)).spec
    return shapes if spec is None else (spec, shapes)


def _stack(leaves: tuple[Value, ...]) -> Nested:
    """Leaves of all steps in one array."""
    if leaves[0] is None:
        return None
    if any(map(is_complex, leaves)):
        return np.stack(leaves)
    if any(isinstance(x, Carrier) or getattr(x, "dtype", None) == np.dtype(object) for x in leaves):
        return assemble(leaves, (len(leaves), *getattr(leaves[0], "shape", ())))
    return np.array(leaves)
