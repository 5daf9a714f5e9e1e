"""contad's functions inside of JAX, PyTorch and OpenMDAO, beside gradients by hand."""

import math
import re

import numba
import numpy as np
import pytest

import contad
from contad.errors import OutputError, UnsupportedError, ValueMismatchError
from contad.interop import as_jax, as_openmdao, as_torch
from contad.stan import Model

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


@pytest.mark.parametrize("of", ["numpy", "jax"])
def test_jax_takes_slopes_at_points_of_32_bits(jax, of):
    f = as_jax(hill, 2)
    x, by_hand = np.array([0.3, -0.7], "float32"), slope_of_hill(np.array([0.3, -0.7], "float32").astype(float))
    x = x if of == "numpy" else jax.numpy.asarray(x)
    for differentiate in (jax.grad(f), jax.jit(jax.grad(f)), jax.jacrev(f)):
        found = differentiate(x)
        assert found.dtype == "float32" and found == pytest.approx(by_hand, rel=1e-6)
    assert jax.jacfwd(f)(x) == pytest.approx(by_hand, rel=1e-14)
    value, tangent = jax.jvp(f, (x,), (x,))
    assert value.dtype == tangent.dtype == "float64"
    assert float(value) == hill(np.asarray(x, float)) and float(tangent) == pytest.approx(
        by_hand @ np.asarray(x, float)
    )
    found = jax.vmap(jax.grad(f))(jax.numpy.stack([x, 2 * x]))
    assert np.asarray(found) == pytest.approx(np.array([by_hand, slope_of_hill(np.asarray(2 * x, float))]), rel=1e-6)


@pytest.mark.parametrize("shape", [(1,), (3,), (), (2, 1), (2, 2)])
def test_jax_refuses_other_shapes(jax, shape):
    f = as_jax(hill, 2)
    for call in (f, jax.jit(f), jax.grad(f), jax.jit(jax.grad(f))):
        with pytest.raises(ValueError, match=rf"as_jax: x must have shape \(2,\), got shape {re.escape(str(shape))}"):
            call(np.ones(shape))
    with pytest.raises(ValueError, match=r"as_jax: x must have shape \(2,\), got shape \(3,\)"):
        jax.vmap(f)(np.ones((2, 3)))


def test_jax_refuses_other_functions_and_lengths(jax):
    with pytest.raises(
        UnsupportedError, match=r"as_jax: f must be a function made by numba.njit, or a .*slope_of_hill"
    ):
        as_jax(slope_of_hill, 2)
    with pytest.raises(TypeError, match="as_jax: f must be"):
        as_jax(2.0, 2)
    with pytest.raises(ValueError, match="as_jax: n must be the length of the argument of hill, got None"):
        as_jax(hill)
    with pytest.raises(ValueError, match="as_jax: n must be positive, got 0"):
        as_jax(hill, 0)
    model = Model("real mu;", numba.njit(lambda mu: -0.5 * mu**2))
    assert jax.grad(as_jax(model))(np.array([3.0])) == -3.0
    with pytest.raises(ValueError, match="as_jax: n must be left out for a Model, which knows its dimension, got 1"):
        as_jax(model, 1)


def test_jax_has_first_derivatives_only(jax):
    f, x = as_jax(hill, 2), np.array([0.3, -0.7])
    for second in (jax.hessian(f), jax.jacrev(jax.grad(f)), lambda x: jax.jvp(jax.jit(jax.grad(f)), (x,), (x,))):
        with pytest.raises(UnsupportedError, match="as_jax: the function has first derivatives only"):
            second(x)


def test_jax_must_compute_with_64_bits(jax):
    f = as_jax(hill, 2)
    jax.config.update("jax_enable_x64", False)
    for call in (lambda: as_jax(hill, 2), lambda: f(np.ones(2)), lambda: jax.grad(f)(np.ones(2))):
        with pytest.raises(ValueError, match="as_jax: jax must compute with 64 bits"):
            call()


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
    z = f(x.detach(), y, 3)
    assert z.dtype == x.dtype and z.tolist() == [28.0, 29.0]


def test_torch_gives_the_result_the_type_of_the_first_floats(torch):
    f = as_torch(lambda k, x, y: k * x * y)
    k, x, y = torch.tensor([1, 2]), torch.tensor([1.5, 2.5]), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    for given in (y, y.detach()):
        z = f(k, x, given)
        assert z.dtype == torch.float32 and z.tolist() == [0.75, 2.5]
    f(k, x, y).sum().backward()
    assert y.grad.dtype == torch.float64 and y.grad == 6.5
    assert as_torch(lambda k: 0.5 * k)(k).dtype == torch.float64


@pytest.mark.parametrize("is_active", [True, False])
def test_torch_refuses_several_results(torch, is_active):
    def pair(x):
        return x, 2.0 * x

    for f in (pair, numba.njit(pair)):
        with pytest.raises(OutputError, match="as_torch: pair must return one number or array, got a tuple"):
            as_torch(f)(torch.ones(2, requires_grad=is_active))


def test_torch_checks_a_numba_function(torch):
    f = as_torch(numba.njit(lambda x, y: np.sum(x * y) ** 2))
    x, y = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([1.0, 2.0], [3.0, -0.5]))
    assert torch.autograd.gradcheck(f, (x, y))
    with pytest.raises(UnsupportedError, match="as_torch: the function has first derivatives only"):
        torch.autograd.functional.hessian(lambda x: f(x, y.detach()), x)


