"""Calls with arrays of functions of numbers, inside Numba: loops over the elements, which broadcast as NumPy does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types

from contad.compile.overloads import in_machine_code
from contad.rules.scalar_rule import ScalarRule

PLAIN = (types.Float, types.Integer, types.Boolean)
MAKERS: dict[Any, Any] = {types.float64: np.empty}  # makers of result arrays, by element type; engines add their own


@in_machine_code
def common_length(m, n):  # type: ignore[no-untyped-def]
    """The common length of an axis along which two arrays broadcast."""
    if n in (m, 1):
        return m
    if m == 1:
        return n
    raise ValueError("operands could not be broadcast together: axes differ in length")


def over_elements(rule: ScalarRule, kinds: Sequence[Any]) -> Any:
    """The function that computes a rule for arguments of these types, some of them arrays; None for other types."""
    elements = [kind.dtype if isinstance(kind, types.Array) else kind for kind in kinds]
    is_plain = [isinstance(kind, PLAIN) for kind in elements]
    if not any(isinstance(kind, types.Array) for kind in kinds):
        return None
    if not all(plain or kind in MAKERS for kind, plain in zip(elements, is_plain, strict=True)):
        return None
    varying = [k for k, plain in enumerate(is_plain) if not plain and rule.body and rule.body.literal(k) != 0.0]
    zeros = MAKERS[elements[varying[0]] if varying else types.float64]
    axes = [kind.ndim if isinstance(kind, types.Array) else None for kind in kinds]
    known: dict[str, Any] = {"_rule": rule, "_zeros": zeros, "_common": common_length}
    exec(_write_loops(rule.argument_names, axes), known)
    return known["implementation"]


def _write_loops(names: Sequence[str], axes: Sequence[int | None]) -> str:
    """The text of the function; `axes` are the numbers of axes of the arguments, None for a number."""
    arrays = [(name, n) for name, n in zip(names, axes, strict=True) if n is not None]
    most = max(n for _, n in arrays)
    places = range(most, 0, -1)  # of axes, counted from the last one

    def index(name: str, n: int | None) -> str:
        if n is None:
            return name
        one = "" if len(arrays) == 1 else f" * ({name}.shape[{{}}] != 1)"
        return f"{name}[{', '.join(f'_k{p}{one.format(n - p)}' for p in places if p <= n) or '()'}]"

    call = f"_rule({', '.join(map(index, names, axes))})"
    lines = [f"def implementation({', '.join(names)}):"]
    if not most:
        return "\n".join([*lines, f"    return {call}"])
    for p in places:
        first, *others = [f"{name}.shape[{n - p}]" for name, n in arrays if n >= p]
        for other in others:
            first = f"_common({first}, {other})"
        lines.append(f"    _n{p} = {first}")
    lengths = ", ".join(f"_n{p}" for p in places)
    lines.append(f"    _made = _zeros({lengths if most == 1 else f'({lengths})'})")
    lines += [f"{'    ' * (depth + 1)}for _k{p} in range(_n{p}):" for depth, p in enumerate(places)]
    lines.append(f"{'    ' * (most + 1)}_made[{', '.join(f'_k{p}' for p in places)}] = {call}")
    return "\n".join([*lines, "    return _made"])
