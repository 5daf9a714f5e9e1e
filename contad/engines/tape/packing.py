"""Numbers, arrays and tuples of them packed as floats, the form in which an array record keeps them.

The packing and reading code is generated as statements for the given types: functions for all levels of nesting would
take longer to compile.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compiled_rules.user_rules import leaves

_LARGEST = 2**53  # the largest integer that floats hold exactly


# ---- packing ---------------------------------------------------------------------------------------------------------
def count_text(text: str, kind: Any) -> str:
    """The expression for the number of floats that a value takes."""
    counts = [f"{x}.size + {leaf.ndim}" for x, leaf in leaves(text, kind) if isinstance(leaf, types.Array)]
    numbers = sum(not isinstance(leaf, (types.Array, types.NoneType)) for _, leaf in leaves(text, kind))
    return " + ".join([*counts, str(numbers)])


def put_lines(text: str, kind: Any) -> Iterator[str]:
    """Statements that write a value to `flat` from number k, and advance k to its end."""
    for x, leaf in leaves(text, kind):
        if isinstance(leaf, types.Array):
            yield f"k = put_array(flat, k, {x})"
        elif not isinstance(leaf, types.NoneType):
            checked = f"require_exact({x})" if isinstance(leaf, types.Integer) else x
            yield f"flat[k] = 1.0 if {x} else 0.0" if isinstance(leaf, types.Boolean) else f"flat[k] = {checked}"
            yield "k += 1"


@njit(**INTERNAL_OPTIONS)
def require_exact(x):  # type: ignore[no-untyped-def]
    """An integer; ValueError if no float equals it."""
    if x > _LARGEST or x < -_LARGEST:
        raise ValueError("an integer beyond 2**53 is not kept for the reverse sweep")
    return x


@njit(**INTERNAL_OPTIONS)
def put_array(flat, k, x):  # type: ignore[no-untyped-def]
    """Write the shape and the elements from number k; returns the number after them."""
    for length in x.shape:
        flat[k] = length
        k += 1
    return put_elements(flat, k, x)


@njit(**INTERNAL_OPTIONS)
def put_elements(flat, k, x):  # type: ignore[no-untyped-def]
    """Write the elements from number k; returns the number after them."""
    for element in x.flat:
        flat[k] = element
        k += 1
    return k


# ---- reading ---------------------------------------------------------------------------------------------------------
def read_text(name: str, kind: Any, lines: list[str], known: dict[str, Any]) -> str:
    """The expression for an unpacked value of that type, with arrays in C order; `lines` get statements to read it.

    They call functions that are put into `known`, and their variables have names that begin with `name`.
    """
    if isinstance(kind, types.NoneType):
        return "None"
    if isinstance(kind, types.BaseTuple):
        parts = [read_text(f"{name}_{n}", item, lines, known) for n, item in enumerate(kind)]
        return f"({''.join(f'{part}, ' for part in parts)})"
    if isinstance(kind, types.Array):
        shape = "".join(f"int(flat[k + {n}]), " for n in range(kind.ndim))
        known |= {f"dtype_{kind.dtype}": np.dtype(str(kind.dtype)), "read_elements_of": read_elements_of, "np": np}
        lines += [
            f"{name} = np.empty(({shape}), dtype_{kind.dtype})",
            f"k = read_elements_of(flat, k + {kind.ndim}, {name}.reshape({name}.size))",
        ]
        return name
    take = {types.Integer: "int(flat[k])", types.Boolean: "flat[k] != 0.0"}
    lines += [f"{name} = {next((text for of, text in take.items() if isinstance(kind, of)), 'flat[k]')}", "k += 1"]
    return name


@njit(**INTERNAL_OPTIONS)
def read_elements_of(flat, k, row):  # type: ignore[no-untyped-def]
    """Read the elements of an array; returns the number after them."""
    for n in range(row.size):
        row[n] = flat[k + n]
    return k + row.size
