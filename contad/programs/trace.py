"""The trace of one run of a function: arrays that compiled code runs, translated from the stream of the recording."""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from contad.engines.matrix.kernel_shapes import KernelShape, describe_pullback
from contad.engines.stream.plain_arrays import strides_of
from contad.engines.stream.pullbacks import Continuation, Pullback
from contad.engines.stream.storage import (
    GATHER as GATHERED,
    INPUT,
    LINEAR,
    PULLBACK,
    STRIDED,
    X_NUMBER,
    Y_NUMBER,
    address_of,
    decode,
    own_cells,
)
from contad.engines.stream.sweep import operation_code
from contad.errors import UnsupportedError
from contad.ops import power, reductions, square
from contad.programs import codes
from contad.programs.inputs import give_back, take
from contad.programs.more_axes import AXES, CODE_OF, AxisLoops, broadcast_of
from contad.programs.program_kernels import ADDRESSES, compile_missing, kernels_of
from contad.programs.python_calls import ArrayCall, ScalarCall
from contad.programs.tracer import Tracer
from contad.variables.level import HeldData
from contad.variables.open_types import Function, Real, Value

LONG_RUN = 16  # consecutive cells from which on a copy is faster than a gather


class Trace:
    """The records of one run of a function, their constants and shapes, and the source lines of the guards."""

    __slots__ = (
        *("addresses", "calls", "cells", "code", "constants", "held", "inputs", "kernels", "of_python", "places"),
        *("result", "saved", "shapes", "kernel_records"),
    )

    def __init__(
        self, code: np.ndarray, constants: np.ndarray, shapes: np.ndarray, cells: int, saved: int, inputs: int,
        result: int, calls: list[ScalarCall | ArrayCall], kernel_records: list[ArrayCall],
        places: dict[int, tuple[str, int]], held: list[HeldData],
    ) -> None:  # fmt: skip
        self.code = code
        self.constants = constants
        self.shapes = shapes
        self.cells = cells
        self.saved = saved  # numbers that linear algebra saves, after the cells
        self.inputs = inputs
        self.result = result  # a cell, or -1 - the place of a constant
        self.calls = calls
        rows = np.flatnonzero(code[:, 0] >= codes.FIRST_KERNEL).tolist()
        self.kernel_records = dict(zip(rows, kernel_records, strict=True))
        # by row: the operation that Python runs, its number of cells, and whether compiled code never tries it
        self.of_python = {
            row: (calls[x] if head == codes.CALL else self.kernel_records[row], n, head == codes.CALL)
            for row in np.flatnonzero((code[:, 0] == codes.CALL) | (code[:, 0] >= codes.FIRST_KERNEL)).tolist()
            for head, x, n in [code[row].tolist()]
        }
        self.places = places  # file and line of guards, by row
        self.held = held  # objects that users' rules capture
        self.kernels = kernels_of(code, shapes)
        self.addresses = self._addresses()

    def _addresses(self) -> tuple[int, ...]:
        """The addresses of the arrays that every run reads; it takes longer to find one than to run a record."""
        return tuple(map(address_of, (self.code, self.constants, self.shapes, ADDRESSES)))

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "addresses"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, x in state.items():
            setattr(self, name, x)
        self.constants = np.require(self.constants, requirements="A")  # fused loops need its address to be aligned
        self.addresses = self._addresses()

    def compile(self, *purposes: int) -> None:
        """Compile the kernels for these purposes, also those that compiled code replaces by kernels of fused loops."""
        compile_missing((purpose, code) for code in self.kernels for purpose in purposes)

    def describe_guard(self, row: int) -> str:
        """The comparison of a guard, its outcome when it was recorded, and its source line."""
        place = "{}:{}".format(*self.places.get(row, ("<unknown>", 0)))
        guard = codes.GUARDS.get(int(self.code[row, 0]))
        if guard is None:
            return f"a comparison of arrays at {place} comes out otherwise than when it was recorded"
        return f"the comparison at {place} was {guard[1]} when it was recorded and is {not guard[1]} now"

    # ---- with calls to Python ----------------------------------------------------------------------------------------
    def run(
        self, loops: Any, inputs: np.ndarray, direction: np.ndarray, gradient: np.ndarray
    ) -> tuple[float, float, int]:
        """(value, slope, row of a guard that does not hold or -1), for runs that need Python.

        The loops over records are those of the interpreter, or `contad.programs.plain_runs`.
        """
        for data in self.held:
            data.require_unchanged()
        n = self.inputs
        whole = self.cells + self.saved
        memory = take(whole + self.cells)
        room = memory if len(memory) else np.empty(whole + self.cells)
        values, other = room[:whole], room[whole : whole + self.cells]
        values[0] = 0.0
        values[1 : n + 1] = inputs
        given = loops.prepare(self, values, other, inputs, gradient)

        evaluated: dict[int, Any] = {}  # by row: results of a call that its derivatives need, such as factors

        def evaluate(row: int, call: Any, at: int) -> None:
            evaluated[row] = call.evaluate(values, at)

        def look(row: int, call: Any) -> Any:
            """The results of a call; linear algebra is evaluated only now if compiled code computed its value."""
            return evaluated[row] if row in evaluated else call.look(values)

        row = self._driven(functools.partial(loops.forward, given), evaluate)
        if row < len(self.code):
            give_back(memory)
            return np.nan, 0.0, row
        result = self.result
        value = float(values[result] if result > 0 else self.constants[-1 - result])
        slope = 0.0
        if len(direction):
            other[:] = 0.0
            other[1 : n + 1] = direction
            self._driven(
                functools.partial(loops.tangents, given),
                lambda row, call, at: call.push(values, other, at, look(row, call)),
            )
            slope = float(other[result]) if result > 0 else 0.0
        if len(gradient):
            other[:] = 0.0
            if result > 0:
                other[result] = 1.0
                row, cell = len(self.code) - 1, self.cells - 1
                while row >= 0:
                    call, size, is_call = self.of_python.get(row, _COMPILED)
                    if not is_call:  # compiled code would stop at once
                        row, cell = loops.backward(given, row, cell)
                        if row < 0:
                            break
                        call, size, _ = self.of_python[row]
                    call.pull(values, other, cell - size + 1, look(row, call))
                    row, cell = row - 1, cell - size
            gradient[:] = other[1 : n + 1]
        give_back(memory)
        return value, slope, -1

    def _driven(self, compiled: Function, run: Callable[..., None]) -> int:
        """Run forward through the records, with calls of Python; returns the row of a failed guard, or their number."""
        row, cell, end = 0, self.inputs + 1, len(self.code)
        while True:
            row, cell = compiled(row, cell)
            call, size, _ = self.of_python.get(row, _COMPILED)
            if call is None:
                return row
            run(row, call, cell)
            row, cell = row + 1, cell + size
            if row == end:
                return row


