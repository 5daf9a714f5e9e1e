"""The interpreter of recorded programs: generated from the rules, compiled once per installation.

`forward` computes the values, from the rules' own value functions; `backward` accumulates adjoints and `tangents`
directional derivatives, from their partials. Records of arrays call kernels by address and BLAS by Numba's binding.
Each of the three stops at a guard that does not hold, at a record that Python runs and at linear algebra that is left
to Python. It returns the row where it stopped and its cell, and the caller resumes it from there.
"""

import ast
import ctypes
import functools
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from contad.compile.images import find_function, has_known_layout, is_kept
from contad.compiled_rules.rule_source import with_functions
from contad.engines.stream.arithmetic_rules import copies_of_values, find_compiled_rules, value
from contad.engines.stream.rule_functions import (
    COMMON,
    Run,
    find_rules,
    find_runs,
    indent,
    partial_of,
    write_accumulation,
    write_function,
    write_partials,
)
from contad.engines.stream.storage import address_of
from contad.programs import codes, fused_loop_source, fused_loops, header, more_axes, slots
from contad.programs.codes import COMPARISONS, GUARDS, SCALARS, numbering
from contad.progress_bars import ProgressBar
from contad.python_objects.python_objects import make_function
from contad.rules.scalar_rule import ScalarRule

_AS_THEY_ARE: Mapping[str, str] = {}
_READ_Z = "z = values[z_cell]"

_HEAD = '''\
"""The interpreter of recorded programs; generated from the rules, do not edit."""

import math

import numpy as np
from contad.elementary.bits import from_bits
from contad.elementary.rows import new_row
from contad.compile.image_code import builtin_function, inline
from contad.compile.named_code import attempt_call
from contad.python_objects.python_functions import allocate, as_integer, from_integer, give_lock_up, release, take_lock
from contad.compile.words import array_at, call_kernel, integers_at, short_integers_at, word


@inline
def live(d, first, n):
    """Whether any of n cells is not zero."""
    for i in range(first, first + n):
        if d[i] != 0.0:
            return True
    return False


@inline
def all_finite(a, first, n):
    """Whether n numbers are finite."""
    for start in range(first, first + n, 512):
        part, others = a[start : min(start + 512, first + n)], 0
        for i in range(len(part)):  # a count, because the compiler vectorises it
            others += not abs(part[i]) < np.inf
        if others:
            return False
    return True


@inline
def compared(shape, constants, values):
    """Whether two arrays compare as they did when they were recorded.

    The shape has the place of the outcomes, two axes, and the strides of outcomes and operands, like that of a kernel.
    The comparison follows, and for each operand whether it is in cells.
    """
    outer, inner = shape[1], shape[2]
    xs = values if shape[12] else constants
    ys = values if shape[13] else constants
    if shape[3] == 0 and shape[4] == 0 and shape[7] == 1 and shape[9] == 0 and shape[10] == 0:
        y, held = ys[shape[8]], 0
        for o in range(outer):  # many numbers against one, with equal outcomes: count row by row
            row = xs[shape[5] + o * shape[6] : shape[5] + o * shape[6] + inner]
{counts}
        return held == (outer * inner if constants[shape[0]] != 0.0 else 0)
    for o in range(outer):
        for i in range(inner):
            x = xs[shape[5] + o * shape[6] + i * shape[7]]
            y = ys[shape[8] + o * shape[9] + i * shape[10]]
            if shape[11] == 0:
                held = x < y
            elif shape[11] == 1:
                held = x <= y
            elif shape[11] == 2:
                held = x > y
            elif shape[11] == 3:
                held = x >= y
            elif shape[11] == 4:
                held = x == y
            else:
                held = x != y
            if held != (constants[shape[0] + o * shape[3] + i * shape[4]] != 0.0):
                return False
    return True
'''

