"""The shape of a result, as far as the source of a function tells it for certain."""

import numba
import numpy as np
import pytest

import contad
from contad.compile.numba_code import literal_shape
from tests.engines.source.programs.harness import functions_of

FUNCTIONS = functions_of("""\
# listed: return np.array([x[0], x[1] * x[0]])
# of a global
out = np.empty((2, COUNT))
out[:] = x[0]
return out
# returned twice
if x[0] > 0.0:
    return np.zeros(2)
return np.full(2, x[0])
# grown
numbers = [x[0], x[1]]
numbers.append(x[0])
return np.array(numbers)
# assigned twice
out = np.zeros(2) + x[0]
out = out[:1]
return out
# of two shapes
if x[0] > 0.0:
    return np.zeros(2)
return np.zeros(3)
# of the argument: return np.zeros(len(x))
# of nothing: return np.zeros(0)
# the argument: return x
""", "x", COUNT=3)  # fmt: skip
SHAPES = {"listed": (2,), "of a global": (2, 3), "returned twice": (2,)}  # others are not told


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_that_the_source_tells(name):
    assert literal_shape(numba.njit(FUNCTIONS[name])) == SHAPES.get(name)


def test_a_small_jacobian_does_not_call_the_function_for_its_shape():
    """One pass gives both rows, from directions on the stack."""
    x = np.array([1.5, -0.5, 2.0])
    made = contad.jacrev(numba.njit(FUNCTIONS["listed"]))
    np.testing.assert_array_equal(made(x), [[1.0, 0.0, 0.0], [-0.5, 1.5, 0.0]])
    assert "2 rows at once" in contad.explain(made, x)
    (module, _), = made._made.values()  # fmt: skip
    assert "f" not in module.derivative.py_func.__code__.co_names
