"""A transform's function, inspected once: what it is, its name, and how it runs."""

from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from contad.engines import COMPILED, engine as engine_class
from contad.functions.callees import with_numba_callees
from contad.functions.user_call import OnNumbers, memo_of, name_of, numba_function
from contad.rules.capturing import set_data_of
from contad.variables.arguments import require_callable
from contad.variables.open_types import Function, Nested, NumbaFunction, Options

if TYPE_CHECKING:
    from contad.functions.captured import Captured


class UserFunction:
    """A function, and the Numba function that it is or stands for, if any.

    Raises:  TypeError, in the name of the transform, if f is not a function.
    """

    __slots__ = ("dispatcher", "f", "name", "transform")

    def __init__(self, transform: str, f: Function) -> None:
        require_callable(transform, "f", f)
        self.transform = transform
        self.dispatcher: NumbaFunction = None if isinstance(f, FunctionType) else numba_function(f)
        self.f = f if self.dispatcher is None else self.dispatcher
        self.name = name_of(f)

    @property
    def memo(self) -> dict[Hashable, Any]:
        """Everything made from the function."""
        return memo_of(self.f)

    def takes_compiled(self, engine: str | None) -> bool:
        """Whether to ask compiled engines, if this engine or none is named; refuses other names."""
        if self.dispatcher is not None and engine in (None, *COMPILED):
            return True
        engine_class(engine, self.transform)
        return False

    def runnable(self) -> Function:
        """The function as eager engines run it: see `runnable`."""
        return runnable(self.f)


def runnable(f: Function) -> Function:
    """f as eager engines run it: a Numba function, and those that a plain function names, by their Python twins."""
    if hasattr(f, "is_twin"):
        return f
    dispatcher = None if isinstance(f, FunctionType) else numba_function(f)
    if dispatcher is None:
        return with_numba_callees(f, _call_compiled)
    from contad.front.checked_twin import checked_twin

    return checked_twin(dispatcher)


def primitive_of(dispatcher: NumbaFunction) -> OnNumbers:
    """A Numba function as one operation for calls with variables."""
    return OnNumbers(dispatcher, _call_compiled)


def _call_compiled(stand_in: OnNumbers, args: tuple[Nested, ...], kwargs: Options) -> Nested:
    from contad.front.numba_calls import call_at_variables  # it knows Numba

    return call_at_variables(stand_in, args, kwargs)


def _data_of(
    name: str, functions: Sequence[Function | None], keep: Callable[[np.ndarray], np.ndarray]
) -> Optional["Captured"]:
    """The data that the functions of a rule capture, or None if they capture nothing."""
    from contad.functions.captured import Captured  # for rules of users' own

    found = Captured(name, functions, keep)
    return found if found.has_data() else None


set_data_of(_data_of)
