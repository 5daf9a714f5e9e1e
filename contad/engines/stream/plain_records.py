"""Array records as functions with bound views of their operands, which the sweep in plain Python calls.

Repeated calls of a gradient meet the same records at the same cells, so a table finds the function of a record by its
numbers. The function does not ask which elements have an adjoint. It multiplies all elements, and if a product is not
finite it leaves the record to `plain_arrays.run_kernel`, because an adjoint of zero must not give nan.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.compiled_rules.rule_source import names_read
from contad.engines.stream import kernels
from contad.engines.stream.plain_arrays import run_kernel, strides_of
from contad.engines.stream.plain_formulas import ON_ROWS, write_on_rows
from contad.engines.stream.rule_functions import indent
from contad.engines.stream.storage import (
    CALLBACK,
    DOT,
    GATHER,
    INPUT,
    PULLBACK,
    STRIDED,
    X_NUMBER,
    Y_NUMBER,
    Buffers,
    decode,
)
from contad.engines.stream.sweep import OPERATIONS
from contad.variables.dtypes import FLOAT

MOST = 4096  # functions that the table keeps
FEW_SHAPES = 16  # kept for one record
Pull = Callable[[int], Any]  # takes the newest cell that may have an adjoint; returns whether the record needs Python
Run = Callable[[], Any]


class Memory(NamedTuple):
    """The arrays of a recording's buffers. Functions of records hold these, which avoids a reference cycle."""

    values: np.ndarray
    constants: np.ndarray
    adjoints: np.ndarray
    shapes: np.ndarray


def find_pull(buffers: Buffers, head: float, x: float, y: float, k: int) -> tuple[int, Pull | None]:
    """The number of own cells of a record whose last cell is k, and its function; None if it has nothing to do."""
    code, form, n = decode(head)
    memory = Memory(buffers.values, buffers.constants, buffers.adjoints, buffers.shapes)
    pull: Pull | None
    if form in (X_NUMBER, Y_NUMBER):
        pull = _make_pull_with_number(memory, buffers.pulls, code, form, n, k - n + 1, x, y)
    else:
        pull = _make_pull(memory, code, form, n, k - n + 1, x, y)
    if len(buffers.pulls) < MOST:
        buffers.pulls[head, x, y, k] = n, pull
    return n, pull


def _make_pull(memory: Memory, code: int, form: int, n: int, first: int, x: float, y: float) -> Pull | None:
    adjoints, shapes = memory.adjoints, memory.shapes
    if code == INPUT:
        return None
    if code == CALLBACK:
        return lambda top: first <= top
    if code == GATHER:
        cells, d = shapes[int(x) : int(x) + n], adjoints[first : first + n]
        return lambda top: np.add.at(adjoints, cells, d.copy())  # else NumPy copies all cells: they share memory
    if code == PULLBACK:
        return _make_pullback(memory, n, first, int(y))
    if form == STRIDED:
        return _by_shape(shapes[int(x) : int(x) + 11], lambda shape: bind(memory, code, shape))
    if form == DOT:
        beside = shapes[int(y) : int(y) + 2]
        return _by_shape(beside, lambda _: bind(memory, code, strides_of(shapes, form, first, n, x, y)))
    run = bind(memory, code, strides_of(shapes, form, first, n, x, y))
    return lambda top: run()


def _make_pull_with_number(
    memory: Memory, pulls: dict[tuple[float, ...], Any], code: int, form: int, n: int, first: int, x: float, y: float
) -> Pull:
    """The function of a record with a constant number, which may have another value in the next gradient."""
    number, cell = (x, y) if form == X_NUMBER else (y, x)
    key = code, form, n, first, cell
    run = pulls.get(key)
    if run is None:
        run = bind(memory, code, strides_of(memory.shapes, form, first, n, x, y))
        if len(pulls) < MOST:
            pulls[key] = run
    constants = memory.constants

    def pull(top: int) -> None:
        constants[1] = number
        run()

    return pull


def _by_shape(numbers: np.ndarray, make: Callable[[list[int]], Run], otherwise: Pull | None = None) -> Pull:
    """A function chosen by the numbers beside the record; `otherwise` is used if the first of these is 0."""
    known: dict[bytes, Run] = {}

    def pull(top: int) -> Any:
        run = known.get(numbers.tobytes())
        if run is None:
            if otherwise is not None and not numbers[0]:
                return otherwise(top)
            if len(known) >= FEW_SHAPES:
                known.clear()
            run = known[numbers.tobytes()] = make(numbers.tolist())
        run()
        return False

    return pull


def _make_pullback(memory: Memory, n: int, first: int, slot: int) -> Pull:
    """The function of a pullback: its kernel if the first number of its shape is not 0, or else Python's."""
    d = memory.adjoints[first : first + n]

    def need_python(top: int) -> bool:
        return first <= top and bool(d.any())

    if slot == 0:
        return need_python
    make = kernels.WRITTEN_PULLS[PULLBACK]
    return _by_shape(memory.shapes[slot : slot + 11], lambda shape: make(shape, *memory[:3]), need_python)


