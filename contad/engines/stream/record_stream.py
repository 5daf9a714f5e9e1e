"""The record stream that engines share: one record per operation, and one compiled function that sweeps them.

While recording, a Python list holds four numbers per record: operation, two operands, value. Every few thousand records
the list is packed into an array of records and an array of values. A constant operand replaces a parent in the record
by its value, under an operation code of its own. The record of a scalar owns one cell, that of an array as many as the
array has elements.

Operations whose rules are not compiled into the sweep store their partials: one `linear` record per active argument,
chained by `join`, which passes its adjoint on to the record before it.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from contad.engines.stream import plain_sweep
from contad.engines.stream.kernels import has_kernel
from contad.engines.stream.methods import generate
from contad.engines.stream.native_parts import NativeParts
from contad.engines.stream.patience import PATIENCE
from contad.engines.stream.storage import (
    CALLBACK,
    FIRST_CONSTANT,
    FORMS,
    INPUT,
    JOIN,
    KERNELS,
    LINEAR,
    PULLBACK,
    ROWS,
    VARIANTS,
    Buffers,
    decode,
)
from contad.engines.stream.sweep import OPERATIONS, compile_sweeps, operation_code
from contad.rules.scalar_rule import ScalarRule
from contad.variables.adjoints import Adjoints
from contad.variables.array import is_plain
from contad.variables.number import Number, peek, scale
from contad.variables.open_types import AdjointVector, CellIndex, Function, Real, Value
from contad.variables.stack import (
    NOTHING,
    THREAD,
    ChainStack,
    Footprint,
    Row,
    forget_since,
    with_item,
)
from contad.variables.var import Var

RECORD_BYTES = 24  # operation and operands
CELL_BYTES = 16  # value and adjoint
_NONE = Buffers.__new__(Buffers)  # state of a released recording
CHUNK = 4096  # records that stay Python numbers before they are packed; more would be slow to keep alive
LONG = 4 * CHUNK  # numbers in the stream


class Recording(ChainStack):
    """A stream of records, the values beside it, and the numbers of outer levels where there are any."""

    __slots__ = (
        *("buffers", "callbacks", "is_mixed", "limit", "outer", "outer_values", "packed", "pool", "rows_packed"),
        "stream",
    )
    var_class: type[Var]
    keeps_rules: bool = False  # whether operations without a code are recorded with their rules
    native: ClassVar[NativeParts | None] = None  # parts that become machine code after a while

    def __init__(self, level: int | None = None) -> None:
        ChainStack.__init__(self, level)
        pool = self.pool = THREAD.pools.setdefault(self.engine, [])  # the pool to which the buffers return
        self.buffers = pool.pop() if pool else Buffers()
        self.stream = self.buffers.stream
        self.push = self.stream.extend
        self.callbacks: list[Any] = []
        # Numbers of outer levels, whose primals the float arrays hold: constants and partials by (row, field), and
        # values by cell. A stack with any of them is mixed: its sweep runs on Python numbers.
        self.outer: Mapping[tuple[int, int], Number] = NOTHING
        self.outer_values: Mapping[int, Number] = NOTHING
        self.is_mixed = False  # whether there are any, or arrays of outer levels
        self.packed = 1  # the first cell that the stream still has, and the row of its record
        self.rows_packed = 1
        self.limit = CHUNK  # the cell at which a record of a number checks the length of the stream

    # ---- recording ---------------------------------------------------------------------------------------------------
    def variable(self, value: Value) -> Var:
        return self._push(INPUT, 0, 0, value)

    def float_variable(self, value: float) -> Var:
        return self._push(INPUT, 0, 0, value, self.var_class.float_class)

    def float_variables(self, values: Sequence[float]) -> list[Var]:
        first, n = self.top, len(values)
        made: list[Any] = [cls() for cls in [self.var_class.float_class] * n]
        for k, (c, value) in enumerate(zip(made, values, strict=True), first):
            c._value = value
            c._owner = self
            c._index = k
        fields = [float(INPUT)] * (4 * n)
        fields[3::4] = values
        self.top = first + n
        self.push(fields)
        if self.top > self.limit:
            self.flush_if_long()
        return made

    def adjoint_of(self, index: int) -> Real:
        adjoints = self.adjoints
        if adjoints.__class__ is not np.ndarray:
            return super().adjoint_of(index)
        return adjoints.item(index) if index < len(adjoints) else 0.0

    def cotangents(self, xs: Sequence[Value]) -> list[Value]:
        adjoints = self.adjoints
        if adjoints.__class__ is not np.ndarray:
            return super().cotangents(xs)
        if {*map(type, xs)} == {self.var_class.float_class}:
            first, last = xs[0]._index, xs[-1]._index
            if last - first == len(xs) - 1 and last < len(adjoints):  # leaves are returned as they were made
                found: list[Value] = adjoints[first : last + 1].tolist()
                return found
        d, n = adjoints.data, len(adjoints)  # a memoryview, which gives Python's floats
        return [(d[x._index] if x._index < n else 0.0) if isinstance(x, Var) else self.cotangent(x) for x in xs]

    def _push(self, code: int, x: Real, y: Real, value: Real, var_class: Any = None) -> Var:
        c = (var_class or self.var_class)()
        c._value = value
        c._owner = self
        c._index = k = self.top
        self.top = k + 1
        self.push((code, x, y, value))
        if k >= self.limit:
            self.flush_if_long()
        return c

    def apply(self, rule: ScalarRule, args: Sequence[Value]) -> Var:
        mine = [isinstance(x, Var) and x._owner is self for x in args]
        values = [x._value if own else x for x, own in zip(args, mine, strict=True)]
        z = rule(*values)
        code = operation_code(rule, "".join("v" if own else "c" for own in mine))
        if code is not None:
            fields = [x._index if own else x for x, own in zip(args, mine, strict=True)]
            return self._push(code, fields[0], fields[1] if rule.arity == 2 else 0, z)
        if rule.along is not None:  # the products of the linear rule decide about a partial that is nan
            own_cells = [x._index if own else None for x, own in zip(args, mine, strict=True)]
            return self._push_twin(rule, z, values, own_cells)
        partials = [
            (x._index, rule.partial(k)(z, *values)) for k, (x, own) in enumerate(zip(args, mine, strict=True)) if own
        ]
        active = [k for k, own in enumerate(mine) if own]
        routed = [rule.body is not None and rule.body.routes(k) for k in active]
        return self.push_partials(
            z, [(0 if r and p == 0.0 else cell, p) for r, (cell, p) in zip(routed, partials, strict=True)]
        )

    def push_partials(self, value: Real, partials: Sequence[tuple[int, Real]]) -> Var:
        """Push a result with its stored partials (cell, partial): one cell each, the last one the result's."""
        n = len(partials)
        c = self.var_class()
        c._value = value
        c._owner = self
        stream: list[Real] = []
        for k, (cell, p) in enumerate(partials):
            stream += (LINEAR if k == 0 else JOIN, cell, p, value)
        c._index = k = self.top + n - 1
        self.top = k + 1
        self.push(stream)
        if k >= self.limit:
            self.flush_if_long()
        return c

    def _push_twin(self, rule: ScalarRule, z: Value, values: Sequence[Value], cells: Sequence[int | None]) -> Var:
        """Push the twin of a rule at a kink, which Python sweeps."""

        def twin_chain(adj: Adjoints) -> None:
            d = adj.cells[c._index]
            if d.__class__ is not float or d != 0.0:
                with np.errstate(all="ignore"):
                    for k, cell in enumerate(cells):
                        if cell is not None:
                            adj.cells[cell] = adj.cells[cell] + rule.product(k)(d, rule.partial(k)(z, *values))

        c = self.push_callback(twin_chain, z)
        return c

    def push_callback(self, f: Callable[[Adjoints], None], value: Value) -> Var:
        self.callbacks.append(f)
        return self._push(CALLBACK, len(self.callbacks) - 1, 0, value)

    def flush_if_long(self) -> None:
        """Pack the stream into the arrays if it is long; if not, many of the new cells belong to arrays."""
        if len(self.stream) >= LONG:
            self.flush()
        else:
            self.limit = self.top + CHUNK - 1 - len(self.stream) // 4

    def flush(self) -> None:
        """Pack the stream into the arrays."""
        n = self._stage()
        if n or self.packed != self.top:
            self._settle(n)
            if self.native is not None:
                self.native.spent += n * NativeParts.RECORD

    def _stage(self) -> int:
        """Write the records of the stream to `staging`, and make room for them in the arrays; returns their number."""
        buffers = self.buffers
        stream = buffers.stream
        n = len(stream) // 4
        if not n:
            return 0
        if self.rows_packed + n > ROWS or self.top > ROWS:  # every buffer has room for so many
            if self.rows_packed + n > len(buffers.records):
                buffers.grow("records", self.rows_packed + n)
            if self.top > len(buffers.values):
                buffers.grow("values", self.top)
            if n > len(buffers.staging):
                buffers.grow("staging", n)
        if PATIENCE.is_over and compile_sweeps().read(buffers, n):
            return n
        before = THREAD.remembered
        try:
            struct.pack_into(f"{4 * n}d", buffers.staging, 0, *stream)
        except struct.error:  # a number of an outer level, which has refused to become a float
            forget_since(before)
            struct.pack_into(f"{4 * n}d", buffers.staging, 0, *self._set_aside(stream, self.rows_packed))
        return n

    def _settle(self, n: int) -> None:
        """Move n staged records to the arrays."""
        settle = compile_sweeps().settle if PATIENCE.is_over else plain_sweep.settle
        if settle(self.buffers, n, self.rows_packed, self.packed) != self.top:
            self._end_interrupted()
        self.buffers.stream.clear()
        self.rows_packed += n
        self.packed = self.top
        self.limit = self.top + CHUNK - 1

    def _end_interrupted(self) -> None:
        """Refuse a recording whose records do not belong to its cells."""
        self.end("its recording was interrupted between two steps that belong together")
        self.check_usable("flush")

    def _set_aside(self, stream: list[Real], row: int) -> list[Real]:
        """Keep the numbers of outer levels beside the arrays, and replace them by their primals."""
        cell = self.packed
        for start in range(0, len(stream), 4):
            head, x, y, value = stream[start : start + 4]
            for field, operand in ((1, x), (2, y)):
                if isinstance(operand, Number):
                    self.outer = with_item(self.outer, (row, field), operand)
                    self.is_mixed = True
            if isinstance(value, Number):
                self.set_outer_value(cell, value)
            cell += decode(head)[2]
            row += 1
        return [peek(x) for x in stream]

    def set_outer_value(self, cell: int, value: Number) -> None:
        """Keep the value of a cell that is a number of an outer level."""
        self.outer_values = with_item(self.outer_values, cell, value)
        self.is_mixed = True

    # ---- sweeping ----------------------------------------------------------------------------------------------------
    def sweep(self, top: int, seeds: Sequence[tuple[CellIndex, Value]]) -> AdjointVector:
        b = self.buffers
        row, end, n = self.rows_packed, self.top, len(b.stream) >> 2
        native = self.native
        if native is not None and native.is_due:
            native.spent += native.STACK + n * native.RECORD
            if native.spent >= native.limit:
                native.look()
        if end > b.brief or row + n > ROWS or len(seeds) != 1 or self.is_mixed or not PATIENCE.is_over:
            return self._sweep_records(top, seeds)
        cell, seed = seeds[0]
        if cell.__class__ is not int or seed.__class__ is not float or self.watch is not None:
            return self._sweep_records(top, seeds)
        adjoints = b.adjoints[:end]  # a short recording of plain numbers: one compiled call
        row, k = compile_sweeps().read_and_sweep(b, n, row, self.packed, end, cell, seed, top)
        if row == -2:
            return self._sweep_records(top, seeds)
        if row == -1:
            self._end_interrupted()
        b.stream.clear()
        self.rows_packed += n
        self.packed = end
        self.limit = end + CHUNK - 1
        return self._go_on(adjoints, row, k, top) if row else adjoints

    def _sweep_records(self, top: int, seeds: Sequence[tuple[CellIndex, Value]]) -> AdjointVector:
        n = self._stage()
        if n or self.packed != self.top:
            self._settle(n)
        if self.is_mixed or (self.watch is not None and self.watch.on_numbers):
            return self._sweep_numbers(top, seeds)
        adjoints = self.buffers.zero_adjoints(self.top)
        for cell, seed in seeds:
            if seed.__class__ is float:
                adjoints[cell] += seed
            elif is_plain(seed):
                np.add.at(adjoints, cell, seed)
            else:
                return self._sweep_numbers(top, seeds)
        row, k = self._sweep_rows(adjoints, self.rows_packed - 1, self.top - 1, top)
        return self._go_on(adjoints, row, k, top) if row else adjoints

    def _sweep_rows(self, adjoints: np.ndarray, row: int, k: int, top: int) -> tuple[int, int]:
        """Sweep from `row`, whose last cell is k, to 0 or a row that needs Python; returns that row and its cell."""
        b = self.buffers
        if self.watch is not None:
            return self.watch.sweep(b, row, k, top)
        while PATIENCE.spent < PATIENCE.limit or PATIENCE.look():
            start = perf_counter()
            try:
                seconds = PATIENCE.limit - PATIENCE.spent
                row, k, is_out_of_time = plain_sweep.sweep(b, adjoints, row, k, top, seconds)
            finally:
                PATIENCE.spent += perf_counter() - start
            if not is_out_of_time:
                return row, k
        return compile_sweeps().sweep(b, row, k, top)

    def _go_on(self, adjoints: np.ndarray, row: int, k: int, top: int) -> AdjointVector:
        """Continue a sweep that has reached `row`, which needs Python, or row 0, the end."""
        b = self.buffers
        while row > 0:
            head, x, y = b.records[row].tolist()
            code, _, n = decode(head)
            is_left = code == PULLBACK and (y == 0.0 or b.shapes[int(y)] == 0)  # by its kernel, or it has none
            if head < 0 and not is_left and has_kernel(code) and not KERNELS[code]:
                if PATIENCE.sweep_array(b, adjoints, row, k, top):
                    row, k = row - 1, k - n
            else:
                self.running = k - n + 1
                adj = Adjoints(self, adjoints, k - n + 1)
                self.callbacks[int(x)](adj)
                row, k = row - 1, k - n
                if adj.cells is not adjoints:  # the callback has created a number of an outer level
                    return self._sweep_on_numbers(row, k, top, adj.cells)
            row, k = self._sweep_rows(adjoints, row, k, top)
        return adjoints

    def _sweep_numbers(self, top: int, seeds: Sequence[tuple[CellIndex, Value]]) -> AdjointVector:
        adjoints = self.zero_numbers()
        for cell, seed in seeds:
            if isinstance(cell, np.ndarray):
                adjoints.add(cell, seed)  # they may repeat
            else:
                adjoints[cell] = adjoints[cell] + seed
        return self._sweep_on_numbers(self.rows_packed - 1, self.top - 1, top, adjoints)

    def _sweep_on_numbers(self, row: int, k: int, top: int, adjoints: AdjointVector) -> AdjointVector:
        """Sweep on numbers of outer levels, with the same rule bodies; `k` is the last cell of the row."""
        while row > 0:
            n = self._sweep_row_on_numbers(row, k, top, adjoints)
            if self.watch is not None:
                self.watch.look_at_row(row, k, adjoints)
            k -= n
            row -= 1
        return adjoints

    def _sweep_row_on_numbers(self, row: int, k: int, top: int, adjoints: AdjointVector) -> int:
        """Sweep one record on numbers of outer levels; returns the number of its own cells."""
        if k <= top:
            code, x, y = self.buffers.records[row].tolist()
            self._sweep_scalar_on_numbers(row, k, int(code), adjoints, x, y)
        return 1

    def _sweep_scalar_on_numbers(
        self, row: int, k: int, code: int, adjoints: AdjointVector, x: float, y: float
    ) -> None:
        d = adjoints[k]
        if code == CALLBACK:
            self.running = k
            self.callbacks[int(x)](Adjoints(self, adjoints, k))
        elif code == INPUT or (d.__class__ is float and d == 0.0):
            return
        elif code in (LINEAR, JOIN):
            cell = int(x)
            adjoints[cell] = adjoints[cell] + scale(d, self._number(row, 2, y))
            if code == JOIN:
                adjoints[k - 1] = adjoints[k - 1] + d
        else:
            rule, cells, values = self._operands(row)
            z = self._value(k)
            for n, operand in enumerate(cells):
                if operand is not None:
                    adjoints[operand] = adjoints[operand] + rule.product(n)(d, rule.partial(n)(z, *values))

    def zero_numbers(self) -> AdjointVector:
        """Zero adjoints that can become numbers of outer levels."""
        return [0.0] * self.top

    def numbers_of(self, adjoints: np.ndarray) -> AdjointVector:
        """The adjoints, in a form that can hold numbers of outer levels."""
        return adjoints.tolist()

    def _number(self, row: int, field: int, default: float) -> Real:
        return self.outer.get((row, field), default) if self.outer else default

    def _value(self, cell: int) -> Value:
        """The value of a scalar's cell."""
        return self.outer_values[cell] if cell in self.outer_values else float(self.buffers.values[cell])

    def _operands(self, row: int) -> tuple[ScalarRule, list[int | None], list[Real]]:
        """The rule, the parents' cells (None for a constant) and the operands' values of a scalar record."""
        code, *fields = self.buffers.records[row].tolist()
        rule, active = OPERATIONS[int(code)]
        cells = [int(field) if kind == "v" else None for kind, field in zip(active, fields, strict=False)]
        values = [
            self._number(row, n + 1, fields[n]) if cell is None else self._value(cell) for n, cell in enumerate(cells)
        ]
        return rule, cells, values

    def _partials(self, row: int, k: int) -> Iterator[tuple[int, Real]]:
        rule, cells, values = self._operands(row)
        z = self._value(k)
        for n, cell in enumerate(cells):
            if cell is not None:
                yield cell, rule.partial(n)(z, *values)

    # ---- inspection --------------------------------------------------------------------------------------------------
    def rows(self) -> Iterator[Row]:
        self.flush()
        k = 1
        for row in range(1, self.rows_packed):
            yield self._row(row, k)
            k += decode(self.buffers.records[row, 0])[2]

    def _row(self, row: int, k: int) -> Row:
        """The record of a scalar, for inspection."""
        code, x, y = self.buffers.records[row].tolist()
        if code in (INPUT, CALLBACK):
            return Row(k, VARIANTS[int(code)], (), (), self._value(k))
        if code in (LINEAR, JOIN):
            parents: tuple[Real, ...] = (int(x),) if code == LINEAR else (k - 1, int(x))
            p = self._number(row, 2, y)
            return Row(k, VARIANTS[int(code)], parents, (p,) if code == LINEAR else (1.0, p), self._value(k))
        rule, cells, values = self._operands(row)
        parents = tuple(v if cell is None else cell for cell, v in zip(cells, values, strict=True))
        return Row(k, rule.name, parents, tuple(p for _, p in self._partials(row, k)), self._value(k))

    def footprints(self) -> Iterator[Footprint]:
        self.flush()
        for row in range(1, self.rows_packed):
            yield self._footprint(row)

    def _footprint(self, row: int) -> Footprint:
        """The bytes that a record takes."""
        return Footprint(1, RECORD_BYTES + CELL_BYTES)

    def shared_bytes(self) -> int:
        b = self.buffers
        return 8 * (b.constants_top - FIRST_CONSTANT + b.shapes_top - len(FORMS))

    def release(self) -> None:
        self.buffers.clear(self.top)
        self.adjoints = ()
        if self.callbacks:
            self.callbacks.clear()
        self.outer = self.outer_values = NOTHING
        self.is_mixed = False
        self.pool.append(self.buffers)
        self.buffers = _NONE


