"""The chain stack: a level of reverse mode; and the levels open on this thread.

Every gradient call opens a level. Reverse levels are chain stacks; their records and adjoints belong to an engine,
which subclasses `ChainStack`. Levels are per thread.
"""

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from contad.errors import (
    ForeignVariableError,
    NestingError,
    OtherThreadError,
    UnsupportedError,
    VariableError,
    place_of_user,
    set_memory,
)
from contad.variables.adjoints import Adjoints
from contad.variables.array import Array, as_objects
from contad.variables.layout import box_up, is_immutable, same_bits
from contad.variables.level import HERE, HeldData, Level, next_level, raise_caught, refuse_unusable
from contad.variables.number import as_float
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
from contad.variables.overlaps import error_instead
from contad.variables.trees import Tree, assemble, map_lists
from contad.variables.var import Var

_Key = TypeVar("_Key")
_Item = TypeVar("_Item")

NOTHING: Mapping[Any, Any] = MappingProxyType({})  # shared in place of empty dicts, which most stacks never fill


def with_item(known: Mapping[_Key, _Item], key: _Key, item: _Item) -> dict[_Key, _Item]:
    """A dict that a stack has made, with one more item; a new one in the place of `NOTHING`."""
    found = known if isinstance(known, dict) else {}
    found[key] = item
    return found