_FORWARD = '''
@inline
def forward(code, constants, shapes, kernels, values, inputs, row, cell):
    """Compute the values of the records from a row on, whose first cell is given.

    If a guard in a fused loop does not hold, the second result is -1 - its row in the trace.
    """
    for k in range(row, len(code)):
        r = np.uintp(k)
        c = code[r, 0]
        if c >= {array}:
            s = np.int64(code[r, 1])
            n = np.int64(code[r, 2])
            if c == {gather} or c == {stopped}:
                for i in range(n):
                    source = shapes[s + i]
                    values[cell + i] = values[source] if source >= 0 else constants[-1 - source]
            elif c == {compare}:
                if not compared(shapes[s:], constants, values):
                    return k, cell
            elif c == {fused}:
                failed = fused_forward(s, constants, shapes, kernels, values, inputs)
                if failed >= 0:
                    return k, -1 - failed
            elif c >= {first_kernel}:
                has_failed = attempt_call(kernels[0, c - {array}], shapes[s:].ctypes.data, values.ctypes.data,
                                          constants.ctypes.data, values.ctypes.data)
                values[shapes[s]] = 0.0
                if has_failed or (c < {first_line} and not all_finite(values, cell, n)):
                    values[shapes[s]] = 1.0
                    return k, cell
            elif c == {repeated}:
                repeat_kernel(0, kernels, shapes[s:], values, constants, values)
            else:
                call_kernel(kernels[0, c - {array}], shapes[s:].ctypes.data, values.ctypes.data,
                            constants.ctypes.data, values.ctypes.data)
            cell += n
            continue
        if c == {jump}:
            cell += np.int64(code[r, 1]) - np.int64(code[r, 2])
            continue
        z = np.uintp(cell)
        cell += 1
        if c == {constant}:
            values[z] = constants[code[r, 1]]
        elif c == {call}:
            return k, cell - 1
        elif c == {stop}:
            values[z] = values[code[r, 1]]
'''

_BACKWARD = '''
@inline
def backward(code, constants, shapes, kernels, values, adjoints, inputs, gradient, row, cell):
    """Compute the adjoints from a row, whose last cell is given, down to the first."""
    for k in range(row, -1, -1):
        r = np.uintp(k)
        c = code[r, 0]
        if c >= {array}:
            s = np.int64(code[r, 1])
            n = np.int64(code[r, 2])
            if c == {fused}:
                fused_backward(s, constants, shapes, kernels, values, adjoints, inputs, gradient)
                continue
            cell -= n
            first = cell + 1
            if c != {compare} and c != {stopped} and live(adjoints, first, n):
                if c == {gather}:
                    for i in range(n):
                        if shapes[s + i] > 0:
                            adjoints[shapes[s + i]] += adjoints[first + i]
                elif c >= {first_kernel}:
                    if (values[shapes[s]] != 0.0 or (c < {first_line} and not all_finite(adjoints, first, n))
                            or attempt_call(kernels[1, c - {array}], shapes[s:].ctypes.data, values.ctypes.data,
                                            constants.ctypes.data, adjoints.ctypes.data)):
                        return k, cell + n
                elif c == {repeated}:
                    repeat_kernel(1, kernels, shapes[s:], values, constants, adjoints)
                else:
                    call_kernel(kernels[1, c - {array}], shapes[s:].ctypes.data, values.ctypes.data,
                                constants.ctypes.data, adjoints.ctypes.data)
            continue
        z_cell = np.uintp(cell)
        if c == {call}:
            return k, cell
        if c == {jump}:
            cell -= np.int64(code[r, 1]) - np.int64(code[r, 2])
            continue
        cell -= 1
        d = adjoints[z_cell]
        if d != 0.0:
            if c == {constant}:
                continue
'''

_TANGENTS = '''
@inline
def tangents(code, constants, shapes, kernels, values, dots, inputs, row, cell):
    """Compute the tangents of the records from a row on, whose first cell is given; they have to be zero before."""
    for k in range(row, len(code)):
        r = np.uintp(k)
        c = code[r, 0]
        if c >= {array}:
            s = np.int64(code[r, 1])
            n = np.int64(code[r, 2])
            if c == {gather}:
                for i in range(n):
                    if shapes[s + i] > 0:
                        dots[cell + i] = dots[shapes[s + i]]
            elif c >= {first_kernel}:
                if (values[shapes[s]] != 0.0
                        or attempt_call(kernels[2, c - {array}], shapes[s:].ctypes.data, values.ctypes.data,
                                        constants.ctypes.data, dots.ctypes.data)
                        or (c < {first_line} and not all_finite(dots, cell, n))):
                    return k, cell
            elif c == {fused}:
                fused_tangents(s, constants, shapes, kernels, values, dots, inputs)
            elif c == {repeated}:
                repeat_kernel(2, kernels, shapes[s:], values, constants, dots)
            elif c != {compare} and c != {stopped}:
                call_kernel(kernels[2, c - {array}], shapes[s:].ctypes.data, values.ctypes.data,
                            constants.ctypes.data, dots.ctypes.data)
            cell += n
            continue
        if c == {jump}:
            cell += np.int64(code[r, 1]) - np.int64(code[r, 2])
            continue
        z_cell = np.uintp(cell)
        cell += 1
        if c == {call}:
            return k, cell - 1
'''


