"""Gradients of pydata/sparse arrays: sparse, in the format of the argument."""

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError

sparse = pytest.importorskip("sparse", reason="sparse is not installed")
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]

MATRIX = np.array([[0.0, 0.7, 0.0, 1.3], [0.0, -0.3, 0.4, 0.0], [0.9, 0.0, 0.0, 0.0], [0.0, 0.0, -0.8, 0.5]])
V = np.array([0.3, -1.1, 0.7, 0.2])
FUNCTIONS = {
    "products": lambda x: V @ (x @ V) + np.sum(x.T @ x) + np.sum((x @ np.eye(4)) ** 2),
    "elements": lambda x: x[0, 1] * x[1, 1] + np.sum(x[:2] * x[2:]) + np.trace(x),
    "elementwise": lambda x: np.sum(np.sin(x) + np.expm1(x) * x) + np.sum(x**3) + np.sum(x * MATRIX),
    "reduced": lambda x: np.var(x) + np.sum(np.mean(x, axis=0) ** 2) + np.linalg.norm(x),
    "shapes": lambda x: np.sum(np.reshape(x, (2, 8)) ** 2) + np.sum(np.concatenate([x, 2.0 * x]) ** 2),
}


@pytest.fixture(params=["COO", "GCXS"])
def make(request):
    return lambda a: sparse.COO.from_numpy(a).asformat(request.param.lower())


@pytest.mark.parametrize("what", FUNCTIONS)
def test_gradients_are_sparse(make, what):
    f, x = FUNCTIONS[what], make(MATRIX)
    found = contad.grad(f)(x)
    assert type(found) is type(x) and found.dtype == x.dtype and found.fill_value == 0.0
    np.testing.assert_allclose(found.todense(), contad.grad(f)(MATRIX), rtol=1e-12, atol=1e-14)


def test_at_differentiates(make):
    at = pytest.importorskip("array_api_extra", reason="array-api-extra is not installed").at

    def f(x):
        return np.sum(at(x, (0, slice(None))).set(2.0 * x[1]) ** 2)

    def by_hand(x):
        y = x * 1.0
        y[0] = 2.0 * x[1]
        return np.sum(y**2)

    np.testing.assert_allclose(contad.grad(f)(make(MATRIX)).todense(), contad.grad(by_hand)(MATRIX), rtol=1e-13)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: np.sum(np.sort(x)), "argsort"),
        (lambda x: np.sum(np.cumsum(x)), "cumulative_sum"),
        (lambda x: np.sum(np.linalg.inv(x)), r"np\.linalg\.inv"),
    ],
)
def test_what_the_library_lacks_is_refused_by_name(make, f, name):
    with pytest.raises(UnsupportedError, match=f"{name}.*not available for arrays of sparse"):
        contad.grad(f)(make(MATRIX))


def test_methods_of_sparse_arrays_are_refused(make):
    for f in (lambda x: np.sum(x.todense()), lambda x: np.sum(x) * x.nnz):
        with pytest.raises(AttributeError, match="loses the derivative"):
            contad.grad(f)(make(MATRIX))
