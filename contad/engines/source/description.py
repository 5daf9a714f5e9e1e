"""Describes a generated derivative: its source, what its loops store and recompute, and which they reverse at once."""

import math
import sys
import textwrap
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from contad.engines.source.build import derivative_of
from contad.engines.source.ir.ssa import FLOAT, Apply, For, Load, Loop, MatrixCall, Segments, Value
from contad.engines.source.ir.walks import around, walk
from contad.engines.source.planning.parts import PART
from contad.engines.source.planning.segments import why_not
from contad.engines.source.writing.called_reverse import find_used
from contad.engines.source.writing.derivative_text import DerivativeWriter

BYTES = 8  # of a number in the workspace


class StoredNumber(NamedTuple):
    """A number that each iteration of a loop stores."""

    shown: str
    file: str
    line: int  # the line that computes it


class ReversedLoop(NamedTuple):
    """A loop that the reverse sweep runs through: what each iteration stores, and what the reverse sweep recomputes."""

    file: str
    line: int
    depth: int  # the number of loops around it
    is_fused: bool  # each iteration is reversed as soon as it has run
    stored: tuple[StoredNumber, ...]
    again: tuple[str, ...]
    kept: tuple[str, ...] | None = None  # of a checkpointed loop: what is kept at the start of a segment
    why_not: str = ""  # of a loop that is marked, but cannot be checkpointed
    threads: str = ""  # of a prange in parallel code: whether threads share its iterations

    @property
    def bytes(self) -> int:
        """How many bytes an iteration stores."""
        return BYTES * len(self.stored)


def list_loops(request: Any) -> list[ReversedLoop]:
    """The loops of a function that have a reverse, in source order, without the loops of its callees."""
    derivative = derivative_of(request)
    derivative.source()
    return _list_loops(derivative)


def _list_loops(derivative: DerivativeWriter) -> list[ReversedLoop]:
    loops = (o for o in walk(derivative.function.block) if isinstance(o, Loop) and not isinstance(o, Segments))
    return [_describe(derivative, loop) for loop in loops if derivative.adjoints.active.changes(loop)]


def explain(request: Any) -> str:
    """A line for each loop with a reverse, indented as the loops are nested.

    Numbers have their names in the source, which are the user's where the user named them.
    """
    derivative = derivative_of(request)
    derivative.source()
    what = {"jvp": "forward mode", "hvp": "the reverse sweep of forward mode"}.get(request.mode, "the reverse sweep")
    lines = [f"{what} is source made from that of the function; contad.source shows it"]
    loops = _list_loops(derivative)
    lines += map(_tell, loops)
    grows = any(loop.stored or loop.kept is not None for loop in loops)
    active = derivative.adjoints.active
    keeps = [o for o in walk(derivative.function.block) if isinstance(o, MatrixCall) and active.changes(o)]
    grows |= any(isinstance(holder, Loop) for o in keeps for holder in around(o.block))
    parts = f"{derivative.function.name}{PART}"
    divided = sum(called.function.name == parts for called in find_used(derivative))
    if divided:
        lines.append(f"{derivative.function.name} is long: {divided} parts of it are functions of their own")
    for called in find_used(derivative):
        how = "forwards and backwards" if called.has_reverse else "for its value"
        if called.function.name != parts:
            lines.append(f"{called.function.name} is called, {how}, not written in place")
        grows |= any(
            called.reverse_sweep.storing.slots(o)
            for o in walk(called.function.block)
            if isinstance(o, Loop) and o is not called.body
        )
    if not grows:
        lines.append("memory does not grow with the number of iterations")
    return "\n".join(lines)


def _describe(derivative: DerivativeWriter, loop: Loop) -> ReversedLoop:
    """One loop, as the store plan treats it."""
    fused = loop in derivative.plan.fused
    holders = [o for o in around(loop.block) if isinstance(o, Loop)]
    segments = next((o for o in holders if isinstance(o, Segments)), None)
    depth = len(holders) - (segments is not None)
    kept: tuple[str, ...] | None = None
    if segments is not None and segments is holders[0]:
        kept = tuple(dict.fromkeys(c.inner.hint or c.inner.name for c in segments.carried))
        kept += tuple(f"{'rows' if k.axis >= 0 else 'all'} of {k.array.name}" for k in segments.kept)
    refused = why_not(loop) if isinstance(loop, For) and loop.checkpointed and segments is None and not fused else ""
    stored: list[StoredNumber] = []
    again: list[str] = []
    if not fused:
        for value in derivative.reverse_sweep.storing.slots(loop):
            made = value.operation or loop
            stored.append(StoredNumber(_show(value), made.file, made.line))
        values = derivative.plan.recomputed.get(loop, ())
        again = sorted(_show(v) for v in values if v.kind == FLOAT and isinstance(v.operation, Apply))
    threads = _tell_threads(derivative, loop)
    return ReversedLoop(loop.file, loop.line, depth, fused, tuple(stored), tuple(again), kept, refused, threads)


