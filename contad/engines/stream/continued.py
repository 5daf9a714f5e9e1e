"""The continuations of compiled functions that are called with variables: one for each call, on any eager engine."""

from collections.abc import Callable, Sequence

import numpy as np

from contad.engines.stream.record_stream import Recording
from contad.variables.adjoints import Adjoints
from contad.variables.array import Array
from contad.variables.continuations import make_callback_var, reverse_pass_callback, var
from contad.variables.number import as_float
from contad.variables.open_types import Nested, Real, Value
from contad.variables.stack import stack
from contad.variables.trees import flatten
from contad.variables.var import Var


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
