"""Structured SSA: the form of a function between the user's source and its reverse sweep.

A block is a list of operations. Loops and branches are operations that hold blocks, as in Python. One operation
computes each value, once. A loop *carries* values from one iteration to the next, and a branch *merges* the values of
its two blocks. Arrays are references: an array value names memory, or a part of it.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from contad.engines.source.ir.runtime_functions import MatrixFunction
from contad.errors import EngineLimitError

MOST_AXES = 5  # the most axes that an array may have


@dataclass(frozen=True)
class Kind:
    """The type of a value: of its elements, and its number of dimensions (0 for a number)."""

    base: str  # "float", "int" or "bool"; "object" for elements that only calls read
    ndim: int = 0
    narrow: bool = False  # an array of numbers with fewer than 64 bits, whose elements are widened when read
    # "single" for float32, whose arithmetic gives float32; "unsigned" for uint8 to uint32, of arrays and their
    # elements, each of which meets a 64-bit number first
    small: str = ""
    single: bool = field(default=False, compare=False)  # of a number, once a function has been read: if it is a float32
    order: str = field(default="", compare=False)  # of an argument: "C" or "F" if its Numba type says so


    @property
    def elements(self) -> str:
        """The base, or "single" for float32."""
        return self.small if self.small == "single" else self.base


FLOAT, INT, BOOL = Kind("float"), Kind("int"), Kind("bool")
SINGLE = Kind("float", small="single")  # a float32 number
FLOATS = "float", "single"  # the `elements` of floats


def kind_of_elements(elements: str) -> Kind:
    """The kind of a number: the inverse of `Kind.elements`."""
    return SINGLE if elements == "single" else Kind(elements)


class Value:
    """The result of one operation; a constant or a parameter has no operation."""

    def __init__(self, kind: Kind, hint: str = "", constant: Any = None) -> None:
        """A value that no block has yet."""
        self.kind = kind
        self.hint = hint  # the user's name for it
        self.constant = constant
        self.operation: Operation | None = None
        self.block: Block | None = None
        # of an array: the parameters and created arrays that it may alias
        self.roots: tuple[Value, ...] = (self,) if kind.ndim else ()
        self.name = ""  # assigned when the source is written
        self.adds_in_any_order = False  # whether it is a sum whose order nobody wrote
        self.order = ""  # "C" if Numba also knows that the array is C-contiguous; its creator sets it

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

    of_kink = False  # whether it belongs to the tangent of a function that another one replaces at its kink

    def __init__(self, inputs: list[Value], results: list[Value], blocks: list[Block] | None = None) -> None:
        self.inputs = inputs
        self.results = results
        self.blocks = blocks or []
        self.block: Block | None = None
        self.file, self.line = "", 0  # in the user's source
        for value in results:
            value.operation = self
        for block in self.blocks:
            block.parent = self

    @property
    def result(self) -> Value:
        return self.results[0]

    def reads(self) -> list[Value]:
        """The values that the operation reads: inputs and results of its blocks, but not reads inside the blocks."""
        return self.inputs

    def rewrite(self, new: Callable[[Value], Value]) -> None:
        """Replace every value that `reads` lists."""
        self.inputs = [new(value) for value in self.inputs]


class Apply(Operation):
    """result = function(inputs), a pure function of numbers."""

    def __init__(self, function: Any, inputs: list[Value], result: Value) -> None:
        super().__init__(inputs, [result])
        self.function = function  # of the table `known_functions`


class Element(Operation):
    """The base of Load, Store and Accumulate. The inputs are the array and one index per dimension."""

    @property
    def array(self) -> Value:
        return self.inputs[0]

    @property
    def indices(self) -> list[Value]:
        return self.inputs[1 : 1 + self.array.kind.ndim]


class Load(Element):
    """result = array[indices]. A guard may be the last input: if it is False, the result is 0."""

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

    For each dimension, `spec` has the position of an index in `inputs`, or the three positions (or None) of a slice;
    for an inserted dimension it has NEW_AXIS. It is None for the transpose, and empty for other views.
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
    """result = array.reshape(shape), in the memory of the array. The inputs after the array are the shape."""

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
    """result = arrays[selector]. The inputs are the selector and the arrays."""

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
    """A function of matrices: it reads arrays, fills newly created ones, and computes numbers."""

    def __init__(self, function: MatrixFunction, read: list[Value], filled: list[Value], results: list[Value]) -> None:
        super().__init__([*read, *filled], results)
        self.function = function
        self._count = len(read)

    @property
    def read(self) -> list[Value]:
        return self.inputs[: self._count]

    @property
    def operands(self) -> list[Value]:
        """The inputs that may have a derivative."""
        return self.inputs[: self.function.operands]

    @property
    def filled(self) -> list[Value]:
        return self.inputs[self._count :]

    @property
    def varying(self) -> list[Value]:
        """The results and filled arrays that may have a derivative."""
        return [*self.filled, *(x for x in self.results[self.function.constant :] if x.kind == FLOAT)]


class Call(Operation):
    """results = callee(inputs), a user function with its own derivative; its results are numbers."""

    def __init__(self, callee: Any, inputs: list[Value], results: list[Value]) -> None:
        super().__init__(inputs, results)
        self.callee = callee  # a `shared_callees.Callee`


def input_name(k: int) -> str:
    """The name of input k in an expression that is handed on."""
    return f"__input_{k}"


class Handed(Operation):
    """results = an expression of the user's that is handed on to Numba unchanged; no derivative passes through it.

    `expression` names input k `input_name(k)`. `shape` is the nested tuple of results, by their positions. A result in
    `aliases` may share memory with an input. `refusal` is the error to raise if a derivative would have to pass after
    all.
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
        """Note which results may share memory with an input: they share its roots."""
        super().__init__(inputs, results)
        self.expression, self.shape, self.refusal = expression, shape, refusal
        self.is_flat = False  # whether it is locally constant, so that its derivative is zero and none is lost
        self.aliases = [results[k] for k in sorted(aliases)]
        shared = [root for value in inputs for root in value.roots]
        for value in self.aliases:
            value.roots = tuple(dict.fromkeys((value, *shared)))


