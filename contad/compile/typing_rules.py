"""Numba's typing: signatures and templates that contad adds to, and the types that Numba resolves for functions."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from numba.core.registry import cpu_target
from numba.core.sigutils import normalize_signature
from numba.core.typeconv import Conversion
from numba.core.typing import signature
from numba.core.typing.npydecl import parse_dtype
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    fold_arguments,
    infer_global,
    make_callable_template,
)
from numba.np.numpy_support import from_dtype

__all__ = [
    "AbstractTemplate", "AttributeTemplate", "Conversion", "bytes_of", "declared_type", "fold_arguments",
    "from_dtype", "infer_global", "make_callable_template", "normalize_signature", "overload_bodies",
    "overload_template", "parse_dtype", "signature", "take_registrations",
]  # fmt: skip


def take_registrations() -> None:
    """Make Numba register new overloads and lowerings now, and not only when it next begins to compile."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def declared_type(function: Any) -> Any:
    """The type that an overload or a template has declared for a function; None if there is none."""
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context._lookup_global(function)


def overload_template(function: Callable[..., Any]) -> type[AbstractTemplate]:
    """The template that `numba.extending.overload` has made of a function."""
    (template,) = _templates(function)
    found: type[AbstractTemplate] = template
    return found


def overload_bodies(function: Callable[..., Any]) -> list[FunctionType]:
    """The bodies that numba.extending.overload has registered for a function."""
    try:
        templates = _templates(function)
    except ValueError:  # a function that compiled code cannot call
        return []
    bodies = [getattr(template, "_overload_func", None) for template in templates]
    return [body for body in bodies if isinstance(body, FunctionType)]


def _templates(function: Callable[..., Any]) -> Any:
    cpu_target.typing_context.refresh()
    return getattr(cpu_target.typing_context.resolve_value_type(function), "templates", ())


def bytes_of(kind: Any) -> int:
    """The size of a value of a type in memory, in bytes."""
    context = cpu_target.target_context
    return int(context.get_abi_sizeof(context.get_data_type(kind)))