def interpreter_source() -> str:
    """The source of the interpreter."""
    numbers = vars(codes) | vars(header) | vars(slots) | vars(fused_loops) | vars(fused_loop_source) | vars(more_axes)
    names = {name.lower(): str(value) for name, value in numbers.items() if isinstance(value, int)}
    copies = [f"\n\n@inline\n{text}\n" for text in copies_of_values(find_compiled_rules())]
    values = {code: [f"return {value_of_rule(rule)}"] for code, rule in find_rules(SCALARS).items()}
    common = {code: operation for code, operation in SCALARS.items() if operation[0].name in COMMON}
    runs = find_runs(SCALARS)
    names["counts"] = _counts()
    parts = [_HEAD.format(**names), *copies, "\n\n"]
    decorator = "@inline"
    parts += [write_function("value_of", "code, x, y", SCALARS, values, decorator)]
    parts += [write_partials(SCALARS, decorator, value=value).rstrip("\n"), "\n"]
    parts += [more_axes.SOURCE.format(**names), fused_loop_source.SOURCE.format(**names), _FORWARD.format(**names)]
    parts += [_value_branch(code, *operation) for code, operation in common.items()]
    parts += [_value_run(run) for run in runs]
    parts += [_guard_branch(code) for code in GUARDS]
    parts += ["    return len(code), cell\n\n", _BACKWARD.format(**names)]
    parts += [_adjoint_branch(code, *operation) for code, operation in common.items()]
    parts += [_adjoint_run(run) for run in runs]
    parts += ["    return -1, 0\n\n", _TANGENTS.format(**names)]
    parts += [_tangent_branch(code, *operation) for code, operation in common.items()]
    parts += [_tangent_run(run) for run in runs]
    parts += ["    return len(code), cell\n\n", header.SOURCE.format(**names)]
    return "".join(parts)


def _counts() -> str:
    """The lines that count how often each comparison of a row with a number holds."""
    lines = [
        line
        for k, (symbol, _) in enumerate(COMPARISONS.values())
        for line in (f"if shape[11] == {k}:", "    for i in range(inner):", f"        held += row[i] {symbol} y")
    ]
    return "\n".join(indent(lines, 3))


def value_of_rule(rule: ScalarRule, functions: Mapping[str, str] = _AS_THEY_ARE) -> str:
    """The value of a rule as an expression in x and y; `functions` maps called functions to their replacements."""
    return ast.unparse(with_functions(value(rule, [ast.Name(name) for name in "xy"[: rule.arity]]), functions))


def _operands(active: str) -> list[str]:
    """The lines that read the operands of a scalar's record."""
    arrays = ["values" if kind == "v" else "constants" for kind in active]
    return [f"{'xy'[k]} = {array}[code[r, {k + 1}]]" for k, array in enumerate(arrays)]


def _branch(test: str, what: str, lines: list[str], levels: int) -> str:
    return "".join(f"{line}\n" for line in indent([f"elif {test}:  # {what}", *indent(lines)], levels))


def _value_branch(code: int, rule: ScalarRule, active: str) -> str:
    lines = [*_operands(active), f"values[z] = {value_of_rule(rule)}"]
    return _branch(f"c == {code}", f"{rule.name}: {active}", lines, 2)


def _guard_branch(code: int) -> str:
    name, held, active = GUARDS[code]
    test = f"values[code[r, 1]] {COMPARISONS[name][0]} {'values' if active == 'vv' else 'constants'}[code[r, 2]]"
    lines = [f"if {'not ' if held else ''}({test}):", "    return k, cell - 1"]
    return _branch(f"c == {code}", f"guard: {active}", lines, 2)


def _partials(rule: ScalarRule, active: str) -> list[tuple[str, list[str], str]]:
    """(operand, lines, expression) of the partials that are not zero."""
    found = [(name, partial_of(rule, n, f"local_{name}_", value=value)) for n, name in enumerate("xy"[: rule.arity])]
    return [
        (name, *partial)
        for (name, partial), kind in zip(found, active, strict=True)
        if kind == "v" and partial is not None
    ]


def _adjoint_branch(code: int, rule: ScalarRule, active: str) -> str:
    partials = _partials(rule, active)
    if not partials:
        return ""
    lines = [_READ_Z, *_operands(active)]
    for name, body, expression in partials:
        k = "xy".index(name)
        lines += [*body, *write_accumulation(rule, k, f"adjoints[code[r, {k + 1}]]", expression)]
    return _branch(f"c == {code}", f"{rule.name}: {active}", lines, 3)


