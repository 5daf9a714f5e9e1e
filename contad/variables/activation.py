"""One recorded call: arguments become variables, results become seeds, adjoints are read back."""

from collections.abc import Sequence

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.array import Array
from contad.variables.number import Number, as_float, stands_for_float
from contad.variables.open_types import CellIndex, Nested, Value
from contad.variables.stack import ChainStack
from contad.variables.trees import Tree, assemble, flatten, real_leaf

FLOAT = np.dtype(np.float64)
_tuple = tuple.__new__  # a NamedTuple's own function takes thrice as long
Seeds = list[tuple[CellIndex, Value]]  # cells of a leaf, and their adjoints


def activate(
    s: ChainStack, what: str, argnums: Sequence[int], args: Sequence[Nested]
) -> tuple[list[Nested], list[Tree]]:
    """The arguments with variables in place of the numbers and arrays at argnums, and the trees of those variables."""
    active = list(args)
    trees = []
    for n in argnums:
        arg = args[n]
        if arg.__class__ is np.ndarray and arg.dtype is FLOAT and s.has_arrays:
            x = active[n] = s.array_variable(arg)
            trees.append(_tuple(Tree, ([x], None)))
            continue
        if arg.__class__ is float:  # a lone number, the common case: its variable stands for its tree
            x = active[n] = as_float(s.variable(arg))
            trees.append(_tuple(Tree, ([x], None)))
            continue
        tree = flatten(arg)
        if not tree.leaves:
            raise UnsupportedError(
                f"{what}, argument {n}: expected numbers or arrays to differentiate, got {args[n]!r}"
            )
        if {*map(type, tree.leaves)} == {float}:
            leaves: list[Value] = s.float_variables(tree.leaves)
            trees.append(Tree(leaves, tree.spec))
            active[n] = tree.unflatten(leaves)
            continue
        leaves = [make_active(s, leaf, f"{what}, argument {n}") for leaf in tree.leaves]
        trees.append(Tree(leaves, tree.spec))
        # f may write into its arguments; the derivative is with respect to what it was given
        active[n] = tree.unflatten([leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves])
    return active, trees


def make_active(s: ChainStack, given: Value, what: str) -> Value:
    """A variable for a number, variables for an array."""
    leaf = real_leaf(given, what)
    if isinstance(leaf, (np.ndarray, Array)):
        return s.array_variable(leaf)
    return as_float(s.variable(leaf)) if stands_for_float(given) else s.variable(leaf)


def seeds(s: ChainStack, y: Value, z_bar: Value) -> Seeds:
    """(cells, adjoints) of the variables of s in one leaf of a result; other numbers in it are constants."""
    if isinstance(y, Number):
        return [(y._index, z_bar)] if y._owner is s else []  # type: ignore[attr-defined]
    if isinstance(y, Array):
        return [(y.cells().reshape(-1), np.reshape(z_bar, (y.size,)))] if y._owner is s and y.size else []  # type: ignore[attr-defined]
    if isinstance(y, np.ndarray) and y.dtype == object:
        return [seed for k in np.ndindex(y.shape) for seed in seeds(s, y[k], z_bar[k])]
    return []


def pull(s: ChainStack, trees: Sequence[Tree], found: Seeds) -> list[Nested]:
    """One sweep, and the adjoints of the variables in the structures of the trees."""
    s.run_sweep(found, s.last_continuation)  # one that hands on the adjoint of a result is newer than it
    cotangents = []
    for tree in trees:
        leaves, spec = tree
        if spec is None:
            cotangents.append(s.cotangent(leaves[0]))
        else:
            cotangents.append(tree.unflatten(s.cotangents(leaves)))
    return cotangents


def block(s: ChainStack, trees: Sequence[Tree], leaf: Value) -> list[Value]:
    """The derivatives of one leaf of the result with respect to every tree: one sweep for each number in it."""
    shape = np.shape(leaf) if isinstance(leaf, (np.ndarray, Array)) else ()
    rows = []
    for k in np.ndindex(shape):
        s.run_sweep(seeds(s, leaf[k] if shape else leaf, 1.0), s.last_continuation)
        rows.append([s.cotangents(tree.leaves) for tree in trees])
    blocks = []
    for t, tree in enumerate(trees):
        leaves = []
        for n, x in enumerate(tree.leaves):
            entries = [row[t][n] for row in rows]
            total = shape + (x.shape if isinstance(x, (np.ndarray, Array)) else ())
            has_axes = isinstance(leaf, (np.ndarray, Array)) or isinstance(x, (np.ndarray, Array))
            leaves.append(assemble(entries, total) if has_axes else entries[0])
        blocks.append(tree.unflatten(leaves))
    return blocks
