"""The program between the user's source and its reverse pass: structured, in static single assignment.

A block is a list of operations; loops and branches are operations that hold blocks, as in Python. A value is computed
once, by one operation; what changes from one iteration to the next is *carried* by the loop, and what differs between
two branches is *merged* by the branch. Arrays are references to memory: an array value names one, or a part of one.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from contad.engines.source.ir.known_matrix_functions import MatrixFunction

MOST_AXES = 5  # of an array


@dataclass(frozen=True)
class Kind:
    """The type of a value: of its elements, and its number of dimensions (0 for a number)."""

    base: str  # "float", "int" or "bool"; "object" of what only calls can read
    ndim: int = 0
    narrow: bool = False  # an array of numbers with fewer than 64 bits: its elements are read, and widened
    # "single" of float32 and "unsigned" of uint8 to uint32, in arrays and of their elements: arithmetic among them is
    # another one in Numba, so that each meets a number of 64 bits first
    small: str = ""
    order: str = field(default="", compare=False)  # of an argument: "C" or "F" where Numba knows its memory to be so


FLOAT, INT, BOOL = Kind("float"), Kind("int"), Kind("bool")
SINGLE = Kind("float", small="single")  # a number of float32, which the program has as one of float64


class Value:
    """What one operation computes; a constant, or a parameter, where no operation does."""

    def __init__(self, kind: Kind, hint: str = "", constant: Any = None) -> None:
        self.kind = kind
        self.hint = hint  # the user's name for it
        self.constant = constant
        self.operation: Operation | None = None
        self.block: Block | None = None
        # arrays: the parameters and created arrays whose memory this may be
        self.roots: tuple[Value, ...] = (self,) if kind.ndim else ()
        self.name = ""  # given when source is written
        self.order = ""  # "C" where Numba, too, knows that an array lies in memory row by row; set by who makes it

    def __repr__(self) -> str:
        return f"<{self.name or self.hint or 'value'}: {self.kind.base}{self.kind.ndim or ''} {self.constant or ''}>"

    @property
    def is_array(self) -> bool:
        return self.kind.ndim > 0


class Block:
    """Operations in order; `parent` is the operation that holds the block, None for the function itself."""

    def __init__(self, parent: "Operation | None" = None) -> None:
        self.operations: list[Operation] = []
        self.parent = parent

    def append(self, operation: "Operation") -> None:
        operation.block = self
        for value in operation.results:
            value.block = self
        self.operations.append(operation)


class Operation:
    """The base of all operations."""

    of_kink = False  # whether it is a part of the tangent of a function that is another one at its kink

    def __init__(self, inputs: list[Value], results: list[Value], blocks: list[Block] | None = None) -> None:
        self.inputs = inputs
        self.results = results
        self.blocks = blocks or []
        self.block: Block | None = None
        self.file, self.line = "", 0  # of the user's
        for value in results:
            value.operation = self
        for block in self.blocks:
            block.parent = self

    @property
    def result(self) -> Value:
        return self.results[0]

    def reads(self) -> list[Value]:
        """The values this operation reads: its inputs, and what its blocks hand on; not what their operations read."""
        return self.inputs

    def rewrite(self, new: Callable[[Value], Value]) -> None:
        """Replace every value that `reads` gives."""
        self.inputs = [new(value) for value in self.inputs]


class Apply(Operation):
    """result = function(inputs), a pure function of numbers."""

    def __init__(self, function: Any, inputs: list[Value], result: Value) -> None:
        super().__init__(inputs, [result])
        self.function = function  # a functions.Function


class Element(Operation):
    """The base of Load, Store and Accumulate: inputs are the array and one index per dimension."""

    @property
    def array(self) -> Value:
        return self.inputs[0]

    @property
    def indices(self) -> list[Value]:
        return self.inputs[1 : 1 + self.array.kind.ndim]


class Load(Element):
    """result = array[indices]; with a guard as the last input, 0 where the guard is False."""

    def __init__(self, array: Value, indices: list[Value], result: Value) -> None:
        super().__init__([array, *indices], [result])

    @property
    def guard(self) -> Value | None:
        return self.inputs[-1] if len(self.inputs) > 1 + self.array.kind.ndim else None


class Store(Element):
    """array[indices] = stored."""

    def __init__(self, array: Value, indices: list[Value], stored: Value) -> None:
        super().__init__([array, *indices, stored], [])

    @property
    def stored(self) -> Value:
        return self.inputs[-1]


class Accumulate(Element):
    """array[indices] += added, or -= where `sign` is "-"."""

    def __init__(self, array: Value, indices: list[Value], added: Value, sign: str) -> None:
        super().__init__([array, *indices, added], [])
        self.sign = sign

    @property
    def added(self) -> Value:
        return self.inputs[-1]


class Create(Operation):
    """A new array; the inputs are its shape. `fill` is "zeros", "ones" or "empty"."""

    def __init__(self, fill: str, shape: list[Value], result: Value) -> None:
        super().__init__(shape, [result])
        self.fill = fill


NEW_AXIS = "None"  # in the spec of a view


class View(Operation):
    """result = array[spec], a basic slice, or the transpose.

    `spec` has, for each dimension, the position of an index in `inputs`, or the three positions of a slice (or None),
    and NEW_AXIS for a dimension that is put in; it is None for the transpose, and empty for what is no slice.
    """

    def __init__(self, array: Value, parts: list[Value], spec: list[Any] | None, result: Value) -> None:
        super().__init__([array, *parts], [result])
        self.spec = spec
        result.roots = array.roots

    def again(self, array: Value, result: Value) -> "View":
        """The same part of another array."""
        return View(array, self.inputs[1:], self.spec, result)


class Permuted(View):
    """result = np.transpose(array, axes)."""

    def __init__(self, array: Value, axes: tuple[int, ...], result: Value) -> None:
        super().__init__(array, [], [], result)
        self.axes = axes

    def again(self, array: Value, result: Value) -> View:
        return Permuted(array, self.axes, result)


class Reshaped(View):
    """result = array.reshape(shape), in the memory of the array; the inputs after it are the shape."""

    def __init__(self, array: Value, shape: list[Value], result: Value) -> None:
        super().__init__(array, shape, [], result)

    def again(self, array: Value, result: Value) -> View:
        return Reshaped(array, self.inputs[1:], result)


class Length(Operation):
    """result = array.shape[axis]."""

    def __init__(self, array: Value, axis: int, result: Value) -> None:
        super().__init__([array], [result])
        self.axis = axis


class Choose(Operation):
    """result = the array whose number is the selector; the inputs are the selector and the arrays."""

    def __init__(self, selector: Value, arrays: dict[int, Value], result: Value) -> None:
        super().__init__([selector, *arrays.values()], [result])
        self.numbers = list(arrays)
        result.roots = tuple(dict.fromkeys(root for array in arrays.values() for root in array.roots))


class Product(Operation):
    """result = a @ b of arrays of one or two dimensions."""

    def __init__(self, a: Value, b: Value, result: Value) -> None:
        super().__init__([a, b], [result])

    @property
    def is_gram(self) -> bool:
        """Whether a is the transpose of b, in the same memory."""
        a, b = self.inputs
        return a.kind.ndim == 2 and (_is_transpose(a, b) or _is_transpose(b, a))


def _is_transpose(x: Value, y: Value) -> bool:
    return isinstance(x.operation, View) and x.operation.spec is None and x.operation.inputs[0] is y


class MatrixCall(Operation):
    """A function of matrices: it reads arrays, fills others, which have just been made, and computes numbers."""

    def __init__(self, function: MatrixFunction, read: list[Value], filled: list[Value], results: list[Value]) -> None:
        super().__init__([*read, *filled], results)
        self.function = function
        self._count = len(read)

    @property
    def read(self) -> list[Value]:
        return self.inputs[: self._count]

    @property
    def operands(self) -> list[Value]:
        """What is read and may have a derivative."""
        return self.inputs[: self.function.operands]

    @property
    def filled(self) -> list[Value]:
        return self.inputs[self._count :]

    @property
    def varying(self) -> list[Value]:
        """What it computes that may have a derivative."""
        return [*self.filled, *(x for x in self.results[self.function.constant :] if x.kind == FLOAT)]


class Call(Operation):
    """results = callee(inputs), a function of the user's that has a derivative of its own; its results are numbers."""

    def __init__(self, callee: Any, inputs: list[Value], results: list[Value]) -> None:
        super().__init__(inputs, results)
        self.callee = callee  # a callee.Callee


