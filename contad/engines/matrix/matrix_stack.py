"""The engine `matrix`: array records over slabs in the same stream as the records of scalars.

One compiled sweep runs over both. Operations of core rules on arrays are records that it handles itself; array rules,
and operations on numbers of outer levels, are pullbacks, for which it returns to Python and is resumed afterwards.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from contad.engines.matrix import array_operators
from contad.engines.matrix.array_records import elementwise, move_view, push_continuation, push_pullback
from contad.engines.matrix.array_sweep import array_footprint, array_row, sweep_row
from contad.engines.matrix.array_var import ArrayVar, affine, is_own, scatter
from contad.engines.matrix.direct_rules import install_kernel_records, install_rule
from contad.engines.matrix.elements import adopt_parts, move_elements, parts, take
from contad.engines.matrix.joined_arrays import install_joined
from contad.engines.matrix.matrix_products import Continuations
from contad.engines.matrix.outer_cells import NumberCells
from contad.engines.matrix.summed_formulas import sum_formula
from contad.engines.stream.native_parts import NativeParts
from contad.engines.stream.pullbacks import ElementwisePullback
from contad.engines.stream.record_stream import CHUNK, LONG, Recording, implementation
from contad.engines.stream.storage import CALLBACK, CELLS, CELLS_WITH_VIEWS, DOT, GATHER, INPUT, JOIN, LINEAR
from contad.engines.stream.sweep import operation_code
from contad.ops import multiply
from contad.protocols.array_protocols import install_arrays
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.adjoints import Adjoints
from contad.variables.array import Array, is_plain
from contad.variables.arrays_of_rules import apply_below, refuse_continuation
from contad.variables.dtypes import FLOAT
from contad.variables.layout import inverse, layout_of, same_layout
from contad.variables.level import next_level
from contad.variables.number import like_numpy, peek
from contad.variables.open_types import (
    AdjointVector,
    ArrayValue,
    CellIndex,
    Nested,
    Options,
    Real,
    Rule,
    Sources,
    Value,
)
from contad.variables.stack import NOTHING, THREAD, Footprint, Row
from contad.variables.var import Var

_NOTHING = np.empty(0)
_PRODUCT = -((operation_code(multiply, "vc") or 0) + DOT + CELLS)  # the head: variables times a constant vector
_SMALL = 64  # elements: `make_room` expects that the next arrays are as large, but not larger than this
_FEW = 8  # partials up to which a record for each takes less time than a copy of all


class MatrixVar(Var):
    """A scalar variable of a matrix stack: an element of an array, or the result of an operation on scalars."""

    __slots__ = ()

    implement = classmethod(implementation)


@like_numpy(MatrixVar)
class NumpyMatrixVar(Var):
    """A variable in place of an np.float64."""

    __slots__ = ()
    implement = classmethod(implementation)


class MatrixStack(Recording):
    """A stream of records of scalars and arrays, and the slab of their values."""

    __slots__ = (
        *("brim", "capacity", "factors", "float_class", "keeps_rules", "lends_arrays", "number"),
        *("opens_calls", "outer_arrays", "slab", "var_class", "views", "words"),
    )
    engine = "matrix"
    native: ClassVar[NativeParts]
    has_arrays = True

    def __init__(
        self, level: int | None = None, var_class: type[Var] = NumpyMatrixVar, keeps_rules: bool = False,
        opens_calls: bool = False, lends_arrays: bool = False,
    ) -> None:  # fmt: skip
        Recording.__init__(self, level)
        self.var_class = var_class
        self.float_class: Any = var_class.float_class
        self.keeps_rules = keeps_rules
        self.opens_calls = opens_calls
        self.lends_arrays = lends_arrays
        self.callbacks = Continuations()
        self.callbacks.buffers = self.buffers
        self.slab, self.words = self.buffers.values, self.buffers.words
        self.number, self.views = self.buffers.number, self.buffers.views
        self.capacity, self.brim = self.buffers.capacity, self.buffers.ready
        self.factors: dict[tuple[Any, ...], np.ndarray] = {}  # factors that operations share, by operand
        self.outer_arrays: Any = ()  # by first cell, then a list: values that are arrays of outer levels

    @classmethod
    def begin(cls) -> "MatrixStack":
        copy = cls.native.copy
        pool = THREAD.pools.get(cls.engine)
        if copy is None or not pool or cls is not MatrixStack:
            return cls()
        buffers = pool.pop()  # before the copy: Python's collector may run there, and other gradients with it
        if buffers.template is None:
            pool.append(buffers)
            s = cls()
            s.buffers.template = t = copy(s)
            t.buffers = t.pool = t.callbacks = t.factors = None  # each copy has its own, or they refer to the template
            return s
        s = copy(buffers.template)
        s.level = next_level()
        s.pool = pool
        s.buffers = buffers
        s.callbacks = callbacks = Continuations()
        callbacks.buffers = buffers
        s.factors = {}
        return s

    # ---- variables ---------------------------------------------------------------------------------------------------
    def array_variable(self, value: Value) -> ArrayValue:
        """An array variable; an object array of scalars for an object array of numbers (a matvar)."""
        if self.tracer is not None and value.__class__ is np.ndarray:
            value = np.array(value, order="C")  # a program keeps the elements of inputs in one order
        if value.__class__ is np.ndarray and value.dtype is FLOAT and value.flags.c_contiguous:
            n, first = value.size, self.top
            end = first + n
            if end > self.capacity:
                self.room(n)
            is_vector = value.ndim == 1
            if first < CELLS_WITH_VIEWS:
                lengths = n if is_vector else value.shape
                views = self.views[lengths]
                slab = views[first] if first in views else self.make_view(first, lengths)
            else:
                slab = self.slab[first:end] if is_vector else self.slab[first:end].reshape(value.shape)
            slab[...] = value
            if n == 0:
                return self.push_values(INPUT, 0, 0, slab)
            z = ArrayVar()  # `push_values` inlined: its calls take as long as a small array
            z._owner = self
            z._value = slab
            z._index = first
            z._base = None
            z._length = n if is_vector else 0
            self.top = end
            self.push((-(INPUT + CELLS * n), 0, 0, 0.0))
            if len(self.stream) >= LONG:
                self.flush()
            return z
        if value.__class__ is np.ndarray and value.ndim == 2 and value.flags.f_contiguous and value.dtype is FLOAT:
            return self.array_variable(value.T).T
        if isinstance(value, np.ndarray) and value.dtype == object:
            return super().array_variable(value)
        plain = peek(value)
        axes = None if plain.flags.c_contiguous else layout_of([plain])
        if axes is None:
            return self.push_array(INPUT, 0, 0, value)
        return self.push_array(INPUT, 0, 0, value.transpose(axes)).transpose(inverse(axes))

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

    def parts(self, y: Nested) -> tuple[Value, CellIndex]:
        """(value, cells) of an assigned value."""
        return parts(self, y)

    def adopt(self, y: Value) -> ArrayValue:
        """An object array with numbers of this level as an array variable (a varmat); nothing is recorded."""
        return scatter(self, *adopt_parts(self, y))

    def constant_result(self, z: Value) -> Value:
        """The result of an operation on arrays of this level that are all constants."""
        return self.writable(z) if np.ndim(z) else z[()] if isinstance(z, (np.ndarray, Array)) else z

    def writable(self, value: Value) -> ArrayVar:
        a = value.copy() if isinstance(value, Array) else np.array(value)
        return scatter(self, a, same_layout(np.zeros(a.shape, np.int64), a))

    def push_callback(self, f: Callable[[Adjoints], None], value: Value) -> Any:
        if self.tracer is not None:
            self.tracer.refuse_callback()
        if self.lends_arrays:
            refuse_continuation()
        if not isinstance(value, (np.ndarray, Array)):
            return super().push_callback(f, value)
        if not value.size:
            super().push_callback(f, 0.0)
            return self.writable(value)
        self.callbacks.append(f)
        return self.push_array(CALLBACK, len(self.callbacks) - 1, 0, value)

    # ---- recording ---------------------------------------------------------------------------------------------------
    def room(self, n: int) -> int:
        """The first of n free cells, whose values the slab has room for."""
        if self.top + n > self.capacity:
            self.check_usable("an operation on arrays")
            self.buffers.grow("values", self.top + n)
            self.slab, self.words = self.buffers.values, self.buffers.words
            self.capacity = self.buffers.capacity
        return self.top

    def make_room(self, n: int) -> None:
        """Make room for n cells in the slab and in the stream; it is an error if the stack has ended."""
        self.room(n)
        if len(self.stream) >= LONG:
            self.flush()
        left = CHUNK - len(self.stream) // 4  # records until the stream is long
        self.brim = min(self.top + left * min(n, _SMALL), self.capacity)

    def make_view(self, first: int, lengths: int | tuple[int, ...]) -> np.ndarray:
        """The array of that length or shape for the cells from `first` on, kept for later recordings."""
        if lengths.__class__ is int:
            view = self.slab[first : first + lengths]
        else:
            view = np.ndarray(lengths, FLOAT, self.words, 8 * first)
        self.buffers.keep_view(first, lengths, view)
        return view

    def end(self, reason: str) -> None:
        Recording.end(self, reason)
        self.capacity = self.brim = -1  # so that operations ask for room and fail

    def push_array(self, code: int, x: int, y: int, value: Value) -> ArrayVar:
        """Push a record of n own cells, whose values are moved into the slab."""
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
        """Push a record whose values are in the slab from the next free cell on."""
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
        """Push a record of one cell, with the value of a number."""
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
        """A Python float with a known gradient with respect to variables of that shape, from `cell` on.

        A few partials get a record each; more become one product with the variables.
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
        """Keep an array of n numbers as a factor of products, even beside an equal one; returns its shape's place."""
        buffers = self.buffers
        at = buffers.constants_top
        end = buffers.constants_top = at + n
        if end > len(buffers.constants):
            buffers.grow("constants", end)
        buffers.constants[at:end] = a.reshape(-1)
        return buffers.push_shape((at, n))

    def move_view(self, value: np.ndarray, cell: int) -> ArrayVar | None:
        """Copy a view of an affine array, whose first element has cell `cell`, to fresh cells, if possible."""
        return move_view(self, value, cell)

    def at_run(self, value: Value, cells: np.ndarray) -> ArrayVar | None:
        """An array in place for consecutive cells; None for other cells."""
        if value.__class__ is not np.ndarray or value.dtype is not FLOAT or cells.size < 2 or self.is_mixed:
            return None
        numbers = cells.reshape(-1)
        first, n = int(numbers[0]), cells.size
        if first == 0 or numbers[-1] != first + n - 1 or not (numbers[1:] - numbers[:-1] == 1).all():
            return None
        slab = self.slab[first : first + n]
        if not np.array_equal(slab.view(np.int64), np.ascontiguousarray(value).reshape(-1).view(np.int64)):
            return None  # scalars have their values elsewhere
        return affine(self, slab.reshape(value.shape), first)

    def gather(self, value: Value, cells: np.ndarray) -> ArrayVar:
        """Copy the elements of those cells to fresh cells."""
        return self.push_array(GATHER, self.buffers.push_cells(cells), 0, value)

    # ---- operations --------------------------------------------------------------------------------------------------
    def apply(self, rule: ScalarRule, args: Sequence[Value]) -> Value:
        if not self.keeps_rules:
            return super().apply(rule, args)
        mine = [is_own(x, self) for x in args]
        if operation_code(rule, "".join("v" if own else "c" for own in mine)) is not None:
            return super().apply(rule, args)
        cells = [x._index if own else None for x, own in zip(args, mine, strict=True)]
        values = [x._value if own else x for x, own in zip(args, mine, strict=True)]
        if self.tracer is not None:
            return self.tracer.push_rule(rule, cells, values)
        operands = [(k, cell, ()) for k, cell in enumerate(cells) if cell is not None]
        return push_continuation(self, ElementwisePullback(rule, operands, values), rule(*values))

    def number_and_array(self, rule: ScalarRule, a: Value, b: Value) -> ArrayValue:
        return array_operators.number_and_array(self, rule, a, b)

    def apply_elementwise(self, rule: ScalarRule, args: Sequence[Value]) -> ArrayValue:
        if ArrayVar not in rule.methods:
            array_operators.implement(rule)
        return elementwise(self, rule, [take(self, x) for x in args])

    def apply_sum(self, rule: ScalarRule, args: Sequence[Value], conditions: Sequence[str]) -> Value:
        if self.tracer is not None:
            return self.tracer.sum_formula(rule, args, conditions)
        if self.__class__ is not MatrixStack or self.keeps_rules:
            return None
        return sum_formula(self, rule, args, tuple(conditions))

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        if self.lends_arrays and hasattr(rule, "general"):
            return apply_below(self, rule, args, options)
        install_rule(rule)
        return push_pullback(self, rule, [take(self, x) for x in args], options)

    def move(self, move: Callable[[Sources], ArrayValue], sources: Sources) -> ArrayValue:
        return move_elements(self, move, sources)

    # ---- sweeping ----------------------------------------------------------------------------------------------------
    def _value(self, cell: int) -> Value:
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

    def _sweep_row_on_numbers(self, row: int, k: int, top: int, adjoints: AdjointVector) -> int:
        if self.buffers.records[row, 0] < 0:
            return sweep_row(self, row, k, top, adjoints)
        return super()._sweep_row_on_numbers(row, k, top, adjoints)

    def adjoints_at(self, cells: np.ndarray) -> ArrayValue:
        """The adjoints of cells after the last sweep, as a fresh array; 0 for cells newer than it."""
        if not len(self.adjoints):
            return np.zeros(cells.shape)
        none = (cells >= len(self.adjoints)) | (cells == 0)  # cell 0 collects the adjoints of constants
        found = self.adjoints[np.where(none, 0, cells)]
        return np.where(none, 0.0, found) if none.any() else found

    def cotangent(self, x: Value) -> Value:
        """The adjoints of an argument at its original cells, even if the function has assigned to it."""
        if x.__class__ is ArrayVar:
            first = x._index
            if first > 0 and x._base is None and self.adjoints.__class__ is np.ndarray:
                shape = x._value.shape
                if len(shape) == 1:
                    return self.adjoints[first : first + shape[0]].copy()
                return self.adjoints[first : first + x._value.size].reshape(shape).copy()
            root = x if x._base is None else x._base
            if root.first < 0 or not len(self.adjoints):
                return np.zeros(x.shape)
            found = np.reshape(self.adjoints[root.first : root.first + x.size], root.shape)
            if x._view is not None:
                found = x._view(found)  # the argument was not in C order
            return np.array(found, order="C") if isinstance(found, np.ndarray) else found
        return self.adjoint_of(x._index) if isinstance(x, Var) else super().cotangent(x)

    def cells_of(self, x: Value) -> np.ndarray:
        """The cells of an argument in C order, a variable or an array of them, which `cotangent` reads."""
        if isinstance(x, Var):
            return np.array([x._index])
        if not isinstance(x, ArrayVar):
            return np.array([v._index for v in x.flat], np.int64)
        cells: np.ndarray = x.cells().reshape(-1)
        return cells

    def rows(self) -> Iterator[Row]:
        if self.tracer is not None:
            self.tracer.refuse_rows()
        return super().rows()

    def _row(self, row: int, k: int) -> Row:
        return array_row(self, row, k) if self.buffers.records[row, 0] < 0 else super()._row(row, k)

    def _footprint(self, row: int) -> Footprint:
        return array_footprint(self, row) if self.buffers.records[row, 0] < 0 else super()._footprint(row)

    def release(self) -> None:
        Recording.release(self)
        self.capacity = self.brim = -1
        self.slab = self.words = _NOTHING  # a stack that has ended may live until the collector comes
        self.views = NOTHING
        self.outer_arrays = ()
        if self.factors:
            self.factors.clear()


def stack_of_whole_rules() -> MatrixStack:
    """A stack for tangents: special functions keep their rules instead of storing partials."""
    return MatrixStack(keeps_rules=True)


def stack_of_operations() -> MatrixStack:
    """A stack for second derivatives and dependences: it records the operations inside Numba functions."""
    return MatrixStack(keeps_rules=True, opens_calls=True)


for _class in (MatrixVar, NumpyMatrixVar):
    install(_class, _class.implement)
MatrixStack.native = NativeParts(MatrixStack, MatrixVar, NumpyMatrixVar, ArrayVar, array_operators.compile_operators)
install_arrays(ArrayVar, array_operators.implement)
array_operators.install_products()
install_joined()
install_kernel_records()
