"""The mirror of scipy.linalg: SciPy's values, derivatives of both orders, counts, what is refused."""

import inspect

import numpy as np
import pytest
import scipy.linalg
from mpmath import mp

import contad
import contad.scipy.linalg as mirror
from contad.errors import LostDerivativeError, UnsupportedError
from contad.ops import _scipy
from tests.judges.array_derivatives import check_orders
from tests.ops.test_linear_algebra import TALL, WIDE, A, S, a, unsigned

B, VECTOR = a(3, 2), a(3)
BAND = np.array([[9.0, 0.6, -0.8, 0.3], [2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 9.0]])  # 9: outside the matrix
HALF = np.array([[9.0, 0.6, 0.8, 0.3], [2.3, 3.1, 2.7, 1.9]])
OTHER = S + np.eye(3) + 0.1 * np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def two(value, other):
    """Both parts of a result as one array."""
    return np.concatenate([np.reshape(value, (-1,)), np.reshape(other, (-1,))])


# name -> (call with the module to use, arguments): every one of them differentiable in all arguments
CASES = {
    "solve": (lambda m, x, y: m.solve(x, y), A, B),
    "solve transposed": (lambda m, x, y: m.solve(x, y, transposed=True), A, VECTOR),
    "solve symmetric": (lambda m, x, y: m.solve(x, y, lower=True, assume_a="sym"), S, B),
    "solve symmetric, upper": (lambda m, x, y: m.solve(x, y, assume_a="sym"), np.triu(S), B),
    "solve positive": (lambda m, x, y: m.solve(x, y, assume_a="pos"), S, VECTOR),
    "solve positive, lower": (lambda m, x, y: m.solve(x, y, lower=True, assume_a="pos"), np.tril(S), B),
    "solve_triangular": (lambda m, x, y: m.solve_triangular(x, y, trans="T", lower=True), A, B),
    "solve_triangular, unit": (lambda m, x, y: m.solve_triangular(x, y, unit_diagonal=True), A, VECTOR),
    "solve_banded": (lambda m, x, y: m.solve_banded((1, 1), x, y), BAND, a(4, 2)),
    "solve_banded, lower only": (lambda m, x, y: m.solve_banded((1, 0), x, y), BAND[1:], a(4)),
    "solve_banded, wide": (lambda m, x, y: m.solve_banded((1, 2), x, y), np.vstack([[0, 0, 0.4, 0.2], BAND]), a(4)),
    "solveh_banded": (lambda m, x, y: m.solveh_banded(x, y), HALF, a(4, 2)),
    "solveh_banded, lower": (lambda m, x, y: m.solveh_banded(x, y, lower=True), HALF[::-1, ::-1].copy(), a(4)),
    "cholesky": (lambda m, x: m.cholesky(x), S),
    "cholesky, lower": (lambda m, x: m.cholesky(x, lower=True), S),
    "cho_factor": (lambda m, x: m.cho_factor(x)[0], S),
    "cho_factor, lower": (lambda m, x: m.cho_factor(x, True)[0], S),
    "cho_solve": (lambda m, x, y: m.cho_solve(m.cho_factor(x), y), S, B),
    "cho_solve, lower": (lambda m, x, y: m.cho_solve(m.cho_factor(x, lower=True), y), S, VECTOR),
    "lu_factor": (lambda m, x: m.lu_factor(x)[0], A[::-1].copy()),
    "lu_solve": (lambda m, x, y: m.lu_solve(m.lu_factor(x), y), A[::-1].copy(), B),
    "lu_solve, transposed": (lambda m, x, y: m.lu_solve(m.lu_factor(x), y, trans=1), A[[1, 2, 0]], VECTOR),
    "lu": (lambda m, x: two(*m.lu(x)[1:]), A[[1, 2, 0]]),
    "lu, permuted": (lambda m, x: m.lu(x, permute_l=True)[0], A[[1, 2, 0]]),
    "qr": (lambda m, x: two(*m.qr(x)), A),
    "qr, economic": (lambda m, x: two(*m.qr(x, mode="economic")), TALL),
    "qr, r": (lambda m, x: m.qr(x, mode="r")[0], TALL),
    "eigh": (lambda m, x: unsigned(m.eigh(x)[1]), S),
    "eigh, upper": (lambda m, x: m.eigh(x, lower=False)[0], S),
    "eigh, two matrices": (lambda m, x, y: unsigned(m.eigh(x, y)[1]), S, OTHER),
    "eigvalsh, two matrices": (lambda m, x, y: m.eigvalsh(x, y), S, OTHER),
    "svd": (lambda m, x: unsigned(m.svd(x, full_matrices=False)[0]), TALL),
    "svdvals": (lambda m, x: m.svdvals(x), WIDE),
    "polar": (lambda m, x: two(*m.polar(x)), TALL),
    "polar, left": (lambda m, x: two(*m.polar(x, "left")), WIDE),
    "inv": (lambda m, x: m.inv(x), A),
    "pinv": (lambda m, x: m.pinv(x), TALL),
    "det": (lambda m, x: m.det(x), A),
    "norm": (lambda m, x: m.norm(x, "nuc"), A),
    "expm": (lambda m, x: m.expm(x), 0.3 * A),
    "expm of a stack": (lambda m, x: m.expm(x), 0.3 * np.stack([A, S])),
    "expm_frechet": (lambda m, x, e: two(*m.expm_frechet(x, e)), 0.3 * A, a(3, 3)),
    "logm": (lambda m, x: m.logm(x), S),
    "sqrtm": (lambda m, x: m.sqrtm(x), S),
    "solve_sylvester": (lambda m, x, y, q: m.solve_sylvester(x, y, q), A, a(2, 2) + 4.0 * np.eye(2), B),
    "solve_continuous_lyapunov": (lambda m, x, q: m.solve_continuous_lyapunov(x, q), A, a(3, 3)),
    "solve_discrete_lyapunov": (lambda m, x, q: m.solve_discrete_lyapunov(x, q), 0.15 * A, a(3, 3)),
    "block_diag": (lambda m, x, y: m.block_diag(x, y), WIDE, a(2)),
    "toeplitz": (lambda m, c, r: m.toeplitz(c, r), a(3), a(4)),
}
by_case = pytest.mark.parametrize("name", CASES)


