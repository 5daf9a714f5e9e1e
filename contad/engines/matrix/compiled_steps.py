"""Operations of linear algebra on arrays as they are, by kernels: one computes the value, another the adjoints.

The compiled sweep calls the latter by its address, so that neither goes through NumPy. Where a kernel raises, or its
numbers are not finite, Python evaluates the rule, in this sweep or at once.
"""

import math
import threading
from collections.abc import Callable, Collection, Sequence
from time import thread_time
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contad.engines.matrix.array_records import Operand
from contad.engines.matrix.array_var import ArrayVar
from contad.engines.matrix.matrix_steps import (
    ADJOINT,
    NAMES,
    PRODUCT,
    VALUE,
    describe_operation,
    find_address,
    is_on_disk,
)
from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.pullbacks import Continuation, Part, Pullback
from contad.engines.stream.record_head import CELLS, PULLBACK
from contad.engines.stream.record_stream import LONG
from contad.engines.stream.storage import Buffers
from contad.engines.stream.sweep import called_directly
from contad.native.step_fields import AT_ADDRESS
from contad.rules.array_rule import ArrayRule
from contad.variables.adjoints import Adjoints
from contad.variables.open_types import Function, Option, Options, Value

if TYPE_CHECKING:
    from contad.engines.matrix.matrix_stack import MatrixStack

# Left to Python are those whose records share factors, by `contad.ops.factors`, and singular vectors, whose derivative
# is nan where a singular value is 0.
COMPILED = frozenset(NAMES) - {"solve", "log_determinant", "singular_spectrum"}
# of those with columns: a matrix of solutions lies in memory as LAPACK leaves it
_BY_COLUMNS = frozenset(("solve_triangular", "cholesky_solution", "banded_solution"))
_SHARED = frozenset(("banded_solution",))  # whose saved factors serve all records of the same first operand
WORDS = frozenset((bool, int, float, str, NoneType))  # classes of options that nobody can write to
_TURNED = (1, 0)
_KNOWN = 1  # in the place of the step that keeps the factors: not this one
Places = tuple[int, ...]  # of the operands, and what is transposed
_new: Any = object.__new__
_lock = threading.Lock()


class StepPullback(Continuation):
    """The continuation of a step, for what its kernel leaves to Python; most of it is made when that happens."""

    __slots__ = ("cells", "first", "memory", "options", "plan", "turned", "z")
    is_tuple = False
    cells: Sequence[int]  # the first ones of the operands, 0 of a constant
    turned: Sequence[int]  # positions of matrices whose cells are those of the transpose, in C order
    first: int  # cell of the result
    memory: np.ndarray | None  # what the value has saved for the kernel
    plan: "StepPlan"
    options: Options
    z: Value

    @property
    def operands(self) -> list[Operand]:  # type: ignore[override]
        """The variables among the arguments."""
        pairs = enumerate(zip(self.cells, self.values, strict=True))
        return [(k, cell, v.shape) for k, (cell, v) in pairs if cell > 0]

    @property
    def results(self) -> list[Part]:  # type: ignore[override]
        """The result as continuations keep it."""
        shape, n = self.plan.result, self.plan.size
        if self.plan.by_columns:
            return [Part(self.first, n, shape[::-1], self.z, _TURNED)]
        return [Part(self.first, n, shape, self.z)]

    def __call__(self, adj: Adjoints) -> None:
        saved = self.rule.evaluate(self.values, self.options)[1]  # computed again
        pullback = Pullback(self.rule, self.operands, self.values, self.options, saved, self.turned)
        pullback.results = self.results
        pullback(adj)

    def saved_bytes(self) -> int:
        return 0 if self.memory is None else int(self.memory.nbytes)


