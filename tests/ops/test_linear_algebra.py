"""NumPy's linear algebra on array variables: values, derivatives of both orders, identities, degenerate matrices."""

import numba
import numpy as np
import pytest
from mpmath import mp

import contad
from contad.errors import UnsupportedError
from contad.ops import factors, triangular_factors
from contad.ops.factors import Factor
from contad.ops.linear_systems import solve
from contad.ops.triangular_factors import solve_triangular
from contad.rules.numpy_functions import entry_of
from contad.scipy import linalg as scipy_linalg
from contad.testing import expect_ad
from tests.judges.array_derivatives import check_orders
from tests.judges.matrices import STACK, STACKED_S, TALL, WIDE, A, S, a, square, unsigned
from tests.judges.steps_in_python import leave_steps_to_python

DRAW = np.random.default_rng(29)

TENSOR = a(2, 3, 6) + 4.0 * np.eye(6).reshape(2, 3, 6)


# name -> (call, arguments): every one of them differentiable in all arguments
CASES = {
    "solve vector": (np.linalg.solve, A, a(3)),
    "solve matrix": (np.linalg.solve, A, a(3, 2)),
    "solve stack": (np.linalg.solve, STACK, a(3, 2)),
    "solve stack and vector": (np.linalg.solve, STACK, a(3)),
    "solve broadcast": (np.linalg.solve, square(2, 1, 3, 3), a(4, 3, 2)),
    "inv": (np.linalg.inv, A),
    "inv stack": (np.linalg.inv, STACK),
    "det": (np.linalg.det, A),
    "det stack": (np.linalg.det, STACK),
    "det of one": (np.linalg.det, square(1, 1)),
    "det of a singular matrix": (np.linalg.det, np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.5], [0.5, 1.0, -1.0]])),
    "slogdet": (lambda x: np.linalg.slogdet(x)[1], A),
    "slogdet stack": (lambda x: np.linalg.slogdet(x).logabsdet, STACK),
    "cholesky": (np.linalg.cholesky, S),
    "cholesky stack": (np.linalg.cholesky, STACKED_S),
    "cholesky upper": (lambda x: np.linalg.cholesky(x, upper=True), S),
    "eigh values": (lambda x: np.linalg.eigh(x)[0], S),
    "eigh vectors": (lambda x: unsigned(np.linalg.eigh(x).eigenvectors), S),
    "eigh upper": (lambda x: unsigned(np.linalg.eigh(x, "U")[1]), STACKED_S),
    "eigvalsh": (np.linalg.eigvalsh, STACKED_S),
    "eig": (
        lambda x: unsigned(np.linalg.eig(x)[1].real), np.array([[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]]),
    ),
    "eigvals": (lambda a: np.linalg.eigvals(a).real, np.array([[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]])),
    "svd values": (lambda x: np.linalg.svd(x, compute_uv=False), STACK),
    "svd u": (lambda x: unsigned(np.linalg.svd(x, full_matrices=False)[0]), TALL),
    "svd v": (lambda x: unsigned(np.linalg.svd(x, full_matrices=False).Vh.T), WIDE),
    "svd square": (lambda x: unsigned(np.linalg.svd(x).U), STACK),
    "svd hermitian": (lambda x: np.linalg.svd(x, compute_uv=False, hermitian=True), S),
    "svdvals": (np.linalg.svdvals, WIDE),
    "qr q": (lambda x: np.linalg.qr(x)[0], TALL),
    "qr r": (lambda x: np.linalg.qr(x, "r"), STACK),
    "qr wide": (lambda x: np.linalg.qr(x).R, WIDE),
    "qr complete": (lambda x: np.linalg.qr(x, "complete")[0], A),
    "lstsq tall": (lambda x, y: np.linalg.lstsq(x, y)[0], TALL, a(4)),
    "lstsq wide": (lambda x, y: np.linalg.lstsq(x, y)[0], WIDE, a(2, 3)),
    "lstsq square": (lambda x, y: np.linalg.lstsq(x, y, rcond=1e-10)[0], A, a(3)),
    "lstsq residuals": (lambda x, y: np.linalg.lstsq(x, y)[1], TALL, a(4, 2)),
    "lstsq residuals of a vector": (lambda x, y: np.linalg.lstsq(x, y)[1], TALL, a(4)),
    "lstsq singular values": (lambda x: np.linalg.lstsq(x, np.ones(4))[3], TALL),
    "pinv": (np.linalg.pinv, TALL),
    "pinv wide": (lambda x: np.linalg.pinv(x, rtol=1e-9), np.stack([WIDE, a(2, 4, seed=5)])),
    "pinv truncated": (lambda x: np.linalg.pinv(x, rcond=0.7), A),
    "pinv truncated stack": (lambda x: np.linalg.pinv(x, rtol=[0.9, 0.1]), np.stack([WIDE, a(2, 4, seed=5)])),
    "pinv hermitian truncated": (lambda x: np.linalg.pinv(x, rcond=0.5, hermitian=True), S),
    "lstsq truncated": (lambda x, y: np.linalg.lstsq(x, y, rcond=0.7)[0], A, a(3)),
    "pinv hermitian": (lambda x: np.linalg.pinv(x, hermitian=True), S),
    "norm": (np.linalg.norm, a(3)),
    "norm of a matrix": (np.linalg.norm, TALL),
    "norm of all": (np.linalg.norm, a(2, 3, 2)),
    **{
        f"norm {p} along an axis": (lambda x, p=p: np.linalg.norm(x, p, axis=1, keepdims=True), a(3, 4))
        for p in (None, 1, 2, 3.5, 0.5, -2, np.inf, -np.inf)
    },
    **{
        f"norm {p} of matrices": (lambda x, p=p: np.linalg.norm(x, p, axis=(0, 2)), a(3, 2, 4))
        for p in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    },
    "norm of matrices keepdims": (lambda x: np.linalg.norm(x, "nuc", axis=(2, 0), keepdims=True), a(3, 2, 4)),
    "norm of columns keepdims": (lambda x: np.linalg.norm(x, 1, axis=(2, 0), keepdims=True), a(3, 2, 4)),
    "vector_norm": (lambda x: np.linalg.vector_norm(x, axis=(0, 1), ord=3), a(3, 2, 2)),
    "vector_norm of all": (np.linalg.vector_norm, a(3, 2)),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x, ord=2, keepdims=True), a(2, 3, 2)),
    "cond": (np.linalg.cond, A),
    "cond -2": (lambda x: np.linalg.cond(x, -2), TALL),
    "cond 1": (lambda x: np.linalg.cond(x, 1), STACK),
    "cond fro": (lambda x: np.linalg.cond(x, "fro"), A),
    **{f"matrix_power {n}": (lambda x, n=n: np.linalg.matrix_power(x, n), 0.25 * A) for n in (1, 2, 3, 7, -1, -3)},
    "multi_dot": (lambda *xs: np.linalg.multi_dot(xs), a(3, 2), a(2, 4), a(4, 2), a(2, 3)),
    "multi_dot vectors": (lambda *xs: np.linalg.multi_dot(xs), a(3), a(3, 4), a(4, 2), a(2)),
    "multi_dot one vector": (lambda *xs: np.linalg.multi_dot(xs), a(3), a(3, 4), a(4, 2)),
    "multi_dot two": (lambda *xs: np.linalg.multi_dot(xs), a(3, 2), a(2)),
    "tensorsolve": (np.linalg.tensorsolve, TENSOR, a(2, 3)),
    "tensorsolve axes": (lambda x, y: np.linalg.tensorsolve(x, y, axes=(1,)), np.moveaxis(TENSOR, 2, 1), a(2, 3)),
    "tensorinv": (np.linalg.tensorinv, TENSOR),
    "tensorinv 1": (lambda x: np.linalg.tensorinv(x, ind=1), (a(6, 2, 3) + np.eye(6).reshape(6, 2, 3) * 4.0)),
    "cross": (lambda x, y: np.linalg.cross(x, y, axis=0), a(3, 2), a(3, 2, seed=1)),
    "cov": (np.cov, a(3, 5)),
    "cov of one": (np.cov, a(5)),
    "cov with y": (lambda x, y: np.cov(x, y, bias=True), a(2, 5), a(5)),
    "cov in columns": (lambda x: np.cov(x, rowvar=False, ddof=0), a(5, 2)),
    "cov with weights": (lambda x: np.cov(x, fweights=[1, 3, 2, 1], aweights=[0.5, 1.0, 2.0, 0.7]), a(2, 4)),
    "cov with frequencies": (lambda x: np.cov(x, fweights=[1, 3, 2, 1]), a(2, 4)),
    "corrcoef": (lambda x: np.corrcoef(x)[0, 1:], a(3, 5)),
    "polyval": (np.polyval, a(4), a(3)),
    "polyval at a matrix": (np.polyval, a(2), a(3, 2)),
    "vander": (np.vander, a(4)),
    "vander increasing": (lambda x: np.vander(x, 3, increasing=True), a(4)),
    "linspace": (lambda x, y: np.linspace(x, y, 5), np.array(0.3), np.array(2.1)),
    "linspace of arrays": (lambda x, y: np.linspace(x, y, 4, endpoint=False, axis=1), a(3), a(3, seed=1)),
    "linspace with step": (lambda x, y: np.linspace(x, y, 4, retstep=True)[1], a(3), a(3, seed=1)),
    "linspace of one": (lambda x, y: np.linspace(x, y, 1) + y, a(3), a(3, seed=1)),
}  # fmt: skip
LINEAR = {"cross", "linspace", "linspace of arrays", "linspace with step", "linspace of one"}


