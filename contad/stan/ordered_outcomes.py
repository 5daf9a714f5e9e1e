"""Stan's log masses of categories: by probabilities, by log odds, and of ordered categories between cut points."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from contad.distributions.docstrings import with_rest_of
from contad.distributions.intervals import log_normal_interval
from contad.ops.error_functions import log_ndtr
from contad.ops.exponential import log
from contad.ops.log_sums import logsumexp
from contad.ops.logistic import log_expit
from contad.ops.products import as_array
from contad.stan.bodies import log_expit_interval
from contad.stan.compiled import with_bodies
from contad.variables import arguments
from contad.variables.open_types import ArrayValue, Nested, Real, Value

__all__ = ["categorical_logit_lpmf", "categorical_lpmf", "ordered_logistic_lpmf", "ordered_probit_lpmf"]

CATEGORY, CATEGORIES = "are_categories(y, {})", "y must be a category, a whole number from 1 to their count"
SAME_LENGTH = ("len(y) == len(eta)", "y must have an outcome for each location")
ORDERED = (
    ("cuts.ndim == 1 and increases(cuts)", "cuts must be a vector of increasing numbers"),
    ("cuts", "finite"),
    ("cuts.ndim == 1 and " + CATEGORY.format("len(cuts) + 1"), CATEGORIES),
)


def places(name: str, argument: str, y: Nested, count: int) -> np.ndarray:
    """Categories 1, ..., count as indices from 0; ValueError for other numbers."""
    a = arguments.array(name, argument, y)
    good = (a >= 1) & (a <= count) & (a == np.floor(a))
    if not np.all(good):
        first = np.unravel_index(np.argmin(good), a.shape)
        found = f"{a[first]}{arguments.at(first)}"
        arguments.fail(name, argument, f"be a category, a whole number from 1 to {count}", found)
    return a.astype(np.int64) - 1


@with_bodies(
    {"0 1": "categorical_of_number(y, theta)", "1 1": "categorical_of_vector(y, theta)"},
    [("theta.ndim == 1", "theta must be a vector"), ("theta", "simplex"), (CATEGORY.format("len(theta)"), CATEGORIES)],
)
def categorical_lpmf(y: Nested, theta: Nested, propto: bool = False) -> Real:
    """Log mass of categories y = 1, ..., c by their probabilities.

        log p = sum_i log theta_(y_i)

    Shapes:  y () or (n,), theta (c,).
    Domain:  y = 1, ..., c, theta a simplex.
    Raises:  ValueError if y is not a category, or theta is not a simplex.
    Ref:     Johnson, Kotz & Balakrishnan (1997), chapter 35; Stan Functions Reference, categorical distribution.

    >>> float(round(categorical_lpmf([1, 3], [0.2, 0.3, 0.5]), 12))
    -2.302585092994
    """
    return np.sum(log(theta[places("categorical_lpmf", "y", y, len(theta))]))


@with_bodies(
    {"0 1": "beta[int(y) - 1] - logsumexp(beta)", "1 1": "categorical_of_odds(y, beta)"},
    [("beta.ndim == 1", "beta must be a vector"), (CATEGORY.format("len(beta)"), CATEGORIES), ("beta", "finite")],
)
def categorical_logit_lpmf(y: Nested, beta: Nested, propto: bool = False) -> Real:
    """Log mass of categories y = 1, ..., c by log odds.

        log p = sum_i (beta_(y_i) - log sum_k e^(beta_k))

    Shapes:  y () or (n,), beta (c,).
    Domain:  y = 1, ..., c, every finite beta.
    Raises:  ValueError if y is not a category.
    Ref:     Johnson, Kotz & Balakrishnan (1997), chapter 35; Stan Functions Reference, categorical-logit distribution.

    >>> float(round(categorical_logit_lpmf(2, [0.0, 1.0]), 12))
    -0.313261687518
    """
    at = places("categorical_logit_lpmf", "y", y, len(beta))
    return np.sum(beta[at] - logsumexp(beta)) if np.size(at) else 0.0


@with_bodies(
    {
        "0 0 1": "ordered_logistic(y, eta, cuts)",
        "1 0 1": "ordered_logistic_of_vectors(y, np.full(len(y), eta), cuts)",
        "1 1 1": "ordered_logistic_of_vectors(y, eta, cuts)",
    },
    (SAME_LENGTH, ("eta", "finite"), *ORDERED),
)
def ordered_logistic_lpmf(y: Nested, eta: Value, cuts: Nested, propto: bool = False) -> Real:
    """Log mass of ordered categories between cut points of a logistic variable.

        log p = sum_i log(expit(eta_i - c_(y_i - 1)) - expit(eta_i - c_(y_i))), with c_0 = -inf and c_K = inf

    Shapes:  y () or (n,), eta () or (n,), cuts (c - 1,).
    Domain:  y = 1, ..., c, every finite eta, cuts that increase.
    Raises:  ValueError if y is not a category, or the cut points do not increase.
    Ref:     McCullagh & Nelder (1989), chapter 5; Stan Functions Reference, ordered logistic distribution.

    >>> float(round(ordered_logistic_lpmf(2, 0.3, [-0.5, 1.2]), 12))
    -0.913983436347
    """
    return ordered_lpmf("ordered_logistic_lpmf", LOGISTIC, y, eta, cuts)


@with_bodies(
    {
        "0 0 1": "ordered_probit(y, eta, cuts)",
        "1 0 1": "ordered_probit_of_vectors(y, eta + np.zeros(len(y)), cuts)",
        "1 1 1": "ordered_probit_of_vectors(y, eta, cuts)",
    },
    (("len(cuts) > 0", "cuts must have elements"), SAME_LENGTH, *ORDERED, ("eta", "finite")),
)
@with_rest_of(ordered_logistic_lpmf)
def ordered_probit_lpmf(y: Nested, eta: Value, cuts: Nested, propto: bool = False) -> Real:
    """Log mass of ordered categories between cut points of a normal variable.

        log p = sum_i log(Phi(eta_i - c_(y_i - 1)) - Phi(eta_i - c_(y_i))), with c_0 = -inf and c_K = inf

    Ref:     McCullagh & Nelder (1989), chapter 5; Stan Functions Reference, ordered probit distribution.

    >>> float(round(ordered_probit_lpmf(2, 0.3, [-0.5, 1.2]), 12))
    -0.504041229784
    """
    return ordered_lpmf("ordered_probit_lpmf", PROBIT, y, eta, cuts)


def ordered_lpmf(name: str, link: "Link", y: Nested, eta: Value, cuts: Nested) -> Real:
    """The sum over the data: those in the first category, in the last, and between two cut points."""
    points, location = as_array(cuts), as_array(eta)
    at = places(name, "y", y, len(points) + 1)
    if not len(points):  # only one category
        return 0.0
    at, _ = np.broadcast_arrays(at, np.empty(np.shape(location)))
    shape = np.shape(at)
    location = location + np.zeros(shape) if np.shape(location) != shape else location
    at, location = at.reshape(-1), np.reshape(location, (-1,))
    first, last = np.flatnonzero(at == 0), np.flatnonzero(at == len(points))
    between = np.flatnonzero((at > 0) & (at < len(points)))
    total = 0.0
    if len(first):
        total = total + np.sum(link.log_cdf(points[at[first]] - location[first]))
    if len(last):
        total = total + np.sum(link.log_cdf(location[last] - points[at[last] - 1]))
    if len(between):
        low, high = points[at[between] - 1] - location[between], points[at[between]] - location[between]
        total = total + np.sum(link.log_difference(low, high, points[at[between]] - points[at[between] - 1]))
    return total


class Link(NamedTuple):
    """A distribution function F on the line: log F(x), and log(F(high) - F(low)), given high - low as well."""

    log_cdf: Callable[[ArrayValue], ArrayValue]
    log_difference: Callable[[ArrayValue, ArrayValue, ArrayValue], ArrayValue]


LOGISTIC = Link(log_expit, log_expit_interval)
PROBIT = Link(log_ndtr, log_normal_interval)
