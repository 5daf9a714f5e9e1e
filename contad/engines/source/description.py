"""What a generated derivative does, in words: loops that are reversed at once; what others store, and compute again."""

from typing import Any

from contad.engines.source.build import derivative_of
from contad.engines.source.ir.single_assignment import FLOAT, Apply, Load, Loop, MatrixCall, Value
from contad.engines.source.ir.walks import around, walk
from contad.engines.source.planning.parts import PART
from contad.engines.source.writing.called_reverse import find_used
from contad.engines.source.writing.derivative_text import DerivativeWriter

BYTES = 8  # of a number in the workspace


def explain(request: Any) -> str:
    """A line for each loop with a reverse, indented as the loops are nested.

    Numbers have the names of the source, which are the user's where there are any.
    """
    derivative = derivative_of(request)
    derivative.source()
    what = {"jvp": "forward mode", "hvp": "the reverse pass of forward mode"}.get(request.mode, "the reverse pass")
    lines = [f"{what} is source made from that of the function; contad.source shows it"]
    loops = [o for o in walk(derivative.program.block) if isinstance(o, Loop) and derivative.adjoints.active.changes(o)]
    lines += [_tell(derivative, loop) for loop in loops]
    grows = any(derivative.reverse_sweep.storing.slots(loop) for loop in loops)
    active = derivative.adjoints.active
    keeps = [o for o in walk(derivative.program.block) if isinstance(o, MatrixCall) and active.changes(o)]
    grows |= any(isinstance(holder, Loop) for o in keeps for holder in around(o.block))
    parts = f"{derivative.program.name}{PART}"
    divided = sum(called.program.name == parts for called in find_used(derivative))
    if divided:
        lines.append(f"{derivative.program.name} is long: {divided} parts of it are functions of their own")
    for called in find_used(derivative):
        how = "forwards and backwards" if called.has_reverse else "for its value"
        if called.program.name != parts:
            lines.append(f"{called.program.name} is called, {how}, not written in place")
        grows |= any(
            called.reverse_sweep.storing.slots(o)
            for o in walk(called.program.block)
            if isinstance(o, Loop) and o is not called.body
        )
    if not grows:
        lines.append("memory does not grow with the number of iterations")
    return "\n".join(lines)


def _tell(derivative: DerivativeWriter, loop: Loop) -> str:
    """The line on one loop."""
    depth = sum(isinstance(o, Loop) for o in around(loop.block))
    head = f"{'  ' * depth}line {loop.line}: the loop "
    if loop in derivative.plan.fused:
        return head + "is reversed iteration by iteration, as it runs; it stores nothing"
    slots = derivative.reverse_sweep.storing.slots(loop)
    told = "stores nothing"
    if slots:
        numbers = "1 number" if len(slots) == 1 else f"{len(slots)} numbers"
        told = f"stores {numbers} ({BYTES * len(slots)} bytes) in each iteration: {', '.join(map(_show, slots))}"
    again = [v for v in derivative.plan.recomputed.get(loop, ()) if v.kind == FLOAT and isinstance(v.operation, Apply)]
    if again:
        told += f"; computes again {', '.join(sorted(map(_show, again)))}"
    return head + told


def _show(value: Value) -> str:
    """A number by its name; one without a name of the user's also by where it comes from."""
    made = value.operation
    if value.hint or not isinstance(made, (Apply, Load)):
        return value.name
    what = made.function.name if isinstance(made, Apply) else f"of {made.array.name}"
    return f"{value.name} ({what}, line {made.line})"
