"""Sums and maps over data in pieces, each differentiated by the worker that computes it: threads, processes,
clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.front.user_function import UserFunction
from contad.functions.closure_conversion import Closure
from contad.stan.functionals.job_functions import (
    Leaves,
    PlaceOfVariable,
    UserJob,
    WithGradient,
    WithJacobian,
    structure_of,
)
from contad.stan.functionals.job_operations import perform_jobs
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.arguments import require_positive_size
from contad.variables.array import lower_constants, numbers_in
from contad.variables.layout import is_immutable
from contad.variables.number import map_numbers, peek
from contad.variables.open_types import ArrayValue, Function, Nested, Real, Value
from contad.variables.stack import stack
from contad.variables.trees import flatten, map_leaves

__all__ = ["map_rect", "reduce_sum", "reduce_sum_static"]

_PIECES = 32  # default number of pieces; it does not depend on workers, and so neither does the result


def reduce_sum(
    f: Function, xs: Nested, *shared: Nested, grainsize: int | None = None, executor: Any = None
) -> Real:
    """The sum of f(xs[start:end], start, end, *shared) over pieces of xs, by the workers of an executor.

        z = sum of f_k,     p_bar = sum of df_k/dp z_bar, added in the order of the pieces

    Each piece is recorded on its own stack and swept by the worker that computed it, which returns the value and the
    gradient in xs[start:end], `shared` (trees) and captured values. Pieces have at most `grainsize` elements, whatever
    the number of workers, so the result does not depend on that number.

    executor  any object with `submit` as in concurrent.futures: ThreadPoolExecutor, where compiled functions run in
    parallel; ProcessPoolExecutor and those of mpi4py, which receive the function and the arrays made by
    `contad.constant` once; Dask's, which scatters them. Without an executor the pieces are computed in turn.
    Derivatives of higher orders are jobs, too

    Shapes:  xs an array, split along its first axis, or a list or tuple; f returns a number -> a number, 0 without
             elements.
    Domain:  every xs, if the sum does not depend on the split into pieces, up to rounding.
    Raises:  exceptions of f, with a note that names the piece; RuntimeError if its worker is lost in every attempt;
             TypeError for an xs of another kind; ValueError for a grainsize below 1.
    Cost:    one value and gradient of f for each piece, and the cost of sending the piece and `shared`.
    Ref:     Stan's reduce_sum.

    >>> import contad
    >>> def partial_sum(xs, start, end, rate):
    ...     return np.sum(np.log(rate) - rate * xs)
    >>> xs = np.linspace(0.1, 2.0, 1000)
    >>> round(contad.grad(lambda rate: reduce_sum(partial_sum, xs, rate, grainsize=100))(2.0), 6)
    -550.0
    """
    return _reduce("reduce_sum", f, xs, shared, grainsize, executor)


@with_rest_of(reduce_sum)
def reduce_sum_static(
    f: Function, xs: Nested, grainsize: int, *shared: Nested, executor: Any = None
) -> Real:
    """Like `reduce_sum`, with Stan's order of arguments; in both functions, pieces never depend on workers.

    Ref:     Stan's reduce_sum_static.

    >>> float(reduce_sum_static(lambda xs, start, end, p: np.sum(np.sqrt(p * xs)), np.arange(10.0), 3, 0.49).round(6))
    13.5142
    """
    return _reduce("reduce_sum_static", f, xs, shared, grainsize, executor)


def map_rect(
    f: Function, shared: Nested, job_params: Nested, data_r: Sequence[Nested], data_i: Sequence[Nested],
    executor: Any = None,
) -> ArrayValue:  # fmt: skip
    """The concatenated vectors f(shared, job_params[k], data_r[k], data_i[k]) of all jobs k, by the workers of an
    executor.

        z = [f_0, f_1, ...],     shared_bar = sum of J_k^T z_bar_k, added in the order of jobs

    Each worker returns its vector and its Jacobian in `shared` (a tree), the job's parameters and captured values.
    Executors are those of `reduce_sum`.

    Shapes:  job_params (N, P), or a list of N trees; data_r and data_i of N entries -> all vectors concatenated.
    Domain:  jobs whose data suit f.
    Raises:  exceptions of f, with a note that names the job; RuntimeError if its worker is lost in every attempt;
             ValueError for lengths that differ.
    Cost:    a Jacobian of f for each job.
    Ref:     Stan's map_rect.

    >>> import contad
    >>> def f(shared, own, data_r, data_i):
    ...     return shared[0] * np.exp(-own[0] * data_r)
    >>> own, times = np.array([[0.5], [1.0]]), np.array([[1.0, 2.0], [1.0, 3.0]])
    >>> map_rect(f, np.array([2.0]), own, times, [0, 0]).round(4)
    array([1.2131, 0.7358, 0.7358, 0.0996])
    """
    count = len(job_params)
    for name, x in (("data_r", data_r), ("data_i", data_i)):
        if len(x) != count:
            arguments.fail("map_rect", name, f"have an entry for each of {count} jobs", len(x))
    if not count:
        return np.zeros(0)
    points = [(data_r[k], data_i[k]) for k in range(count)]
    return _perform("map_rect", f, _RowsOfJobs, shared, job_params, points, list(range(count)), executor)


def _reduce(
    name: str, f: Function, xs: Nested, shared: tuple[Nested, ...], grainsize: int | None, executor: Any
) -> Real:
    if not isinstance(xs, (list, tuple)) and not np.ndim(xs):
        raise TypeError(f"{name}: xs must be an array, a list or a tuple, got {type(xs).__name__}")
    size = len(xs)
    if grainsize is None:
        grainsize = max(1, -(-size // _PIECES))
    require_positive_size(name, "grainsize", grainsize)
    if not size:
        return 0.0
    pieces = [slice(start, min(start + grainsize, size)) for start in range(0, size, grainsize)]
    points = [(piece.start, piece.stop) for piece in pieces]
    return _perform(name, f, _SumOfJobs, shared, xs, points, pieces, executor)


# ---- results and slopes ----------------------------------------------------------------------------------------------
class _SumOfJobs:
    """The sum of numbers, and its gradients in shared leaves and in those of jobs."""

    is_vector = False
    with_derivatives: type = WithGradient

    def __init__(self, sums: Leaves, rows: Sequence[Leaves], shared: int, in_pieces: bool) -> None:
        self.value, self.shared = sums[0], sums[1:]
        own = [slope for row in rows for slope in row]
        self.own = [np.concatenate(own)] if in_pieces and own else own

    def pull(self, z_bar: Value) -> list[Nested]:
        """The cotangents of shared leaves and of the jobs' leaves."""
        return [[z_bar * slope for slope in slopes] for slopes in (self.shared, self.own)]

    def push(self, shared: Leaves, own: Leaves) -> Value:
        """The tangent of the result from those of shared leaves and of the jobs' leaves."""
        total: Value = 0.0
        for slope, dot in zip([*self.shared, *self.own], [*shared, *own], strict=True):
            total = total + np.sum(slope * dot)
        return total