def input_name(k: int) -> str:
    """What input k is called in an expression that is handed on."""
    return f"__input_{k}"


class Handed(Operation):
    """results = an expression of the user's that Numba computes as it stands; no derivative passes through it.

    `expression` has the name `input_name(k)` for input k; `shape` says how the results stand in nested tuples,
    by their positions. A result that `aliases` may lie in the memory of an input. `refusal` is the error to raise where
    a derivative would have to pass after all.
    """

    def __init__(
        self,
        expression: ast.expr,
        inputs: list[Value],
        results: list[Value],
        shape: Any,
        aliases: set[int],
        refusal: Exception,
    ) -> None:
        """Note which results may lie in the memory of an input: they share its roots."""
        super().__init__(inputs, results)
        self.expression, self.shape, self.refusal = expression, shape, refusal
        self.is_step = False  # whether the derivative is zero, so that none is lost
        self.aliases = [results[k] for k in sorted(aliases)]
        shared = [root for value in inputs for root in value.roots]
        for value in self.aliases:
            value.roots = tuple(dict.fromkeys((value, *shared)))


DIVISION_BY_ZERO = "ZeroDivisionError", "division by zero"


class Check(Operation):
    """Raise an exception where the condition holds: the name of its class, and what it says, numbers at the end."""

    def __init__(self, condition: Value, exception: tuple[Any, ...], numbers: Sequence[Value] = ()) -> None:
        super().__init__([condition, *numbers], [])
        self.exception = exception


