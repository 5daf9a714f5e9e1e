"""The compiled reverse sweep over records, generated from the registry, with the bodies of the rules.

It covers the rules declared `core`; rules registered later and special functions store their partials instead, so this
function needs no SciPy symbol, does not grow with the library, and is compiled once per installation. Records of arrays
call the kernel of their operation (`kernels.py`) by its address.
"""

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import contad.ops  # noqa: F401  (declares the rules)
from contad.engines.stream import record_head
from contad.engines.stream.record_head import CELLS, CODES, VARIANTS
from contad.engines.stream.rule_functions import (
    COMMON,
    Run,
    find_runs,
    indent,
    number_operations,
    partial_of,
    write_accumulation,
    write_partials,
)
from contad.native.compiling import NJIT_OPTIONS, is_cached, load_cached, write_options
from contad.native.step_fields import ADJOINT
from contad.rules.scalar_rule import ScalarRule, rules

OPERATIONS = number_operations(len(VARIANTS), {rule for rule in rules() if rule.core})
_CODES = {operation: code for code, operation in OPERATIONS.items()}
assert max(OPERATIONS) < CODES


def operation_code(rule: ScalarRule, active: str) -> int | None:
    """The code of a rule of the sweep with this activity; None for rules that store their partials."""
    return _CODES.get((rule, active))


_HEAD = '''\
"""The reverse sweep over records; generated from the rules, do not edit."""

import math

import numpy as np

from contad.native.brief_calls import BorrowingCalls
from contad.native.machine_code import njit
from contad.native.named_code import attempt_call
from contad.native.number_lists import read_numbers
from contad.native.words import call_kernel


@njit("int64(float64[:, ::1], float64[:, ::1], float64[::1], int64, int64, int64)", {options})
def settle(staging, records, values, n, row, cell):
    """Move n staged records to the rows from `row`, the values of scalars to the cells from `cell`; the next cell."""
    for k in range(n):
        head = staging[k, 0]
        records[row + k, 0] = head
        records[row + k, 1] = staging[k, 1]
        records[row + k, 2] = staging[k, 2]
        if head >= 0.0:
            values[cell] = staging[k, 3]
            cell += 1
        else:
            cell += int(-head) // {cells}
    return cell


'''

_ALL = '''

@njit("UniTuple(int64, 2)(int64, int64, int64, int64, float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], "
      "int64[::1], float64[::1], uintp[::1], int64, int64, int64, int64, float64, int64)", {options_with_lock})
def read_and_sweep(
    floats, integers, numbers, n, staging, records, values, adjoints, shapes, constants, kernels, row, cell, end,
    seeded, seed, top
):
    """Read the n records that a list holds, `settle` them, then `sweep` with one adjoint that is not zero.

    (-2, 0) if a number is not plain, (-1, 0) if the next cell is not `end`. Python's lock is held meanwhile.
    """
    if not read_numbers(floats, integers, numbers, 4 * n, staging):
        return -2, 0
    if settle(staging, records, values, n, row, cell) != end:
        return -1, 0
    adjoints[:end] = 0.0
    adjoints[seeded] += seed
    return sweep(records, values, adjoints, shapes, constants, kernels, row + n - 1, end - 1, top)
'''

_SWEEP = '''\
@njit("UniTuple(int64, 2)(float64[:, ::1], float64[::1], float64[::1], int64[::1], float64[::1], uintp[::1], int64, "
      "int64, int64)", {options})
def sweep(records, values, adjoints, shapes, constants, kernels, row, k, top):
    """From `row`, whose last cell is k, down to row 0; stops where Python is needed, and returns the row and its cell.

    Records above cell `top` are passed over.
    """
    while row > 0:
        code = int(records[row, 0])
        if code < 0:
            n = -code // {cells}
            form = -code % {cells} // {codes}
            code = -code % {codes}
            first = k - n + 1
            z = first
            size = n
            slot = 11 * form
            if form == {strided}:
                slot = int(records[row, 1])
                z = shapes[slot]
                size = 1 + (shapes[slot + 1] - 1) * shapes[slot + 3] + (shapes[slot + 2] - 1) * shapes[slot + 4]
            if z <= top and code != 0:
                live = code == {callback}
                if not live:
                    for i in range(z, z + size):
                        if adjoints[i] != 0.0:
                            live = True
                            break
                if live:
                    if code == {gather}:
                        slot = int(records[row, 1])
                        for i in range(n):
                            adjoints[shapes[slot + i]] += adjoints[first + i]
                    elif code == {pullback} and records[row, 2] != 0.0 and shapes[int(records[row, 2])] == 0:  # a step
                        slot = int(records[row, 2])
                        for i in range(first, first + n):
                            if not abs(adjoints[i]) < math.inf:
                                return row, k
                        if attempt_call(np.uintp(shapes[slot + {adjoint}]), shapes[slot:].ctypes.data,
                                        values.ctypes.data, constants.ctypes.data, adjoints.ctypes.data):
                            return row, k
                    elif code == {callback} or kernels[code] == 0 or (code == {pullback} and records[row, 2] == 0.0):
                        return row, k
                    elif code == {pullback}:
                        call_kernel(kernels[code], shapes[int(records[row, 2]):].ctypes.data, values.ctypes.data,
                                    constants.ctypes.data, adjoints.ctypes.data)
                    else:
                        if form < {strided}:
                            shapes[slot] = first
                            shapes[slot + 2] = n
                            if form == {x_number}:
                                constants[1] = records[row, 1]
                            else:
                                shapes[slot + 5] = int(records[row, 1])
                            if form == {y_number}:
                                constants[1] = records[row, 2]
                            elif form == {sum}:
                                shapes[slot + 2] = int(records[row, 2])
                            elif form == {dot}:
                                shapes[slot + 8] = shapes[int(records[row, 2])]
                                shapes[slot + 2] = shapes[int(records[row, 2]) + 1]
                            else:
                                shapes[slot + 8] = int(records[row, 2])
                        call_kernel(kernels[code], shapes[slot:].ctypes.data, values.ctypes.data,
                                    constants.ctypes.data, adjoints.ctypes.data)
            k = first - 1
            row -= 1
            continue
        if k > top:
            k -= 1
            row -= 1
            continue
        d = adjoints[k]
        if code == {callback}:
            return row, k
        if d != 0.0:
            if code == {linear}:
                adjoints[int(records[row, 1])] += d * records[row, 2]
            elif code == {join}:
                adjoints[int(records[row, 1])] += d * records[row, 2]
                adjoints[k - 1] += d
'''


