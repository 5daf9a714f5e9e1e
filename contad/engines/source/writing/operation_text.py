"""The text of operations with one result."""

import functools
import math

from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.ir.rule_sites import RuleForward
from contad.engines.source.ir.single_assignment import (
    NEW_AXIS,
    Apply,
    Body,
    Choose,
    Create,
    For,
    Handed,
    Length,
    Load,
    Loop,
    MatrixCall,
    Operation,
    Permuted,
    Product,
    Reshaped,
    Value,
    View,
)
from contad.engines.source.ir.walks import around, walk
from contad.engines.source.ir.writer import BAR, ZEROS, Writer, tuple_text
from contad.engines.source.writing.small_products import MOST
from contad.native.arena import LOANS

_DTYPES = {"float": "np.float64", "int": "np.int64", "bool": "np.bool_"}


def copy_text(x: Value, lanes: LaneValues | None) -> str:
    """A copy of an array, which may be lanes."""
    return f"copy_lanes({x.name})" if lanes is not None and x in lanes else f"{x.name}.copy()"


class ExpressionWriter:
    """Gives the text of operations, from the names that a writer has given to values."""

    def __init__(self, writer: Writer, lanes: LaneValues | None = None) -> None:
        self.writer, self.lanes = writer, lanes
        self.lent: dict[tuple[Operation, str], int] | None = None  # the numbers of arrays that the thread lends

    def lend_arrays(self) -> None:
        """Take memory of the thread for arrays that are made once, where programs calculate with large ones.

        Those with matrices do, and those whose loops threads share: the system gives pages to one thread at a time.
        """
        if any(map(self._is_with_large_arrays, walk(self.writer.program.block))):
            self.lent = {}

    def _is_with_large_arrays(self, o: Operation) -> bool:
        if isinstance(o, Create):
            return o.result.kind.ndim == 2 and o.block is self.writer.program.block and not self.is_small(o)
        return isinstance(o, (MatrixCall, Product)) or (isinstance(o, For) and o.is_parallel)

    def make_array(self, o: Operation, fill: str, shape: str, suffix: str = "") -> str:
        """A new array of numbers, or the adjoint of what is made."""
        if self.is_lanes(o.result, suffix):
            return self.zeros(o.result, shape, suffix)
        key = o, suffix
        if self.lent is not None and o.block is self.writer.program.block and fill in ("empty", "zeros"):
            if key in self.lent or len(self.lent) < LOANS:
                return f"lent_{fill}({self.lent.setdefault(key, len(self.lent))}, {shape})"
        return f"np.{fill}({shape})"

    def is_lanes(self, value: Value, suffix: str = "") -> bool:
        """Whether a value, or with the suffix its adjoint, is lanes."""
        return self.lanes is not None and (self.lanes.bar(value) if suffix else value in self.lanes)

    def zeros(self, value: Value, shape: str, suffix: str = BAR, small: bool = False) -> str:
        """Zeros in an array of this shape, as the adjoint of a value."""
        before = "small_" if small else ""
        if self.lanes is not None and self.is_lanes(value, suffix):
            return f"{before}lanes_zeros({shape}, {self.lanes.count})"
        return f"{before}zeros({shape})" if small else f"np.zeros({shape})"

    def expression(self, o: Operation) -> str:
        """The text of an operation with one result."""
        if isinstance(o, Apply):
            return self.writer.apply(o)
        if isinstance(o, Load):
            text = self.writer.subscript(self.writer.text(o.array), o.indices)
            if o.array.kind.narrow or o.result.kind.base == "bool":  # NumPy's wrap, and add as truth values, in Python
                text = f"{o.result.kind.base}({text})"
            return (
                text if o.guard is None else f"{text} if {self.writer.text(o.guard)} else {ZEROS[o.result.kind.base]}"
            )
        if isinstance(o, Length):
            return f"{self.writer.text(o.inputs[0])}.shape[{o.axis}]"
        if isinstance(o, Create):
            if o.fill in ("empty", "zeros") and o.result.kind.base == "float" and self.is_small(o):
                return self.zeros(o.result, self.shape(o), "", small=True)
            if o.result.kind.base == "float" and (not self.hands_on or self.is_lanes(o.result)):
                return self.make_array(o, o.fill, self.shape(o))
            dtype = "" if o.result.kind.base == "float" else f", {_DTYPES[o.result.kind.base]}"
            return f"np.{o.fill}({self.shape(o)}{dtype})"
        if isinstance(o, View):
            return self.write_view(o, self.writer.text(o.inputs[0]))
        if isinstance(o, Choose):
            return self.write_choice(o, "")
        if isinstance(o, Product):
            if self.is_lanes(o.result):
                return f"lanes_product({', '.join(map(self.writer.text, o.inputs))})"
            if o.is_gram:
                return f"gram({self.writer.text(o.inputs[1])})"
            return " @ ".join(map(self.writer.text, o.inputs))
        raise TypeError(type(o))

    def make_product(self, o: Product) -> str:
        """The array that the product of a matrix and a vector is put in; empty for another product."""
        a, b = o.inputs
        if {a.kind.ndim, b.kind.ndim} != {1, 2} or self.is_lanes(o.result):
            return ""
        shape = f"({a.name}.shape[0],)" if a.kind.ndim == 2 else f"({b.name}.shape[1],)"
        return f"np.empty({shape})" if self.hands_on else self.make_array(o, "empty", shape)

    @functools.cached_property
    def hands_on(self) -> bool:
        """Whether the user's expressions get arrays, which may then be anywhere."""
        return any(isinstance(o, Handed) and not isinstance(o, RuleForward) for o in walk(self.writer.program.block))

    def shape(self, o: Create) -> str:
        """The shape of an array that is made, as a tuple."""
        return tuple_text([self.writer.text(x) for x in o.inputs])

    def is_small(self, o: Create) -> bool:
        """Whether an array and its adjoint may lie on the stack: small, of a known shape, and made once."""
        sizes = [x.constant for x in o.inputs]
        if None in sizes or min(sizes) < 1 or math.prod(sizes) > MOST:
            return False
        return not any(isinstance(holder, Loop) and not isinstance(holder, Body) for holder in around(o.block))

    def write_view(self, o: View, array: str) -> str:
        """A part of an array in another form, or of its adjoint."""
        if o.spec is None:
            return f"{array}.T"
        if isinstance(o, Permuted):
            return f"np.transpose({array}, {tuple_text(list(map(str, o.axes)))})"
        if isinstance(o, Reshaped):
            return f"{array}.reshape({tuple_text([self.writer.text(x) for x in o.inputs[1:]])})"
        parts = []
        for part in o.spec:
            if part == NEW_AXIS:
                parts.append(part)
            elif isinstance(part, tuple):
                start, stop, step = ("" if k is None else self.writer.text(o.inputs[k]) for k in part)
                parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
            else:
                parts.append(self.writer.text(o.inputs[part]))
        return f"{array}[{', '.join(parts)}]"

    def write_choice(self, o: Choose, suffix: str) -> str:
        """One of several arrays, or of their adjoints, by its number."""
        selector, *arrays = o.inputs
        text = arrays[-1].name + suffix
        for n, array in reversed(list(zip(o.numbers, arrays, strict=True))[:-1]):
            text = f"{array.name}{suffix} if {selector.name} == {n} else {text}"
        return text
