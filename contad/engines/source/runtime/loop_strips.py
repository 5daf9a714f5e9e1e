"""Divides the iterations of parallel loops into strips, which have private buffers for reductions.

The number of strips depends only on lengths, and the buffers are added in order. So results are the same to the bit for
any number of threads.
"""

from typing import Any

import numpy as np

from contad.compile.overloads import add_overload, in_machine_code
from contad.memory.threads import APART, MOST_ITEMS

SMALLEST = 2000.0  # the least cost of a strip, in additions
SHARE = 16.0  # additions of work that pay for one number of a buffer, which is cleared and summed
MOST_BUFFERED = 1 << 22  # the most numbers in all buffers together


@in_machine_code
def count_strips(n: int, cost: float, buffered: int) -> int:
    """The number of strips for n iterations of `cost` additions each, if each strip has `buffered` numbers in buffers.

    The result is a power of 2, from 1 to MOST_ITEMS.
    """
    most = min(n * cost / SMALLEST, float(n), float(MOST_ITEMS))
    if buffered > 0:
        most = min(most, n * cost / (SHARE * buffered), MOST_BUFFERED / buffered)
    strips = 1
    while 2 * strips <= most:
        strips *= 2
    return strips


def make_parts(array: Any, strips: int) -> Any:
    """Zeroed buffers for the terms that are added to an array, one for each strip, separated by unused rows."""
    return np.zeros((strips, array.shape[0] + rows_between(array), *array.shape[1:]))


@in_machine_code
def rows_between(array: Any) -> int:
    """The number of unused rows between two buffers; 0 for large buffers, which share few cache lines."""
    return 0 if array.size >= 64 * APART else -(-APART * array.shape[0] // max(array.size, 1))


def part_of(array: Any, parts: Any, strip: int) -> Any:
    """The buffer of a strip."""
    return parts[strip][: array.shape[0]]


def add_parts(array: Any, parts: Any) -> None:
    """Add the buffers to the array, in order."""
    for part in parts:
        array += part[: array.shape[0]]


# ---- in compiled code: a single strip adds to the array itself, if Numba's type of it is C-contiguous ----------------
@add_overload(make_parts)
def _make_parts(array: Any, strips: Any) -> Any:
    least = 1 if array.layout == "C" else 0

    def implementation(array: Any, strips: int) -> Any:
        rows = array.shape[0] + rows_between(array)
        return np.zeros((strips if strips > least else 0, rows, *array.shape[1:]))

    return implementation


@add_overload(part_of)
def _part_of(array: Any, parts: Any, strip: Any) -> Any:
    if array.layout == "C":
        return lambda array, parts, strip: parts[strip][: array.shape[0]] if len(parts) > 0 else array
    return lambda array, parts, strip: parts[strip][: array.shape[0]]


@add_overload(add_parts)
def _add_parts(array: Any, parts: Any) -> Any:
    def implementation(array: Any, parts: Any) -> None:
        for k in range(len(parts)):
            part = parts[k]
            for at in np.ndindex(array.shape):
                array[at] += part[at]

    return implementation
