"""Which values are lanes, where several directions or cotangents are taken at once: what differs between them.

A tangent is a number for each direction, and so is what a tangent goes into. In the reverse of a program with tangents
it is the other way round: the adjoint of a tangent is the same for all directions, that of any other number is not.
Without tangents all adjoints are lanes, one for each cotangent, and nothing else is.
"""

from collections.abc import Iterable, Iterator
from typing import NoReturn

from contad.engines.source.ir.masked_products import CHAIN
from contad.engines.source.ir.single_assignment import (
    FLOAT,
    Accumulate,
    Apply,
    Call,
    Choose,
    Handed,
    If,
    Load,
    Loop,
    MatrixCall,
    Operation,
    Product,
    SourceProgram,
    Store,
    Value,
)
from contad.engines.source.ir.walks import walk
from contad.errors import UnsupportedError


class LaneValues:
    """Asks whether a value is lanes, and whether its adjoint is."""

    def __init__(self, program: SourceProgram, count: int, given: Iterable[Value]) -> None:
        """`given` are lanes."""
        self.count = count
        self.values = {key for x in given for key in x.roots or (x,)}
        self.has_tangents = bool(self.values)
        self.masked = False  # whether a tangent of 0 may leave out a partial, so that adjoints of tangents differ too
        known = -1
        while known != len(self.values):
            known = len(self.values)
            for o in _walk_calls(program):
                self._visit(o)
        for o in _walk_calls(program):
            self._check(program.name, o)

    def __contains__(self, value: Value) -> bool:
        return any(key in self.values for key in value.roots or (value,))

    def width(self, value: Value) -> int:
        """How many numbers a value is."""
        return self.count if value in self else 1

    def bar(self, value: Value) -> bool:
        """Whether the adjoint of a value is lanes."""
        return not self.has_tangents or self.masked or value not in self

    def _add(self, value: Value) -> None:
        self.values.update(value.roots or (value,))

    def _visit(self, o: Operation) -> None:
        """Add what an operation makes of lanes."""
        pairs: list[tuple[Value, Value]] = []
        if isinstance(o, Apply) and o.result.kind == FLOAT:
            pairs = [(x, o.result) for x in o.inputs]
            self.masked |= o.function is CHAIN and o.result in self
        elif isinstance(o, Load):
            pairs = [(o.array, o.result)]
        elif isinstance(o, Store):
            pairs = [(o.stored, o.array)]
        elif isinstance(o, Accumulate):
            pairs = [(o.added, o.array)]
        elif isinstance(o, Choose):
            pairs = [(o.result, o.result)]
        elif isinstance(o, Product):
            pairs = [(x, o.result) for x in o.inputs]
        elif isinstance(o, If):
            pairs = [(x, m.result) for m in o.merges for x in (m.then, m.otherwise)]
        elif isinstance(o, Loop):
            pairs = [(x, c.inner) for c in o.carried for x in (c.initial, c.following)]
            pairs += [(c.inner, c.result) for c in o.carried]
        elif isinstance(o, Call):
            pairs = [*zip(o.inputs, o.callee.parameters, strict=True), *zip(o.callee.outputs, o.results, strict=True)]
        for source, target in pairs:
            if source in self:
                self._add(target)

    def _check(self, name: str, o: Operation) -> None:
        """Refuse what is computed one direction at a time."""
        if isinstance(o, Apply) and o.result.kind != FLOAT and any(x in self for x in o.inputs):
            refuse(name, "a condition on a tangent")
        if isinstance(o, (MatrixCall, Handed)) and any(x in self for x in o.inputs):
            expression = "an expression that Numba computes as it stands"
            refuse(name, o.function.name if isinstance(o, MatrixCall) else expression)
        if isinstance(o, Product) and o.result in self:
            require_vector(name, o)


def refuse(name: str, what: str) -> NoReturn:
    """Refuse something in a function of this name."""
    raise UnsupportedError(f"{name}: {what} is differentiated in one direction at a time")


def require_vector(name: str, o: Product) -> None:
    """Refuse a product of two matrices, which BLAS computes."""
    if all(x.kind.ndim == 2 for x in o.inputs):
        refuse(name, "a product of two matrices")


def _walk_calls(program: SourceProgram) -> Iterator[Operation]:
    """The operations of a program and of the functions that it calls."""
    waiting, known = [program], {program}
    while waiting:
        for o in walk(waiting.pop().block):
            yield o
            if isinstance(o, Call) and o.callee.program not in known:
                known.add(o.callee.program)
                waiting.append(o.callee.program)
