"""Sums and maps over data in pieces, each differentiated where it is computed: on threads, in processes, elsewhere."""

import concurrent.futures
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.front.user_function import UserFunction, primitive_of
from contad.scipy.integrate.integral_operation import OfLeaves, freeze, zeros
from contad.transforms.gradients import vjp
from contad.transforms.jacobians import jacobian
from contad.transforms.operation import CustomOperation
from contad.variables import arguments, check
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.open_types import ArrayValue, Function, Nested, Real, Value
from contad.variables.trees import flatten

_PIECES = 32  # without a grainsize; a number that does not depend on workers, so that neither does the result


def reduce_sum(
    f: Function, xs: Nested, *shared: Nested, grainsize: int | None = None, executor: Any = None
) -> Real:
    """The sum of f(xs[start:end], start, end, *shared) over pieces of xs, by the workers of an executor.

        z = sum of f_k,     p_bar = sum of df_k/dp z_bar, added in the order of the pieces

    Each piece is recorded on a stack of its own and swept by the worker that computed it; what comes back is its value
    and its gradient in xs[start:end], `shared` (trees) and what f captures. Pieces have `grainsize` elements, at most,
    whatever the number of workers, so that the result is the same number for any.

    executor  anything with `submit` as in concurrent.futures: ThreadPoolExecutor, where compiled functions run beside
              each other; ProcessPoolExecutor, for functions that pickle finds by name; those of mpi4py and Dask.
              Without one the pieces are computed in turn, as they are inside other derivatives, whose variables belong
              to a thread

    Shapes:  xs an array, cut along its first axis, or a list or tuple; f a number -> a number. Without elements 0.
    Raises:  what f raises, with a note of the piece; RuntimeError where a worker ends before its piece is done;
             TypeError for an xs of another kind; ValueError for a grainsize below 1.
    Cost:    one value and gradient of f for each piece, and what it costs to send the piece and `shared`.
    Ref:     Stan's reduce_sum.

    >>> import contad
    >>> def partial_sum(xs, start, end, rate):
    ...     return np.sum(np.log(rate) - rate * xs)
    >>> xs = np.linspace(0.1, 2.0, 1000)
    >>> round(contad.grad(lambda rate: reduce_sum(partial_sum, xs, rate, grainsize=100))(2.0), 6)
    -550.0
    """
    return _reduce("reduce_sum", f, xs, shared, grainsize, executor)


def reduce_sum_static(
    f: Function, xs: Nested, grainsize: int, *shared: Nested, executor: Any = None
) -> Real:
    """As `reduce_sum`, with Stan's order of arguments; pieces never depend on workers in either.

    Shapes:  as there.
    Cost:    as there.

    >>> float(reduce_sum_static(lambda xs, start, end, p: p * np.sum(xs), np.ones(10), 3, 0.5))
    5.0
    """
    return _reduce("reduce_sum_static", f, xs, shared, grainsize, executor)


def map_rect(
    f: Function, shared: Nested, job_params: Nested, data_r: Sequence[Nested], data_i: Sequence[Nested],
    executor: Any = None,
) -> ArrayValue:  # fmt: skip
    """The vectors f(shared, job_params[k], data_r[k], data_i[k]) of all jobs k in a row, by the workers of an executor.

        z = [f_0, f_1, ...],     shared_bar = sum of J_k^T z_bar_k, added in the order of jobs

    Each worker gives back its vector and its Jacobian in `shared` (a tree), the job's parameters and what f captures.
    Executors are those of `reduce_sum`.

    Shapes:  job_params (N, P), or a list of N trees; data_r and data_i of N entries -> all vectors in a row.
    Raises:  as there; ValueError for lengths that differ.
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
    return _perform("map_rect", f, _RowsOfJobs, (shared, job_params), points, list(range(count)), executor)


def _reduce(
    name: str, f: Function, xs: Nested, shared: tuple[Nested, ...], grainsize: int | None, executor: Any
) -> Real:
    if not isinstance(xs, (list, tuple)) and not np.ndim(xs):
        raise TypeError(f"{name}: xs must be an array, a list or a tuple, got {type(xs).__name__}")
    size = len(xs)
    if grainsize is None:
        grainsize = max(1, -(-size // _PIECES))
    check.positive_size(name, "grainsize", grainsize)
    if not size:
        return 0.0
    pieces = [slice(start, min(start + grainsize, size)) for start in range(0, size, grainsize)]
    points = [(piece.start, piece.stop) for piece in pieces]
    return _perform(name, f, _SumOfJobs, (shared, xs), points, pieces, executor)


# ---- one job ---------------------------------------------------------------------------------------------------------
class _Job(NamedTuple):
    """What a worker is given: params are (shared, own, captured), of whose leaves some carry derivatives."""

    call: Function
    point: tuple[Nested, ...]
    params: tuple[Nested, ...]
    places: list[int]
    is_vector: bool
    label: str  # for messages


class _Direct:
    """The user's function on (point, params), where it captures no variables; pickle takes it with the function."""

    def __init__(self, f: Function, is_vector: bool) -> None:
        self.f, self.is_vector = f, is_vector

    def __call__(self, point: tuple[Nested, ...], params: tuple[Nested, ...]) -> Nested:
        shared, own, _ = params
        user = UserFunction("a job", self.f)
        run = user.runnable() if user.dispatcher is None else primitive_of(user.dispatcher)
        return run(shared, own, *point) if self.is_vector else run(own, *point, *shared)


