"""Single lanes: code that runs for one direction at a time, inside of a chunk, puts its results into one lane here."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from contad.compile.emitting import ir
from contad.compile.overloads import add_overload
from contad.compile.typing_rules import signature
from contad.kernels.lanes import Lanes, LanesType, lane_view


def at_lane(x: float, j: int, k: int) -> Any:
    """k lanes, of which number j is x and all others are 0."""
    numbers = np.zeros(k)
    numbers[j] = x
    return Lanes(numbers)


def add_to_lane(array: Any, j: int, x: Any) -> None:
    """Add an array of numbers to lane j of an array of lanes."""
    for index in np.ndindex(array.shape):
        array[index] = array[index] + at_lane(x[index], j, len(array[index].numbers))


def put_in_lane(array: Any, j: int, x: Any) -> None:
    """Write an array of numbers into lane j of an array of lanes."""
    for index in np.ndindex(array.shape):
        numbers = array[index].numbers.copy()
        numbers[j] = x[index]
        array[index] = Lanes(numbers)


@type_callable(at_lane)
def _type_of_at_lane(context):  # type: ignore[no-untyped-def]
    def typer(x: Any, j: Any, k: Any) -> Any:
        if not isinstance(k, types.IntegerLiteral):  # Numba asks again with the literal
            return None
        return signature(LanesType(k.literal_value), types.float64, types.intp, k)

    return typer


@lower_builtin(at_lane, types.Float, types.Integer, types.IntegerLiteral)
def _lower_at_lane(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    zeros = ir.Constant(sig.return_type.vector, [0.0] * sig.return_type.count)
    return builder.insert_element(zeros, args[0], builder.trunc(args[1], ir.IntType(32)))


@add_overload(add_to_lane)
def _add_to_lane(array: Any, j: Any, x: Any) -> Any:
    def implementation(array, j, x):  # type: ignore[no-untyped-def]
        view = lane_view(array, j)
        view += x

    return implementation


@add_overload(put_in_lane)
def _put_in_lane(array: Any, j: Any, x: Any) -> Any:
    def implementation(array, j, x):  # type: ignore[no-untyped-def]
        lane_view(array, j)[...] = x

    return implementation
