"""Plans for what is made of second and third derivatives of a function of one vector: blocks, and traces."""

from numba import types

from contad.errors import UnsupportedError
from contad.front.form import Argument, differentiate
from contad.front.higher_plans import PlannedCall, name_all
from contad.variables.open_types import NumbaType

_VECTOR = types.Array(types.float64, 1, "C")


def plan_blocks(call: PlannedCall, size: int, what: str) -> tuple[tuple[NumbaType, ...], list[str]]:
    """(types of `run`, statements) for the blocks on the diagonal of a Hessian that has no others.

    A product with every size-th unit vector at once has one column of each block.
    """
    start = _vector(call, what)
    lines = [
        *start,
        f"if n % {size}:",
        f"    raise ValueError({f'{what}: size must divide the length of x, got {size}'!r})",
        f"blocks, direction = np.empty((n // {size}, {size}, {size})), np.zeros(n)",
        f"for k in range({size}):",
        f"    direction[k::{size}] = 1.0",
        f"    z, products = run({call.packed}, (direction,))",
        f"    direction[k::{size}] = 0.0",
        "    for i in range(n):",
        f"        blocks[i // {size}, i % {size}, k] = products[0][i]",
        "return blocks",
    ]
    return (types.Tuple(call.request.types), types.Tuple([_VECTOR])), lines


def plan_trace(call: PlannedCall, matrix: Argument, what: str) -> tuple[tuple[NumbaType, ...], list[str]]:
    """(types of `run`, statements) for the gradient of tr(m H): third derivatives along unit vectors and rows of m."""
    m = differentiate(matrix)
    if not isinstance(m.type, types.Array) or m.type.ndim != 2:
        raise UnsupportedError(f"{what}: m must be a matrix, got {m.type}")
    start = _vector(call, what)
    lines = [
        *start,
        f"m = {m.expression}",
        "if m.shape != (n, n):",
        f"    raise ValueError({f'{what}: m must be a square matrix with a row for each element of x'!r})",
        "gradient, unit, row = np.zeros(n), np.zeros(n), np.empty(n)",
        "for k in range(n):",
        "    row[:] = m[k]",
        "    if np.any(row):",
        "        unit[k] = 1.0",
        f"        z, products = run({call.packed}, (unit, row))",
        "        unit[k] = 0.0",
        "        gradient += products[0]",
        "return gradient",
    ]
    return (types.Tuple(call.request.types), types.Tuple([_VECTOR, _VECTOR])), lines


def _vector(call: PlannedCall, what: str) -> list[str]:
    """The first statements, after which n is the length of the vector that is differentiated."""
    lines = [*call.checks, *name_all(call)]
    (x,) = call.wanted
    if not isinstance(x.type, types.Array):
        raise UnsupportedError(f"{what}: x must be a vector, got {x.type}")
    if x.type.ndim != 1:
        raise ValueError(f"{what}: x must be a vector, got an array of {x.type.ndim} axes")
    return [*lines, f"n = {x.expression}.size"]