def case(name):
    call, *args = CASES[name]
    return call, [np.array(x, dtype=float) for x in args]


@by_case
def test_values_and_derivatives_of_both_orders(name):
    call, args = case(name)
    check_orders(lambda *xs: call(mirror, *xs), args)


@by_case
def test_the_values_are_those_of_scipy(name):
    call, args = case(name)
    expected = call(scipy.linalg, *args)
    plain = call(mirror, *args)
    np.testing.assert_array_equal(plain, expected, strict=True)
    value, _ = contad.vjp(lambda *xs: call(mirror, *xs), *args)
    # of two right-hand sides of a vector's equation the sign is free
    np.testing.assert_allclose(np.abs(value), np.abs(expected), rtol=1e-11, atol=1e-13)
    assert np.shape(value) == np.shape(expected)


@by_case
@pytest.mark.parametrize(
    "made", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=-1)[..., ::2]], ids=["F", "strided"]
)
def test_memory_layouts(name, made):
    call, args = case(name)
    gradient = contad.grad(lambda *xs: np.sum(np.sin(call(mirror, *xs))), tuple(range(len(args))))
    given = [made(x) for x in args]
    for x in given:
        x.flags.writeable = False
    for found, expected in zip(gradient(*given), gradient(*args), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_every_name_is_one_of_scipy_and_is_tried():
    assert all(hasattr(scipy.linalg, name) for name in mirror.__all__)
    tried = " ".join(inspect.getsource(inspect.getmodule(case)).split("CASES")[1].split("by_case")[0:1])
    assert [name for name in mirror.__all__ if f"m.{name}(" not in tried] == []


@pytest.mark.parametrize("name", ["cholesky", "eigh", "solve"])
def test_the_triangle_that_is_not_read_has_no_derivative(name):
    spoilt = S + np.triu(np.full((3, 3), 7.0), 1)
    calls = {
        "cholesky": lambda x: np.sum(np.sin(mirror.cholesky(x, lower=True))),
        "eigh": lambda x: np.sum(np.sin(mirror.eigh(x, eigvals_only=True))),
        "solve": lambda x: np.sum(np.sin(mirror.solve(x, B, lower=True, assume_a="pos"))),
    }
    found, expected = contad.grad(calls[name])(spoilt), contad.grad(calls[name])(S)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert np.all(found[np.triu_indices(3, 1)] == 0.0) and np.all(found[np.tril_indices(3)] != 0.0)


# ---- independent references ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_functions_of_matrices_against_mpmath(name):
    at, direction = {"expm": A, "logm": S, "sqrtm": S}[name], a(3, 3, seed=7)
    with mp.workdps(50):
        h = mp.mpf(10) ** -20
        ends = [getattr(mp, name)(mp.matrix(at) + s * h * mp.matrix(direction)) for s in (1, -1)]
        expected = np.array(((ends[0] - ends[1]) / (2 * h)).apply(mp.re).tolist(), dtype=float)
    function = getattr(mirror, name)
    np.testing.assert_allclose(contad.jvp(function, (at,), (direction,))[1], expected, rtol=1e-12, atol=1e-13)
    weights = a(3, 3, seed=8)
    gradient = contad.grad(lambda x: np.sum(weights * function(x)))(at)
    assert np.sum(gradient * direction) == pytest.approx(np.sum(weights * expected), rel=1e-12)


def test_the_exponential_of_a_generator_by_hand():
    def stays(rates):  # a chain of two states: both rates leave one for the other
        out, back = rates
        return mirror.expm(np.array([[-out, out], [back, -back]]))[0, 0]

    out, back = 0.7, 0.4
    total = out + back
    decay = np.exp(-total)
    by_out = -back / total**2 + (1.0 / total - out / total**2) * decay - out / total * decay
    by_back = 1.0 / total - back / total**2 - out / total**2 * decay - out / total * decay
    np.testing.assert_allclose(contad.grad(stays)(np.array([out, back])), [by_out, by_back], rtol=1e-13)


def test_a_long_banded_system_costs_no_square(monkeypatch):
    n = 20_000
    ab = np.stack([np.full(n, -1.0), np.full(n, 2.5), np.full(n, -1.0)])
    b = np.linspace(0.0, 1.0, n)
    value, (ab_bar, b_bar) = contad.value_and_grad(
        lambda ab, b: np.sum(mirror.solve_banded((1, 1), ab, b) ** 2), (0, 1)
    )(ab, b)
    z = scipy.linalg.solve_banded((1, 1), ab, b)
    back = scipy.linalg.solve_banded((1, 1), ab, 2.0 * z)  # a is symmetric
    assert value == pytest.approx(z @ z, rel=1e-12)
    np.testing.assert_allclose(b_bar, back, rtol=1e-10)
    np.testing.assert_allclose(ab_bar[1], -back * z, rtol=1e-10)
    np.testing.assert_allclose(ab_bar[0, 1:], (-back[:-1] * z[1:]), rtol=1e-10)


def test_a_factor_serves_many_solutions(monkeypatch):
    counted = []
    real = np.linalg.cholesky
    monkeypatch.setattr(np.linalg, "cholesky", lambda x: counted.append(x.shape) or real(x))

    def f(x):
        c = mirror.cho_factor(x)
        return np.sum(mirror.cho_solve(c, B)) + mirror.cho_solve(c, VECTOR) @ VECTOR

    contad.grad(f)(S)
    assert counted == [(3, 3)]


def test_where_nothing_is_a_variable_scipy_is_called_with_all_its_arguments():
    expected = scipy.linalg.eigh(S, subset_by_index=[0, 1])
    for found, wanted in zip(mirror.eigh(S, subset_by_index=[0, 1]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert mirror.sqrtm(-np.eye(2)).dtype == complex
    assert np.isnan(mirror.solve(A, [1.0, np.nan, 2.0], check_finite=False)).any()


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: mirror.sqrtm(x - 9.0 * np.eye(3)), UnsupportedError, "sqrtm: a must have no negative"),
        (lambda x: mirror.logm(x - 9.0 * np.eye(3)), UnsupportedError, "logm: a must have no negative"),
        (lambda x: mirror.eigh(x, subset_by_index=[0, 1])[0], UnsupportedError, "eigh: subset_by_index= is not supp"),
        (lambda x: mirror.eigh(x, x, type=2)[0], UnsupportedError, "eigh: type=2"),
        (lambda x: mirror.qr(x, pivoting=True)[0], UnsupportedError, "qr: on variables"),
        (
            lambda x: mirror.lu(x[:2])[1],
            UnsupportedError,
            r"lu: a must be a square matrix on variables, got .*\(2, 3\)",
        ),
        (lambda x: mirror.solve(x, B, assume_a="round"), ValueError, "'round' is not a recognized"),
        (lambda x: mirror.solve(x * np.nan, B), ValueError, "solve: array must not contain infs or NaNs"),
        (lambda x: mirror.polar(x, "up")[0], ValueError, "`side` must be"),
        (lambda x: mirror.cholesky(-x), np.linalg.LinAlgError, "definite"),
        (lambda x: mirror.expm(x[:2]), np.linalg.LinAlgError, "square"),
        (lambda x: mirror.solve(x * 0.0, B), np.linalg.LinAlgError, "ingular"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(S)
    assert contad.grad(lambda x: x * x)(3.0) == 6.0


def test_scipy_comes_with_the_first_use():
    assert "linalg" in dir(contad.scipy) and contad.scipy.linalg is mirror
    assert _scipy.linalg() is scipy.linalg
    with pytest.raises(AttributeError, match=r"no attribute 'fft'; there is contad\.scipy\.linalg"):
        contad.scipy.fft


@pytest.mark.parametrize("name", ["expm", "cho_factor", "solve_triangular", "svd"])
def test_scipys_own_function_is_refused_by_its_name_and_told_of_the_mirror(name):
    more = (VECTOR,) if name == "solve_triangular" else ()
    told = rf"scipy\.linalg\.{name}: SciPy computes with plain numbers, .*contad\.scipy\.linalg has SciPy's names"
    with pytest.raises((LostDerivativeError, UnsupportedError), match=told):
        contad.grad(lambda x: np.sum(getattr(scipy.linalg, name)(x, *more)[0]))(S)
