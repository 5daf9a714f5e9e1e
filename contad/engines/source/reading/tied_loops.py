"""Selections among equal elements with right compiled second derivatives: see "At kinks" in the guide.

Values alone do not order equal elements, but second derivatives along v depend on the element that is selected along v.
np.minimum and np.maximum of two equal numbers select that one, and give nan if v does not separate the numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir.kink_functions import nowhere
from contad.kernels import array_loops, missing_data_loops

MOST = 16  # the most equal elements that are sorted; more would be slow, and get nan as second derivatives
TIED: dict[Any, Callable[..., Any]] = {}  # the functions that are read instead of these bodies


def _in_place_of(body: Any) -> Callable[[Any], Any]:
    """Let a function be read instead of a body, except where the function itself calls the body."""

    def add(function: Any) -> Any:
        TIED[body] = function
        return function

    return add


def is_tied_loop(function: Any) -> bool:
    """Whether a function is defined in this file."""
    return getattr(function, "__module__", "") == __name__


@_in_place_of(array_loops._sort)
def _sort(a):  # type: ignore[no-untyped-def]
    """Sort each group of equal elements again, by insertion; each exchange follows the tangents of two elements."""
    made = np.sort(a)
    first = 0
    for end in range(1, len(a) + 1):
        if end == len(a) or made[end] != made[first]:
            if end - first > MOST:
                lost = 0.0  # any of them may be the one that is selected along v
                for k in range(first, end):
                    lost += nowhere(made[k])
                for k in range(first, end):
                    made[k] = made[k] + lost
            else:
                for j in range(first + 1, end):
                    for k in range(j, first, -1):
                        low, high = np.minimum(made[k - 1], made[k]), np.maximum(made[k - 1], made[k])
                        made[k - 1] = low
                        made[k] = high
            first = end
    return made


@_in_place_of(array_loops._median)
def _median(a):  # type: ignore[no-untyped-def]
    n = len(a)
    if n == 0:
        raise ValueError("the median of an empty array")
    made = _sort(a)
    last = made[n - 1]
    found = made[n // 2] if n % 2 == 1 else 0.5 * (made[n // 2 - 1] + made[n // 2])
    return last if np.isnan(last) else found


@_in_place_of(array_loops._percentile)
def _percentile(a, q):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("the percentile of an empty array")
    return array_loops._at_percent(_sort(a), np.arange(len(a)), q)


@_in_place_of(array_loops._percentiles)
def _percentiles(a, q):  # type: ignore[no-untyped-def]
    if len(a) == 0:
        raise ValueError("the percentile of an empty array")
    order, ordered = np.arange(len(a)), _sort(a)
    made = np.zeros(len(q))
    for k in range(len(q)):
        made[k] = array_loops._at_percent(ordered, order, q[k])
    return made


@_in_place_of(missing_data_loops._nanmax)
def _nanmax(a):  # type: ignore[no-untyped-def]
    kept = missing_data_loops._without_nan(a)
    return np.max(kept) if len(kept) > 0 else np.nanmax(a)


@_in_place_of(missing_data_loops._nanmin)
def _nanmin(a):  # type: ignore[no-untyped-def]
    kept = missing_data_loops._without_nan(a)
    return np.min(kept) if len(kept) > 0 else np.nanmin(a)
