"""Kernels for operations of linear algebra and along axes: one for the value, one for the adjoints.

The compiled sweep calls the kernel of adjoints by its address, so that neither pass calls NumPy. If a kernel raises, or
its numbers are not finite, Python evaluates the rule instead.
"""

import math
from collections.abc import Callable, Collection, Sequence
from time import perf_counter
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from contad.engines.matrix.array_records import Operand
from contad.engines.matrix.array_var import ArraySlab, ArrayVar
from contad.engines.matrix.kernel_shapes import (
    ADJOINT,
    FACTORED,
    NAMES,
    PRODUCT,
    RUNNING,
    VALUE,
    describe_operation,
    find_address,
    is_on_disk,
)
from contad.engines.matrix.matrix_products import ProductFactor, factor_of
from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.pullbacks import Continuation, Part, Pullback
from contad.engines.stream.storage import CELLS, CELLS_WITH_VIEWS, PULLBACK
from contad.engines.stream.sweep import called_directly
from contad.forks import make_lock
from contad.kernels.rows.row_tables import ROWS, find_part
from contad.kernels.shape_fields import AT_ADDRESS, FIELDS, IS_CHECKED
from contad.rules.array_rule import ArrayRule, array_rule_of
from contad.variables.adjoints import Adjoints
from contad.variables.dtypes import FLOAT
from contad.variables.open_types import Function, Option, Options, Value

# Python does singular vectors: their derivative is nan where a singular value is 0.
COMPILED = frozenset(NAMES) - {"singular_spectrum"}
# Python does these for more rows: it shares one factorisation among all operations on a matrix (`contad.ops.factors`)
_FEW_ROWS = 24
# operations on columns, except solve: LAPACK leaves a matrix of solutions in Fortran order
_BY_COLUMNS = frozenset(name for name, row in ROWS.items() if "k" in row.operands[-1].shape) - {"solve"}
# records with the same first operand share saved factors
_SHARED = frozenset(name for name, row in ROWS.items() if find_part(row.saved, "factors"))
WORDS = frozenset((bool, int, float, str, NoneType))  # classes of immutable options
_TURNED = (1, 0)
_FIRST, _SECOND, _BOTH = (0,), (1,), (0, 1)  # positions of transposed operands
_LENGTH = FIELDS + 1  # of the shape of a record: the fields for kernels, and the address of the adjoint kernel
_KNOWN = 1  # in place of the factors' position: another record keeps them
_BRIEF = 1 << 12  # multiplications; a kernel with a few times as many takes microseconds
_NOTHING = np.empty(0)  # most operations save nothing
_new: Any = tuple.__new__
_lock = make_lock()


class KernelPullback(Continuation):
    """The continuation of a kernel record, for cases that the kernel leaves to Python; it is completed only then."""

    __slots__ = ("cells", "first", "memory", "options", "record_shape", "turned", "z")
    is_tuple = False
    cells: Sequence[int]  # the first cells of the operands, 0 for a constant
    turned: Sequence[int]  # positions of matrices whose cells are in Fortran order
    first: int  # cell of the result
    memory: np.ndarray  # numbers that the value has saved for the kernel
    record_shape: "RecordShape"
    options: Options
    z: Value

    @property
    def operands(self) -> list[Operand]:  # type: ignore[override]
        """The variables among the arguments."""
        pairs = enumerate(zip(self.cells, self.values, strict=True))
        return [(k, cell, v.shape) for k, (cell, v) in pairs if cell > 0]

    @property
    def results(self) -> list[Part]:  # type: ignore[override]
        """The result in the form that continuations keep."""
        shape, n = self.record_shape.result, self.record_shape.size
        if self.record_shape.flags:
            return [Part(self.first, n, shape[::-1], self.z, _TURNED)]
        return [Part(self.first, n, shape, self.z)]

    def __call__(self, adj: Adjoints) -> None:
        saved = self.rule.evaluate(self.values, self.options)[1]  # recomputed
        pullback = Pullback(self.rule, self.operands, self.values, self.options, saved, self.turned)
        pullback.results = self.results
        pullback(adj)

    def saved_bytes(self) -> int:
        return int(self.memory.nbytes)


