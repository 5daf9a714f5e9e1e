"""contad's functions inside of JAX, PyTorch and OpenMDAO, beside gradients by hand."""

import math

import numba
import numpy as np
import pytest

from contad.errors import UnsupportedError
from contad.interop import as_jax, as_openmdao, as_torch

pytestmark = pytest.mark.adapters


@numba.njit
def hill(x):
    if x[0] > 5.0:
        raise ValueError("x is too large")
    return -0.5 * np.sum(x * x) + math.sin(x[0]) * x[1]


def slope_of_hill(x):
    return np.array([-x[0] + math.cos(x[0]) * x[1], -x[1] + math.sin(x[0])])


# ---- JAX -------------------------------------------------------------------------------------------------------------
@pytest.fixture
def jax():
    found = pytest.importorskip("jax", reason="jax is not installed")
    found.config.update("jax_enable_x64", True)
    return found


def test_jax_takes_values_and_slopes(jax):
    f = as_jax(hill, 2)
    points = np.array([[0.3, -0.7], [1.2, 0.4]])
    for x in points:
        assert float(f(x)) == hill(x)
        assert jax.grad(f)(x) == pytest.approx(slope_of_hill(x), rel=1e-14)
        _, tangent = jax.jvp(f, (x,), (np.array([2.0, 3.0]),))
        assert float(tangent) == pytest.approx(slope_of_hill(x) @ [2.0, 3.0])
    found = jax.jit(jax.vmap(jax.grad(f)))(points)
    assert found == pytest.approx(np.array([slope_of_hill(x) for x in points]), rel=1e-14)


def test_jax_uses_f_twice_and_in_a_loop(jax):
    f = as_jax(hill, 2)
    x = jax.numpy.array([0.3, -0.7])
    assert jax.grad(lambda x: f(x) * f(2.0 * x))(x) == pytest.approx(
        slope_of_hill(x) * hill(np.array(2.0 * x)) + 2.0 * hill(np.array(x)) * slope_of_hill(2.0 * x), rel=1e-13
    )
    climbed = jax.lax.fori_loop(0, 50, lambda _, x: x + 0.1 * jax.grad(f)(x), x)
    by_hand = np.array(x)
    for _ in range(50):
        by_hand += 0.1 * slope_of_hill(by_hand)
    assert np.asarray(climbed) == pytest.approx(by_hand, rel=1e-12)


def test_an_exception_is_nan_in_jax(jax):
    value, slope = jax.value_and_grad(as_jax(hill, 2))(np.array([9.0, 0.0]))
    assert np.isnan(value) and np.isnan(slope).all()


def test_jax_must_compute_with_64_bits(jax):
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(ValueError, match="as_jax: jax must compute with 64 bits"):
        as_jax(hill, 2)


# ---- PyTorch ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_torch_takes_arrays_and_their_slopes(torch, kind):
    f = as_torch(lambda x, y, power: np.sum(x**power) * y + x)
    x = torch.tensor([1.0, 2.0], dtype=getattr(torch, kind), requires_grad=True)
    y = torch.tensor(3.0, dtype=getattr(torch, kind))
    z = f(x, y, 3)
    assert z.dtype == x.dtype and z.tolist() == [28.0, 29.0]
    (z * torch.tensor([1.0, 2.0], dtype=x.dtype)).sum().backward()
    assert x.grad.dtype == x.dtype and x.grad.tolist() == [28.0, 110.0]
    assert f(x.detach(), y, 3).tolist() == [28.0, 29.0]


def test_torch_checks_a_numba_function(torch):
    f = as_torch(numba.njit(lambda x, y: np.sum(x * y) ** 2))
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, -0.5]))
    assert torch.autograd.gradcheck(f, (x, y))
    with pytest.raises(UnsupportedError, match="as_torch: the function has first derivatives only"):
        torch.autograd.functional.hessian(lambda x: f(x, y.detach()), x)


# ---- OpenMDAO --------------------------------------------------------------------------------------------------------
def test_openmdao_has_partials_and_their_pattern():
    om = pytest.importorskip("openmdao.api", reason="openmdao is not installed")
    part = as_openmdao(lambda x, y: (x * y, np.sum(x**2) * y), "z total", x=np.array([1.0, 2.0, 3.0]), y=2.0)
    problem = om.Problem()
    problem.model.add_subsystem("part", part, promotes=["*"])
    problem.setup()
    problem.set_val("y", -1.5)
    problem.run_model()
    assert problem.get_val("z").tolist() == [-1.5, -3.0, -4.5] and problem.get_val("total") == [-21.0]
    found = problem.compute_totals(of=["z", "total"], wrt=["x", "y"])
    assert np.array_equal(found["z", "x"], -1.5 * np.eye(3)) and found["z", "y"].ravel().tolist() == [1.0, 2.0, 3.0]
    assert found["total", "x"].ravel().tolist() == [-3.0, -6.0, -9.0] and found["total", "y"] == 14.0
    declared = part._subjacs_info["part.z", "part.x"]
    assert len(declared["rows"]) == 3
