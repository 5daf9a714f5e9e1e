"""Gradients of arrays of other libraries: right, of the argument's type, dtype and device, without conversions."""

import weakref

import numpy as np
import pytest

import contad
import contad.stan
from contad.engines.arrays import libraries
from contad.errors import UnsupportedError
from tests.engines.arrays.fake_device import COUNTS, DeviceArray
from tests.engines.arrays.installed_libraries import library

POINT = np.array([0.7, 1.3, 0.4])
MATRIX = np.array([[1.3, 0.7, 2.1], [0.4, 1.9, 1.1], [0.8, 0.35, 1.6]])


DENSE = ("array_api_strict", "torch", "jax", "a fake of CuPy")
ALL = (*DENSE, "dask.array", "sparse")
FUNCTIONS = {
    "elementwise": lambda x: np.sum(np.sin(x) * np.exp(-x) / (1.0 + x**2) + np.log(x) - np.sqrt(x)),
    "masked": lambda x: np.sum(np.where(x > 0.5, x * np.log(x), 0.0)),
    "reductions": lambda x: np.mean(x) * np.sum(x) + np.var(x) + np.max(x) * np.min(x),
    "elements": lambda x: x[0] * x[2] + np.sum(x[1:] * x[:-1]) + x[-1] ** 3,
    "shapes": lambda x: np.sum(np.reshape(x, (3, 1)) * np.transpose(x[None, :] + x[:, None]) * x[0]),
    "products": lambda x: (x[:, None] * x[None, :] @ x) @ x,
    "joined": lambda x: np.sum(np.concatenate([x, x * x]) * np.tile(x, 2)) + np.sum(np.stack([x, 2.0 * x]) ** 2),
    "between constants": lambda x: np.sum(np.diag(x) * x) + np.sum(np.pad(x, 1, constant_values=1.5) ** 2 * x[0]),
    "stable": lambda x: contad.logsumexp(x) + np.sum(np.logaddexp(x, 2.0 * x)),
}


@pytest.mark.parametrize(("name", "what"), [(name, what) for name in ALL for what in FUNCTIONS])
def test_a_gradient_is_that_of_numpy_in_the_type_of_the_argument(name, what):
    if (name, what) == ("sparse", "reductions"):
        pytest.skip("sparse has no argmax of rows")
    make, back = library(name)
    f = FUNCTIONS[what]
    x = make(POINT)
    value, found = contad.value_and_grad(f)(x)
    assert type(found) is type(x) and found.dtype == x.dtype
    assert type(value) is type(found[0]) or value.shape == ()
    np.testing.assert_allclose(back(found), contad.grad(f)(POINT), rtol=1e-12)


@pytest.mark.parametrize("what", FUNCTIONS)
def test_numpy_by_this_engine_agrees_with_matrix(what):
    f = FUNCTIONS[what]
    np.testing.assert_allclose(contad.grad(f, engine="arrays")(POINT), contad.grad(f)(POINT), rtol=1e-13)


@pytest.mark.parametrize("name", [*DENSE, "dask.array"])
def test_float32_is_kept(name):
    make, back = library(name)
    x = make(POINT.astype(np.float32))


    def f(x):
        return np.sum(np.exp(x) * 2.0 + np.var(x))

    value, found = contad.value_and_grad(f)(x)
    assert found.dtype == x.dtype == value.dtype
    np.testing.assert_allclose(back(found), contad.grad(f)(POINT), rtol=1e-5)


def test_float32_of_numpy_is_kept():
    x = POINT.astype(np.float32)
    found = contad.grad(lambda x: np.sum(np.exp(x) * np.log1p(x)), engine="arrays")(x)
    assert found.dtype == np.float32


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1", "device2"])
def test_every_device_of_the_strict_library(device):
    xp = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    device = xp.Device(device)
    x = xp.asarray(POINT.tolist(), dtype=xp.float64, device=device)

    def f(x):
        xp = x.__array_namespace__()
        return xp.sum(xp.where(x > 0.5, xp.exp(x), xp.zeros_like(x)) * x) + xp.max(x) * xp.mean(x) + contad.logsumexp(x)

    found = contad.grad(f)(x)
    assert found.device == device
    assert contad.hessian(f)(x).device == device


# ---- nothing is read -------------------------------------------------------------------------------------------------
def fifty_operations(x):
    """A loss of fifty operations."""
    z = x
    for _ in range(8):
        z = np.tanh(z * x + 0.5) - np.where(z > 0.2, z, 0.1 * z) / (1.0 + x * x)
    return np.sum(z**2) + np.mean(np.exp(-z)) + contad.logsumexp(z)


def test_nothing_is_read_or_moved():
    COUNTS.clear()
    found = contad.grad(fifty_operations)(DeviceArray(POINT))
    assert dict(COUNTS) == {}
    np.testing.assert_allclose(found.get(), contad.grad(fifty_operations)(POINT), rtol=1e-12)


def test_a_read_is_counted():
    COUNTS.clear()
    contad.grad(lambda x: np.sum(x) if x[0] > 0.0 else np.sum(-x))(DeviceArray(POINT))
    assert dict(COUNTS) == {"bool": 1}


