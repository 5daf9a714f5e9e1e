"""The table of a stack in a notebook: adjoints, memory by operation, and the graph of data dependences."""

import bisect
from typing import Protocol

import numpy as np

from contad.display.graph_picture import Arrow, Box, draw_graph
from contad.display.markup import Markup, fold, page, paragraph, show_bytes, table
from contad.variables.array import Array
from contad.variables.number import Number, peek
from contad.variables.open_types import Value
from contad.variables.stack import Footprint, Row

MOST_DRAWN = 40  # records of a graph that a person can read
_MOST_LABELLED = 24  # arrows whose labels do not overlap
_MOST_ROWS = 200
_SHORT = 26  # characters of a value in a box


class ShownStack(Protocol):
    """The displayed data of a stack: see `StackTable`."""

    rows: list[Row]
    footprints: list[Footprint]
    adjoints: list[Value]
    shared_bytes: int
    engine: str

    @property
    def bytes(self) -> int:
        """The memory of all records."""


def write_stack(stack: ShownStack) -> str:
    """The HTML of a table of the stack."""
    n = len(stack.rows)
    swept = bool(stack.adjoints)
    title = f"{n} record{'' if n == 1 else 's'} on a stack of the engine {stack.engine}, {show_bytes(stack.bytes)}"
    parts: list[Markup] = []
    if 0 < n <= MOST_DRAWN:
        parts.append(draw(stack))
    head = ["index", "operation", "parents", "partials", "value", *(["adjoint"] if swept else []), "bytes"]
    rows = []
    for k, row in enumerate(stack.rows[:_MOST_ROWS]):
        adjoint = [show(stack.adjoints[k])] if swept else []
        partials = " ".join(map(show, row.partials))
        size = stack.footprints[k].bytes
        rows.append([row.index, row.operation, show_parents(row), partials, show(row.value), *adjoint, size])
    left = "operation,parents,partials,value,adjoint"
    parts.append(table(head, rows, left=left))
    if n > _MOST_ROWS:
        parts.append(paragraph(f"The first {_MOST_ROWS} of {n} records; print(...) shows all."))
    if stack.shared_bytes:
        parts.append(
            paragraph(f"Beside the records: {show_bytes(stack.shared_bytes)} of constants, strides and lists of cells.")
        )
    parts.append(fold("memory by operation", _memory(stack)))
    if not swept:
        parts.append(paragraph("No adjoints: the stack has not been swept."))
    return page(title, *parts)


def _memory(stack: ShownStack) -> Markup:
    """A line for each operation: its count, cells and bytes; the largest first."""
    found: dict[str, list[int]] = {}
    for row, footprint in zip(stack.rows, stack.footprints, strict=True):
        total = found.setdefault(row.operation, [0, 0, 0])
        for k, x in enumerate((1, footprint.cells, footprint.bytes)):
            total[k] += x
    largest = sorted(found.items(), key=lambda pair: -pair[1][2])
    rows = [[name, *total] for name, total in largest]
    return table(["operation", "records", "cells", "bytes"], rows, left="operation")


def draw(stack: ShownStack) -> Markup:
    """The graph: a box for each record, an arrow from each parent with its partial."""
    numbers: dict[int, int] = {}  # of boxes, by row
    starts: list[int] = []
    boxes: list[Box] = []
    arrows: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for k, row in enumerate(stack.rows):
        footprint = stack.footprints[k]
        if footprint.cells:  # else it belongs to the record before it: the partials of another operand
            numbers[k] = len(boxes)
            starts.append(row.index)
            boxes.append(_box(stack, k))
        target = len(boxes) - 1
        partials = list(row.partials)
        for p in row.parents or footprint.sources:
            if not isinstance(p, int):
                continue
            partial = show(partials.pop(0)) if partials else ""
            if not 0 < p < starts[target]:
                continue
            source = bisect.bisect_right(starts, p) - 1
            start = starts[source]
            whose = boxes[source].lines[0] + (f" (cell {p})" if p > start else "")
            told = f"{whose} \u2192 {boxes[target].lines[0]}" + (f": partial {partial}" if partial else "")
            arrows.setdefault((source, target), []).append((partial, told))
    read = {source for source, _ in arrows}
    boxes = [box if box.tint or k in read else box._replace(tint="result") for k, box in enumerate(boxes)]
    labelled = len(arrows) <= _MOST_LABELLED
    drawn = []
    for (source, target), pairs in arrows.items():
        whole = list(dict.fromkeys(more for _, more in pairs))
        label = " + ".join(partial for partial, _ in pairs if partial)  # an operand used twice has two
        more = "\n".join(whole[:8]) + ("\n..." if len(whole) > 8 else "")
        drawn.append(Arrow(source, target, label if labelled and len(label) < _SHORT else "", more))
    return draw_graph(boxes, drawn, "what was computed from what")


def _box(stack: ShownStack, k: int) -> Box:
    row, footprint = stack.rows[k], stack.footprints[k]
    value = show(row.value)
    shape = f", {footprint.cells} cells" if footprint.cells > 1 else ""
    more = f"record {k + 1}, cell {row.index}{shape}: {row.operation}\nvalue {value}"
    lines = [f"{row.index} {row.operation}", _shorten(value)]
    constants = [show(p) for p in row.parents if not isinstance(p, int)]
    if constants:
        more += f"\nwith the constant {', '.join(constants)}"
        lines[0] += f" [{_shorten(', '.join(constants), 12)}]"
    if stack.adjoints:
        adjoint = show(stack.adjoints[k])
        more += f"\nadjoint {adjoint}"
        lines.append(_shorten(f"adj {adjoint}"))
    more += f"\n{show_bytes(footprint.bytes)}"
    return Box(tuple(lines), more, "input" if row.operation == "input" else "")


def _shorten(text: str, most: int = _SHORT) -> str:
    return text if len(text) <= most else text[: most - 1] + "\u2026"


# ---- values of records -----------------------------------------------------------------------------------------------
def show_parents(row: Row) -> str:
    """The parents of a record: cells, and constants in brackets."""
    return " ".join(str(p) if isinstance(p, int) else f"[{show(p)}]" for p in row.parents)


def show(x: Value) -> str:
    """Six digits; the kind marks a number of an outer level; long arrays show the beginning and the end."""
    if isinstance(x, Array):
        return f"{show(peek(x))}:{x.kind}"
    if isinstance(x, str):  # instead of a value that nobody keeps
        return x
    if isinstance(x, np.ndarray):
        return np.array2string(x, precision=6, threshold=6, edgeitems=2).replace("\n", "")
    return f"{peek(x):.6g}" + (f":{x.kind}" if isinstance(x, Number) else "")
