"""Sparsity patterns: from a recording of the function, or from compiled code that notes dependences."""

import functools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from contad.engines.matrix.matrix_stack import stack_of_operations
from contad.engines.second_order.passes import SecondOrder
from contad.engines.second_order.second_order_records import Unsuited
from contad.errors import UnsupportedError
from contad.front.user_function import UserFunction
from contad.functions.python_copy import NOT_COPIED
from contad.functions.user_call import level_of_user, positional, positions
from contad.patterns.closure import hessian_pattern, jacobian_pattern
from contad.transforms.jacobians import in_chunks, real_trees
from contad.transforms.linearized import cells_of_result
from contad.variables.activation import activate, trees_of
from contad.variables.arguments import fail
from contad.variables.array import is_plain
from contad.variables.open_types import Function, Nested, Options
from contad.variables.stack import THREAD, attempt, opened
from contad.variables.trees import flatten, output_leaves, scalar_output

if TYPE_CHECKING:
    from contad.engines.source.ir.dependency_graph import NotedGraph

JACOBIAN, HESSIAN = "jacobian", "hessian"


def sparsity(
    f: Function, *example: Nested, of: str = JACOBIAN, argnums: int | tuple[int, ...] = 0, branches: str = "taken",
    **kwargs: Nested,
) -> Any:  # fmt: skip
    """The sparsity pattern of the Jacobian or the Hessian of a function, as a CSR array of booleans.

    Rows are the numbers of the result (for a Hessian those of the arguments), columns those of the arguments, in the
    order of their trees and, within arrays, C order. f runs once at the example, and the pattern covers the operations
    that it performed; another branch, or an index that depends on values, may have another pattern. It contains every
    element that these operations can make nonzero. It may contain elements that are zero, because terms cancel or
    because an array rule does not distinguish its elements, such as that of a linear system.

    branches="all" includes what any branch may add: both sides of a condition that depends on the arguments, all
    elements if an index depends on them, and everything that a loop reads if its end depends on them. Conditions,
    indices and loops that do not depend on the differentiated arguments are as at the example. contad reads the source
    of f as that of a Numba function, even if f is not one.

    Raises:  UnsupportedError if f has rules that run arbitrary code (custom_vjp, reverse_pass_callback). With
             branches="all" also if the engine `generated` cannot read its source, or if the arguments decide which
             arrays are used or how large they are.
    Cost:    one evaluation of f on variables, and time in proportion to its operations and the elements of the pattern.
             A Numba function runs as compiled code that notes dependences, with 24 bytes for each operation; if
             that cannot be generated, a Python copy runs, and a warning says so.
    Ref:     Walther (2008), ACM Transactions on Mathematical Software 34(1); Griewank & Walther (2008), chapter 7.

    >>> sparsity(lambda x: x[1:] * x[:-1], np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    >>> sparsity(lambda x: np.sum(x[1:] * x[:-1]), np.ones(3), of="hessian").toarray().astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    if branches not in ("taken", "all"):
        fail("sparsity", "branches", "be 'taken' or 'all'", repr(branches))
    if of not in (JACOBIAN, HESSIAN):
        fail("sparsity", "of", f"be {JACOBIAN!r} or {HESSIAN!r}", repr(of))
    function = UserFunction("sparsity", f)
    numbers = positions("sparsity", argnums, "")
    what = f"sparsity: {function.name}"
    args, kwargs = positional(function.f, what, numbers, example, kwargs)
    if branches == "all":
        require_plain(what, numbers, args)
        with attempt():
            return _pattern_of(_note(_compilable(function), what, of, numbers, args, kwargs, True), of)
    return find_pattern(function, what, of, numbers, args, kwargs)


def find_pattern(
    function: UserFunction, what: str, of: str, argnums: Sequence[int], args: tuple[Nested, ...], kwargs: Options
) -> Any:
    """The pattern of a function at a point; a Numba function runs compiled if code can be generated for it."""
    why = ""
    if function.dispatcher is not None:
        require_plain(what, argnums, args)
        try:
            with attempt():
                return _pattern_of(_note(function, what, of, argnums, args, kwargs), of)
        except UnsupportedError as error:
            why = str(error)
    try:
        with RecordedDerivative(function, what, of, argnums, args, kwargs) as recording:
            found = recording.pattern()
    except UnsupportedError as error:
        if not why or NOT_COPIED not in str(error):
            raise
        raise UnsupportedError(f"{why}; a Python copy of it, which might do, is not made: {error}") from None
    if why and not function.memo.setdefault("told of a copied pattern", False):
        function.memo["told of a copied pattern"] = True
        warnings.warn(
            f"{why}; a Python copy of it finds the dependencies, at Python's speed", stacklevel=level_of_user()
        )
    return found


def _compilable(function: UserFunction) -> UserFunction:
    """The function, or the Numba function that numba.njit would make of it."""
    if function.dispatcher is not None:
        return function
    import numba

    memo = function.memo
    if "compilable" not in memo:
        memo["compilable"] = UserFunction("sparsity", numba.njit(function.f))
    made: UserFunction = memo["compilable"]
    return made


def _note(
    function: UserFunction, what: str, of: str, argnums: Sequence[int], args: tuple[Nested, ...], kwargs: Options,
    all_branches: bool = False,
) -> "NotedGraph":  # fmt: skip
    from contad.front.noted_dependencies import note_dependencies  # it knows Numba

    mode: Any = "all_dependencies" if all_branches else "dependencies"
    noted, value = note_dependencies(function, what, argnums, args, kwargs, mode)
    if of == HESSIAN:
        scalar_output(value, what)
    output_leaves(flatten(value), what)
    return noted


def _pattern_of(noted: "NotedGraph", of: str) -> Any:
    find = jacobian_pattern if of == JACOBIAN else hessian_pattern
    return find(noted, noted.columns, noted.outputs)


def require_plain(what: str, argnums: Sequence[int], args: tuple[Nested, ...]) -> None:
    """Raise UnsupportedError if numbers of an outer derivative are among the arguments."""
    if THREAD.watch is not None or not all(is_plain(x) for t in real_trees(what, argnums, args) for x in t.leaves):
        raise UnsupportedError(f"{what}: patterns are those of plain numbers; call it outside other derivatives")


class RecordedDerivative:
    """A function recorded at a point; its records give the products."""

    def __init__(
        self, function: UserFunction, what: str, of: str, argnums: Sequence[int], args: tuple[Nested, ...],
        kwargs: Options,
    ) -> None:  # fmt: skip
        require_plain(what, argnums, args)
        self.what, self.of = what, of
        with opened(stack_of_operations) as s:
            given, active = activate(s, what, argnums, args)
            cells = [s.cells_of(x) for tree in trees_of(active) for x in tree.leaves]  # type: ignore[attr-defined]
            y = function.runnable()(*given, **kwargs)
            leaves = [scalar_output(y, what, s)] if of == HESSIAN else output_leaves(flatten(y), what, s)
            self.outputs = _join([cells_of_result(s, leaf) for leaf in leaves])  # type: ignore[arg-type]
            self.inputs = _join(cells)
            s.end(f"its call of {what} has ended")
        self.stack: Any = s
        seeds = [(int(cell), 1.0) for cell in self.outputs if cell] if of == HESSIAN else ()
        try:
            self.records = SecondOrder(s, seeds, self.inputs)
        except Unsuited:
            s.release()
            raise UnsupportedError(
                f"{what}: f has a kink at these arguments (abs of 0, a maximum of a tie), or derivatives that run "
                "arbitrary code (custom_vjp, checkpoint, reverse_pass_callback), so the dependencies are unknown; pass "
                "pattern=..., which contad.sparsity finds at points without a kink"
            ) from None

    def __enter__(self) -> "RecordedDerivative":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stack.release()

    def key(self) -> tuple[int, ...]:
        """A key for everything that determines the pattern, in this process."""
        d = self.records.dependencies
        return len(self.inputs), *(hash(a.tobytes()) for a in (*d.linked, *d.bends, d.nodes[self.outputs]))

    def pattern(self) -> Any:
        """The pattern of what was recorded."""
        find = jacobian_pattern if self.of == JACOBIAN else hessian_pattern
        graph = self.records.dependencies
        return find(graph, len(self.inputs), graph.nodes[self.outputs])

    @functools.cached_property
    def _upward(self) -> Any:
        return self.records.upward_to(self.outputs)

    def push(self, directions: np.ndarray) -> np.ndarray:
        """The products with directions, as rows."""
        if self.of == HESSIAN:
            return in_chunks(self.records, directions, self.records.most)
        push = functools.partial(self.records.tangents, outputs=self.outputs, upward=self._upward)
        return in_chunks(push, directions, self.records.most)

    def pull(self, cotangents: np.ndarray) -> np.ndarray:
        """The products of the transpose with cotangents, as rows."""
        if self.of == HESSIAN:
            return self.push(cotangents)
        pull = functools.partial(self.records.adjoints, outputs=self.outputs)
        return in_chunks(pull, cotangents, self.records.most)


def _join(cells: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *cells])
