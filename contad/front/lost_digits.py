"""Gradients whose reverse sweep loses digits among close eigenvalues or singular values: forward mode has them.

The cotangent of a matrix is nan there, because rounding hides its part among the close vectors. Most gradients do not
need that part: for a kernel matrix of nearly low rank, it is multiplied by a tangent that is 0 there up to rounding.
Forward mode sees this tangent, and a reverse sweep does not. So forward mode recomputes the entries of the gradient
that are nan.
"""

from collections.abc import Callable

import numpy as np

from contad.errors import UnsupportedError
from contad.variables.open_types import ArrayValue, Nested
from contad.variables.stack import attempt
from contad.variables.trees import flatten, holds_number

MOST = 1000  # numbers of a derivative; beyond this, nans stay


def fill(found: Nested, forward: Callable[[], Nested]) -> Nested:
    """A derivative by reverse mode, with forward mode in place of nans; both have the same numbers in the same
    order."""
    tree = flatten(found)
    if holds_number(found) or sum(map(np.size, tree.leaves)) > MOST or not any(np.isnan(x).any() for x in tree.leaves):
        return found
    try:
        with attempt():
            others = flatten(forward()).leaves
    except UnsupportedError:  # a rule without forward mode
        return found
    leaves = []
    for x, other in zip(tree.leaves, others, strict=True):
        known = np.where(np.isnan(x), other, x)
        leaves.append(known if isinstance(x, np.ndarray) else float(known))
    return tree.unflatten(leaves)


def fill_if_same(found: Nested, value: Nested, forward: Callable[[], tuple[Nested, Nested]]) -> Nested:
    """`fill`, if forward mode also has the same value: a function may draw random numbers, or read changed data."""

    def of_same_function() -> Nested:
        derivative, again = forward()
        pairs = zip(flatten(value).leaves, flatten(again).leaves, strict=True)
        return derivative if all(np.allclose(x, y, 1e-9, 0.0, equal_nan=True) for x, y in pairs) else found

    return fill(found, of_same_function)


def contract(z_bar: Nested, jacobian: Nested) -> list[ArrayValue]:
    """The cotangents of all numbers of the arguments, from that of the result and the Jacobian by a tuple of them."""
    bars, blocks = flatten(z_bar).leaves, flatten(jacobian).leaves
    count = len(blocks) // max(len(bars), 1)
    return [
        sum(np.tensordot(bar, blocks[k * count + n], np.ndim(bar)) for k, bar in enumerate(bars)) for n in range(count)
    ]