def _call_captured(call: Function, is_vector: bool) -> Function:
    """The same for a function that captures variables, `call` of a ConvertedFunction."""

    def of_params(point: tuple[Nested, ...], params: tuple[Nested, ...]) -> Nested:
        shared, own, captured = params
        if is_vector:
            return call((shared, own, *point), ((), captured))
        return call((own, *point), (shared, captured))

    return of_params


def run_job(job: _Job) -> tuple[Value, Sequence[Value]]:
    """(the value of a job, its derivatives by the leaves that are wanted), as a worker computes them."""
    tree = flatten(job.params)
    leaves = [tree.leaves[k] for k in job.places]
    of_leaves = OfLeaves(job.call, job.point, tree, job.places)
    if not job.is_vector and leaves:
        value, pullback = vjp(of_leaves, *leaves)
        return value, pullback(1.0)
    value = job.call(job.point, job.params)
    if job.is_vector:
        value = array(value)
    return value, jacobian(of_leaves, tuple(range(len(leaves))))(*leaves) if leaves else ()


# ---- all jobs --------------------------------------------------------------------------------------------------------
class _SumOfJobs:
    """The sum of numbers, and its derivatives."""

    is_vector = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Value = 0.0
        self.slopes: dict[int, Value] = {}  # by leaf of all arguments
        self.own: dict[int, list[Value]] = {}

    def add(self, value: Value, slopes: Sequence[Value], leaves: Sequence[int], own: Sequence[bool]) -> None:
        """Take what a job has given; jobs come in their order."""
        if np.ndim(value):
            arguments.fail(self.name, "f", "give a number", f"shape {np.shape(value)}")
        self.value = self.value + value
        for leaf, slope, is_own in zip(leaves, slopes, own, strict=True):
            if is_own:  # a piece of an array
                self.own.setdefault(leaf, []).append(slope)
            else:
                self.slopes[leaf] = self.slopes[leaf] + slope if leaf in self.slopes else slope

    def finish(self) -> Value:
        """The result."""
        self.slopes |= {leaf: np.concatenate(pieces) for leaf, pieces in self.own.items()}
        return self.value

    def pull(self, leaf: int, z_bar: Value) -> Value:
        """The cotangent of a leaf."""
        return z_bar * self.slopes[leaf]

    def push(self, leaf: int, dot: Value) -> Value:
        """What a tangent of a leaf gives."""
        return np.sum(self.slopes[leaf] * dot)


class _RowsOfJobs:
    """Vectors in a row, and their derivatives: for each leaf a list of (first number, Jacobian, index of a row)."""

    is_vector = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[ArrayValue] = []
        self.size = 0
        self.blocks: dict[int, list[tuple[int, ArrayValue, int | None]]] = {}

    def add(self, value: Value, slopes: Sequence[Value], leaves: Sequence[int], own: Sequence[bool]) -> None:
        """Take what a job has given; jobs come in their order."""
        if np.ndim(value) != 1:
            arguments.fail(self.name, "f", "give a vector", f"shape {np.shape(value)}")
        for leaf, slope, is_own in zip(leaves, slopes, own, strict=True):
            self.blocks.setdefault(leaf, []).append((self.size, slope, len(self.values) if is_own else None))
        self.values.append(value)
        self.size += len(value)

    def finish(self) -> Value:
        """The result."""
        return np.concatenate(self.values)

    def pull(self, leaf: int, z_bar: Value) -> Value:
        """The cotangent of a leaf, or of all rows of one that is cut into rows."""
        parts: list[Value] = []
        for first, block, _ in self.blocks[leaf]:
            row = z_bar[first : first + len(block)]
            parts.append(np.sum(block * np.reshape(row, (-1,) + (1,) * (np.ndim(block) - 1)), axis=0))
        if self.blocks[leaf][0][2] is not None:
            return np.stack(parts)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def push(self, leaf: int, dot: Value) -> Value:
        """What a tangent of a leaf gives."""
        known = {first: (block, index) for first, block, index in self.blocks[leaf]}
        parts, first = [], 0
        for value in self.values:
            block, index = known.get(first, (np.zeros(len(value)), None))
            own = dot if index is None else dot[index]
            parts.append(np.sum(np.reshape(block * own, (len(value), -1)), axis=1))
            first += len(value)
        return np.concatenate(parts)