class RecordKernels:
    """The kernels of a rule, compiled or loaded once Python has spent as much time as that takes."""

    SHARE = 0.5  # fraction of the time that sweeps take to compile or load
    SWEPT = 3.0  # time of a value and its sweep, relative to the value

    def __init__(self, name: str) -> None:
        self.name = name
        self.purposes = (ADJOINT,) if name == PRODUCT else (VALUE, ADJOINT)
        self.value = self.adjoint = 0  # addresses
        self.attempt: Callable[..., float] | None = None
        self.attempt_briefly: Callable[..., float] | None = None  # for few numbers
        self.is_met = False
        self.spent = 0.0
        self.left: float | None = None  # None before a look at the disk
        self.record_shapes: dict[tuple[Any, ...], RecordShape | None] = {}

    def count(self, since: float) -> None:
        """Count the time that Python has taken for a value, except the first, which may have imported SciPy."""
        if self.is_met:
            self.spent += self.SWEPT * (perf_counter() - since)
        self.is_met = True

    def are_there(self) -> bool:
        """Whether the kernels compute values from now on."""
        if self.attempt is not None:
            return True
        if self.spent < self.SHARE * PATIENCE.loading:
            return False
        if self.left is None:
            known = PATIENCE.compiling and all(is_on_disk(self.name, purpose) for purpose in self.purposes)
            self.left = 0.0 if known else self.SHARE * PATIENCE.compiling
        if self.spent < self.left:
            return False
        self._get()
        return True

    def _get(self) -> None:
        with _lock:
            found = {purpose: find_address(self.name, purpose) for purpose in self.purposes}
            self.value, self.adjoint = found.get(VALUE, 0), found[ADJOINT]
            self.attempt_briefly, self.attempt = find_attempts()

    def find_shape(
        self, key: tuple[Any, ...], shapes: list[tuple[int, ...]], options: Options
    ) -> "RecordShape | None":
        """The shape of records with these shapes and options, kept under `key`; None where Python has to do it."""
        if len(self.record_shapes) > 1000:
            self.record_shapes.clear()
        kernel = describe_operation(self.name, shapes, options)
        if kernel is not None and self.name in FACTORED and kernel.sizes[0] > _FEW_ROWS:
            kernel = None
        found = None
        if kernel is not None:
            by_columns = len(kernel.result) == 2 and self.name in _BY_COLUMNS
            n, axes = math.prod(kernel.result), len(kernel.result)
            # for a record that computes the factors, and for one that finds them kept
            numbers = np.array([
                (*kernel.sizes, *kernel.options, known, 0, self.adjoint, self.value, n) for known in (0, _KNOWN)
            ])  # fmt: skip
            at = numbers.__array_interface__["data"][0]
            rows, columns, others = kernel.sizes
            is_brief = rows * columns * max(min(rows, columns), others) <= _BRIEF
            found = RecordShape(
                kernel.result, n, n if axes == 1 else 0, -PULLBACK - CELLS * n, int(by_columns), kernel.saved, at,
                numbers, self.attempt_briefly if is_brief else self.attempt,
            )  # fmt: skip
        self.record_shapes[key] = found
        return found

    def record(
        self, s: ArraySlab, cells: Sequence[int], values: Any, turned: Sequence[int], options: Options,
        flags: int = 0,
    ) -> Value:  # fmt: skip
        """Compute and record the result; None where Python has to do it. `cells` has each operand's first cell, or 0.

        The values of two operands are a list, in which the kept copy replaces a constant. With the flag IS_CHECKED,
        Python has to do the operation if an operand is not finite.
        """
        count = len(values)
        a = values[0]
        key: tuple[Any, ...]
        if count == 1:
            key = a.shape
        else:
            if float in map(type, values):
                return None
            key = (*[v.shape for v in values],) if count > 2 else (a.shape, values[1].shape)
        if options:
            key = (key, *options.items())
        try:
            record_shape = self.record_shapes[key]
        except KeyError:
            record_shape = self.find_shape(key, [v.shape for v in values], options)
        if record_shape is None:
            return None
        if turned and self.name in RUNNING and len(record_shape.result) == 2:
            record_shape = record_shape._replace(flags=1)
        shape, n, length, head, by_columns, saved, given_at, numbers, attempt = record_shape
        flags |= by_columns
        buffers = s.buffers
        first = s.top
        end = first + n
        if end > s.brim:
            s.make_room(n)
        a_at = cells[0]
        a_kind, b_at, b_kind = 1, 0, 0
        if count == 2:
            b_at = cells[1]
            b_kind = 1
            if a_at == 0 or b_at == 0:  # keep a constant
                k = int(a_at > 0)
                kept, at = buffers.keep(values[k])
                values[k] = kept
                kind = 0
                if at > 0:  # an immutable array, used in place
                    if not kept.flags.forc:
                        return None
                    kind = AT_ADDRESS
                    if not kept.flags.c_contiguous:
                        flags |= 2 << k
                place = at // 8 if kind else -at
                if k:
                    b_at, b_kind = place, kind
                else:
                    a_at, a_kind = place, kind
        for k in turned:
            flags |= 2 << k
        memory, shared = _NOTHING, None
        if saved:
            if self.name in _SHARED:
                shared = self.name, a_at, a_kind, flags & 2, a.shape, *options.items()
                if self.name in FACTORED:  # they share factors for all right-hand sides
                    shared = "solve", a_at, a_kind, flags & 2, a.shape
                memory = s.factors.get(shared, _NOTHING)
                if memory is not _NOTHING:
                    given_at += numbers.strides[0]
            if memory is _NOTHING:
                memory = np.empty(saved)
        slot = buffers.shapes_top
        shapes_end = buffers.shapes_top = slot + _LENGTH
        if shapes_end > len(buffers.shapes):
            buffers.grow("shapes", shapes_end)
        number = attempt(  # type: ignore[misc]
            given_at, buffers.at, slot, first, memory, a_at, a_kind, b_at, b_kind, flags
        )
        if number != number:
            return None
        if shared is not None:
            s.factors[shared] = memory
        callbacks = s.callbacks
        k = len(callbacks)
        callbacks.append((self, record_shape, cells, values, turned, options, first, memory))
        found: Any
        if shape:  # `push_number` and `push_values` inlined: a call takes as long as a small matrix
            if by_columns:
                z = s.slab[first:end].reshape(shape[::-1])
                return s.push_values(PULLBACK, k, slot, z)._view_at(np.transpose, z.T, -1)
            found = ArrayVar()
            if first < CELLS_WITH_VIEWS:
                views = s.views[length or shape]
                found._value = views[first] if first in views else s.make_view(first, length or shape)
            else:
                found._value = s.slab[first:end] if length else np.ndarray(shape, FLOAT, s.words, 8 * first)
            found._base = None
            found._length = length
        else:
            found = s.var_class()
            found._value = number
        found._owner = s
        found._index = first
        s.top = end
        s.push((head, k, slot, 0.0))
        return found

    def continuation(
        self, slab: np.ndarray, record_shape: "RecordShape", cells: Sequence[int], values: Sequence[Value],
        turned: Sequence[int],
        options: Options, first: int, memory: np.ndarray,
    ) -> "KernelPullback":  # fmt: skip
        """The continuation of a record, for cases that its kernel leaves to Python."""
        c = KernelPullback.__new__(KernelPullback)  # its operands and results are computed on demand
        c.rule, c.values, c.options = array_rule_of(self.name), values, options
        c.cells, c.turned, c.record_shape, c.first, c.memory = cells, turned, record_shape, first, memory
        shape = record_shape.result
        z = slab[first : first + record_shape.size]
        c.z = float(z[0]) if not shape else z.reshape(shape[::-1]).T if record_shape.flags else z.reshape(shape)
        return c