_COMPILED = None, 0, False  # for rows that Python does not run


# ---- from a stream ---------------------------------------------------------------------------------------------------
class _Translation:
    """The parts of a trace under construction."""

    def __init__(self, tracer: Tracer) -> None:
        self.recording = tracer.stack
        b = self.recording.buffers
        self.buffers = b
        self.constants = [b.constants[: b.constants_top].copy()]  # so that their places do not change
        self.size = b.constants_top
        self.shapes = b.shapes[: b.shapes_top].tolist()
        self.known: dict[int, tuple[np.ndarray, int]] = {}
        self.calls = list(tracer.calls)
        self.kernel_records: list[ArrayCall] = []
        self.saved = 0  # numbers after the cells
        self.factors: dict[tuple[int, int, bool], tuple[int, int]] = {}  # places of saved factors

    def constant(self, a: Value) -> int:
        """The place of an array among the constants."""
        a = np.ascontiguousarray(a, np.float64).reshape(-1)
        place = self.size
        self.constants.append(a.copy())
        self.size += a.size
        return place

    def shape(self, integers: Iterable[int]) -> int:
        """The place of integers among the shapes."""
        place = len(self.shapes)
        self.shapes.extend(int(k) for k in integers)
        return place

    def product(self, first: int, n: int, *factors: tuple[int, np.ndarray, bool]) -> tuple[int, int, int]:
        """The record of a product of factors (first cell, not positive for a constant; value; whether transposed)."""
        (_, a, a_turned), (_, b, b_turned) = factors
        p = a.shape[-1]
        x, y = (self.factor(cell, v) for cell, v, _ in factors)
        return codes.PRODUCT, self.shape((first, *x, a.size // p, p, *y, b.size // p, a_turned, b_turned)), n

    def factor(self, cell: int, a: np.ndarray) -> tuple[int, int]:
        """The place of a factor of a product, and whether it is in cells."""
        if cell > 0:
            return cell, 1
        if id(a) not in self.known:
            self.known[id(a)] = a, self.constant(a)
        return self.known[id(a)][1], 0

    def gather(self, cells: np.ndarray, values: np.ndarray) -> int:
        """The place of the sources of elements: cells, and -1 - place for constants."""
        sources = cells.copy()
        fixed = cells == 0
        if fixed.any():
            at = self.constant(values[fixed])
            sources[fixed] = -1 - at - np.arange(int(fixed.sum()))
        return self.shape(sources.tolist())

    def split_gathers(self, code: np.ndarray, firsts: np.ndarray, kept: set[int]) -> np.ndarray:
        """The records, with copies in place of gathers whose sources are long runs of cells.

        Copies are vectorised and can join fused loops. Gathers whose first cell is in `kept` stay.
        """
        parts, at = [], 0
        for k in np.flatnonzero((code[:, 0] == codes.GATHER) & (code[:, 2] >= LONG_RUN)).tolist():
            first = int(firsts[k])
            pieces = [] if first in kept else self.pieces(first, *code[k, 1:].tolist())
            if pieces:
                parts += [code[at:k], np.array(pieces, np.uint32)]
                at = k + 1
        return np.concatenate([*parts, code[at:]])

    def pieces(self, first: int, x: int, n: int) -> list[tuple[int, int, int]]:
        """The records that replace a gather, one for each run; empty where the runs are short."""
        sources = np.array(self.shapes[x : x + n], np.int64)
        follows = (np.diff(sources) == 1) | ((sources[1:] < 0) & (sources[:-1] < 0))
        starts = np.concatenate([[0], np.flatnonzero(~follows) + 1, [n]])
        if (len(starts) - 1) * LONG_RUN > n:
            return []
        found = []
        for a, b in itertools.pairwise(starts.tolist()):
            if sources[a] < 0 or b - a < LONG_RUN:
                found.append((codes.GATHER, x + a, b - a))
            else:  # 1 x, the one of `constants`
                shape = (first + a, 1, b - a, 0, 1, int(sources[a]), 0, 1, 0, 0, 0)
                found.append((codes.ARRAY + LINEAR, self.shape(shape), b - a))
        return found

    def array(self, head: float, x: float, y: float, first: int) -> tuple[int, int, int]:
        """The record of an array."""
        b = self.buffers
        code, form, n = decode(head)
        values = b.values[first : first + n]
        if code == INPUT:  # created inside the function: its values are constants
            return codes.GATHER, self.gather(np.zeros(n, np.int64), values), n
        if code == GATHERED:
            return codes.GATHER, self.gather(np.array(self.shapes[int(x) : int(x) + n], np.int64), values), n
        if code == PULLBACK:
            return self.continuation(self.recording.callbacks[int(x)], first, n)
        if form == STRIDED:
            return codes.ARRAY + code, int(x), n
        shape = list(strides_of(b.shapes, form, first, n, x, y))
        if form == X_NUMBER:
            shape[5] = self.constant(x)
        if form == Y_NUMBER:
            shape[8] = self.constant(y)
        return codes.ARRAY + code, self.shape(shape), n

    def continuation(self, c: Any, first: int, n: int) -> tuple[int, int, int]:
        """The record of a rule that Python runs in the recording: here a product, or a call."""
        if not isinstance(c, Continuation):  # of a product; the tracer refuses users' continuations
            return self.product(first, n, (c.x_cell, c.x, c.x_turned), (c.y_cell, c.y, c.y_turned))
        if c.rule.name == "matmul" and not c.is_tuple and c.results[0].axes is None and _are_matrices(c.values):
            cells = {k: cell for k, cell, _ in c.operands}
            return self.product(first, n, *((cells.get(k, 0), v, False) for k, v in enumerate(c.values)))
        if isinstance(c, Pullback):
            kernel = describe_pullback(c)
            if kernel is not None:
                return codes.KERNEL_CODES[c.rule.name], self.kernel_record(c, kernel, first), n
        broadcast = broadcast_of(c)
        shape = None if broadcast is None else self.broadcast(c, broadcast, first)
        if shape is not None and not shape[AXES]:
            return codes.ARRAY + shape[CODE_OF], self.shape(shape[:CODE_OF]), n
        if shape is not None:
            return codes.REPEATED, self.shape(shape), n
        self.calls.append(ArrayCall(c))
        return codes.CALL, len(self.calls) - 1, n

    def broadcast(self, c: Continuation, found: AxisLoops, first: int) -> list[int] | None:
        """The shape of an operation on any axes."""
        cells = {k: cell for k, cell, _ in c.operands}
        places = [self.factor(cells.get(k, 0), v)[0] for k, v in enumerate(c.values)]
        if c.rule is reductions.mean:
            places.append(self.constant(np.array(c.results[0].size / c.values[0].size)))
        return found.write(first, *places, *[0] * (2 - len(places)))  # 1 x, the one of `constants`

    def kernel_record(self, c: Pullback, kernel: KernelShape, first: int) -> int:
        """The shape of an operation of linear algebra."""
        cells = {k: cell for k, cell, _ in c.operands}
        operands = [self.factor(cells.get(k, 0), v) for k, v in enumerate(c.values)]
        status = self.recording.top + self.saved
        keeper = status, status + 1
        key = operands[0][0] if operands[0][1] else -1 - operands[0][0], kernel.sizes[1], 0 in c.turned
        if kernel.has_factors:
            keeper = self.factors.setdefault(key, keeper)
        self.saved += 1 + (kernel.saved if keeper[0] == status else 0)
        self.kernel_records.append(ArrayCall(c))
        (a, b), turned = (*operands, (0, 0))[:2], (c.results[0].axes is not None, 0 in c.turned, 1 in c.turned)
        return self.shape((status, status + 1, first, *a, *b, *turned, *kernel.sizes, *kernel.options, *keeper))


def _are_matrices(values: Sequence[Value]) -> bool:
    """Whether these are vectors and matrices, none of them empty."""
    return all(isinstance(v, np.ndarray) and 0 < v.ndim <= 2 and v.size for v in values)


def trace_of(tracer: Tracer, first_row: int, inputs: int, result: Real) -> Trace:
    """The trace of a tracer's recording; the inputs are its first cells, `first_row` is the row after them.

    The result is the cell of a variable, or a float.
    """
    t = _Translation(tracer)
    recording = tracer.stack
    b = recording.buffers
    rows = b.records[first_row : recording.rows_packed]
    heads = rows[:, 0].astype(np.int64)
    scalars = (heads >= 0) & (heads < codes.ARRAY)
    cells = np.cumsum(own_cells(heads)) + inputs + 1
    firsts = np.concatenate([[inputs + 1], cells[:-1]]) if len(rows) else cells
    assert not len(rows) or cells[-1] == recording.top

    code = np.zeros((len(rows), 3), np.uint32)
    code[:, 0] = np.where(heads >= 0, heads, 0)
    places: list[np.ndarray] = []
    for field in (1, 2):
        fixed = scalars & np.isin(heads, _constant_fields(field))
        numbers, inverse = np.unique(rows[fixed, field].view(np.int64), return_inverse=True)
        at = t.constant(numbers.view(np.float64))
        places.append(at + inverse)
        whole = (heads >= 0) & ~fixed
        code[whole, field] = rows[whole, field]
        code[fixed, field] = places[-1]
    squares = (heads == operation_code(power, "vc")) & (rows[:, 2] == 2.0)
    code[squares, 0] = operation_code(square, "v") or 0
    made_inside = np.flatnonzero(heads == INPUT)
    if len(made_inside):
        at = t.constant(b.values[firsts[made_inside]])
        code[made_inside, 0] = codes.CONSTANT
        code[made_inside, 1] = at + np.arange(len(made_inside))
    code[heads == codes.COMPARE, 2] = 1
    for k in np.flatnonzero(heads < 0).tolist():
        head, x, y = rows[k].tolist()
        code[k] = t.array(head, x, y, int(firsts[k]))
    code = t.split_gathers(code, firsts, tracer.stopped_arrays)
    firsts = codes.first_cells(code, inputs)
    named = tracer.places.keys() | tracer.stopped_arrays
    if max(recording.top + t.saved, t.size, len(t.shapes)) >= 1 << 32:
        raise UnsupportedError("contad.record: more than 2**32 numbers in one recording; use contad.grad")
    row_of = {cell: k for k, cell in enumerate(firsts.tolist()) if cell in named}
    for cell in tracer.stopped_arrays:
        code[row_of[cell], 0] = codes.STOPPED
    where = {row_of[cell]: place for cell, place in tracer.places.items()}
    end = result if result.__class__ is int else -1 - t.constant(result)
    return Trace(
        code,
        np.concatenate(t.constants),
        np.array(t.shapes, np.int64),
        recording.top,
        t.saved,
        inputs,
        end,
        t.calls,
        t.kernel_records,
        where,
        list(recording.held.values()),
    )


def _constant_fields(field: int) -> list[int]:
    """The codes of records of scalars whose field 1 or 2 is a constant number."""
    found = [code for code, (_, active) in codes.SCALARS.items() if active[field - 1 : field] == "c"]
    return found + [code for code, (_, _, active) in codes.GUARDS.items() if active[field - 1] == "c"]