class Merge:
    """result = then in one branch, otherwise in the other."""

    def __init__(self, result: Value, then: Value, otherwise: Value) -> None:
        self.result, self.then, self.otherwise = result, then, otherwise


class If(Operation):
    """A branch."""

    def __init__(self, condition: Value, then: Block, otherwise: Block) -> None:
        super().__init__([condition], [], [then, otherwise])
        self.merges: list[Merge] = []

    def merge(self, then: Value, otherwise: Value, result: Value) -> Value:
        """result, which is `then` or `otherwise` after the branch."""
        self.merges.append(Merge(result, then, otherwise))
        self.results.append(result)
        result.operation, result.block = self, self.block
        return result

    def reads(self) -> list[Value]:
        return [*self.inputs, *(value for merge in self.merges for value in (merge.then, merge.otherwise))]

    def rewrite(self, new: Callable[[Value], Value]) -> None:
        super().rewrite(new)
        for merge in self.merges:
            merge.then, merge.otherwise = new(merge.then), new(merge.otherwise)


class Carried:
    """A number that changes from iteration to iteration: `inner` starts as `initial`, goes on as `following`."""

    def __init__(self, initial: Value, inner: Value, following: Value, result: Value) -> None:
        self.initial, self.inner, self.following, self.result = initial, inner, following, result


