"""One recorded call: arguments become variables, results become seeds, adjoints are read back."""

from collections.abc import Sequence

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.array import Array
from contad.variables.dtypes import FLOAT
from contad.variables.layout import OVERLAPPING
from contad.variables.number import Number, stands_for_float
from contad.variables.open_types import CellIndex, Nested, Value
from contad.variables.overlaps import hand_on_marks, set_apart
from contad.variables.stack import ChainStack
from contad.variables.trees import Tree, assemble, flatten, is_of_library, real_leaf

Seeds = list[tuple[CellIndex, Value]]  # cells of a leaf, and their adjoints
Active = Value | Tree  # for an argument: the variable of a lone leaf, else the tree of its variables


def activate(
    s: ChainStack, what: str, argnums: Sequence[int], args: Sequence[Nested]
) -> tuple[list[Nested], list[Active]]:
    """The arguments with variables in place of the numbers and arrays at argnums, and those variables."""
    given = list(args)
    made: list[Active] = []
    for n in argnums:
        arg = args[n]
        if arg.__class__ is np.ndarray and arg.dtype is FLOAT and s.has_arrays:
            x = given[n] = s.array_variable(arg)
            made.append(x)
        elif arg.__class__ is float:
            x = given[n] = s.float_variable(arg)
            made.append(x)
        elif s.takes_any and is_of_library(arg):
            x = given[n] = s.array_variable(arg)
            made.append(x)
        else:
            given[n], tree = _activate_tree(s, what, n, arg)
            made.append(tree)
    if OVERLAPPING:
        hand_on_marks(args, given)
    return given, made


def _activate_tree(s: ChainStack, what: str, n: int, arg: Nested) -> tuple[Nested, Tree]:
    """Argument n with variables in place of its leaves, and their tree."""
    tree = flatten(arg)
    if {*map(type, tree.leaves)} == {float}:
        leaves: list[Value] = s.float_variables(tree.leaves)
        return tree.unflatten(leaves), Tree(leaves, tree.spec)
    named = f"{what}, argument {n}"
    if not tree.leaves:
        raise UnsupportedError(f"{named}: expected numbers or arrays to differentiate, got {arg!r}")
    (apart,) = set_apart(what, (tree.leaves,), n)
    leaves = [make_active(s, leaf, named) for leaf in apart]
    # f may write into its arguments; the derivative is with respect to the original values
    own = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
    if OVERLAPPING:
        hand_on_marks(apart, own)
    return tree.unflatten(own), Tree(leaves, tree.spec, tree.dtypes)


def trees_of(made: Sequence[Active]) -> list[Tree]:
    """The trees of the variables that `activate` has made."""
    return [x if x.__class__ is Tree else Tree([x], None) for x in made]


def make_active(s: ChainStack, given: Value, what: str) -> Value:
    """A variable for a number, variables for an array."""
    if s.takes_any and (
        isinstance(given, Array)
        or is_of_library(given)
        or (isinstance(given, (np.ndarray, np.floating)) and given.dtype.kind == "f")
    ):
        return s.array_variable(given)
    leaf = real_leaf(given, what)  # which refuses arrays of other libraries
    if isinstance(leaf, (np.ndarray, Array)):
        return s.array_variable(leaf)
    return s.float_variable(leaf) if stands_for_float(given) else s.variable(leaf)


def seeds(s: ChainStack, y: Value, z_bar: Value) -> Seeds:
    """(cells, adjoints) of the variables of s in one leaf of a result; other numbers in it are constants."""
    if isinstance(y, Number):
        return [(y._index, z_bar)] if y._owner is s else []  # type: ignore[attr-defined]
    if s.takes_any and isinstance(y, Array):
        return [(y._cell, y.as_seed(z_bar))] if y._owner is s else []  # type: ignore[attr-defined]
    if isinstance(y, Array):
        return [(y.cells().reshape(-1), np.reshape(z_bar, (y.size,)))] if y._owner is s and y.size else []  # type: ignore[attr-defined]
    if isinstance(y, np.ndarray) and y.dtype == object:
        return [seed for k in np.ndindex(y.shape) for seed in seeds(s, y[k], z_bar[k])]
    return []


def differentiate_leaf(s: ChainStack, made: Sequence[Active], leaf: Value) -> list[Value]:
    """The derivatives of one leaf of the result with respect to every argument: one sweep for each number in it."""
    trees = trees_of(made)
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
