"""Gradients of Dask arrays: lazy, chunked as the argument, and of sizes that no process holds at once."""

import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array", reason="dask is not installed")
pytestmark = [pytest.mark.adapters, pytest.mark.filterwarnings("ignore")]

POINT = np.linspace(-1.2, 1.9, 12)
REGION = np.array([0, 2, 1, 1, 0, 2, 2, 2, 0, 1, 0, 0])


def log_posterior(p, region, x, y):
    z = (y - p[1:][region] - p[0] * x) * np.exp(-p[0])
    return -0.5 * np.sum(z**2) - y.size * p[0] - 0.5 * np.sum(p**2)


def chunked(x, n=5):
    return da.from_array(x, chunks=n)


class Counting:
    """A scheduler that counts its computations."""

    calls = 0

    def __call__(self, graph, keys, **options):
        Counting.calls += 1
        return dask.get(graph, keys, **options)


FUNCTIONS = {
    "elementwise": lambda x: np.sum(np.sin(x) * np.exp(-x) + np.log1p(x * x)),
    "neighbours": lambda x: np.sum(np.diff(x) ** 2) + x[0] * x[-1],
    "chosen": lambda x: np.sum(x[REGION] ** 2 * np.arange(12.0)),
    "masked": lambda x: np.sum(np.where(x > 0.0, x * x, -x)),
    "reduced": lambda x: np.var(x) + np.max(x) + contad.logsumexp(x) + np.linalg.norm(x),
    "products": lambda x: (np.reshape(x, (3, 4)) @ np.reshape(x, (4, 3))).sum(),
    "written": lambda x: np.sum(written(x) * x),
}


def written(x):
    y = np.zeros_like(x)
    y[2:] = x[:-2]
    v = y[:3]
    y[0] = x[1] * x[2]
    return y + np.sum(v)  # of Dask's arrays, v is no view


@pytest.mark.parametrize("what", FUNCTIONS)
def test_gradients_have_the_chunks_of_the_argument(what):
    f = FUNCTIONS[what]
    Counting.calls = 0
    with dask.config.set(scheduler=Counting()):
        x = chunked(POINT)
        value, found = contad.value_and_grad(f)(x)
        assert Counting.calls == 0
        value, numbers = dask.compute(value, found)
        assert Counting.calls == 1
    assert found.chunks == x.chunks
    if what == "written":
        y = np.concatenate([POINT[1:2] * POINT[2:3], [0.0], POINT[:-2]])
        assert value == pytest.approx(np.sum(y * POINT) + POINT[0] * np.sum(POINT))
        step = 1e-6 * np.eye(12)
        slopes = [(f(chunked(POINT + h)).compute() - f(chunked(POINT - h)).compute()) / 2e-6 for h in step]
        np.testing.assert_allclose(numbers, slopes, rtol=1e-7, atol=1e-7)
    else:
        np.testing.assert_allclose(numbers, contad.grad(f)(POINT), rtol=1e-12, atol=1e-14)


def test_rows_beside_parameters():
    data, p = (REGION, POINT, np.cos(POINT)), np.array([0.2, 0.5, -0.4, 0.9])
    found = contad.grad(log_posterior)(da.from_array(p), *map(chunked, data))
    assert found.chunks == ((4,),)
    np.testing.assert_allclose(found.compute(), contad.grad(log_posterior)(p, *data), rtol=1e-13)
    with pytest.raises(UnsupportedError, match="NumPy beside an array of dask"):
        contad.grad(log_posterior)(p, *map(chunked, data))


def test_what_would_lose_the_derivative_is_refused():
    x = chunked(POINT)
    with pytest.raises(UnsupportedError, match=r"dask\.array: its functions take no variables"):
        contad.grad(lambda x: np.sum(x) + da.sum(da.exp(x)))(x)
    with pytest.raises(UnsupportedError, match=r"use np\.where"):
        contad.grad(lambda x: np.sum(x[x > 0.0]))(x)
    with pytest.raises(AttributeError, match="map_blocks.*loses the derivative"):
        contad.grad(lambda x: np.sum(x.map_blocks(np.sin)))(x)


def test_an_array_larger_than_its_memory_is_reduced_chunk_by_chunk():
    """No task sees more than one chunk: of ten, each task holds a tenth."""
    sizes = []

    def look(x):
        sizes.append(x.size)
        return x

    x = chunked(np.linspace(0.0, 1.0, 1000), 100).map_blocks(look, dtype=float)
    found = contad.grad(lambda x: np.sum(np.exp(-x) * x))(x).map_blocks(look, dtype=float)
    np.testing.assert_allclose(np.max(found).compute(), 1.0)
    assert max(sizes) == 100
