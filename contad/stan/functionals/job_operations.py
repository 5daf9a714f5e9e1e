"""All jobs as one operation, differentiable in all of their leaves; its derivatives are jobs as well."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.scipy.integrate.integral_operation import zeros
from contad.stan.functionals.job_functions import JobPullback, JobPushforward, Leaves
from contad.stan.functionals.messages import Job
from contad.stan.functionals.workers import run_jobs
from contad.transforms.operation import CustomOperation
from contad.variables.array import numbers_in
from contad.variables.open_types import Function, Nested, Value


def perform_jobs(
    name: str, function: Any, broadcast: Leaves, owns: Sequence[Leaves], points: Sequence[Any], labels: Sequence[str],
    executor: Any, later: Sequence[Function],
) -> tuple[Leaves, list[Leaves]]:  # fmt: skip
    """(sums over all jobs, rows of each job) of a job function, by the workers of an executor.

        sums = sum of F(broadcast, own_k),     broadcast_bar = sum of J_k^T (sums_bar, rows_bar_k)

    Sums are added in the order of jobs. If leaves are variables, the derivatives are jobs that run when a sweep needs
    them.
    """
    if not any(map(numbers_in, [broadcast, *owns])):
        jobs = [Job(broadcast, own, point, label) for own, point, label in zip(owns, points, labels, strict=True)]
        return _add(run_jobs(name, function, jobs, executor))

    def again(function: Any, broadcast: Leaves, owns: Sequence[Leaves], points: Sequence[Any]) -> Any:
        return perform_jobs(name, function, broadcast, owns, points, labels, executor, later)

    def value(broadcast: Leaves, owns: Sequence[Leaves]) -> tuple[Nested, None]:
        return again(function, broadcast, owns, points), None

    def find_wanted(owns: Sequence[Leaves]) -> tuple[list[int], list[list[int]]]:
        """The leaves that carry derivatives: shared ones, and those of each job."""
        ends = np.cumsum([len(own) for own in owns]).tolist()
        wanted: list[list[int]] = [[] for _ in owns]
        for n, k in operation.places:
            if n == 1:
                job = int(np.searchsorted(ends, k, side="right"))
                wanted[job].append(k - ends[job] + len(owns[job]))
        return [k for n, k in operation.places if n == 0], wanted

    def split(owns: Sequence[Leaves], wanted: Sequence[list[int]]) -> list[Any]:
        return [(point, len(own), mine) for point, own, mine in zip(points, owns, wanted, strict=True)]

    def pull(args: Sequence[Nested], saved: None, z: Nested, z_bar: Nested) -> list[Nested]:
        broadcast, owns = args
        shared, wanted = find_wanted(owns)
        sums_bar, rows_bar = z_bar
        given = [[*own, *bars] for own, bars in zip(owns, rows_bar, strict=True)]
        pullback = JobPullback(function, len(broadcast), shared)
        sums, rows = again(pullback, [*broadcast, *sums_bar], given, split(owns, wanted))
        return [
            _place(broadcast, shared, sums),
            [_place(own, mine, row) for own, mine, row in zip(owns, wanted, rows, strict=True)],
        ]

    def push(args: Sequence[Nested], saved: None, z: Nested, tangents: Sequence[Nested]) -> Nested:
        broadcast, owns = args
        shared, wanted = find_wanted(owns)
        dots = [tangents[0][k] for k in shared]
        given = [
            [*own, *(dot[k] for k in mine)] for own, dot, mine in zip(owns, tangents[1], wanted, strict=True)
        ]  # fmt: skip
        pushforward = JobPushforward(function, len(broadcast), shared)
        return again(pushforward, [*broadcast, *dots], given, split(owns, wanted))

    operation = CustomOperation(name, (broadcast, list(owns)), value, pull, push, [], later)
    return operation.perform()


def _place(leaves: Leaves, places: Sequence[int], found: Sequence[Value]) -> Leaves:
    """Cotangents of all leaves, from those of the wanted leaves."""
    given = dict(zip(places, found, strict=True))
    return [given[k] if k in given else zeros(x) for k, x in enumerate(leaves)]


def _add(results: Any) -> tuple[Leaves, list[Leaves]]:
    """Add results in the order of the jobs; the running sums are private, and updated in place."""
    totals: Leaves = []
    all_rows = []
    for n, (sums, rows) in enumerate(results):
        all_rows.append(list(rows))
        if n == 0:
            totals = list(sums)
            continue
        for k, x in enumerate(sums):
            if n == 1 or not isinstance(totals[k], np.ndarray):
                totals[k] = totals[k] + x
            else:
                totals[k] += x
    return totals, all_rows
