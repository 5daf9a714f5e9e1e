"""A recorded program in a notebook: its traces, guards and operations."""

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from contad.display.markup import Markup, element, fold, paragraph, show_bytes, table
from contad.engines.stream.storage import LINEAR
from contad.functions.transformed import list_arguments, write_function
from contad.programs.codes import (
    ARRAY,
    CALL,
    COMPARE,
    CONSTANT,
    GATHER,
    GUARDS,
    KERNEL_RECORDS,
    PRODUCT,
    REPEATED,
    SCALARS,
    STOP,
    STOPPED,
)
from contad.programs.more_axes import CODE_OF
from contad.programs.trace import Trace
from contad.variables.open_types import Function

_OWN = {
    CONSTANT: "constant", STOP: "stop", STOPPED: "stop (array)", PRODUCT: "product of matrices",
    GATHER: "gather", COMPARE: "guard (array)", ARRAY + LINEAR: "linear (array)",
}  # fmt: skip
_MOST_GUARDS = 40


class ShownProgram(Protocol):
    """The attributes of a program that are shown: see `Program`."""

    __name__: str
    f: Function
    argnums: tuple[int, ...]
    traces: list[Trace]
    retrace: bool
    inputs: Any

    @property
    def python_rules(self) -> Sequence[str]:
        """The names of the rules that Python runs."""


def write_program(program: ShownProgram) -> str:
    """The HTML of a program."""
    ways = "one way" if len(program.traces) == 1 else f"{len(program.traces)} ways"
    facts = [
        ("recorded arguments", list_arguments(program.f, program.argnums)),
        ("numbers of inputs", program.inputs.size),
        ("ways", f"{ways}; {'others are added' if program.retrace else 'others raise GuardError'}"),
        ("rules run by Python", ", ".join(program.python_rules) or "none"),
    ]
    rows = [
        [
            k + 1, len(trace.code), _count_guards(trace), trace.cells, show_bytes(size_of(trace)),
            show_bytes(16 * trace.cells + 8 * trace.saved),
        ]
        for k, trace in enumerate(program.traces)
    ]  # fmt: skip
    parts = [table(["way", "records", "guards", "cells", "kept", "memory of a run"], rows)]
    parts += [fold(f"operations of way {k + 1}", _operations(trace)) for k, trace in enumerate(program.traces[:8])]
    guards = [(k, row, trace) for k, trace in enumerate(program.traces) for row in sorted(trace.places)]
    if guards:
        told = [element("li", f"way {k + 1}: {_shorten(trace, row)}") for k, row, trace in guards[:_MOST_GUARDS]]
        if len(guards) > _MOST_GUARDS:
            told.append(element("li", f"and {len(guards) - _MOST_GUARDS} more"))
        parts.append(fold("guards", element("ul", *told)))
    else:
        parts.append(paragraph("Nothing is guarded: the function decides nothing by its inputs."))
    return write_function(f"contad.record: {program.__name__}", program.f, facts, *parts)


def size_of(trace: Trace) -> int:
    """The bytes of the records of a trace, with their constants and shapes."""
    return int(trace.code.nbytes + trace.constants.nbytes + trace.shapes.nbytes)


def count_operations(trace: Trace) -> dict[str, int]:
    """The number of records of each operation."""
    found: dict[str, int] = {}
    for code, x in trace.code[:, :2].tolist():
        name = _name_of(code, x, trace)
        found[name] = found.get(name, 0) + 1
    return found


def _name_of(code: int, x: int, trace: Trace) -> str:
    if code == CALL:
        return f"{trace.calls[x].rule.name} (Python)"
    if code in GUARDS:
        return "guard"
    if code == REPEATED:
        code = ARRAY + int(trace.shapes[x + CODE_OF])
    if code in _OWN:
        return _OWN[code]
    if code in KERNEL_RECORDS:
        return KERNEL_RECORDS[code]
    if code in SCALARS:
        return str(SCALARS[code][0].name)
    known = SCALARS.get(code - ARRAY)
    return f"{known[0].name} (array)" if known else f"operation {code}"


def _operations(trace: Trace) -> Markup:
    found = sorted(count_operations(trace).items(), key=lambda pair: -pair[1])
    return table(["operation", "records"], found, left="operation")


def _count_guards(trace: Trace) -> int:
    return int(np.isin(trace.code[:, 0], [*GUARDS, COMPARE]).sum())


def _shorten(trace: Trace, row: int) -> str:
    """The description of a guard, without the folders of its file."""
    file = str(trace.places[row][0])
    return trace.describe_guard(row).replace(file, os.path.basename(file))
