"""The engine `records`: a continuation is a fixed-size record (operation, parent, parent) in one flat stream.

While recording, a Python list holds four numbers per operation: operation, two operands, value. Every few thousand
records it is packed into an array of records with the values beside it. One compiled sweep evaluates the partials
from the values and accumulates. A constant operand stands in its parent's place by value, under an operation code of
its own.

Operations whose rules are not compiled into the sweep store their partials: one `linear` record per active argument,
chained by `join`, which passes its adjoint on to the record before it.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from contad.adjoints import Adjoints
from contad.engines.methods import generate
from contad.engines.sweep import CALLBACK, INPUT, JOIN, LINEAR, OPERATIONS, VARIANTS, compiled_sweep, operation_code
from contad.number import Number, primal, scale
from contad.protocols import install
from contad.rule import ScalarRule
from contad.stack import THREAD, ChainStack, Row
from contad.var import Var

CHUNK = 4096  # records kept as Python numbers before they are packed; longer runs pay for keeping them alive

_RECORD = """\
c = Var(); c._value = z; c._owner = s
push = s.push
c._index = k = s.top; s.top = k + 1
push(({code:.1f}, {x}, {y}, z))
if k >= s.limit: s.flush()"""


_STORED = """\
c = Var(); c._value = z; c._owner = s
push = s.push
c._index = k = s.top{more}; s.top = k + 1
push(({fields}))
if k >= s.limit: s.flush()"""


class RecordVar(Var):
    """A variable whose operations push records."""

    __slots__ = ()

    @classmethod
    def implement(cls, rule: ScalarRule) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """Generated methods; the general way for rules of more than two arguments."""
        if rule.arity > 2:
            return lambda *args: rule.general(args), None
        compiled = operation_code(rule, "v" * rule.arity) is not None
        return generate(cls, rule, _record if compiled else _record_partials)


def _record(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    x = "a._index" if active[0] == "v" else "x"
    y = "0" if rule.arity == 1 else "b._index" if active[1] == "v" else "y"
    return _RECORD.format(code=operation_code(rule, active), x=x, y=y), {}


def _record_partials(rule: ScalarRule, active: str) -> tuple[str, dict[str, Any]]:
    """Store the partials: one record per active argument, the last one the result's."""
    values = "z, x" if rule.arity == 1 else "z, x, y"
    names: dict[str, Any] = {}
    partials: list[str] = []
    fields: list[str] = []
    for k, kind in enumerate(active):
        if kind == "v":
            names[f"p{k}"] = rule.partial(k)
            partials.append(f"{'pq'[k]} = p{k}({values})")
            fields.append(f"{JOIN if fields else LINEAR:.1f}, {'ab'[k]}._index, {'pq'[k]}, z")
    record = _STORED.format(fields=", ".join(fields), more=" + 1" if len(fields) > 1 else "")
    return "\n".join([*partials, record]), names


class Buffers:
    """The storage of one recording, reused from one gradient to the next."""

    __slots__ = ("adjoints", "records", "staging", "stream", "values")

    def __init__(self) -> None:
        self.stream: list[Any] = []
        self.staging: Any = np.empty((CHUNK, 4))
        self.records = np.zeros((CHUNK, 3))
        self.values = np.zeros(CHUNK)
        self.adjoints = np.zeros(CHUNK)

    def grow(self, n: int) -> None:
        if n > len(self.values):
            size = max(n, 2 * len(self.values))
            for name in ("records", "values"):
                old = getattr(self, name)
                new = np.zeros((size, *old.shape[1:]))
                new[: len(old)] = old
                setattr(self, name, new)

    def zero_adjoints(self, n: int) -> np.ndarray:
        if n > len(self.adjoints):
            self.adjoints = np.zeros(len(self.values))
        adjoints = self.adjoints[:n]
        adjoints[:] = 0.0
        return adjoints