class _RowsOfJobs:
    """Concatenated vectors, with the Jacobians of each in shared leaves and in its own."""

    is_vector = True
    with_derivatives: type = WithJacobian

    def __init__(self, sums: Leaves, rows: Sequence[Leaves], shared: int, in_pieces: bool) -> None:
        self.in_pieces = in_pieces  # the leaves of all jobs are rows of one array
        self.value = np.concatenate([row[0] for row in rows])
        ends = np.cumsum([len(row[0]) for row in rows]).tolist()
        self.cuts = [slice(end - len(row[0]), end) for row, end in zip(rows, ends, strict=True)]
        self.shared = [row[1 : 1 + shared] for row in rows]
        self.own = [row[1 + shared :] for row in rows]

    def pull(self, z_bar: Value) -> list[Nested]:
        """The cotangents of shared leaves and of the jobs' leaves."""
        shared: Leaves = []
        own: Leaves = []
        for cut, of_shared, of_own in zip(self.cuts, self.shared, self.own, strict=True):
            found = [_pull_rows(z_bar[cut], block) for block in of_shared]
            shared = [total + x for total, x in zip(shared, found, strict=True)] if shared else found
            own += [_pull_rows(z_bar[cut], block) for block in of_own]
        return [shared, [np.stack(own)] if self.in_pieces and own else own]

    def push(self, shared: Leaves, own: Leaves) -> Value:
        """The tangent of the result from those of shared leaves and of the jobs' leaves."""
        parts: list[Value] = []
        mine = iter([own[0][k] for k in range(len(self.cuts))] if self.in_pieces and own else own)
        for cut, of_shared, of_own in zip(self.cuts, self.shared, self.own, strict=True):
            part: Value = np.zeros(cut.stop - cut.start)
            for block, dot in zip([*of_shared, *of_own], [*shared, *(next(mine) for _ in of_own)], strict=True):
                part = part + np.sum(np.reshape(block * dot, (len(part), -1)), axis=1)
            parts.append(part)
        return np.concatenate(parts)


