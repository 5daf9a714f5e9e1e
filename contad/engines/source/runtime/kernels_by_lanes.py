"""Matrix kernels for operands or adjoints with lanes: values without lanes are computed, factored and kept once.

If only adjoints have lanes, the reverse of a kernel runs for each lane on the values that the forward kernel has kept
once. A solver takes the lanes of its right-hand side as additional columns, so it factors its matrix once. Other
functions run for each lane of an operand.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from contad.compile.overloads import add_overload, in_machine_code
from contad.engines.source.runtime.workspace import numbers
from contad.kernels.lanes import Lanes, LanesType, as_floats, lane_once, lane_spent, lane_view, numbers_of

OPERAND_BARS = ("a_bar", "b_bar", "ab_bar", "c_bar")  # parameters to which kernels add adjoints of operands
# typing functions of the functions that source calls; `call` is the kernel, compiled separately
_WITH_KEPT_ONCE = """
def typing({names}, work, top):
    count = max(map(lanes_in, ({names},)))
    if count == 0:
        return None

    def implementation({names}, work, top):
        found = top
        for lane in range(count):
            found = call({views}, work, top)
        return found

    return implementation
"""
_FORWARD = """
def typing({names}, work, top):
    count = max(map(lanes_in, ({names},)))

    def implementation({names}, work, top):
        for lane in range(count):
            work, top = call({views}, work, top)
        return work, top

    return implementation
"""
_REVERSE = """
def typing({names}, count, work, top):
    def implementation({names}, count, work, top):
        for lane in range(count - 1, -1, -1):
            top = call({views}, work, top)
        return top

    return implementation
"""
_FORWARD_SOLVE = """
def typing({names}, work, top):
    def implementation({names}, work, top):
        right, found = take_columns({right}), take_columns({found})
        work, top = call({views}, work, top)
        give_columns({found}, found)
        return work, top

    return implementation
"""
_REVERSE_SOLVE = """
def typing({names}, count, work, top):
    differing = max(map(lanes_in, ({names},)))

    def implementation({names}, count, work, top):
        size = {parts} * {first}.size
        base = top - size * count
        kept = numbers(work, top)[base:].copy()
        found = base
        for lane in range(max(differing, 1)):
            room = numbers(work, top)[base:]
            for i in range(size):
                room[i] = kept[i * count + lane]
            found = call({views}, work, base + size)
        return found

    return implementation
"""


# ---- called by source ------------------------------------------------------------------------------------------------
def take_lanes(call: Any) -> None:
    """Let the reverse of a kernel take adjoints with lanes."""
    _declare(call, _WITH_KEPT_ONCE, call, _views(call), call.parameters)


def forward_by_lanes(call: Any) -> Any:
    """A forward kernel for operands with lanes; it keeps values for each lane."""
    made = _forward(call)
    _declare(made, _FORWARD, call, [f"lane_view({x}, lane)" for x in call.parameters], call.parameters)
    return made


def reverse_by_lanes(call: Any) -> Any:
    """The reverse of `forward_by_lanes`: the number of lanes is an argument before the workspace."""
    made = _reverse(call)
    _declare(made, _REVERSE, call, _views(call), call.parameters)
    return made


def forward_solver(call: Any) -> Any:
    """The forward kernel of a solver whose second operand has lanes: they are columns of the last kept matrix."""
    names = call.parameters
    columns = ["right" if k == 1 else "found" if x == names[-1] else x for k, x in enumerate(names)]
    made = _forward(call)
    _declare(made, _FORWARD_SOLVE, call, columns, names, right=names[1], found=names[-1])
    return made


def reverse_solver(call: Any, parts: int = 1) -> Any:
    """The reverse of `forward_solver`, whose last `parts` kept matrices have the size of the solution.

    The number of lanes is an argument before the workspace.
    """
    names = call.parameters
    made = _reverse(call)
    _declare(made, _REVERSE_SOLVE, call, _views(call), names, first=names[0], parts=str(parts))
    return made


def _views(call: Any) -> list[str]:
    """The arguments of a reverse kernel for one lane, as expressions."""
    ways = dict.fromkeys(OPERAND_BARS, "lane_once") | dict.fromkeys(call.written, "lane_spent")
    return [f"{ways.get(x, 'lane_view')}({x}, lane)" for x in call.parameters]


def _declare(function: Any, template: str, call: Any, views: Sequence[str], names: Sequence[str], **words: str) -> None:
    """Declare the compiled version of a function."""
    known: dict[str, Any] = {
        "call": call, "numbers": numbers, "lanes_in": lanes_in, "lane_view": lane_view, "lane_once": lane_once,
        "lane_spent": lane_spent,
        "take_columns": take_columns, "give_columns": give_columns,
    }  # fmt: skip
    exec(template.format(names=", ".join(names), views=", ".join(views), **words), known)
    add_overload(function)(known["typing"])


def lanes_in(kind: Any) -> int:
    """The number of lanes of a Numba type; 0 for plain numbers."""
    kind = kind.dtype if isinstance(kind, types.Array) else kind
    return kind.count if isinstance(kind, LanesType) else 0


# ---- columns ---------------------------------------------------------------------------------------------------------
@in_machine_code
def take_columns(x):  # type: ignore[no-untyped-def]
    """Copy the lanes of a vector or a matrix to a matrix with a column for each lane of each column."""
    return as_floats(x).copy().reshape((x.shape[0], -1))


@in_machine_code
def give_columns(x, columns):  # type: ignore[no-untyped-def]
    """Write a matrix from `take_columns` back to the lanes."""
    floats = as_floats(x)
    floats[...] = columns.reshape(floats.shape)


# ---- in plain Python, where lanes are objects ------------------------------------------------------------------------
def count_lanes(given: Sequence[Any]) -> int:
    """The number of lanes of the arguments: 0 if all are plain numbers, 1 for arrays in which all lanes are equal."""
    found = [e for x in given if x is not None for e in np.ravel(x) if isinstance(e, Lanes)]
    return len(found[0].numbers) if found else int(any(_is_lanes(x) for x in given))


def _is_lanes(x: Any) -> bool:
    return np.ndim(x) > 0 and x.dtype == object


def run_lane(call: Any, given: Sequence[Any], lane: int, count: int, work: Any, top: int) -> Any:
    """Run a kernel of numbers for one lane, and write its results back into the lanes, which may share memory."""
    adds = [x in OPERAND_BARS for x in call.parameters]
    taken = [lane_once(x, lane) if a else lane_view(x, lane) for x, a in zip(given, adds, strict=True)]
    before = [np.copy(x) for x in taken]
    result = call(*taken, work, top)
    for x, old, new in zip(given, before, taken, strict=True):
        for index in zip(*np.nonzero(old != new), strict=True) if _is_lanes(x) else ():
            changed = np.zeros(count) + numbers_of(x[index])
            changed[lane] += new[index] - (old[index] if np.isfinite(old[index]) else 0.0)
            x[index] = Lanes(changed) if count > 1 else changed[0]
    return result


def _forward(call: Any) -> Callable[..., Any]:
    def forward(*args: Any) -> Any:
        *given, work, top = args
        count = count_lanes(given)
        for lane in range(count):
            work, top = run_lane(call, given, lane, count, work, top)
        return work, top

    return forward


def _reverse(call: Any) -> Callable[..., Any]:
    def reverse(*args: Any) -> Any:
        *given, count, work, top = args
        for lane in range(count - 1, -1, -1):
            top = run_lane(call, given, lane, count, work, top)
        return top

    return reverse
