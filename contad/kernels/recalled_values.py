"""Expensive values that do not depend on the direction: the first chunk stores them, and later chunks read them.

Control flow does not depend on directions, so a derivative computes the same functions of numbers in the same order for
each chunk: the n-th value is the same in every chunk.

Reading takes about 4 ns, computing 8 to 30. A derivative could be split into a part that runs once and a part that runs
for each chunk. That would store sums and products too, which cost less than a load, and loops that are reversed at once
cannot be split. Measured without and with it, in microseconds: the Hessian of 300 inputs of sum(x^2) sum(sin(x)) 178
and 144, of log(1 + exp(x)) times sines 397 and 306; the Jacobian of a recurrence, 100 by 100, by rows 76 and 38, by
columns 39 and 30; of tanh(a x), 100 by 60, 130 and 108.

    marks    how many values have been requested, how many are known, and how many fit
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import make_array
from contad.compile.overloads import add_overload, in_machine_code
from contad.kernels.lanes import NUMBERS

MOST = 1 << 22  # numbers that are kept


def recall(memory: Any, marks: Any, f: Callable[..., Any], x: Any, y: Any = None) -> Any:
    """f(x), or f(x, y), or its value from the first chunk."""
    at = marks[0]
    marks[0] = at + 1.0
    if at < marks[1]:
        return memory[int(at)]
    z = f(x) if y is None else f(x, y)
    if at < marks[2]:
        memory[int(at)] = z
    return z


def point_to(x: Any) -> Any:
    """An array; in compiled code a pointer to its numbers, without reference counts. The caller keeps them alive."""
    return x


@type_callable(point_to)
def _type_of_place(context):  # type: ignore[no-untyped-def]
    return lambda x: NUMBERS


@lower_builtin(point_to, types.Array)
def _lower_place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return make_array(sig.args[0])(context, builder, args[0]).data


@add_overload(recall)
def _recall(memory: Any, marks: Any, f: Any, x: Any, y: Any = None) -> Any:
    def of_one(memory: Any, marks: Any, f: Any, x: Any, y: Any = None) -> Any:
        at = marks[0]
        marks[0] = at + 1.0
        if at < marks[1]:
            return memory[int(at)]
        z = float(f(x))
        if at < marks[2]:
            memory[int(at)] = z
        return z

    def of_two(memory: Any, marks: Any, f: Any, x: Any, y: Any = None) -> Any:
        at = marks[0]
        marks[0] = at + 1.0
        if at < marks[1]:
            return memory[int(at)]
        z = float(f(x, y))
        if at < marks[2]:
            memory[int(at)] = z
        return z

    return of_one if y is None or isinstance(y, types.Omitted) else of_two


@in_machine_code
def begin_chunk(memory, marks, is_first):  # type: ignore[no-untyped-def]
    """Begin the next chunk: the first chunk stores values as long as there is room, and the others read them."""
    count = marks[0]
    marks[0] = 0.0
    if is_first:
        marks[2] = memory.size
    elif marks[1] > 0.0:
        if count != marks[1]:
            raise RuntimeError("contad: a chunk of directions has asked for other values than the first one")
    elif count <= memory.size:
        marks[1], marks[2] = count, 0.0
    elif count <= MOST:
        memory = np.empty(int(count))
        marks[2] = count
    else:
        marks[2] = 0.0
    return memory
