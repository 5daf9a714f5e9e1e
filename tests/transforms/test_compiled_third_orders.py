"""What is made of second and third derivatives of Numba functions: traces, blocks, derivatives of functions that call
gradients, and steps of algorithms in njit.
"""

import math
import pickle
import warnings

import numba
import numpy as np
import pytest

import contad
from contad.errors import UnsupportedError
from tests.judges.written import numba_functions

X, V = np.array([0.4, -0.7, 1.1, 0.2]), np.array([0.3, 1.0, -0.5, 0.8])
M = np.array([[2.0, 0.3, -0.1, 0.4], [0.2, 1.5, 0.4, -0.6], [0.0, 0.0, 0.0, 0.0], [-0.3, 0.1, 1.8, 0.7]])


@numba.njit
def pairs(x, scale=2.0):
    total = 0.0
    for i in range(0, len(x) - 1, 2):
        total += scale * math.sin(x[i] * x[i + 1] ** 2) + x[i] ** 3
    return total


@numba.njit
def chain(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += math.sin(x[i] * x[i + 1] ** 2) + math.exp(0.3 * x[i]) * x[i + 1]
    return total


def third_by_differences(f, x, m, h=1e-5):
    """The gradient of tr(m H) by differences of the Hessian."""
    hessian = contad.hessian(f)
    return [np.sum(m.T * (hessian(x + h * e) - hessian(x - h * e))) / (2.0 * h) for e in np.eye(len(x))]


# ---- from Python -----------------------------------------------------------------------------------------------------
def test_traces_and_blocks():
    plain, of_pairs = chain.py_func, pairs.py_func
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no Python copy
        assert contad.laplacian(chain)(X) == pytest.approx(np.trace(contad.hessian(plain)(X)), rel=1e-13)
        found = contad.hessian_block_diag(pairs, 2)(X, 3.0)
        np.testing.assert_allclose(found, contad.hessian_block_diag(of_pairs, 2)(X, 3.0), rtol=1e-13)
        third = contad.grad_tr_mat_times_hessian(chain, X, M)
    np.testing.assert_allclose(third, contad.grad_tr_mat_times_hessian(plain, X, M), rtol=1e-12)
    np.testing.assert_allclose(third, third_by_differences(plain, X, M), rtol=1e-8)
    for made in (contad.laplacian(chain), contad.hessian_block_diag(pairs, 2)):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(made))(X), made(X))
        assert "engine generated" in contad.explain(made, X)
    assert "engine generated" in contad.explain(contad.grad_tr_mat_times_hessian, chain, X, M)


@pytest.mark.long
def test_traces_of_several_arguments_and_defaults():
    args, of_pairs = (X, 1.3), pairs.py_func
    expected = contad.laplacian(of_pairs, (0, 1))(*args)
    assert contad.laplacian(pairs, argnums=(0, 1))(*args) == pytest.approx(expected, rel=1e-13)
    expected = contad.grad_tr_mat_times_hessian(of_pairs, X, M)
    np.testing.assert_allclose(contad.grad_tr_mat_times_hessian(pairs, X, M), expected, rtol=1e-12)
    np.testing.assert_allclose(contad.grad_tr_mat_times_hessian(pairs, X, np.asfortranarray(M)), expected, rtol=1e-12)


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match="hessian_block_diag: pairs: size must divide the length of x, got 3"):
        contad.hessian_block_diag(pairs, 3)(X)
    with pytest.raises(ValueError, match="hessian_block_diag: pairs: x must be a vector, got an array of 2 axes"):
        contad.hessian_block_diag(pairs, 2)(M)
    with pytest.raises(ValueError, match=r"m must have shape \(4, 4\), got shape \(2, 2\)"):
        contad.grad_tr_mat_times_hessian(chain, X, np.eye(2))


