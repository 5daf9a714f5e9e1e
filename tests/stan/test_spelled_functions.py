"""Stan's names for expressions of NumPy: their values, and the slopes of those that have some."""

import math

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.stan import spelled_functions

V, W = np.array([1.3, -0.7, 2.1, 0.4]), np.array([0.4, 1.9, -1.1, 0.8])
A, B = np.array([[1.3, -0.7, 2.1], [0.4, 1.9, -1.1]]), np.array([[0.6, 1.7], [-0.4, 0.9], [1.1, 0.3]])
S = np.array([[1.3, 0.4], [-0.7, 2.1]])
# by name: arguments and the value, by another way
VALUES = {
    "minus": ((V,), -V), "plus": ((V,), V), "add": ((V, W), V + W), "subtract": ((V, W), V - W),
    "multiply": ((A, B), np.dot(A, B)), "divide": ((V, 2.0), 0.5 * V), "min": ((V,), -0.7), "max": ((0.3, 0.4), 0.4),
    "sum": ((A,), 3.9), "prod": ((V,), math.prod(V)), "mean": ((V,), np.average(V)),
    "variance": ((V,), np.var(V, ddof=1)), "sd": ((V,), np.std(V, ddof=1)), "norm1": ((V,), 4.5),
    "norm2": ((V,), np.linalg.norm(V)), "quantile": ((V, 0.5), np.median(V)), "cumulative_sum": ((V,), np.cumsum(V)),
    "dot_product": ((V, W), V @ W), "dot_self": ((V,), V @ V), "distance": ((V, W), np.linalg.norm(V - W)),
    "squared_distance": ((V, W), np.linalg.norm(V - W) ** 2), "sort_asc": ((V,), sorted(V)),
    "sort_desc": ((V,), sorted(V, reverse=True)), "trace": ((S,), 3.4), "trace_dot": ((A, B), np.trace(A @ B)),
    "append_array": ((V, W), [*V, *W]), "append_col": ((A, S[0]), np.column_stack([A, S[0]])),
    "append_row": ((V[:3], A), np.vstack([V[:3], A])), "diag_matrix": ((V,), np.diag(V)),
    "diagonal": ((S,), [1.3, 2.1]),
    "head": ((V, 3), [1.3, -0.7, 2.1]), "tail": ((V, 3), [-0.7, 2.1, 0.4]),
    "linspaced_array": ((3, 1.0, 2.0), [1.0, 1.5, 2.0]), "linspaced_vector": ((3, 1.0, 2.0), [1.0, 1.5, 2.0]),
    "linspaced_row_vector": ((3, 1.0, 2.0), [1.0, 1.5, 2.0]), "linspaced_int_array": ((5, 1, 10), [1, 3, 5, 7, 9]),
    "rep_vector": ((0.7, 2), [0.7, 0.7]),
    "rep_row_vector": ((0.7, 2), [0.7, 0.7]), "rep_array": ((0.7, 1, 2), [[0.7, 0.7]]),
    "rep_matrix": ((0.7, 2, 1), [[0.7], [0.7]]), "reverse": ((V,), np.flip(V)), "transpose": ((A,), np.transpose(A)),
    "to_vector": ((A,), np.ravel(A, order="F")), "to_row_vector": ((A,), np.ravel(A, order="F")),
    "to_array_1d": ((A,), np.ravel(A, order="F")), "to_array_2d": ((A,), A),
    "to_matrix": ((V, 2, 2), [[1.3, 2.1], [-0.7, 0.4]]),
    "symmetrize_from_lower_tri": ((S,), [[1.3, -0.7], [-0.7, 2.1]]),
    "dims": ((A,), [2, 3]), "round": ((np.array([-2.6, 0.5 - 2.0**-20, 1.2]),), [-3.0, 0.0, 1.0]),
    "to_int": ((-2.7,), -2),
    "rows": ((A,), 2), "cols": ((A,), 3), "size": ((A,), 2), "num_elements": ((A,), 6),
    "identity_matrix": ((2,), [[1, 0], [0, 1]]), "ones_array": ((2,), [1, 1]), "ones_vector": ((2,), [1, 1]),
    "ones_row_vector": ((2,), [1, 1]), "zeros_array": ((2,), [0, 0]), "zeros_vector": ((2,), [0, 0]),
    "zeros_row_vector": ((2,), [0, 0]), "ones_int_array": ((2,), [1, 1]), "zeros_int_array": ((2,), [0, 0]),
    "uniform_simplex": ((4,), [0.25] * 4), "int_step": ((0.0,), 0), "step": ((0.0,), 1.0), "is_inf": ((-np.inf,), 1),
    "is_nan": ((np.nan,), 1), "modulus": ((-7, 3), -1), "e": ((), math.e), "pi": ((), math.pi),
    "sqrt2": ((), math.sqrt(2.0)), "machine_precision": ((), np.finfo(float).eps), "positive_infinity": ((), np.inf),
    "negative_infinity": ((), -np.inf), "not_a_number": ((), np.nan), "logical_and": ((1, 0), 0),
    "logical_or": ((1, 0), 1), "logical_negation": ((0,), 1), "logical_eq": ((1, 1), 1), "logical_neq": ((1, 1), 0),
    "logical_lt": ((1, 2), 1), "logical_lte": ((2, 2), 1), "logical_gt": ((1, 2), 0), "logical_gte": ((2, 2), 1),
}  # fmt: skip