# ---- values and derivatives ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_numpy(name):
    call, *args = CASES[name]
    expected = call(*args)
    seen = []

    def f(*xs):
        seen.append(contad.value_of(call(*xs)))
        return np.sum(xs[0])

    for engine in (lambda: contad.grad(f)(*args), lambda: contad.jvp(f, tuple(args), tuple(args))):
        engine()
        np.testing.assert_allclose(seen[-1], expected, rtol=1e-12, atol=1e-13)
        assert np.shape(seen[-1]) == np.shape(expected)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_both_orders(name):
    call, *args = CASES[name]
    check_orders(call, args)


LAYOUTS = {
    "in Fortran's order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "of integers": lambda x: np.rint(4.0 * x).astype(np.int64),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "name", ["solve matrix", "inv", "det", "slogdet", "cholesky", "eigh values", "svdvals", "qr r"]
)
def test_memory_layouts(name, layout):
    call, *args = CASES[name]
    given = [LAYOUTS[layout](x) for x in args]
    plain = [np.array(x, dtype=np.float64, order="C") for x in given]
    loss = lambda *xs: np.sum(np.sin(call(*xs)))
    places = tuple(range(len(args)))
    gradients = contad.grad(loss, places)(*given), contad.grad(loss, places)(*plain)
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


# ---- degenerate matrices ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "expected"), [
    (lambda x: np.sum(np.linalg.eigvalsh(x) ** 2), lambda x: 2.0 * x),
    (lambda x: np.sum(np.linalg.eigh(x)[0]), lambda x: np.eye(3)),
    (lambda x: np.sum(np.linalg.svdvals(x) ** 2), lambda x: 2.0 * x),
    (lambda x: np.linalg.norm(x, "nuc"), lambda x: np.eye(3)),
    (lambda x: np.linalg.det(x), lambda x: np.linalg.det(x) * np.linalg.inv(x).T),
])  # fmt: skip
def test_symmetric_functions_of_equal_values_have_derivatives(call, expected):
    for x in (np.eye(3) * 2.0, np.diag([1.5, 3.0, 3.0])):
        np.testing.assert_allclose(contad.grad(call)(x), expected(x), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("call", [
    lambda x: np.sum(np.linalg.eigh(x)[1] ** 3),
    lambda x: np.sum((np.linalg.eigh(x)[1] * np.sqrt(np.linalg.eigh(x)[0])) @ np.linalg.eigh(x)[1].T),
    lambda x: np.sum(np.linalg.svd(x)[0] * np.arange(9.0).reshape(3, 3)),
    lambda x: np.sum(np.linalg.eig(x)[1] ** 3),
])  # fmt: skip
def test_vectors_of_equal_values_have_no_derivative(call):
    """Also functions of them that would have one: that of each vector does not exist, and is never taken for 0."""
    x = np.eye(3) * 2.0
    assert np.isnan(contad.grad(call)(x)).any() and np.isnan(contad.jvp(call, (x,), (np.ones((3, 3)),))[1])


def lower(x):
    """Of a symmetric x what a function that reads the lower triangle gets of it."""
    return np.tril(x) + np.tril(x, -1)


FLAT = np.array([[0.3, -0.7, 0.4], [-0.7, 1.1, 0.6], [0.4, 0.6, -0.9]])  # a direction
TURN = np.linalg.qr(square(3, 3, seed=4))[0]
TIED = [np.eye(3) * 2.0, np.diag([1.5, 3.0, 3.0]), TURN * [2.0, 2.0, 5.0] @ TURN.T, TURN * [2.0, 2.0, 2.0] @ TURN.T]


def along_inverse(x, e):
    inverse = np.linalg.inv(x)
    return -inverse @ e @ inverse


OF_VALUES = [  # with the derivatives of their gradients along e
    (lambda x: np.sum(np.linalg.eigvalsh(x)), lambda x, e: 0.0 * e),
    (lambda x: np.sum((np.linalg.eigvalsh(x) - 2.0) ** 2), lambda x, e: 2.0 * e),
    (lambda x: np.sum(np.log(np.linalg.eigh(x)[0])), along_inverse),
    (lambda x: np.sum(scipy_linalg.eigvalsh(x) ** 3), lambda x, e: 3.0 * (x @ e + e @ x)),
    (lambda x: np.sum(np.linalg.eigvalsh(np.stack([x, 2.0 * x]))[1] ** 2), lambda x, e: 8.0 * e),
]


@pytest.mark.parametrize("x", TIED)
@pytest.mark.parametrize(("call", "expected"), OF_VALUES)
def test_symmetric_functions_of_equal_eigenvalues_have_second_derivatives(call, expected, x):
    x = (x + x.T) / 2.0
    right = lower(expected(x, FLAT))
    size = 1.0 + np.abs(right).max()
    np.testing.assert_allclose(contad.hvp(call)(x, FLAT), right, rtol=1e-9, atol=1e-10 * size)
    gradient, along = contad.jvp(contad.grad(call), (x,), (FLAT,))
    np.testing.assert_allclose(gradient, contad.grad(call)(x), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(along, right, rtol=1e-9, atol=1e-10 * size)
    rows = contad.hessian(call)(x).reshape(9, 9)
    np.testing.assert_allclose(rows @ np.tril(FLAT).ravel(), right.ravel(), rtol=1e-9, atol=1e-10 * size)


def test_a_largest_eigenvalue_beside_equal_ones_has_a_second_derivative():
    x = np.diag([1.0, 1.0, 3.0])
    found = contad.hvp(lambda x: np.linalg.eigvalsh(x)[2])(x, FLAT)
    assert np.sum(found * FLAT) == pytest.approx(FLAT[0, 2] ** 2 + FLAT[1, 2] ** 2, rel=1e-14)
    values = contad.jvp(np.linalg.eigvalsh, (x,), (FLAT,))[1]  # equal ones part by the values of their block
    np.testing.assert_allclose(values, [*np.linalg.eigvalsh(FLAT[:2, :2]), FLAT[2, 2]], rtol=1e-14)


def test_second_derivatives_of_vectors_beside_a_null_space():
    """Of fewer observations than columns: eigenvalues that rounding leaves of 0, and their vectors, have no part."""
    y = a(4, 7, seed=3)

    def f(w):
        v = np.linalg.eigh(np.cov((y * np.exp(w)).T))[1][:, -2:]
        return np.sum((v @ v.T) ** 3)

    w, e = 0.1 * np.arange(7.0), np.array([0.3, -0.7, 0.4, 1.1, -0.2, 0.5, 0.8])
    expected = gradient_along(f, w, e)
    np.testing.assert_allclose(contad.hvp(f)(w, e), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(contad.hessian(f)(w) @ e, expected, rtol=1e-7, atol=1e-8)


def gradient_along(f, x, e, h=1e-5):
    """The derivative of the gradient along e, by differences."""
    above, below = (contad.grad(f)(x + step * e) for step in (h, -h))
    return (above - below) / (2.0 * h)


def along_flat(f):
    return lambda x: contad.hvp(f)(x, FLAT)


def gradient_of_gradient(f):
    return lambda x: contad.grad(lambda y: np.sum(contad.grad(f)(y) * FLAT))(x)


def gradient_of_tangent(f):
    return lambda x: contad.grad(lambda y: contad.jvp(f, (y,), (FLAT,))[1])(x)


@pytest.mark.parametrize("x", TIED)
@pytest.mark.parametrize("way", [along_flat, gradient_of_gradient, gradient_of_tangent])
def test_other_second_derivatives_of_equal_values_are_right_or_nan(way, x):
    """Never another number: also where the first derivative is 0."""
    x = (x + x.T) / 2.0
    low = np.linalg.eigvalsh(x)[1]
    calls = [np.linalg.eigvals] + [np.linalg.eigvalsh, np.linalg.svdvals] * (way is not along_flat)
    for values in calls:
        for f in (lambda w: np.sum((w - low) ** 2), lambda w: np.sum(w**3)):
            of_matrix = lambda x, f=f, values=values: f(values(x))
            found = way(of_matrix)(x)
            if not np.isnan(found).any():
                expected = gradient_along(of_matrix, x, FLAT, h=1e-4)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    uneven = way(lambda x: np.sum(np.array([2.0, -1.0, 0.5]) * np.linalg.eigvalsh(x) ** 2))(x)
    assert np.isnan(uneven).any()


def test_vectors_of_the_singular_value_zero_have_no_derivative():
    x = np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    for k, expected in ((0, 0.0), (1, np.nan)):
        f = lambda x, k=k: np.sum(np.linalg.svd(x, full_matrices=False)[0][:, k] ** 3)
        found = contad.grad(f)(x)
        assert np.all(np.isnan(found)) if np.isnan(expected) else np.all(np.isfinite(found))
    assert np.isnan(contad.grad(lambda x: np.sum(np.linalg.qr(x)[0]))(x)).any()


def test_rank_deficient_least_squares():
    """Of all solutions the shortest, along changes that keep the rank."""
    u, v, y = a(4, 1), a(1, 3), a(4)
    loss = lambda u, v: np.sum(np.sin(np.linalg.lstsq(u @ v, y)[0]))
    by_formula = lambda u, v: np.sum(np.sin(v[0] * (u[:, 0] @ y) / (u[:, 0] @ u[:, 0]) / (v[0] @ v[0])))
    assert loss(u, v) == pytest.approx(by_formula(u, v), rel=1e-13)
    for found, expected in zip(contad.grad(loss, (0, 1))(u, v), contad.grad(by_formula, (0, 1))(u, v), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_gradients_of_determinants_at_any_rank(rank):
    """The matrix of cofactors, by minors."""
    x = a(4, 4)[:, :rank] @ a(4, 4, seed=1)[:rank]
    minor = lambda i, j: np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) * (-1.0) ** (i + j)
    expected = [[minor(i, j) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(contad.grad(np.linalg.det)(x), expected, rtol=1e-12, atol=1e-13)


SINGULAR = {
    "solve": lambda x: np.sum(np.linalg.solve(x, np.ones(2))),
    "inv": lambda x: np.sum(np.linalg.inv(x)),
    "cholesky": lambda x: np.sum(np.linalg.cholesky(x)),
    "power": lambda x: np.sum(np.linalg.matrix_power(x, -2)),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_matrices_raise_as_in_numpy_and_leave_nothing_behind(name):
    x = np.array([[1.0, 2.0], [2.0, 4.0]]) if name != "cholesky" else np.array([[1.0, 2.0], [2.0, 1.0]])
    for call in (lambda: contad.grad(SINGULAR[name])(x), lambda: contad.hessian(SINGULAR[name])(x)):
        with pytest.raises(np.linalg.LinAlgError):
            call()
        assert contad.grad(lambda v: np.sum(v * v))(np.array([1.5])).tolist() == [3.0]


def test_log_determinants_of_singular_matrices_have_no_derivative():
    found = contad.grad(lambda x: np.sum(np.linalg.slogdet(x)[1]))(np.stack([np.ones((2, 2)), np.diag([2.0, -4.0])]))
    np.testing.assert_array_equal(found[0], np.nan)
    np.testing.assert_allclose(found[1], np.diag([0.5, -0.25]), rtol=1e-15)


def test_singular_values_of_infinite_matrices_end_in_an_error():
    x = np.array([[1.0, np.inf], [2.0, 4.0]])
    for call in (np.linalg.svdvals, np.linalg.pinv):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            contad.grad(lambda x, call=call: np.sum(call(x)))(x)


def test_dead_code_never_makes_a_nan():
    def f(x):
        bad = x * np.where(np.arange(8).reshape(2, 2, 2) < 4, np.nan, 1.0)
        with np.errstate(all="ignore"):
            return np.sum(np.linalg.solve(bad, np.ones((2, 1)))[1]) + np.sum(np.linalg.inv(bad)[1])

    x = square(2, 2, 2)
    found = contad.grad(f)(x)
    expected = contad.grad(lambda x: np.sum(np.linalg.solve(x, np.ones((2, 1)))) + np.sum(np.linalg.inv(x)))(x)
    np.testing.assert_array_equal(found[0], 0.0)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)


def test_second_derivatives_of_determinants_of_singular_matrices():
    by_hand = np.zeros((2, 2, 2, 2))
    by_hand[0, 0, 1, 1] = by_hand[1, 1, 0, 0] = 1.0
    by_hand[0, 1, 1, 0] = by_hand[1, 0, 0, 1] = -1.0
    for x in (np.zeros((2, 2)), np.ones((2, 2)), np.eye(2)):
        np.testing.assert_allclose(contad.hessian(np.linalg.det)(x), by_hand, atol=1e-14)
    # of the minors of three rows and columns one element is left
    x = np.diag([2.0, 0.0, 0.0])
    found = contad.hessian(np.linalg.det)(x)
    assert found[1, 1, 2, 2] == pytest.approx(2.0) and found[1, 2, 2, 1] == pytest.approx(-2.0)
    assert np.count_nonzero(np.abs(found) > 1e-14) == 4 and contad.hessian(np.linalg.det)(np.array([[0.0]])) == 0.0


@pytest.mark.parametrize("values", [(2.0, 2.0, 2.0, 0.0), (3.0, 1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)], ids=str)
def test_second_derivatives_of_larger_determinants_at_equal_singular_values(values):
    """They are minors of two rows and columns less, with a sign; here of a diagonal matrix between rotations."""
    n = len(values)
    q, p = (np.linalg.qr(DRAW.standard_normal((n, n)))[0] for _ in range(2))
    by_hand = np.zeros((n, n, n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                rest = np.prod([s for k, s in enumerate(values) if k not in (i, j)])
                by_hand[i, i, j, j], by_hand[i, j, j, i] = rest, -rest
    np.testing.assert_allclose(contad.hessian(np.linalg.det)(np.diag(values)), by_hand, atol=1e-13)
    turned = np.einsum("ijkl,ai,jb,ck,ld->abcd", by_hand, q, p, q, p) * np.linalg.det(q) * np.linalg.det(p)
    np.testing.assert_allclose(contad.hessian(np.linalg.det)(q @ np.diag(values) @ p), turned, atol=1e-13)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
@pytest.mark.parametrize("values", [(2.0, 1.0), (2.0, 2.0), (0.0, 0.0)], ids=str)
def test_third_derivatives_of_determinants_of_low_rank(values, order):
    rng = np.random.default_rng(8)
    u, v, d = rng.normal(size=(3, 4, 4))
    x = (u[:, :2] * values) @ v[:2, order]  # of rank 2, but for rounding
    at = np.linspace(-1.0, 1.0, 9)
    third = 6.0 * np.polynomial.polynomial.polyfit(at, [np.linalg.det(x + t * d) for t in at], 4)[3]
    found = contad.jvp(lambda x: np.sum(contad.hvp(np.linalg.det)(x, d) * d), (x,), (d,))[1]
    assert found == pytest.approx(third, rel=1e-11, abs=1e-11)
    along = contad.grad(lambda x: contad.jvp(lambda y: contad.jvp(np.linalg.det, (y,), (d,))[1], (x,), (d,))[1])
    assert np.sum(along(x) * d) == pytest.approx(third, rel=1e-11, abs=1e-11)


def test_a_determinant_at_equal_singular_values():
    expect_ad(np.linalg.det, np.diag([2.0, 2.0, 2.0, 0.0]))


def test_determinants_beside_matrices_that_are_not_finite():
    stack = np.stack([np.diag([2.0, np.inf, 0.0]), np.diag([2.0, 3.0, 0.0])])
    found = contad.grad(lambda x: np.sum(np.linalg.det(x)))(stack)
    np.testing.assert_array_equal(found[1], np.diag([0.0, 0.0, 6.0]))


# ---- what LAPACK gives instead of q ----------------------------------------------------------------------------------
LONG = [pytest.param(shape, marks=pytest.mark.long) for shape in ((3, 3), (4, 2), (2, 4), (1, 3), (3, 1))]


@pytest.mark.parametrize("shape", [(3, 2), *LONG], ids=str)
def test_reflections(shape):
    x = DRAW.standard_normal(shape)

    def total(x):
        h, tau = np.linalg.qr(x, "raw")
        return np.sum(np.sin(h) * 1.3) + np.sum(tau * 0.7) + np.sum(tau * tau)

    expect_ad(total, x)
    stack = np.stack([x, -2.0 * x])
    for at in (x, stack):
        _, (h, tau) = contad.value_and_grad(lambda x: (np.sum(x), np.linalg.qr(x, "raw")), has_aux=True)(at)[0]
        for found, expected in zip((h, tau), np.linalg.qr(at, "raw"), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-13)


def test_empty_matrices():
    x = np.empty((0, 0))
    for call in (np.linalg.inv, np.linalg.det, np.linalg.cholesky, np.linalg.slogdet, np.linalg.eigvalsh):
        f = lambda x, call=call: np.sum(call(x)[1] if call is np.linalg.slogdet else call(x))
        assert contad.value_and_grad(f)(x)[0] == f(x) and contad.grad(f)(x).shape == (0, 0)


@pytest.mark.parametrize(
    "f",
    [lambda a: 1.0 * np.linalg.det(a), lambda a: np.linalg.slogdet(a)[1], lambda a: np.sum(np.linalg.inv(a))],
)
@pytest.mark.parametrize("make", [lambda f: f, numba.njit], ids=["plain", "njit"])
def test_tangents_of_empty_matrices(f, make):
    f, x = make(f), np.empty((0, 0))
    assert contad.jvp(f, (x,), (x,)) == (f(x), 0.0) and contad.hvp(f)(x, x).shape == (0, 0)
    assert contad.hessian(f)(x).shape == (0, 0, 0, 0)


@pytest.mark.parametrize("ord", [None, 1, -1, 2, -2, "nuc", np.inf])
def test_norms_of_empty_matrices_are_numpys(ord):
    for x in (np.empty((0, 0)), np.empty((3, 0))):
        try:
            expected = np.linalg.norm(x, ord)
        except ValueError:
            with pytest.raises(ValueError):
                contad.grad(lambda x: np.linalg.norm(x, ord))(x)
        else:
            value, gradient = contad.value_and_grad(lambda x: np.linalg.norm(x, ord) + np.sum(x))(x)
            assert value == expected and gradient.shape == x.shape


def test_norms_have_subgradient_zero_at_zero():
    x = np.zeros(3)
    for p in (None, 2, 3, 1.5):
        np.testing.assert_array_equal(contad.grad(lambda v, p=p: np.linalg.norm(v, p))(x), 0.0)
        np.testing.assert_array_equal(
            contad.grad(lambda v, p=p: np.linalg.norm(v, p, axis=1)[0])(np.zeros((2, 2))), 0.0
        )
    np.testing.assert_array_equal(contad.hessian(np.linalg.norm)(x), 0.0)


@pytest.mark.parametrize("ord", [None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (2, 3)])
def test_norms_of_matrices_have_subgradient_zero_at_zero(shape, ord):
    f = lambda x: np.linalg.norm(x, ord)
    x = np.zeros(shape)
    np.testing.assert_array_equal(contad.grad(f)(x), 0.0)
    assert contad.jvp(f, (x,), (np.ones(shape),)) == (0.0, 0.0)
    stack = np.stack([x, np.ones(shape)])
    bars = contad.grad(lambda s: np.sum(np.linalg.norm(s, ord, axis=(1, 2))))(stack)
    np.testing.assert_array_equal(bars[0], 0.0)
    assert np.any(bars[1] != 0.0) or ord == -2
    seconds = contad.hessian(f)(x)  # there is none: 0, as of vectors, or nan
    assert np.all((seconds == 0.0) | np.isnan(seconds))


def test_singular_values_that_are_zero_have_no_part_in_a_norm():
    x = np.diag([3.0, 0.0, 0.0])
    for ord, expected in (("nuc", 1.0), (2, 1.0), (-2, 0.0)):
        bar = contad.grad(lambda x, ord=ord: np.linalg.norm(x, ord))(x)
        np.testing.assert_allclose(bar, np.diag([expected, 0.0, 0.0]), atol=1e-15)


def test_a_recorded_norm_of_a_matrix_has_subgradient_zero_at_zero():
    program = contad.record(lambda x: np.linalg.norm(x, "nuc"), np.eye(3) + 0.1)
    np.testing.assert_array_equal(program.gradient(np.zeros((3, 3))), 0.0)


def test_a_truncated_pseudoinverse_of_equal_singular_values_is_differentiable():
    u, v = (np.linalg.qr(square(3, 3, seed=k))[0] for k in (1, 2))
    x, e = u * [3.0, 3.0, 0.5] @ v.T, a(3, 3)
    found = contad.jvp(lambda x: np.linalg.pinv(x, rcond=0.3), (x,), (e,))[1]
    h = 1e-5
    ends = [np.linalg.pinv(x + s * h * e, rcond=0.3) for s in (1, -1)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * h), rtol=1e-7, atol=1e-9)
    # by hand: moving what is dropped moves nothing, moving a kept value 3 moves 1 / 3
    e = np.outer(u[:, 0], v[:, 0]) + np.outer(u[:, 2], v[:, 2])
    found = contad.jvp(lambda x: np.linalg.pinv(x, rcond=0.3), (x,), (e,))[1]
    np.testing.assert_allclose(found, -np.outer(v[:, 0], u[:, 0]) / 9.0, atol=1e-14)


# ---- which triangle --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", ["cholesky", "eigh"])
def test_the_triangle_that_is_read_has_the_derivative(name, upper):
    def f(x):
        z = np.linalg.cholesky(x, upper=upper) if name == "cholesky" else np.linalg.eigvalsh(x, "U" if upper else "L")
        return np.sum(np.sin(z))

    found = contad.grad(f)(S)
    other = np.tril(found, -1) if upper else np.triu(found, 1)
    np.testing.assert_array_equal(other, 0.0)
    junk = S + (np.tril if upper else np.triu)(a(3, 3), -1 if upper else 1)
    np.testing.assert_allclose(contad.grad(f)(junk), found, rtol=1e-14)


# ---- precision -------------------------------------------------------------------------------------------------------
def test_the_gradient_of_a_log_density_against_many_digits():
    n, y = 8, a(8)
    t = np.linspace(0.0, 2.0, n)

    def loss(theta):
        d = np.reshape(t, (-1, 1)) - np.reshape(t, (1, -1))
        k = np.exp(theta[0]) * np.exp(-0.5 * d * d * np.exp(-2.0 * theta[1])) + np.exp(theta[2]) * np.eye(n)
        return -0.5 * (y @ np.linalg.solve(k, y)) - 0.5 * np.linalg.slogdet(k)[1]

    theta = np.array([0.3, -0.4, -1.2])
    with mp.workdps(50):
        v = mp.matrix([mp.mpf(x) for x in y])

        def exact(*p):
            def covariance(i, j):
                d = mp.mpf(t[i] - t[j])
                return mp.exp(p[0]) * mp.exp(-d * d / 2 * mp.exp(-2 * p[1])) + (mp.exp(p[2]) if i == j else 0)

            k = mp.matrix([[covariance(i, j) for j in range(n)] for i in range(n)])
            return -(v.T * mp.lu_solve(k, v))[0] / 2 - mp.log(mp.det(k)) / 2

        orders = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
        expected = [float(mp.diff(exact, tuple(map(mp.mpf, theta)), order)) for order in orders]
    np.testing.assert_allclose(contad.grad(loss)(theta), expected, rtol=1e-12)


# ---- factors are computed once ---------------------------------------------------------------------------------------
@pytest.fixture
def counted(monkeypatch):
    made = []

    class Counted(Factor):
        __slots__ = ()

        def __init__(self, matrix):
            made.append(matrix.shape)
            super().__init__(matrix)

    monkeypatch.setattr(factors, "Factor", Counted)
    leave_steps_to_python(monkeypatch)  # what is counted are calls from Python
    return made


def test_one_factorisation_serves_solve_det_and_the_sweep(counted):
    f = lambda x: np.sum(np.linalg.solve(x, np.ones(3))) + np.linalg.slogdet(x)[1] + np.sum(np.linalg.solve(x, x[0]))
    contad.grad(f)(A)
    assert counted == [(3, 3)]
    contad.hessian(f)(A)
    assert counted == [(3, 3)] * 2


@pytest.mark.parametrize("transposed", [False, True])
def test_both_cotangents_of_a_system_share_one_solution(monkeypatch, transposed):
    leave_steps_to_python(monkeypatch)  # what is counted are calls from Python
    counted = []
    of_factor, of_triangle = Factor.solve, factors.triangular_solution
    monkeypatch.setattr(Factor, "solve", lambda self, b, t: counted.append(t) or of_factor(self, b, t))
    contad.grad(lambda x, y: np.sum(solve(x, y, transposed=transposed)), (0, 1))(A, a(3, 2))
    assert counted == [transposed, not transposed]
    counted.clear()
    counting = lambda *args, **options: counted.append(1) or of_triangle(*args, **options)
    monkeypatch.setattr(triangular_factors, "triangular_solution", counting)
    contad.grad(lambda x, y: np.sum(solve_triangular(x, y, transposed=transposed)), (0, 1))(A, a(3, 2))
    assert len(counted) == 2


def test_the_gradient_of_a_determinant_inverts_once(monkeypatch):
    leave_steps_to_python(monkeypatch)  # what is counted are calls from Python
    counted, real = [], np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda x: counted.append(x.shape) or real(x))
    contad.grad(np.linalg.det)(A)
    assert counted == [(3, 3)]


@pytest.mark.parametrize("n", [3, 4, 6])
@pytest.mark.parametrize("smallest", [1e-4, 1e-6, 3e-8])
def test_higher_derivatives_of_determinants_keep_their_digits(n, smallest):
    rng = np.random.default_rng(n)
    (u, v), d = np.linalg.qr(rng.normal(size=(2, n, n)))[0], rng.normal(size=(n, n))
    x = (u * [*np.linspace(1.0, 2.0, n - 1), smallest]) @ v
    with mp.workdps(60):
        h = mp.mpf(10) ** -15
        at = {k: mp.det(mp.matrix(x.tolist()) + k * h * mp.matrix(d.tolist())) for k in range(-2, 3)}
        second = float((at[1] - 2 * at[0] + at[-1]) / h**2)
        third = float((at[2] - 2 * at[1] + 2 * at[-1] - at[-2]) / 2 / h**3)
    assert np.sum(contad.hvp(np.linalg.det)(x, d) * d) == pytest.approx(second, rel=1e-12)
    found = contad.jvp(lambda x: np.sum(contad.hvp(np.linalg.det)(x, d) * d), (x,), (d,))[1]
    assert found == pytest.approx(third, rel=1e-11)


def test_another_matrix_has_a_factor_of_its_own(counted):
    def f(x):
        y = np.linalg.solve(x, np.ones(3))
        x[1, 1] = x[0, 0] * 2.0
        return np.sum(np.linalg.solve(x, y))

    found = contad.grad(f)(A)
    assert len(counted) == 2

    def of_two(x):
        changed = np.concatenate([x[:1], np.stack([np.stack([x[1, 0], 2.0 * x[0, 0], x[1, 2]])]), x[2:]])
        return np.sum(np.linalg.inv(changed) @ (np.linalg.inv(x) @ np.ones(3)))

    np.testing.assert_allclose(found, contad.grad(of_two)(A), rtol=1e-12)


def test_factors_die_with_their_recording(counted):
    contad.grad(lambda x: np.sum(np.linalg.solve(x, np.ones(3))))(A)
    assert factors.known_factor(A) is None


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "x", "error", "message"), [
    (np.linalg.svd, TALL, UnsupportedError, "pass full_matrices=False"),
    (lambda x: np.linalg.qr(x, "complete"), TALL, UnsupportedError, "mode='complete' has no derivative"),
    (lambda x: np.linalg.qr(x, "full"), A, UnsupportedError, "mode='full'"),
    (np.linalg.inv, TALL, np.linalg.LinAlgError, r"inv: .* must be square, got shape \(4, 2\)"),
    (lambda x: [np.linalg.det(x)], TALL, np.linalg.LinAlgError, "det: .* must be square, got shape"),
    (lambda x: np.linalg.solve(x, np.ones(2)), A, ValueError, r"a has shape \(3, 3\), b \(2,\): their lengths"),
    (lambda x: np.linalg.solve(A, x), TALL, ValueError, r"a has shape \(3, 3\), b \(4, 2\): their lengths"),
    (np.linalg.slogdet, TALL, np.linalg.LinAlgError, "must be square, got shape"),
    (np.linalg.eigh, TALL, np.linalg.LinAlgError, "square"),
    (np.linalg.cholesky, TALL, np.linalg.LinAlgError, "cholesky: .* must be square, got shape"),
    (lambda x: np.linalg.eigh(x, "M"), A, ValueError, "UPLO"),
    (lambda x: np.linalg.norm(x, 7), A, ValueError, "Invalid norm order 7 for matrices"),
    (lambda x: np.linalg.norm(x, "fro"), a(3), ValueError, "Invalid norm order 'fro' for vectors"),
    (lambda x: np.linalg.norm(x, x[0]), a(3), UnsupportedError, "ord must be a constant"),
    (lambda x: np.linalg.norm(x, 2), a(2, 2, 2), ValueError, "Improper number of dimensions"),
    (lambda x: np.linalg.multi_dot([x]), A, ValueError, "expected two or more"),
    (lambda x: np.linalg.lstsq(x, np.ones(3)), TALL, np.linalg.LinAlgError, "as many rows"),
    (lambda x: np.linalg.tensorinv(x, 0), A, ValueError, "ind must be positive"),
    (lambda x: np.cov(x, fweights=x[0]), a(2, 3), UnsupportedError, "fweights must be constants"),
    (lambda x: np.cov(x, aweights=[]), a(2, 0), ZeroDivisionError, "Weights sum to zero"),
    (lambda x: np.cov(x, fweights=[1, 2]), a(2, 1), RuntimeError, "incompatible numbers of samples and fweights"),
    (lambda x: np.cov(x, fweights=[1, -2]), a(2, 2), ValueError, "fweights cannot be negative"),
    (lambda x: np.linalg.matrix_norm(x, ord=1), a(3), ValueError, "axis -2 is out of bounds"),
    (lambda x: np.linalg.matrix_norm(x), 2.0, ValueError, "axis -2 is out of bounds"),
])  # fmt: skip
def test_refusals(call, x, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda v: np.sum(call(v)[0]))(x)


@pytest.mark.parametrize("weights", [{"aweights": []}, {"fweights": [1, 2]}], ids=str)
def test_weights_of_no_variables_are_not_looked_at(weights):
    x = np.zeros((0, 3))
    assert np.cov(x, **weights).shape == contad.jvp(lambda x: np.cov(x, **weights), (x,), (x,))[0].shape == (0, 0)


def test_ranks_and_signs_are_constants():
    kept = []

    def f(x):
        kept.append((np.linalg.matrix_rank(x), np.linalg.slogdet(x).sign, np.linalg.lstsq(x, np.ones(3))[2]))
        return np.sum(x)

    contad.grad(f)(A)
    assert kept == [(3, np.linalg.slogdet(A)[0], 3)]


@pytest.mark.parametrize("name", ["solve vector", "inv", "det", "cholesky", "eigh values", "svdvals", "qr r", "norm"])
def test_recorded_programs_run_at_other_inputs(name):
    call, *args = CASES[name]
    f = lambda *xs: np.sum(np.sin(call(*xs)))
    program = contad.record(f, *args)
    moved = [1.1 * x for x in args]
    assert program(*moved) == pytest.approx(f(*moved), rel=1e-12)
    found = program.grad(*moved) if hasattr(program, "grad") else contad.grad(program)(*moved)
    expected = contad.grad(f)(*moved)
    np.testing.assert_allclose(found[0] if isinstance(found, tuple) else found, expected, rtol=1e-11)


def test_every_function_of_linear_algebra_is_there():
    missing = [
        name
        for name in dir(np.linalg)
        if not name.startswith("_") and callable(getattr(np.linalg, name)) and name not in ("LinAlgError", "test")
        and entry_of(getattr(np.linalg, name)) is None
    ]  # fmt: skip
    assert missing == []


@pytest.mark.parametrize("options", [{"ddof": 4}, {"ddof": 7}, {"aweights": [1.0, 2.0, 3.0, 4.0], "ddof": 9}], ids=str)
def test_covariances_without_degrees_of_freedom_are_numpys(options):
    x = a(2, 4)
    with pytest.warns(RuntimeWarning):
        expected = np.cov(x, **options)
    with pytest.warns(RuntimeWarning):
        value, gradient = contad.value_and_grad(lambda x: np.cov(x, **options)[0, 1])(x)
    assert np.isinf(expected[0, 1]) and value == expected[0, 1] and not np.isfinite(gradient).any()


def test_covariances_of_one_sample_are_nan():
    with pytest.warns(RuntimeWarning):
        assert np.isnan(contad.value_and_grad(lambda x: np.cov(x)[0, 1])(a(2, 1))[0])


@pytest.mark.parametrize("n", [65, 128, 150])
def test_the_cotangent_by_blocks_is_that_of_the_whole_factor(n, monkeypatch):
    """Also where rows of a block are few, and with derivatives of outer levels, which the whole formula gives."""
    draw = np.random.default_rng(n)
    a, z_bar = draw.normal(size=(n, n)), np.tril(draw.normal(size=(n, n)))
    z = np.linalg.cholesky(a @ a.T + n * np.eye(n))
    found = triangular_factors.pull_factor(z, z_bar)
    monkeypatch.setattr(triangular_factors, "MATRIX_BLOCK", n)
    whole = triangular_factors.pull_factor(z, z_bar)
    np.testing.assert_allclose(found, whole, rtol=1e-11, atol=1e-13 * np.max(np.abs(whole)))
    assert not np.any(np.triu(found, 1))


def test_second_derivatives_of_a_factor_of_many_rows():
    draw = np.random.default_rng(5)
    a, weights, along = draw.normal(size=(70, 70)), draw.normal(size=(70, 70)), draw.normal(size=(70, 70))
    a = a @ a.T + 70.0 * np.eye(70)
    f = lambda x: np.sum(weights * np.linalg.cholesky(x))
    found = contad.jvp(contad.grad(f), (a,), (along,))[1]
    change = (contad.grad(f)(a + 1e-4 * along) - contad.grad(f)(a - 1e-4 * along)) / 2e-4
    np.testing.assert_allclose(found, change, rtol=1e-5, atol=1e-6 * np.max(np.abs(change)))