def _perform(
    name: str, f: Function, kind: Any, args: tuple[Nested, Nested], points: Sequence[tuple[Nested, ...]],
    cuts: Sequence[Any], executor: Any,
) -> Value:  # fmt: skip
    """The operation: all jobs, run where it is performed, and their derivatives, kept until they are asked for."""
    frozen = freeze(f, name)
    call = _call_captured(frozen.call, kind.is_vector) if frozen.captured else _Direct(f, kind.is_vector)

    def value(shared: Nested, own: Nested, captured: Sequence[Value]) -> tuple[Value, Any]:
        active = set(operation.places)
        is_array = isinstance(flatten(own).spec, type(None))
        counts = [len(flatten((shared,)).leaves), *([] if is_array else [len(flatten((x,)).leaves) for x in own])]
        ends = np.cumsum(counts).tolist()
        jobs, leaves, from_arrays = [], [], []
        captured_at = counts[0] + (1 if is_array else ends[-1] - counts[0])
        for point, cut in zip(points, cuts, strict=True):
            if is_array:
                first, last = counts[0], counts[0] + 1
            else:
                first = ends[cut if isinstance(cut, int) else cut.start]
                last = ends[cut + 1 if isinstance(cut, int) else cut.stop]
            whole = [*range(counts[0]), *range(first, last), *range(captured_at, captured_at + len(captured))]
            origins = [(0, k) for k in range(counts[0])] + [(1, k - counts[0]) for k in range(first, last)]
            origins += [(2, k) for k in range(len(captured))]
            wanted = [k for k, origin in enumerate(origins) if origin in active]
            jobs.append(_Job(call, point, (shared, own[cut], captured), wanted, kind.is_vector, _label(cut)))
            leaves.append([whole[k] for k in wanted])
            from_arrays.append([is_array and origins[k][0] == 1 for k in wanted])
        found = kind(name)
        plain = not numbers_in(flatten((shared, own, captured)).leaves)
        for result, at, cut_from in zip(
            _run_all(name, jobs, executor if plain else None), leaves, from_arrays, strict=True
        ):
            found.add(*result, at, cut_from)
        found.leaf = {(0, k): k for k in range(counts[0])}
        found.leaf |= {(1, k): counts[0] + k for k in range(captured_at - counts[0])}
        found.leaf |= {(2, k): captured_at + k for k in range(len(captured))}
        return found.finish(), None if operation.owner is None else found

    def pull(args: Sequence[Nested], saved: Any, z: Value, z_bar: Value) -> list[Nested]:
        cotangents: dict[tuple[int, int], Value] = {}
        for place in operation.places:
            cotangents[place] = saved.pull(saved.leaf[place], z_bar)
        trees = [flatten(x) for x in args]
        return [
            tree.unflatten([cotangents.get((n, k), zeros(x)) for k, x in enumerate(tree.leaves)])
            if any(m == n for m, _ in operation.places) else None
            for n, tree in enumerate(trees)
        ]  # fmt: skip

    def push(args: Sequence[Nested], saved: Any, z: Value, tangents: Sequence[Nested]) -> Value:
        trees = [flatten(x).leaves for x in tangents]
        z_dot: Value = 0.0
        for n, k in operation.places:
            z_dot = z_dot + saved.push(saved.leaf[n, k], trees[n][k])
        return z_dot

    operation = CustomOperation(name, (*args, frozen.captured), value, pull, push, [], [])
    return operation.perform()


def _run_all(name: str, jobs: Sequence[_Job], executor: Any) -> Any:
    """The results of all jobs in their order, as they come."""
    if executor is None:
        yield from map(run_job, jobs)
        return
    futures = [executor.submit(run_job, job) for job in jobs]
    try:
        for job, future in zip(jobs, futures, strict=True):
            try:
                yield future.result()
            except concurrent.futures.BrokenExecutor as error:
                raise RuntimeError(
                    f"{name}: a worker ended before the job {job.label} was done, and there is no result: {error}"
                ) from error
            except Exception as error:
                error.add_note(f"{name}: in the job {job.label}")
                raise
    finally:
        for future in futures:
            future.cancel()


def _label(cut: Any) -> str:
    return f"{cut}" if isinstance(cut, int) else f"of elements {cut.start} to {cut.stop - 1}"
