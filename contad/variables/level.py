"""Levels of differentiation: who owns a number, and who performs an operation on numbers of several levels.

Every gradient or jvp call opens a level with a number from one global counter; the highest level among the operands
owns an operation. A level that has no arrays of its own works on object arrays of its scalars.
"""

import itertools
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

from contad.errors import OtherThreadError, StaleVariableError, VariableError
from contad.variables.array import as_objects, level_of, numbers_in

_next_level = itertools.count(1).__next__


class Level:
    """What owns numbers: a level of differentiation on one thread. The higher number owns a mixed operation."""

    __slots__ = ("level", "thread", "ended", "caught")
    has_arrays = False  # whether float arrays become arrays of this level, not object arrays of its scalars
    is_traced = False  # whether a program is recorded: what is decided by values becomes its guards

    def __init__(self, level: int | None = None) -> None:
        self.level = _next_level() if level is None else level
        self.thread = get_ident()
        self.ended: str | None = None  # why numbers of this level are stale
        # the first error that its numbers have raised since it was opened, where, and which of the process it was
        self.caught: tuple[VariableError, str, int] | None = None

    def require_none_caught(self) -> None:
        """Raise the error that the function on this level has met and caught."""
        if self.caught is not None:
            error, where, _ = self.caught
            self.caught = None
            again = error.__class__.__new__(error.__class__)  # not remembered, as one that is made by its class
            message = (
                f"{error}\nThis error was raised at {where}, and the function caught it and went on as it does not "
                "with plain numbers, so its derivative would be wrong. Write what the message says there, or catch "
                "only the errors of numbers (ValueError, ArithmeticError), to see it where it is raised."
            )
            again.args = (message,)
            raise again from error

    def check_usable(self, function: str) -> None:
        """Refuse numbers of this level where it has ended, or on another thread."""
        if self.ended is not None:
            raise StaleVariableError(
                f"{function}: this variable is stale: {self.ended}; return what you need instead", level=self
            )
        if self.thread != get_ident():
            raise OtherThreadError(
                f"{function}: this variable belongs to another thread's stack; pass numbers, contad.value_of(v), "
                "between threads",
                level=self,
            )

    def decide(self, function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any]) -> Any:
        """function(*args), which looks at values of this level, where a program is recorded."""
        raise NotImplementedError

    def stopped(self, x: Any) -> Any:
        """A number or array of this level without its derivative, where a program is recorded."""
        raise NotImplementedError

    def refuse_reading(self) -> None:
        """Refuse to give the values of this level's numbers away, where a program is recorded."""
        raise NotImplementedError

    def hold(self, rule: Any) -> Any:
        """What a rule captures, which must not change while this level may use it; None where nothing is needed."""
        return None

    def apply(self, rule: Any, args: Sequence[Any]) -> Any:
        """Perform an operation of which this level owns at least one argument."""
        raise NotImplementedError

    def number_and_array(self, rule: Any, a: Any, b: Any) -> Any:
        """A scalar rule of a number of this level and a plain array, where there is a fast way; else NotImplemented."""
        return NotImplemented

    def apply_elementwise(self, rule: Any, args: Sequence[Any]) -> Any:
        """Perform a scalar rule on arrays: as an object array of scalars, where a level has no arrays of its own."""
        return np.frompyfunc(rule, rule.arity, 1)(*(as_objects(x) for x in args))

    def apply_array(self, rule: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Perform an array rule of which this level owns at least one argument, or an element of one."""
        raise NotImplementedError

    def move(self, move: Callable[[Any], Any], sources: dict[Any, Any]) -> Any:
        """Perform a function that moves elements of sources: arrays, numbers, and lists of these."""
        return move({key: _objects_in(x) for key, x in sources.items()})

    def writable(self, value: Any) -> Any:
        """An array with these constant values to which numbers of this level can be assigned."""
        return as_objects(value).copy()

    def adopted(self, values: np.ndarray) -> Any:
        """An object array with numbers of this level as an array of it."""
        return values

    def constant_result(self, z: Any) -> Any:
        """The result of an operation on arrays of this level that are all constants."""
        return z

    def array_variable(self, value: Any) -> Any:
        """An array of independent variables with these values."""
        values = as_objects(value)
        variables = np.empty(values.shape, object)
        for k in np.ndindex(values.shape):
            variables[k] = self.variable(values[k])
        return variables

    def variable(self, value: Any) -> Any:
        """A new independent variable with this value."""
        raise NotImplementedError


def _objects_in(x: Any) -> Any:
    return type(x)(map(_objects_in, x)) if isinstance(x, (list, tuple)) else as_objects(x)


def array_of(numbers: list[Any], shape: tuple[int, ...]) -> Any:
    """Numbers in C order as a float array, or as an array of the highest level among them."""
    top = max(numbers_in(numbers), key=level_of, default=None)
    if top is None:
        return np.array(numbers, dtype=float).reshape(shape)
    a = np.empty(shape, object)
    a.reshape(-1)[:] = numbers
    return top._owner.adopted(a)
