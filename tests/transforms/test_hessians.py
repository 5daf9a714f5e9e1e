"""Jacobians, Hessians, their products and linear maps: against differences, closed forms and each other."""

import math

import numpy as np
import pytest

import contad
from contad import grad, hessian, hvp, jacfwd, jacobian, jacrev, linearize
from contad.engines import engine_names
from contad.testing.differences import gradient_by_differences

X = np.array([0.7, -1.2, 0.4])
V = np.array([1.0, 2.0, -0.5])


def f(x):
    y = np.zeros_like(x)
    y[1:] = np.tanh(x[:-1]) * x[1:]
    y[0] = x[2]
    return np.sum(np.exp(0.3 * x) * y) + x[1] * x[2] ** 2 + contad.erf(x[0]) * y[1]


def expected_hessian(f, x):
    return gradient_by_differences(lambda v: grad(f)(np.array(v)), list(x)).value


def several(x, s):
    return {"a": np.outer(x, np.sin(x)) * s, "b": [x[0] * s, 2.0]}


# ---- Hessians --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", [None, *engine_names()])
def test_hessian_and_products(engine):
    expected = expected_hessian(f, X)
    np.testing.assert_allclose(hessian(f, engine=engine)(X), expected, rtol=1e-8)
    np.testing.assert_allclose(hvp(f, engine=engine)(X, V), expected @ V, rtol=1e-8)
    assert contad.laplacian(f, engine=engine)(X) == pytest.approx(np.trace(expected), rel=1e-8)


def test_more_numbers_than_fit_in_one_block():
    x = np.linspace(0.3, 1.7, 70)
    weights = np.cos(np.arange(70.0))

    def g(x):
        return np.sum(weights * x) ** 2 + np.sum(x**3)

    expected = 2.0 * np.outer(weights, weights) + np.diag(6.0 * x)
    np.testing.assert_allclose(hessian(g)(x), expected, rtol=1e-12, atol=1e-12)
    assert contad.laplacian(g)(x) == pytest.approx(np.trace(expected), rel=1e-12)
    np.testing.assert_allclose(jacfwd(grad(g))(x), expected, rtol=1e-12, atol=1e-12)


def test_a_product_never_evaluates_more_than_one_direction():
    calls = []

    def g(x):
        calls.append(x.shape)
        return np.sum(x**3)

    x = np.linspace(1.0, 2.0, 500)
    np.testing.assert_allclose(hvp(g)(x, x), 6.0 * x**2)
    assert len(calls) == 1


def test_structures_of_a_hessian():
    def g(p, s):
        return p["a"] ** 2 * p["b"][0] * s + np.sum(p["b"] ** 3) * p["a"]

    p = {"a": 2.0, "b": np.array([0.5, -1.0])}
    found = hessian(g)(p, 3.0)
    assert found["a"]["a"] == pytest.approx(2.0 * 0.5 * 3.0)
    np.testing.assert_allclose(found["a"]["b"], [2.0 * 2.0 * 3.0 + 3.0 * 0.25, 3.0])
    np.testing.assert_allclose(found["b"]["a"], found["a"]["b"])
    np.testing.assert_allclose(found["b"]["b"], np.diag([6.0 * 0.5 * 2.0, 6.0 * -1.0 * 2.0]))
    blocks = hessian(g, argnums=(0, 1))(p, 3.0)
    assert blocks[1][0]["a"] == pytest.approx(2.0 * 2.0 * 0.5) == blocks[0]["a"][1]
    assert blocks[1][1] == 0.0
    assert hessian(lambda x, y: x * x * y, (0, 1))(2.0, 3.0) == ((6.0, 4.0), (4.0, 0.0))
    m = np.array([[0.3, -0.7], [1.1, 0.4]])
    matrix = hessian(lambda a: np.sum(a @ a * a))(m)
    assert matrix.shape == (2, 2, 2, 2)

    def of_vector(v):
        a = v.reshape(2, 2)
        return np.sum(a @ a * a)

    np.testing.assert_allclose(matrix.reshape(4, 4), expected_hessian(of_vector, m.ravel()), rtol=1e-8)
    v = {"a": 1.0, "b": np.array([2.0, -1.0])}
    product = hvp(g)(p, 3.0, v)
    assert product["a"] == pytest.approx(found["a"]["a"] + found["a"]["b"] @ v["b"])
    np.testing.assert_allclose(product["b"], found["b"]["a"] + found["b"]["b"] @ v["b"])
    by_both = hvp(g, argnums=(0, 1))(p, 3.0, (v, 0.0))
    np.testing.assert_allclose(by_both[0]["b"], product["b"])
    assert by_both[1] == pytest.approx(blocks[1][0]["a"] + blocks[1][0]["b"] @ v["b"])


def test_hessian_of_nothing():
    assert hessian(lambda x: np.sum(x**2) + 1.0)(np.zeros(0)).shape == (0, 0)
    assert jacfwd(lambda x: x)(np.zeros(0)).shape == jacrev(lambda x: x)(np.zeros(0)).shape == (0, 0)


