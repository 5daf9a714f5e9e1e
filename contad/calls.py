"""How transforms call the user's function: which function runs, which arguments are differentiated, what comes back."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from contad.errors import OutputError


def name_of(f: Any) -> str:
    """The name of a function in messages."""
    return getattr(f, "__name__", type(f).__name__)


def runnable(f: Callable[..., Any]) -> Callable[..., Any]:
    """f as eager engines run it: for a Numba dispatcher, a rewritten copy of its Python function."""
    if hasattr(f, "py_func"):
        from contad.dispatcher import is_dispatcher, python_twin

        if is_dispatcher(f):
            return python_twin(f)
    return f


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
    """The arguments with those to differentiate among the positional ones, also where the caller gave them by name."""
    if max(argnums) < len(args):
        return args, kwargs
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    if max(argnums) >= len(bound.args):
        raise TypeError(f"{what}: argnums {tuple(argnums)} out of range for {len(bound.args)} positional argument(s)")
    return bound.args, bound.kwargs


def split_aux(y: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """The result of f as (value, aux); aux is None where f was not said to return it."""
    if not has_aux:
        return y, None
    if not isinstance(y, tuple) or len(y) != 2:
        raise OutputError(f"{what} must return (value, aux) as has_aux=True, got {type(y).__name__}")
    return y
