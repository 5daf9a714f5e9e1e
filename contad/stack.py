"""The chain stack: a level of reverse mode, and what is open on this thread.

Every gradient call opens a level. Reverse levels are chain stacks; their records and adjoints belong to an engine,
which subclasses `ChainStack`. Levels are per thread.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple, NoReturn

from contad.adjoints import Adjoints
from contad.array_base import Array
from contad.errors import ForeignVariableError, NestingError, OtherThreadError
from contad.level import Level
from contad.trees import assembled
from contad.var import Var


class Row(NamedTuple):
    """One record of a chain stack, as `show_stack` prints it."""

    index: int  # type: ignore[assignment]  # hides tuple.index
    operation: str
    parents: tuple[Any, ...]  # cells; a constant operand is a float
    partials: tuple[Any, ...]
    value: Any


class ChainStack(Level):
    """A stack of continuations and its adjoint vector. Engines say what a continuation is.

    An engine provides `variable`, `apply`, `push_callback`, `sweep`, `rows`, `release`, and the class attribute
    `engine`. `top` is the next free cell; cell 0 is the sink of constants.
    """

    __slots__ = ("top", "push", "adjoints", "running", "sweeping", "last_continuation")
    engine: str
    top: int
    push: Callable[[Any], None]
    adjoints: Any  # of the last sweep, indexed by cell; empty before the first

    def variable(self, value: Any) -> Var:
        """A new independent variable with this value."""
        raise NotImplementedError

    def push_callback(self, f: Callable[[Adjoints], None], value: Any) -> Var:
        """Push a continuation that calls f(adj); the variable of its cell, with this value."""
        raise NotImplementedError

    def sweep(self, top: int, seeds: Sequence[tuple[Any, Any]]) -> Any:
        """Propagate seeds (cell, adjoint) from cell `top` down; returns the adjoints, indexed by cell up to `top`."""
        raise NotImplementedError

    def rows(self) -> Iterator[Row]:
        """The records, oldest first."""
        raise NotImplementedError

    def release(self) -> None:
        """Give the buffers back to this thread's pool."""
        raise NotImplementedError

    # ---- what every engine shares ------------------------------------------------------------------------------------
    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        self.adjoints = ()
        self.sweeping = False
        self.running = 0  # the first cell of the callback that a sweep is running
        self.last_continuation = 0  # the cell of the newest one of the user's without a variable of its own
        self.top = 1

    def adjoint_of(self, index: int) -> Any:
        """The adjoint of a cell after the last sweep; 0.0 for cells newer than what was swept."""
        adjoint = self.adjoints[index] if index < len(self.adjoints) else 0.0
        return float(adjoint) if isinstance(adjoint, float) else adjoint

    def cotangent(self, x: Any) -> Any:
        """The adjoints of an argument after the last sweep: of a variable, or of an object array of them."""
        if isinstance(x, Var):
            return self.adjoint_of(x._index)
        return assembled([self.adjoint_of(v._index) for v in x.flat], x.shape)

    def numbers_of(self, adjoints: Any) -> Any:
        """These adjoints, able to become numbers of outer levels."""
        return list(adjoints)

    def gradient(self, y: Any, xs: Sequence[Any], seed: Any = 1.0) -> list[Any]:
        """Sweep from y and read the adjoints of xs."""
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

    def run_sweep(self, seeds: Sequence[tuple[Any, Any]], top: int = 0) -> None:
        """One sweep from the newest seeded cell or from `top`, from zero adjoints; `adjoint_of` reads the result."""
        if self.thread != get_ident():
            raise OtherThreadError("sweep: this recording belongs to another thread; make and pull it on one thread")
        if self.sweeping:
            raise NestingError(
                "sweep: this stack is being swept; a callback may differentiate on a nested() level only"
            )
        self.sweeping = True
        self.adjoints = ()  # a sweep that fails leaves nothing to read
        try:
            for cell, _ in seeds:
                top = max(top, cell if cell.__class__ is int else int(cell.max()))
            self.adjoints = self.sweep(top, seeds) if seeds else ()
        finally:
            self.sweeping = False

    def check_swept(self, what: str) -> None:
        """Refuse to read adjoints while a sweep runs: its callbacks are given them."""
        if self.sweeping:
            raise NestingError(f"{what}: a sweep is running; in a callback, use adj[x]")

    def set_zero_adjoints(self) -> None:
        """Adjoints read 0.0 until the next sweep."""
        self.adjoints = ()

    def end(self, reason: str) -> None:
        """No more records: variables become stale. The recording can still be swept until it is released."""
        self.ended = reason
        self.push = self._refuse

    def close(self, reason: str) -> None:
        """End and release this stack, unless its recording has been ended: a pullback has it, or it is recovered."""
        if self.ended is None:
            self.end(reason)
            if not self.sweeping:  # a sweep that closes its own stack goes on with its buffers
                self.release()

    def _refuse(self, record: Any) -> NoReturn:
        self.check_usable("an operation")
        raise AssertionError("a stack that has not ended refused a record")