def test_derivatives_of_a_hessian():
    """Third derivatives: reverse and forward over forward over reverse."""
    third = gradient_by_differences(lambda v: hessian(f)(np.array(v)), list(X)).value
    np.testing.assert_allclose(jacrev(hessian(f))(X), third, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(jacfwd(hessian(f))(X), third, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(hessian(lambda x: hvp(f)(x, V) @ V)(X).shape, (3, 3))
    np.testing.assert_allclose(grad(lambda x: hvp(f)(x, V) @ V)(X), np.einsum("ijk,i,j", third, V, V), rtol=1e-7)
    m = np.array([[0.3, -0.7, 0.2], [1.1, 0.4, 0.9], [-0.5, 0.6, 1.3]])
    expected = np.einsum("ij,jik", m, third)
    np.testing.assert_allclose(contad.grad_tr_mat_times_hessian(f, X, m), expected, rtol=1e-7)
    np.testing.assert_allclose(grad(contad.laplacian(f))(X), np.einsum("iik", third), rtol=1e-7)
    assert hessian(hessian(lambda x: x**5))(2.0) == pytest.approx(120.0 * 2.0)


def test_the_hessian_over_captured_variables():
    def outer(a):
        return np.sum(hessian(lambda x: a * np.sum(x**3))(X)) + hvp(lambda x: np.sum(x**2) * a * a)(X, V)[1]

    for engine in engine_names():
        assert grad(outer, engine=engine)(1.5) == pytest.approx(6.0 * np.sum(X) + 4.0 * 1.5 * V[1])
    assert contad.derivative(outer)(1.5) == pytest.approx(6.0 * np.sum(X) + 4.0 * 1.5 * V[1])


def test_blocks_on_the_diagonal():
    weights = np.array([0.5, 1.5, -1.0])

    def g(x):
        pairs = x.reshape(3, 2)
        return np.sum(weights * pairs[:, 0] ** 2 * np.sin(pairs[:, 1]))

    x = np.array([0.3, 1.2, -0.7, 0.4, 0.9, -1.1])
    whole = hessian(g)(x)
    expected = np.stack([whole[k : k + 2, k : k + 2] for k in (0, 2, 4)])
    np.testing.assert_allclose(contad.hessian_block_diag(g, 2)(x), expected, rtol=1e-14)
    with pytest.raises(ValueError, match=r"hessian_block_diag: size must divide the length of x, 6, got 4"):
        contad.hessian_block_diag(g, 4)(x)


def test_a_gradient_times_a_vector():
    value, slope = contad.gradient_dot_vector(f, X, V)
    assert (value, slope) == (pytest.approx(f(X)), pytest.approx(grad(f)(X) @ V))


@pytest.mark.parametrize("zero", ["number", "residual"])
@pytest.mark.parametrize("engine", engine_names())
def test_the_hessian_where_the_gradient_is_zero(engine, zero):
    if zero == "number":
        assert hessian(lambda x: (x - 1.0) ** 2, engine=engine)(1.0) == 2.0
        return
    a, x = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]]), np.array([0.7, -0.4])
    b = a @ x
    found = hessian(lambda x: np.sum((a @ x - b) ** 2), engine=engine)(x)
    np.testing.assert_allclose(found, 2.0 * a.T @ a, rtol=1e-14)


# ---- Jacobians -------------------------------------------------------------------------------------------------------
def test_jacobians_by_both_modes():
    for transform in (jacfwd, jacrev, jacobian):
        found = transform(several, (0, 1))(X, 1.3)
        for k in range(3):
            h = np.eye(3)[k] * 1e-6
            wanted = (several(X + h, 1.3)["a"] - several(X - h, 1.3)["a"]) / 2e-6
            np.testing.assert_allclose(found["a"][0][..., k], wanted, atol=1e-8)
        np.testing.assert_allclose(found["a"][1], np.outer(X, np.sin(X)))
        np.testing.assert_allclose(found["b"][0][0], [1.3, 0.0, 0.0])
        assert found["b"][0][1] == pytest.approx(X[0])
        assert found["b"][1][1] == 0.0
        assert type(found["b"][0][1]) is float
        np.testing.assert_array_equal(found["b"][1][0], np.zeros(3))


def test_the_jacobian_takes_the_mode_that_needs_fewer_passes():
    kinds = []

    def g(x):
        kinds.append(x.kind)
        return np.concatenate([x, x * x])

    jacobian(g)(X)
    jacobian(lambda x: g(x)[:2])(X)
    jacobian(g, engine="matrix")(X)
    assert kinds == ["array variable", "array dual", "array variable", "array variable"]


def test_the_jacobian_of_a_rule_without_forward_mode():
    @contad.custom_vjp
    def doubled(x):
        return np.concatenate([x, x])

    doubled.defvjp(lambda x: (np.concatenate([x, x]), None), lambda saved, d: (d[:3] + d[3:],))
    np.testing.assert_array_equal(jacobian(doubled)(X), np.vstack([np.eye(3), np.eye(3)]))


