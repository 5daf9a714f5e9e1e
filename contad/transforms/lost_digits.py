"""Gradients whose reverse sweep loses digits among close eigenvalues or singular values: forward mode has them.

The cotangent of a matrix there is nan: rounding hides what it is among the close vectors. Most gradients have no use
for that part: of a kernel matrix of nearly low rank it is multiplied by a tangent that is 0 there up to rounding.
A tangent knows this, and a sweep does not; so each element of the gradient is the tangent of one direction.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from contad.functions.user_call import split_aux
from contad.variables.open_types import Function, Nested, Options
from contad.variables.trees import flatten

MOST = 1000  # elements of the gradient; of more it stays nan


def find_lost(transform: Any, jvp: Function, args: Sequence[Nested], kwargs: Options, gradient: Nested) -> Nested:
    """The gradient of a `_Gradient`, with tangents in place of nans."""
    trees = [flatten(x) for x in ((gradient,) if transform.single else gradient)]
    sizes = [np.size(leaf) for tree in trees for leaf in tree.leaves]
    if sum(sizes) > MOST or not any(np.any(np.isnan(leaf)) for tree in trees for leaf in tree.leaves):
        return gradient
    made = []
    for n, tree in zip(transform.argnums, trees, strict=True):
        leaves = []
        for k, leaf in enumerate(tree.leaves):
            found = np.array(leaf, dtype=float)
            for at in np.ndindex(found.shape):
                if np.isnan(found[at]):
                    found[at] = _along(transform, jvp, args, kwargs, n, k, at)
            leaves.append(found if np.ndim(leaf) else float(found))
        made.append(tree.unflatten(leaves))
    return made[0] if transform.single else tuple(made)


def _along(
    transform: Any, jvp: Function, args: Sequence[Nested], kwargs: Options, n: int, k: int, at: tuple[int, ...]
) -> float:
    """The tangent along one element of leaf k of argument n."""
    def run(x: Nested) -> Nested:
        y = transform.run(*args[:n], x, *args[n + 1 :], **kwargs)
        return split_aux(y, True, transform.what)[0] if transform.has_aux else y

    tree = flatten(args[n])
    directions = [np.zeros(np.shape(leaf)) for leaf in tree.leaves]
    directions[k][at] = 1.0
    tangents = tree.unflatten([x if x.ndim else float(x) for x in directions])
    return float(jvp(run, (args[n],), (tangents,))[1])
