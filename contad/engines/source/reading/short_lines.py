"""`contad.logsumexp` and `contad.softmax` of a vector inside a loop, as loops over its elements.

Such a vector is mostly short. A call of the kernels of `runtime/line_kernels.py`, which vectorise long lines, takes
longer then than the sum itself, and a pass can neither fuse its sweeps nor keep its terms in registers. The values are
those of the kernels. The largest element carries no derivative, because it cancels.

Ref: Blanchard, Higham & Higham (2021).
"""

import math

import numpy as np

from contad.distributions.formula import unlisted_rule
from contad.ops.logic import stop_gradient


@unlisted_rule(points=[(0.7, 1.3), (-2.6, 0.4)])
def below(x, top):  # type: ignore[no-untyped-def]
    """x - top for the largest element of a sum; 0 if they are equal, so that infinite elements that tie share it."""
    return 0.0 if x == top else x - top


@below.partials
def below_partials(z, x, top):  # type: ignore[no-untyped-def]
    return 1.0, 0.0


@unlisted_rule(points=[(1.0, 0.3, 1.7), (2.0, 0.04, -0.6)])
def log_of_terms(ties, rest, top):  # type: ignore[no-untyped-def]
    """log(ties + rest) + top, where the rest may be less than the rounding of the largest terms."""
    if ties == 0.0:  # no elements, or only nans
        return top + rest
    return math.log1p(rest / ties) + (math.log(ties) if ties != 1.0 else 0.0) + top


@log_of_terms.partials
def log_of_terms_partials(z, ties, rest, top):  # type: ignore[no-untyped-def]
    d = 1.0 / (ties + rest)
    return d, d, 0.0


def largest(a):  # type: ignore[no-untyped-def]
    """The largest element that is not nan."""
    top = -np.inf
    for k in range(len(a)):
        top = a[k] if a[k] > top else top
    return top


def log_sum_of_line(a):  # type: ignore[no-untyped-def]
    """log(sum(exp(a)))"""
    top = stop_gradient(largest(a))
    ties, rest = 0.0, 0.0
    for k in range(len(a)):
        e = np.exp(below(a[k], top))
        ties = ties + (e if a[k] == top else 0.0)
        rest = rest + (0.0 if a[k] == top else e)
    return log_of_terms(ties, rest, top)


def softmax_of_line(x):  # type: ignore[no-untyped-def]
    """exp(x) / sum(exp(x)); nan if the largest element is infinite"""
    top = stop_gradient(largest(x))
    terms = np.empty(len(x))
    total = 0.0
    for k in range(len(x)):
        e = np.exp(x[k] - top)
        terms[k] = e
        total = total + e
    return terms / total