class Loop(Operation):
    """The base of For and While: `body` is repeated; `exit`, where there is one, ends the loop after an iteration.

    `count` is the number of iterations begun.
    """

    def __init__(self, inputs: list[Value], blocks: list[Block], exit: Value | None) -> None:
        self.carried: list[Carried] = []
        self.checkpointed = False  # of a counted loop: whether its memory is to grow with the root of its length
        self.exit = exit
        self.count = Value(INT, "count")
        super().__init__(inputs, [self.count], blocks)

    def carry(self, carried: list[Carried]) -> None:
        """Carry these, and no others."""
        self.carried = carried
        self.results = [*(c.result for c in carried), self.count]
        for c in carried:
            c.inner.operation = c.result.operation = self
            c.inner.block, c.result.block = self.blocks[0], self.block

    @property
    def body(self) -> Block:
        return self.blocks[-1]

    def reads(self) -> list[Value]:
        ends = [] if self.exit is None else [self.exit]
        return [*self.inputs, *(value for c in self.carried for value in (c.initial, c.following)), *ends]

    def rewrite(self, new: Callable[[Value], Value]) -> None:
        super().rewrite(new)
        for c in self.carried:
            c.initial, c.following = new(c.initial), new(c.following)
        if self.exit is not None:
            self.exit = new(self.exit)


class For(Loop):
    """for index in range(start, stop, step)."""

    def __init__(self, limits: list[Value], index: Value, body: Block, exit: Value | None = None) -> None:
        super().__init__(limits, [body], exit)
        self.is_parallel = False  # whether its iterations may run at the same time
        self.is_of_arrays = False  # whether it stands for a statement on whole arrays
        self.is_product = False  # whether it was read as a product of arrays
        self.index = index
        index.operation = self
        index.block = body

    @property
    def start(self) -> Value:
        return self.inputs[0]

    @property
    def stop(self) -> Value:
        return self.inputs[1]

    @property
    def step(self) -> Value:
        return self.inputs[2]


class While(Loop):
    """while test: the block `test` computes `condition` before each iteration."""

    def __init__(self, test: Block, condition: Value, body: Block, exit: Value | None = None) -> None:
        super().__init__([], [test, body], exit)
        self.condition = condition

    @property
    def test(self) -> Block:
        return self.blocks[0]

    def reads(self) -> list[Value]:
        return [*super().reads(), self.condition]

    def rewrite(self, new: Callable[[Value], Value]) -> None:
        super().rewrite(new)
        self.condition = new(self.condition)


class Segments(Loop):
    """A checkpointed loop: each iteration runs a segment of it, `range(first, last, step)`.

    The inputs are the limits of the whole loop. The reverse pass restores what a segment started from, runs it again,
    storing, and reverses it.
    """

    def __init__(self, limits: list[Value], body: Block, exit: Value | None, kept: list[Any]) -> None:
        super().__init__(limits, [body], exit)
        self.index, self.first, self.last = Value(INT, "segment"), Value(INT, "first"), Value(INT, "last")
        for value in (self.index, self.first, self.last):
            value.operation, value.block = self, body
        self.kept = kept  # of arrays whose contents a segment would not find again: `segments.KeptArray`

    @property
    def start(self) -> Value:
        return self.inputs[0]

    @property
    def step(self) -> Value:
        return self.inputs[2]


class Body(Loop):
    """All that a callee does, as a loop that runs once: its reverse is not in the function where it ran."""

    def __init__(self, body: Block) -> None:
        super().__init__([], [body], None)


class SourceFunction:
    """A function: its parameters, its block, and what it returns (a number, an array, or nested tuples of them)."""

    def __init__(self, name: str, parameters: list[Any], block: Block) -> None:
        """Hold what has been read; what it returns, and what it needs from outside, is set by who reads it."""
        self.name = name
        self.parameters = parameters  # one per argument: a value, or nested tuples of them
        self.block = block
        self.tangents: list[Any] = []  # the last parameters, where tangents have been added; as parameters
        self.returned: Any = None
        self.has_unknown_slopes = False  # whether nans are of kinks alone; a partial of 0 masks them
        self.returns_small = False  # whether it returns numbers that Numba has in fewer than 64 bits
        self.fastmath: Any = False  # Numba's option under which all of it may be compiled
        self.captured: dict[str, Any] = {}  # global arrays, by the name under which the generated source finds them
        self.captured_values: list[Value] = []  # the values that stand for them
        self.callables: dict[str, Any] = {}  # functions that calls name, by the name under which the source finds them
