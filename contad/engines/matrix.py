"""The engine `matrix`: array records over slabs in the same stream as the records of scalars.

One compiled sweep runs over both. Operations of core rules on arrays are records of it; array rules, and operations on
numbers of outer levels, are pullbacks, for which the sweep returns to Python and goes on afterwards.
"""

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.adjoints import Adjoints
from contad.arguments import operand
from contad.array_base import Array, is_immutable, is_plain, layout_of, numbers_in, require_no_inner, same_layout
from contad.array_protocols import install_arrays
from contad.engines import array_operators
from contad.engines.array_records import elementwise, push_pullback
from contad.engines.array_sweep import sweep_row
from contad.engines.array_var import FLOAT, ArrayVar, affine, is_own, scalar_parts, scattered
from contad.engines.number_cells import NumberCells
from contad.engines.stream import Recording, implementation
from contad.engines.sweep import (
    CALLBACK,
    CELLS,
    CODES,
    DOT,
    FORMS,
    GATHER,
    INPUT,
    LINEAR,
    OPERATIONS,
    PULLBACK,
    STRIDED,
    SUM,
    VARIANTS,
)
from contad.number import Number, primal
from contad.protocols import install
from contad.rule import ScalarRule
from contad.stack import Row
from contad.var import Var

new = object.__new__
WORTH_SHARING = 64  # numbers: to copy fewer takes less time than to compare them


class MatrixVar(Var):
    """A scalar variable of a matrix stack: an element of an array, or the result of an operation on scalars."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The methods of a rule on variables of this class."""
        return implementation(cls, rule)