def test_lazy_arrays_stay_lazy():
    dask = pytest.importorskip("dask", reason="dask is not installed")
    make, back = library("dask.array")

    def refuse(*args, **options):
        raise AssertionError("computed before anybody asked")

    with dask.config.set(scheduler=refuse):
        found = contad.grad(fifty_operations)(make(POINT))
    np.testing.assert_allclose(back(found), contad.grad(fifty_operations)(POINT), rtol=1e-12)


def test_a_whole_gradient_can_be_traced():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    make, back = library("jax")
    found = jax.jit(contad.grad(fifty_operations))(make(POINT))
    np.testing.assert_allclose(back(found), contad.grad(fifty_operations)(POINT), rtol=1e-12)


# ---- every order -----------------------------------------------------------------------------------------------------
def curved(x):
    return np.sum(np.exp(x) * np.sin(x * x[0])) + x[1] * np.log(x[2])


@pytest.mark.parametrize("name", DENSE)
def test_transforms(name):
    make, back = library(name)
    x, v = make(POINT), make(MATRIX[0])

    def g(x):
        return np.exp(x) * np.flip(x)

    def close(a, b):
        np.testing.assert_allclose(back(a), b, rtol=1e-12, atol=1e-12)

    def twice(x):
        return contad.grad(lambda y: np.sum(contad.grad(curved)(y) ** 2))(x)

    close(contad.hessian(curved)(x), contad.hessian(curved)(POINT))
    close(contad.hvp(curved)(x, v), contad.hvp(curved)(POINT, MATRIX[0]))
    close(contad.jacobian(g)(x), contad.jacobian(g)(POINT))
    close(contad.vjp(g, x)[1](v)[0], contad.vjp(g, POINT)[1](MATRIX[0])[0])
    close(contad.jvp(g, (x,), (v,))[1], contad.jvp(g, (POINT,), (MATRIX[0],))[1])
    close(twice(x), twice(POINT))


def test_pytrees_and_numbers():
    make, back = library("a fake of CuPy")


    def loss(p, s):
        return np.sum(p["w"] * p["b"][0]) * s

    found, slope = contad.grad(loss, (0, 1))({"w": make(POINT), "b": [make(POINT[::-1])]}, 2.0)
    np.testing.assert_allclose(back(found["w"]), 2.0 * POINT[::-1])
    assert isinstance(slope, float) and slope == pytest.approx(POINT @ POINT[::-1])


def test_rules_of_users():
    @contad.array_rule(linear=("a",))
    def doubled_on_arrays(a):
        return 2.0 * np.flip(a)

    @doubled_on_arrays.vjp("a")
    def doubled_on_arrays_vjp_a(z, z_bar, a):
        return 2.0 * np.flip(z_bar)

    make, back = library("torch")
    found = contad.grad(lambda x: np.sum(doubled_on_arrays(x) * x))(make(POINT))
    np.testing.assert_allclose(back(found), 4.0 * POINT[::-1])


# ---- memory ----------------------------------------------------------------------------------------------------------
def test_a_value_is_dropped_when_its_last_reader_has_run(monkeypatch):
    alive, counts = [], []
    pull = libraries.LibraryForm.pull

    def count(*args):
        found = pull(*args)
        counts.append(sum(r() is not None for r in alive))
        return found

    def f(x):
        z = x
        for _ in range(6):
            z = np.exp(-z)
            alive.append(weakref.ref(z._value))
        return np.sum(z)

    monkeypatch.setattr(libraries.LibraryForm, "pull", count)
    contad.grad(f)(DeviceArray(POINT))
    assert counts[0] >= 6  # all values, before the sweep
    assert counts[-1] == 0
    assert counts == sorted(counts, reverse=True)


# ---- writes ----------------------------------------------------------------------------------------------------------
def written(x):
    y = x * 1.0
    y[1] = x[0] * x[2]
    y[0] *= 2.0
    v = y[1:]
    v[0] = y[2] * 3.0
    y[2:] = x[:1]
    return np.sum(y * y) + v[0] * v[1]


@pytest.mark.parametrize("name", ["array_api_strict", "torch", "a fake of CuPy"])
def test_writes_have_numpys_meaning(name):
    make, back = library(name)
    np.testing.assert_allclose(back(contad.grad(written)(make(POINT))), contad.grad(written)(POINT), rtol=1e-13)
    np.testing.assert_allclose(contad.grad(written, engine="arrays")(POINT), contad.grad(written)(POINT), rtol=1e-13)


@pytest.mark.parametrize("name", ["jax", "sparse"])
def test_writes_to_what_is_immutable_are_refused(name):
    make, _ = library(name)
    with pytest.raises(UnsupportedError, match=r"array_api_extra\.at"):
        contad.grad(written)(make(POINT))


def test_an_unknown_function_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"np\.fft\.fft|transform"):
        contad.grad(lambda x: np.sum(np.abs(np.fft.fft(x))))(library("torch")[0](POINT))
    with pytest.raises(UnsupportedError, match="number by number"):
        contad.grad(lambda x: np.sum(contad.stan.fma(x, x, x)))(library("torch")[0](POINT))
