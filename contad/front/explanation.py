"""Which engine answers a call of a derivative, why, and what it does. Numba is imported on first use."""

import functools
import linecache
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from contad.engines import COMPILED, DEFAULT, compiled_engine
from contad.errors import UnsupportedError
from contad.variables.open_types import Nested, NumbaType, Options
from contad.variables.trees import holds_carriers

if TYPE_CHECKING:
    from contad.front.derivative import Derivative
    from contad.numba_functions.request import Request


class Explanation(str):
    """Which engine answers, why others refuse, and what the engine does, as text; in a notebook also a table of loops.

    `engine` is its name, and `refusals` are pairs (engine, reason). For a generated derivative, `loops` has an entry
    for each loop of the function: line, numbers stored in each iteration, numbers recomputed.
    """

    engine: str
    refusals: tuple[tuple[str, str], ...]
    _find_loops: Callable[[], Sequence[Any]] | None

    @classmethod
    def of(
        cls, text: str, engine: str, refusals: Sequence[tuple[str, str]] = (),
        find_loops: Callable[[], Sequence[Any]] | None = None,
    ) -> "Explanation":  # fmt: skip
        """An explanation with these parts."""
        told = cls(text)
        told.engine, told.refusals, told._find_loops = engine, tuple(refusals), find_loops
        return told

    @functools.cached_property
    def loops(self) -> Sequence[Any]:
        """The loops that the reverse sweep runs through."""
        return self._find_loops() if self._find_loops is not None else ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from contad.display.markup import code_block, element, fold, page, paragraph, table

        head, _, rest = self.partition("\n")
        parts = []
        for engine, why in self.refusals:
            parts.append(paragraph(element("b", engine or "no engine"), f" refuses: {why}"))
        if self.loops:
            files = {loop.file for loop in self.loops}
            rows = []
            for loop in self.loops:
                stored = ", ".join(x.shown for x in loop.stored) or "nothing"
                how = "iteration by iteration, as it runs" if loop.is_fused else "after it has run"
                place = f"{loop.line}" if len(files) == 1 else f"{os.path.basename(loop.file)}:{loop.line}"
                source = linecache.getline(loop.file, loop.line).rstrip()
                rows.append([place, source, how, stored, loop.bytes, ", ".join(loop.again)])
            columns = ["line", "loop", "is reversed", "stores in each iteration", "bytes", "computes again"]
            parts.append(table(columns, rows, left="is reversed,stores in each iteration,computes again", code="loop"))
        if rest:
            parts.append(fold("in words", code_block(rest)))
        return page(head, *parts)


def engine_for(derivative: "Derivative", args: tuple[Nested, ...], kwargs: Options) -> str:
    """The name of the engine that answers this call."""
    choice = _choice(derivative, args, kwargs)
    return (choice and choice.engine) or DEFAULT


def explain_call(derivative: "Derivative", args: tuple[Nested, ...], kwargs: Options) -> Explanation:
    """Lines of text: the engine that answers this call, why earlier ones refuse, what it does and stores."""
    from numba import types

    from contad.front.choice import describe_refusal

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
    request = derivative.plan_for(given).request
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


def _describe_lanes(derivative: "Derivative", given: tuple[NumbaType, ...]) -> str:
    """The number of columns or rows computed at once."""
    several = derivative.plan_for(given, lanes=True)
    requests = [several.request, *([] if several.along is None else [several.along[0]])]
    return " or ".join(f"{r.lanes} {'rows' if r.mode == 'vjp' else 'columns'}" for r in requests if r.lanes > 1)


def source_of(derivative: "Derivative", args: tuple[Nested, ...], kwargs: Options) -> str:
    """The source that the engine `generated`, or the requested engine, makes for this call."""
    if holds_carriers((*args, *kwargs.values())):
        raise UnsupportedError(f"source: {derivative.what}: the call is inside another derivative; ask outside of it")
    name = derivative.engine or COMPILED[0]
    write = compiled_engine(name).source
    if write is None:
        raise UnsupportedError(f"source: {derivative.what}: the engine {name} generates no source; explain tells of it")
    return write(_request_of(derivative, derivative.types_of(args, kwargs)))


def _request_of(derivative: "Derivative", given: tuple[NumbaType, ...]) -> "Request":
    """The request to an engine: several directions at once, unless it refuses them."""
    one, several = (derivative.plan_for(given, lanes) for lanes in (False, True))
    if several.has_lanes:
        try:
            compiled_engine(COMPILED[0]).explain(several.request)
        except UnsupportedError:
            return one.request
    return several.request


def _reason_now(derivative: "Derivative", given: tuple[NumbaType, ...], name: str, why: str) -> str:
    """Why an engine refuses; with the present lines of the user's file if the refusal came from the cache."""
    from contad.front.choice import reason

    if not name:
        return why
    try:
        compiled_engine(name).explain(derivative.plan_for(given).request)
    except Exception as error:  # as `choose` takes them
        return reason(error)
    return why


def _choice(derivative: "Derivative", args: tuple[Nested, ...], kwargs: Options) -> Any:
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
