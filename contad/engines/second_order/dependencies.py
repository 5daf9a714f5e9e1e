"""Dependences in a recording: the edges from operands to results, and the operands that an operation bends.

A *node* is a cell of the recording, or represents a group of operands on all of which several results depend. Nodes are
numbered in the order of recording, so that an operand has a smaller number than its results; node 0 is every constant.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from contad.engines.matrix.matrix_products import ProductPullback
from contad.engines.stream.pullbacks import Continuation, Part, Pullback
from contad.rules.body_derivatives import bent_pairs
from contad.variables.open_types import Rule

MOST_EXPLICIT = 20_000_000  # products of elements that one product of matrices lists one by one

Bends = tuple[np.ndarray, np.ndarray, np.ndarray]


class Depending(Protocol):
    """A record that reports the dependences of its result: see `SecondOrderRecord`."""

    def depend(self, d: "Dependencies") -> None:
        """Enter the cells on which the result depends."""


class Dependencies:
    """The edges of a recording, and its bends: nodes z, p, q where z may have a second derivative by p and q."""

    def __init__(self, records: Sequence["Depending"], inputs: np.ndarray, top: int) -> None:
        self.nodes = np.zeros(top, np.int64)  # by cell
        self.count = 1
        self.nodes[inputs] = np.arange(1, len(inputs) + 1)
        self.count += len(inputs)
        self._children: list[np.ndarray] = []
        self._parents: list[np.ndarray] = []
        self._bends: list[Bends] = []
        for record in records:
            record.depend(self)

    @functools.cached_property
    def linked(self) -> tuple[np.ndarray, np.ndarray]:
        """Arrays of children and their parents, in the order of recording."""
        return _join(self._children), _join(self._parents)

    @functools.cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """(the start of each node's parents, the parents), in the order of the nodes."""
        children, parents = self.linked
        order = np.argsort(children, kind="stable")
        starts = np.zeros(self.count + 1, np.int64)
        np.cumsum(np.bincount(children, minlength=self.count), out=starts[1:])
        return starts, parents[order]

    @functools.cached_property
    def bends(self) -> Bends:
        """Arrays of z, p and q."""
        z, p, q = (_join([bend[k] for bend in self._bends]) for k in range(3))
        return z, p, q

    # ---- dependences of records --------------------------------------------------------------------------------------
    def make_nodes(self, cells: slice | np.ndarray) -> None:
        """Number the cells of a result."""
        n = cells.stop - cells.start if isinstance(cells, slice) else cells.size
        made = np.arange(self.count, self.count + n)
        self.nodes[cells] = made if isinstance(cells, slice) else made.reshape(cells.shape)
        self.count += n

    def make_block(self, operands: np.ndarray) -> int:
        """A node that depends on all operands."""
        node = self.count
        self.count += 1
        self.link(np.int64(node), operands)
        return node

    def link(self, z: Any, x: Any) -> None:
        """The nodes z depend on the nodes x, element by element, broadcast."""
        children, parents = (a.reshape(-1) for a in np.broadcast_arrays(z, x))
        live = parents != 0
        self._children.append(children[live])
        self._parents.append(parents[live])

    def bend(self, z: Any, p: Any, q: Any) -> None:
        """The nodes z are not linear in the nodes p and q together."""
        found = tuple(a.reshape(-1) for a in np.broadcast_arrays(z, p, q))
        live = (found[1] != 0) & (found[2] != 0)
        self._bends.append(tuple(a[live] for a in found))

    # ---- operations --------------------------------------------------------------------------------------------------
    def depend_by_elements(self, rule: Rule, active: str, live: Sequence[int], z: Any, places: Sequence[Any]) -> None:
        """An elementwise operation; `places` are the nodes of its live arguments."""
        for x in places:
            self.link(z, x)
        for a, b in bent_pairs(rule, active, tuple(live)):
            self.bend(z, places[a], places[b])

    def depend_on_product(self, c: ProductPullback, z: slice) -> None:
        """A product of matrices; zeros of a constant factor make no dependence."""
        x, y = c.x.reshape(-1, c.x.shape[-1]), c.y.reshape(len(c.y), -1)
        (m, k), n = x.shape, y.shape[1]
        xs = self._matrix(c.x_cell, (m, k))
        ys = self._matrix(c.y_cell, (k, n))
        if m * k * n > MOST_EXPLICIT:  # one node for a row of x, or a column of y
            xs = None if xs is None else np.array([[self.make_block(row)] for row in xs])
            ys = None if ys is None else np.array([[self.make_block(column) for column in ys.T]])
            x, y = np.ones((m, 1)), np.ones((1, n))
        self.make_nodes(z)
        zs = self.nodes[z].reshape(m, n)
        if xs is not None:
            self.link(zs[:, None, :], np.where(_full(y, ys)[None], xs[:, :, None], 0))
        if ys is not None:
            self.link(zs[:, None, :], np.where(_full(x, xs)[:, :, None], ys[None], 0))
        if xs is not None and ys is not None:
            self.bend(zs[:, None, :], xs[:, :, None], ys[None])

    def _matrix(self, cell: int, shape: tuple[int, int]) -> np.ndarray | None:
        return self.nodes[cell : cell + math.prod(shape)].reshape(shape) if cell > 0 else None

    def depend_on_continuation(self, c: Continuation, z: slice) -> None:
        """A rule that runs in Python: elementwise, by its declared structure, or every result on every operand."""
        if not isinstance(c, Pullback):
            (part,) = c.results
            self.make_nodes(z)
            operands = {k: self._block(cell, shape) for k, cell, shape in c.operands}
            active = "".join("v" if k in operands else "c" for k in range(len(c.values)))
            result = self._result(part)
            places = [np.broadcast_to(x, result.shape) for x in operands.values()]
            self.depend_by_elements(c.rule, active, tuple(operands), result, places)
            return
        operands = {c.rule.argument_names[k]: self._block(cell, shape).reshape(-1) for k, cell, shape in c.operands}
        is_linear = all(name in c.rule.linear for name in operands)  # in each of them
        is_small = math.prod(max(np.size(x), 1) for x in c.values) <= MOST_EXPLICIT
        told = {
            name: c.rule.structures[name](*c.values, **c.options) for name in operands
            if name in c.rule.structures and is_small
        }  # fmt: skip
        found = {name: structure for name, structure in told.items() if structure is not None}
        # unknown how two operands interact: as wholes
        blocks = {
            name: self.make_block(own) for name, own in operands.items()
            if name not in found or not is_linear or len(operands) > 1
        }  # fmt: skip
        self.make_nodes(z)
        results = np.concatenate([self._result(part).reshape(-1) for part in c.results])
        for name, own in operands.items():
            if name in found:
                at_z, at_x = found[name]
                self.link(results[at_z], own[at_x])
            else:
                self.link(results, blocks[name])
        for a, b in itertools.combinations_with_replacement(operands, 2):
            if not is_linear or a != b:
                self.bend(results, blocks[a], blocks[b])

    def _block(self, cell: int, shape: tuple[int, ...]) -> np.ndarray:
        return self.nodes[cell : cell + math.prod(shape)].reshape(shape)

    def _result(self, part: Part) -> np.ndarray:
        """The nodes of a result in the shape of the rule's."""
        block = self._block(part.cell, part.shape)
        return block if part.axes is None else block.transpose(part.axes)


def _full(a: np.ndarray, nodes: np.ndarray | None) -> np.ndarray:
    """The mask where a factor passes derivatives on: everywhere for a variable, else where it is not 0."""
    return np.ones(a.shape, np.bool_) if nodes is not None else a != 0.0


def _join(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *arrays]).astype(np.int64, copy=False)
