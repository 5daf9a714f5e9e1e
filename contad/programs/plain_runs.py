"""Runs of recorded programs in plain Python and NumPy: the first runs need not wait for compiled code.

The compilation of the interpreter and the kernels takes many seconds, once per machine; most programs of a short
session finish in less. `forward`, `backward` and `tangents` take the same arguments and return the same results as
those of the interpreter, and evaluate the rules directly. They stop at linear algebra, as at calls: Python runs it.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from contad.engines.stream.arithmetic_rules import operation_of
from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.plain_arrays import run_kernel
from contad.ops import multiply
from contad.ops.products import left_cotangent, masked_product, right_cotangent
from contad.programs import codes
from contad.programs.interpreter import has_compiled_interpreter, interpreter
from contad.programs.more_axes import AXES, CODE_OF, length_of, unroll
from contad.programs.program_kernels import Kernel, is_kernel_kept, needs_numba
from contad.rules.body import ARITHMETIC_ERRORS
from contad.variables.number import scale
from contad.variables.open_types import Function


class CannotRunError(Exception):
    """Python raises where compiled code gives a number, so only compiled code can run the program."""


# ---- patience --------------------------------------------------------------------------------------------------------
class ProgramPatience:
    """The seconds of processor time that programs run in plain Python, in proportion to the `Patience` of recordings.

    All programs share the time until the interpreter is due, which takes `LARGER` times as long as the sweeps. Then
    each program waits for every array kernel that this process has not loaded, longer for linear algebra. Code on the
    disk is loaded at once, unless loading needs Numba.
    """

    LARGER = 2.5
    KERNEL, NUMBA_KERNEL = 0.05, 0.5  # fractions of the time that the sweeps take to compile
    RECORD = 3e-6  # seconds that a record takes

    def __init__(self) -> None:
        self.spent = 0.0
        self.is_cached: bool | None = None  # None before a look at the disk
        self.kept: dict[Kernel, bool] = {}  # whether they are on the disk

    def seconds_left(self, missing: Iterable[Kernel], spent: float) -> float:
        """The least time that a program still runs in plain Python after `spent` seconds.

        `missing` is not called before the interpreter is due.
        """
        if not interpreter.cache_info().currsize:
            if self.is_cached is None:
                self.is_cached = has_compiled_interpreter()
            left = (0.0 if self.is_cached else self.LARGER * PATIENCE.compiling) - self.spent
            if left > 0.0:
                return left
        missing = [*missing]
        if any(needs_numba(*kernel) for kernel in missing) and spent < PATIENCE.loading:
            return PATIENCE.loading - spent
        return PATIENCE.compiling * sum(map(self._share, missing)) - spent

    def _share(self, kernel: Kernel) -> float:
        """The compile time of a kernel, as a fraction of that of the sweeps."""
        if kernel not in self.kept:
            self.kept[kernel] = is_kernel_kept(*kernel)
        return 0.0 if self.kept[kernel] else self.NUMBA_KERNEL if needs_numba(*kernel) else self.KERNEL

    def run(self, function: Callable[[], Any]) -> tuple[Any, float]:
        """Call a function and count the seconds; returns its result and the seconds."""
        start = perf_counter()
        try:
            found = function()
        finally:
            seconds = perf_counter() - start
            self.spent += seconds
        return found, seconds


OF_PROGRAMS = ProgramPatience()


# ---- records of numbers ----------------------------------------------------------------------------------------------
@functools.cache
def _scalar(code: int) -> tuple[Function, tuple[bool, ...], tuple[tuple[int, Function, Function], ...]]:
    """The value of an operation, which operands are cells, and (operand, partial, product) for each of those."""
    rule, active = codes.SCALARS[code]
    in_cells = tuple(kind == "v" for kind in active)
    return rule.evaluate, in_cells, tuple((k, rule.partial(k), rule.product(k)) for k, v in enumerate(in_cells) if v)


def _operands(in_cells: tuple[bool, ...], places: tuple[int, int], v: Any, c: Any) -> list[float]:
    return [(v if is_cell else c)[place] for is_cell, place in zip(in_cells, places, strict=False)]


def _holds(code: int, x: int, y: int, v: Any, c: Any) -> bool:
    """Whether a guard comes out as it was recorded."""
    name, held, active = codes.GUARDS[code]
    return codes.COMPARISONS[name][1](v[x], v[y] if active == "vv" else c[y]) == held


# ---- records of arrays -----------------------------------------------------------------------------------------------
def _view(cells: np.ndarray, start: int, outer: int, inner: int, apart: int, step: int) -> np.ndarray:
    """An operand on its two axes."""
    return as_strided(cells[start:], (outer, inner), (8 * apart, 8 * step))


def _compare(shape: Sequence[int], constants: np.ndarray, values: np.ndarray) -> bool:
    """Whether two arrays compare as they did when they were recorded."""
    at, outer, inner, o_outer, o_inner, x, x_outer, x_inner, y, y_outer, y_inner, comparison, x_cells, y_cells = shape
    xs = _view(values if x_cells else constants, x, outer, inner, x_outer, x_inner)
    ys = _view(values if y_cells else constants, y, outer, inner, y_outer, y_inner)
    held = _view(constants, at, outer, inner, o_outer, o_inner) != 0.0
    return bool((codes.COMPARISONS[codes.ORDER[comparison]][1](xs, ys) == held).all())


class _Loop:
    """An array record of an elementwise or linear operation: z, x and y on their two axes."""

    def __init__(self, code: int, shape: Sequence[int], values: np.ndarray, constants: np.ndarray) -> None:
        self.rule, self.active = operation_of(code)
        self.z, self.outer, self.inner, self.z_outer, self.z_inner = shape[:5]
        self.places = shape[5:8], shape[8:11]
        self.operands = [self.operand(k, values if kind == "v" else constants) for k, kind in enumerate(self.active)]

    def operand(self, k: int, cells: np.ndarray) -> np.ndarray:
        """Operand k in these cells."""
        start, apart, step = self.places[k]
        return _view(cells, start, self.outer, self.inner, apart, step)

    def result(self, cells: np.ndarray) -> np.ndarray:
        """The result in these cells; an axis along which it is a sum has one element."""
        outer, inner = (self.outer if self.z_outer else 1), (self.inner if self.z_inner else 1)
        return _view(cells, self.z, outer, inner, self.z_outer, self.z_inner)

    def sum(self, terms: np.ndarray) -> np.ndarray:
        """The terms, or their sums, as the result has them."""
        if not self.z_inner:
            terms = terms.sum(axis=1, keepdims=True)
        return terms if self.z_outer else terms.sum(axis=0, keepdims=True)

    def run(self, values: np.ndarray) -> None:
        """The values."""
        if self.rule is None or self.rule is multiply:
            self.result(values)[...] = self.sum(self.operands[0] * self.operands[1])
        else:
            self.result(values)[...] = self.rule.array_value(*self.operands)

    def push(self, values: np.ndarray, dots: np.ndarray) -> None:
        """The tangents."""
        for k, kind in enumerate(self.active):
            if kind == "v":
                d = self.operand(k, dots)
                if self.rule is None:
                    term = scale(d, self.operands[1])
                else:
                    partial = self.rule.array_partial(k)(self.result(values), *self.operands)
                    term = self.rule.product(k)(d, partial)
                self.result(dots)[...] += self.sum(np.broadcast_to(term, d.shape))


class _Product:
    """A product of matrices."""

    def __init__(self, shape: Sequence[int], values: np.ndarray, constants: np.ndarray) -> None:
        self.z, self.x, self.x_cells, self.m, self.p, self.y, self.y_cells, self.n = shape[:8]
        self.x_turned, self.y_turned = shape[8:]
        self.a = self.left(values if self.x_cells else constants)
        self.b = self.right(values if self.y_cells else constants)

    def left(self, cells: np.ndarray) -> np.ndarray:
        """The left factor in these cells."""
        return _matrix(cells, self.x, self.m, self.p, self.x_turned)

    def right(self, cells: np.ndarray) -> np.ndarray:
        """The right factor in these cells."""
        return _matrix(cells, self.y, self.p, self.n, self.y_turned)

    def result(self, cells: np.ndarray) -> np.ndarray:
        """The product in these cells."""
        return _matrix(cells, self.z, self.m, self.n, 0)

    def run(self, values: np.ndarray) -> None:
        """The values."""
        self.result(values)[...] = self.a @ self.b

    def pull(self, adjoints: np.ndarray) -> None:
        """Pass the adjoints on."""
        z_bar = self.result(adjoints)
        if self.x_cells:
            self.left(adjoints)[...] += left_cotangent(z_bar, (self.m, self.p), self.b)
        if self.y_cells:
            self.right(adjoints)[...] += right_cotangent(z_bar, self.a, (self.p, self.n))

    def push(self, values: np.ndarray, dots: np.ndarray) -> None:
        """The tangents."""
        if self.x_cells:
            self.result(dots)[...] += masked_product(self.left(dots), self.b)
        if self.y_cells:
            self.result(dots)[...] += masked_product(self.right(dots).T, self.a.T).T


def _matrix(cells: np.ndarray, start: int, rows: int, columns: int, is_turned: int) -> np.ndarray:
    block = cells[start : start + rows * columns]
    return block.reshape(columns, rows).T if is_turned else block.reshape(rows, columns)


def _arrays(code: int, at: int, shapes: np.ndarray, values: np.ndarray, constants: np.ndarray) -> list[Any]:
    if code == codes.PRODUCT:
        return [_Product(shapes[at : at + 10].tolist(), values, constants)]
    return [_Loop(kernel, shape, values, constants) for kernel, shape in _calls(code, at, shapes)]


def _calls(code: int, at: int, shapes: np.ndarray) -> list[tuple[int, list[int]]]:
    """The kernels of a record, with the shapes for their calls."""
    if code != codes.REPEATED:
        return [(code - codes.ARRAY, shapes[at : at + 11].tolist())]
    shape = shapes[at : at + length_of(int(shapes[at + AXES]))].tolist()
    return [(shape[CODE_OF], one) for one in unroll(shape)]


# ---- the loops -------------------------------------------------------------------------------------------------------
Arrays = tuple[np.ndarray, ...]  # as `Interpreter.prepare` takes them


def prepare(trace: Any, *arrays: np.ndarray) -> Arrays:
    """The arguments of the loops."""
    return trace.code, trace.constants, trace.shapes, *arrays


def forward(arrays: Arrays, row: int, cell: int) -> tuple[int, int]:
    """Compute the values from a row on, whose first cell is given; returns the row where it stops, and its cell."""
    code, constants, shapes, values, _, *_ = arrays
    v, c = values.data, constants.data
    with np.errstate(all="ignore"):
        for k, (op, x, y) in enumerate(code[row:].tolist(), row):
            if op >= codes.ARRAY:
                if op >= codes.FIRST_KERNEL:
                    return k, cell
                if op == codes.COMPARE and not _compare(shapes[x : x + 14].tolist(), constants, values):
                    return k, cell
                if op in (codes.GATHER, codes.STOPPED):
                    sources = shapes[x : x + y]
                    fixed = sources < 0
                    found = values[np.maximum(sources, 0)]
                    found[fixed] = constants[-1 - sources[fixed]]
                    values[cell : cell + y] = found
                elif op != codes.COMPARE:
                    for part in _arrays(op, x, shapes, values, constants):
                        part.run(values)
                cell += y
                continue
            if op in codes.SCALARS:
                evaluate, in_cells, _ = _scalar(op)
                try:
                    v[cell] = evaluate(*_operands(in_cells, (x, y), v, c))
                except ARITHMETIC_ERRORS as error:
                    raise CannotRunError from error
            elif op == codes.CONSTANT:
                v[cell] = c[x]
            elif op == codes.STOP:
                v[cell] = v[x]
            elif op == codes.CALL or not _holds(op, x, y, v, c):
                return k, cell
            cell += 1
    return len(code), cell


def backward(arrays: Arrays, row: int, cell: int) -> tuple[int, int]:
    """Compute the adjoints down from a row, whose last cell is given; returns the row where it stops, and its cell."""
    code, constants, shapes, values, adjoints, *_ = arrays
    v, c, a = values.data, constants.data, adjoints.data
    with np.errstate(all="ignore"):
        for k, (op, x, y) in zip(range(row, -1, -1), reversed(code[: row + 1].tolist()), strict=True):
            if op >= codes.ARRAY:
                first = cell - y + 1
                if op not in (codes.COMPARE, codes.STOPPED) and adjoints[first : cell + 1].any():
                    if op >= codes.FIRST_KERNEL:
                        return k, cell
                    if op == codes.GATHER:
                        sources = shapes[x : x + y]
                        np.add.at(adjoints, sources[sources > 0], adjoints[first : cell + 1][sources > 0])
                    elif op == codes.PRODUCT:
                        _Product(shapes[x : x + 10].tolist(), values, constants).pull(adjoints)
                    else:
                        for kernel, shape in _calls(op, x, shapes):
                            run_kernel(kernel, shape, values, constants, adjoints)
                cell -= y
                continue
            if op == codes.CALL:
                return k, cell
            d = a[cell]
            if d != 0.0 and op in codes.SCALARS:
                _, in_cells, partials = _scalar(op)
                args = _operands(in_cells, (x, y), v, c)
                for n, partial, product in partials:
                    a[(x, y)[n]] += product(d, partial(v[cell], *args))
            cell -= 1
    return -1, 0


def tangents(arrays: Arrays, row: int, cell: int) -> tuple[int, int]:
    """Compute the tangents of the records from a row on, whose first cell is given; they have to be zero before."""
    code, constants, shapes, values, dots, *_ = arrays
    v, c, t = values.data, constants.data, dots.data
    with np.errstate(all="ignore"):
        for k, (op, x, y) in enumerate(code[row:].tolist(), row):
            if op >= codes.ARRAY:
                if op >= codes.FIRST_KERNEL:
                    return k, cell
                if op == codes.GATHER:
                    sources = shapes[x : x + y]
                    dots[cell : cell + y] = np.where(sources > 0, dots[np.maximum(sources, 0)], 0.0)
                elif op not in (codes.COMPARE, codes.STOPPED):
                    for part in _arrays(op, x, shapes, values, constants):
                        part.push(values, dots)
                cell += y
                continue
            if op == codes.CALL:
                return k, cell
            if op in codes.SCALARS:
                _, in_cells, partials = _scalar(op)
                args = _operands(in_cells, (x, y), v, c)
                for n, partial, product in partials:
                    d = t[(x, y)[n]]
                    if d != 0.0:
                        t[cell] += product(d, partial(v[cell], *args))
            cell += 1
    return len(code), cell
