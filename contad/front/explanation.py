"""Which engine answers a call of a derivative, why, and what it does."""

from typing import Any

from numba import types

from contad.engines import DEFAULT, compiled_engine
from contad.errors import UnsupportedError
from contad.front.derivative import Derivative, holds_carriers
from contad.front.plan import plan


def engine_for(derivative: Derivative, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The name of the engine that answers this call."""
    choice = _choice(derivative, args, kwargs)
    return (choice and choice.engine) or DEFAULT


def explained(derivative: Derivative, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Lines of text: the engine that answers this call, why those before it do not, what it does and stores."""
    choice = _choice(derivative, args, kwargs)
    if choice is None:
        return (
            f"{derivative.what}: engine {DEFAULT}, on a Python copy of the function: the call is inside another "
            "derivative, and compiled engines take first derivatives only"
        )
    refused = [f"  {name} refuses it: {why}" for name, why in choice.refusals]
    given = derivative.types_of(args, kwargs)
    shown = ", ".join(str(t.value if isinstance(t, types.Omitted) else t) for t in given)
    if choice.engine is None:
        head = f"{derivative.what}({shown}): engine {DEFAULT}, on a Python copy of the function"
        return "\n".join([head, *refused])
    request = plan(derivative.f, derivative.form, given, derivative.what).request
    told = compiled_engine(choice.engine).explain(request)
    head = f"{derivative.what}({shown}): engine {choice.engine}"
    return "\n".join([head, *refused, *(f"  {line}" for line in told.splitlines())])


def _choice(derivative: Derivative, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """How the types of this call are answered; None where it has numbers of outer levels."""
    if holds_carriers((*args, *kwargs.values())):
        return None
    given = derivative.types_of(args, kwargs)
    try:
        derivative.compile(given)
    except UnsupportedError:
        if given not in derivative.choices:
            raise
    return derivative.choices[given]
