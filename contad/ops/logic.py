"""Choice between two numbers, and constants."""

from typing import Any

import numpy as np

from contad.rules.compilable import Compilable
from contad.variables.array import as_objects
from contad.variables.kept_dtypes import STANDING, dtype_for, round_to
from contad.variables.layout import is_immutable
from contad.variables.number import (
    Carrier,
    Number,
    lower_to_recorded,
    map_numbers,
    observe,
    primal,
    require_values,
    standing_for,
)
from contad.variables.open_types import Function, Value
from contad.variables.trees import CONTAINERS, map_containers


def select(condition: Any, x: Any, y: Any) -> Any:
    """x if the condition holds, otherwise y: the conditional expression of rule bodies.

    Both branches are evaluated; the derivative is that of the chosen one. It maps over lists, tuples and dicts of equal
    structure, and chooses between NumPy arrays element by element.

    >>> select(1.0 < 2.0, 10.0, 20.0)
    10.0
    >>> select([True, False], [1.0, 2.0], 0.0)
    [1.0, 0.0]
    """
    for a in (condition, x, y):
        if a.__class__ is not float and a.__class__ is not bool:
            return _select(condition, x, y)
    return x if condition else y


select.is_select = True  # type: ignore[attr-defined]
select.name = "select"  # type: ignore[attr-defined]


def _select(condition: Any, x: Any, y: Any) -> Any:
    args = (condition, x, y)
    if any(isinstance(a, CONTAINERS) for a in args):
        return map_containers(select, args)
    if any(isinstance(a, np.ndarray) for a in args):
        return np.where(*(as_objects(a) if isinstance(a, Number) else a for a in args))
    return x if condition else y


def holds(condition: Function, *args: Value) -> Any:
    """Whether a condition, a function of NumPy arrays and numbers, holds at the values of arguments.

    The result has the common shape of all arguments, including those that the condition ignores.

    >>> holds(np.less, 1.0, 2.0)
    True
    """
    found = np.asarray(observe(condition, *args))
    shape = np.broadcast_shapes(*map(np.shape, args))
    found = found if found.shape == shape else np.broadcast_to(found, shape)
    return found if found.ndim else bool(found)


@Compilable
def stop_gradient(x: Any) -> Any:
    """x as a constant: the plain numbers under every level of differentiation, through lists, tuples, dicts and arrays.

        z = x,     dz/dx = 0

    Arrays are copied, plain ones too, so that later writes to one do not show in the other.

    >>> stop_gradient({"a": [1.0, 2.0]})
    {'a': [1.0, 2.0]}
    """
    require_values("stop_gradient", x)
    return _stop_part(x)


def _stop_part(x: Any) -> Any:
    if isinstance(x, CONTAINERS):
        return map_containers(_stop_part, (x,))
    found = map_numbers(_stop, x)
    return found.copy() if isinstance(found, np.ndarray) and not is_immutable(found) else found


def _stop(x: Any) -> Any:
    found = lower_to_recorded(x)
    z = found._owner.tracer.stop(found) if isinstance(found, Carrier) else standing_for(primal(found), x)
    return round_to(z, dtype_for(x)) if x.__class__ in STANDING else z
