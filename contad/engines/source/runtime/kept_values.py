"""Keeps the values that user-written rules save in the workspace: numbers, and arrays as their elements and shape.

The last value kept is taken first. A taken array is a copy, which the backward part may overwrite.
"""

from typing import Any

import numpy as np

from contad.compile.emitting import tuple_setitem
from contad.compile.overloads import add_overload, in_machine_code
from contad.engines.source.runtime.workspace import grow, integer, numbers, put_integer


@in_machine_code
def keep_number(x, work, top):  # type: ignore[no-untyped-def]
    """Push a float."""
    work = grow(work, top + 1)
    work[top] = x
    return work, top + 1


@in_machine_code
def keep_integer(x, work, top):  # type: ignore[no-untyped-def]
    """Push an integer or a bool."""
    work = grow(work, top + 1)
    put_integer(work, top, int(x))
    return work, top + 1


@in_machine_code
def keep_array(x, work, top):  # type: ignore[no-untyped-def]
    """Push an array of floats."""
    end = top + x.size
    work = grow(work, end + x.ndim)
    room = numbers(work, end)
    for element in x.flat:
        room[top] = element
        top += 1
    return _keep_shape(x, work, top)


@in_machine_code
def keep_integers(x, work, top):  # type: ignore[no-untyped-def]
    """Push an array of integers or bools."""
    work = grow(work, top + x.size + x.ndim)
    for element in x.flat:
        put_integer(work, top, int(element))
        top += 1
    return _keep_shape(x, work, top)


@in_machine_code
def _keep_shape(x, work, top):  # type: ignore[no-untyped-def]
    for length in x.shape:
        put_integer(work, top, length)
        top += 1
    return work, top


@in_machine_code
def take_number(work, top):  # type: ignore[no-untyped-def]
    """Pop a float."""
    return work[top - 1], top - 1


@in_machine_code
def take_integer(work, top):  # type: ignore[no-untyped-def]
    """Pop an integer."""
    return integer(work, top - 1), top - 1


@in_machine_code
def take_array(shape, work, top):  # type: ignore[no-untyped-def]
    """Pop an array of floats with len(shape) axes."""
    shape, top = _take_shape(shape, work, top)
    made = np.empty(shape)
    flat = made.reshape(made.size)
    first = top - flat.size
    for k in range(flat.size):
        flat[k] = work[first + k]
    return made, first


@in_machine_code
def take_integers(shape, work, top):  # type: ignore[no-untyped-def]
    """Pop an array of integers with len(shape) axes."""
    shape, top = _take_shape(shape, work, top)
    made = np.empty(shape, np.int64)
    flat = made.reshape(made.size)
    first = top - flat.size
    for k in range(flat.size):
        flat[k] = integer(work, first + k)
    return made, first


def _take_shape(shape: tuple[int, ...], work: Any, top: int) -> tuple[tuple[int, ...], int]:
    """Pop as many lengths as the tuple has; in Python."""
    first = top - len(shape)
    return tuple(integer(work, first + k) for k in range(len(shape))), first


@add_overload(_take_shape)
def _type_take_shape(shape: Any, work: Any, top: Any) -> Any:
    def implementation(shape: Any, work: Any, top: Any) -> Any:
        """In compiled code."""
        first = top - len(shape)
        for k in range(len(shape)):
            shape = tuple_setitem(shape, k, integer(work, first + k))
        return shape, first

    return implementation
