"""Which engine answers a call of a derivative, why, and what it does."""

import functools
from typing import Any

from numba import types

from contad.engines import COMPILED, DEFAULT, compiled_engine
from contad.errors import UnsupportedError
from contad.front.choice import describe_refusal, reason
from contad.front.derivative import Derivative
from contad.front.explained import Explanation
from contad.front.plan import plan
from contad.numba_functions.request import Request
from contad.variables.open_types import Nested, NumbaType, Options
from contad.variables.trees import holds_carriers


def engine_for(derivative: Derivative, args: tuple[Nested, ...], kwargs: Options) -> str:
    """The name of the engine that answers this call."""
    choice = _choice(derivative, args, kwargs)
    return (choice and choice.engine) or DEFAULT


def explain_call(derivative: Derivative, args: tuple[Nested, ...], kwargs: Options) -> Explanation:
    """Lines of text: the engine that answers this call, why earlier ones refuse, what it does and stores."""
    choice = _choice(derivative, args, kwargs)
    if choice is None:
        text = (
            f"{derivative.what}: engine {DEFAULT}, on a Python copy of the function: the call is inside another "
            "derivative, and compiled engines take first derivatives only"
        )
        return Explanation.of(text, DEFAULT)
    given = derivative.types_of(args, kwargs)
    refusals = [(name, _reason_now(derivative, given, name, why)) for name, why in choice.refusals]
    why_not = [f"  {describe_refusal(name, why)}" for name, why in refusals]
    shown = ", ".join(str(t.value if isinstance(t, types.Omitted) else t) for t in given)
    if choice.engine is None:
        head = f"{derivative.what}({shown}): engine {DEFAULT}, on a Python copy of the function"
        return Explanation.of("\n".join([head, *why_not]), DEFAULT, refusals)
    request = plan(derivative.f, derivative.form, given, derivative.what).request
    engine = compiled_engine(choice.engine)
    told = engine.explain(request)
    head = f"{derivative.what}({shown}): engine {choice.engine}"
    lines = told.splitlines()
    if derivative.overloads[given].library.has_dynamic_globals:
        lines.append(
            "each process compiles anew: machine code with the address of a global array of more than 1 MB, or of a "
            "function that is an argument, is not kept; pass the array as an argument"
        )
    if choice.lanes:
        lines.append(f"{_describe_lanes(derivative, given)} at once")
    elif choice.one_direction:
        lines.append(f"one direction at a time: {choice.one_direction}")
    text = "\n".join([head, *why_not, *(f"  {line}" for line in lines)])
    find_loops = None if engine.loops is None else functools.partial(engine.loops, request)
    return Explanation.of(text, choice.engine, refusals, find_loops)


def _describe_lanes(derivative: Derivative, given: tuple[NumbaType, ...]) -> str:
    """The number of columns or rows computed at once."""
    several = plan(derivative.f, derivative.form, given, derivative.what, lanes=True)
    requests = [several.request, *([] if several.along is None else [several.along[0]])]
    return " or ".join(f"{r.lanes} {'rows' if r.mode == 'vjp' else 'columns'}" for r in requests if r.lanes > 1)


def source_of(derivative: Derivative, args: tuple[Nested, ...], kwargs: Options) -> str:
    """The source that the engine `generated`, or the requested engine, makes for this call."""
    if holds_carriers((*args, *kwargs.values())):
        raise UnsupportedError(f"source: {derivative.what}: the call is inside another derivative; ask outside of it")
    name = derivative.engine or COMPILED[0]
    write = compiled_engine(name).source
    if write is None:
        raise UnsupportedError(f"source: {derivative.what}: the engine {name} generates no source; explain tells of it")
    return write(_request_of(derivative, derivative.types_of(args, kwargs)))


def _request_of(derivative: Derivative, given: tuple[NumbaType, ...]) -> Request:
    """The request to an engine: several directions at once, unless it refuses them."""
    one, several = (plan(derivative.f, derivative.form, given, derivative.what, lanes) for lanes in (False, True))
    if several.has_lanes:
        try:
            compiled_engine(COMPILED[0]).explain(several.request)
        except UnsupportedError:
            return one.request
    return several.request


def _reason_now(derivative: Derivative, given: tuple[NumbaType, ...], name: str, why: str) -> str:
    """Why an engine refuses; with the present lines of the user's file if the refusal came from the cache."""
    if not name:
        return why
    try:
        compiled_engine(name).explain(plan(derivative.f, derivative.form, given, derivative.what).request)
    except Exception as error:  # as `choose` takes them
        return reason(error)
    return why


def _choice(derivative: Derivative, args: tuple[Nested, ...], kwargs: Options) -> Any:
    """The choice for the types of this call; None if it has numbers of outer levels."""
    if holds_carriers((*args, *kwargs.values())):
        return None
    given = derivative.types_of(args, kwargs)
    try:
        derivative.compile(given)
    except UnsupportedError:
        if given not in derivative.choices:
            raise
    return derivative.choices[given]