class _Thread(threading.local):
    """Per thread: the open reverse and forward levels, innermost last, and pools of buffers by engine."""

    def __init__(self) -> None:
        self.open: list[ChainStack] = []
        self.forward: list[Level] = []
        self.pools: dict[str, list[Any]] = {}
        self.watch: Any = None  # of `contad.debug_nans`: makes levels that look for what is not finite


THREAD = _Thread()
_base_engine: list[type[ChainStack]] = []


def set_base_engine(cls: type[ChainStack]) -> None:
    """The engine of stacks that are opened without naming one."""
    _base_engine[:] = [cls]


def stack() -> ChainStack:
    """This thread's chain stack: the innermost open level, or its base stack.

    >>> stack().engine
    'matrix'
    """
    while THREAD.open and THREAD.open[-1].ended is not None:
        THREAD.open.pop()  # a generator's level, when the generator was finalized on another thread
    if not THREAD.open:
        THREAD.open.append(_base_engine[0](0))
    return THREAD.open[-1]


class opened:
    """A new innermost level on this thread, ended and released on the way out, exception or not."""

    __slots__ = ("_cls", "_reason", "_stack")

    def __init__(self, cls: type[ChainStack], reason: str = "its gradient call has ended") -> None:
        self._cls = cls
        self._reason = reason

    def __enter__(self) -> ChainStack:
        if not THREAD.open:
            stack()  # the base stack stays below
        s = self._stack = (self._cls if THREAD.watch is None else THREAD.watch.stack_class(self._cls))()
        # one step: an interrupt between the two would leave the level open
        return THREAD.open.append(s) or s  # type: ignore[func-returns-value]

    def __exit__(self, *exception: Any) -> None:
        s = self._stack
        levels = THREAD.open
        if levels and levels[-1] is s:
            levels.pop()
        elif s in levels:  # a suspended generator may hold a level above this one, or close its own from anywhere
            levels.remove(s)
        s.close(self._reason)


@contextmanager
def nested() -> Iterator[ChainStack]:
    """Open a level inside this thread's stack; at the end its memory is recovered and its variables are stale.

    Inside, variables of outer levels are constants (Stan's `nested_rev_autodiff`).

    >>> import contad
    >>> with contad.nested():
    ...     x = contad.var(3.0)
    ...     contad.gradient(x * x, [x])
    [6.0]
    """
    with opened(type(stack()), "its nested level has been recovered") as s:
        yield s


class recover_memory:
    """Recover all memory of this thread's base stack, now and, as a context manager, again on the way out.

    The buffers that gradients keep for the next ones are given back too. Every variable on the stack becomes stale.
    Raises NestingError where a level is open, as Stan's `recover_memory` does.

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

    def __exit__(self, *exception: Any) -> None:
        _recover_base()


def _recover_base() -> None:
    if THREAD.open and THREAD.open[0].level == 0:
        THREAD.open.pop(0).close("its memory has been recovered")
    THREAD.pools.clear()


def set_zero_adjoints() -> None:
    """Set all adjoints on this thread's stack to zero. A sweep starts from zero adjoints in any case."""
    stack().set_zero_adjoints()
