"""Functions that a worker computes, of the leaves of one job, and their derivatives, which are such functions again.

A job function takes (broadcast, own, point): the leaves that all jobs share, the leaves of one job, and values without
derivatives. It returns (sums, rows): leaves that are added over all jobs, and leaves that belong to the job. The
reverse and forward derivatives of a job function are job functions, so derivatives of every order are jobs, too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.front.user_function import UserFunction, primitive_of
from contad.functions.closure_conversion import Closure
from contad.transforms.gradients import jvp, value_and_grad, vjp
from contad.transforms.hessians import hvp
from contad.transforms.jacobians import jacobian
from contad.transforms.operation import CustomOperation
from contad.variables import arguments
from contad.variables.array import numbers_in
from contad.variables.creation import array
from contad.variables.open_types import Function, Nested, Value
from contad.variables.trees import flatten, map_leaves

Leaves = list[Value]
Results = tuple[Leaves, Leaves]  # sums and rows


class PlaceOfVariable:
    """A placeholder in a function for a captured variable, whose value comes with the leaves that jobs share."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class UserJob:
    """The user's function of the leaves of a job: f(own, *point, *shared) -> a number, or for map_rect f(shared, own,
    *point) -> a vector.

    `shared` has the structure of the arguments that jobs share, a tree of the indices of their leaves; captured values
    follow. The point of a job is (the structure of its own argument, the other arguments).
    """

    def __init__(self, name: str, f: Function, shared: Nested, captures: bool, is_vector: bool) -> None:
        self.name, self.f, self.shared, self.captures, self.is_vector = name, f, shared, captures, is_vector

    def __call__(self, broadcast: Leaves, own: Leaves, point: Any) -> Results:
        z = self._make_runnable(broadcast)(*self.arguments(broadcast, own, point))
        if self.is_vector:
            z = array(z)
            if np.ndim(z) != 1:
                arguments.fail(self.name, "f", "give a vector", f"shape {np.shape(z)}")
            return [], [z]
        if np.ndim(z):
            arguments.fail(self.name, "f", "give a number", f"shape {np.shape(z)}")
        return [z], []

    def arguments(self, broadcast: Leaves, own: Leaves, point: Any) -> list[Nested]:
        """The arguments of f, in their order."""
        structure, others = point
        shared, mine = fill(self.shared, broadcast), fill(structure, own)
        return [shared, mine, *others] if self.is_vector else [mine, *others, *shared]

    def arguments_of(self, broadcast: Sequence[int], own: Sequence[int], point: Any) -> list[int] | None:
        """The positions of the arguments whose leaves are exactly the wanted ones; None if there are no such arguments.

        `broadcast` and `own` are the wanted leaves.
        """
        structure, others = point
        shared = [flatten(self.shared).leaves] if self.is_vector else [flatten(x).leaves for x in self.shared]
        mine, first = flatten(structure).leaves, 0 if self.is_vector else 1 + len(others)
        places = [first + k for k, leaves in enumerate(shared) if any(leaf in broadcast for leaf in leaves)]
        covered = [leaf for k in places for leaf in shared[k - first]]
        if own:
            places.append(1 if self.is_vector else 0)
        if covered != list(broadcast) or (own and mine != list(own)):
            return None
        return places

    def _make_runnable(self, broadcast: Leaves) -> Function:
        """f in the form that runs on variables, with the captured ones."""
        f = self.f
        if self.captures:
            closure = Closure(f, PlaceOfVariable)
            first = len(flatten(self.shared).leaves)
            f = closure.bind([broadcast[first + place.index] for place in closure.variables])
        run = UserFunction(self.name, f)
        return run.runnable() if run.dispatcher is None else primitive_of(run.dispatcher)


