"""The choice among equal elements in extremes and order statistics, if a gradient is itself differentiated.

First derivatives are those of the first of equal elements. A second derivative along v is that of the element picked on
the line along v, where the tangents decide the order. If these are also equal, or unknown, all of the elements share
the derivative, and second derivatives that an adjoint meets are nan: see `contad.ops.kinks`.
"""

import math

import numpy as np

from contad.ops.kinks import Share, Twin, tangents_of
from contad.rules.scalar_rule import ScalarRule, is_nested
from contad.variables.array import Array, is_plain
from contad.variables.number import Carrier, lower_to_recorded, observe, scale
from contad.variables.open_types import Value


def may_tie(rows: Value, positions: np.ndarray, axis: int = -1) -> bool:
    """Whether there are ties that matter, for derivatives of derivatives or for later ones.

    A recorded program has guards instead.
    """
    if not isinstance(rows, Array) or isinstance(lower_to_recorded(rows), Carrier):
        return False
    if not (is_nested(rows) or getattr(rows._owner, "opens_calls", False)):
        return False
    values, positions = np.moveaxis(observe(np.asarray, rows), axis, -1), np.moveaxis(positions, axis, -1)
    if positions.shape[-1] == 1:
        return bool(np.count_nonzero(values == np.take_along_axis(values, positions, -1)) > positions.size)
    ordered = np.sort(values, -1)
    return bool((ordered[..., 1:] == ordered[..., :-1]).any())


def take_picked(rows: Value, positions: np.ndarray, rank: np.ndarray) -> Value:
    """np.take_along_axis(rows, positions, -1), for the elements that have these ranks along v in the sorted row."""
    values = observe(np.asarray, rows)
    picked = np.take_along_axis(values, positions, -1)
    usual = ~np.isfinite(picked)  # the others are positions of nan
    rank = np.where(usual, 0, np.broadcast_to(rank, positions.shape))
    order = np.argsort(values, -1, kind="stable")
    group = _groups(values, order)
    tied = _has_others(group, rank) & ~usual
    if not tied.any():
        return np.take_along_axis(rows, positions, -1)
    if not is_nested(rows):
        return _without_direction.general((np.take_along_axis(rows, positions, -1),))
    dots = _directions(rows)
    orders = [np.lexsort((dot, values), axis=-1) for dot in dots]
    if orders:
        rows._sync_parts()._value._owner.meets_ties = True
    is_known = bool(orders) and all(np.array_equal(orders[0], other) for other in orders)
    if is_known:
        order = orders[0]
        group = _groups(values, order, *dots)
        tied = _has_others(group, rank) & ~usual
    z = np.take_along_axis(rows, np.where(usual, positions, np.take_along_axis(order, rank, -1)), -1)
    if not tied.any():
        return z
    members = np.empty(values.shape, int)
    np.put_along_axis(members, order, group, -1)
    rule = _within_tie if is_known else _without_direction
    blended = _mean_of_groups(rule, rows, members, np.take_along_axis(group, rank, -1), tied, picked)
    places = np.cumsum(tied.ravel()) - 1
    return np.where(tied, blended[np.maximum(places, 0)].reshape(tied.shape), z)


def rank_of_extreme(rows: Value, positions: np.ndarray, is_largest: bool) -> np.ndarray:
    """The ranks of the largest, or smallest, elements of rows, which are at these positions; nan is skipped."""
    values = observe(np.asarray, rows)
    picked = np.take_along_axis(values, positions[..., None], -1)
    below = values <= picked if is_largest else values < picked
    return np.maximum(np.sum(below, -1, keepdims=True) - is_largest, 0)


def ranks_of_all(rows: Value, positions: np.ndarray) -> np.ndarray:
    """The ranks of all elements of rows, in the order of their positions."""
    found = np.take_along_axis(observe(np.asarray, rows), positions, -1)
    return np.argsort(np.argsort(found, -1, kind="stable"), -1, kind="stable")


def _groups(values: np.ndarray, order: np.ndarray, *dots: np.ndarray) -> np.ndarray:
    """The index of the group of equal elements for each sorted element."""
    group = np.zeros(order.shape, int)
    ordered = [np.take_along_axis(x, order, -1) for x in (values, *dots)]
    differ = np.any([x[..., 1:] != x[..., :-1] for x in ordered], axis=0)
    np.cumsum(differ, -1, out=group[..., 1:])
    return group


def _has_others(group: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Whether the groups of elements with these ranks have further elements."""
    own, last = np.take_along_axis(group, rank, -1), group.shape[-1] - 1
    below = np.take_along_axis(group, np.maximum(rank - 1, 0), -1)
    above = np.take_along_axis(group, np.minimum(rank + 1, last), -1)
    return ((rank > 0) & (below == own)) | ((rank < last) & (above == own))


def _directions(rows: Value) -> list[np.ndarray]:
    """The tangents of the rows for each direction; none if they are unknown."""
    value = rows._sync_parts()._value
    dots = tangents_of(value) if isinstance(value, Carrier) and is_plain(value._value) else None
    shape = np.shape(value)
    return [] if dots is None or any(np.shape(d) != shape for d in dots) else [np.asarray(d) for d in dots]


def _mean_of_groups(
    rule: ScalarRule, rows: Value, members: np.ndarray, own: np.ndarray, tied: np.ndarray, picked: np.ndarray
) -> Value:
    """The means of the groups of the tied picked elements."""
    n = rows.shape[-1]
    row = np.nonzero(tied.reshape(-1, tied.shape[-1]))[0]
    is_member = members.reshape(-1, n)[row] == own[tied][:, None]
    level = picked[tied]
    weight = is_member / is_member.sum(-1, keepdims=True)
    rest = np.where(is_member, rows.reshape(-1, n)[row] - level[:, None], 0.0)
    return level + np.sum(rule.general((rest,)) * weight, axis=-1)


# ---- replacements of elements ----------------------------------------------------------------------------------------
def _element(x):
    return x


def _element_partials(z, x):
    return 1.0


def _rule_at_tie(is_known: bool) -> ScalarRule:
    """The identity; if it is differentiated twice its adjoint is nan, or with directions the change of its adjoint."""

    def find_share(k: int, z: Value, x: Value) -> Share | float:
        if not isinstance(x, Carrier):
            return 1.0
        dots = tangents_of(x) if is_known else None
        if dots is None:
            return Share(1.0, True, None, None)
        return Share(1.0, True, [math.nan] * len(dots), x._owner)

    rule = ScalarRule(_element, None, None, False, (), lambda x, out=None: np.array(x))
    rule.partials(_element_partials)
    made = Twin(_element, lambda x, out=None: np.array(x), _element_partials)
    made.find_share = find_share
    made.along = lambda values, tangents: tangents[0] if is_known else scale(tangents[0], math.nan)
    rule.twin, rule.is_at_kink = made, lambda args: True
    return rule


_within_tie, _without_direction = _rule_at_tie(True), _rule_at_tie(False)
