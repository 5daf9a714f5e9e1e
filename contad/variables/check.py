"""Argument checks: each returns None, or raises an error that names the fault.

ValueError: a wrong value.  TypeError: not a real number, integer or function. Values are numbers, variables and duals
(judged by their primal), arrays, and nested lists of these; empty arrays pass.

>>> positive("normal_lpdf", "sigma", [1.0, 2.0, 0.5])
>>> positive("normal_lpdf", "sigma", [1.0, 2.0, -0.5])
Traceback (most recent call last):
ValueError: normal_lpdf: sigma must be positive, got -0.5 at index 2
"""


import numpy as np

from contad.variables import arguments
from contad.variables.open_types import Nested


def positive(function: str, name: str, value: Nested) -> None:
    """Every element is > 0."""
    if isinstance(value, arguments.SCALAR) and value > 0:  # type: ignore[operator]
        return
    a = arguments.array(function, name, value)
    good = a > 0
    if not good.all():
        first = np.unravel_index(np.argmin(good), a.shape)
        arguments.fail(function, name, "be positive", f"{a[first]}{arguments.at(first)}")


def integer(function: str, name: str, value: Nested) -> None:
    """Every element is an integer by type; True and False count as 1 and 0."""
    if not isinstance(value, arguments.INTEGER):
        arguments.array(function, name, value, "be an integer", "biu")


def callable_(function: str, name: str, value: object) -> None:
    """The value can be called."""
    if not callable(value):
        arguments.fail(function, name, "be callable", type(value).__name__, TypeError)


def positive_size(function: str, name: str, value: Nested) -> None:
    """Every element is an integer >= 1."""
    integer(function, name, value)
    positive(function, name, value)
