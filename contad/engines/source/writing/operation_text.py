"""Writes operations with one result as expressions."""

import ast
import functools
import math

from contad.engines.source.analysis.lane_values import LaneValues
from contad.engines.source.ir import ssa
from contad.engines.source.ir.rule_sites import RuleForward
from contad.engines.source.ir.syntax import call, expression, name, number, tuple_of
from contad.engines.source.ir.walks import walk
from contad.engines.source.ir.writer import BAR, ZEROS, Writer

MOST_LENT = 64  # arrays that are on the stack if they have few numbers
MOST_SMALL = 32  # elements of an array of a known shape that is on the stack
_DTYPES = {"float": "np.float64", "single": "np.float32", "int": "np.int64", "bool": "np.bool_"}


def copy_of(x: ssa.Value, lanes: LaneValues | None) -> ast.expr:
    """A copy of an array, which may have lanes."""
    if lanes is not None and x in lanes:
        return expression("copy_lanes(x)", x=x.name)
    return expression("x.copy()", x=x.name)


class ExpressionWriter:
    """Turns operations into expressions, using the names of a writer."""

    def __init__(self, writer: Writer, lanes: LaneValues | None = None) -> None:
        self.writer, self.lanes = writer, lanes
        self.lent: dict[tuple[ssa.Operation, str], int] | None = None  # numbers of lent arrays

    def lend_arrays(self) -> None:
        """Use memory of the thread for arrays that are created once, if the function is likely to use large arrays.

        That is likely for functions with matrices or parallel loops: the system gives pages to one thread at a time.
        """
        if any(map(self._is_with_large_arrays, walk(self.writer.function.block))):
            self.lent = {}

    def _is_with_large_arrays(self, o: ssa.Operation) -> bool:
        if isinstance(o, ssa.Create):
            return o.result.kind.ndim == 2 and o.block is self.writer.function.block and not self.is_small(o)
        return isinstance(o, (ssa.MatrixCall, ssa.Product)) or (isinstance(o, ssa.For) and o.is_parallel)

    def make_array(self, o: ssa.Operation, fill: str, shape: ast.expr, suffix: str = "") -> ast.expr:
        """A new array of numbers, or the adjoint of a new array."""
        if self.is_lanes(o.result, suffix):
            return self.zeros(o.result, shape, suffix)
        if o.result.kind.elements == "single":
            return call(f"np.{fill}", [shape, _DTYPES["single"]])
        key = o, suffix
        if self.lent is not None and o.block is self.writer.function.block and fill in ("empty", "zeros"):
            if key in self.lent or len(self.lent) < MOST_LENT:
                return call(f"lent_{fill}", [self.lent.setdefault(key, len(self.lent)), shape])
        return call(f"np.{fill}", [shape])

    def is_lanes(self, value: ssa.Value, suffix: str = "") -> bool:
        """Whether a value, or with the suffix its adjoint, has lanes."""
        return self.lanes is not None and (self.lanes.bar(value) if suffix else value in self.lanes)

    def zeros(self, value: ssa.Value, shape: ast.expr, suffix: str = BAR, small: bool = False) -> ast.expr:
        """A zero array of this shape, for the adjoint of a value."""
        before = "small_" if small else ""
        if self.lanes is not None and self.is_lanes(value, suffix):
            return call(f"{before}lanes_zeros", [shape, self.lanes.count])
        if value.kind.elements == "single":
            return call("np.zeros", [shape, _DTYPES["single"]])
        return call("small_zeros" if small else "np.zeros", [shape])

    def zeros_like(self, value: ssa.Value) -> ast.expr:
        """A zero array of the shape of another one, for its adjoint."""
        return self.zeros(value, name(f"{value.name}.shape"))

    def expression(self, o: ssa.Operation) -> ast.expr:
        """The expression of an operation with one result."""
        if isinstance(o, ssa.Apply):
            return self.writer.apply(o)
        if isinstance(o, ssa.Load):
            return self._load(o)
        if isinstance(o, ssa.Length):
            return expression("x.shape[axis]", x=self.writer.text(o.inputs[0]), axis=o.axis)
        if isinstance(o, ssa.Create):
            return self._create(o)
        if isinstance(o, ssa.View):
            return self.write_view(o, self.writer.text(o.inputs[0]))
        if isinstance(o, ssa.Choose):
            return self.write_choice(o, "")
        if isinstance(o, ssa.Product):
            a, b = map(self.writer.text, o.inputs)
            if self.is_lanes(o.result):
                return expression("lanes_product(a, b)", a=a, b=b)
            return expression("gram(b)", b=b) if o.is_gram else expression("a @ b", a=a, b=b)
        raise TypeError(type(o))

    def _load(self, o: ssa.Load) -> ast.expr:
        """An element; 0 if its guard is False."""
        found = self.writer.subscript(self.writer.text(o.array), o.indices)
        if o.array.kind.narrow or o.result.kind.base == "bool":  # in Python, small integers wrap
            found = call(o.result.kind.base, [found])
        if o.result.kind.single and o.array.kind.elements != "single":
            found = call(_DTYPES["single"], [found])
        if o.guard is None:
            return found
        zero = number(ZEROS[o.result.kind.base])
        if o.result.kind.single:
            zero = call(_DTYPES["single"], [zero])
        return expression("found if guard else zero", found=found, guard=self.writer.text(o.guard), zero=zero)

    def _create(self, o: ssa.Create) -> ast.expr:
        """A new array."""
        shape, base = self.shape(o), o.result.kind.base
        if base == "float" and o.fill in ("empty", "zeros") and self.is_small(o):
            return self.zeros(o.result, shape, "", small=True)
        if base == "float" and (not self.hands_on or self.is_lanes(o.result)):
            return self.make_array(o, o.fill, shape)
        elements = o.result.kind.elements
        return call(f"np.{o.fill}", [shape] if elements == "float" else [shape, _DTYPES[elements]])

    def make_product(self, o: ssa.Product) -> ast.expr | None:
        """The new array for a product; None for a number, and for the product of a matrix with its own transpose."""
        a, b = o.inputs
        if o.is_gram or not o.result.is_array or self.is_lanes(o.result):
            return None
        lengths = [(a, 0)] * (a.kind.ndim == 2) + [(b, 1)] * (b.kind.ndim == 2)
        shape = tuple_of([expression("x.shape[axis]", x=x.name, axis=axis) for x, axis in lengths])
        return call("np.empty", [shape]) if self.hands_on else self.make_array(o, "empty", shape)

    @functools.cached_property
    def hands_on(self) -> bool:
        """Whether handed-on expressions get arrays, to which they may keep references."""
        return any(
            isinstance(o, ssa.Handed) and not isinstance(o, RuleForward) for o in walk(self.writer.function.block)
        )

    def shape(self, o: ssa.Create) -> ast.expr:
        """The shape of a new array, as a tuple."""
        return tuple_of([self.writer.text(x) for x in o.inputs])

    def is_small(self, o: ssa.Create) -> bool:
        """Whether an array and its adjoint may be on the stack: it is small and has a known shape."""
        sizes = [x.constant for x in o.inputs]
        if o.result.kind.elements == "single":
            return False
        return None not in sizes and min(sizes) >= 1 and math.prod(sizes) <= MOST_SMALL

    def write_view(self, o: ssa.View, array: ast.expr) -> ast.expr:
        """A view of an array, or of its adjoint."""
        if o.spec is None:
            return expression("array.T", array=array)
        if isinstance(o, ssa.Permuted):
            return expression("np.transpose(array, axes)", array=array, axes=tuple_of(o.axes))
        if isinstance(o, ssa.Reshaped):
            shape = tuple_of([self.writer.text(x) for x in o.inputs[1:]])
            return expression("reshape(array, shape)", array=array, shape=shape)
        parts: list[ast.expr] = []
        for part in o.spec:
            if part == ssa.NEW_AXIS:
                parts.append(ast.Constant(None))
            elif isinstance(part, tuple):
                parts.append(ast.Slice(*(None if k is None else self.writer.text(o.inputs[k]) for k in part)))
            else:
                parts.append(self.writer.text(o.inputs[part]))
        return expression("array[parts]", array=array, parts=parts)

    def write_choice(self, o: ssa.Choose, suffix: str) -> ast.expr:
        """One of several arrays, or of their adjoints, by its index."""
        selector, *arrays = o.inputs
        found = name(arrays[-1].name + suffix)
        for n, array in reversed(list(zip(o.numbers, arrays, strict=True))[:-1]):
            found = expression(
                "array if selector == n else others", array=array.name + suffix, selector=selector.name, n=n,
                others=found,
            )  # fmt: skip
        return found
