"""Appends operations to a function in SSA form, and folds results that are known to be 0 or constant."""

from collections.abc import Callable, Sequence

from contad.engines.source.ir import ssa
from contad.engines.source.ir.clones import clone
from contad.engines.source.ir.entries import constant
from contad.engines.source.ir.known_functions import (
    ADD,
    AND,
    MULTIPLY,
    NEGATIVE,
    OR,
    SELECT,
    SQUARE,
    SUBTRACT,
    Function,
)
from contad.engines.source.ir.walks import around
from contad.engines.source.reading.builder import FOLDED, LOGIC, BlockWriter

ZERO = constant(0.0)


class Appender(BlockWriter):
    """Appends operations to a block, with the line of the user's source that they implement."""

    def __init__(self, block: ssa.Block) -> None:
        self.block, self.line, self.of_kink = block, 0, False

    def add(self, operation: ssa.Operation) -> ssa.Operation:
        operation.line = operation.line or self.line
        operation.of_kink = operation.of_kink or self.of_kink
        self.block.append(operation)
        return operation

    def replace(self, old: ssa.Operation, new: ssa.Operation) -> None:
        """Replace an operation of the current block."""
        assert self.block is old.block
        self.block.operations[self.block.operations.index(old)] = new
        new.block = self.block
        for value in new.results:
            value.block = self.block

    # ---- numbers -----------------------------------------------------------------------------------------------------
    def apply(self, function: Function, *operands: ssa.Value, hint: str = "") -> ssa.Value:
        """A function of numbers."""
        known = self._fold(function, operands)
        if known is not None:
            return known
        result = ssa.Value(function.kind([x.kind for x in operands]), hint)
        self.add(ssa.Apply(function, list(operands), result))
        return result

    def _fold(self, function: Function, operands: Sequence[ssa.Value]) -> ssa.Value | None:
        """The result, if it is known without computing it; else None."""
        constants = [x.constant for x in operands]
        if function.name in LOGIC and None not in constants:
            return constant(FOLDED[function.name](*constants))
        if function in (AND, OR) and any(c is not None for c in constants):
            known, other = (0, 1) if constants[0] is not None else (1, 0)
            return operands[other] if bool(constants[known]) == (function is AND) else operands[known]
        if function is SELECT and constants[0] is not None:
            return operands[1 if constants[0] else 2]
        if function is MULTIPLY and 1.0 in constants:
            return operands[1 - constants.index(1.0)]
        if function is MULTIPLY and -1.0 in constants:
            return self.apply(NEGATIVE, operands[1 - constants.index(-1.0)])
        if function is MULTIPLY and operands[0] is operands[1]:
            return self.apply(SQUARE, operands[0])
        if function is NEGATIVE and constants[0] is not None:
            return constant(-constants[0])
        return None

    def sum(self, terms: Sequence[ssa.Value], hint: str = "") -> ssa.Value:
        """The sum of numbers, without terms that are known to be 0."""
        kept = [x for x in terms if x.constant != 0.0]
        if not kept:
            return ZERO
        total = kept[0]
        for k, x in enumerate(kept[1:], 2):
            name = hint if k == len(kept) else ""
            negated = x.operation if x.block is self.block and isinstance(x.operation, ssa.Apply) else None
            if negated is not None and negated.function is NEGATIVE:
                total = self.apply(SUBTRACT, total, negated.inputs[0], hint=name)
            else:
                total = self.apply(ADD, total, x, hint=name)
        return total

    # ---- arrays ------------------------------------------------------------------------------------------------------
    def load(self, array: ssa.Value, indices: Sequence[ssa.Value]) -> ssa.Value:
        result = ssa.Value(ssa.Kind(array.kind.base))
        self.add(ssa.Load(array, list(indices), result))
        return result

    def store(self, array: ssa.Value, indices: Sequence[ssa.Value], value: ssa.Value) -> None:
        self.add(ssa.Store(array, list(indices), value))

    def accumulate(self, array: ssa.Value, indices: Sequence[ssa.Value], value: ssa.Value) -> None:
        self.add(ssa.Accumulate(array, list(indices), value, "+"))

    def shape_of(self, array: ssa.Value) -> list[ssa.Value]:
        """The lengths of an array."""
        made = array.operation
        if isinstance(made, ssa.Create):
            return list(made.inputs)
        if isinstance(made, ssa.View) and made.spec is None:
            return self.shape_of(made.inputs[0])[::-1]
        if isinstance(made, ssa.Permuted):
            shape = self.shape_of(made.inputs[0])
            return [shape[axis] for axis in made.axes]
        if isinstance(made, ssa.Reshaped):
            return made.inputs[1:]
        return [self.add(ssa.Length(array, axis, ssa.Value(ssa.INT))).result for axis in range(array.kind.ndim)]

    def zeros(self, shape: Sequence[ssa.Value], hint: str = "") -> ssa.Value:
        result = ssa.Value(ssa.Kind("float", len(shape)), hint)
        self.add(ssa.Create("zeros", list(shape), result))
        return result

    def transpose(self, array: ssa.Value) -> ssa.Value:
        result = ssa.Value(array.kind, array.hint)
        self.add(ssa.View(array, [], None, result))
        return result

    def over(self, shape: Sequence[ssa.Value], visit: Callable[[list[ssa.Value]], None]) -> None:
        """Loops over all indices of a shape."""

        def nest(indices: list[ssa.Value]) -> None:
            if len(indices) == len(shape):
                visit(indices)
                return
            index, body = ssa.Value(ssa.INT, "k"), ssa.Block()
            with self.inside(body):
                nest([*indices, index])
            self.add(ssa.For([constant(0), shape[len(indices)], constant(1)], index, body))

        nest([])

    def copy_into(self, array: ssa.Value, source: ssa.Value) -> None:
        """array[...] = source."""
        self.over(self.shape_of(array), lambda at: self.store(array, at, self.load(source, at)))

    def add_array(self, array: ssa.Value, added: ssa.Value) -> None:
        """array += added."""
        self.over(self.shape_of(array), lambda at: self.accumulate(array, at, self.load(added, at)))

    def fill(self, array: ssa.Value, value: ssa.Value) -> None:
        """array[...] = value, a number."""
        self.over(self.shape_of(array), lambda at: self.store(array, at, value))

    def total(self, count: ssa.Value, term: Callable[[ssa.Value], ssa.Value]) -> ssa.Value:
        """The sum of term(k) for k in range(count)."""
        inner, index, body = ssa.Value(ssa.FLOAT, "total"), ssa.Value(ssa.INT, "k"), ssa.Block()
        with self.inside(body):
            following = self.apply(ADD, inner, term(index))
        loop = ssa.For([constant(0), count, constant(1)], index, body)
        loop.carry([ssa.Carried(ZERO, inner, following, ssa.Value(ssa.FLOAT, "total"))])
        self.add(loop)
        return loop.carried[0].result

    def product(self, o: ssa.Product) -> None:
        """Write a product of arrays as loops: values of an iteration have their own adjoints there."""
        (a, b), result = o.inputs, o.result
        rows, columns = self.shape_of(a)[:-1], self.shape_of(b)[1:]
        inner = self.shape_of(b)[0]
        self.add(ssa.Create("empty", [*rows, *columns], result))

        def element(at: list[ssa.Value]) -> None:
            row, column = at[: len(rows)], at[len(rows) :]

            def term(k: ssa.Value) -> ssa.Value:
                return self.apply(MULTIPLY, self.load(a, [*row, k]), self.load(b, [k, *column]))

            self.store(result, at, self.total(inner, term))

        self.over([*rows, *columns], element)

    def append_copies(
        self, operations: Sequence[ssa.Operation], new: dict[ssa.Value, ssa.Value], is_called: bool
    ) -> None:
        """Append copies of operations that read the values to which `new` maps theirs; `new` gets their results.

        In loops and in callees, products of arrays become loops.
        """
        in_loop = is_called or any(isinstance(holder, ssa.Loop) for holder in around(self.block))
        for operation in clone(operations, new):
            operation.line = 0
            if isinstance(operation, ssa.Product) and operation.result.is_array and in_loop:
                self.product(operation)
            else:
                self.add(operation)

    def choose(
        self, condition: ssa.Value, then: Callable[[], ssa.Value], otherwise: Callable[[], ssa.Value]
    ) -> ssa.Value:
        """One of two numbers; only the chosen one is computed."""
        blocks = ssa.Block(), ssa.Block()
        values = []
        for block, compute in zip(blocks, (then, otherwise), strict=True):
            with self.inside(block):
                values.append(compute())
        branch = ssa.If(condition, *blocks)
        self.add(branch)
        return branch.merge(values[0], values[1], ssa.Value(ssa.FLOAT))
