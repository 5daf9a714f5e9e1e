"""The cells and records of arrays of a matrix stack: room in the slab, views of it, and what is recorded of arrays."""

from typing import Any

import numpy as np

from contad.engines.matrix.array_var import ArrayVar, affine, scatter
from contad.engines.stream.record_head import CELLS, DOT, GATHER, JOIN, LINEAR
from contad.engines.stream.record_stream import CHUNK, LONG, Recording
from contad.engines.stream.sweep import operation_code
from contad.ops import multiply
from contad.variables.array import Array, is_plain
from contad.variables.dtypes import FLOAT
from contad.variables.layout import same_layout
from contad.variables.open_types import ArrayValue, Real, Value
from contad.variables.var import Var

_PRODUCT = -((operation_code(multiply, "vc") or 0) + DOT + CELLS)  # the head: a vector of variables by a constant one
_SMALL = 64  # elements of arrays, behind which others are taken to be as large when the next look for room is due
_FEW = 8  # partials, up to which a record for each takes less time than a copy of all


class ArraySlab(Recording):
    """A stream of records of scalars and arrays, and the slab of their values."""

    __slots__ = (
        *("brim", "capacity", "factors", "float_class", "keeps_rules", "lends_arrays", "number"),
        *("opens_calls", "outer_arrays", "slab", "var_class", "views", "words"),
    )
    slab: np.ndarray
    words: Any  # the slab as a buffer of bytes
    views: Any  # of the slab, by their lengths and first cells
    number: Any
    capacity: int  # cells that the slab has room for
    brim: int  # the cell up to which nobody needs to look for room
    var_class: type[Var]
    float_class: Any
    keeps_rules: bool
    factors: dict[tuple[Any, ...], np.ndarray]  # that steps share, by what they are of
    outer_arrays: Any  # by first cell, then a list: values that are arrays of outer levels

    def element(self, value: Value, cell: int) -> Real:
        """The scalar of a cell: a plain number, NumPy's as of any array, for cell 0."""
        if cell == 0:
            return np.float64(value) if value.__class__ is float else value
        if isinstance(value, np.floating):
            value = float(value)
        z = self.var_class()
        z._value = value
        z._owner = self
        z._index = cell
        return z

    def constant_result(self, z: Value) -> Value:
        """The result of an operation on arrays of this level that are all constants."""
        return self.writable(z) if np.ndim(z) else z[()] if isinstance(z, (np.ndarray, Array)) else z

    def writable(self, value: Value) -> ArrayVar:
        a = value.copy() if isinstance(value, Array) else np.array(value)
        return scatter(self, a, same_layout(np.zeros(a.shape, np.int64), a))

    def room(self, n: int) -> int:
        """The first of n free cells, whose values the slab has room for."""
        if self.top + n > self.capacity:
            self.check_usable("an operation on arrays")
            self.buffers.grow("values", self.top + n)
            self.slab, self.words = self.buffers.values, self.buffers.words
            self.capacity = self.buffers.capacity
        return self.top

    def make_room(self, n: int) -> None:
        """Look for the room that n cells need, in the slab and in the stream; refused where the stack has ended."""
        self.room(n)
        if len(self.stream) >= LONG:
            self.flush()
        left = CHUNK - len(self.stream) // 4  # records that are not too many, of arrays that may be as small
        self.brim = min(self.top + left * min(n, _SMALL), self.capacity)

    def make_view(self, first: int, lengths: int | tuple[int, ...]) -> np.ndarray:
        """The array of that length or shape of the cells from `first` on, kept for the next recordings."""
        if lengths.__class__ is int:
            view = self.slab[first : first + lengths]
        else:
            view = np.ndarray(lengths, FLOAT, self.words, 8 * first)
        self.buffers.keep_view(first, lengths, view)
        return view

    def end(self, reason: str) -> None:
        Recording.end(self, reason)
        self.capacity = self.brim = -1  # so that operations ask for room, and are refused

    def push_array(self, code: int, x: int, y: int, value: Value) -> ArrayVar:
        """A record of n own cells, whose values are moved into the slab."""
        first = self.room(value.size)
        if is_plain(value):
            slab = self.slab[first : first + value.size]
            if value.ndim != 1:
                slab = slab.reshape(value.shape)
            slab[...] = value
        else:
            slab = self.outer_array(first, value)
        return self.push_values(code, x, y, slab)

    def outer_array(self, first: int, value: Value) -> ArrayValue:
        """A copy of an array of an outer level as the value of cells; it makes the stack mixed."""
        copy = value.copy()
        self.outer_arrays = self.outer_arrays or []
        self.outer_arrays.append((first, copy))
        self.is_mixed = True
        return copy

    def push_values(self, code: int, x: int, y: int, value: Value) -> ArrayVar:
        """A record whose values are in the slab from the next free cell on."""
        first, n = self.top, value.size
        if n == 0:
            return scatter(self, value, np.zeros(value.shape, np.int64))
        z = affine(self, value, first)
        self.top = first + n
        self.push((-(code + CELLS * n), x, y, 0.0))
        if len(self.stream) >= LONG:
            self.flush()
        return z

    def push_number(self, code: int, x: int, y: int, value: float) -> Var:
        """A record of one cell of its own, with the value of a number."""
        k = self.top
        if k >= self.capacity:
            self.room(1)
        self.slab[k] = value
        z = self.var_class()
        z._value = value
        z._owner = self
        z._index = k
        self.top = k + 1
        self.push((-(code + CELLS), x, y, 0.0))
        if k >= self.limit:
            self.flush_if_long()
        return z

    def push_gradient(self, cell: int, shape: tuple[int, ...], gradient: Value, value: float) -> Var:
        """A Python float whose gradient with respect to variables of that shape, from that cell on, is known.

        A few partials are records of their own; more are swept as a product with them.
        """
        if not shape:
            return self._push(LINEAR, cell, gradient, value, self.float_class)
        n = shape[0] if len(shape) == 1 else gradient.size
        z: Var = self.float_class()
        z._value = value
        z._owner = self
        if n <= _FEW:
            fields: list[Real] = []
            head = LINEAR
            for partial in gradient.tolist() if len(shape) == 1 else gradient.reshape(-1).tolist():
                fields += head, cell, partial, value
                head = JOIN
                cell += 1
            k = self.top + n - 1
        else:
            k = self.top
            if k >= self.capacity:
                self.room(1)
            self.slab[k] = value
            fields = [_PRODUCT, cell, self.push_factor(gradient, n), 0.0]
        z._index = k
        self.top = k + 1
        self.push(fields)
        if k >= self.limit:
            self.flush_if_long()
        return z

    def push_factor(self, a: np.ndarray, n: int) -> int:
        """Keep an array of n numbers, as nobody has another time, as a factor of products; returns where it says so."""
        buffers = self.buffers
        at = buffers.constants_top
        end = buffers.constants_top = at + n
        if end > len(buffers.constants):
            buffers.grow("constants", end)
        buffers.constants[at:end] = a.reshape(-1)
        return buffers.push_shape((at, n))

    def at_run(self, value: Value, cells: np.ndarray) -> ArrayVar | None:
        """The elements of cells that follow one another, where they are; else None."""
        if value.__class__ is not np.ndarray or value.dtype is not FLOAT or cells.size < 2 or self.is_mixed:
            return None
        numbers = cells.reshape(-1)
        first, n = int(numbers[0]), cells.size
        if first == 0 or numbers[-1] != first + n - 1 or not (numbers[1:] - numbers[:-1] == 1).all():
            return None
        slab = self.slab[first : first + n]
        if not np.array_equal(slab.view(np.int64), np.ascontiguousarray(value).reshape(-1).view(np.int64)):
            return None  # of numbers, whose values are in their records
        return affine(self, slab.reshape(value.shape), first)

    def gather(self, value: Value, cells: np.ndarray) -> ArrayVar:
        """The elements of those cells in fresh ones."""
        return self.push_array(GATHER, self.buffers.push_cells(cells), 0, value)