def test_a_refused_function_runs_on_a_python_copy_and_says_so_once():
    @numba.njit
    def guarded(x):
        try:
            return (x[0] * x[0] * x[1] + x[1] ** 3) * np.ones(len(x) - 1)[0]  # whose length is not known
        except Exception:
            return 0.0

    with pytest.warns(UserWarning, match=r"laplacian: guarded: .*try/except.*a Python copy of it answers"):
        assert contad.laplacian(guarded)(X[:2]) == pytest.approx(2.0 * X[1] + 6.0 * X[1])
    np.testing.assert_allclose(contad.hessian_block_diag(guarded, 2)(X[:2])[0, 0], [2.0 * X[1], 2.0 * X[0]])
    np.testing.assert_allclose(contad.grad_tr_mat_times_hessian(guarded, X[:2], np.eye(2)), [0.0, 8.0])


# ---- inside njit -----------------------------------------------------------------------------------------------------
gradient = contad.grad(chain)


@numba.njit
def inside(x, v, m):
    return (
        contad.laplacian(chain)(x), contad.hessian_block_diag(pairs, 2)(x, 2.0),
        contad.grad_tr_mat_times_hessian(chain, x, m), contad.jvp(contad.grad(chain), (x,), (v,)),
        contad.jacobian(gradient)(x),
    )  # fmt: skip


@pytest.mark.long  # a sample is below
def test_all_of_it_inside_njit():
    trace, blocks, third, (slope, product), matrix = inside(X, V, M)
    assert trace == contad.laplacian(chain)(X)
    np.testing.assert_array_equal(blocks, contad.hessian_block_diag(pairs, 2)(X))
    np.testing.assert_array_equal(third, contad.grad_tr_mat_times_hessian(chain, X, M))
    expected = contad.hessian(chain.py_func)(X)
    np.testing.assert_allclose(slope, contad.grad(chain.py_func)(X), rtol=1e-13)
    np.testing.assert_allclose(product, expected @ V, rtol=1e-12)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-15)


def test_the_tangent_of_a_gradient_inside_njit():
    """It was once that of the function itself."""
    slope, product = F.tangent(X, V)
    np.testing.assert_array_equal(slope, contad.grad(chain)(X))
    np.testing.assert_allclose(product, contad.hvp(chain.py_func)(X, V), rtol=1e-12)


# ---- functions that call gradients -----------------------------------------------------------------------------------
@numba.njit
def wave(t, a):
    return math.sin(a * t) * t


KNOWN = {"__name__": __name__, "np": np, "contad": contad, "chain": chain, "wave": wave}
F = numba_functions({
    "tangent(x, v)": "contad.jvp(contad.grad(chain), (x,), (v,))",
    "along(x, v)": "np.dot(contad.grad(chain)(x), v)",
    "product_along(x, v)": "contad.grad(along)(x, v)",
    "with_count(t, a, n)": "contad.grad(wave)(t, a) * t * n",
    "of_second(t, a)": "contad.grad(contad.grad(wave))(t, a) * t",
}, KNOWN)  # fmt: skip


@numba.njit
def energy(x, p):
    total = 0.0
    for k in range(len(x)):
        total += x[k] ** 2 * p[0] + math.sin(x[k] * p[1]) * x[0]
    return total


@numba.njit
def descent(p, x, n):
    """The energy after steps downhill, of which p are the parameters."""
    for _ in range(n):
        x = x - 0.1 * contad.grad(energy)(x, p)
    return energy(x, p)


@pytest.mark.long  # the guide's page has one like it
def test_the_gradient_along_a_vector_inside_njit():
    np.testing.assert_allclose(F.product_along(X, V), contad.hvp(chain.py_func)(X, V), rtol=1e-12)
    assert contad.engine_name(contad.grad(F.along), args=(X, V)) == "generated"


