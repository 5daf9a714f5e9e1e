"""`logsumexp` along an axis of x + y or x - y: two records that a trace layout fuses into one.

The sum then needs no cells. This pays where an operand is broadcast over rows of the other, as in a step of a hidden
Markov model.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from contad.engines.stream.sweep import operation_code
from contad.kernels.shape_fields import A_CELLS, A_TURNED, FIELDS, A, K, M, N
from contad.ops import add, subtract
from contad.programs.codes import ARRAY, KERNEL_CODES

if TYPE_CHECKING:
    from contad.programs.trace import Trace

Ranges = list[tuple[int, int]]
_SIGNS = {
    ARRAY + (operation_code(rule, active) or 0): (sign, active)
    for rule, sign in ((add, 1), (subtract, -1)) for active in ("vv", "vc", "cv")
}  # fmt: skip


class PairedSum:
    """The row of the sum, the shape of the record in place of both, and the cells that it reads."""

    def __init__(self, row: int, shape: list[int], reads: Ranges) -> None:
        self.row = row
        self.shape = shape
        self.reads = reads


def has_log_sums(trace: "Trace") -> bool:
    """Whether the trace has any `logsumexp`."""
    return bool((trace.code[:, 0] == KERNEL_CODES["logsumexp"]).any())


def find_pairs(
    trace: "Trace", firsts: list[int], reads_of: Callable[[int], Iterable[tuple[int, int]]]
) -> dict[int, PairedSum]:
    """By row, the `logsumexp` records whose operand is a sum that nobody else reads."""
    if not has_log_sums(trace):
        return {}
    code = trace.code
    sums = {firsts[row]: row for row in np.flatnonzero(np.isin(code[:, 0], list(_SIGNS))).tolist()}
    count = np.zeros(trace.cells + 1, np.int64)  # of readers of each cell, as differences
    if trace.result > 0:
        count[trace.result] += 1
        count[trace.result + 1] -= 1
    for row in range(len(code)):
        for low, high in reads_of(row):
            count[low] += 1
            count[high] -= 1
    readers = np.cumsum(count)
    found = {}
    for row in np.flatnonzero(code[:, 0] == KERNEL_CODES["logsumexp"]).tolist():
        at = int(code[row, 1])
        shape = trace.shapes[at : at + FIELDS].tolist()
        low, high = shape[A], shape[A] + shape[M] * shape[N] * shape[K]
        own = sums.get(low) if shape[A_CELLS] == 1 and not shape[A_TURNED] else None
        if own is None or int(code[own, 2]) != high - low or (readers[low:high] != 1).any():
            continue
        pair = _join(trace, own, shape)
        if pair is not None:
            found[row] = pair
    return found


def _join(trace: "Trace", row: int, shape: list[int]) -> PairedSum | None:
    """The record of both; None where an operand does not advance with the lines."""
    code, x, _ = trace.code[row].tolist()
    sign, active = _SIGNS[code]
    _, outer, inner, z_outer, z_inner, *operands = trace.shapes[x : x + 11].tolist()
    if (z_inner != 1 and inner > 1) or (z_outer != inner and outer > 1):
        return None
    whole, reads = list(shape), []
    for kind, (place, apart, step) in zip(active, (operands[:3], operands[3:]), strict=True):
        steps = _steps_of(shape, outer, inner, apart, step)
        if steps is None:
            return None
        whole += [place, int(kind == "v"), *steps]
        if kind == "v":
            reads.append((place, place + apart * (outer - 1) + step * (inner - 1) + 1))
    return PairedSum(row, [*whole, sign], reads)


def _steps_of(shape: list[int], outer: int, inner: int, apart: int, step: int) -> tuple[int, int, int] | None:
    """The strides of an operand along the times, lines and elements of a sum on two axes."""
    n, after = shape[N], shape[K]
    if outer == 1 or apart == inner * step:
        before, along, across = n * after * step, after * step, step
    elif inner == after:
        before, along, across = n * apart, apart, step
    elif inner == n * after:
        before, along, across = apart, after * step, step
    else:
        return None
    return (0, before, along) if after == 1 else (before, across, along)