def test_every_function_is_tried():
    assert VALUES.keys() == set(spelled_functions.__all__)


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    args, expected = VALUES[name]
    np.testing.assert_allclose(getattr(stan, name)(*args), expected, rtol=1e-14, atol=1e-15)
    assert np.shape(getattr(stan, name)(*args)) == np.shape(expected)


@pytest.mark.parametrize("name", [name for name, (args, z) in VALUES.items() if np.size(z) and any(map(np.ndim, args))])
def test_slopes(name):
    """Of the sum of what they give, along a direction, beside differences."""
    args, _ = VALUES[name]
    function = getattr(stan, name)
    active = [k for k, x in enumerate(args) if np.ndim(x)]

    def total(*arrays):
        given = dict(zip(active, arrays, strict=True))
        z = function(*(given.get(k, x) for k, x in enumerate(args)))
        return np.sum(np.sin(z) * z) + np.sum(arrays[0])

    arrays = [args[k] for k in active]
    ways = [np.cos(np.arange(x.size) + k).reshape(x.shape) for k, x in enumerate(arrays)]
    expected = sum(
        sign * total(*(x + sign * 1e-6 * way for x, way in zip(arrays, ways, strict=True))) / 2e-6 for sign in (1, -1)
    )
    found = contad.grad(total, tuple(range(len(arrays))))(*arrays)
    assert sum(np.sum(x * way) for x, way in zip(found, ways, strict=True)) == pytest.approx(expected, rel=1e-6)


def test_lists_are_arrays_and_axes_are_checked():
    assert stan.dot_self([3.0, 4.0]) == 25.0
    with pytest.raises(ValueError, match="distance: y must have in axis 0 the length of x in axis 0"):
        stan.distance(V, V[:2])
    with pytest.raises(TypeError, match="sd: takes arrays of float64 with so many axes"):
        stan.sd(1.0)


# ---- other axes, and Numba functions ---------------------------------------------------------------------------------
@njit
def append(x, v, a):
    columns = stan.append_col(stan.append_col(x * a, v[:2]), stan.append_col(v[2:], a))
    rows = stan.append_row(stan.append_row(a, v[1:]), stan.append_row(a[0], a))
    ends = stan.append_row(x, stan.append_col(stan.append_row(v, 2.0), x))
    return np.sum(np.sin(columns)) + np.sum(np.cos(rows)) + ends @ ends


@njit
def repeat(x, v, a):
    total = np.sum(np.sin(stan.rep_array(v, 2, 3)) * x) + np.sum(np.sin(stan.rep_array(v, 2)[1]))
    return total + np.sum(np.cos(stan.rep_array(a, 2)[1])) + x * stan.to_int(x + 2.0) * stan.size(3)


@njit
def reshape(x, v, a):
    turned = stan.to_matrix(a[:, 1:], 1, 4) @ v
    return np.sum(turned * stan.reverse(a)[0, 0] * stan.head(a, 1)[0, 1]) * x + stan.tail(a, 1)[0, 2] * stan.dims(a)[1]


@njit
def round_off(x, v, a):
    return stan.round(3.0 * x) * v[0] + np.sum(stan.round(v) * v) + np.sum(stan.diagonal(a) * stan.round(a[:, 1]))


@pytest.mark.parametrize("f", [append, repeat, reshape, round_off], ids=lambda f: f.__name__)
def test_numba_functions(f):
    assert f(0.7, V, A) == pytest.approx(f.py_func(0.7, V, A), rel=1e-14)
    expected = contad.grad(f.py_func, (0, 1, 2))(0.7, V, A)
    for engine in ("generated", "tape"):
        found = contad.grad(f, (0, 1, 2), engine=engine)(0.7, V, A)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_two_vectors_may_be_rows_or_columns():
    """So what appending makes of them is not known."""
    with pytest.raises(TypeError, match="append_row: takes arrays of float64 with so many axes"):
        stan.append_row(V, W)


def test_rounding_is_that_of_c():
    assert [stan.round(x) for x in (0.5, 1.5, -0.5, -2.5, 2.4, 0.5 - 2.0**-54)] == [1.0, 2.0, -1.0, -3.0, 2.0, 0.0]
    assert stan.round(2.0**52 + 1.0) == 2.0**52 + 1.0 and stan.round(-np.inf) == -np.inf


@pytest.mark.parametrize(
    ("args", "expected"), [((5, 1, 3), [1, 1, 2, 2, 3]), ((3, 0, 1), [0, 0, 1]), ((1, 2, 7), [7]), ((0, 2, 7), [])]
)
def test_whole_steps_are_those_of_stan(args, expected):
    assert stan.linspaced_int_array(*args).tolist() == expected
    with pytest.raises(ValueError, match="upper at least lower"):
        stan.linspaced_int_array(3, 2, 1)
