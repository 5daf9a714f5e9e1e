"""Derivatives by finite differences, with an error estimate: the reference for rules and engines."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.variables.open_types import Real, Value

ROWS = 12  # step sizes in one table, each half of the one before
GOOD = 1e-11  # relative error at which a table ends early
EPSILON = 2.0**-52


class Difference(NamedTuple):
    """A derivative by differences and an estimate of its error, in the shape of the function's result.

    The error is the difference between neighbouring extrapolations, plus rounding. It is inf if nothing converged.
    """

    value: Value
    error: Any


def derivative_by_differences(f: Callable[[float], Value], x: float) -> Difference:
    """df/dx at x of a function of one number that returns a number or an array.

    Central differences with decreasing steps h, extrapolated to h = 0 by Richardson's scheme in even powers of h. The
    result is the entry of the table with the smallest error estimate, so that steps that leave the domain of f, or
    cross a kink or jump, are ignored. If f raises ValueError or ArithmeticError, its value counts as nan.

    Cost:    at most 48 evaluations of f, typically 12.
    Ref:     Ridders (1982), Adv. Eng. Software 4(2), 75-76; Press et al. (2007), section 5.7.

    >>> value, error = derivative_by_differences(math.exp, 0.0)
    >>> round(value, 9), error < 1e-9
    (1.0, True)
    """
    size = max(abs(x), 1.0)
    best = _extrapolate(f, x, size)
    poor = not np.all(best.error <= 1e-9 * np.abs(best.value))
    if poor and 0.0 < abs(x) < size:
        best = _better(best, _extrapolate(f, x, abs(x)))  # f may vary on the scale of a small x
    if np.ndim(best.value) == 0:
        return Difference(float(best.value), float(best.error))
    return best


def gradient_by_differences(f: Callable[[Sequence[float]], Real], x: Sequence[float]) -> Difference:
    """The partial derivatives at x of a function of n numbers, along the last axis.

    f takes a sequence of n floats. A result of shape S gives a value and an error of shape S + (n,).

    Cost:    n times that of `derivative_by_differences`.

    >>> gradient_by_differences(lambda x: x[0] * x[1], [2.0, 3.0]).value.round(9)
    array([3., 2.])
    """
    numbers = [float(v) for v in x]
    columns = [
        derivative_by_differences(lambda t, k=k: f([*numbers[:k], t, *numbers[k + 1 :]]), v)  # type: ignore[misc]
        for k, v in enumerate(numbers)
    ]
    return Difference(np.stack([c.value for c in columns], -1), np.stack([c.error for c in columns], -1))


def _extrapolate(f: Callable[[float], Value], x: float, size: float) -> Difference:
    """The best entry of Richardson's table, which starts with a step of about size / 8."""
    h = math.ldexp(1.0, math.frexp(size)[1] - 4)
    value: Value = math.nan
    error: Any = math.inf
    above: list[Value] = []  # the previous row of the table: extrapolations of order 0, 1, ... from step 2 h on
    for _ in range(ROWS):
        upper, lower = x + h, x - h
        f_upper, f_lower = _evaluate(f, upper), _evaluate(f, lower)
        with np.errstate(all="ignore"):
            row = [(f_upper - f_lower) / (upper - lower)]
            rounding = 4.0 * EPSILON * np.maximum(np.abs(f_upper), np.abs(f_lower)) / h
            power = 1.0
            for coarse in above:
                power *= 4.0
                fine = row[-1]
                entry = fine + (fine - coarse) / (power - 1.0)
                entry_error = np.maximum(np.abs(entry - fine), np.abs(entry - coarse)) + rounding
                better = entry_error < error  # false for nan
                value, error = np.where(better, entry, value), np.where(better, entry_error, error)
                row.append(entry)
        if np.all(error <= GOOD * np.abs(value)):
            break
        above = row
        h *= 0.5
    return Difference(value, error)


def _better(wide: Difference, near: Difference) -> Difference:
    """The one with the smaller error if they are consistent, else the one with the smaller relative error."""
    with np.errstate(all="ignore"):
        consistent = np.abs(wide.value - near.value) <= 10.0 * (wide.error + near.error)
        relative = near.error * np.abs(wide.value) < wide.error * np.abs(near.value)
        better = np.where(consistent, near.error < wide.error, relative) | ~np.isfinite(wide.error)
        return Difference(np.where(better, near.value, wide.value), np.where(better, near.error, wide.error))


def _evaluate(f: Callable[[float], Value], x: float) -> Value:
    try:
        with np.errstate(all="ignore"):
            return np.asarray(f(x), dtype=float)
    except (ValueError, ArithmeticError):
        return np.asarray(math.nan)