def test_mixed_partials():
    def g(x, y):
        return contad.ops.sin(x * y) * y

    expected = 2.0 * 0.7 * math.cos(0.3 * 0.7) - 0.3 * 0.7**2 * math.sin(0.3 * 0.7)
    for found in (
        grad(grad(g, 0), 1), grad(grad(g, 1), 0), jacfwd(grad(g, 0), 1), jacrev(jacfwd(g, 1), 0),
        contad.derivative(grad(g, 0), 1),
    ):  # fmt: skip
        assert found(0.3, 0.7) == pytest.approx(expected, rel=1e-14)
    assert hessian(g, (0, 1))(0.3, 0.7)[0][1] == pytest.approx(expected, rel=1e-14)


# ---- linear maps -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("engine", engine_names())
def test_linearize(engine):
    calls = []

    def g(x, s):
        calls.append(1)
        return several(x, s)

    value, tangent_map = linearize(g, X, 1.3, engine=engine)
    np.testing.assert_allclose(value["a"], several(X, 1.3)["a"])
    for tangents in ((V, 0.5), (X, -2.0), (V, 0.5)):
        expected = contad.jvp(several, (X, 1.3), tangents)[1]
        found = tangent_map(*tangents)
        np.testing.assert_allclose(found["a"], expected["a"], rtol=1e-14)
        assert found["b"] == pytest.approx(expected["b"])
    assert len(calls) == 1


def test_linearize_at_a_point_of_outer_levels():
    def outer(t):
        _, tangent_map = linearize(lambda x: x**3 * t, t)
        return tangent_map(t)  # 3 t^4

    for d in (contad.derivative, *(lambda f, e=e: grad(f, engine=e) for e in engine_names())):
        assert d(outer)(1.1) == pytest.approx(12.0 * 1.1**3)


def test_pullbacks_repeat():
    value, pullback = contad.vjp(several, X, 1.3)
    bars = [{"a": np.full((3, 3), w), "b": [w, 0.0]} for w in (1.0, -0.5, 1.0)]
    first, second, again = (pullback(b) for b in bars)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_allclose(second[0], -0.5 * first[0])
    assert first[1] == again[1] == pytest.approx(np.sum(several(X, 1.0)["a"]) + X[0])
    assert value["b"][1] == 2.0


def test_make_vjp_and_make_jvp():
    pullback, value = contad.make_vjp(several, 0)(X, s=1.3)
    expected = contad.vjp(several, X, 1.3)[1]
    z_bar = {"a": np.ones((3, 3)), "b": [2.0, 0.0]}
    np.testing.assert_array_equal(pullback(z_bar), expected(z_bar)[0])
    np.testing.assert_allclose(value["a"], several(X, 1.3)["a"])
    both = contad.make_vjp(several, (1, 0))(X, 1.3)[0](z_bar)
    assert both[0] == expected(z_bar)[1]
    tangent_map = contad.make_jvp(several, 1)(X, 1.3)
    np.testing.assert_allclose(tangent_map(2.0)[1]["a"], 2.0 * several(X, 1.0)["a"])
    assert contad.make_jvp(lambda x, y: x * y, (0, 1))(2.0, 3.0)((1.0, 10.0)) == (6.0, 23.0)


# ---- what is refused -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "message"), [
    (lambda: hvp(f)(X), "hvp: f: expected the arguments of the function, then the vector"),
    (lambda: hvp(f)(X, np.ones(2)), r"hvp: f: the vector must have the shape of the argument, \(3,\), got \(2,\)$"),
    (lambda: hvp(f)(X, np.eye(3)), r"got \(3, 3\); for several at once contad.jvp\(contad.grad\(f\), "),
    (lambda: hvp(f)(X, [1.0, 2.0, 3.0]), "hvp: f: the vector must have the structure of the argument"),
    (lambda: hvp(f, (0, 1))(X, 1.0, V), "hvp: f: the vector must be a tuple with one entry for each of 2"),
    (lambda: hessian(lambda x: x * x)(X), "hessian: <lambda> must return one real number"),
    (lambda: hessian("f"), "hessian: f must be callable"),
    (lambda: hessian(f, -1), "hessian: argnums must be an argument's position"),
    (lambda: contad.grad_tr_mat_times_hessian(f, X, np.eye(2)), r"m must have shape \(3, 3\), got shape \(2, 2\)"),
    (lambda: contad.hessian_block_diag(f, 1)(np.eye(2)), r"x must be a vector, got shape \(2, 2\)"),
    (lambda: linearize(f, X)[1](1.0), r"linearize: f: tangents must have the shape of the argument, \(3,\)"),
    (lambda: linearize(f, X)[1](X, X), "linearize: f: tangents must be a tuple with one entry for each of 1"),
    (lambda: jacfwd(f)("x"), "jacfwd: f, argument 0: expected real numbers"),
    (lambda: jacfwd(f)(None), "jacfwd: f, argument 0: expected numbers or arrays to differentiate, got None"),
    (lambda: contad.make_vjp(f, 1)(X), "make_vjp: f: argnums"),
])  # fmt: skip
def test_refusals_are_named(call, message):
    with pytest.raises((contad.ContadError, TypeError, ValueError), match=message):
        call()
