"""The reverse sweep over records in plain Python and NumPy: the first gradients run it instead of waiting.

The compilation of the sweep and the array kernels takes seconds, once per machine; most sessions need less time for all
their sweeps. The results equal those of the compiled sweep to the last bit: the formulas of the rules are the same, and
functions of `math` take one element at a time. Only the adjoint of a number beside an array may differ: it is a sum,
which kernels vectorise.
"""

import functools
import math
import textwrap
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from contad.compiled_rules.rule_source import names_read, partial_source
from contad.engines.stream.plain_formulas import Powers, make_function
from contad.engines.stream.plain_records import MOST, find_pull
from contad.engines.stream.rule_functions import partial_of, routes
from contad.engines.stream.storage import CALLBACK, CELLS, INPUT, JOIN, LINEAR, Buffers, own_cells
from contad.engines.stream.sweep import OPERATIONS
from contad.ops.powers import COMMON, literal_power
from contad.rules.body import ARITHMETIC_ERRORS

LINKS = frozenset({LINEAR, JOIN})
ROWS = 256  # records converted at once
FEW = 1000  # records; fewer do not pay for a generated loop
FEW_STAGED = 50  # records; a loop moves fewer faster
MOST_KINDS = 24  # kinds that one loop distinguishes
MOST_SEQUENCES = 64  # kept
# a record, the number of its cells, and the function that sweeps it or None: `Pull` for an array, or of `_make_pull`
Bound = tuple[float, float, float, int, Callable[..., Any] | None]


def settle(buffers: Buffers, n: int, row: int, cell: int) -> int:
    """Move n staged records to the rows from `row`, the values of scalars to the cells from `cell`; the next cell."""
    staged = buffers.staging[:n]
    values = buffers.values
    buffers.records[row : row + n] = staged[:, :3]
    if n <= FEW_STAGED:
        v = values.data
        for head, _, _, value in staged.tolist():
            if head >= 0.0:
                v[cell] = value
                cell += 1
            else:
                cell += int(-head) // CELLS
        return cell
    heads = staged[:, 0]
    if heads.min(initial=0.0) >= 0.0:  # numbers alone
        values[cell : cell + n] = staged[:, 3]
        return cell + n
    own = own_cells(heads).astype(np.int64)
    first = cell + np.cumsum(own) - own
    scalars = heads >= 0.0
    values[first[scalars]] = staged[scalars, 3]
    return cell + int(own.sum())


@np.errstate(all="ignore")  # a decorator takes half as long as `with`
def sweep(
    buffers: Buffers, adjoints: np.ndarray, row: int, k: int, top: int, seconds: float
) -> tuple[int, int, bool]:
    """Sweep from `row`, whose last cell is k, down to row 0 or to a row that needs Python, as the compiled sweep does.

    It also stops after `seconds`; the third result tells whether it did. The adjoints are those of the buffers.
    """
    if len(buffers.pulls) >= MOST:
        buffers.pulls.clear()
        buffers.sequences.clear()
    sequences = buffers.sequences
    v: Any = buffers.values.data  # as `a`, a memoryview, whose elements are Python's floats
    a: Any = adjoints.data
    end = perf_counter() + seconds if row > ROWS else 0.0
    is_long = row >= FEW
    while row > 0:
        start = max(1, row - ROWS + 1)
        records = buffers.records[start : row + 1]
        key = k, records.tobytes()
        sequence = sequences.get(key)
        rows = records.tolist() if is_long and sequence is None else []
        loop = _loop_over(rows) if rows else None
        if loop is not None:
            k = loop(rows, v, a, k, top)
            row = start - 1
        else:
            for head, x, y, n, pull in sequence or _bind_records(buffers, key, records):
                if head < 0:
                    if pull is not None and pull(top):
                        return row, k, False
                elif k <= top:
                    if head == CALLBACK:
                        return row, k, False
                    d = a[k]
                    if d == 0.0 or head == INPUT:
                        pass
                    elif head in LINKS:
                        a[x] += d * y
                        if head == JOIN:
                            a[k - 1] += d
                    else:
                        try:
                            pull(d, k, x, y, v, a)  # type: ignore[misc]
                        except ARITHMETIC_ERRORS:
                            _pull_by_rule(head, d, k, x, y, v, a)
                k -= n
                row -= 1
        if row > 0 and perf_counter() > end:
            return row, k, True
    return 0, 0, False


def _bind_records(buffers: Buffers, key: tuple[int, bytes], records: np.ndarray) -> list[Bound]:
    """The functions that sweep these records, last one first, kept for later gradients; the key has the last cell."""
    k = key[0]
    found: list[Bound] = []
    for head, x, y in reversed(records.tolist()):
        if head < 0:
            n, pull = buffers.pulls.get((head, x, y, k)) or find_pull(buffers, head, x, y, k)
            found.append((head, x, y, n, pull))
            k -= n
        else:
            has_pull = head not in LINKS and head not in (CALLBACK, INPUT)
            found.append((head, x if has_pull else int(x), y, 1, _make_pull(head) if has_pull else None))
            k -= 1
    if len(buffers.sequences) >= MOST_SEQUENCES:
        buffers.sequences.clear()
    buffers.sequences[key] = found
    return found


