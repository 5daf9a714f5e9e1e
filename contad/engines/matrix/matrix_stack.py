"""The engine `matrix`: array records over slabs in the same stream as the records of scalars.

One compiled sweep runs over both. Operations of core rules on arrays are records of it; array rules, and operations on
numbers of outer levels, are pullbacks, for which the sweep returns to Python and goes on afterwards.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from contad.engines.matrix import array_operators
from contad.engines.matrix.array_records import elementwise, move_view, push_continuation, push_pullback
from contad.engines.matrix.array_slab import ArraySlab
from contad.engines.matrix.array_sweep import array_footprint, array_row, sweep_row
from contad.engines.matrix.array_var import ArrayVar, is_own, scatter
from contad.engines.matrix.direct_rules import install_rule, install_steps
from contad.engines.matrix.elements import adopt_parts, move_elements, parts, take
from contad.engines.matrix.joined_arrays import install_joined
from contad.engines.matrix.matrix_products import Continuations
from contad.engines.matrix.outer_cells import NumberCells
from contad.engines.matrix.summed_formulas import sum_formula
from contad.engines.stream.native_parts import NativeParts
from contad.engines.stream.pullbacks import ElementwisePullback
from contad.engines.stream.record_head import CALLBACK, CELLS, INPUT
from contad.engines.stream.record_methods import implementation
from contad.engines.stream.record_stream import LONG, Recording
from contad.engines.stream.storage import CELLS_WITH_VIEWS
from contad.engines.stream.sweep import operation_code
from contad.protocols.array_protocols import install_arrays
from contad.protocols.number_protocols import install
from contad.rules.scalar_rule import ScalarRule
from contad.variables.adjoints import Adjoints
from contad.variables.array import Array
from contad.variables.arrays_of_rules import apply_below, refuse_continuation
from contad.variables.dtypes import FLOAT
from contad.variables.layout import inverse, layout_of
from contad.variables.level import next_level
from contad.variables.number import like_numpy, peek
from contad.variables.open_types import (
    AdjointVector,
    ArrayValue,
    CellIndex,
    Nested,
    Options,
    Rule,
    Sources,
    Value,
)
from contad.variables.stack import NOTHING, THREAD, Footprint, Row
from contad.variables.var import Var

_NOTHING = np.empty(0)


class MatrixVar(Var):
    """A scalar variable of a matrix stack: an element of an array, or the result of an operation on scalars."""

    __slots__ = ()

    implement = classmethod(implementation)


@like_numpy(MatrixVar)
class NumpyMatrixVar(Var):
    """A variable in place of an np.float64."""

    __slots__ = ()
    implement = classmethod(implementation)


class MatrixStack(ArraySlab):
    """The stack of the engine `matrix`: operations on scalars and arrays, recorded and swept."""

    __slots__ = ()
    engine = "matrix"
    native: ClassVar[NativeParts]
    has_arrays = True

    def __init__(
        self, level: int | None = None, var_class: type[Var] = NumpyMatrixVar, keeps_rules: bool = False,
        opens_calls: bool = False, lends_arrays: bool = False,
    ) -> None:  # fmt: skip
        Recording.__init__(self, level)
        self.var_class = var_class
        self.float_class = var_class.float_class
        self.keeps_rules = keeps_rules
        self.opens_calls = opens_calls
        self.lends_arrays = lends_arrays
        self.callbacks = Continuations()
        self.callbacks.buffers = self.buffers
        self.slab, self.words = self.buffers.values, self.buffers.words
        self.number, self.views = self.buffers.number, self.buffers.views
        self.capacity, self.brim = self.buffers.capacity, self.buffers.ready
        self.factors = {}
        self.outer_arrays = ()

    @classmethod
    def begin(cls) -> "MatrixStack":
        copy = cls.native.copy
        pool = THREAD.pools.get(cls.engine)
        if copy is None or not pool or cls is not MatrixStack:
            return cls()
        buffers = pool.pop()  # before a copy is made: Python's collector may run there, and others' gradients with it
        if buffers.template is None:
            pool.append(buffers)
            s = cls()
            s.buffers.template = t = copy(s)
            t.buffers = t.pool = t.callbacks = t.factors = None  # each stack's own, or what has the template
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
            value = np.array(value, order="C")  # a program has the elements of inputs in one order
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
            z = ArrayVar()  # as `push_values` does, whose calls take as long as small arrays
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

    def parts(self, y: Nested) -> tuple[Value, CellIndex]:
        """(value, cells) of what is assigned."""
        return parts(self, y)

    def adopt(self, y: Value) -> ArrayValue:
        """An object array with numbers of this level as an array variable (a varmat); nothing is recorded."""
        return scatter(self, *adopt_parts(self, y))

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
    def move_view(self, value: np.ndarray, cell: int) -> ArrayVar | None:
        """The elements of a view of an affine array, of which the first has that cell, in fresh ones, if it may be."""
        return move_view(self, value, cell)

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
        none = (cells >= len(self.adjoints)) | (cells == 0)  # cell 0 collects what constants are given
        found = self.adjoints[np.where(none, 0, cells)]
        return np.where(none, 0.0, found) if none.any() else found

    def cotangent(self, x: Value) -> Value:
        """The adjoints of an argument by its first cells, whatever has been assigned to it since."""
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
        """The cells of an argument, a variable or an array of them, in C order, as `cotangent` reads them."""
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
    """A stack for tangents: special functions keep their rules, where others store partials."""
    return MatrixStack(keeps_rules=True)


def stack_of_operations() -> MatrixStack:
    """A stack for second derivatives, and for what depends on what: of Numba functions it has the operations."""
    return MatrixStack(keeps_rules=True, opens_calls=True)


for _class in (MatrixVar, NumpyMatrixVar):
    install(_class, _class.implement)
MatrixStack.native = NativeParts(MatrixStack, MatrixVar, NumpyMatrixVar, ArrayVar, array_operators.compile_operators)
install_arrays(ArrayVar, array_operators.implement)
array_operators.install_products()
install_joined()
install_steps()
