"""Hessians, products with them, Jacobians, forward mode and gradients of gradients of Numba functions: compiled."""

import math
import pickle
import warnings

import numba
import numpy as np
import pytest
import scipy.optimize

import contad
from contad.errors import OutputError, UnsupportedError
from tests.judges.written import numba_functions

X, V = np.array([0.4, -0.7, 1.1, 0.2]), np.array([0.3, 1.0, -0.5, 0.8])


@numba.njit
def rosenbrock(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


@numba.njit
def wave(t, a=2.0):
    return math.sin(a * t) * t


@numba.njit
def mixed(x, p, scale):
    y = np.tanh(x * p[0]) + p[1] * scale
    return np.sum(y * y) * p[2][0]


@numba.njit
def camera(p, q):
    r = np.empty(2)
    r[0] = p[0] * math.sin(q[0]) + p[1] * q[1]
    r[1] = p[2] * math.exp(-q[0] * p[0])
    return r, p[0] * q[1]


def guarded(x):
    try:
        return x[0] * x[0] * x[1] * np.ones(len(x) - 1)[0]  # whose length is not known
    except Exception:
        return 0.0


KNOWN = {"__name__": __name__, "contad": contad, "wave": wave}
F = numba_functions({
    "tangent_of_slope(t, a, t_dot, a_dot)": "contad.jvp(contad.grad(wave), (t, a), (t_dot, a_dot))",
    "other_tangents(t, a, t_dot, a_dot)": (
        "left_out = contad.jvp(contad.grad(wave), (t,), (t_dot,))[1]; "
        "left_out, contad.jvp(contad.value_and_grad(wave, (0, 1)), (t, a), (t_dot, a_dot))"
    ),
    "nothing(x)": "()",
    "text(x)": '"a"',
}, KNOWN)  # fmt: skip


# ---- from Python -----------------------------------------------------------------------------------------------------
def test_hessians_and_products():
    expected = scipy.optimize.rosen_hess(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no Python copy
        np.testing.assert_allclose(contad.hessian(rosenbrock)(X), expected, rtol=1e-13)
        np.testing.assert_allclose(contad.hvp(rosenbrock)(X, V), expected @ V, rtol=1e-13)
        np.testing.assert_allclose(contad.jacobian(contad.grad(rosenbrock))(X), expected, rtol=1e-13)
        value, tangent = contad.jvp(contad.grad(rosenbrock), (X,), (V,))
    np.testing.assert_allclose(value, scipy.optimize.rosen_der(X), rtol=1e-13)
    np.testing.assert_allclose(tangent, expected @ V, rtol=1e-13)
    assert "engine generated" in contad.explain(contad.hvp(rosenbrock), X, V)
    assert "engine generated" in contad.explain(contad.hessian(rosenbrock), X)


def test_several_arguments_of_several_structures():
    args = X, (0.7, 1.3, (2.0,)), 3
    plain = mixed.py_func
    eager = contad.hessian(plain, (0, 1))(*args)
    compiled = contad.hessian(mixed, (0, 1))(*args)
    assert contad.variables.trees.flatten(eager).spec == contad.variables.trees.flatten(compiled).spec
    for a, b in zip(leaves(compiled), leaves(eager), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    v = V, (0.1, -0.4, (0.3,))
    for a, b in zip(
        leaves(contad.hvp(mixed, (0, 1))(*args, v)), leaves(contad.hvp(plain, (0, 1))(*args, v)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [x]


def test_gradients_of_gradients_to_any_order():
    t, a = 0.7, 2.0
    second = 2.0 * a * math.cos(a * t) - a * a * t * math.sin(a * t)
    third = -3.0 * a * a * math.sin(a * t) - a**3 * t * math.cos(a * t)
    f2 = contad.grad(contad.grad(wave))
    assert f2(t, a) == pytest.approx(second, rel=1e-14)
    assert f2(t) == pytest.approx(second, rel=1e-14)
    assert contad.grad(f2)(t, a) == pytest.approx(third, rel=1e-13)
    assert contad.grad(contad.grad(wave, 1))(t, a) == pytest.approx(
        2 * t * math.cos(a * t) - a * t * t * math.sin(a * t)
    )
    assert "engine generated" in contad.explain(contad.grad(f2), t, a)
    assert pickle.loads(pickle.dumps(f2))(t, a) == f2(t, a)
    with pytest.raises(OutputError, match="must return one real number"):
        contad.grad(contad.grad(rosenbrock))(X)


def test_tangents_of_gradients_along_several_arguments():
    t, a, t_dot, a_dot = 0.7, 2.0, 0.3, -1.2
    slope = a * t * math.cos(a * t) + math.sin(a * t)
    by_t = 2.0 * a * math.cos(a * t) - a * a * t * math.sin(a * t)
    by_a = 2.0 * t * math.cos(a * t) - a * t * t * math.sin(a * t)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no Python copy
        found = contad.jvp(contad.grad(wave), (t, a), (t_dot, a_dot))
    assert found == pytest.approx((slope, by_t * t_dot + by_a * a_dot), rel=1e-13)
    assert F.tangent_of_slope(t, a, t_dot, a_dot) == found


@pytest.mark.long  # a sample is above
def test_tangents_of_other_derivatives_inside_njit():
    """What is left out has its default."""
    t, a, t_dot, a_dot = 0.7, 2.0, 0.3, -1.2
    sine, cosine = math.sin(a * t), math.cos(a * t)
    left_out, ((value, slopes), (z_dot, slopes_dot)) = F.other_tangents(t, a, t_dot, a_dot)
    by_t, by_a = 2.0 * a * cosine - a * a * t * sine, 2.0 * t * cosine - a * t * t * sine
    assert left_out == pytest.approx(by_t * t_dot, rel=1e-13)
    assert contad.jvp(contad.grad(wave), (t,), (t_dot,))[1] == left_out
    assert value == pytest.approx(t * sine) and slopes == pytest.approx((a * t * cosine + sine, t * t * cosine))
    assert z_dot == pytest.approx(slopes[0] * t_dot + slopes[1] * a_dot)
    assert slopes_dot == pytest.approx((by_t * t_dot + by_a * a_dot, by_a * t_dot - t**3 * sine * a_dot))


def test_a_function_without_outputs_has_no_jacobian():
    """Compiled Jacobians of nothing were once (), and those of texts an error of NumPy's."""
    for transform in (contad.jacobian, contad.jacfwd, contad.jacrev):
        with pytest.raises(OutputError, match=r"nothing returned \(\), without a number in it"):
            transform(F.nothing)(X)
    with pytest.raises(OutputError, match="text must return one real number, got str"):
        contad.jacobian(F.text)(X)


def test_second_derivatives_without_a_source_are_refused_with_advice_that_helps():
    """No engine has them: neither the tape, nor a Python copy, which a warning would promise."""
    scope = {"njit": numba.njit}
    exec("@njit\ndef unread(x):\n    return x[0] * x[0] * x[1]", scope)
    for transform, args in ((contad.hessian, (X,)), (contad.hvp, (X, V)), (contad.laplacian, (X,))):
        derivative = transform(scope["unread"])
        with pytest.raises(UnsupportedError, match="cannot be read; define it in a file") as told:
            derivative(*args)  # warnings are errors
        assert "tape" not in str(told.value)


def test_a_refusal_of_second_derivatives_names_no_engine_without_any():
    with pytest.warns(UserWarning, match="guarded: .*a Python copy of it answers") as told:
        contad.laplacian(numba.njit(guarded))(X)
    assert 'engine="tape"' not in str(told[0].message)


def test_jacobians():
    p, q = np.array([1.0, 2.0, 3.0]), np.array([0.3, 0.4])
    for transform in (contad.jacobian, contad.jacfwd, contad.jacrev):
        expected = leaves(transform(camera.py_func, (0, 1))(p, q))
        found = leaves(transform(camera, (0, 1))(p, q))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(contad.jacobian(rosenbrock)(X), scipy.optimize.rosen_der(X), rtol=1e-13)


def test_defaults_keywords_and_the_place_of_the_vector():
    product = contad.hvp(wave)
    assert product(0.7, 1.0) == pytest.approx(product(0.7, 2.0, 1.0))
    assert product(0.7, 1.0, a=3.0) == pytest.approx(product(0.7, 3.0, 1.0))
    first = contad.hvp(wave, vector=1)
    assert first(0.7, 1.0, 3.0) == product(0.7, 3.0, 1.0)
    found = scipy.optimize.minimize(
        rosenbrock, X, jac=contad.grad(rosenbrock), hessp=contad.hvp(rosenbrock, vector=1), method="trust-ncg"
    )
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-3)


def test_pickles_and_sources():
    for transform, args in ((contad.hessian, (X,)), (contad.hvp, (X, V)), (contad.jacobian, (X,))):
        made = transform(rosenbrock)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(made))(*args), made(*args))
    text = contad.source(rosenbrock, X, V, of="hvp")
    assert text.startswith('"""The value and Hessian-vector product') and "x_dot[i]" in text and "x_bar_here" in text
    assert "_bar" not in contad.source(rosenbrock, (X,), (V,), of="jvp")
    assert contad.source(contad.hvp(rosenbrock), X, V) == text
    with pytest.raises(ValueError, match="source: of must be one of"):
        contad.source(rosenbrock, X, of="trace")


# ---- errors ----------------------------------------------------------------------------------------------------------
def test_wrong_vectors_and_empty_arguments():
    with pytest.raises(TypeError, match="hvp: rosenbrock: the vector must have the argument's shape"):
        contad.hvp(rosenbrock)(X, V[:2])
    with pytest.raises(TypeError, match="expected the arguments of the function, then the vector"):
        contad.hvp(rosenbrock)(X)
    assert contad.hessian(rosenbrock)(np.empty(0)).shape == (0, 0)


def test_a_refused_function_runs_on_a_python_copy_and_says_so_once():
    f = numba.njit(guarded)
    x = np.array([2.0, 3.0])
    with pytest.warns(UserWarning, match=r"guarded: try/except.*a Python copy of it answers, at Python's speed"):
        np.testing.assert_allclose(contad.hessian(f)(x), [[6.0, 4.0], [4.0, 0.0]])
    np.testing.assert_allclose(contad.hvp(f)(x, x), [24.0, 8.0])
    with pytest.raises(UnsupportedError, match="the tape has first derivatives only"):
        contad.hessian(f, engine="tape")(x)


def test_errors_of_the_function_pass_through():
    @numba.njit
    def root(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return math.sqrt(x[0]) * x[0] / x[1]

    assert contad.hvp(root)(np.array([4.0, 1.0]), np.array([1.0, 0.0]))[0] == pytest.approx(0.375)
    for derivative, given in ((contad.hvp(root), (V[:2],)), (contad.hessian(root), ())):
        with pytest.raises(ValueError, match="negative"):
            derivative(np.array([-1.0, 1.0]), *given)
        with pytest.raises(ZeroDivisionError):
            derivative(np.array([1.0, 0.0]), *given)


# ---- inside njit -----------------------------------------------------------------------------------------------------
product = contad.hvp(rosenbrock)


@numba.njit
def newton(x, steps):
    """Damped by halving the step until the value falls."""
    for _ in range(steps):
        step = np.linalg.solve(contad.hessian(rosenbrock)(x) + 1e-6 * np.eye(len(x)), contad.grad(rosenbrock)(x))
        size = 1.0
        while rosenbrock(x - size * step) > rosenbrock(x) and size > 1e-9:
            size *= 0.5
        x = x - size * step
    return x


@numba.njit
def inside(x, v, p, q):
    return (
        product(x, v), contad.hvp(rosenbrock)(x, v), contad.jacobian(camera, argnums=1)(p, q),
        contad.grad(contad.grad(wave))(p[0], q[0]), contad.jvp(wave, (p[0], q[0]), (1.0, 0.5)),
    )  # fmt: skip


def test_all_of_it_inside_njit():
    np.testing.assert_allclose(newton(X, 40), 1.0, rtol=1e-8)
    p, q = np.array([1.0, 2.0, 3.0]), np.array([0.3, 0.4])
    one, other, jacobian, second, (value, slope) = inside(X, V, p, q)
    np.testing.assert_array_equal(one, product(X, V))
    np.testing.assert_array_equal(other, one)
    np.testing.assert_allclose(jacobian[0], contad.jacobian(camera.py_func, 1)(p, q)[0])
    assert second == contad.grad(contad.grad(wave))(1.0, 0.3)
    assert (value, slope) == contad.jvp(wave, (1.0, 0.3), (1.0, 0.5))


# ---- frozen values ---------------------------------------------------------------------------------------------------
SCALE = 2.0


@numba.njit
def scaled(x):
    return SCALE * x[0] * x[0] * x[1]


def test_a_value_that_has_changed_is_an_error(monkeypatch):
    x = np.array([1.0, 3.0])
    hessian = contad.hessian(scaled)
    np.testing.assert_allclose(hessian(x), [[12.0, 4.0], [4.0, 0.0]])
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    with pytest.raises(contad.errors.FrozenValueError, match="SCALE"):
        hessian(x)