def sweep_array(buffers: Buffers, head: float, x: float, y: float, k: int, top: int) -> None:
    """Sweep one array record that does not need Python, whose last cell is k."""
    _, pull = buffers.pulls.get((head, x, y, k)) or find_pull(buffers, head, x, y, k)
    if pull is not None:
        with np.errstate(all="ignore"):
            pull(top)


# ---- records of numbers ----------------------------------------------------------------------------------------------
Numbers = Any  # a memoryview


def _lines_of(code: float) -> list[str]:
    """The lines that sweep one record of an operation: the branch of the compiled sweep, as Python."""
    rule, active = OPERATIONS[int(code)]
    own = {"xy"[n]: n for n, kind in enumerate(active) if kind == "v"}
    lines, added = [], []
    for name, n in own.items():
        found = partial_of(rule, n, f"local_{name}_", powers="powers")
        if found is not None:
            lines += [*found[0], f"{name}_bar = {found[1]}"]
            product = f"d * {name}_bar"
            added.append(f"a[{name}_cell] += {product}" + f" if {name}_bar != 0.0 else 0.0" * routes(rule, n))
    cells = [f"{name}_cell = int({name})" for name in own]
    places = {"z": "k"} | {name: f"{name}_cell" for name in own}
    read = [f"{name} = v[{place}]" for name, place in places.items() if name in names_read(lines)]
    return [*cells, *read, *lines, *added]


@functools.cache
def _make_pull(code: float) -> Callable[[float, int, float, float, Numbers, Numbers], None]:
    """A function that sweeps one record."""
    return make_function("\n".join([*_lines_of(code), "return None"]), ["d", "k", "x", "y", "v", "a"], Powers(), _NAMES)


def _partial_of_power(c: float) -> Callable[[float, float], float]:
    """The partial of x ** c as a function of (z, x), generated for each c: most functions have one or two."""

    def make(z: float, x: float) -> float:
        rule = literal_power(c)
        assert rule is not None
        lines, partial = partial_source(rule, 0, ("z", "x"), "local_")
        text = "\n".join([*lines, f"return {partial}"])
        _POWERS[c] = made = make_function(text, ["z", "x"], Powers(), {"math": math})
        found: float = made(z, x)
        return found

    return make


_POWERS = {c: _partial_of_power(c) for c in COMMON}
_NAMES = {"math": math, "abs": abs, "int": int, "reversed": reversed, "powers": _POWERS}
_met: dict[float, None] = {}  # the codes in long recordings, in the order of their first use


def _loop_over(rows: list[list[float]]) -> Callable[[list[list[float]], Numbers, Numbers, int, int], int] | None:
    """A function that sweeps many records of numbers; None if others are among them, or too many kinds."""
    codes = {head for head, _, _ in rows}
    if min(codes) < 0 or CALLBACK in codes:
        return None
    if not codes <= _met.keys():
        _met.update(dict.fromkeys(sorted(codes)))
    return _loop(tuple(_met)) if len(_met) <= MOST_KINDS else None


@functools.lru_cache(maxsize=4)
def _loop(codes: tuple[float, ...]) -> Callable[[list[list[float]], Numbers, Numbers, int, int], int]:
    """A function that sweeps records with these codes, from the last one, and returns the cell before them."""
    branches: list[str] = []
    for code in codes:
        lines = ["pass"] if code == INPUT else ["a[int(x)] += d * y"] if code in LINKS else _lines_of(code)
        lines += ["a[k - 1] += d"] if code == JOIN else []
        branches += [f"{'el' if branches else ''}if head == {code}:", *(f"    {line}" for line in lines)]
    body = textwrap.indent("\n".join(branches), " " * 16)
    text = f"""
for record in reversed(rows):
    if k <= top:
        d = a[k]
        if d != 0.0:
            head, x, y = record
            try:
{body}
            except errors:
                by_rule(head, d, k, record[1], record[2], v, a)
    k -= 1
return k
"""
    known = _NAMES | {"errors": ARITHMETIC_ERRORS, "by_rule": _pull_by_rule}
    return make_function(text, ["rows", "v", "a", "k", "top"], Powers(), known)


def _pull_by_rule(code: float, d: float, k: int, x: float, y: float, v: Numbers, a: Numbers) -> None:
    """Sweep one record where Python raises, and compiled code has infinities."""
    rule, active = OPERATIONS[int(code)]
    args = [v[int(field)] if kind == "v" else field for field, kind in zip((x, y), active, strict=False)]
    for n, kind in enumerate(active):
        if kind == "v":
            a[int((x, y)[n])] += rule.product(n)(d, rule.partial(n)(v[k], *args))