class Row(NamedTuple):
    """One record of a chain stack, for `show_stack`."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    operation: str
    parents: tuple[Real, ...]  # cells; a constant operand is a float
    partials: tuple[Value, ...]
    value: Value


class Footprint(NamedTuple):
    """The memory of one record, and other facts that `Row` does not hold."""

    cells: int  # of its result; 0 if the record adds a partial to the previous result
    bytes: int
    sources: tuple[int, ...] = ()  # the first of the cells that it reads, if they are too many for a table


class ChainStack(ABC):
    """A level of reverse mode: a stack of continuations and its adjoint vector. Engines say what a continuation is.

    An engine provides the abstract methods and the class attribute `engine`. `top` is the next free cell; cell 0 is the
    sink of constants. A stack that has no arrays of its own works on object arrays of its scalars.
    """

    __slots__ = (
        *("level", "ended", "caught", "tracer", "watch", "top", "push", "adjoints", "running", "sweeping"),
        *("last_continuation", "copies", "held", "is_here", "lock", "on_objects", "__weakref__"),
    )
    has_arrays = False
    takes_any = False  # whether its arrays may be of any library
    lends_arrays: bool = False
    opens_calls: bool = False  # whether calls of Numba functions are recorded operation by operation
    engine: str
    top: int
    push: Callable[[Any], None]
    adjoints: AdjointVector  # of the last sweep, indexed by cell; empty before the first

    # ---- methods that an engine provides -----------------------------------------------------------------------------
    @abstractmethod
    def variable(self, value: Value) -> Var:
        """A new independent variable with this value."""

    @abstractmethod
    def apply(self, rule: Rule, args: Sequence[Value]) -> Value:
        """Perform an operation of which this stack owns at least one argument."""

    @abstractmethod
    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        """Perform an array rule of which this stack owns at least one argument, or an element of one."""

    @abstractmethod
    def push_callback(self, f: Callable[[Adjoints], None], value: Value) -> Var:
        """Push a continuation that calls f(adj); the variable of its cell, with this value."""

    @abstractmethod
    def sweep(self, top: int, seeds: Sequence[tuple[CellIndex, Value]]) -> AdjointVector:
        """Propagate seeds (cell, adjoint) from cell `top` down; returns the adjoints, indexed by cell up to `top`."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """The records, oldest first."""

    @abstractmethod
    def footprints(self) -> Iterator[Footprint]:
        """The memory of each record, oldest first."""

    @abstractmethod
    def release(self) -> None:
        """Give the buffers back to this thread's pool."""

    # ---- arrays; an engine may have its own --------------------------------------------------------------------------
    def number_and_array(self, rule: Rule, a: Value, b: Value) -> ArrayValue:
        """A scalar rule on a number of this level and a plain array, if there is a fast path; else NotImplemented."""
        return NotImplemented

    def apply_elementwise(self, rule: Rule, args: Sequence[Value]) -> ArrayValue:
        """Perform a scalar rule on arrays."""
        return np.frompyfunc(rule, rule.arity, 1)(*(as_objects(x) for x in args))

    def apply_sum(self, rule: Rule, args: Sequence[Value], conditions: Sequence[str]) -> Value:
        """The sum of a formula of arrays and numbers, recorded as one operation; None if it is not.

        None if an element violates the conditions, which are expressions of p_0, p_1, ...
        """
        return None

    def move(self, move: Callable[[Sources], ArrayValue], sources: Sources) -> ArrayValue:
        """Perform a function that moves elements of sources: arrays, numbers, and lists of these."""
        return move({key: map_lists(as_objects, x) for key, x in sources.items()})

    def writable(self, value: Value) -> ArrayValue:
        """An array with these constant values to which numbers of this level can be assigned."""
        self.on_objects = True
        return as_objects(value).copy()

    def adopt(self, y: Value) -> ArrayValue:
        """An object array with numbers of this level as an array of it."""
        self.on_objects = True
        return y

    def constant_result(self, z: Value) -> Value:
        """The result of an operation on arrays of this level that are all constants."""
        return z

    def array_variable(self, value: Value) -> ArrayValue:
        """An array of independent variables with these values."""
        self.on_objects = True
        values = as_objects(value)
        variables = np.empty(values.shape, object)
        for k in np.ndindex(values.shape):
            variables[k] = self.variable(values[k])
        return box_up(variables)

    def shared_bytes(self) -> int:
        """The memory beside the records: constants, and descriptions of their elements."""
        return 0

    def float_variable(self, value: float) -> Var:
        """An independent variable that stands for a Python float."""
        return as_float(self.variable(value))

    def float_variables(self, values: Sequence[float]) -> list[Var]:
        """Independent variables that stand for Python floats."""
        return [as_float(self.variable(x)) for x in values]

    # ---- methods that all engines share ------------------------------------------------------------------------------
    @classmethod
    def begin(cls) -> "ChainStack":
        """A new stack, as the class makes it."""
        return cls()

    def __init__(self, level: int | None = None) -> None:
        self.level = next_level() if level is None else level
        self.lock, self.is_here = HERE.held
        self.ended: str | None = None
        self.caught: tuple[VariableError, str, int] | None = None
        self.tracer: Any = None
        self.watch: Any = None  # of `debug_nans` or `profile`: inspects records as they are pushed and swept
        self.adjoints = ()
        self.sweeping = False
        self.on_objects = False  # whether it has made object arrays of its scalars
        self.running = 0  # the first cell of the callback that a sweep is running
        self.last_continuation = 0  # the cell of the user's newest callback without its own variable
        self.top = 1
        # by the id of a constant array: itself, and the copy that continuations keep
        self.copies: Mapping[int, tuple[weakref.ref[np.ndarray], np.ndarray]] = NOTHING
        self.held: Mapping[Rule, HeldData] = NOTHING  # data that users' rules capture, by rule

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise UnsupportedError("pickle: a stack belongs to a thread of this process; pickle values, contad.value_of(v)")

    def require_none_caught(self) -> None:
        """Raise the error that the function on this level has met and caught."""
        raise_caught(self)

    def check_usable(self, function: str) -> None:
        """Refuse variables of this stack if it has ended, or on another thread."""
        refuse_unusable(self, function)

    def keep(self, a: np.ndarray) -> np.ndarray:
        """A constant array as continuations keep it: a copy, shared with an earlier array of the same contents.

        An immutable array (`contad.constant`) is kept by reference.
        """
        if is_immutable(a):
            return a
        known = self.copies.get(id(a))
        if known is not None and known[0]() is a and same_bits(known[1], a):
            return known[1]
        copy = a.copy("K")
        copy.flags.writeable = False
        self.copies = with_item(self.copies, id(a), (weakref.ref(a), copy))
        return copy

    def hold(self, rule: Rule) -> HeldData | None:
        """Hold data that a rule captures, which must not change while this stack may use them; None if unneeded."""
        known = self.held.get(rule)
        if known is not None:
            known.require_unchanged()
            return known
        found = rule.read_captured(self.keep)
        if found is not None:
            self.held = with_item(self.held, rule, found)
        return found

    def require_held(self) -> None:
        """Raise ChangedDataError if the data that a rule captures have changed since it was recorded."""
        for data in self.held.values():
            data.require_unchanged()

    def adjoint_of(self, index: int) -> Real:
        """The adjoint of a cell after the last sweep; 0.0 for cells newer than the swept ones."""
        adjoint = self.adjoints[index] if index < len(self.adjoints) else 0.0
        return float(adjoint) if isinstance(adjoint, float) else adjoint

    def cotangent(self, x: Value) -> Value:
        """The adjoints of an argument after the last sweep: of a variable, or of an object array of them."""
        if isinstance(x, Var):
            return self.adjoint_of(x._index)
        return assemble([self.adjoint_of(v._index) for v in x.flat], x.shape)

    def cotangents(self, xs: Sequence[Value]) -> list[Value]:
        """The adjoints of several arguments."""
        return [self.cotangent(x) for x in xs]

    def numbers_of(self, adjoints: AdjointVector) -> AdjointVector:
        """These adjoints, in a form that can hold numbers of outer levels."""
        return list(adjoints)

    def gradient(self, y: Value, xs: Sequence[Value], seed: Value = 1.0) -> list[Value]:
        """Sweep from y and read the adjoints of xs."""
        self.require_none_caught()
        for k, x in enumerate(xs):
            if not isinstance(x, (Var, Array)):
                raise ForeignVariableError(f"gradient: expected variables, got {type(x).__name__} at position {k}")
            if x._owner is not self:
                x._owner.check_usable("gradient")
                raise ForeignVariableError(
                    f"gradient: the variable at position {k} belongs to another stack than the result"
                )
        self.run_sweep([(y._index, seed)])
        return [x.adj for x in xs]

    def pull(self, made: Sequence[Value | Tree], seeds: Sequence[tuple[CellIndex, Value]]) -> list[Nested]:
        """One sweep, and the adjoints of the variables from `activate`, in the structures of the arguments."""
        self.run_sweep(seeds, self.last_continuation)  # a callback for a result is newer than the result
        found: list[Nested] = [*made]
        for k, x in enumerate(made):  # a comprehension would take longer
            found[k] = x.unflatten(self.cotangents(x.leaves)) if x.__class__ is Tree else self.cotangent(x)
        return found

    def run_sweep(self, seeds: Sequence[tuple[CellIndex, Value]], top: int = 0) -> None:
        """One sweep from the newest seeded cell or from `top`, from zero adjoints; `adjoint_of` reads the result."""
        if self.tracer is not None:
            self.tracer.refuse_sweep()
        if not self.is_here():
            raise OtherThreadError("sweep: this recording belongs to another thread; make and pull it on one thread")
        if self.sweeping:
            raise NestingError("sweep: this stack is being swept; a callback may differentiate on a nested() level")
        if self.held:
            self.require_held()
        self.sweeping = True
        self.adjoints = ()  # a sweep that fails leaves nothing to read
        try:
            for cell, _ in seeds:
                newest = cell if cell.__class__ is int else int(cell.max())
                top = newest if newest > top else top
            self.adjoints = self.sweep(top, seeds) if seeds else ()
        finally:
            self.sweeping = False
        if self.caught is not None:  # by a callback
            self.require_none_caught()

    def check_swept(self, what: str) -> None:
        """Refuse to read adjoints while a sweep runs: it passes them to its callbacks."""
        if self.sweeping:
            raise NestingError(f"{what}: a sweep is running; in a callback, use adj[x]")

    def set_zero_adjoints(self) -> None:
        """Adjoints read 0.0 until the next sweep."""
        self.adjoints = ()

    def end(self, reason: str) -> None:
        """No more records: variables become stale. The recording can still be swept until it is released."""
        self.ended = reason
        self.push = partial(_refuse, weakref.ref(self))  # a method would keep the stack until a collection

    def close(self, reason: str) -> None:
        """End and release this stack, unless its recording has ended: then a pullback has it, or it was recovered."""
        if self.ended is not None:
            return
        if self.sweeping:  # a sweep that closes its own stack continues with the buffers
            self.end(reason)
            return
        self.ended = reason
        self.push = _refusal(reason)  # made once: a recording that is never swept again does not need its own
        self.release()


