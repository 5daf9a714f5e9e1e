"""Array records in Python: the sweep on numbers of outer levels by the rule bodies, and the display."""


import numpy as np

from contad.engines.matrix.array_var import ArraySlab
from contad.engines.stream.plain_arrays import strides_of
from contad.engines.stream.pullbacks import Continuation
from contad.engines.stream.record_stream import CELL_BYTES, RECORD_BYTES
from contad.engines.stream.storage import (
    CALLBACK,
    DOT,
    GATHER,
    INPUT,
    LINEAR,
    PULLBACK,
    STRIDED,
    SUM,
    VARIANTS,
    X_NUMBER,
    Y_NUMBER,
    decode,
)
from contad.engines.stream.sweep import OPERATIONS
from contad.variables.adjoints import Adjoints
from contad.variables.number import scale
from contad.variables.open_types import AdjointVector, Real, Value
from contad.variables.stack import Footprint, Row

MOST_SOURCES = 1000  # sources of a record in a list


def sweep_row(stack: ArraySlab, row: int, k: int, top: int, adjoints: AdjointVector) -> int:
    """Propagate the adjoints of one array record, whose last cell is k; returns the number of its own cells."""
    buffers = stack.buffers
    head, x, y = buffers.records[row].tolist()
    code, form, n = decode(head)
    first = k - n + 1
    shape = strides_of(buffers.shapes, form, first, n, x, y)
    z0, outer, inner, z_outer, z_inner, x0, x_outer, x_inner, y0, y_outer, y_inner = shape
    if code == INPUT or z0 > top:
        return n
    if code == CALLBACK:
        stack.running = first
        stack.callbacks[int(x)](Adjoints(stack, adjoints, first))
        return n
    live = adjoints.live(
        _cells(z0, z_outer, z_inner, outer, inner) if code not in (PULLBACK, GATHER) else slice(z0, z0 + n)
    )
    if not live.any():
        return n
    if code == PULLBACK:
        stack.callbacks[int(x)](Adjoints(stack, adjoints, first))
        return n
    if code == GATHER:
        source = buffers.shapes[int(x) : int(x) + n][live]
        adjoints.add(source, adjoints[first + np.flatnonzero(live)])
        return n
    cells = [
        _cells(*numbers, outer, inner)
        for numbers in ((z0, z_outer, z_inner), (x0, x_outer, x_inner), (y0, y_outer, y_inner))
    ]
    z_bar = adjoints[cells[0]]
    if code == LINEAR:
        _accumulate(adjoints, cells[1], (x_outer, x_inner), scale(z_bar, buffers.constants[cells[2]]), live)
        return n
    rule, active = OPERATIONS[code]
    numbers = {(X_NUMBER, 0): x, (Y_NUMBER, 1): y}  # in the record itself
    values = [
        numbers[form, at]
        if (form, at) in numbers
        else (buffers.values if kind == "v" else buffers.constants)[cells[at + 1]]
        for at, kind in enumerate(active)
    ]
    z = buffers.values[cells[0]]
    for at, kind in enumerate(active):
        if kind == "v":
            c = rule.product(at)(z_bar, rule.array_partial(at)(z, *values))
            _accumulate(adjoints, cells[at + 1], ((x_outer, x_inner), (y_outer, y_inner))[at], c, live)
    return n


def _cells(start: int, outer_step: int, inner_step: int, outer: int, inner: int) -> np.ndarray:
    return start + np.add.outer(np.arange(outer) * outer_step, np.arange(inner) * inner_step)


def _accumulate(adjoints: AdjointVector, cells: np.ndarray, steps: tuple[int, int], c: Value, live: np.ndarray) -> None:
    """Add to cells that repeat along axes with step 0; dead elements, which are plain zeros, add nothing."""
    if not live.all():
        c = np.where(live, c, 0.0)
    for axis, step in enumerate(steps):
        if step == 0 and cells.shape[axis] > 1:
            cells = cells.take([0], axis)
            c = np.sum(c, axis=axis, keepdims=True)
            live = np.any(live, axis=axis, keepdims=True)
    adjoints.add_live(cells, c, live)


def array_row(stack: ArraySlab, row: int, k: int) -> Row:
    """One array record as `show_stack` prints it; k is its first cell."""
    head, x, y = stack.buffers.records[row].tolist()
    code, form, n = decode(head)
    name = OPERATIONS[code][0].name if code in OPERATIONS else VARIANTS[code]
    name = {SUM: "sum", DOT: "matmul"}.get(form, name)
    parents: tuple[Real, ...] = ()
    if code in (PULLBACK, CALLBACK):
        continuation = stack.callbacks[int(x)]
        name, parents = getattr(continuation, "name", name), getattr(continuation, "parents", ())
    elif code in OPERATIONS or code == LINEAR:
        active = OPERATIONS[code][1] if code in OPERATIONS else "v"
        if form == STRIDED:
            x, y = stack.buffers.shapes[[int(x) + 5, int(x) + 8]].tolist()
        fields = zip((x, y), active, strict=False)
        parents = tuple(int(field) for field, kind in fields if kind == "v")
    return Row(k, name, parents, (), stack.buffers.values[k : k + n].copy())


def array_footprint(stack: ArraySlab, row: int) -> Footprint:
    """The bytes of one array record and of the numbers that its continuation saves, without data beside the records."""
    head, x, _ = stack.buffers.records[row].tolist()
    code, _, n = decode(head)
    size = RECORD_BYTES + CELL_BYTES * n
    sources: tuple[int, ...] = ()
    if code == GATHER:
        sources = tuple(stack.buffers.shapes[int(x) : int(x) + min(n, MOST_SOURCES)].tolist())
    elif code == PULLBACK and isinstance(found := stack.callbacks[int(x)], Continuation):
        size += found.saved_bytes()
    return Footprint(n, size, sources)
