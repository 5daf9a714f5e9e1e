"""Builds operations: the part of the front end that knows the SSA form but no Python syntax."""

import contextlib
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from contad.engines.source.analysis.finite_partials import least
from contad.engines.source.ir import known_functions, ssa
from contad.engines.source.ir.entries import Elementwise, constant
from contad.engines.source.ir.known_functions import Function
from contad.engines.source.ir.lengths import base_axis, whole_axis
from contad.engines.source.reading.handlers import raised_by
from contad.engines.source.reading.progress import Progress

_RECIPROCALS = {
    known_functions.DIVIDE: known_functions.RECIPROCAL,
    known_functions.CHECKED_DIVIDE: known_functions.CHECKED_RECIPROCAL,
}
FOLDED: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "negative": lambda x: -x,
    "not": lambda x: not x,
    "int32": lambda x: (x + 2**31) % 2**32 - 2**31,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
CONVERSIONS = {
    "float": known_functions.TO_FLOAT, "single": known_functions.ROUNDED, "int": known_functions.TO_INT,
    "bool": known_functions.TO_BOOL,
}  # fmt: skip
_BINARY = ("add", "subtract", "multiply", "divide", "checked_divide", "floor_divide", "remainder", "select")
WHOLE = (None, None, None)  # a full slice
TRIES = 10  # how often operations may be rewritten, as the bodies of nested loops are
LOGIC = ("<", "<=", ">", ">=", "==", "!=")