class _EndedLevel(NamedTuple):
    """The facts about a released stack that refusals report."""

    ended: str
    level: int = 0


@cache
def _refusal(reason: str) -> Callable[[object], NoReturn]:
    """Replaces `push` after a stack has been released."""
    return partial(_refuse_released, _EndedLevel(reason))


def _refuse_released(level: Any, record: object) -> NoReturn:
    refuse_unusable(level, "an operation")
    raise AssertionError("a stack that has not ended refused a record")


def _refuse(stack: "weakref.ref[ChainStack]", record: object) -> NoReturn:
    """Replaces `push` after a stack has ended."""
    s = stack()
    if s is not None:
        s.check_usable("an operation")
    raise AssertionError("a stack that has not ended refused a record")


# ---- errors that a function catches ----------------------------------------------------------------------------------
def _remember(error: VariableError, level: Any) -> bool:
    """Note an error on the levels whose functions would not have it with plain numbers; return whether one is open.

    These are the owner of the number, and all levels opened on this thread since; all levels if the owner is unknown or
    has ended. The base stack does not count, because nobody says when a function on it ends.
    """
    levels: list[Any] = [s for s in (*THREAD.open, *THREAD.forward) if s.ended is None and s.level > 0]
    if level is not None and (level.ended is None or getattr(level, "sweeping", False)):
        levels = [s for s in levels if s.level > level.level]
        if level.level > 0:
            levels.append(level)
    if any(s.caught is None for s in levels):
        _Thread.remembered += 1
        noted = error, place_of_user(), _Thread.remembered
        for s in levels:
            if s.caught is None:
                s.caught = noted
    return bool(levels)


