"""Numbers, arrays and tuples of them as floats one after another, in which a block of records keeps them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from contad.errors import UnsupportedError
from contad.native.arena import INTERNAL_OPTIONS
from contad.native.machine_code import njit
from contad.native.overloads import add_overload

_LARGEST = 2**53  # of the integers that floats hold


def require_packable(what: str, kind: Any) -> None:
    """UnsupportedError for a type of something that is not kept so."""
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        for item in kind:
            require_packable(what, item)
        return
    element = kind.dtype if isinstance(kind, types.Array) else kind
    fits = isinstance(element, (types.Integer, types.Boolean)) or element == types.float64
    if not fits and not isinstance(kind, types.NoneType):
        raise UnsupportedError(f"{what} is kept for the reverse sweep, and must be made of numbers, arrays of float64, "
                               f"integers or bools, and tuples of these, got {kind}")  # fmt: skip


# ---- packing ---------------------------------------------------------------------------------------------------------
def count_floats(x: Any) -> int:
    """How many floats x takes; inside njit only."""
    raise NotImplementedError


@add_overload(count_floats)
def _count_floats(x: Any) -> Any:
    if isinstance(x, types.NoneType):
        return lambda x: 0
    if isinstance(x, types.Array):
        ndim = x.ndim
        return lambda x: x.size + ndim
    if isinstance(x, types.BaseTuple):
        return _unrolled("x", [f"    total += count_floats(x[{k}])" for k in range(len(x))], "    total = 0", "total")
    return lambda x: 1


def put_floats(flat: Any, k: int, x: Any) -> int:
    """Write x to the floats from number k; the number after them; inside njit only."""
    raise NotImplementedError


@add_overload(put_floats)
def _put_floats(flat: Any, k: Any, x: Any) -> Any:
    if isinstance(x, types.NoneType):
        return lambda flat, k, x: k
    if isinstance(x, types.BaseTuple):
        lines = [f"    k = put_floats(flat, k, x[{n}])" for n in range(len(x))]
        return _unrolled("flat, k, x", lines, "    pass", "k")
    if isinstance(x, types.Array):

        def array(flat: Any, k: Any, x: Any) -> Any:
            for length in x.shape:
                flat[k] = length
                k += 1
            for element in x.flat:
                k = put_floats(flat, k, element)
            return k

        return array
    is_integer = isinstance(x, types.Integer)

    def number(flat: Any, k: Any, x: Any) -> Any:
        if is_integer and (x > _LARGEST or x < -_LARGEST):
            raise ValueError("an integer beyond 2**53 is not kept for the reverse sweep")
        flat[k] = float(x)
        return k + 1

    return number


def _unrolled(parameters: str, lines: list[str], first: str, result: str) -> Callable[..., Any]:
    known: dict[str, Any] = {"count_floats": count_floats, "put_floats": put_floats}
    exec("\n".join([f"def implementation({parameters}):", first, *lines, f"    return {result}"]), known)
    found: Callable[..., Any] = known["implementation"]
    return found


# ---- reading ---------------------------------------------------------------------------------------------------------
def reader(kind: Any) -> Callable[..., Any]:
    """An njit function (flat, k) that gives what was packed of that type, arrays in C order, and the number after it."""
    known: dict[str, Any] = {"np": np}
    if isinstance(kind, types.NoneType):
        text = "return None, k"
    elif isinstance(kind, types.Array):
        known["dtype"] = np.dtype(str(kind.dtype))
        shape = "".join(f"int(flat[k + {n}]), " for n in range(kind.ndim))
        known["of_one"] = reader(kind.dtype)
        text = (
            f"made = np.empty(({shape}), dtype)\n    k += {kind.ndim}\n    row = made.reshape(made.size)\n"
            "    for n in range(made.size):\n        row[n], k = of_one(flat, k)\n    return made, k"
        )
    elif isinstance(kind, types.BaseTuple):
        known |= {f"read_{n}": reader(item) for n, item in enumerate(kind)}
        lines = [f"x_{n}, k = read_{n}(flat, k)" for n in range(len(kind))]
        text = "\n    ".join([*lines, f"return ({''.join(f'x_{n}, ' for n in range(len(kind)))}), k"])
    else:
        take = {types.Integer: "int(flat[k])", types.Boolean: "flat[k] != 0.0"}
        found = next((text for of, text in take.items() if isinstance(kind, of)), "flat[k]")
        text = f"return {found}, k + 1"
    exec(f"def read(flat, k):\n    {text}\n", known)
    return njit(**INTERNAL_OPTIONS)(known["read"])
