"""np.dot and @ on arrays of variables and duals."""

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types

from contad.compile.overloads import add_overload, add_overload_method
from contad.compiled_rules.elementwise_calls import PLAIN
from contad.compiled_rules.rules import partial_function
from contad.engines.tape.arrays import ActiveArray, is_active_array, zeros_of
from contad.engines.tape.matrix_records import OPERATIONS
from contad.engines.tape.variables import Active, chain2
from contad.rules.scalar_rule import rule

_by_x = cast("Callable[..., float]", partial_function(rule("multiply"), 0))


# ---- sums of products ------------------------------------------------------------------------------------------------
def accumulate(total: Any, x: Any, y: Any) -> Any:
    """total + x y; inside njit one record if x or y is plain, else two."""
    return total + x * y


@add_overload(accumulate)
def _accumulate(total: Any, x: Any, y: Any) -> Any:
    """The sum, for operands of these types."""
    if isinstance(x, Active) and isinstance(y, Active):
        return lambda total, x, y: total + x * y
    if isinstance(x, Active):
        return lambda total, x, y: chain2(total.value + x.value * y, 1.0, total, _by_x(0.0, x.value, float(y)), x)
    return (lambda total, x, y: accumulate(total, y, x)) if isinstance(y, Active) else None


def _dot(a: Any, b: Any) -> Any:
    """np.dot and @ of arrays with one or two axes, one of them active."""
    if not isinstance(a, types.Array) or not isinstance(b, types.Array):
        return None
    active = next((x.dtype for x in (a, b) if is_active_array(x)), None)
    if active is None or not {a.ndim, b.ndim} <= {1, 2}:
        return None
    if not all(isinstance(x.dtype, (Active, *PLAIN)) for x in (a, b)):
        return None
    zeros = zeros_of[active]

    def vectors(a: Any, b: Any) -> Any:
        if len(a) != len(b):
            raise ValueError("incompatible array sizes for np.dot(a, b) (vector * vector)")
        total = zeros(1)[0]
        for k in range(len(a)):
            total = accumulate(total, a[k], b[k])
        return total

    def matrix_vector(a: Any, b: Any) -> Any:
        if a.shape[1] != len(b):
            raise ValueError("incompatible array sizes for np.dot(a, b) (matrix * vector)")
        made = zeros(a.shape[0])
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                made[i] = accumulate(made[i], a[i, k], b[k])
        return made

    def vector_matrix(a: Any, b: Any) -> Any:
        if len(a) != b.shape[0]:
            raise ValueError("incompatible array sizes for np.dot(a, b) (vector * matrix)")
        made = zeros(b.shape[1])
        for k in range(b.shape[0]):
            for j in range(b.shape[1]):
                made[j] = accumulate(made[j], a[k], b[k, j])
        return made

    multiply = OPERATIONS["matmul"][active]

    def matrices(a: Any, b: Any) -> Any:
        (m, n), k = a.shape, b.shape[1]
        if n != b.shape[0]:
            raise ValueError("incompatible array sizes for np.dot(a, b) (matrix * matrix)")
        return multiply(a, b, m, n, k).reshape((m, k)) if m * n * k else zeros((m, k))

    if a.ndim == 1:
        return vectors if b.ndim == 1 else vector_matrix
    return matrix_vector if b.ndim == 1 else matrices


for _function in (np.dot, operator.matmul):
    add_overload(_function)(_dot)
add_overload_method(ActiveArray, "dot")(_dot)