DIVISION_BY_ZERO = "ZeroDivisionError", "division by zero"
LIMIT = EngineLimitError.__name__  # generated source raises it by this name


def limit(what: str) -> tuple[str, str]:
    """The exception for a case found at run time that another engine can handle."""
    return LIMIT, f'{what}, or use engine="tape"'


class Check(Operation):
    """Raise an exception if the condition holds: its class by name, its message, and numbers that end the message."""

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
        """Add a merge: after the branch, result is `then` or `otherwise`."""
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
    """A loop-carried number: `inner` is `initial` in the first iteration, then `following` of the one before."""

    def __init__(self, initial: Value, inner: Value, following: Value, result: Value) -> None:
        self.initial, self.inner, self.following, self.result = initial, inner, following, result


class Loop(Operation):
    """The base of For and While: repeats `body`. If there is an `exit` and it is True, the iteration is the last one.

    `count` is the number of iterations started.
    """

    def __init__(self, inputs: list[Value], blocks: list[Block], exit: Value | None) -> None:
        self.carried: list[Carried] = []
        self.checkpointed = False  # of a counted loop: whether its memory shall grow with the square root of its length
        self.exit = exit
        self.count = Value(INT, "count")
        super().__init__(inputs, [self.count], blocks)

    def carry(self, carried: list[Carried]) -> None:
        """Carry exactly these."""
        self.carried = carried
        self.results = [*(c.result for c in carried), self.count]
        for c in carried:
            c.inner.operation = c.result.operation = self
            c.inner.block, c.result.block = self.blocks[0], self.block

    @property
    def adds_in_any_order(self) -> bool:
        """Whether it carries a sum whose order nobody wrote."""
        return any(c.inner.adds_in_any_order for c in self.carried)

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
        self.is_parallel = False  # whether its iterations may run in parallel
        self.is_of_arrays = False  # whether it was a statement on whole arrays
        self.is_product = False  # whether it was a product of arrays
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
    """A checkpointed loop: each iteration runs a segment, `range(first, last, step)`.

    The inputs are the limits of the whole loop. The reverse sweep restores the state at the start of a segment, runs
    the segment again, storing this time, and reverses it.
    """

    def __init__(self, limits: list[Value], body: Block, exit: Value | None, kept: list[Any]) -> None:
        super().__init__(limits, [body], exit)
        self.index, self.first, self.last = Value(INT, "segment"), Value(INT, "first"), Value(INT, "last")
        for value in (self.index, self.first, self.last):
            value.operation, value.block = self, body
        self.kept = kept  # arrays that would differ when a segment runs again: `segments.KeptArray`

    @property
    def start(self) -> Value:
        return self.inputs[0]

    @property
    def step(self) -> Value:
        return self.inputs[2]


class Body(Loop):
    """The body of a callee, as a loop that runs once. Another function runs its reverse."""

    def __init__(self, body: Block) -> None:
        super().__init__([], [body], None)


class SourceFunction:
    """A function in SSA form: its parameters, its block, its result (a number, an array, or nested tuples of them)."""

    def __init__(self, name: str, parameters: list[Any], block: Block) -> None:
        """Hold the function. The reader sets the result, and the global objects that it needs."""
        self.name = name
        self.parameters = parameters  # one for each argument: a value, or nested tuples of values
        self.block = block
        self.tangents: list[Any] = []  # the last parameters, if tangents have been added
        self.returned: Any = None
        self.has_unknown_slopes = False  # whether only kinks give nans; a partial of 0 masks them
        self.wide_sums = False  # whether sums of float32 numbers are accumulated in float64
        self.returns_small = False  # whether it returns numbers that have fewer than 64 bits in Numba
        self.fastmath: Any = False  # the fastmath option that is valid for the whole function
        self.captured: dict[str, Any] = {}  # global arrays, by their names in the generated source
        self.captured_values: list[Value] = []  # the values of these arrays
        self.callables: dict[str, Any] = {}  # called functions, by their names in the generated source