class RecordStack(ChainStack):
    """A stream of records, the values beside it, and the numbers of outer levels where there are any."""

    __slots__ = ("buffers", "callbacks", "limit", "outer", "packed")
    engine = "records"

    def __init__(self, level: int | None = None) -> None:
        super().__init__(level)
        pool = THREAD.pools.setdefault(self.engine, [])
        self.buffers = pool.pop() if pool else Buffers()
        self.push = self.buffers.stream.extend
        self.callbacks: list[Callable[[Adjoints], None]] = []
        # (cell, field) -> number of an outer level; the float arrays hold its primal. Non-empty: the stack is mixed.
        self.outer: dict[tuple[int, int], Number] = {}
        self.packed = 1
        self.limit = CHUNK

    # ---- recording ---------------------------------------------------------------------------------------------------
    def variable(self, value: Any) -> Var:
        return self._push(INPUT, 0, 0, value)

    def _push(self, code: int, x: Any, y: Any, value: Any) -> Var:
        c = object.__new__(RecordVar)
        c._value = value
        c._owner = self
        c._index = k = self.top
        self.top = k + 1
        self.push((code, x, y, value))
        if k >= self.limit:
            self.flush()
        return c

    def apply(self, rule: ScalarRule, args: Sequence[Any]) -> Var:
        mine = [isinstance(x, Var) and x._owner is self for x in args]
        values = [x._value if own else x for x, own in zip(args, mine, strict=True)]
        z = rule(*values)
        code = operation_code(rule, "".join("v" if own else "c" for own in mine))
        if code is not None:
            fields = [x._index if own else x for x, own in zip(args, mine, strict=True)]
            return self._push(code, fields[0], fields[1] if rule.arity == 2 else 0, z)
        partials = [
            (x._index, rule.partial(k)(z, *values)) for k, (x, own) in enumerate(zip(args, mine, strict=True)) if own
        ]
        return self.push_partials(z, partials)

    def push_partials(self, value: Any, partials: Sequence[tuple[int, Any]]) -> Var:
        """Push a result with its stored partials (cell, partial): one cell each, the last one the result's."""
        n = len(partials)
        c = object.__new__(RecordVar)
        c._value = value
        c._owner = self
        stream: list[Any] = []
        for k, (cell, p) in enumerate(partials):
            stream += (LINEAR if k == 0 else JOIN, cell, p, value)
        c._index = k = self.top + n - 1
        self.top = k + 1
        self.push(stream)
        if k >= self.limit:
            self.flush()
        return c

    def push_callback(self, f: Callable[[Adjoints], None], value: Any) -> Var:
        self.callbacks.append(f)
        return self._push(CALLBACK, len(self.callbacks) - 1, 0, value)

    def flush(self) -> None:
        """Pack the stream into the arrays."""
        stream = self.buffers.stream
        lo, hi = self.packed, self.packed + len(stream) // 4
        if hi != self.top:
            self.end("its recording was interrupted between two steps that belong together")
            self.check_usable("flush")
        if lo == hi:
            return
        buffers = self.buffers
        buffers.grow(hi)
        if hi - lo > len(buffers.staging):
            buffers.staging = np.empty((hi - lo, 4))
        try:
            struct.pack_into(f"{len(stream)}d", buffers.staging, 0, *stream)
        except (TypeError, struct.error):
            struct.pack_into(f"{len(stream)}d", buffers.staging, 0, *self._set_aside(stream, lo))
        buffers.records[lo:hi] = buffers.staging[: hi - lo, :3]
        buffers.values[lo:hi] = buffers.staging[: hi - lo, 3]
        stream.clear()
        self.packed = hi
        self.limit = hi + CHUNK - 1

    def _set_aside(self, stream: list[Any], cell: int) -> list[Any]:
        """Keep the numbers of outer levels beside the arrays, and put their primals in their place."""
        for position, x in enumerate(stream):
            if isinstance(x, Number):
                self.outer[cell + position // 4, position % 4] = x
        return [primal(x) for x in stream]

    # ---- sweeping ----------------------------------------------------------------------------------------------------
    def sweep(self, top: int, seeds: Sequence[tuple[int, Any]]) -> Any:
        self.flush()
        if self.outer:
            return self._sweep_numbers(top, seeds)
        buffers = self.buffers
        adjoints = buffers.zero_adjoints(top + 1)
        for cell, seed in seeds:
            if seed.__class__ is not float:
                return self._sweep_numbers(top, seeds)
            adjoints[cell] += seed
        sweep = compiled_sweep()
        while (top := sweep(buffers.records, buffers.values, adjoints, top)) > 0:
            adj = Adjoints(self, adjoints, top)
            self.callbacks[int(buffers.records[top, 1])](adj)
            top -= 1
            if adj.cells is not adjoints:  # the callback has added a number of an outer level
                return self._sweep_on_numbers(top, adj.cells)
        return adjoints

    def _sweep_numbers(self, top: int, seeds: Sequence[tuple[int, Any]]) -> list[Any]:
        adjoints: list[Any] = [0.0] * (top + 1)
        for cell, seed in seeds:
            adjoints[cell] = adjoints[cell] + seed
        return self._sweep_on_numbers(top, adjoints)

    def _sweep_on_numbers(self, top: int, adjoints: list[Any]) -> list[Any]:
        """The sweep on numbers of outer levels, by the same rule bodies."""
        for k in range(top, 0, -1):
            d = adjoints[k]
            code, x, y = self.buffers.records[k].tolist()
            if code == CALLBACK:
                self.callbacks[int(x)](Adjoints(self, adjoints, k))
            elif code == INPUT or (d.__class__ is float and d == 0.0):
                continue
            elif code in (LINEAR, JOIN):
                cell = int(x)
                adjoints[cell] = adjoints[cell] + scale(d, self._number(k, 2, y))
                if code == JOIN:
                    adjoints[k - 1] = adjoints[k - 1] + d
            else:
                for cell, p in self._partials(k):
                    adjoints[cell] = adjoints[cell] + scale(d, p)
        return adjoints

    def _number(self, cell: int, field: int, default: float) -> Any:
        return self.outer.get((cell, field), default) if self.outer else default

    def _value(self, cell: int) -> Any:
        return self._number(cell, 3, float(self.buffers.values[cell]))

    def _operands(self, k: int) -> tuple[ScalarRule, list[int | None], list[Any]]:
        """The rule, the parents' cells (None for a constant) and the operands' values of record k."""
        code, *fields = self.buffers.records[k].tolist()
        rule, active = OPERATIONS[int(code)]
        cells = [int(field) if kind == "v" else None for kind, field in zip(active, fields, strict=False)]
        values = [
            self._number(k, n + 1, fields[n]) if cell is None else self._value(cell) for n, cell in enumerate(cells)
        ]
        return rule, cells, values

    def _partials(self, k: int) -> Iterator[tuple[int, Any]]:
        rule, cells, values = self._operands(k)
        z = self._value(k)
        for n, cell in enumerate(cells):
            if cell is not None:
                yield cell, rule.partial(n)(z, *values)

    def rows(self) -> Iterator[Row]:
        self.flush()
        for k in range(1, self.top):
            code, x, y = self.buffers.records[k].tolist()
            if code in (INPUT, CALLBACK):
                yield Row(k, "input" if code == INPUT else "callback", (), (), self._value(k))
            elif code in (LINEAR, JOIN):
                parents: tuple[Any, ...] = (int(x),) if code == LINEAR else (k - 1, int(x))
                p = self._number(k, 2, y)
                yield Row(k, VARIANTS[int(code)], parents, (p,) if code == LINEAR else (1.0, p), self._value(k))
            else:
                rule, cells, values = self._operands(k)
                parents = tuple(v if cell is None else cell for cell, v in zip(cells, values, strict=True))
                yield Row(k, rule.name, parents, tuple(p for _, p in self._partials(k)), self._value(k))

    def release(self) -> None:
        self.buffers.stream.clear()
        self.outer.clear()
        THREAD.pools.setdefault(self.engine, []).append(self.buffers)
        self.buffers = Buffers.__new__(Buffers)


install(RecordVar, RecordVar.implement)
