"""Minima with constraints, differentiated by the conditions of Karush, Kuhn and Tucker at the solution.

Constraints that hold with equality, and have a positive multiplier, stay active. A constraint that is active with a
multiplier of zero is degenerate: the minimum has different derivatives to both sides, so it is refused.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from contad.errors import SingularPointError, UnsupportedError
from contad.scipy.optimize.implicit import differentiate_root, take_primals
from contad.transforms.flat_functions import FlatFunction, flat
from contad.transforms.gradients import grad
from contad.transforms.jacobians import jacobian
from contad.variables.open_types import ArrayValue, Function, Nested
from contad.variables.trees import holds_number

_NEAR = 1e-3  # of 1 and the size of the unknowns: inequalities nearer than this may be active
_ZERO = 1e-7  # of the same: an inequality nearer than this is active
_WEAK = 1e-6  # of the largest multiplier: smaller ones count as zero
_WRONG = 1e-3  # of the gradient: a larger rest means that the solution satisfies no such conditions


class Restriction(NamedTuple):
    """Numbers that are 0, or not negative, at the solution, as a function of the vector of unknowns."""

    of: Callable[[ArrayValue], ArrayValue]
    is_equality: bool


def conditions_of(constraints: Any, bounds: Any, x0: Nested) -> list[Restriction]:
    """The constraints and the bounds (low, high) of `minimize`, each as numbers c(x) = 0 or c(x) >= 0."""
    found = []
    given = constraints if isinstance(constraints, (list, tuple)) else [constraints]
    for one in given:
        if isinstance(one, dict):
            of = _as_vector(flat(one["fun"], x0), tuple(one.get("args", ())))
            found.append(Restriction(of, one["type"] == "eq"))
            continue
        if holds_number([one.lb, one.ub]):
            raise UnsupportedError(
                "minimize: bounds of constraints must be plain numbers; let the constraint's function contain them"
            )
        is_linear = isinstance(one, scipy.optimize.LinearConstraint)
        found += _between(_linear(one.A) if is_linear else flat(one.fun, x0), one.lb, one.ub)
    if bounds is not None:
        found += _between(lambda x: x, *bounds)
    return found


def _as_vector(of: Function, rest: tuple[Nested, ...]) -> Function:
    return lambda x: np.reshape(of(x, *rest), (-1,))


def _linear(a: Any) -> Function:
    return lambda x: np.matmul(np.asarray(a), x)


def _between(of: Function, low: Any, high: Any) -> list[Restriction]:
    """low <= of(x) <= high as equalities and inequalities."""
    found = []
    low, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(high, float))
    low, high = np.atleast_1d(low), np.atleast_1d(high)
    same, below, above = low == high, np.isfinite(low) & (low != high), np.isfinite(high) & (low != high)

    def part(x: ArrayValue, chosen: np.ndarray) -> ArrayValue:
        values = np.reshape(of(x), (-1,))
        return (values + np.zeros(len(low)) if np.shape(values) != low.shape else values)[np.flatnonzero(chosen)]

    if same.any():
        found.append(Restriction(lambda x: part(x, same) - low[same], True))
    if below.any():
        found.append(Restriction(lambda x: part(x, below) - low[below], False))
    if above.any():
        found.append(Restriction(lambda x: high[above] - part(x, above), False))
    return found


def differentiate_minimum(
    what: str, model: FlatFunction, z: np.ndarray, args: tuple[Nested, ...], conditions: Sequence[Restriction],
    success: bool, message: str,
) -> ArrayValue:  # fmt: skip
    """The constrained minimum z of model(x, *args) with its derivatives.

        grad f(z, p) - sum_k l_k grad c_k(z, p) = 0,     c_k(z, p) = 0 for equalities and active inequalities k
    """
    plain = take_primals(args)
    slope = np.asarray(take_primals(model.grad(z, *plain)), float)
    values, slopes, equal = _evaluate(conditions, z)
    chosen, multipliers = find_active(what, z, slope, values, slopes, equal)
    counts = np.cumsum([0, *(len(take_primals(one.of(z))) for one in conditions)])
    places = [np.flatnonzero(chosen[a:b]) for a, b in itertools.pairwise(counts)]

    def active(x: ArrayValue) -> ArrayValue:
        return np.concatenate(
            [np.zeros(0), *(one.of(x)[k] for one, k in zip(conditions, places, strict=True) if len(k))]
        )

    def equations(w: ArrayValue, *p: Nested) -> ArrayValue:
        x, rest = w[: len(z)], w[len(z) :]
        of_lagrangian = grad(lambda x: model(x, *p) - np.sum(rest * active(x)))
        return np.concatenate([of_lagrangian(x), active(x)])

    return differentiate_root(what, equations, np.concatenate([z, multipliers]), args, success, message)[: len(z)]


def _evaluate(conditions: Sequence[Restriction], z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Plain values of all conditions, their gradients, and which are equalities."""
    values, slopes, equal = [np.zeros(0)], [np.zeros((0, len(z)))], [np.zeros(0, bool)]
    for one in conditions:
        values.append(np.asarray(take_primals(one.of(z)), float))
        slopes.append(np.reshape(np.asarray(take_primals(jacobian(one.of)(z)), float), (-1, len(z))))
        equal.append(np.full(len(values[-1]), one.is_equality))
    return np.concatenate(values), np.concatenate(slopes), np.concatenate(equal)


def find_active(
    what: str, z: np.ndarray, slope: np.ndarray, values: np.ndarray, slopes: np.ndarray, equal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which of the conditions c >= 0 and c = 0 are active at z, and the multipliers of these."""
    scale = 1.0 + np.max(np.abs(z), initial=0.0)
    sizes = np.maximum(np.linalg.norm(slopes, axis=1), np.finfo(float).tiny)
    near = equal | (values <= _NEAR * scale * sizes)
    columns = slopes[near].T
    both = np.concatenate([columns, -columns[:, equal[near]]], axis=1)
    found, rest = scipy.optimize.nnls(both, slope) if both.shape[1] else (np.zeros(0), np.linalg.norm(slope))
    if rest > _WRONG * (np.linalg.norm(slope) + np.max(np.abs(found), initial=0.0) * 1e-2 + 1e-2):
        raise RuntimeError(
            f"{what}: the result is no minimum under its constraints, so there is no derivative: the gradient has a "
            f"part of {rest:.2g} that no active constraint holds"
        )
    multipliers = np.zeros(len(values))
    multipliers[near] = found[: columns.shape[1]]
    multipliers[equal & near] -= found[columns.shape[1] :]
    force = multipliers * sizes
    strong = force > _WEAK * max(np.max(np.abs(force), initial=0.0), np.linalg.norm(slope))
    weak = ~equal & ~strong & (values <= _ZERO * scale * sizes)
    if weak.any():
        raise SingularPointError(
            f"{what}: constraint {int(np.flatnonzero(weak)[0])} is active, but does not hold the minimum back: its "
            "multiplier is zero, and the minimum has different derivatives to both sides"
        )
    chosen = equal | strong
    return chosen, multipliers[chosen]