class MatrixStack(Recording):
    """A stream of records of scalars and arrays, and the slab of their values."""

    __slots__ = ("capacity", "constants_top", "copies", "mixed_arrays", "outer_arrays", "shapes_packed", "shapes_top", "slab")
    engine = "matrix"
    has_arrays = True
    var_class = MatrixVar

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        self.slab = self.buffers.values
        self.capacity = len(self.slab)
        self.constants_top = 2
        self.shapes_top = self.shapes_packed = len(FORMS)
        self.mixed_arrays = False  # whether arrays of outer levels are among the values of pullbacks
        self.outer_arrays: list[tuple[int, Any]] = []  # by first cell: values that are arrays of outer levels
        self.copies: dict[int, tuple[np.ndarray, int]] = {}

    # ---- variables ---------------------------------------------------------------------------------------------------
    def array_variable(self, value: Any) -> Any:
        """An array variable; an object array of scalars for an object array of numbers (a matvar)."""
        if value.__class__ is np.ndarray and value.flags.c_contiguous and value.dtype is FLOAT:
            first, n = self.room(value.size), value.size
            slab = self.slab[first : first + n]
            slab[:] = value if value.ndim == 1 else value.reshape(-1)
            return self.pushed(INPUT, 0, 0, slab if value.ndim == 1 else slab.reshape(value.shape))
        if isinstance(value, np.ndarray) and value.dtype == object:
            return super().array_variable(value)
        plain = primal(value)
        axes = None if plain.flags.c_contiguous else layout_of([plain])
        if axes is None:
            return self.push_array(INPUT, 0, 0, value)
        return self.push_array(INPUT, 0, 0, value.transpose(axes)).transpose(inverse(axes))

    def element(self, value: Any, cell: int) -> Any:
        """The scalar of a cell: a plain number for cell 0."""
        if isinstance(value, np.floating):
            value = float(value)
        if cell == 0:
            return value
        z = new(MatrixVar)
        z._value = value
        z._owner = self
        z._index = cell
        return z

    def parts(self, y: Any) -> tuple[Any, Any]:
        """(value, cells) of what is assigned: a number, an array, or nested lists of numbers."""
        if y.__class__ is float:
            return y, 0
        require_no_inner(y, self.level)
        if isinstance(y, Array):
            return (y._synced()._value, y.cells()) if y._owner is self else (y, 0)  # type: ignore[attr-defined]
        if isinstance(y, Number):
            return scalar_parts(y, self)
        if isinstance(y, (list, tuple)) or (isinstance(y, np.ndarray) and y.dtype == object):
            return self.adopted_parts(y)
        a = np.asarray(y)
        if a.dtype.kind not in "fiub":
            operand("an assignment", "the value", y)
        return a, 0

    def adopted_parts(self, y: Any) -> tuple[Any, Any]:
        """(values, cells) of an object array, or nested lists, of numbers and arrays."""
        if not isinstance(y, np.ndarray):
            if any(isinstance(n, Array) for n in numbers_in(y)):
                return self.parts(np.stack([np.stack(x) if isinstance(x, (list, tuple)) else x for x in y]))
            y = np.array(y, dtype=object) if numbers_in(y) else np.asarray(y, dtype=float)
        if y.dtype != object:
            return y, 0
        values, cells = np.empty(y.shape, object), np.zeros(y.shape, np.int64)
        for k in np.ndindex(y.shape):
            require_no_inner(y[k], self.level)
            values[k], cells[k] = scalar_parts(y[k], self)
        if not numbers_in(values):
            return values.astype(np.float64), cells
        top = max(numbers_in(values), key=lambda n: n._owner.level)._owner
        return top.adopted(values), cells

    def adopted(self, y: Any) -> Any:
        """An object array with numbers of this level as an array variable (a varmat); nothing is recorded."""
        return scattered(self, *self.adopted_parts(y))

    def constant_result(self, z: Any) -> Any:
        """The result of an operation on arrays of this level that are all constants."""
        return self.writable(z) if np.ndim(z) else z

    def writable(self, value: Any) -> ArrayVar:
        a = value.copy() if isinstance(value, Array) else np.array(value)
        return scattered(self, a, same_layout(np.zeros(a.shape, np.int64), a))

    def push_callback(self, f: Callable[[Adjoints], None], value: Any) -> Any:
        if not isinstance(value, (np.ndarray, Array)):
            return super().push_callback(f, value)
        self.callbacks.append(f)
        return self.push_array(CALLBACK, len(self.callbacks) - 1, 0, value)

    # ---- recording ---------------------------------------------------------------------------------------------------
    def room(self, n: int) -> int:
        """The first of n free cells, whose values the slab has room for."""
        if self.top + n > self.capacity:
            self.check_usable("an operation")
            self.buffers.grow("values", self.top + n)
            self.slab = self.buffers.values
            self.capacity = len(self.slab)
        return self.top

    def end(self, reason: str) -> None:
        super().end(reason)
        self.capacity = -1  # so that operations ask for room, and are refused

    def push_array(self, code: int, x: int, y: int, value: Any) -> ArrayVar:
        """A record of n own cells, whose values are moved into the slab."""
        first = self.room(value.size)
        if is_plain(value):
            slab = self.slab[first : first + value.size]
            if value.ndim != 1:
                slab = slab.reshape(value.shape)
            slab[...] = value
        else:
            slab = self.outer_array(first, value)
        return self.pushed(code, x, y, slab)

    def outer_array(self, first: int, value: Any) -> Any:
        """A copy of an array of an outer level as the value of cells; it makes the stack mixed."""
        copy = value.copy()
        self.outer_arrays.append((first, copy))
        return copy

    def pushed(self, code: int, x: int, y: int, value: Any) -> ArrayVar:
        """A record whose values are in the slab from the next free cell on."""
        first, n = self.top, value.size
        if n == 0:
            return scattered(self, value, np.zeros(value.shape, np.int64))
        z = affine(self, value, first)
        self.top = first + n
        self.push((-(code + CELLS * n), x, y, 0.0))
        self.limit += n - 1  # a record counts once, whatever its size
        if self.top > self.limit:
            self.flush()
        return z

    def pushed_number(self, code: int, x: int, y: int, value: float) -> Var:
        """A record of one cell of its own, with the value of a number."""
        k = self.top
        if k >= self.capacity:
            self.room(1)
        self.slab[k] = value
        z = new(MatrixVar)
        z._value = value
        z._owner = self
        z._index = k
        self.top = k + 1
        self.push((-(code + CELLS), x, y, 0.0))
        if k >= self.limit:
            self.flush()
        return z

    def gather(self, value: Any, cells: np.ndarray) -> ArrayVar:
        """The elements of those cells in fresh ones."""
        return self.push_array(GATHER, self.push_cells(cells), 0, value)

    def push_shape(self, shape: Sequence[int]) -> int:
        """Keep integers beside the records; returns where."""
        at = self.shapes_top
        self.shapes_top = at + len(shape)
        self.buffers.shapes_stream.extend(shape)
        return at

    def push_cells(self, cells: np.ndarray) -> int:
        """The same for an array of cells."""
        self._flush_shapes()
        at = self.shapes_top
        end = self.shapes_top = self.shapes_packed = at + cells.size
        self.buffers.grow("shapes", end)
        self.buffers.shapes[at:end] = cells.reshape(-1)
        return at

    def _flush_shapes(self) -> None:
        buffers = self.buffers
        if buffers.shapes_stream:
            buffers.grow("shapes", self.shapes_top)
            buffers.shapes[self.shapes_packed : self.shapes_top] = buffers.shapes_stream
            buffers.shapes_stream.clear()
            self.shapes_packed = self.shapes_top

    def keep(self, a: Any) -> np.ndarray:
        """A copy of a constant array that nobody writes, as pullbacks keep it; an immutable one is kept as it is."""
        if not a.flags.writeable and is_immutable(a):
            return a
        at = self.push_constant(a)
        kept = self.buffers.constants[at : at + a.size].reshape(a.shape)
        kept.flags.writeable = False
        return kept

    def push_constant(self, a: np.ndarray) -> int:
        """The place of a copy of a constant among those that kernels read; equal contents share it."""
        n = a.size
        if n >= WORTH_SHARING:
            known = self.copies.get(id(a))
            if known is not None and _has_same_bits(self.buffers.constants[known[1] : known[1] + n], a):
                return known[1]
        at = self.constants_top
        end = self.constants_top = at + n
        if end > len(self.buffers.constants):
            self.buffers.grow("constants", end)
        self.buffers.constants[at:end] = a if a.ndim == 1 else a.reshape(-1)
        if n >= WORTH_SHARING:
            self.copies[id(a)] = a, at  # with the array, whose id it stays
        return at

    def new_constant(self, shape: tuple[int, ...]) -> tuple[int, np.ndarray]:
        """Room for a constant array: its place and the array."""
        at = self.constants_top
        end = self.constants_top = at + math.prod(shape)
        self.buffers.grow("constants", end)
        return at, self.buffers.constants[at:end].reshape(shape)

    # ---- operations --------------------------------------------------------------------------------------------------
    def number_and_array(self, rule: ScalarRule, a: Any, b: Any) -> Any:
        return array_operators.number_and_array(self, rule, a, b)

    def apply_elementwise(self, rule: ScalarRule, args: Sequence[Any]) -> Any:
        if ArrayVar not in rule.methods:
            array_operators.implement(rule)
        taken = [self._taken(x) for x in args]
        values = [primal(x) for x in taken]
        axes = layout_of([v for v in values if isinstance(v, np.ndarray)])
        if axes is None:
            return elementwise(self, rule, taken)
        # NumPy's memory layout, on which it depends what later views share: the operation on the transposed arrays
        n = len(axes)
        turned = [np.transpose(np.reshape(x, (1,) * (n - np.ndim(x)) + np.shape(x)), axes) if np.ndim(v) else x
                  for x, v in zip(taken, values, strict=True)]  # fmt: skip
        return elementwise(self, rule, turned).transpose(inverse(axes))

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return push_pullback(self, rule, [self._taken(x) for x in args], options)

    def _taken(self, x: Any) -> Any:
        """An argument with object arrays that hold variables of this stack as array variables."""
        if isinstance(x, np.ndarray) and x.dtype == object and any(is_own(n, self) for n in x.flat):
            return self.adopted(x)
        return x

    def move(self, move: Callable[[Any], Any], sources: dict[Any, Any]) -> Any:
        def part(x: Any, k: int) -> Any:
            if isinstance(x, (list, tuple)):
                return type(x)(part(item, k) for item in x)
            x = self._taken(x)
            if is_own(x, self):
                return (x._synced()._value, x.cells() if isinstance(x, Array) else x._index)[k]
            return x if k == 0 else np.zeros(np.shape(x), np.int64)

        values = move({key: part(x, 0) for key, x in sources.items()})
        cells = move({key: part(x, 1) for key, x in sources.items()})
        return self._wrapped(values, cells)

    def _wrapped(self, values: Any, cells: Any) -> Any:
        if isinstance(values, (list, tuple)):
            return type(values)(self._wrapped(v, c) for v, c in zip(values, cells, strict=True))
        if not isinstance(values, (np.ndarray, Array)):
            return self.element(values, int(cells))
        if isinstance(values, np.ndarray):
            values = np.array(values)
        return scattered(self, values, same_layout(np.array(cells), values))

    # ---- sweeping ----------------------------------------------------------------------------------------------------
    def is_mixed(self) -> bool:
        return self.mixed_arrays or bool(self.outer_arrays) or super().is_mixed()

    def _value(self, cell: int) -> Any:
        at = bisect.bisect_right(self.outer_arrays, cell, key=lambda pair: pair[0]) - 1
        if at >= 0:
            first, value = self.outer_arrays[at]
            if cell < first + value.size:
                return value.reshape(-1)[cell - first]
        return super()._value(cell)

    def zero_numbers(self) -> NumberCells:
        return NumberCells(np.zeros(self.top))

    def numbers_of(self, adjoints: np.ndarray) -> NumberCells:
        return NumberCells(adjoints)

    def _sweep_array_on_numbers(self, row: int, k: int, top: int, adjoints: Any) -> int:
        return sweep_row(self, row, k, top, adjoints)

    def adjoints_at(self, cells: np.ndarray) -> Any:
        """The adjoints of cells after the last sweep, as a fresh array; 0 for cells newer than it."""
        if not len(self.adjoints):
            return np.zeros(cells.shape)
        none = (cells >= len(self.adjoints)) | (cells == 0)  # cell 0 collects what constants are given
        found = self.adjoints[np.where(none, 0, cells)]
        return np.where(none, 0.0, found) if none.any() else found

    def cotangent(self, x: Any) -> Any:
        """The adjoints of an argument by its first cells, whatever has been assigned to it since."""
        if isinstance(x, ArrayVar):
            root = x if x._base is None else x._base
            if root is x and self.adjoints.__class__ is np.ndarray and root.first > 0:
                d = np.empty(x._value.shape)
                d.reshape(-1)[:] = self.adjoints[root.first : root.first + d.size]
                return d
            if root.first < 0 or not len(self.adjoints):
                return np.zeros(x.shape)
            found = np.reshape(self.adjoints[root.first : root.first + x.size], root.shape)
            if x._view is not None:
                found = x._view(found)  # the argument was not in C order
            return np.array(found, order="C") if isinstance(found, np.ndarray) else found
        return super().cotangent(x)

    def _array_row(self, row: int, k: int) -> Row:
        head, x, y = self.buffers.records[row].tolist()
        code, form, n = int(-head) % CODES, int(-head) % CELLS // CODES * CODES, int(-head) // CELLS
        name = OPERATIONS[code][0].name if code in OPERATIONS else VARIANTS[code]
        name = {SUM: "sum", DOT: "matmul"}.get(form, name)
        parents: tuple[Any, ...] = ()
        if code in (PULLBACK, CALLBACK):
            continuation = self.callbacks[int(x)]
            name, parents = getattr(continuation, "name", name), getattr(continuation, "parents", ())
        elif code in OPERATIONS or code == LINEAR:
            active = OPERATIONS[code][1] if code in OPERATIONS else "v"
            if form == STRIDED:
                x, y = self.buffers.shapes[[int(x) + 5, int(x) + 8]].tolist()
            fields = zip((x, y), active, strict=False)
            parents = tuple(int(field) for field, kind in fields if kind == "v")
        return Row(k, name, parents, (), self.buffers.values[k : k + n].copy())

    def release(self) -> None:
        super().release()
        self.copies.clear()
        self.outer_arrays.clear()


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes one."""
    return tuple(int(k) for k in np.argsort(axes))


def _has_same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same, nan and the signs of zeros included."""
    if a.size != b.size or b.dtype != np.float64 or not b.flags.c_contiguous:
        return False
    return bool((a.view(np.int64) == b.reshape(-1).view(np.int64)).all())


install(MatrixVar, MatrixVar.implement)
install_arrays(ArrayVar, array_operators.implement)
array_operators.install_products()