class attempt:
    """A block in which contad tries something and handles errors itself: these do not count as caught by the user.

    >>> with attempt():
    ...     pass
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = THREAD.remembered

    def __exit__(self, *exception: object) -> None:
        forget_since(self._before)


def forget_since(before: int) -> None:
    """Forget the errors after that number of remembered ones."""
    if THREAD.remembered > before:
        for s in (*THREAD.open, *THREAD.forward):
            if s.caught is not None and s.caught[2] > before:
                s.caught = None


def forget(error: BaseException | None) -> None:
    """Forget one error."""
    for s in (*THREAD.open, *THREAD.forward):
        if s.caught is not None and s.caught[0] is error:
            s.caught = None


set_memory(_remember)


# ---- levels of this thread -------------------------------------------------------------------------------------------
class _Thread(threading.local):
    """Per thread: the open reverse and forward levels, innermost last, and pools of buffers by engine."""

    remembered = 0  # errors, on all threads

    def __init__(self) -> None:
        self.open: list[ChainStack] = []
        self.forward: list[Level] = []
        self.pools: dict[str, list[Any]] = {}
        self.watch: Any = None  # of `contad.debug_nans`: inspects the results of levels


THREAD = _Thread()


@contextmanager
def alone() -> Iterator[None]:
    """Start as on a new thread: a process forked inside a level has inherited the levels of its parent."""
    kept = THREAD.open, THREAD.forward, THREAD.watch
    THREAD.open, THREAD.forward, THREAD.watch = [], [], None
    try:
        yield
    finally:
        THREAD.open, THREAD.forward, THREAD.watch = kept


_base_engine: list[type[ChainStack]] = []
ENGINES: list[Callable[..., type[ChainStack]]] = []
# Functions that free a thread's memory besides its pools; native code adds to them at its first use.
RECOVERIES: list[Callable[[], object]] = []


def set_base_engine(cls: type[ChainStack]) -> None:
    """Set the engine of stacks that are opened without naming one."""
    _base_engine[:] = [cls]


def set_engines(engine: Callable[[str], type[ChainStack]]) -> None:
    """Set the function that finds an engine by name: engines are in a higher layer, and are made on demand."""
    ENGINES[:] = [engine]


def stack() -> ChainStack:
    """This thread's chain stack: the innermost open level, or its base stack.

    >>> stack().engine
    'matrix'
    """
    while THREAD.open and THREAD.open[-1].ended is not None:
        THREAD.open.pop()  # a generator's level, after the generator was finalized on another thread
    if not THREAD.open:
        THREAD.open.append(_base_engine[0](0))
    return THREAD.open[-1]


def enter(s: ChainStack) -> None:
    """Make a new stack the innermost level of this thread; whatever happens from here on, `leave` it."""
    levels = THREAD.open
    if not levels:
        stack()  # the base stack stays below
    if THREAD.watch is not None:
        THREAD.watch.look_at(s)
    levels.append(s)


def leave(s: ChainStack, error: BaseException | None = None, reason: str = "its gradient call has ended") -> None:
    """End and release a level, unless it has been left before.

    Raises the error that its function has met and caught, or the contad error behind the one that it has raised.
    """
    levels = THREAD.open
    if levels and levels[-1] is s:
        levels.pop()
    elif s in levels:  # a suspended generator may hold a level above this one, or close its own from anywhere
        levels.remove(s)
    s.close(reason)
    caught = None
    if s.caught is not None:
        if error is None:
            s.require_none_caught()
        caught, s.caught = s.caught[0], None  # which refers to frames, and these to the level
    if error is not None and (behind := error_instead(error, caught)) is not None:
        raise behind from (None if behind is error.__cause__ else error)


class opened:
    """A new innermost level on this thread, ended and released on the way out, exception or not."""

    __slots__ = ("_make", "_reason", "_stack")

    def __init__(self, make: Callable[[], ChainStack], reason: str = "its gradient call has ended") -> None:
        self._make = make  # an engine's class, or a function that makes a stack with options
        self._reason = reason

    def __enter__(self) -> ChainStack:
        s = self._stack = self._make()
        try:
            enter(s)
        except BaseException:  # an interrupt
            leave(s, None, self._reason)
            raise
        return s

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave(self._stack, error, self._reason)


@contextmanager
def nested(engine: str | None = None) -> Iterator[ChainStack]:
    """Open a level inside this thread's stack; at the end its memory is recovered and its variables are stale.

    Inside, variables of outer levels are constants (Stan's `nested_rev_autodiff`). The level has the engine of the
    enclosing stack, or the named one: "matrix", "records" or "closures".

    Raises:  UnsupportedError if there is no such engine.

    >>> import contad
    >>> with contad.nested():
    ...     x = contad.var(3.0)
    ...     contad.gradient(x * x, [x])
    [6.0]
    """
    outer = stack()
    if not engine and outer.tracer is not None:
        outer.tracer.refuse_levels()
    with opened(ENGINES[0](engine, "nested") if engine else type(outer), "its nested level has been recovered") as s:
        yield s
        s.caught = None  # `gradient` has raised it, if anybody has called it


class recover_memory:
    """Recover all memory of this thread's base stack, now and, as a context manager, again on the way out.

    This also frees the buffers that gradients keep for later gradients, including those of compiled gradients. Every
    variable on the stack becomes stale.
    Raises NestingError if a level is open, as Stan's `recover_memory` does.

    >>> import contad
    >>> with contad.recover_memory():
    ...     x = contad.var(3.0)
    ...     contad.gradient(x * x, [x])
    [6.0]
    """

    __slots__ = ()

    def __init__(self) -> None:
        if stack() is not THREAD.open[0]:
            raise NestingError("recover_memory: a nested level or gradient call is open; recover outside of it")
        if stack().sweeping:
            raise NestingError("recover_memory: a sweep of this stack is running; recover after it")
        _recover_base()

    def __enter__(self) -> ChainStack:
        return stack()

    def __exit__(self, *exception: object) -> None:
        _recover_base()


def _recover_base() -> None:
    if THREAD.open and THREAD.open[0].level == 0:
        THREAD.open.pop(0).close("its memory has been recovered")
    THREAD.pools.clear()
    for recover in RECOVERIES:
        recover()


def set_zero_adjoints() -> None:
    """Set all adjoints on this thread's stack to zero. A sweep starts from zero adjoints in any case."""
    stack().set_zero_adjoints()