def _pull_rows(z_bar: Value, block: ArrayValue) -> Value:
    """z_bar^T J for one job and one leaf."""
    return np.sum(block * np.reshape(z_bar, (-1,) + (1,) * (np.ndim(block) - 1)), axis=0)


# ---- the operation ---------------------------------------------------------------------------------------------------
def _perform(
    name: str, f: Function, kind: Any, shared: Nested, xs: Nested, others: Sequence[tuple[Nested, ...]],
    cuts: Sequence[Any], executor: Any,
) -> Value:  # fmt: skip
    """All jobs, run when the operation is performed, and their derivatives, kept until a sweep needs them.

    Job k has the arguments shared, xs[cuts[k]] and others[k].
    """
    frozen, captured, later = _freeze(name, f)
    broadcast = [lower_constants(x) for x in [*flatten(shared).leaves, *captured]]
    in_pieces = flatten(xs).spec is None
    own = [lower_constants(leaf) for x in ([xs] if in_pieces else xs) for leaf in flatten(x).leaves]
    structures = [0 if in_pieces else structure_of(xs[cut]) for cut in cuts]
    sizes = [len(flatten(x).leaves) for x in structures]
    ends = np.cumsum(sizes).tolist()
    active = [k for k, x in enumerate(broadcast) if numbers_in(x)]
    active_own = [k for k, x in enumerate(own) if numbers_in(x)]
    wanted: list[list[int]] = [[0] if in_pieces and active_own else [] for _ in cuts]
    for k in () if in_pieces else active_own:
        n = int(np.searchsorted(ends, k, side="right"))
        wanted[n].append(k - ends[n] + sizes[n])
    job = UserJob(name, frozen, structure_of(shared), bool(captured), kind.is_vector)
    labels = [_label(k, cut) for k, cut in enumerate(cuts)]
    if stack().tracer is not None:  # a recorded program reads the arguments again
        broadcast, own, others = map_leaves(_copy, (broadcast, own, others))

    def value(given: Leaves, given_own: Leaves) -> tuple[Value, Any]:
        leaves, mine = list(broadcast), list(own)
        for places, into, values in ((active, leaves, given), (active_own, mine, given_own)):
            for k, x in zip(places, values, strict=True):
                into[k] = x
        if in_pieces:
            owns = [[mine[0][cut]] for cut in cuts]
        else:
            owns = [mine[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        function: Any = job
        points: list[Any] = list(zip(structures, others, strict=True))
        if operation.owner is not None:
            function = kind.with_derivatives(job, active)
            points = list(zip(points, wanted, strict=True))
        sums, rows = perform_jobs(name, function, leaves, owns, points, labels, executor, later)
        found = kind(sums, rows, len(active), in_pieces)
        return found.value, None if operation.owner is None else found

    def pull(args: Sequence[Nested], saved: Any, z: Value, z_bar: Value) -> Nested:
        return saved.pull(z_bar)

    def push(args: Sequence[Nested], saved: Any, z: Value, tangents: Sequence[Nested]) -> Value:
        return saved.push(*tangents)

    given = [broadcast[k] for k in active], [own[k] for k in active_own]
    operation = CustomOperation(name, given, value, pull, push, [], [])
    return operation.perform()


def _freeze(name: str, f: Function) -> tuple[Function, Leaves, list[Function]]:
    """f with placeholders for captured variables, these variables, and data that must not change before a sweep."""
    user = UserFunction(name, f)
    if user.dispatcher is not None:
        return user.dispatcher, [], []
    closure = Closure(f)
    if not closure.variables:
        return f, [], [f]
    frozen = closure.bind([PlaceOfVariable(k) for k in range(len(closure.variables))])
    return frozen, closure.variables, [closure.bind(map_numbers(peek, closure.variables))]


def _copy(x: Nested) -> Nested:
    return x.copy() if isinstance(x, np.ndarray) and not is_immutable(x) else x


def _label(k: int, cut: Any) -> str:
    return f"job {k}" if isinstance(cut, int) else f"job {k}, of elements {cut.start} to {cut.stop - 1}"