def find_attempts() -> tuple[Callable[..., float], Callable[..., float]]:
    """The functions that call the kernel of a value, for few numbers and for many."""
    from contad.compile.named_code import compile_once, name_of
    from contad.kernels.recorded_operands import OF_ATTEMPT, attempt_briefly, attempt_value

    briefly = called_directly(compile_once(name_of(attempt_briefly), OF_ATTEMPT, True))
    return briefly, called_directly(compile_once(name_of(attempt_value), OF_ATTEMPT))


def of_one_matrix(
    kernels: RecordKernels, rule: ArrayRule, otherwise: Function, names: Collection[str] = ()
) -> Function:
    """A rule of one argument, for an affine array and options with these names; other calls go to `otherwise`."""
    known = frozenset(names)

    def method(a: ArrayVar, *rest: Value, **options: Option) -> Value:
        base, cell, s = a._base, a._index, a._owner
        if cell > 0 and (base is None or base._index > 0) and not rest and not s.keeps_rules:
            is_plain = not options or (known.issuperset(options) and WORDS.issuperset(map(type, options.values())))
            if is_plain and (kernels.attempt is not None or kernels.are_there()) and s.ended is None and s.is_here():
                found = kernels.record(s, (cell,), (a._value,), (), options)
                if found is not None:
                    return found
        return otherwise(a, *rest, **options)

    return method