class StepKernels:
    """The kernels of a rule: none before Python has taken as long as it takes to get them."""

    STEP = 0.5  # of what sweeps take to compile, or to load
    SWEPT = 3.0  # a value and what the sweep takes for it, in times of the value

    def __init__(self, name: str) -> None:
        self.name = name
        self.purposes = (ADJOINT,) if name == PRODUCT else (VALUE, ADJOINT)
        self.value = self.adjoint = 0  # addresses
        self.attempt: Callable[..., bool] | None = None
        self.spent = 0.0
        self.left: float | None = None  # not known before the disk has been looked at
        self.plans: dict[tuple[Any, ...], StepPlan | None] = {}

    def count(self, since: float) -> None:
        """Count the time that Python has taken for a value."""
        self.spent += self.SWEPT * (thread_time() - since)

    def are_there(self) -> bool:
        """Whether values are computed by the kernels from now on."""
        if self.attempt is not None:
            return True
        if self.spent < self.STEP * PATIENCE.loading:
            return False
        if self.left is None:
            known = PATIENCE.compiling and all(is_on_disk(self.name, purpose) for purpose in self.purposes)
            self.left = 0.0 if known else self.STEP * PATIENCE.compiling
        if self.spent < self.left:
            return False
        self._get()
        return True

    def _get(self) -> None:
        from contad.native.named_code import compile_once, name_of
        from contad.native.recorded_operands import OF_ATTEMPT, attempt_value

        with _lock:
            found = {purpose: find_address(self.name, purpose) for purpose in self.purposes}
            self.value, self.adjoint = found.get(VALUE, 0), found[ADJOINT]
            self.attempt = called_directly(compile_once(name_of(attempt_value), OF_ATTEMPT))

    def plan(self, key: tuple[Any, ...], options: Options) -> "StepPlan | None":
        """What a record says beside places, by the shapes and options of its key; None where Python has to do it."""
        if len(self.plans) > 1000:
            self.plans.clear()
        step = describe_operation(self.name, key[: len(key) - len(options)], options)
        found = None
        if step is not None:
            by_columns = len(step.result) == 2 and self.name in _BY_COLUMNS
            numbers = (*step.sizes, *step.options, 0, 0, self.adjoint)
            found = StepPlan(step.result, math.prod(step.result), by_columns, step.saved, numbers)
        self.plans[key] = found
        return found

    def record(
        self, s: "MatrixStack", rule: ArrayRule, cells: Sequence[int], values: list[Value], turned: Sequence[int],
        options: Options,
    ) -> Value:  # fmt: skip
        """The result, recorded; None where Python has to do it. `cells` are the first of each operand, or 0."""
        if len(values) == 1 and not options:
            key: tuple[Any, ...] = (values[0].shape,)
        else:
            key = (*[v.shape for v in values if v.__class__ is not float], *options.items())
        plan = self.plans[key] if key in self.plans else self.plan(key, options)
        if plan is None or len(key) < len(values) + len(options):
            return None
        shape, n, by_columns, saved, numbers = plan
        buffers = s.buffers
        first = s.top
        end = first + n
        if end > s.capacity:
            s.room(n)
        if len(values) == 1:
            places: Places | None = (cells[0], 1, 0, 0, by_columns, len(turned), 0)
        else:
            places = _places_of_two(buffers, cells, values, turned, by_columns)
        if places is None:
            return None
        memory, saved_at, shared = None, 0, None
        if saved:
            if self.name in _SHARED:
                shared = self.name, places[0], places[1], places[5], key[0], *options.items()
                memory = s.factors.get(shared)
                if memory is not None:
                    numbers = (*numbers[:6], _KNOWN, *numbers[7:])
            if memory is None:
                memory = np.empty(saved)
            saved_at = -(memory.__array_interface__["data"][0] // 8)
        slot = buffers.push_shape((0, saved_at, first, *places, *numbers))
        if not self.attempt(self.value, buffers.shapes, slot, buffers.values, buffers.constants, first, n):  # type: ignore[misc]
            return None
        if shared is not None and memory is not None:
            s.factors[shared] = memory
        z = s.slab[first:end]
        c = _new(StepPullback)
        c.rule, c.cells, c.values, c.options, c.turned = rule, cells, values, options, turned
        c.first, c.memory, c.plan = first, memory, plan
        callbacks = s.callbacks
        callbacks.append(c)
        if not shape:
            c.z = number = float(z[0])
            return s.push_number(PULLBACK, len(callbacks) - 1, slot, number)
        if by_columns:
            z = z.reshape(shape[::-1])
            c.z = z.T
            return s.push_values(PULLBACK, len(callbacks) - 1, slot, z)._view_at(np.transpose, c.z, -1)
        c.z = z = z if len(shape) == 1 else z.reshape(shape)
        found = ArrayVar()  # as `push_values` does, whose calls take as long as small matrices
        found._owner = s
        found._value = z
        found._index = first
        found._base = None
        found._length = n if len(shape) == 1 else 0
        s.top = end
        s.push((-PULLBACK - CELLS * n, len(callbacks) - 1, slot, 0.0))
        if len(s.stream) >= LONG:
            s.flush()
        return found


def _places_of_two(
    buffers: Buffers, cells: Sequence[int], values: list[Value], turned: Sequence[int], by_columns: bool
) -> Places | None:
    """Where two operands are, one of which may be a constant, which is kept; None where it is a view with gaps."""
    if cells[0] > 0 and cells[1] > 0:
        return (cells[0], 1, cells[1], 1, by_columns, 0 in turned, 1 in turned)
    k = int(cells[0] > 0)
    found = [cells[0], 1, cells[1], 1, by_columns, 0 in turned, 1 in turned]
    kept, at = buffers.keep(values[k])
    if at > 0:  # an immutable array, where it lies
        if not kept.flags.forc:
            return None
        found[2 * k], found[2 * k + 1], found[5 + k] = at // 8, AT_ADDRESS, not kept.flags.c_contiguous
    else:
        found[2 * k], found[2 * k + 1] = -at, 0
    values[k] = kept
    return tuple(found)


def of_one_matrix(kernels: StepKernels, rule: ArrayRule, otherwise: Function, names: Collection[str] = ()) -> Function:
    """A rule of one argument, where that is an affine array and options have these names; else `otherwise`."""
    known = frozenset(names)

    def method(a: ArrayVar, *rest: Value, **options: Option) -> Value:
        base, cell, s = a._base, a._index, a._owner
        if cell > 0 and (base is None or base._index > 0) and not rest and kernels.are_there() and not s.keeps_rules:
            is_plain = not options or (known.issuperset(options) and WORDS.issuperset(map(type, options.values())))
            if is_plain and s.ended is None and s.is_here():
                found = kernels.record(s, rule, (cell,), [a._value], (), options)
                if found is not None:
                    return found
        return otherwise(a, *rest, **options)

    return method


class StepPlan(NamedTuple):
    """What the record of a step says beside the places: its shape, and the numbers behind them."""

    result: tuple[int, ...]
    size: int
    by_columns: bool
    saved: int
    numbers: tuple[int, ...]