class WithGradient:
    """The value of a job, a number, and its gradient in the wanted leaves: sums [z, gradients], rows [gradients].

    The point of a job is (its point, which of its own leaves are wanted).
    """

    def __init__(self, job: UserJob, wanted: Sequence[int]) -> None:
        self.job, self.wanted = job, wanted
        self._forget()

    def _forget(self) -> None:
        self._is_compiled: bool | None = None
        self._gradients: dict[Any, Any] = {}  # which leaves are wanted -> (positions of arguments, their gradient)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.job, self.wanted

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.job, self.wanted = state
        self._forget()

    def _find_gradient(self, wanted: Sequence[int], point: Any) -> Any:
        """(the positions of the wanted arguments, their compiled gradient); None if there is no such gradient."""
        if self._is_compiled is None:
            self._is_compiled = UserFunction(self.job.name, self.job.f).dispatcher is not None
        if not self._is_compiled:
            return None
        is_whole = point[0].__class__ is int  # then it is the same for all such jobs
        key = bool(wanted) if is_whole else None
        found = self._gradients.get(key)
        if found is None:
            places = self.job.arguments_of(self.wanted, wanted, point)
            if places is None:
                return None
            found = tuple(places), value_and_grad(self.job.f, tuple(places))
            if is_whole:
                self._gradients[key] = found
        return found

    def __call__(self, broadcast: Leaves, own: Leaves, point: Any) -> Results:
        inner, wanted = point
        if not self.wanted and not wanted:
            return self.job(broadcast, own, inner)
        compiled = self._find_gradient(wanted, inner)
        if compiled is not None:  # avoids variables, which cost more than a short function
            places, gradient = compiled
            args = self.job.arguments(broadcast, own, inner)
            if any(map(_holds_numbers, [*broadcast, *own])):
                value, found = _compiled_gradient(self.job.name, self.job.f, places, args)
            else:
                value, found = gradient(*args)
            slopes = [leaf for part in found for leaf in _leaves_of(part)]
        else:
            of_wanted, leaves = _restrict(self.job, broadcast, own, inner, self.wanted, wanted)
            (values, _), pullback = vjp(of_wanted, *leaves)
            value, slopes = values[0], list(pullback(([1.0], [])))
        return [value, *slopes[: len(self.wanted)]], slopes[len(self.wanted) :]


def _holds_numbers(x: Value) -> bool:
    return x.__class__ is not float and bool(numbers_in(x))


def _leaves_of(x: Nested) -> Leaves:
    return [x] if x.__class__ is float or x.__class__ is np.ndarray else flatten(x).leaves


def _compiled_gradient(name: str, f: Function, argnums: tuple[int, ...], args: list[Nested]) -> Any:
    """(value, gradients) of a Numba function: an operation whose derivatives are products with its compiled Hessian."""
    if not any(_holds_numbers(leaf) for x in args for leaf in flatten(x).leaves):
        return value_and_grad(f, argnums)(*args)

    def value(*args: Nested) -> tuple[Nested, Nested]:
        z, slopes = _compiled_gradient(name, f, argnums, list(args))
        return (z, slopes), slopes

    def product(args: Sequence[Nested], tangents: Sequence[Nested]) -> Nested:
        return hvp(f, argnums)(*args, tuple(tangents))

    def pull(args: Sequence[Nested], slopes: Nested, z: Nested, z_bar: Nested) -> list[Nested]:
        value_bar, slopes_bar = z_bar
        products = product(args, slopes_bar)
        bars = [map_leaves(lambda g, h: value_bar * g + h, *pair) for pair in zip(slopes, products, strict=True)]
        return [bars[argnums.index(k)] if k in argnums else None for k in range(len(args))]

    def push(args: Sequence[Nested], slopes: Nested, z: Nested, tangents: Sequence[Nested]) -> tuple[Nested, Nested]:
        dots = [tangents[k] for k in argnums]
        z_dot: Value = 0.0
        for slope, dot in zip(flatten(slopes).leaves, flatten(dots).leaves, strict=True):
            z_dot = z_dot + np.sum(slope * dot)
        return z_dot, product(args, dots)

    return CustomOperation(name, args, value, pull, push, [], []).perform()