def checked_record(kernels: RecordKernels, rule: ArrayRule) -> Function:
    """The rule if its kernel finds every operand and the result finite; else it returns None and records nothing."""

    def of_one(a: Value, **options: Option) -> Value:
        if a.__class__ is not ArrayVar:
            return None
        base, cell, s = a._base, a._index, a._owner
        turned: Sequence[int] = ()
        if cell > 0 and (base is None or base._index > 0):
            x = a._value
        else:
            found = _take_joined(a) if a._blocks is not None else factor_of(a)
            if found is None:
                return None
            x, cell, is_turned = found
            if is_turned:
                turned = _FIRST
        if kernels.attempt is None and not kernels.are_there():
            return None
        if s.ended is not None or s.keeps_rules or not s.is_here():
            return None
        return kernels.record(s, (cell,), (x,), turned, options, IS_CHECKED)

    def of_two(a: Value, b: Value, **options: Option) -> Value:
        s = None
        turned: Sequence[int] = ()
        if a.__class__ is ArrayVar:
            s, base, a_cell = a._owner, a._base, a._index
            if a_cell > 0 and (base is None or base._index > 0):
                x = a._value
            else:
                found = _take_joined(a) if a._blocks is not None else factor_of(a)
                if found is None:
                    return None
                x, a_cell, is_turned = found
                if is_turned:
                    turned = _FIRST
        elif a.__class__ is np.ndarray and a.dtype is FLOAT:
            x, a_cell = a, 0
        else:
            return None
        if b.__class__ is ArrayVar:
            if s is None:
                s = b._owner
            elif s is not b._owner:
                return None
            base, b_cell = b._base, b._index
            if b_cell > 0 and (base is None or base._index > 0):
                y = b._value
            else:
                found = _take_joined(b) if b._blocks is not None else factor_of(b)
                if found is None:
                    return None
                y, b_cell, is_turned = found
                if is_turned:
                    turned = _BOTH if turned else _SECOND
        elif b.__class__ is np.ndarray and b.dtype is FLOAT:
            y, b_cell = b, 0
        else:
            return None
        if s is None or (kernels.attempt is None and not kernels.are_there()):
            return None
        if s.ended is not None or s.keeps_rules or not s.is_here():
            return None
        return kernels.record(s, (a_cell, b_cell), [x, y], turned, options, IS_CHECKED)

    return of_one if len(rule.argument_names) == 1 else of_two


def _take_joined(a: ArrayVar) -> ProductFactor | None:
    """Give cells to an array that consists of blocks."""
    s = a._owner
    if a._base is None and a._cells is None and a._index < 0 and s.ended is None and s.is_here():
        a._blocks.take(a)  # type: ignore[union-attr]
        return _new(ProductFactor, (a._value, a._index, False))
    return factor_of(a)


class RecordShape(NamedTuple):
    """The parts of a kernel record that do not depend on its place: the result's shape, and numbers for the kernel."""

    result: tuple[int, ...]
    size: int
    length: int  # of a vector; else 0
    head: int  # of the record
    flags: int  # 1 if the result is in Fortran order
    saved: int
    at: int  # the address of the numbers
    numbers: np.ndarray
    attempt: Callable[..., float] | None  # the function that calls the kernel
