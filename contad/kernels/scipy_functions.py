"""Functions of `contad.scipy.linalg` inside Numba, on float64 matrices: SciPy's names, arguments, values and errors.

The functions are those of `rows.row_calls`; the kernels of their rows compute them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import TypingError, types

from contad.compile.compiling import INTERNAL_OPTIONS
from contad.compile.machine_code import njit
from contad.compile.overloads import is_float64
from contad.kernels.row_overloads import declare_call
from contad.kernels.rows.row_calls import ROW_CALLS, RowCall
from contad.kernels.triangular_kernels import height_of_factors


def require_matrices(name: str, *kinds: tuple[Any, tuple[int, ...]]) -> bool | None:
    """True if these are float64 arrays with that many axes; TypingError for other plain arrays, else None."""
    for kind, ndims in kinds:
        if not isinstance(kind, types.Array) or not isinstance(kind.dtype, (types.Number, types.Boolean)):
            return None  # variables, say
        if not is_float64(kind, *ndims):
            axes = " or ".join(map(str, ndims))
            raise TypingError(
                f"contad.scipy.linalg.{name}: inside njit it takes float64 arrays of {axes} axes, got {kind}; call "
                f".astype(np.float64)"
            )
    return True


@njit(**INTERNAL_OPTIONS)
def as_matrix(a):  # type: ignore[no-untyped-def]
    """A copy in C order; a vector becomes a matrix of one column."""
    made = np.empty((len(a), a.size // max(len(a), 1)))
    flat = made.reshape(made.size)
    for k, element in enumerate(a.flat):
        flat[k] = element
    return made


def _compute(call: RowCall, options: Mapping[str, str]) -> list[str]:
    """The kernels of a row, on new arrays."""
    row = call.row
    lines = [f"own_{x.name} = np.empty({x.sizes})" for x in (*row.results, *row.saved)]
    for purpose in ("factor", "value"):
        if row.kernel(purpose) is not None:
            given = (options.get(x, f"own_{x}") for x in row.parameters(purpose))
            lines.append(f"{purpose}_kernel({', '.join(given)})")
    return lines


def _declare(call: RowCall) -> None:
    row = call.row
    known = {f"{x}_kernel": row.kernel(x) for x in ("factor", "value")}
    known |= {"np": np, "band_height": height_of_factors, "as_operand": as_matrix}
    like = next((x.name for x in row.operands if x.shape == row.results[0].shape), "")
    parts = [x if isinstance(x, str) else f"own_{x.name}.reshape({like}.shape)" for x in call.results()]
    returned = ", ".join(f"bool({x})" if x in row.flags else x for x in parts)
    declare_call(call, require_matrices, lambda found: None, known, _compute, returned)


for _call in ROW_CALLS.values():
    if _call.path.startswith("contad.scipy."):
        _declare(_call)
