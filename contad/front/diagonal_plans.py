"""Plans for parts of second and third derivatives of a function of one vector: matrix blocks, and traces."""

from numba import types

from contad.errors import UnsupportedError
from contad.front.form import Argument, differentiate
from contad.front.higher_plans import PlannedCall, Way, name_all
from contad.front.lane_plans import FEW, MOST
from contad.kernels.lanes import LanesType
from contad.variables.open_types import NumbaType

_VECTOR = types.Array(types.float64, 1, "C")


def plan_blocks(call: PlannedCall, size: int, what: str, lanes: bool) -> Way:
    """The diagonal matrix blocks of a block-diagonal Hessian.

    A product with the sum of every size-th unit vector contains one column of each matrix block; `lanes`: several
    columns at once.
    """
    count = min(MOST, 1 << (size - 1).bit_length()) if lanes else 1
    lines = [
        *_vector(call, what),
        f"if n % {size}:",
        f"    raise ValueError({f'{what}: size must divide the length of x, got {size}'!r})",
        f"blocks = np.empty((n // {size}, {size}, {size}))",
    ]
    if count == 1:
        lines += [
            "direction = np.zeros(n)",
            f"for k in range({size}):",
            f"    direction[k::{size}] = 1.0",
            f"    z, products = run({call.packed}, (direction,))",
            f"    direction[k::{size}] = 0.0",
            "    for i in range(n):",
            f"        blocks[i // {size}, i % {size}, k] = products[0][i]",
        ]
    else:
        lines += [
            f"direction = lanes_zeros((n,), {count})",
            f"for start in range(0, {size}, {count}):",
            f"    stop = min(start + {count}, {size})",
            f"    put_combs(as_rows(direction), {size}, start, stop)",
            f"    z, products = run({call.packed}, (direction,))",
            "    put_blocks(blocks, as_rows(products[0]), start, stop)",
        ]
    return Way((types.Tuple(call.request.types), types.Tuple([_vectors(count)])), [*lines, "return blocks"], count)


def plan_trace(call: PlannedCall, matrix: Argument, what: str, lanes: bool) -> Way:
    """The gradient of tr(m H): third derivatives along unit vectors and rows of m; `lanes`: several at once."""
    m = differentiate(matrix)
    if not isinstance(m.type, types.Array) or m.type.ndim != 2:
        raise UnsupportedError(f"{what}: m must be a matrix, got {m.type}")
    lines = [
        *_vector(call, what),
        f"m = {m.expression}",
        "if m.shape != (n, n):",
        f"    raise ValueError({f'{what}: m must be a square matrix with a row for each element of x'!r})",
        "gradient = np.zeros(n)",
    ]
    if lanes:
        lines += [
            f"unit, row = lanes_zeros((n,), {FEW}), lanes_zeros((n,), {FEW})",
            f"for start in range(0, n, {FEW}):",
            f"    stop = min(start + {FEW}, n)",
            "    if np.any(m[start:stop]):",
            "        put_units(as_rows(unit), 0, start, stop, 1.0)",
            "        take_lanes(as_rows(row), m, 0, start, stop)",
            f"        z, products = run({call.packed}, (unit, row))",
            "        put_units(as_rows(unit), 0, start, stop, 0.0)",
            "        add_sums(gradient, as_rows(products[0]))",
        ]
    else:
        lines += [
            "unit, row = np.zeros(n), np.empty(n)",
            "for k in range(n):",
            "    row[:] = m[k]",
            "    if np.any(row):",
            "        unit[k] = 1.0",
            f"        z, products = run({call.packed}, (unit, row))",
            "        unit[k] = 0.0",
            "        gradient += products[0]",
        ]
    count = FEW if lanes else 1
    taken = types.Tuple([_vectors(count), _vectors(count)])
    return Way((types.Tuple(call.request.types), taken), [*lines, "return gradient"], count)


def value_of_blocks(call: PlannedCall, what: str, lanes: int, tangents: int) -> list[str]:
    """The statements of a function that gives the value alone, along no direction."""
    zeros = f"lanes_zeros((n,), {lanes}), " * tangents
    return [*_vector(call, what), f"return run({call.packed}, ({zeros.rstrip()}))[0]"]


def _vectors(count: int) -> NumbaType:
    """The type of a direction, or of several."""
    return _VECTOR if count == 1 else LanesType(count).array(1)


def _vector(call: PlannedCall, what: str) -> list[str]:
    """The first statements, after which n is the length of the vector that is differentiated."""
    lines = [*call.checks, *name_all(call)]
    (x,) = call.wanted
    if not isinstance(x.type, types.Array):
        raise UnsupportedError(f"{what}: x must be a vector, got {x.type}")
    if x.type.ndim != 1:
        raise ValueError(f"{what}: x must be a vector, got an array of {x.type.ndim} axes")
    return [*lines, f"n = {x.expression}.size"]
