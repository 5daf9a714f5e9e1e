"""The continuations of calls that run in Python: array operations, by a rule's vjp, and compiled functions."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from contad.engines.stream.record_stream import Recording
from contad.variables.adjoints import Adjoints
from contad.variables.arguments import fail
from contad.variables.array import Array, is_plain
from contad.variables.continuations import make_callback_var, reverse_pass_callback, var
from contad.variables.dtypes import FLOAT
from contad.variables.number import Number, as_float
from contad.variables.open_types import AdjointVector, Nested, Options, Real, Rule, Saved, Value
from contad.variables.stack import stack
from contad.variables.trees import flatten
from contad.variables.var import Var


class Part(NamedTuple):
    """One result or operand of a continuation, as cells."""

    cell: int  # the first
    size: int
    shape: tuple[int, ...]  # of the cells
    value: Value
    axes: tuple[int, ...] | None = None  # turns an array of that shape into the rule's


class Named:
    """A continuation with the name of its rule, for displays of the stack."""

    __slots__ = ("rule",)

    @property
    def name(self) -> str:
        """The name of the rule."""
        name: str = self.rule.name  # type: ignore[attr-defined]
        return name


class Continuation(Named):
    """A continuation that passes the adjoints of results on to operands, given as (position, first cell, shape)."""

    __slots__ = ("is_tuple", "operands", "results", "values")

    def __init__(
        self, rule: Rule, operands: Sequence[tuple[int, int, tuple[int, ...]]], values: Sequence[Value]
    ) -> None:
        self.rule = rule
        self.operands = operands
        self.values = values
        self.results: list[Part] = []
        self.is_tuple = False

    @property
    def parents(self) -> tuple[int, ...]:
        """The first cells of the operands."""
        return tuple(cell for _, cell, _ in self.operands)

    def saved_bytes(self) -> int:
        """The memory of the arrays that it keeps beside values and constants of the stack, mostly factors."""
        return 0

    def adjoints_of_results(self, cells: AdjointVector) -> Any:
        """z_bar, as the rule's value was: an array, a number, or a tuple of them; arrays are read-only."""
        if not self.is_tuple:
            return block_of(cells, self.results[0])
        return tuple(block_of(cells, part) for part in self.results)

    def values_of_results(self) -> Any:
        """z, as the rule gave it."""
        if not self.is_tuple:
            return self.results[0].value
        return tuple(part.value for part in self.results)


class Pullback(Continuation):
    """The continuation of an array rule."""

    __slots__ = ("options", "saved", "turned")

    def __init__(
        self, rule: Rule, operands: Sequence[tuple[int, int, tuple[int, ...]]], values: Sequence[Value],
        options: Options, saved: Saved, turned: Collection[int] = (),
    ) -> None:  # fmt: skip
        self.rule = rule  # as in `Continuation`; calling that would double the time
        self.operands = operands
        self.values = values
        self.results = []
        self.is_tuple = False
        self.options = options
        self.saved = saved
        self.turned = turned  # positions of matrices whose cells are in Fortran order

    def saved_bytes(self) -> int:
        of_stack = [v for v in (*self.values, *(part.value for part in self.results)) if isinstance(v, np.ndarray)]
        found: dict[int, np.ndarray] = {}
        waiting = [self.saved]
        while waiting:
            x = waiting.pop()
            if isinstance(x, np.ndarray):
                if not any(np.may_share_memory(x, v) for v in of_stack):
                    found[id(x)] = x
            elif isinstance(x, (tuple, list)):
                waiting += x
            elif isinstance(x, dict):
                waiting += x.values()
            elif type(x).__module__.startswith("contad.ops"):  # objects that hold factors
                names = (*getattr(x, "__slots__", ()), *getattr(x, "__dict__", ()))
                waiting += [getattr(x, name, None) for name in names]
        return sum(x.nbytes for x in found.values())

    def __call__(self, adj: Adjoints) -> None:
        rule, cells = self.rule, adj.cells
        if self.is_tuple:
            z_bar, z = self.adjoints_of_results(cells), self.values_of_results()
        else:
            part = self.results[0]
            z_bar, z = block_of(cells, part), part.value
        names, operands = rule.argument_names, self.operands
        if len(operands) == 1:  # the usual case
            name = names[operands[0][0]]
            self._accumulate(adj, name, operands[0], rule.pull(name, z, z_bar, self.values, self.options, self.saved))
            return
        active = [names[k] for k, _, _ in operands]
        found = rule.pull_each(active, z, z_bar, self.values, self.options, self.saved)
        for name, operand, c in zip(active, operands, found, strict=True):
            self._accumulate(adj, name, operand, c)

    def _accumulate(self, adj: Adjoints, name: str, operand: tuple[int, int, tuple[int, ...]], c: Value) -> None:
        """Add the cotangent that the rule gives for one of its arguments."""
        k, cell, shape = operand
        if c.__class__ is np.ndarray and c.shape == shape and c.dtype is FLOAT and adj.cells.__class__ is np.ndarray:
            if k in self.turned:
                c = c.T
            block = adj.cells[cell : cell + c.size]
            if c.ndim != 1:
                block = block.reshape(c.shape)
            np.add(block, c, block)
            return
        if (c.shape if c.__class__ is np.ndarray else np.shape(c)) != shape:
            fail(f"{self.rule.name}: vjp({name!r})", "its result", f"have the shape of {name}, {shape}", np.shape(c))
        if k in self.turned:
            accumulate(adj, cell, shape[::-1], np.transpose(c))
        else:
            accumulate(adj, cell, shape, c)


