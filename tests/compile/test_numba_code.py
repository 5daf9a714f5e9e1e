"""The shape of a result, as far as the source of a function tells it for certain."""

import numba
import numpy as np
import pytest

import contad
from contad.compile.numba_code import literal_shape

COUNT = 3


def listed(x):
    return np.array([x[0], x[1] * x[0]])


def of_a_global(x):
    out = np.empty((2, COUNT))
    out[:] = x[0]
    return out


def returned_twice(x):
    if x[0] > 0.0:
        return np.zeros(2)
    return np.full(2, x[0])


def grown(x):
    numbers = [x[0], x[1]]
    numbers.append(x[0])
    return np.array(numbers)


def assigned_twice(x):
    out = np.zeros(2) + x[0]
    out = out[:1]
    return out


def of_two_shapes(x):
    if x[0] > 0.0:
        return np.zeros(2)
    return np.zeros(3)


def of_the_argument(x):
    return np.zeros(len(x))


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (listed, (2,)), (of_a_global, (2, 3)), (returned_twice, (2,)), (grown, None), (assigned_twice, None),
        (of_two_shapes, None), (of_the_argument, None), (lambda x: np.zeros(0), None), (lambda x: x, None),
    ],
)  # fmt: skip
def test_shapes_that_the_source_tells(f, shape):
    assert literal_shape(numba.njit(f)) == shape


def test_a_small_jacobian_does_not_call_the_function_for_its_shape():
    """One pass gives both rows, from directions on the stack."""
    x = np.array([1.5, -0.5, 2.0])
    made = contad.jacrev(numba.njit(listed))
    np.testing.assert_array_equal(made(x), [[1.0, 0.0, 0.0], [-0.5, 1.5, 0.0]])
    assert "2 rows at once" in contad.explain(made, x)
    (module, _), = made._made.values()  # fmt: skip
    assert "f" not in module.derivative.py_func.__code__.co_names
