"""Operations over nested lists, tuples and dicts, also combined with arrays."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from contad.variables.array import numbers_in
from contad.variables.open_types import Nested, Rule, Value

CONTAINERS = (list, tuple, dict)


def map_containers(rule: Rule, args: tuple[Nested, ...]) -> Nested:
    """Apply a rule over nested lists, tuples and dicts; a number meets every element of a container."""
    shapes = [x for x in args if isinstance(x, CONTAINERS)]
    first = shapes[0]
    keys: Any = first.keys() if isinstance(first, dict) else range(len(first))
    for x in shapes[1:]:
        other = x.keys() if isinstance(x, dict) else range(len(x))
        if type(x) is not type(first) or set(other) != set(keys):
            raise TypeError(
                f"{rule.name}: containers must have one structure, got {_structure(first)} and {_structure(x)}"
            )
    items = {k: rule(*(x[k] if isinstance(x, CONTAINERS) else x for x in args)) for k in keys}
    if isinstance(first, dict):
        return items
    if hasattr(first, "_fields"):
        return type(first)(*items.values())
    return type(first)(items.values())


def _structure(x: Any) -> str:
    return f"dict with keys {sorted(map(str, x))}" if isinstance(x, dict) else f"{type(x).__name__} of {len(x)}"


def list_operands(args: tuple[Nested, ...]) -> tuple[Value, ...]:
    """Operands combined with an array; lists and tuples become arrays, as with ndarrays."""
    return tuple(
        np.array(x, dtype=object if numbers_in(x) else None) if isinstance(x, (list, tuple)) else x for x in args
    )


def like_tuple(z: tuple[Value, ...], items: Iterable[Value]) -> tuple[Value, ...]:
    """Items in a tuple of the class of z, possibly a named tuple: for a rule with several results."""
    return type(z)(*items) if hasattr(z, "_fields") else tuple(items)
