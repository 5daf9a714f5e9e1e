"""How transforms call the user's function: which function runs, which arguments are differentiated, what comes back."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from contad.errors import OutputError, UnsupportedError
from contad.number import Number, is_real, map_numbers, primal
from contad.trees import flatten


def name_of(f: Any) -> str:
    """The name of a function in messages."""
    return getattr(f, "__name__", type(f).__name__)


def runnable(f: Callable[..., Any]) -> Callable[..., Any]:
    """f as eager engines run it: for a Numba dispatcher, a rewritten copy of its Python function."""
    if hasattr(f, "py_func"):
        from contad.dispatcher import is_dispatcher, python_twin

        if is_dispatcher(f):
            return _compared(f, python_twin(f))
    return f


def _compared(f: Callable[..., Any], twin: Callable[..., Any]) -> Callable[..., Any]:
    """The twin of a dispatcher, whose result is held against the compiled one at every call.

    Integers are Python's in the twin. Where compiled code wraps around, or widens them otherwise, the two part, and a
    gradient of the twin would be silently wrong.
    """

    from contad.dispatcher import assignable

    @functools.wraps(twin)
    def run(*args: Any, **kwargs: Any) -> Any:
        plain_args, plain_kwargs = map_numbers(primal, args), map_numbers(primal, kwargs)
        y = twin(*map(assignable, args), **kwargs)
        expected = f(*plain_args, **plain_kwargs)
        for got, value in zip(flatten(map_numbers(primal, y)).leaves, flatten(expected).leaves, strict=True):
            if not np.allclose(got, value, rtol=1e-6, atol=1e-9, equal_nan=True):
                raise UnsupportedError(
                    f"{name_of(f)}: its Python copy gives {got} where the compiled function gives {value}; integers "
                    "that wrap around or are widened by Numba, and random numbers, are not reproduced: use floats, or "
                    "pass them as arguments"
                )
        return y

    return run


def _unshared(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with copies of the arrays, because f may write into them and a gradient must not."""
    return tuple(x.copy() if isinstance(x, np.ndarray) else x for x in args)


def positions(transform: str, argnums: int | Sequence[int]) -> tuple[int, ...]:
    """argnums as a tuple of positions; TypeError where it is something else, or repeats one."""
    numbers = tuple(argnums) if isinstance(argnums, (list, tuple)) else (argnums,)
    if not numbers or any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in numbers):
        raise TypeError(f"{transform}: argnums must be an argument's position or a tuple of them, got {argnums!r}")
    if len(set(numbers)) < len(numbers):
        raise TypeError(f"{transform}: argnums must not repeat a position, got {argnums!r}")
    return numbers


def positional(
    f: Callable[..., Any], what: str, argnums: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, arrays copied, with those to differentiate among the positional ones, also if given by name."""
    if max(argnums) < len(args):
        return _unshared(args), kwargs
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    bound.apply_defaults()
    if max(argnums) >= len(bound.args):
        raise TypeError(f"{what}: argnums {tuple(argnums)} out of range for {len(bound.args)} positional argument(s)")
    return _unshared(bound.args), bound.kwargs


def require_number(x: Any, what: str) -> None:
    """Refuse arrays and containers where the derivative is with respect to one number."""
    if not (isinstance(x, Number) or is_real(x)):
        kind = f"an array of shape {x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
        raise UnsupportedError(f"{what}: expected one real number, got {kind}; use contad.grad or contad.jacobian")


def split_aux(y: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """The result of f as (value, aux); aux is None where f was not said to return it."""
    if not has_aux:
        return y, None
    if not isinstance(y, tuple) or len(y) != 2:
        raise OutputError(f"{what} must return (value, aux) as has_aux=True, got {type(y).__name__}")
    return y