class WithJacobian:
    """The vector of a job and its Jacobians in the wanted leaves: rows [z, Jacobians]."""

    def __init__(self, job: UserJob, wanted: Sequence[int]) -> None:
        self.job, self.wanted = job, wanted

    def __call__(self, broadcast: Leaves, own: Leaves, point: Any) -> Results:
        inner, wanted = point
        if not self.wanted and not wanted:
            return self.job(broadcast, own, inner)
        of_wanted, leaves = _restrict(self.job, broadcast, own, inner, self.wanted, wanted)

        def vector(*leaves: Value) -> tuple[Value, Value]:
            z = of_wanted(*leaves)[1][0]
            return z, z

        blocks, z = jacobian(vector, tuple(range(len(leaves))), has_aux=True)(*leaves)
        return [], [z, *blocks]


class JobPullback:
    """The cotangents of the wanted leaves of a job. The shared leaves after the first `count` are the cotangents of
    sums, and the job's own leaves end with those of rows; the point is (its point, how many leaves are its own, which
    of them are wanted).
    """

    def __init__(self, job: Any, count: int, wanted: Sequence[int]) -> None:
        self.job, self.count, self.wanted = job, count, wanted

    def __call__(self, broadcast: Leaves, own: Leaves, point: Any) -> Results:
        inner, n, wanted = point
        of_wanted, leaves = _restrict(self.job, broadcast[: self.count], own[:n], inner, self.wanted, wanted)
        found = list(vjp(of_wanted, *leaves)[1]((broadcast[self.count :], own[n:])))
        return found[: len(self.wanted)], found[len(self.wanted) :]


class JobPushforward:
    """The tangents of sums and rows of a job, like `JobPullback`, with tangents of the wanted leaves after the
    leaves."""

    def __init__(self, job: Any, count: int, wanted: Sequence[int]) -> None:
        self.job, self.count, self.wanted = job, count, wanted

    def __call__(self, broadcast: Leaves, own: Leaves, point: Any) -> Results:
        inner, n, wanted = point
        of_wanted, leaves = _restrict(self.job, broadcast[: self.count], own[:n], inner, self.wanted, wanted)
        sums, rows = jvp(of_wanted, leaves, [*broadcast[self.count :], *own[n:]])[1]
        return sums, rows


class _OfWanted:
    """A job function of the wanted leaves alone; an object of contad's, so that it is not searched for captured
    values."""

    def __init__(
        self, job: Any, broadcast: Leaves, own: Leaves, point: Any, wanted: Sequence[int], wanted_own: Sequence[int]
    ) -> None:  # fmt: skip
        self.job, self.broadcast, self.own, self.point = job, broadcast, own, point
        self.wanted, self.wanted_own = wanted, wanted_own

    def __call__(self, *leaves: Value) -> Results:
        broadcast, own, count = list(self.broadcast), list(self.own), len(self.wanted)
        for into, places, values in ((broadcast, self.wanted, leaves), (own, self.wanted_own, leaves[count:])):
            for k, x in zip(places, values, strict=False):
                into[k] = x
        results: Results = self.job(broadcast, own, self.point)
        return results


def _restrict(
    job: Any, broadcast: Leaves, own: Leaves, point: Any, wanted: Sequence[int], wanted_own: Sequence[int]
) -> tuple[_OfWanted, Leaves]:
    """A job function of the wanted leaves alone, and these leaves."""
    leaves = [*(broadcast[k] for k in wanted), *(own[k] for k in wanted_own)]
    return _OfWanted(job, broadcast, own, point, wanted, wanted_own), leaves


def structure_of(x: Nested, first: int = 0) -> Nested:
    """x with its leaves replaced by their indices, counted from `first`."""
    tree = flatten(x)
    return tree.unflatten(list(range(first, first + len(tree.leaves))))


def fill(structure: Nested, leaves: Leaves) -> Nested:
    """A tree of indices with the leaves at these indices."""
    if structure.__class__ is int:  # the usual case, without further work
        return leaves[structure]
    if structure.__class__ is tuple:
        return tuple([fill(x, leaves) for x in structure])
    tree = flatten(structure)
    return tree.unflatten([leaves[k] for k in tree.leaves])