# ---- OpenMDAO --------------------------------------------------------------------------------------------------------
@pytest.fixture
def om(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where OpenMDAO makes a folder for each problem
    return pytest.importorskip("openmdao.api", reason="openmdao is not installed")


def run(om, part, **values):
    """A problem of the part alone, run at these values."""
    problem = om.Problem()
    problem.model.add_subsystem("part", part, promotes=["*"])
    problem.setup()
    for name, x in values.items():
        problem.set_val(name, x)
    problem.run_model()
    return problem


@pytest.mark.parametrize("compile", [lambda f: f, numba.njit], ids=["plain", "numba"])
def test_openmdao_has_partials(om, compile):
    f = compile(lambda y, x: (x * y, np.sum(x**2) * math.exp(0.0) * y))
    problem = run(om, as_openmdao(f, "z total", x=np.array([1.0, 2.0, 3.0]), y=2.0), y=-1.5)
    assert problem.get_val("z").tolist() == [-1.5, -3.0, -4.5] and problem.get_val("total") == [-21.0]
    found = problem.compute_totals(of=["z", "total"], wrt=["x", "y"])
    assert np.array_equal(found["z", "x"], -1.5 * np.eye(3)) and found["z", "y"].ravel().tolist() == [1.0, 2.0, 3.0]
    assert found["total", "x"].ravel().tolist() == [-3.0, -6.0, -9.0] and found["total", "y"] == 14.0


@pytest.mark.parametrize("compile", [lambda f: f, numba.njit], ids=["plain", "numba"])
@pytest.mark.parametrize(
    ("f", "partials"),
    [
        (lambda x: np.max(x), [[0.0, 1.0, 0.0]]),
        (lambda x: np.sort(x), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        (lambda x: np.where(x > 2.5, x * x, 3.0), [[0.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.0]]),
    ],
    ids=["max", "sort", "where"],
)
def test_openmdao_has_partials_away_from_the_start(om, compile, f, partials):
    part = as_openmdao(compile(f), "z", x=np.array([1.0, 2.0, 3.0]))
    problem = run(om, part, x=np.array([2.0, 5.0, 1.0]))
    assert problem.compute_totals(of=["z"], wrt=["x"])["z", "x"].tolist() == partials


@pytest.mark.parametrize("compile", [lambda f: f, numba.njit], ids=["plain", "numba"])
def test_openmdao_takes_sparse_partials(om, compile):
    def f(x, y):
        return x[1:] * x[:-1] * y, np.sum(x), y * y

    x = np.arange(1.0, 6.0)
    dense, sparse = (
        run(om, as_openmdao(compile(f), "z total square", sparse=sparse, x=np.ones(5), y=2.0), x=x, y=3.0)
        for sparse in (False, True)
    )
    wanted = {"of": ["z", "total", "square"], "wrt": ["x", "y"]}
    expected, found = dense.compute_totals(**wanted), sparse.compute_totals(**wanted)
    for pair, slopes in expected.items():
        assert np.array_equal(found[pair], slopes), pair
    assert found["z", "x"][1].tolist() == [0.0, 9.0, 6.0, 0.0, 0.0]
    declared = sparse.model.part._declared_partials_patterns
    assert {pair: list(map(len, (part["rows"], part["cols"]))) for pair, part in declared.items()} == {
        ("z", "x"): [8, 8], ("z", "y"): [4, 4], ("total", "x"): [5, 5], ("square", "y"): [1, 1],
    }  # fmt: skip


@pytest.mark.parametrize("compile", [lambda f: f, numba.njit], ids=["plain", "numba"])
def test_openmdao_refuses_partials_outside_the_pattern(om, compile):
    @compile
    def f(x):
        return np.where(x > 2.5, x * x, 3.0)

    starts, other = np.array([1.0, 3.0]), np.array([3.0, 1.0])
    problem = run(om, as_openmdao(f, "z", sparse=True, x=starts))
    assert problem.compute_totals(of=["z"], wrt=["x"])["z", "x"].tolist() == [[0.0, 0.0], [0.0, 6.0]]
    problem.set_val("x", other)
    problem.run_model()
    with pytest.raises(ValueMismatchError, match=r"the pattern misses element \(0, 0\), where the derivative is 6"):
        problem.compute_totals(of=["z"], wrt=["x"])
    both = contad.sparsity(f, starts) + contad.sparsity(f, other)
    problem = run(om, as_openmdao(f, "z", sparse=both, x=starts), x=other)
    assert problem.compute_totals(of=["z"], wrt=["x"])["z", "x"].tolist() == [[6.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="pattern must have a column for each of the 2 numbers"):
        as_openmdao(f, "z", sparse=np.eye(3), x=starts)


@pytest.mark.parametrize("outputs", ["", "z", "z total more"])
def test_openmdao_names_each_result(om, outputs):
    with pytest.raises(
        ValueError, match=rf"as_openmdao: outputs must name the results of pair, 2 in all, got '{outputs}'"
    ):
        as_openmdao(pair, outputs, x=np.ones(2))
    with pytest.raises(ValueError, match="as_openmdao: outputs must name the results of sum, 1 in all, got 'z total'"):
        as_openmdao(np.sum, "z total", a=np.ones(2))


def pair(x):
    return x, np.sum(x)