# ---- functions of records with scalar rules --------------------------------------------------------------------------
def bind(memory: Memory, code: int, shape: Sequence[int]) -> Run:
    """A function that does the work of an operation's kernel for a record with these strides."""
    z0, outer, inner, z_outer, z_inner, x0, x_outer, x_inner, y0, y_outer, y_inner = shape
    values, constants, adjoints, _ = memory
    size = 1 + (outer - 1) * z_outer + (inner - 1) * z_inner

    def carefully() -> None:
        if adjoints[z0 : z0 + size].any():
            run_kernel(code, shape, values, constants, adjoints)

    rule, active = OPERATIONS.get(code, (None, "vc"))
    places = {"z": (z0, z_outer, z_inner), "x": (x0, x_outer, x_inner), "y": (y0, y_outer, y_inner)}
    own_loop = (z_inner, x_inner, y_inner)[: len(active) + 1] in kernels.strides_with_loops(rule, active)
    targets = tuple(
        _choose_target(outer, inner, *places[name][1:], own_loop) if kind == "v" else ""
        for name, kind in zip("xy", active, strict=False)
    )
    if None in targets or (outer > 1 and "" not in targets and len(targets) > 1 and _overlap(shape)):
        return carefully

    def view(array: np.ndarray, name: str) -> np.ndarray:
        start, *strides = places[name]
        if outer == 1:
            if strides[1] == 1:
                return array[start : start + inner]
            return np.ndarray((inner,), FLOAT, array, 8 * start, (8 * strides[1],))
        return np.ndarray((outer, inner), FLOAT, array, 8 * start, (8 * strides[0], 8 * strides[1]))

    is_one = rule is None and y0 == 0 == y_outer == y_inner  # the first constant
    make = _write_step(code, targets, outer > 1, is_one)
    operands: dict[str, Any] = {"z": view(values, "z"), "d": view(adjoints, "z")}
    for name, kind, target in zip("xy", active, targets, strict=False):
        operands[name] = view(values if kind == "v" else constants, name)
        if target:
            bar = view(adjoints, name)
            operands[f"{name}_bar"] = bar[:, 0] if target == "totals" else bar[0] if target == "rows" else bar
            operands[f"{name}_at"] = places[name][0]
    run: Run = make(a=adjoints.data, carefully=carefully, **operands)
    return run


def _choose_target(outer: int, inner: int, step_outer: int, step_inner: int, own_loop: bool) -> str | None:
    """How to add the products to the adjoints of an operand in the order of the kernel; None if impossible here."""
    if outer == 1:
        return "each" if step_inner else "total" if own_loop else "total_from_there"
    if step_inner and step_outer:
        apart = abs(step_outer) >= inner * abs(step_inner) or abs(step_inner) >= outer * abs(step_outer)
        return "each" if apart else None
    if step_inner:
        return "rows" if inner > 1 else None
    return "totals" if step_outer and own_loop else None


def _overlap(shape: Sequence[int]) -> bool:
    """Whether the operands may share cells."""
    _, outer, inner, _, _, x0, x_outer, x_inner, y0, y_outer, y_inner = shape
    (x_first, x_last), (y_first, y_last) = (
        (
            start + min(0, (outer - 1) * by_row) + min(0, (inner - 1) * by_one),
            start + max(0, (outer - 1) * by_row) + max(0, (inner - 1) * by_one),
        )
        for start, by_row, by_one in ((x0, x_outer, x_inner), (y0, y_outer, y_inner))
    )
    return x_first <= y_last and y_first <= x_last


_ADD = {
    "each": "add({0}_bar, c_{0}, {0}_bar)",
    "rows": "e = empty((len(c_{0}) + 1, len({0}_bar))); e[0] = {0}_bar; e[1:] = c_{0}; add_up(e, 0, None, {0}_bar)",
    "total": "a[{0}_at] += accumulate(c_{0})[-1]",
    "total_from_there": (
        "e = empty(len(c_{0}) + 1); e[0] = a[{0}_at]; e[1:] = c_{0}; a[{0}_at] = accumulate(e)[-1]"
    ),
    "totals": "add({0}_bar, accumulate(c_{0}, 1)[:, -1], {0}_bar)",
}
_NAMES = ON_ROWS | {
    "add": np.add, "subtract": np.subtract, "add_up": np.add.reduce, "accumulate": np.add.accumulate,
    "empty": np.empty, "is_finite": math.isfinite,
}  # fmt: skip


@functools.cache
def _write_step(code: int, targets: tuple[str, ...], has_rows: bool, is_one: bool) -> Callable[..., Run]:
    """A function that takes the views of operands and adjoints and makes the function of a record."""
    rule, _ = OPERATIONS.get(code, (None, "vc"))
    names = dict(_NAMES)
    lines: list[str] = []
    adding: list[str] = []
    checked: list[str] = []
    for k, (name, target) in enumerate(zip("xy", targets, strict=False)):
        source = kernels.partial_in_kernel(rule, k) if target else None
        if source is None:
            continue
        body, expression = ([], "1.0") if is_one else source
        if target == "each" and expression in ("1.0", "-1.0"):
            adding.append(f"{'add' if expression == '1.0' else 'subtract'}({name}_bar, d, {name}_bar)")
            continue
        reads = names_read([*body, expression])
        body, expression = write_on_rows(body, expression, names)
        lines += [*body, f"c_{name} = d * ({expression})"]
        if reads & {"x", "y", "z"}:
            row = f"c_{name}.ravel()" if has_rows else f"c_{name}"
            lines.append(f"f = {row}; s_{name} = f.dot(f)")
            checked.append(f"s_{name}")
        adding.append(_ADD[target].format(name))
    if checked:
        lines.append(f"if not is_finite({' + '.join(checked)}): carefully(); return")
    parameters = "a, carefully, d, z, x, y=None, x_bar=None, y_bar=None, x_at=0, y_at=0"
    text = [f"def make({parameters}):", "    def pull():", *indent([*lines, *adding] or ["pass"], 2), "    return pull"]
    exec(compile("\n".join(text), "<plain pull>", "exec"), names)
    made: Callable[..., Run] = names["make"]
    return made
