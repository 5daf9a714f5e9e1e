"""The user's function: how transforms call it, what it returns, and what is made from it."""

import inspect
import sys
from collections.abc import Callable, Hashable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from contad.errors import OutputError, UnsupportedError
from contad.variables.layout import KNOWN_IMMUTABLE, OVERLAPPING, immutable_address
from contad.variables.number import Number, is_real
from contad.variables.open_types import Function, Nested, NumbaFunction, Options
from contad.variables.overlaps import set_apart
from contad.variables.trees import holds_number

AtVariables = Callable[["OnNumbers", tuple[Nested, ...], Options], Nested]


class OnNumbers:
    """A dispatcher that runs directly on plain arguments; `at_variables(self, args, kwargs)` answers other calls."""

    def __init__(
        self, dispatcher: NumbaFunction, at_variables: AtVariables, of: Callable[[Function], Function] | None = None
    ) -> None:
        self.dispatcher = dispatcher
        self.at_variables = at_variables
        self.of = of  # returns the replacement of a plain function
        self.twin: Function | None = None  # made if no compiled derivative answers
        self.quick: Any = None  # whose `answer` answers calls like earlier ones, or is NotImplemented

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.dispatcher, name)
        return self.of(found) if name == "py_func" and self.of is not None else found

    def __reduce__(self) -> str | tuple[Any, ...]:
        return OnNumbers, (self.dispatcher, self.at_variables)

    def __call__(self, *args: Nested, **kwargs: Nested) -> Nested:
        quick = self.quick
        if quick is not None and not kwargs:
            result = quick.answer(args)
            if result is not NotImplemented:
                return result
        if any(map(holds_number, (*args, *kwargs.values()))):
            return self.at_variables(self, args, kwargs)
        functions = {name: x.dispatcher for name, x in kwargs.items() if isinstance(x, OnNumbers)}
        return self.dispatcher(*(x.dispatcher if isinstance(x, OnNumbers) else x for x in args), **kwargs | functions)


def name_of(f: object) -> str:
    """The name of a function in messages."""
    return getattr(f, "__name__", type(f).__name__)


def numba_function(f: object) -> NumbaFunction:
    """The Numba function that f is or stands for; None for anything else."""
    if "numba" not in sys.modules:
        return None
    from contad.compile.dispatchers import is_dispatcher

    if isinstance(f, OnNumbers):
        f = f.dispatcher
    return f if is_dispatcher(f) else None


def unshare(what: str, args: tuple[Nested, ...], argnums: Sequence[int]) -> tuple[Nested, ...]:
    """The arguments with copies of the constant arrays, because f may write into them and a gradient must not."""
    own = None
    args = set_apart(what, args)
    for n, x in enumerate(args):
        if n not in argnums and isinstance(x, np.ndarray):
            known = KNOWN_IMMUTABLE.get(id(x))  # as `immutable_address`, whose call takes as long
            if known is not None and known[0]() is x:
                continue
            if (x.flags.writeable or not immutable_address(x)) and id(x) not in OVERLAPPING:
                own = own or list(args)
                own[n] = x.copy("K")
    return args if own is None else tuple(own)


# signatures of the transforms with more parameters than a function before its arguments
_FORMS = {
    "hvp": "hvp(f)(x, v)", "jvp": "jvp(f, (x,), (v,))", "hessian_block_diag": "hessian_block_diag(f, size)(x)",
    "grad_tr_mat_times_hessian": "grad_tr_mat_times_hessian(f, x, m)",
}  # fmt: skip


def form_of(transform: str) -> str:
    """The form of a call of a transform, for messages about a wrong call."""
    return f"contad.{_FORMS.get(transform, f'{transform}(f)(x)')}"


def positions(transform: str, argnums: int | Sequence[int], advice: str | None = None) -> tuple[int, ...]:
    """argnums as a tuple of positions; TypeError if it is something else, or repeats one."""
    numbers = tuple(argnums) if isinstance(argnums, (list, tuple)) else (argnums,)
    if not numbers or any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in numbers):
        if numbers and all(isinstance(n, int) for n in numbers):
            advice = "; positions count from 0, the first argument"
        elif advice is None:
            advice = f"; the arguments of f follow: {form_of(transform)}"
        raise TypeError(
            f"{transform}: argnums must be an argument's position or a tuple of them, got {argnums!r}{advice}"
        )
    if len(set(numbers)) < len(numbers):
        raise TypeError(f"{transform}: argnums must not repeat a position, got {argnums!r}")
    return numbers


def positional(
    f: Function, what: str, argnums: Sequence[int], args: tuple[Nested, ...], kwargs: Options
) -> tuple[tuple[Nested, ...], Options]:
    """The arguments, with copies of arrays. Differentiated arguments become positional, even if given by name."""
    if kwargs:
        *given, kwargs = set_apart(what, (*args, kwargs))
        args = tuple(given)
    if max(argnums) < len(args):
        return unshare(what, args, argnums), kwargs
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    bound.apply_defaults()
    if max(argnums) >= len(bound.args):
        raise TypeError(f"{what}: argnums {tuple(argnums)} out of range for {len(bound.args)} positional argument(s)")
    return unshare(what, bound.args, argnums), bound.kwargs


def require_number(x: Nested, what: str) -> None:
    """Refuse arrays and containers if the derivative is with respect to one number."""
    if not (isinstance(x, Number) or is_real(x)):
        kind = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        raise UnsupportedError(f"{what}: expected one real number, got {kind}; use contad.grad or contad.jacobian")


def split_aux(y: Nested, has_aux: bool, what: str) -> tuple[Nested, Nested]:
    """The result of f as (value, aux); aux is None without has_aux."""
    if not has_aux:
        return y, None
    if not isinstance(y, tuple) or len(y) != 2:
        raise OutputError(f"{what} must return (value, aux) as has_aux=True, got {type(y).__name__}")
    return y


def level_of_user() -> int:
    """The number of frames from its caller up to the user's code, for a warning."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("contad", "numba"):
        frame, level = frame.f_back, level + 1
    return level


# ---- what is made from a function ------------------------------------------------------------------------------------
class Memo(dict[Any, Any]):
    """Everything made from a function. A pickle of the function by value leaves it out."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        return Memo, ()


def memo_of(f: NumbaFunction) -> dict[Hashable, Any]:
    """The memo of f, kept in an attribute of f so that it dies with f; a new one if f takes no attributes."""
    memo: dict[Hashable, Any] = Memo()
    # each access makes a new bound method; its dictionary is the function's, which would keep the instance alive
    if not isinstance(f, MethodType) and hasattr(f, "__dict__"):
        # functools.wraps and copy.copy copy the memo of f, so it must name its owner
        owner, memo = f.__dict__.get("__contad__", (None, memo))
        if owner is not f and isinstance(f.__dict__, dict):
            memo = Memo()
            f.__dict__["__contad__"] = f, memo
    return memo


def memo_for(cls: type) -> dict[Hashable, Any]:
    """The memo of methods for objects of a user's class, kept in an attribute of the class."""
    made = vars(cls).get("__contad__")
    if made is None or made[0] is not cls:  # a copy of a class has the attributes of the original
        made = cls, Memo()
        type.__setattr__(cls, "__contad__", made)
    memo: dict[Hashable, Any] = made[1]
    return memo