@pytest.mark.long
def test_functions_that_call_gradients():
    by_both = contad.grad(F.with_count, argnums=(0, 1))
    expected = contad.grad(F.with_count.py_func, argnums=(0, 1))(0.7, 2.0, 3)
    assert by_both(0.7, 2.0, 3) == pytest.approx(expected, rel=1e-13)
    assert contad.engine_name(by_both, args=(0.7, 2.0, 3)) == "generated"
    assert contad.grad(F.of_second)(0.7, 2.0) == pytest.approx(contad.grad(F.of_second.py_func)(0.7, 2.0), rel=1e-13)
    p = np.array([0.7, 1.3])
    found = contad.grad(descent, engine="tape")(p, X, 5)
    expected = [(descent(p + 1e-6 * e, X, 5) - descent(p - 1e-6 * e, X, 5)) / 2e-6 for e in np.eye(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@numba.njit
def by_value_and_gradients(x, p):
    value, (by_x, by_p) = contad.value_and_grad(energy, (0, 1))(x, p)
    return value * value + np.sum(by_x * by_x * x) * by_p[1] + by_p[0]


@numba.njit
def by_products(x, p):
    value, slope = contad.jvp(energy, (x, p), (x * p[0], p * p))
    (by_p,) = contad.grad(energy, argnums=(1,))(x, p)
    product = contad.hvp(energy)(x, p, x * x * p[1])
    return value * slope + np.sum(product * product) * by_p[0]


@numba.njit
def by_derivatives_at_constants(x, p):
    given = np.array([0.3, 0.7])
    value, slope = contad.value_and_grad(energy)(given, p)
    product = contad.hvp(energy)(given, np.array([1.1, 0.4]), x[:2])
    return value * p[0] + np.sum(slope**3) + np.sum(product**3)


@numba.njit
def by_gradients_by_numbers(x, p):
    value, (by_t, by_a) = contad.value_and_grad(wave, (0, 1))(x[0], p[1])
    return value * by_t * by_a * contad.hvp(wave)(x[1], p[0], by_a)


def check_call(f):
    args = X, np.array([0.7, 1.3])
    found = contad.grad(f, argnums=(0, 1), engine="tape")(*args)
    expected = contad.grad(f.py_func, argnums=(0, 1))(*args)
    for n, (x_bar, right) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(x_bar, right, rtol=1e-11)
        for k in range(len(right)):
            up, down = ([np.array(x) for x in args] for _ in range(2))
            up[n][k] += 1e-6
            down[n][k] -= 1e-6
            assert (f(*up) - f(*down)) / 2e-6 == pytest.approx(x_bar[k], rel=1e-6, abs=1e-6)


def test_functions_that_call_values_with_gradients():
    check_call(by_gradients_by_numbers)


@pytest.mark.long
@pytest.mark.parametrize("f", [by_value_and_gradients, by_products, by_derivatives_at_constants])
def test_functions_that_call_other_derivatives(f):
    check_call(f)


def test_calls_that_a_differentiated_function_cannot_make_are_named():
    @numba.njit
    def with_matrix(x, p):
        return contad.hessian(energy)(x, p)[0, 1]

    with pytest.raises(UnsupportedError, match="may call grad, value_and_grad, hvp and jvp of functions whose value"):
        contad.grad(with_matrix, engine="tape")(X, V)


# ---- steps of algorithms ---------------------------------------------------------------------------------------------
@numba.njit
def potential(q):
    """That of a density with tails, and a Hessian that is positive definite everywhere."""
    total = 0.5 * np.sum(q * q)
    for i in range(len(q)):
        total += math.log(1.0 + math.exp(q[i] - 0.5 * q[i - 1])) + 0.1 * q[i] ** 4
    return total


@numba.njit
def force(q, p):
    """dH/dq of the Riemannian energy U + (log det G + p^T G^-1 p) / 2, where G is the Hessian of U."""
    metric = contad.hessian(potential)(q)
    u = np.linalg.solve(metric, p)
    return contad.grad(potential)(q) + 0.5 * contad.grad_tr_mat_times_hessian(
        potential, q, np.linalg.inv(metric) - np.outer(u, u)
    )


@numba.njit
def riemannian_step(q, p, size):
    """Generalised leapfrog (Girolami & Calderhead 2011): implicit halves by fixed points."""
    half = p.copy()
    for _ in range(60):
        half = p - 0.5 * size * force(q, half)
    first = np.linalg.solve(contad.hessian(potential)(q), half)
    moved = q.copy()
    for _ in range(60):
        moved = q + 0.5 * size * (first + np.linalg.solve(contad.hessian(potential)(moved), half))
    return moved, half - 0.5 * size * force(moved, half)


def riemannian_energy(q, p):
    metric = contad.hessian(potential)(q)
    return potential(q) + 0.5 * np.linalg.slogdet(metric)[1] + 0.5 * p @ np.linalg.solve(metric, p)


@pytest.mark.long  # some twenty seconds of compilation
def test_a_step_of_riemannian_sampling_in_njit():
    expected = [(riemannian_energy(X + 1e-5 * e, V) - riemannian_energy(X - 1e-5 * e, V)) / 2e-5 for e in np.eye(4)]
    np.testing.assert_allclose(force(X, V), expected, rtol=1e-8)
    q, p = riemannian_step(X, V, 0.2)
    back, turned = riemannian_step(q, -p, 0.2)
    np.testing.assert_allclose(back, X, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(-turned, V, rtol=1e-12, atol=1e-13)
    errors = [abs(riemannian_energy(*riemannian_step(X, V, h)) - riemannian_energy(X, V)) for h in (0.1, 0.05)]
    assert 7.0 < errors[0] / errors[1] < 12.0  # near 8: a step is of third order, with much of the fourth


@numba.njit
def trust_region(x, radius, steps):
    """Steihaug's conjugate gradients, with products of the Hessian with vectors."""
    for _ in range(steps):
        g = contad.grad(potential)(x)
        step, r = np.zeros(len(x)), g.copy()
        d = -r
        for _ in range(len(x)):
            product = contad.hvp(potential)(x, d)
            curvature = np.dot(d, product)
            size = np.dot(r, r) / curvature
            moved = step + size * d
            if curvature <= 0.0 or np.linalg.norm(moved) >= radius:
                a, b, c = np.dot(d, d), 2.0 * np.dot(step, d), np.dot(step, step) - radius * radius
                step = step + (-b + math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a) * d
                break
            step, following = moved, r + size * product
            d = -following + np.dot(following, following) / np.dot(r, r) * d
            r = following
            if np.linalg.norm(r) < 1e-14:
                break
        model = np.dot(g, step) + 0.5 * np.dot(step, contad.hvp(potential)(x, step))
        ratio = (potential(x + step) - potential(x)) / model if model < 0.0 else 1.0
        radius = 2.0 * radius if ratio > 0.75 else 0.25 * radius if ratio < 0.25 else radius
        if ratio > 0.1:
            x = x + step
    return x


@pytest.mark.long
def test_steps_in_a_trust_region_in_njit():
    x = trust_region(5.0 * X, 0.5, 30)
    assert np.max(np.abs(contad.grad(potential.py_func)(x))) < 1e-12


# ---- steps that are differentiated themselves ------------------------------------------------------------------------
@numba.njit
def after_leapfrog(q, p):
    """Of a leapfrog whose implicit halves are a few iterations."""
    half = p.copy()
    for _ in range(6):
        half = p - 0.1 * force(q, half)
    first = np.linalg.solve(contad.hessian(potential)(q), half)
    moved = q.copy()
    for _ in range(6):
        moved = q + 0.1 * (first + np.linalg.solve(contad.hessian(potential)(moved), half))
    last = half - 0.1 * force(moved, half)
    return np.sum(moved * moved) + np.sum(np.sin(last))


@numba.njit
def after_trust_region(x, weights):
    y = trust_region(5.0 * x, 0.5, 3)
    return np.sum(y * y * weights)


@numba.njit
def after_newton(x, weights):
    y = x - np.linalg.solve(contad.hessian(potential)(x), contad.grad(potential)(x))
    return np.sum(y * y * weights)


@pytest.mark.long  # minutes of compilation
@pytest.mark.parametrize("f", [after_newton, after_trust_region, after_leapfrog], ids=lambda f: f.__name__)
def test_steps_are_differentiated_twice_by_generated_code(f):
    """To the digits of central differences; a Python copy that answered would warn, which is an error here."""
    gradient, product = contad.grad(f), contad.hvp(f)
    size = 1e-5
    expected = [(f(X + size * e, V) - f(X - size * e, V)) / (2.0 * size) for e in np.eye(4)]
    np.testing.assert_allclose(gradient(X, V), expected, rtol=1e-6, atol=1e-8)
    expected = (gradient(X + size * V, V) - gradient(X - size * V, V)) / (2.0 * size)
    np.testing.assert_allclose(product(X, V, V), expected, rtol=1e-5, atol=1e-7 * np.max(np.abs(expected)))
    assert contad.engine_name(gradient, args=(X, V)) == "generated"
    assert contad.engine_name(product, args=(X, V, V)) == "generated"