def sweep_source() -> str:
    """The source of the sweep."""
    options = write_options()
    known = vars(record_head)
    names = {name.lower(): known[name] for name in ("CALLBACK", "LINEAR", "JOIN", "GATHER", "PULLBACK")}
    names |= {name.lower(): known[name] // CODES for name in ("X_NUMBER", "Y_NUMBER", "SUM", "DOT", "STRIDED")}
    names["options_with_lock"] = write_options(NJIT_OPTIONS | {"nogil": False}) + ", pipeline_class=BorrowingCalls"
    names |= {"options": options, "codes": CODES, "cells": CELLS, "adjoint": ADJOINT}
    lines = [line for code, o in OPERATIONS.items() if _has_branch(o[0]) for line in _branch(code, *o)]
    for run in find_runs(OPERATIONS):
        lines += [f"elif {run.first} <= code <= {run.last}:  # other rules: {run.active}", *_run_lines(run)]
    loop = "".join(f"{line}\n" for line in indent(lines, 3))
    end = "        k -= 1\n        row -= 1\n    return 0, 0\n"
    before = _HEAD.format(**names) + write_partials(OPERATIONS, options) + _SWEEP.format(**names)
    return before + loop + end + _ALL.format(**names)


def _has_branch(rule: ScalarRule) -> bool:
    """Whether the operations of a rule are branches of the sweep."""
    return rule.name in COMMON


def _branch(code: int, rule: ScalarRule, active: str) -> list[str]:
    """The branch of one operation on scalars: read the operands, evaluate the partials that are needed, accumulate."""
    updates = []
    for n, kind in enumerate(active):
        found = partial_of(rule, n, f"local_{'xy'[n]}_") if kind == "v" else None
        if found is not None:
            updates += [*found[0], *write_accumulation(rule, n, f"adjoints[{'xy'[n]}_cell]", found[1])]
    if not updates:
        return []
    return [f"elif code == {code}:  # {rule.name}: {active}", *indent([*_operands(active), *updates])]


def _run_lines(run: Run) -> list[str]:
    """The same for all operations of a run."""
    updates = [
        f"adjoints[{x}_cell] += {run.write_call(f'times_by_{x}', 'code', 'd, z, x')}"
        for x, kind in zip("xy", run.active, strict=False)
        if kind == "v"
    ]
    return indent([*_operands(run.active), *updates])


def _operands(active: str) -> list[str]:
    """The lines that read the result and the operands."""
    lines = ["z = values[k]"]
    for n, kind in enumerate(active):
        operand = "xy"[n]
        if kind == "v":
            lines += [f"{operand}_cell = int(records[row, {n + 1}])", f"{operand} = values[{operand}_cell]"]
        else:
            lines.append(f"{operand} = records[row, {n + 1}]")
    return lines


@functools.cache
def numbering() -> str:
    """What the codes of records mean: a sweep that numbers the operations differently would be silently wrong."""
    return repr([(code, rule.name, active) for code, (rule, active) in OPERATIONS.items()])


@functools.cache
def compile_sweeps() -> ModuleType:
    """The module with `sweep` and `settle`, from the disk cache where it is there."""
    return load_cached("sweep", sweep_source, [numbering()])


def has_compiled_sweeps() -> bool:
    """Whether they are in the disk cache."""
    return is_cached("sweep", [numbering()])


@functools.cache
def called_directly(function: Any) -> Callable[..., Any]:
    """A function compiled for one signature, without Numba's look at the types of its arguments, which fit.

    Itself where it is not compiled.
    """
    found: Callable[..., Any] = function
    for made in getattr(function, "overloads", {}).values():
        found = made.entry_point
    return found


def compile_sweep() -> Callable[..., tuple[int, int]]:
    """The compiled sweep."""
    found: Callable[..., tuple[int, int]] = compile_sweeps().sweep
    return found


class DirectSweeps(NamedTuple):
    """The functions of that module, called directly."""

    settle: Callable[..., int]
    sweep: Callable[..., tuple[int, int]]
    read_and_sweep: Callable[..., tuple[int, int]]


@functools.cache
def direct_sweeps() -> DirectSweeps:
    """The functions of `compile_sweeps`, called directly."""
    from contad.native.number_lists import has_known_layout  # it knows Numba

    module = compile_sweeps()
    found = DirectSweeps(*[called_directly(getattr(module, name)) for name in DirectSweeps._fields])
    return found if has_known_layout() else found._replace(read_and_sweep=lambda *_: (-2, 0))


@functools.cache
def number_reader() -> Callable[[int, int, np.ndarray], bool]:
    """What writes the first n numbers of the list at an address to rows of four; False where one is not plain."""
    from contad.native.number_lists import has_known_layout, read_numbers  # it knows Numba

    if not has_known_layout():
        return lambda numbers, n, rows: False
    return functools.partial(called_directly(read_numbers), id(float), id(int))
