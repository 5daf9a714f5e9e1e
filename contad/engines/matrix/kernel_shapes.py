"""The array rules with compiled kernels, of linear algebra and along axes, and the sizes in their records.

Compiled code does the operation; if a matrix turns out to be singular, or a result is not finite, Python does it
instead, so that errors and limits are NumPy's. Recordings for one sweep (`kernel_records`) and recorded programs use
the kernels.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.engines.stream.pullbacks import Pullback
from contad.kernels.rows.row_tables import LINE_ROWS, ROWS, measures_of
from contad.variables.dtypes import is_float64
from contad.variables.open_types import Options

FACTORED = frozenset(("solve", "log_determinant"))  # operations that share the factors of the first operand
# operations on lines along an axis, which Python never has to do; they come last, as codes are in order
LINES = tuple(LINE_ROWS)
NAMES = (*ROWS, *LINES)
PAIRED_SUM = "logsumexp_of_pair"  # only in programs: logsumexp of x + y, or of x - y
PRODUCT = "matmul"  # NumPy multiplies; only the adjoints have a kernel
VALUE, ADJOINT = range(2)  # purposes of kernels

Shape = tuple[int, ...]


class KernelShape(NamedTuple):
    """The parts of a record's shape that are no places: sizes, options, and the number of saved numbers."""

    result: Shape
    sizes: tuple[int, int, int]
    options: tuple[int, int, int] = (0, 0, 0)
    saved: int = 0
    has_factors: bool = False  # whether records share the saved factors of the first operand


def _of_row(name: str, shapes: Sequence[Shape], options: Options) -> KernelShape | None:
    """An operation on matrices; None if the shapes do not match its row."""
    row, a, b = ROWS[name], shapes[0], shapes[1] if len(shapes) == 2 else (0, 0)
    if len(a) != 2 or len(b) > 2:
        return None
    values = [int(bool(options.get(x))) if x in row.flags else int(options[x]) for x in row.options]
    matrices = [(*shape, 1)[:2] for shape in shapes]
    sizes = *a, matrices[-1][1] if len(shapes) == 2 else 0
    operands, parts, saved = measures_of(name)(*sizes, *values)
    rows, columns = zip(*parts, strict=True)
    if operands != tuple(matrices) or len({*columns}) > 1:
        return None
    result = () if not row.results[0].shape else b if len(b) == 1 else (sum(rows), columns[0])
    first, second, third, *_ = *values, 0, 0, 0
    return KernelShape(result, sizes, (first, second, third), saved, name in FACTORED)


def _of_vector(a: Shape, options: Options) -> KernelShape | None:
    axis = options.get("axis")
    axes = range(len(a)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    whole = {k % len(a) for k in axes} == set(range(len(a)))
    shape = (1,) * len(a) if options.get("keepdims") else ()
    return KernelShape(shape, (1, math.prod(a), 0)) if whole else None


# ---- along axes ------------------------------------------------------------------------------------------------------
RUNNING = frozenset(x for x in LINES if LINE_ROWS[x].is_running)  # results have the operand's shape and order
ACCUMULATIONS = frozenset(("cumsum", "cumprod"))  # flattened if there is no axis


def are_consecutive(axes: Sequence[int]) -> bool:
    """Whether sorted axes are consecutive and distinct."""
    return all(after - before == 1 for before, after in itertools.pairwise(axes))


def _of_lines(name: str, a: Shape, options: Options) -> KernelShape | None:
    """An operation on lines along consecutive axes; the options are rows and columns of the operand, and ddof."""
    axis, n = options.get("axis"), len(a)
    axes = range(n) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    ddof = options.get("ddof", 0)
    if not n or not {*map(type, axes), type(ddof)} <= {int} or options.get("b") is not None:
        return None
    reduced = sorted(k % n for k in axes if -n <= k < n)
    if not reduced or len(reduced) < len(axes) or not are_consecutive(reduced):
        return None
    before, after = math.prod(a[: reduced[0]]), math.prod(a[reduced[-1] + 1 :])
    lines, size = before * after, math.prod(a)
    result = a
    if name in ACCUMULATIONS and axis is None:
        result = (size,)
    elif name not in RUNNING:
        keeps = options.get("keepdims", False)
        result = tuple(1 if k in reduced else m for k, m in enumerate(a) if keeps or k not in reduced)
    rows, columns = a if n == 2 else (1, size)
    saved = LINE_ROWS[name].count_saved(size, lines)
    return KernelShape(result, (before, size // lines, after), (rows, columns, ddof), saved)


_IN_ORDER = {"cholesky_factor", "euclidean_norm", *LINES} - RUNNING  # their results keep the memory order


def describe_operation(name: str, shapes: Sequence[Shape], options: Options) -> KernelShape | None:
    """The shape of a record; None where Python has to do it: stacks of matrices, wrong shapes, other rules."""
    if name not in NAMES or not all(map(math.prod, shapes)):
        return None
    a = shapes[0]
    if name in LINES:
        return _of_lines(name, a, options)
    return _of_vector(a, options) if name == "euclidean_norm" else _of_row(name, shapes, options)


def describe_pullback(c: Pullback) -> KernelShape | None:
    """The shape of a program's record in place of a continuation; None where Python has to run it."""
    name = c.rule.name
    if c.is_tuple or not c.rule.__module__.startswith("contad.ops.") or not all(map(is_float64, c.values)):
        return None
    part = c.results[0]
    if part.axes not in (None, (1, 0)) or (part.axes and name in _IN_ORDER):
        return None
    return describe_operation(name, [np.shape(v) for v in c.values], c.options)


def find_address(name: str, purpose: int) -> int:
    """The address of a kernel, compiled or loaded."""
    from contad.compile.named_code import compiled_address, name_of
    from contad.kernels.recorded_operands import SIGNATURE

    return compiled_address(name_of(_kernels_of(name)[purpose]), SIGNATURE)


def is_on_disk(name: str, purpose: int) -> bool:
    """Whether the disk cache has the machine code of a kernel."""
    from contad.compile.machine_code import has_machine_code

    return has_machine_code(_kernels_of(name)[purpose])


def _kernels_of(name: str) -> tuple[Any, ...]:
    """The kernels of a rule, by their purpose."""
    if name == PRODUCT:
        from contad.kernels.recorded_products import PRODUCT_KERNELS

        return PRODUCT_KERNELS[name]
    if name in (*LINES, PAIRED_SUM):
        from contad.kernels.recorded_lines import KERNELS
    else:
        from contad.kernels.recorded_rows import KERNELS
    found: tuple[Any, ...] = KERNELS[name]
    return found
