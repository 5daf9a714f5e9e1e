"""Comparisons and selections as numbers, for recorded programs of formulas that select by computed values.

A comparison is 1 or 0, and a selection is the sum of the parts that each side keeps. So the choice is made again at
other inputs.
"""

from contad.distributions.formula import unlisted_rule
from contad.ops.logic import select

POINTS = [(0.3, 0.7), (0.7, 0.3), (0.5, 0.5)]


@unlisted_rule(points=POINTS)
def is_less(x, y):
    """1 where x < y, otherwise 0."""
    return 1.0 if x < y else 0.0


@is_less.partials
def is_less_partials(z, x, y):
    return 0.0, 0.0


@unlisted_rule(points=POINTS)
def is_at_most(x, y):
    """1 where x <= y, otherwise 0."""
    return 1.0 if x <= y else 0.0


@is_at_most.partials
def is_at_most_partials(z, x, y):
    return 0.0, 0.0


@unlisted_rule(points=POINTS)
def is_equal(x, y):
    """1 where x = y, otherwise 0."""
    return 1.0 if x == y else 0.0


@is_equal.partials
def is_equal_partials(z, x, y):
    return 0.0, 0.0


@unlisted_rule(points=[(0.0, 0.7), (1.0, 0.3)])
def keep(condition, x):
    """x where a condition is not 0, otherwise 0, whatever x is."""
    return x if condition != 0.0 else 0.0


@keep.partials
def keep_partials(z, condition, x):
    return 0.0, select(condition != 0.0, 1.0, 0.0)


CHOICES = is_less, is_at_most, is_equal, keep