# ---- methods of variables ------------------------------------------------------------------------------------------
_RECORD = """\
push = s.push
c._index = k = s.top; s.top = k + 1
push(({code:.1f}, {x}, {y}, z))
if k >= s.limit: s.flush_if_long()"""


_STORED = """\
push = s.push
c._index = k = s.top{more}; s.top = k + 1
push(({fields}))
if k >= s.limit: s.flush_if_long()"""


def implementation(cls: type[Var], rule: ScalarRule) -> tuple[Function, Function | None]:
    """Generated methods of a variable class that pushes records; for more than two arguments the general method."""
    if rule.arity > 2:
        return lambda *args: rule.general(args), None
    compiled = operation_code(rule, "v" * rule.arity) is not None
    return generate(cls, rule, _record if compiled else _record_partials)


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    x = "a._index" if active[0] == "v" else "x"
    y = "0.0" if rule.arity == 1 else "b._index" if active[1] == "v" else "y"
    return _RECORD.format(code=operation_code(rule, active), x=x, y=y), {}


def _record_partials(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    """Lines that store the partials: one record per active argument, the last one being the result's."""
    values = "z, x" if rule.arity == 1 else "z, x, y"
    names: dict[str, Any] = {}
    partials: list[str] = []
    fields: list[str] = []
    for k, kind in enumerate(active):
        if kind == "v":
            names[f"p{k}"] = rule.partial(k)
            partials.append(f"{'pq'[k]} = p{k}({values})")
            cell = f"{'ab'[k]}._index"
            if rule.body is not None and rule.body.routes(k):
                cell = f"{cell} if {'pq'[k]} != 0.0 else 0"
            fields.append(f"{JOIN if fields else LINEAR:.1f}, {cell}, {'pq'[k]}, z")
    record = _STORED.format(fields=", ".join(fields), more=" + 1" if len(fields) > 1 else "")
    whole = f"if s.keeps_rules: return general({'a' if rule.arity == 1 else 'a, b'})"
    return "\n".join([whole, *partials, record]), names