class ElementwisePullback(Continuation):
    """The continuation of a scalar rule on arrays that has no kernel."""

    __slots__ = ()

    def __call__(self, adj: Adjoints) -> None:
        z_bar = self.adjoints_of_results(adj.cells)
        z = self.values_of_results()
        (part,) = self.results
        live = None
        if not isinstance(adj.cells, np.ndarray):
            live = adj.cells.live(slice(part.cell, part.cell + part.size)).reshape(part.shape)
            live = live if part.axes is None else live.transpose(part.axes)
        few = self.rule.partials_of_few(self.values, [k for k, _, _ in self.operands])
        for i, (k, cell, shape) in enumerate(self.operands):
            partial = self.rule.array_partial(k)(z, *self.values) if few is None else np.array(few[i])
            c = self.rule.product(k)(z_bar, partial)
            if live is None or live.all():
                accumulate(adj, cell, shape, unbroadcast(c, shape))
            else:  # skip dead elements of an outer level: they would get the derivatives of 0 times the partial
                c = unbroadcast(np.where(live, c, 0.0), shape)
                cells = np.arange(cell, cell + math.prod(shape)).reshape(shape)
                adj.cells.add_live(cells, c, unbroadcast(live.astype(int), shape) > 0)


def accumulate(adj: Adjoints, cell: int, shape: tuple[int, ...], c: Value) -> None:
    """Add a cotangent to the adjoints of consecutive cells."""
    n = math.prod(shape)
    if adj.cells.__class__ is np.ndarray:
        if is_plain(c):
            block = adj.cells[cell : cell + n]
            if len(shape) != 1:
                block = block.reshape(shape)
            np.add(block, c, block)
            return
        adj.cells = adj._stack.numbers_of(adj.cells)
    if not shape:
        adj.cells[cell] = adj.cells[cell] + c
    else:
        adj.cells.add(np.arange(cell, cell + n), np.reshape(c, (n,)))


def unbroadcast(c: Value, shape: tuple[int, ...]) -> Value:
    """c summed over the axes along which an operand of that shape was broadcast."""
    if np.shape(c) == shape:
        return c
    lead = c.ndim - len(shape)
    axes = (*range(lead), *(k + lead for k, n in enumerate(shape) if n == 1 and c.shape[k + lead] != 1))
    return np.reshape(np.sum(c, axis=axes), shape) if shape else np.sum(c)


def block_of(cells: AdjointVector, part: Part) -> Value:
    """The adjoints of the cells of a `Part`, with axes permuted; arrays are read-only."""
    first, n, shape, _, axes = part
    if cells.__class__ is np.ndarray and shape:
        plain: np.ndarray = cells[first : first + n]
        if len(shape) != 1:
            plain = plain.reshape(shape)
        if axes is not None:
            plain = plain.transpose(axes)
        plain.setflags(write=False)
        return plain
    if not shape:
        d = cells[first]
        return d if isinstance(d, Number) else float(d)
    block = np.reshape(cells[first : first + n], shape)
    return block if axes is None else np.transpose(block, axes)


# ---- calls of compiled functions -------------------------------------------------------------------------------------
def number_result(value: float, inputs: Sequence[Value], gradients: Sequence[Value]) -> Real:
    """The variable for a number whose gradients with respect to variables `inputs` are known."""
    s = stack()
    # a recording that keeps rules serves second derivatives, and stored partials have none
    if isinstance(s, Recording) and not s.keeps_rules and all(isinstance(x, Var) for x in inputs):
        return as_float(s.push_partials(value, [(x._index, g) for x, g in zip(inputs, gradients, strict=True)]))

    def compiled_chain(z: Value, adj: Adjoints) -> None:
        d = adj[z]
        if d.__class__ is float and d == 0.0:
            return
        for x, gradient in zip(inputs, gradients, strict=True):
            adj.add(x, d * gradient)

    return as_float(make_callback_var(value, compiled_chain))


def several_results(y: Nested, inputs: Sequence[Value], pullback: Callable[[Nested], Sequence[Value]]) -> Nested:
    """y with variables in place of its numbers and arrays; their pullback gives the adjoints of `inputs`."""
    tree = flatten(y)
    results: list[Value] = []

    def compiled_chain(adj: Adjoints) -> None:
        z_bar = [adj[z] if isinstance(z, (Var, Array)) else 0.0 for z in results]
        if any(np.any(d != 0.0) for d in z_bar):
            for x, x_bar in zip(inputs, pullback(tree.unflatten(z_bar)), strict=True):
                adj.add(x, x_bar)

    reverse_pass_callback(compiled_chain)  # older than the results, so that a sweep from any result reaches it
    leaves = [var(leaf) if _is_real(leaf) else leaf for leaf in tree.leaves]
    results += [z.copy() if isinstance(z, Array) else z for z in leaves]  # the caller may write to its own
    return tree.unflatten(leaves)


def _is_real(x: object) -> bool:
    """Whether part of a result has a derivative; counts and flags have none."""
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind == "f")
