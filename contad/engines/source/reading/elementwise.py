"""Turns array expressions into fused loops: `a * x + y` is computed element by element, without temporary arrays."""

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from contad.engines.source.ir import known_functions, ssa
from contad.engines.source.ir.entries import Complex, Elementwise, constant, is_array, same
from contad.engines.source.ir.lengths import order_of
from contad.engines.source.reading.builder import CONVERSIONS, WHOLE, Builder

_LENGTHS = ssa.limit(
    "array operands differ in length along an axis; an axis of length 1 is repeated where the source shows its length, "
    "as in a[:, 0:1] or a[:, None]"
)


class WholeArrays:
    """Computes shapes and elements of arrays and of array expressions."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.progress = builder, builder.progress

    def shape(self, entry: Any) -> list[ssa.Value]:
        """The lengths of an array or an array expression; operands of different lengths raise at run time."""
        if isinstance(entry, ssa.Value):
            return [self.builder.length(entry, axis) for axis in range(entry.kind.ndim)]
        shape: list[ssa.Value] = []
        for axis in range(-entry.kind.ndim, 0):
            operands = [x for x in entry.operands if is_array(x) and x.kind.ndim >= -axis]
            units = [self.shape(x)[axis] for x in operands if is_unit(x, axis)]
            others = [self.shape(x)[axis] for x in operands if not is_unit(x, axis)]
            for length in others[1:]:
                self.require_equal(others[0], length)
            for length in units:
                self.require_equal(constant(1), length)
            shape.append([*others, constant(1)][0])
        return shape

    def require_equal(self, a: ssa.Value, b: ssa.Value) -> None:
        """Raise ValueError at run time if two lengths differ."""
        if a is not b and not (a.constant is not None and a.constant == b.constant):
            self.builder.add(ssa.Check(self.builder.apply(known_functions.COMPARISONS["NotEq"], a, b), _LENGTHS))

    def element(self, entry: Any, indices: list[ssa.Value], known: dict[int, ssa.Value] | None = None) -> ssa.Value:
        """One element; operands are broadcast. `known` has the elements of expressions, by their identity."""
        if isinstance(entry, Elementwise):
            known = {} if known is None else known
            if id(entry) not in known:
                operands = [self.element(operand, indices, known) for operand in entry.operands]
                if entry.function.name == "power":
                    x, y = operands
                    known[id(entry)] = self.builder.power(x, y, entry.function == known_functions.POWER_BY_UFUNC)
                else:
                    known[id(entry)] = self.builder.apply(entry.function, *operands)
            return known[id(entry)]
        if not entry.is_array:
            return entry
        axes = range(-entry.kind.ndim, 0)
        return self.builder.load(entry, [constant(0) if is_unit(entry, axis) else indices[axis] for axis in axes])

    def over(self, shape: list[ssa.Value], body: Callable[[list[ssa.Value]], None]) -> None:
        """Nested loops over the indices of a shape."""

        def nest(indices: list[ssa.Value]) -> None:
            if len(indices) == len(shape):
                body(indices)
            else:
                self.builder.repeat(shape[len(indices)], lambda k: nest([*indices, k]))

        nest([])

    def compute(self, entry: Any, hint: str = "") -> ssa.Value:
        """Compute an array expression into a new array; an array is returned itself."""
        if isinstance(entry, ssa.Value):
            return entry
        shape = self.shape(entry)
        array = self.builder.create("empty", shape, entry.kind.elements, hint)
        if all(order_of(x) == "C" for x in arrays_of(entry)):
            array.order = "C"
        self.over(shape, lambda indices: self.put(array, indices, self.element(entry, indices)))
        return array

    def copy_elements(self, entry: Any, hint: str = "") -> ssa.Value:
        """A new array with the elements of an array or an array expression."""
        if isinstance(entry, Elementwise):
            return self.compute(entry, hint)
        if entry.kind.narrow:
            self.progress.stop("a copy of an array of fewer than 64 bits", "make it int64 or float64")
        shape = self.shape(entry)
        for axis in range(-len(shape), 0):
            if is_unit(entry, axis):
                self.require_equal(constant(1), shape[axis])
                shape[axis] = constant(1)
        array = self.builder.create("empty", shape, entry.kind.elements, hint)
        array.order = order_of(entry) if order_of(entry) == "C" else array.order
        self.over(shape, lambda indices: self.put(array, indices, self.builder.load(entry, indices)))
        return array

    def as_type(self, array: Any, base: str) -> Any:
        """A new array with the elements of another one, converted to another kind."""
        if base == array.kind.elements and not array.kind.narrow:
            return self.copy_elements(array)
        array, to = self.compute(array), CONVERSIONS[base]
        shape = self.shape(array)
        made = self.builder.create("empty", shape, base)
        self.over(shape, lambda at: self.put(made, at, self.builder.apply(to, self.builder.load(array, at))))
        return made

    def as_wide(self, entry: Any) -> ssa.Value:
        """An array of floats as one of float64: the same array unless it is one of float32."""
        return self.as_type(entry, "float") if entry.kind.elements == "single" else self.compute(entry)

    def put(self, array: ssa.Value, indices: list[ssa.Value], number: ssa.Value) -> None:
        """array[indices] = number."""
        if array.kind.narrow:
            self.progress.stop(
                "a write into an array of fewer than 64 bits, which wraps or rounds", "make it int64 or float64"
            )
        stored = self.builder.convert(number, ssa.kind_of_elements(array.kind.elements))
        self.builder.add(ssa.Store(array, indices, stored))

    def fill(self, array: ssa.Value, entry: Any, node: ast.AST) -> None:
        """array[...] = entry."""
        self.write(array, self.shape(array), entry, node, itself=array)

    def write(
        self, array: ssa.Value, shape: list[ssa.Value], entry: Any, node: ast.AST,
        place: Callable[[list[ssa.Value]], list[ssa.Value]] = lambda at: at, itself: ssa.Value | None = None,
    ) -> None:  # fmt: skip
        """Store the elements of an entry in an array. As in NumPy, all are computed before the first store.

        If `itself` is an operand, each of its elements may be read just before it is written.
        """
        if is_array(entry):
            if entry.kind.ndim > len(shape):
                what = "an assignment from an array with more dimensions"
                self.progress.refuse(node, what, "take a part that has as many as the left side")
            if any(operand is not itself and set(operand.roots) & set(array.roots) for operand in arrays_of(entry)):
                entry = self.copy_elements(entry)
            lengths = self.shape(entry)
            for axis in range(-len(lengths), 0):
                self.require_equal(constant(1) if is_unit(entry, axis) else shape[axis], lengths[axis])
        self.over(shape, lambda at: self.put(array, place(at), self.element(entry, at)))

    def is_constant(self, x: Any) -> bool:
        """Whether a number or an array certainly depends on no differentiated argument."""
        if isinstance(x, Elementwise):
            return all(map(self.is_constant, x.operands))
        if x.operation is None:
            return x.constant is not None or x in self.progress.constants
        seen = isinstance(x.operation, (ssa.Apply, ssa.Load, ssa.Length, ssa.View))
        return seen and all(map(self.is_constant, x.operation.inputs))

    # ---- reductions --------------------------------------------------------------------------------------------------
    def fold(self, entry: Any, initial: ssa.Value, join: Callable[[ssa.Value, ssa.Value], ssa.Value]) -> ssa.Value:
        """join(... join(join(initial, first element), second element) ...)."""
        shape = self.shape(entry)

        def nest(indices: list[ssa.Value], total: ssa.Value) -> list[ssa.Value]:
            if len(indices) == len(shape):
                return [join(total, self.element(entry, indices))]
            return self.builder.repeat(shape[len(indices)], lambda k, inner: nest([*indices, k], inner), [total])

        return nest([], initial)[0]

    def total(self, entry: Any) -> ssa.Value:
        """The sum of all elements."""
        zero = constant(0.0) if entry.kind.base == "float" else constant(0)
        if entry.kind.elements == "single" and not self.progress.wide_sums:
            zero = self.builder.convert(zero, ssa.SINGLE)
        total = self.fold(entry, zero, lambda total, x: self.builder.apply(known_functions.ADD, total, x))
        if entry.kind.elements == "single":
            return self.builder.convert(total, ssa.SINGLE)
        if entry.kind.small:  # as in Numba
            unsigned = ssa.Value(ssa.Kind("int", small=entry.kind.small))
            self.builder.add(ssa.Apply(known_functions.WIDENED[entry.kind.small], [total], unsigned))
            return unsigned
        return total

    def mean(self, entry: Any) -> ssa.Value:
        """The mean of all elements."""
        mean: ssa.Value = self.builder.apply(known_functions.DIVIDE, self.total(entry), self.size(entry))
        return self.builder.convert(mean, ssa.SINGLE) if entry.kind.elements == "single" else mean

    def along(self, entry: Any, axis: Any, reduce: Callable[[Any, Any], ssa.Value], node: ast.AST) -> ssa.Value:
        """A reduction along one axis: the result has one dimension less."""
        ndim = entry.kind.ndim
        axis = axis.constant if isinstance(axis, ssa.Value) and axis.kind == ssa.INT else None
        if entry.kind.small == "unsigned":
            self.progress.refuse(node, "{node} of small numbers", "convert the array first")
        if axis is None or not -ndim <= axis < ndim:
            self.progress.refuse(node, "the axis in {node}", "give it as a constant")
        array = self.compute(entry)
        axis %= ndim
        lengths = self.shape(array)
        line = lambda at: self.builder.view(array, [*at[:axis], WHOLE, *at[axis:]])  # noqa: E731
        base = known_functions.DIVIDE.result if entry.kind.base == "float" else "int"
        result = self.builder.create("empty", [*lengths[:axis], *lengths[axis + 1 :]], base, "sum")
        self.over(self.shape(result), lambda at: self.put(result, at, reduce(self, line(at))))
        return result

    def size(self, entry: Any) -> ssa.Value:
        """The number of elements."""
        size = constant(1)
        for length in self.shape(entry):
            size = length if size.constant == 1 else self.builder.apply(known_functions.MULTIPLY, size, length)
        return size

    def extreme(self, entry: Any, symbol: str, takes_nan: bool = True) -> ssa.Value:
        """The largest (">") or smallest element, or the first nan. An empty array raises, as in NumPy."""
        if self.progress.at_ties:
            entry = self.compute(entry)
        first = [constant(0)] * entry.kind.ndim
        empty = self.builder.apply(known_functions.COMPARISONS["Eq"], self.size(entry), constant(0))
        self.builder.add(ssa.Check(empty, ("ValueError", "zero-size array to reduction operation not possible")))
        compare, apply = known_functions.COMPARISONS, self.builder.apply

        def join(found: ssa.Value, x: ssa.Value) -> ssa.Value:
            better = apply(compare["Gt" if symbol == ">" else "Lt"], x, found)
            if takes_nan and x.kind.base == "float":  # as branches: hardly any x reaches the second test
                is_first = apply(known_functions.AND, apply(compare["NotEq"], x, x), apply(compare["Eq"], found, found))
                better = apply(known_functions.OR, better, is_first)
            chosen: ssa.Value = apply(known_functions.SELECT, better, x, found)
            return chosen

        found = self.fold(entry, self.element(entry, first), join)
        follows = self.progress.at_ties and found.kind == ssa.FLOAT
        return self._follow_tie(entry, symbol, found) if follows else found

    def _follow_tie(self, array: ssa.Value, symbol: str, found: ssa.Value) -> ssa.Value:
        """The same if several elements tie: as np.maximum of all elements, which has the right second derivatives."""
        apply, convert = self.builder.apply, self.builder.convert

        def count(n: ssa.Value, x: ssa.Value) -> ssa.Value:
            return apply(known_functions.ADD, n, convert(apply(known_functions.COMPARISONS["Eq"], x, found), ssa.INT))

        several = apply(known_functions.COMPARISONS["Gt"], self.fold(array, constant(0), count), constant(1))
        name, start = (np.maximum, -math.inf) if symbol == ">" else (np.minimum, math.inf)
        function: Any = known_functions.function_of(name)
        with self.builder.inside(ssa.Block()) as block:
            tied = self.fold(array, constant(start), lambda z, x: apply(function, z, x))
        branch = ssa.If(several, block, ssa.Block())
        self.builder.add(branch)
        return branch.merge(tied, found, ssa.Value(ssa.FLOAT))

    def product(self, a: Any, b: Any, node: ast.AST) -> ssa.Value:
        """a @ b."""
        floats = is_array(a) and is_array(b) and {a.kind.base, b.kind.base} == {"float"}
        if not floats:
            self.progress.refuse(node, "a product of other things than arrays of floats", "make both arrays of floats")
        if max(a.kind.ndim, b.kind.ndim) > 2:
            self.progress.refuse(node, "a product of arrays with more than two dimensions", "write it as a loop")
        a, b = self.as_wide(a), self.as_wide(b)
        inner = self.builder.length(a, a.kind.ndim - 1)
        self.require_equal(inner, self.builder.length(b, 0))
        rows = [self.builder.length(a, 0)] if a.kind.ndim == 2 else []
        columns = [self.builder.length(b, 1)] if b.kind.ndim == 2 else []
        if not self.progress.loop_depth:
            result = ssa.Value(ssa.Kind("float", len(rows) + len(columns)), "product")
            self.builder.add(ssa.Product(a, b, result))
            # arrays of a branch move before it, which a product cannot
            return self.copy_elements(result) if self.progress.branch_depth and result.is_array else result

        def entry(row: list[ssa.Value], column: list[ssa.Value]) -> ssa.Value:
            def add_product(k: ssa.Value, total: ssa.Value) -> list[ssa.Value]:
                term = self.builder.apply(
                    known_functions.MULTIPLY, self.builder.load(a, [*row, k]), self.builder.load(b, [k, *column])
                )
                return [self.builder.apply(known_functions.ADD, total, term)]

            return self.builder.repeat(inner, add_product, [constant(0.0)])[0]

        if not rows and not columns:
            return entry([], [])
        result = self.builder.create("empty", rows + columns, "float", "product")
        self.over(rows + columns, lambda at: self.put(result, at, entry(at[: len(rows)], at[len(rows) :])))
        mark_product(self.builder.block)
        return result


def mark_product(block: ssa.Block) -> None:
    """Mark the last loop of a block as a product."""
    loop = block.operations[-1]
    assert isinstance(loop, ssa.For)
    loop.is_product = True


def arrays_of(entry: Any) -> list[ssa.Value]:
    """The arrays that an array expression reads."""
    if isinstance(entry, (Elementwise, Complex)):
        operands = entry.operands if isinstance(entry, Elementwise) else entry
        return [array for operand in operands for array in arrays_of(operand)]
    return [entry] if is_array(entry) else []


def is_unit(entry: Any, axis: int) -> bool:
    """Whether an axis, counted from the last one (-1), is known to have at most one element."""
    if isinstance(entry, Elementwise):
        return all(is_unit(x, axis) for x in entry.operands if is_array(x) and x.kind.ndim >= -axis)
    made = entry.operation
    if isinstance(made, ssa.Create):
        return bool(made.inputs[axis].constant == 1)
    if not isinstance(made, ssa.View):
        return False
    if made.spec is None:
        return is_unit(made.inputs[0], -1 - axis - entry.kind.ndim)
    if isinstance(made, ssa.Permuted):
        return is_unit(made.inputs[0], made.axes[axis] - entry.kind.ndim)
    if isinstance(made, ssa.Reshaped):
        return bool(made.inputs[1:][axis].constant == 1)
    part = [part for part in made.spec if not isinstance(part, int)][axis]
    if part == ssa.NEW_AXIS:
        return True
    start, stop, step = (None if k is None else made.inputs[k].constant for k in part)
    start = 0 if part[0] is None else start
    if start is None or stop is None or (part[2] is not None and step != 1):
        return False
    return bool(stop - start == 1 and (start >= 0 or stop < 0))


def overlaps(a: ssa.Value, b: ssa.Value) -> bool:
    """Whether two arrays may be different views of the same memory."""
    if a is b or not set(a.roots) & set(b.roots) or not (_is_part(a) or _is_part(b)):
        return False
    x, y = a.operation, b.operation
    if isinstance(x, ssa.View) and isinstance(y, ssa.View) and x.inputs[0] is y.inputs[0]:
        if type(x) is type(y) is ssa.View and x.spec == y.spec and all(map(same, x.inputs, y.inputs)):
            return False  # the same view
        for p, q in zip(_indices(x), _indices(y), strict=False):
            if p is not None and q is not None and p != q and (p >= 0) == (q >= 0):
                return False  # different rows or columns
    return True


def _indices(view: ssa.View) -> list[int | None]:
    """For each dimension the constant index, or None."""
    parts = [part for part in view.spec or () if part != ssa.NEW_AXIS]
    return [view.inputs[part].constant if isinstance(part, int) else None for part in parts]


def _is_part(array: ssa.Value) -> bool:
    o = array.operation
    return isinstance(o, ssa.View) or (isinstance(o, ssa.Choose) and any(map(_is_part, o.inputs[1:])))