class BlockWriter:
    """Writes to a block."""

    block: ssa.Block

    @contextlib.contextmanager
    def inside(self, block: ssa.Block) -> Iterator[ssa.Block]:
        """Write to another block inside the `with` block."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer


class Builder(BlockWriter):
    """Appends operations to the current block."""

    def __init__(self, progress: Progress, most: int) -> None:
        self.progress = progress
        self.block = ssa.Block()
        self.argument_lengths: dict[tuple[ssa.Value, int], ssa.Value] = {}  # the lengths of arguments
        self.alike: dict[ssa.Value, ssa.Value] = {}  # arguments of one shape: imaginary parts and real ones
        self.start: list[ssa.Operation] = []  # computes these lengths, before all other operations
        self.added = 0  # the number of operations, without bodies that are rewritten
        self.tried = 0  # the same, with them
        self.most = most  # the limit for operations
        self.numbered: list[ssa.Value] = []  # arrays between which names may switch, by number

    def add(self, operation: ssa.Operation) -> ssa.Operation:
        self.added += 1
        self.tried += 1
        if self.added > self.most or self.tried > TRIES * self.most:
            self.progress.give_up(self.most)
        if self.progress.trying and (raised := raised_by(operation, self.progress.tested)):
            self.progress.stop(f"try/except around what may raise by itself: {raised}", "test before, and raise there")
        operation.file, operation.line = self.progress.file, self.progress.line
        self.block.append(operation)
        return operation

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        """Discard the operations written inside; they do not count."""
        before = self.added
        with self.inside(ssa.Block()):
            yield
        self.added = before

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def apply(self, function: Function, *operands: Any) -> Any:
        """Apply a scalar function; the result is an array expression if an operand is one."""
        if any(isinstance(x, Elementwise) or x.is_array for x in operands):
            wide = function.result == "bool" or any(x.kind.base == "float" and not x.kind.small for x in operands)
            if not wide and any(x.kind.narrow for x in operands):
                self.progress.stop("arithmetic of a whole array of small numbers", "convert it to 64 bits first")
            if function.result == "wide" and all(x.kind.base == "bool" for x in operands):
                self.progress.stop("arithmetic of boolean arrays, which is logic", "use &, | and ^, or multiply by 1.0")
            return Elementwise(function, list(operands))
        if any(x.kind.small for x in operands):
            self.require_wide(function, operands)
            operands = tuple(self._widen_singles(function, operands))
        constants = [x.constant for x in operands]
        if function is known_functions.TO_FLOAT and operands[0].kind in (ssa.FLOAT, ssa.SINGLE):
            return self.widen(operands[0])
        if function is known_functions.TO_INT and operands[0].kind == ssa.INT:
            return operands[0]
        if function is known_functions.ROUNDED and operands[0].kind == ssa.SINGLE:
            return operands[0]
        to_float = function in (known_functions.TO_FLOAT, known_functions.ROUNDED)
        if to_float and operands[0].kind == ssa.BOOL and constants[0] is None:
            operands = (self.apply(known_functions.TO_INT, operands[0]),)  # Numba cannot convert a bool to a float
        if all(c is not None for c in constants):
            if function is known_functions.TO_FLOAT:
                return constant(float(constants[0]))
            whole = all(isinstance(c, int) for c in constants) or len(constants) == 1
            if function.name in FOLDED and (whole or function.name in LOGIC):
                folded = FOLDED[function.name](*constants)
                if isinstance(folded, int) and not fits(folded):
                    self.progress.stop("integers whose result does not have 64 bits", "compute it with floats")
                return constant(folded)
        if function.name in ("add", "subtract") and operands[1].kind == ssa.INT and constants[1] == 0:
            if operands[0].kind != ssa.BOOL:
                return operands[0]
        adds = function is known_functions.ADD
        if adds and operands[0].kind == ssa.INT and constants[0] == 0 and operands[1].kind != ssa.BOOL:
            return operands[1]
        if function in (known_functions.AND, known_functions.OR) and constants[0] is not None:
            return operands[1] if constants[0] == (function is known_functions.AND) else operands[0]
        if function is known_functions.SELECT and constants[0] is not None:
            kind = function.kind([x.kind for x in operands[1:]])
            return self.convert(operands[1 if constants[0] else 2], kind)
        if function is known_functions.MULTIPLY and operands[0] is operands[1]:
            return self.apply(known_functions.SQUARE, operands[0])
        if function in _RECIPROCALS and constants[0] == 1 and operands[1].kind == ssa.FLOAT:
            return self.apply(_RECIPROCALS[function], operands[1])
        kind = function.kind([x.kind for x in operands])
        if function is known_functions.SELECT and operands[1].kind == operands[2].kind:
            kind = operands[1].kind
        result = ssa.Value(kind)
        self.add(ssa.Apply(function, list(operands), result))
        return result

    def _widen_singles(self, function: Function, operands: Sequence[ssa.Value]) -> Sequence[ssa.Value]:
        """The operands, with float32 numbers as float64 unless Numba computes with them as they are."""
        values = operands[function is known_functions.SELECT :]
        alike = len({x.kind for x in values}) == 1 and (function.result == "bool" or function is known_functions.SELECT)
        if alike or function in CONVERSIONS.values() or function.keeps_single([x.kind for x in values]):
            return operands
        return [self.widen(x) for x in operands]

    def widen(self, x: ssa.Value) -> ssa.Value:
        """A float32 number as a float64; other numbers unchanged."""
        if x.kind != ssa.SINGLE:
            return x
        wide = ssa.Value(ssa.FLOAT)
        self.add(ssa.Apply(known_functions.WIDENED["single"], [x], wide))
        return wide

    def require_wide(self, function: Function, operands: Sequence[Any]) -> None:
        """Refuse arithmetic of unsigned integers alone, because Numba wraps it, and of float32 and booleans."""
        chosen = function is known_functions.SELECT and len({x.kind for x in operands[1:]}) == 1
        if function.result == "bool" or function in (known_functions.TO_FLOAT, known_functions.TO_INT) or chosen:
            return
        small = {x.kind.small for x in operands} - {""}
        widening = (ssa.FLOAT, ssa.INT) if function.name in _BINARY else (ssa.FLOAT,)
        if "unsigned" in small and not any(x.kind in widening for x in operands):
            self.progress.stop(f"{function.name} of unsigned integers alone", "convert one by np.int64(...)")
        if "single" in small and any(x.kind == ssa.BOOL for x in operands[function is known_functions.SELECT :]):
            self.progress.stop(f"{function.name} of float32 and a boolean", "convert the boolean by np.float32(...)")

    def divide(self, function: Function, x: Any, y: Any) -> Any:
        """x / y, x // y or x % y; raises where the user's function raises."""
        arrays = any(isinstance(v, Elementwise) or v.is_array for v in (x, y))
        zero = None if arrays else self.is_zero(y)
        if zero is not None:
            self.add(ssa.Check(zero, ssa.DIVISION_BY_ZERO))
            function = known_functions.CHECKED_DIVIDE if function is known_functions.DIVIDE else function
        return self.apply(function, x, y)

    def is_zero(self, y: ssa.Value) -> ssa.Value | None:
        """The condition on which a division by a number raises; None if it never does."""
        if self.progress.flags.error_model != "python" or least(y) > 0.0 or y.constant:
            return None
        found: ssa.Value = self.apply(known_functions.COMPARISONS["Eq"], y, constant(0 if y.kind == ssa.INT else 0.0))
        return found

    def power(self, x: Any, y: Any, by_ufunc: bool = False) -> Any:
        """x ** y. Powers by a small integer are products, as Numba compiles them, but not in a ufunc."""
        if any(isinstance(v, Elementwise) or v.is_array for v in (x, y)):
            return Elementwise(known_functions.POWER_BY_UFUNC if by_ufunc else known_functions.POWER, [x, y])
        if any(v.kind.small for v in (x, y)):
            self.require_wide(known_functions.POWER, [x, y])
            if x.kind == ssa.SINGLE and (y.kind == ssa.SINGLE or isinstance(y.constant, int)) and not by_ufunc:
                return self.convert(self.power(self.widen(x), self.widen(y)), ssa.SINGLE)
            x, y = self.widen(x), self.widen(y)
        n = y.constant if isinstance(y, ssa.Value) else None
        if n is None or isinstance(n, bool):
            return self.apply(known_functions.POWER, x, y)
        if isinstance(n, float) or by_ufunc:
            if x.kind.base == "float" or isinstance(n, float):
                x, n = self.convert(x, ssa.FLOAT), float(n)
            if n == 2:
                return self.apply(known_functions.SQUARE, x)
        elif n in (1, 2, 3, 4):
            if n == 1:
                return self.apply(known_functions.MULTIPLY, x, constant(1))
            square = self.apply(known_functions.SQUARE, x)
            if n == 2:
                return square
            if n == 3:
                return self.apply(known_functions.MULTIPLY, square, x)
            return self.apply(known_functions.SQUARE, square)
        function = known_functions.power_by(n) if x.kind == ssa.FLOAT else None
        return self.apply(known_functions.POWER, x, constant(n)) if function is None else self.apply(function, x)

    def as_float(self, x: Any) -> Any:
        """Convert an integer, or an array of integers, to float."""
        return x if x.kind.base == "float" else self.apply(known_functions.TO_FLOAT, x)

    def negate(self, condition: ssa.Value) -> ssa.Value:
        found: ssa.Value = self.apply(known_functions.NOT, condition)
        return found

    def convert(self, x: ssa.Value, kind: ssa.Kind) -> ssa.Value:
        """Convert x to the kind of numbers with which it is merged."""
        if x.kind == kind:
            return x
        if x.constant is not None and kind != ssa.SINGLE:
            return constant({"float": float, "int": int, "bool": bool}[kind.base](x.constant))
        converted: ssa.Value = self.apply(CONVERSIONS[kind.elements], x)
        return converted

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def load(self, array: ssa.Value, indices: list[ssa.Value]) -> ssa.Value:
        result = ssa.Value(ssa.kind_of_elements(array.kind.elements))
        self.add(ssa.Load(array, indices, result))
        if array.kind.small == "unsigned":
            wide = ssa.Value(ssa.Kind(array.kind.base, small=array.kind.small))
            self.add(ssa.Apply(known_functions.WIDENED[array.kind.small], [result], wide))
            return wide
        return result

    def create(self, fill: str, shape: list[ssa.Value], elements: str, hint: str = "") -> ssa.Value:
        result = ssa.Value(replace(ssa.kind_of_elements(elements), ndim=len(shape)), hint)
        result.order = "C" if len(shape) == 1 else ""
        self.add(ssa.Create(fill, shape, result))
        return result

    def view(self, array: ssa.Value, spec: list[Any] | None) -> ssa.Value:
        """array[spec], with an index (a value) or a slice (start, stop, step: values or None) for each dimension."""
        parts: list[ssa.Value] = []
        places: list[Any] = []
        for part in spec or ():
            if part == ssa.NEW_AXIS:
                places.append(part)
            elif isinstance(part, tuple):
                places.append(tuple(None if x is None else _place(parts, x) for x in part))
            else:
                places.append(_place(parts, part))
        ndim = array.kind.ndim if spec is None else sum(not isinstance(part, ssa.Value) for part in spec)
        result = ssa.Value(replace(array.kind, ndim=ndim), array.hint)
        self.add(ssa.View(array, parts, None if spec is None else places, result))
        return result

    def permute(self, array: ssa.Value, axes: tuple[int, ...]) -> ssa.Value:
        """np.transpose(array, axes)."""
        if axes == tuple(range(array.kind.ndim)):
            return array
        if axes == tuple(range(array.kind.ndim))[::-1]:
            return self.view(array, None)
        result = ssa.Value(array.kind, array.hint)
        self.add(ssa.Permuted(array, axes, result))
        return result

    def reshape(self, array: ssa.Value, shape: list[ssa.Value]) -> ssa.Value:
        """array.reshape(shape); no length is -1."""
        result = ssa.Value(replace(array.kind, ndim=len(shape)), array.hint)
        result.order = array.order
        self.add(ssa.Reshaped(array, shape, result))
        return result

    def is_length(self, x: ssa.Value) -> bool:
        """Whether a number is the length of an array, and therefore not negative."""
        return isinstance(x.operation, ssa.Length) or any(x is o.result for o in self.start)

    def length(self, array: ssa.Value, axis: int) -> ssa.Value:
        """array.shape[axis]."""
        made = array.operation
        if isinstance(made, ssa.Create):
            return made.inputs[axis]
        if isinstance(made, ssa.Product):
            a, b = made.inputs
            return self.length(a, 0) if axis < a.kind.ndim - 1 else self.length(b, b.kind.ndim - 1)
        if isinstance(made, ssa.View) and made.spec is None:
            return self.length(made.inputs[0], array.kind.ndim - 1 - axis)
        if isinstance(made, ssa.Permuted):
            return self.length(made.inputs[0], made.axes[axis])
        if isinstance(made, ssa.Reshaped):
            return made.inputs[1 + axis]
        if isinstance(made, ssa.View) and ssa.NEW_AXIS not in (made.spec or ()):  # a slice
            whole = whole_axis(made, axis)
            if whole is not None:
                return self.length(made.inputs[0], whole)
            if (found := self._length_of_slice(made, axis)) is not None:
                return found
        if isinstance(made, ssa.Choose):
            lengths = [self.length(x, axis) for x in made.inputs[1:]]
            if all(length is lengths[0] for length in lengths):
                return lengths[0]
        if made is not None:
            return self.add(_length(array, axis)).result
        array = self.alike.get(array, array)
        if (array, axis) not in self.argument_lengths:
            self.start.append(_length(array, axis))
            self.argument_lengths[array, axis] = self.start[-1].result
        return self.argument_lengths[array, axis]

    def _length_of_slice(self, view: ssa.View, axis: int) -> ssa.Value | None:
        """The length of a slice with constant limits; None for other or backward slices."""
        cuts = [part for part in view.spec or () if not isinstance(part, int)][axis]
        start, stop, step = (x if k is None else view.inputs[k].constant for k, x in zip(cuts, (0, -1, 1), strict=True))
        if start is None or stop is None or step != 1 or min(start, stop + (cuts[1] is None)) < 0:
            return None
        length = self.length(*base_axis(view, axis))
        if length.constant is not None:
            return constant(len(range(length.constant)[start : None if cuts[1] is None else stop]))
        less, more = known_functions.COMPARISONS["Lt"], known_functions.COMPARISONS["Gt"]
        if cuts[1] is not None:
            end = constant(stop)
            length = self.apply(known_functions.SELECT, self.apply(less, length, end), length, end)
        if start:
            left = self.apply(known_functions.SUBTRACT, length, constant(start))
            length = self.apply(known_functions.SELECT, self.apply(more, left, constant(0)), left, constant(0))
        length.hint = length.hint or f"{view.result.hint}_length"
        return length

    # ---- arrays that a name switches between -------------------------------------------------------------------------
    def number_of(self, array: ssa.Value) -> ssa.Value:
        """The number of an array between which names switch: a constant, or the selector of a choice."""
        if isinstance(array.operation, ssa.Choose):
            return array.operation.inputs[0]
        if array not in self.numbered:
            self.numbered.append(array)
        return constant(self.numbered.index(array))

    def candidates(self, array: ssa.Value) -> dict[int, ssa.Value]:
        """The arrays, by number, that an array value may be."""
        if isinstance(array.operation, ssa.Choose):
            return dict(zip(array.operation.numbers, array.operation.inputs[1:], strict=True))
        number = self.number_of(array).constant
        assert isinstance(number, int)
        return {number: array}

    def choose(self, selector: ssa.Value, arrays: dict[int, ssa.Value], hint: str) -> ssa.Value:
        if selector.constant is not None:
            return arrays[selector.constant]
        arrays = dict(sorted(arrays.items()))
        result = ssa.Value(next(iter(arrays.values())).kind, hint)
        self.add(ssa.Choose(selector, arrays, result))
        return result

    # ---- control flow ------------------------------------------------------------------------------------------------
    def repeat(self, stop: ssa.Value, body: Any, initial: list[ssa.Value] | None = None) -> list[ssa.Value]:
        """for index in range(stop), with carried numbers: `body(index, *inner)` returns the next ones. The results."""
        inner = [ssa.Value(x.kind, "total") for x in initial or []]
        index = ssa.Value(ssa.INT, "k")
        with self.inside(ssa.Block()) as block:
            following = body(index, *inner) or []
        carried = [
            ssa.Carried(x, i, f, ssa.Value(x.kind, "total"))
            for x, i, f in zip(initial or [], inner, following, strict=True)
        ]
        loop = ssa.For([constant(0), stop, constant(1)], index, block)
        loop.is_of_arrays = True
        loop.carry(carried)
        self.add(loop)
        return [c.result for c in carried]


def fits(x: int) -> bool:
    """Whether an integer fits in 64 bits."""
    return -(2**63) <= x < 2**63


def _length(array: ssa.Value, axis: int) -> ssa.Length:
    return ssa.Length(
        array, axis, ssa.Value(ssa.INT, f"{array.hint}_length" if axis == 0 else f"{array.hint}_length_{axis}")
    )


def _place(parts: list[ssa.Value], x: ssa.Value) -> int:
    parts.append(x)
    return len(parts)