def _tell_threads(derivative: DerivativeWriter, loop: Loop) -> str:
    """Whether threads share the iterations of a loop, forwards and backwards; if not, why."""
    if not isinstance(loop, For) or not loop.is_parallel:
        return ""
    found = [(shared.is_reverse, why) for shared, why in derivative.shared_reasons if shared.loop is loop]
    heads = derivative.reverse_sweep.forward_sweep.shared
    if not heads.enabled:
        return "it runs in order: threads share loops in the reverse mode of one direction alone"
    if loop in heads.serial:
        return f"it runs in order: {heads.serial[loop]}"
    ways = {"forwards" if not reverse else "backwards": why for reverse, why in found}
    serial = dict.fromkeys(why for why in ways.values() if why)
    if not ways:
        return "" if any(isinstance(x, For) and x.is_parallel for x in around(loop.block)) else "it runs in order"
    if not serial:
        return "threads share its iterations"
    order = [f"{way}: {why}" for way, why in ways.items() if why]
    shared = [way for way, why in ways.items() if not why]
    return "; ".join([*(f"threads share its iterations {way}" for way in shared), *(f"in order {x}" for x in order)])


def _tell(loop: ReversedLoop) -> str:
    """The line that describes one loop."""
    head = f"{'  ' * loop.depth}line {loop.line}: the loop "
    threads = f"; {loop.threads}" if loop.threads else ""
    if loop.is_fused:
        return head + "is reversed iteration by iteration, as it runs; it stores nothing" + threads
    told = "stores nothing"
    if loop.stored:
        n = len(loop.stored)
        numbers = "1 number" if n == 1 else f"{n} numbers"
        told = f"stores {numbers} ({loop.bytes} bytes) in each iteration: {', '.join(x.shown for x in loop.stored)}"
    if loop.again:
        told += f"; computes again {', '.join(loop.again)}"
    if loop.kept is not None:
        kept = f"keeps {', '.join(loop.kept)}" if loop.kept else "keeps nothing"
        told = (
            f"is checkpointed, in segments of about the root of its length: {kept} where one begins; inside it {told}"
        )
    if loop.why_not:
        told += f"; it is marked, and not checkpointed: {loop.why_not}"
    return head + told + threads


def _show(value: Value) -> str:
    """The name of a number; if the user did not name it, also where it comes from."""
    made = value.operation
    if value.hint or not isinstance(made, (Apply, Load)):
        return value.name
    what = made.function.name if isinstance(made, Apply) else f"of {made.array.name}"
    return f"{value.name} ({what}, line {made.line})"


# ---- source ----------------------------------------------------------------------------------------------------------
_SHORT = 64  # longer arrays are not written out


def source(request: Any) -> str:
    """The source of `run`, as a module that imports only NumPy and contad."""
    derivative = derivative_of(request)
    head, separator, body = derivative.source().partition("\n\n\ndef run(")
    arrays = [_definition(name, array, request.function) for name, array in derivative.constants().items()]
    return "\n".join([head, *(["", *arrays] if arrays else [])]) + separator + body


def _definition(name: str, array: Any, function: FunctionType) -> str:
    """A statement that binds the name to an array, written out, or to a function, imported."""
    what = f"an array of {array.dtype}, shape {array.shape}" if isinstance(array, np.ndarray) else "a function"
    if isinstance(array, np.ndarray) and array.size <= _SHORT:
        text = f'{name} = np.array({_numbers(array.tolist())}, "{array.dtype}")'
        return "\n    ".join(textwrap.wrap(text, 116))
    module = sys.modules.get(function.__module__)
    for known, value in vars(module).items() if module is not None else ():
        if value is array:
            return f"from {function.__module__} import {known}" + (f" as {name}" if known != name else "")
    return f"# {name} is {what}, which {function.__name__} {'reads' if isinstance(array, np.ndarray) else 'calls'}"


def _numbers(x: Any) -> str:
    """Nested lists of numbers as source."""
    if isinstance(x, list):
        return f"[{', '.join(map(_numbers, x))}]"
    return repr(x) if math.isfinite(x) else f"{'-' if x < 0.0 else ''}np.{'nan' if x != x else 'inf'}"
