"""The compiled reverse sweep over records, generated from the registry, with the bodies of the rules.

It covers the rules declared `core`; rules registered later and special functions store their partials instead. So this
function needs no SciPy symbol, does not grow with the library, and is compiled once per installation. For an array
record it calls the kernel of the operation (`kernels.py`) by its address. Rules of numbers that are no branches of the
sweep are in one other function, which is compiled when the sweep meets the first such record.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import contad.ops  # noqa: F401  (declares the rules)
from contad.compile.images import find_function, has_known_layout, is_kept
from contad.engines.stream import storage
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
from contad.engines.stream.storage import CALLBACK, CELLS, CODES, INPUT, KERNELS, RECORDS, STOPPED_AT, VARIANTS, Buffers
from contad.kernels.shape_fields import ADJOINT
from contad.progress_bars import ProgressBar
from contad.python_objects.python_objects import make_function
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

from contad.compile.image_code import builtin_function, inline
from contad.compile.named_code import attempt_call
from contad.python_objects.python_functions import as_integer, as_number, from_integer, give_lock_up, take_lock
from contad.python_objects.python_functions import read_numbers
from contad.compile.words import array_at, call_kernel, call_rule, integers_at, word


@inline
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

@inline
def run(task, at, numbers, n, row, cell, end, seeded, seed, top):
    """Do a task with the buffers whose addresses are at an address.

    {read}: read the n records that a list holds; whether its numbers are plain. {settle}: settle them; the next cell.
    {sweep}: sweep from a row, whose last cell is given; the row where it stops, whose cell is left at {stopped_at}.
    {everything}: all of it, with one adjoint that is not zero; -2 if a number is not plain, -1 if the next cell is not
    `end`.
    """
    given = integers_at(at, {addresses})
    staging = array_at(given[{staging}], ({endless}, 4))
    if task == {read} or task == {everything}:
        if not read_numbers(given[{floats}], given[{integers}], numbers, 4 * n, staging):
            return -2 if task == {everything} else 0
        if task == {read}:
            return 1
    records = array_at(given[{records}], ({endless}, 3))
    values = array_at(given[{values}], {endless})
    if task != {sweep}:
        cell = settle(staging, records, values, n, row, cell)
        if task == {settle}:
            return cell
        if cell != end:
            return -1
    adjoints = array_at(given[{adjoints}], {endless})
    if task == {everything}:
        adjoints[:end] = 0.0
        adjoints[seeded] += seed
        row += n - 1
        cell = end - 1
    row, given[{stopped_at}] = sweep(
        records, values, adjoints, integers_at(given[{shapes}], {endless}), array_at(given[{constants}], {endless}),
        integers_at(given[{kernels}], {endless}), row, cell, top
    )
    return row


@builtin_function
def call(_, given, count):
    """`run` as a builtin function, of integers, the list of numbers, and one float.

    Python's lock is kept where lists are read.
    """
    task, at, numbers = as_integer(word(given, 0)), as_integer(word(given, 1)), word(given, 2)
    n, row = as_integer(word(given, 3)), as_integer(word(given, 4))
    cell, end = as_integer(word(given, 5)), as_integer(word(given, 6))
    seeded, seed, top = as_integer(word(given, 7)), as_number(word(given, 8)), as_integer(word(given, 9))
    if task == {read} or task == {everything}:
        return from_integer(run(task, at, numbers, n, row, cell, end, seeded, seed, top))
    state = give_lock_up()
    found = run(task, at, numbers, n, row, cell, end, seeded, seed, top)
    take_lock(state)
    return from_integer(found)
'''

_SWEEP = '''\
@inline
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
    names = {name.lower(): getattr(storage, name) for name in ("CALLBACK", "LINEAR", "JOIN", "GATHER", "PULLBACK")}
    names |= {x.lower(): getattr(storage, x) // CODES for x in ("X_NUMBER", "Y_NUMBER", "SUM", "DOT", "STRIDED")}
    names |= {"codes": CODES, "cells": CELLS, "adjoint": ADJOINT}
    lines = [line for code, o in OPERATIONS.items() if _has_branch(o[0]) for line in _branch(code, *o)]
    for run in find_runs(OPERATIONS):
        lines += [f"elif {run.first} <= code <= {run.last}:  # other rules: {run.active}", *_run_lines(run)]
    loop = "".join(f"{line}\n" for line in indent(lines, 3))
    end = "        k -= 1\n        row -= 1\n    return 0, 0\n"
    entries = _ALL.format(endless=1 << 60, **_TASKS, **storage.PLACES)
    return _HEAD.format(**names) + _SWEEP.format(**names) + loop + end + entries


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
    """The branch for all operations of a run; it returns to Python if their function is not compiled yet."""
    updates = [
        f"adjoints[{x}_cell] += {run.write_call('call_rule', f'kernels[{INPUT}], {n}, code', 'd, z, x')}"
        for n, (x, kind) in enumerate(zip("xy", run.active, strict=False))
        if kind == "v"
    ]
    return indent([f"if kernels[{INPUT}] == 0:", "    return row, k", *_operands(run.active), *updates])


_RULES = '''\
"""The rules of numbers that are no branches of the sweep; generated from the rules, do not edit."""

import math

from contad.compile.image_code import c_function, inline


{partials}@c_function("float64(int64, int64, float64, float64, float64, float64)")
def times_partial(n, code, d, z, x, y):
    """d times the partial by operand n."""
    return times_by_x(code, d, z, x, y) if n == 0 else times_by_y(code, d, z, x, y)
'''


def rules_source() -> str:
    """The source of the function of all rules that are no branches of the sweep."""
    return _RULES.format(partials=write_partials(OPERATIONS, "@inline"))


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
    """The meaning of the codes of records; a cached sweep with another numbering would be silently wrong."""
    return repr([(code, rule.name, active) for code, (rule, active) in OPERATIONS.items()])


READ, SETTLE, SWEEP, EVERYTHING = range(4)
_TASKS = {"read": READ, "settle": SETTLE, "sweep": SWEEP, "everything": EVERYTHING}


class _Calls:
    """Calls of the compiled loops over records, which find the arrays of a recording through its buffers."""

    def __init__(self, address: int) -> None:
        self.run = make_function("run", address)
        self.reads = has_known_layout()  # lists and numbers

    def read(self, b: Buffers, n: int) -> bool:
        """Write the n records of the stream to `staging`; False where a number is not plain."""
        return self.reads and bool(self.run(READ, b.at, b.stream, n, 0, 0, 0, 0, 0.0, 0))

    def settle(self, b: Buffers, n: int, row: int, cell: int) -> int:
        """Move n staged records to the rows from `row`, scalars' values to the cells from `cell`: the next cell."""
        return int(self.run(SETTLE, b.at, None, n, row, cell, 0, 0, 0.0, 0))

    def sweep(self, b: Buffers, row: int, k: int, top: int, first: int = 0) -> tuple[int, int]:
        """Sweep from `row`, whose last cell is k, to `first` or a row that needs Python; returns the row and its cell.

        It skips records above cell `top`.
        """
        addresses, at = b.addresses, b.at
        if first:
            addresses = addresses.copy()
            addresses[RECORDS] += b.records.strides[0] * first
            at = addresses.ctypes.data
        found = int(self.run(SWEEP, at, None, 0, row - first, k, 0, 0, 0.0, top))
        return self._go_on(b, first + found, int(addresses[STOPPED_AT]), top, first) if found else (first, 0)

    def _go_on(self, b: Buffers, row: int, k: int, top: int, first: int = 0) -> tuple[int, int]:
        """Continue a sweep that has stopped at `row` if only the function of the rules was missing there."""
        if KERNELS[INPUT] or b.records[row, 0] <= CALLBACK:
            return row, k
        KERNELS[INPUT] = compile_rules()
        return self.sweep(b, row, k, top, first)

    def read_and_sweep(
        self, b: Buffers, n: int, row: int, cell: int, end: int, seeded: int, seed: float, top: int
    ) -> tuple[int, int]:
        """Read the n records of the stream, settle them, then sweep with one adjoint that is not zero.

        (-2, 0) if a number is not plain, (-1, 0) if the next cell is not `end`. It holds Python's lock meanwhile.
        """
        if not self.reads:
            return -2, 0
        found = self.run(EVERYTHING, b.at, b.stream, n, row, cell, end, seeded, seed, top)
        return self._go_on(b, found, int(b.addresses[STOPPED_AT]), top) if found > 0 else (found, 0)


class Sweeps(NamedTuple):
    """The functions of `_Calls`."""

    read: Callable[[Buffers, int], bool]
    settle: Callable[[Buffers, int, int, int], int]
    sweep: Callable[..., tuple[int, int]]
    read_and_sweep: Callable[..., tuple[int, int]]


@functools.cache
def compile_sweeps() -> Sweeps:
    """The compiled loops, from the disk cache if it has them."""
    with ProgressBar("contad: compiling the sweep over recordings, once per machine"):
        calls = _Calls(find_function("sweep", sweep_source, [numbering()]))
    return Sweeps(calls.read, calls.settle, calls.sweep, calls.read_and_sweep)


def compile_rules() -> int:
    """The address of the function of all rules that are no branches of the sweep."""
    return find_function("sweep_rules", rules_source, [numbering()])


def has_compiled_sweeps() -> bool:
    """Whether the disk cache has the sweeps."""
    return is_kept("sweep", [numbering()])


@functools.cache
def called_directly(function: Any) -> Callable[..., Any]:
    """A function compiled for one signature, without Numba's check of argument types, which match.

    The function itself if it is not compiled.
    """
    found: Callable[..., Any] = function
    for made in getattr(function, "overloads", {}).values():
        found = made.entry_point
    return found