def _tangent_branch(code: int, rule: ScalarRule, active: str) -> str:
    partials = _partials(rule, active)
    if not partials:
        return ""
    lines = [_READ_Z, *_operands(active), "t = 0.0"]
    for name, body, expression in partials:
        lines.append(f"d = dots[code[r, {'xy'.index(name) + 1}]]")
        add = write_accumulation(rule, "xy".index(name), "t", expression)
        lines += ["if d != 0.0:", *(f"    {line}" for line in [*body, *add])]
    return _branch(f"c == {code}", f"{rule.name}: {active}", [*lines, "dots[z_cell] = t"], 2)


# ---- all rules but the common ones -----------------------------------------------------------------------------------
def _run_branch(run: Run, lines: list[str], levels: int) -> str:
    return _branch(f"{run.first} <= c <= {run.last}", f"other rules: {run.active}", lines, levels)


def _value_run(run: Run) -> str:
    lines = [*_operands(run.active), f"values[z] = {run.write_call('value_of', 'c', 'x')}"]
    return _run_branch(run, lines, 2)


def _adjoint_run(run: Run) -> str:
    lines = [_READ_Z, *_operands(run.active)]
    for k, (name, kind) in enumerate(zip("xy", run.active, strict=False)):
        if kind == "v":
            lines.append(f"adjoints[code[r, {k + 1}]] += {run.write_call(f'times_by_{name}', 'c', 'd, z, x')}")
    return _run_branch(run, lines, 3)


def _tangent_run(run: Run) -> str:
    lines = [_READ_Z, *_operands(run.active), "t = 0.0"]
    for k, (name, kind) in enumerate(zip("xy", run.active, strict=False)):
        if kind == "v":
            add = f"    t += {run.write_call(f'times_by_{name}', 'c', 'd, z, x')}"
            lines += [f"d = dots[code[r, {k + 1}]]", "if d != 0.0:", add]
    return _run_branch(run, [*lines, "dots[z_cell] = t"], 2)


_Words = ctypes.c_int64 * 12
_pack_into = struct.Struct("12q").pack_into


class Interpreter:
    """Calls of the compiled loops."""

    def __init__(self, address: int) -> None:
        self.address = address
        self._call: Any = ctypes.CFUNCTYPE(*(ctypes.c_int64,) * 4)(address)
        # runs the trace whose guards hold (`contad.programs.header`); it reads array objects directly, for asking NumPy
        # takes as long as ten operations
        self.run: Any = make_function("run", address) if has_known_layout() else self._run

    def _run(
        self, header_at: int, inputs: np.ndarray, direction: np.ndarray, gradient: np.ndarray, out: np.ndarray,
        memory: np.ndarray,
    ) -> int:  # fmt: skip
        """`run` where the memory layout of array objects is unknown."""
        addresses = map(address_of, (inputs, direction, gradient, out))
        given = np.array([header.RUN, header_at, *addresses, *[0] * 6])
        return int(self._call(0, address_of(given), -1))

    @staticmethod
    def prepare(trace: Any, values: np.ndarray, other: np.ndarray, inputs: np.ndarray, gradient: np.ndarray) -> Any:
        """The argument of the loops over the records of a trace: words, which begin with a task, a row and a cell.

        The other cells, of adjoints or tangents, follow the values.
        """
        at = address_of(values)
        places = at, at + values.nbytes, address_of(inputs), address_of(gradient)
        words = _Words()
        _pack_into(words, 0, 0, 0, 0, len(trace.code), *trace.addresses, *places)
        return words

    def forward(self, words: Any, row: int, cell: int) -> tuple[int, int]:
        """Compute the values of the records from a row on; returns the row where it stops, and its cell."""
        return self._records(header.FORWARD, words, row, cell)

    def backward(self, words: Any, row: int, cell: int) -> tuple[int, int]:
        """Compute the adjoints from a row, whose last cell is given, down to the first row."""
        return self._records(header.BACKWARD, words, row, cell)

    def tangents(self, words: Any, row: int, cell: int) -> tuple[int, int]:
        """Compute the tangents of the records from a row on."""
        return self._records(header.TANGENTS, words, row, cell)

    def _records(self, task: int, words: Any, row: int, cell: int) -> tuple[int, int]:
        words[0], words[1], words[2] = task, row, cell
        found = self._call(0, ctypes.addressof(words), -1)
        return int(found), words[2]


@functools.cache
def interpreter() -> Interpreter:
    """The compiled loops, from the disk cache if it has them."""
    with ProgressBar("contad.record: compiling the interpreter, once per installation"):
        return Interpreter(find_function("interpreter", interpreter_source, [numbering()]))


def has_compiled_interpreter() -> bool:
    """Whether the disk cache has the interpreter."""
    return is_kept("interpreter", [numbering()])
