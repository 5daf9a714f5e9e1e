"""Functions of np.linalg and contad.scipy.linalg on matrices of variables and duals inside njit, with their errors.

The functions are those of `rows.row_calls`. A call is one array record.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.overloads import add_overload, is_float64
from contad.engines.tape.arrays import is_active_array
from contad.engines.tape.conversions import value
from contad.engines.tape.matrix_records import OPERATIONS
from contad.kernels.row_overloads import declare_call
from contad.kernels.rows.row_calls import ROW_CALLS, RowCall
from contad.kernels.rows.row_tables import write_size

_OTHERWISE = ("svd", "lstsq")  # their results depend on sizes: see `numpy_decompositions`


def active_of(*given: tuple[Any, tuple[int, ...]]) -> Any:
    """The type of the active arrays among these arrays, each given with the numbers of axes that it may have.

    None if no array is active, or if any argument is neither an active array nor an array of float64.
    """
    for kind, ndims in given:
        if not (is_active_array(kind) or is_float64(kind)) or kind.ndim not in ndims:
            return None
    return next((kind.dtype for kind, _ in given if is_active_array(kind)), None)


# ---- arguments of calls ----------------------------------------------------------------------------------------------
@njit(**INTERNAL_OPTIONS)
def nothing():  # type: ignore[no-untyped-def]
    """The second operand of an operation that has only one."""
    return np.empty((0, 0))


@njit(**INTERNAL_OPTIONS)
def _as_array(x):  # type: ignore[no-untyped-def]
    """A number as an operand."""
    made = np.empty((1, 1))
    made[0, 0] = x
    return made


def as_columns(b: Any) -> Any:
    """A vector as a matrix of one column; a matrix unchanged."""
    return b


@add_overload(as_columns, jit_options=INTERNAL_OPTIONS)
def _as_columns(b: Any) -> Any:
    if b.ndim == 1:
        return lambda b: b.copy().reshape((b.size, 1))
    return lambda b: b


@njit(**INTERNAL_OPTIONS)
def _require_finite(a):  # type: ignore[no-untyped-def]
    """Raise the error of SciPy's functions unless all values are finite."""
    for element in a.flat:
        x = value(element)
        if x - x != 0.0:
            raise ValueError("array must not contain infs or NaNs")


_KNOWN = {"nothing": nothing, "as_array": _as_array, "as_operand": as_columns, "require_finite": _require_finite}


# ---- calls -----------------------------------------------------------------------------------------------------------
def _compute(call: RowCall, options: Mapping[str, str]) -> list[str]:
    """The lines that push the array record, with all results in one vector."""
    first, *others = call.row.operands
    other = "".join(f"own_{x.name}" if x.shape else f"as_array({x.name})" for x in others) or "nothing()"
    k = "k" if any("k" in x.shape for x in others) else "0"
    given = [f"own_{first.name}", other, "m", "n", k, *(options[x] for x in call.row.options)]
    return [f"z = made({', '.join(given)})"]


def _write_result(call: RowCall) -> str:
    """The source of the results, as parts of the vector z."""
    row, found, end = call.row, dict[str, str](), "0"
    for k, part in enumerate(row.results):
        first, end = end, f"{end} + {write_size(part)}" if k else write_size(part)
        whole = "z" if len(row.results) == 1 else f"z[{first} : {end}]"
        like = next((x.name for x in row.operands if x.shape == part.shape), None)
        if len(part.shape) == 2:
            found[part.name] = f"{whole}.reshape({f'{like}.shape' if like else part.sizes})"
        else:
            found[part.name] = whole if part.shape else f"z[{first}]{'.value' if k < call.constant else ''}"
    parts = [f"bool({x})" if isinstance(x, str) else found[x.name] for x in call.results()]
    return ", ".join(parts)


def _declare(call: RowCall, made: Mapping[Any, Any]) -> None:
    def find(name: str, *given: tuple[Any, tuple[int, ...]]) -> Any:
        active = active_of(*given)
        return active if active in made else None

    declare_call(call, find, made.__getitem__, _KNOWN, _compute, _write_result(call))


for _call in ROW_CALLS.values():
    if _call.row.name in OPERATIONS and _call.name not in _OTHERWISE:
        _declare(_call, OPERATIONS[_call.row.name])
