"""Levels of differentiation: who owns a number, and who performs an operation on numbers of several levels.

Every gradient or jvp call opens a level with a number from one global counter; the highest level among the operands
owns an operation.
"""

import itertools
from collections.abc import Callable, Sequence
from threading import RLock, local
from typing import Any, Protocol

import numpy as np

from contad.errors import OtherThreadError, StaleVariableError, VariableError
from contad.variables.array import level_of, numbers_in
from contad.variables.open_types import ArrayValue, Options, Real, Rule, Sources, Value


class HeldData(Protocol):
    """The data that a rule captures, as a level holds them."""

    name: str  # of the rule

    def require_unchanged(self) -> None:
        """Raise ChangedDataError where the data have changed."""

    def forget_changed(self) -> None:
        """Stop comparing data that the rule itself has changed."""

    def again(self) -> "HeldData | None":
        """The same for another level, if a new search could not find anything else; else None."""


class Level(Protocol):
    """A level of differentiation on one thread, which owns numbers. The level with the higher number owns a mixed
    operation.

    `ChainStack` (reverse mode) and `ForwardLevel` are the two kinds. They do not subclass it.
    """

    level: int
    is_here: Callable[[], bool]  # whether it is called on the level's thread
    lock: Any  # that this thread holds, for its `_is_owned`: Python calls a method faster than a stored function
    ended: str | None  # why numbers of this level are stale
    # the first error that its numbers have raised since it was opened, its place, and its number in the process
    caught: tuple[VariableError, str, int] | None

    @property
    def has_arrays(self) -> bool:
        """Whether float arrays become arrays of this level, not object arrays of its scalars."""

    @property
    def lends_arrays(self) -> bool:
        """Whether its arrays stand for object arrays of the level below (`contad.variables.arrays_of_rules`)."""

    @property
    def tracer(self) -> Any:
        """The maker of a program from the recording (`contad.programs.tracer.Tracer`): it notes guards for
        decisions."""

    def require_none_caught(self) -> None:
        """Raise the error that the function on this level has met and caught."""

    def check_usable(self, function: str) -> None:
        """Refuse numbers of this level if it has ended, or on another thread."""

    def hold(self, rule: Rule) -> HeldData | None:
        """Hold the data that a rule captures, which must not change while this level may use them; None if not
        needed."""

    def apply(self, rule: Rule, args: Sequence[Value]) -> Value:
        """Perform an operation of which this level owns at least one argument."""

    def number_and_array(self, rule: Rule, a: Value, b: Value) -> ArrayValue:
        """A scalar rule on a number of this level and a plain array, if there is a fast path; else NotImplemented."""

    def apply_elementwise(self, rule: Rule, args: Sequence[Value]) -> ArrayValue:
        """Perform a scalar rule on arrays."""

    def apply_sum(self, rule: Rule, args: Sequence[Value], conditions: Sequence[str]) -> Value:
        """The sum of a formula of arrays and numbers, if it is one operation; else None."""

    def apply_array(self, rule: Rule, args: Sequence[Value], options: Options) -> Value:
        """Perform an array rule of which this level owns at least one argument, or an element of one."""

    def move(self, move: Callable[[Sources], ArrayValue], sources: Sources) -> ArrayValue:
        """Perform a function that moves elements of sources: arrays, numbers, and lists of these."""

    def writable(self, value: Value) -> ArrayValue:
        """An array with these constant values to which numbers of this level can be assigned."""

    def adopt(self, y: Value) -> ArrayValue:
        """An object array with numbers of this level as an array of it."""

    def constant_result(self, z: Value) -> Value:
        """The result of an operation on arrays of this level that are all constants."""


next_level = itertools.count(1).__next__


class _Here(local):
    """Per thread: a lock that only this thread holds, and whether it holds it. The lock identifies the thread without
    making a number."""

    def __init__(self) -> None:
        lock: Any = RLock()
        lock.acquire()
        self.held: tuple[Any, Callable[[], bool]] = lock, lock._is_owned


HERE = _Here()


def refuse_unusable(level: Level, function: str) -> None:
    """Raise if a level has ended, or belongs to another thread."""
    if level.ended is not None:
        raise StaleVariableError(
            f"{function}: this variable is stale: {level.ended}; return what you need instead; if an object keeps it "
            "in an attribute, make the object inside the function, or set the attribute to a plain number again",
            level=level,
        )
    if not level.is_here():
        raise OtherThreadError(
            f"{function}: this variable belongs to another thread's stack; pass numbers, contad.value_of(v), "
            "between threads",
            level=level,
        )


def raise_caught(level: Level) -> None:
    """Raise the error that the function on a level has met and caught, if there is one."""
    if level.caught is not None:
        error, where, _ = level.caught
        level.caught = None
        again = error.__class__.__new__(error.__class__)  # not remembered, as one that is made by its class
        message = (
            f"{error}\nThis error was raised at {where}, and the function caught it and took a path that it "
            "does not take with plain numbers, so its derivative would be wrong. Write there what the message says, or "
            "catch only the errors of numbers (ValueError, ArithmeticError), so that you see this one where it is "
            "raised."
        )
        again.args = (message,)
        raise again from error


def array_of(numbers: list[Real], shape: tuple[int, ...]) -> ArrayValue:
    """Numbers in C order as a float array, or as an array of the highest level among them."""
    top = max(numbers_in(numbers), key=level_of, default=None)
    if top is None:
        return np.array(numbers, dtype=float).reshape(shape)
    a = np.empty(shape, object)
    a.reshape(-1)[:] = numbers
    return top._owner.adopt(a)
