"""The mirror of scipy.linalg: SciPy's values, derivatives of both orders, counts, what is refused."""

import inspect
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from mpmath import mp

import contad
import contad.scipy.linalg as mirror
from contad.engines.matrix.matrix_stack import MatrixStack
from contad.errors import LostDerivativeError, UnsupportedError
from contad.ops import _scipy, factors, tridiagonal_spectra
from contad.testing import expect_ad
from contad.variables.stack import opened
from tests.judges.array_derivatives import check_orders
from tests.judges.matrices import TALL, WIDE, A, S, a, square, unsigned
from tests.judges.steps_in_python import leave_steps_to_python

B, VECTOR = a(3, 2), a(3)
BAND = np.array([[9.0, 0.6, -0.8, 0.3], [2.3, 3.1, 2.7, 1.9], [0.4, -0.5, 0.7, 9.0]])  # 9: outside the matrix
HALF = np.array([[9.0, 0.6, 0.8, 0.3], [2.3, 3.1, 2.7, 1.9]])
OTHER = S + np.eye(3) + 0.1 * np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


FIRST = np.array([5.0, 0.0, 0.0, 0.0])
DIAGONAL, BESIDE = np.array([3.5, 4.7, 1.2, 3.1]), np.array([0.7, 0.4, -0.9])
REAL = np.array([[4.3, 0.6, -0.8], [0.2, 1.9, 0.5], [-0.4, 0.9, 2.9]])  # whose eigenvalues are real
TURNING = REAL @ np.array([[0.0, -1.0, 0.3], [1.0, 0.2, 0.0], [0.0, 0.1, 1.4]])  # two of whose are not
NEAR = a(4, 2) @ np.array([[1.2, 0.3], [-0.4, 0.9]]) + 0.2 * a(4, 2, seed=5) * [1.0, 6.0]


def two(value, other):
    """Both parts of a result as one array."""
    return np.concatenate([np.reshape(value, (-1,)), np.reshape(other, (-1,))])


def alone(factor):
    """A result of which SciPy makes a tuple from 1.18 on."""
    return factor[0] if isinstance(factor, tuple) else factor


def with_values(w, v):
    """Eigenvalues and their vectors, as one array."""
    return two(w, unsigned(v))


# name -> (call with the module to use, arguments): every one of them differentiable in all arguments
CASES = {
    "solve": (lambda m, x, y: m.solve(x, y), A, B),
    "solve transposed": (lambda m, x, y: m.solve(x, y, transposed=True), A, VECTOR),
    "solve symmetric": (lambda m, x, y: m.solve(x, y, lower=True, assume_a="sym"), S, B),
    "solve symmetric, upper": (lambda m, x, y: m.solve(x, y, assume_a="sym"), np.triu(S), B),
    "solve positive": (lambda m, x, y: m.solve(x, y, assume_a="pos"), S, VECTOR),
    "solve positive, lower": (lambda m, x, y: m.solve(x, y, lower=True, assume_a="pos"), np.tril(S), B),
    "solve_banded, rows": (lambda m, x, y: m.solve_banded((1, 1), [x[0], x[1], x[2]], y), BAND, a(4)),
    "solve_triangular": (lambda m, x, y: m.solve_triangular(x, y, trans="T", lower=True), A, B),
    "solve_triangular, not transposed": (lambda m, x, y: m.solve_triangular(x, y, trans="N"), A, VECTOR),
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
    "lu, a stack": (lambda m, x: two(*m.lu(x)[1:]), np.stack([A, A[[1, 2, 0]]])),
    "lu, a stack, permuted": (lambda m, x: m.lu(x, permute_l=True)[0], np.stack([A, A[[1, 2, 0]]])[:, None]),
    "qr, a stack": (lambda m, x: two(*m.qr(x, mode="economic")), np.stack([TALL, TALL[::-1]])),
    "qr, a stack, r": (lambda m, x: alone(m.qr(x, mode="r")), np.stack([TALL, TALL[::-1]])),
    "eigh, some": (lambda m, x: with_values(*m.eigh(x, subset_by_index=[1, 2])), S),
    "eigh, some of two matrices": (lambda m, x, y: with_values(*m.eigh(x, y, subset_by_index=(0, 1))), S, OTHER),
    "eigvalsh, some": (lambda m, x: m.eigvalsh(x, subset_by_index=[1, 1]), S),
    "pinv with its rank": (lambda m, x: np.multiply(*m.pinv(x, return_rank=True)), TALL),
    "solveh_banded, wide": (lambda m, x, y: m.solveh_banded(x, y), np.vstack([[9, 9, 0.4, 0.2], HALF]), a(4)),
    "lu, tall": (lambda m, x: two(*m.lu(x)[1:]), A[[1, 2, 0], :2]),
    "lu, wide": (lambda m, x: two(*m.lu(x)[1:]), A[[1, 2]]),
    "lu_factor, tall": (lambda m, x: m.lu_factor(x)[0], A[[1, 2, 0], :2]),
    "lu, permuted": (lambda m, x: m.lu(x, permute_l=True)[0], A[[1, 2, 0]]),
    "qr": (lambda m, x: two(*m.qr(x)), A),
    "qr, economic": (lambda m, x: two(*m.qr(x, mode="economic")), TALL),
    "qr, r": (lambda m, x: m.qr(x, mode="r")[0], TALL),
    "eigh": (lambda m, x: unsigned(m.eigh(x)[1]), S),
    "eigh, by a driver": (lambda m, x: m.eigh(x, driver="ev")[0], S),
    "eigh, upper": (lambda m, x: m.eigh(x, lower=False)[0], S),
    "eig": (lambda m, x: unsigned(np.real(m.eig(x)[1])), REAL),
    "eigvals": (lambda m, x: np.imag(m.eigvals(x)), TURNING),
    "eigh, two matrices": (lambda m, x, y: unsigned(m.eigh(x, y)[1]), S, OTHER),
    "eigvalsh, two matrices": (lambda m, x, y: m.eigvalsh(x, y), S, OTHER),
    "svd": (lambda m, x: unsigned(m.svd(x, full_matrices=False)[0]), TALL),
    "svdvals": (lambda m, x: m.svdvals(x), WIDE), "polar": (lambda m, x: two(*m.polar(x)), TALL),
    "polar, large": (lambda m, x: two(*m.polar(x)), WIDE),
    "polar, left and large": (lambda m, x: two(*m.polar(x, side="left")), TALL),
    "polar, left of a square": (lambda m, x: two(*m.polar(x, side="left")), A),
    "polar, left": (lambda m, x: two(*m.polar(x, "left")), WIDE), "inv": (lambda m, x: m.inv(x), A),
    "pinv": (lambda m, x: m.pinv(x), TALL), "pinv, truncated": (lambda m, x: m.pinv(x, rtol=0.7), A),
    "det": (lambda m, x: m.det(x), A), "norm": (lambda m, x: m.norm(x, "nuc"), A),
    "expm": (lambda m, x: m.expm(x), 0.3 * A), "expm of a stack": (lambda m, x: m.expm(x), 0.3 * np.stack([A, S])),
    "expm_frechet": (lambda m, x, e: two(*m.expm_frechet(x, e)), 0.3 * A, a(3, 3)),
    "logm": (lambda m, x: m.logm(x), S), "sqrtm": (lambda m, x: m.sqrtm(x), S),
    "solve_sylvester": (lambda m, x, y, q: m.solve_sylvester(x, y, q), A, a(2, 2) + 4.0 * np.eye(2), B),
    "solve_continuous_are": (
        lambda m, x, y, q, r: m.solve_continuous_are(x, y, q @ q.T, r @ r.T), 0.3 * A, B, 0.3 * S, NEAR[:2]
    ),
    "solve_continuous_are, e and s": (
        lambda m, x, e, s: m.solve_continuous_are(x, B, S @ S.T, np.eye(2), e, s, False), -0.3 * A, S, 0.1 * B
    ),
    "solve_continuous_lyapunov": (lambda m, x, q: m.solve_continuous_lyapunov(x, q), A, a(3, 3)),
    "solve_discrete_lyapunov": (lambda m, x, q: m.solve_discrete_lyapunov(x, q), 0.15 * A, a(3, 3)),
    "block_diag": (lambda m, x, y: m.block_diag(x, y), WIDE, a(2)),
    "toeplitz": (lambda m, c, r: m.toeplitz(c, r), a(3), a(4)),
    "hankel": (lambda m, c, r: m.hankel(c, np.sin(r)), a(3), a(4)),
    "hankel, a column": (lambda m, c: m.hankel(c), a(3)),
    "circulant": (lambda m, c: m.circulant(c), a(4)),
    "solve_toeplitz": (lambda m, c, r, y: m.solve_toeplitz((c + FIRST, np.sin(r)), y), a(4), a(4, seed=1), a(4, 2)),
    "solve_toeplitz, symmetric": (lambda m, c, y: m.solve_toeplitz(c + FIRST, y), a(4), a(4)),
    "matmul_toeplitz": (lambda m, c, r, y: m.matmul_toeplitz((c, np.sin(r)), y), a(3), a(4), a(4, 2)),
    "solve_circulant": (lambda m, c, y: m.solve_circulant(c + FIRST, y), a(4), a(4)),
    "solve_circulant of a matrix": (lambda m, c, y: m.solve_circulant(c + FIRST, y), a(4), a(4, 2)),
    "eigh_tridiagonal": (lambda m, d, e: unsigned(m.eigh_tridiagonal(d, e)[1]), DIAGONAL, BESIDE),
    "eigh_tridiagonal by position": (
        lambda m, d, e: with_values(*m.eigh_tridiagonal(d, e, False, "i", (1, 2))), DIAGONAL, BESIDE,
    ),
    "eigh_tridiagonal by value": (
        lambda m, d, e: unsigned(m.eigh_tridiagonal(d, e, select="v", select_range=(1.2, 4.5))[1]), DIAGONAL, BESIDE,
    ),
    "eigvalsh_tridiagonal": (lambda m, d, e: m.eigvalsh_tridiagonal(d, e), DIAGONAL, BESIDE),
    "eigvalsh_tridiagonal, some": (lambda m, d, e: m.eigvalsh_tridiagonal(d, e, "i", (0, 1)), DIAGONAL, BESIDE),
    "schur": (lambda m, x: two(*map(unsigned, m.schur(x))), REAL),
    "orth": (lambda m, x: unsigned(m.orth(x)), TALL),
    "null_space": (lambda m, x: unsigned(m.null_space(x)), a(2, 3)),
    "subspace_angles": (lambda m, x, y: m.subspace_angles(x, y), a(5, 2), a(5, 2, seed=4)),
    "subspace_angles, near and far": (lambda m, x, y: m.subspace_angles(x, y), NEAR, a(4, 2)),
}  # fmt: skip
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
    if name.startswith("cho_factor"):  # SciPy has zeros in the other triangle from 1.18 on
        lower = np.tri(3, dtype=bool)
        expected = np.where(lower if name.endswith("lower") else lower.T, expected, args[0])
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
    tried = inspect.getsource(inspect.getmodule(case)).split("CASES")[1]
    others = Path(__file__).with_name("test_matrix_factors.py").read_text()
    assert [x for x in mirror.__all__ if f"m.{x}(" not in tried and not re.search(rf'"{x}\b', others)] == []


# None since 1.17, "gen" before: one result; others are deprecated in the newest SciPy, with a mark of its own
OTHER_DEFAULT = {("solve", "assume_a"), ("qr", "lwork"), ("logm", "disp"), ("sqrtm", "disp"), ("sqrtm", "blocksize")}
YOUNGER = {("inv", "assume_a"), ("inv", "lower"), *(("null_space", f"{x}") for x in
           ("overwrite_a", "check_finite", "lapack_driver"))}  # fmt: skip
GONE = {("logm", "disp"), ("sqrtm", "disp"), ("sqrtm", "blocksize")}  # from SciPy 1.18 on


@pytest.mark.parametrize("name", mirror.__all__)
def test_signatures_are_those_of_scipy(name):
    def parts(function, left_out=()):
        parameters = inspect.signature(function).parameters.values()
        return [
            (p.name, p.kind, None if (name, p.name) in OTHER_DEFAULT else p.default)
            for p in parameters
            if (name, p.name) not in left_out
        ]

    expected = parts(getattr(scipy.linalg, name))
    younger = (YOUNGER | GONE) - {(name, part[0]) for part in expected}
    assert parts(getattr(mirror, name), younger) == expected


@pytest.mark.filterwarnings("ignore:.*lwork")  # deprecated from SciPy 1.18 on
def test_arguments_by_position_are_those_of_scipy():
    calls = [
        lambda m, x: np.sum(m.lu(x, False, True)[0]),  # overwrite_a, not p_indices
        lambda m, x: m.cholesky(x, True, True)[1, 0],
        lambda m, x: m.qr(x, False, None, "r")[0][0, 2] ** 2,
        lambda m, x: m.solve(x, B, True, False, False, True, "pos")[0, 1],
        lambda m, x: m.solveh_banded(0.1 * x[:2] + [[3.0], [0.0]], VECTOR, False, False, True)[2],
    ]
    for call in calls:
        value, gradient = contad.value_and_grad(lambda x, call=call: call(mirror, x) + 0.0 * np.sum(x))(S)
        assert value == pytest.approx(call(scipy.linalg, S.copy()), rel=1e-12)
        assert gradient.shape == S.shape


def test_flags_of_functions_of_matrices_change_nothing():
    found = contad.value_and_grad(lambda x: mirror.sqrtm(x, True, 32)[0, 1] + mirror.logm(x, disp=True)[1, 1])(S)
    expected = contad.value_and_grad(lambda x: mirror.sqrtm(x)[0, 1] + mirror.logm(x)[1, 1])(S)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("side", ["right", "left"])
def test_polar_factors_of_a_nearly_singular_matrix_keep_their_digits(side):
    w, v = (np.linalg.qr(square(3, 3, seed=k))[0] for k in (1, 2))
    s, c = np.array([3.0, 0.7, 1e-9]), a(3, 3)
    x, e = w * s @ v.T, w @ c @ v.T
    (u, p), (u_dot, p_dot) = contad.jvp(lambda x: mirror.polar(x, side), (x,), (e,))
    # in the bases of the singular vectors, where p is diagonal
    left, right = (v, v) if side == "right" else (w, w)
    mixed = c if side == "right" else c.T
    by_hand = (s[:, None] * mixed + s * mixed.T) / (s[:, None] + s)
    np.testing.assert_allclose(u, w @ v.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(p, left * s @ right.T, rtol=0, atol=1e-14)
    np.testing.assert_allclose(left.T @ p_dot @ right, by_hand, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(w.T @ u_dot @ v, (c - c.T) / (s[:, None] + s), rtol=1e-12, atol=1e-13)


def test_polar_factors_without_full_rank_have_no_derivative():
    flat = np.outer([1.0, 2.0, 3.0], [0.6, -0.4])
    assert np.isnan(contad.grad(lambda x: np.sum(mirror.polar(x)[1]))(flat)).all()


def test_a_tridiagonal_matrix_is_read_in_three_diagonals():
    x = square(4, 4)
    inside = np.triu(np.tril(np.ones((4, 4)), 1), -1) > 0.0
    found = contad.value_and_grad(lambda x: np.sum(np.sin(mirror.solve(x, a(4), assume_a="tridiagonal"))))(x)
    expected = contad.value_and_grad(lambda x: np.sum(np.sin(np.linalg.solve(x, a(4)))))(np.where(inside, x, 0.0))
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(found[1], np.where(inside, expected[1], 0.0), rtol=1e-12)


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


@pytest.mark.parametrize(("widths", "n"), [((1, 1), 5), ((1, 1), 2), ((2, 1), 5)])
def test_a_banded_system_is_factored_once_for_its_value_and_its_derivatives(widths, n, monkeypatch):
    leave_steps_to_python(monkeypatch)  # what is counted are factors in Python
    made = []
    real = factors.BandedFactor.__init__
    monkeypatch.setattr(
        factors.BandedFactor, "__init__", lambda self, *given: made.append(given[1:]) or real(self, *given)
    )
    ab, b = a(sum(widths) + 1, n), a(n)
    ab[widths[1]] += 5.0
    matrix = sum(np.diag(ab[widths[1] - k, max(k, 0) : n + min(k, 0)], k) for k in range(-widths[0], widths[1] + 1))
    value, found = contad.value_and_grad(lambda ab, b: np.sum(mirror.solve_banded(widths, ab, b) ** 2), (0, 1))(ab, b)
    assert made == [widths]
    z = scipy.linalg.solve_banded(widths, ab, b)
    assert value == np.sum(z**2)
    back = np.linalg.solve(matrix.T, 2.0 * z)
    np.testing.assert_allclose(found[1], back, rtol=1e-12)
    np.testing.assert_allclose(found[0][widths[1]], -back * z, rtol=1e-12)


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


def test_long_toeplitz_systems_make_no_matrix():
    n = 2_000
    c, b = 0.9 ** np.arange(n), np.linspace(0.0, 1.0, n)
    tracemalloc.start()
    try:
        c_bar, b_bar = contad.grad(
            lambda c, b: np.sum(mirror.solve_toeplitz(c, b) ** 2 + mirror.matmul_toeplitz(c, b)), (0, 1)
        )(c, b)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < n * n  # of 8 n^2 bytes of a matrix
    t = scipy.linalg.toeplitz(c)
    z = np.linalg.solve(t, b)
    back = np.linalg.solve(t, 2.0 * z)
    np.testing.assert_allclose(b_bar, back + t.sum(axis=0), rtol=1e-9)
    lags = np.convolve(-back, z[::-1]) + np.convolve(np.ones(n), b[::-1])
    expected = lags[n - 1 :] + np.append(0.0, lags[n - 2 :: -1])  # the first column is the first row, too
    np.testing.assert_allclose(c_bar, expected, rtol=1e-8, atol=1e-8)


def test_eigenvalues_of_long_tridiagonal_matrices_make_no_product(monkeypatch):
    counted = []
    real = tridiagonal_spectra.matmul
    monkeypatch.setattr(tridiagonal_spectra, "matmul", lambda x, y: counted.append(np.shape(x)) or real(x, y))
    d, e = np.linspace(1.0, 2.0, 50), np.full(49, 0.3)
    d_bar, e_bar = contad.grad(lambda d, e: np.sum(mirror.eigvalsh_tridiagonal(d, e) ** 2), (0, 1))(d, e)
    np.testing.assert_allclose(d_bar, 2.0 * d, rtol=1e-12)  # the trace of the square
    np.testing.assert_allclose(e_bar, 4.0 * e, rtol=1e-12)
    assert counted == []


def test_the_schur_form_of_a_symmetric_matrix_is_its_spectrum():
    by = lambda function: contad.grad(lambda x: np.sum(np.sin(function(x))))((S + S.T) / 2)
    found = by(lambda x: np.sort(np.diagonal(mirror.schur((x + x.T) / 2)[0])))
    np.testing.assert_allclose(found, by(lambda x: np.linalg.eigvalsh((x + x.T) / 2)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("function", "args"), [
    (lambda c, r, x: mirror.matmul_toeplitz((c, r), x), ([1.7], [9.0], [0.6])),
    (lambda c, r, b: mirror.solve_toeplitz((c, r), b), ([1.7], [9.0], [0.6])),
    (lambda d: mirror.eigh_tridiagonal(d, np.zeros(0))[0], ([1.7],)),
], ids=["matmul_toeplitz", "solve_toeplitz", "eigh_tridiagonal"])  # fmt: skip
def test_matrices_of_one_element(function, args):
    """The first element of a row is not read, and there is nothing beside a diagonal of one element."""
    expect_ad(function, *map(np.array, args))


def test_values_that_occur_twice_have_no_derivative():
    twice = np.diag([2.0, 2.0, 3.0]) + np.triu(np.ones((3, 3)), 1)
    assert np.isnan(contad.grad(lambda x: np.sum(np.sin(mirror.schur(x)[0])))(twice)).any()
    d, e = np.array([2.0, 2.0, 3.0]), np.array([0.0, 0.0])
    assert np.isnan(contad.grad(lambda d: np.sum(mirror.eigh_tridiagonal(d, e)[1] ** 3))(d)).any()
    np.testing.assert_array_equal(contad.grad(lambda d: np.sum(mirror.eigvalsh_tridiagonal(d, e) ** 2))(d), 2.0 * d)


def test_a_matrix_without_null_space_has_none():
    assert contad.value_and_grad(lambda x: np.sum(x) + np.sum(mirror.null_space(x)))(TALL)[0] == np.sum(TALL)


def test_orthonormal_ranges_of_matrices_without_full_rank():
    flat = np.outer([1.0, 2.0, 3.0], [0.6, -0.4])
    found = contad.grad(lambda x, y: mirror.subspace_angles(x, y)[0], (0, 1))(flat, a(3, 1))
    expected = contad.grad(lambda x, y: mirror.subspace_angles(x, y)[0], (0, 1))(flat[:, :1], a(3, 1))
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10)
    # moving the column by x_dot moves the range of the outer product by it in both columns
    np.testing.assert_allclose(found[0] @ [0.6, -0.4], 0.6 * expected[0][:, 0], rtol=1e-10)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("n", [1, 3, 5, 8])
def test_eigenvectors_have_the_signs_of_scipy(n, lower):
    rng, weights = np.random.default_rng(n), a(n, n, seed=3)
    for stack in ((), (2, 3)):
        x = rng.normal(size=(*stack, n, n))
        value, _ = contad.value_and_grad(lambda x: np.sum(mirror.eigh(x, lower=lower)[1] * weights))(x)
        expected = [scipy.linalg.eigh(one, lower=lower)[1] for one in x.reshape(-1, n, n)]
        assert value == pytest.approx(sum(np.sum(v * weights) for v in expected), rel=1e-12)
    x, y = rng.normal(size=(n, n)), x[0, 0] @ x[0, 0].T + np.eye(n)
    for kind in (1, 2, 3):
        f = contad.value_and_grad(lambda x, kind=kind: np.sum(mirror.eigh(x, y, lower=lower, type=kind)[1] * weights))
        assert f(x)[0] == pytest.approx(np.sum(scipy.linalg.eigh(x, y, lower=lower, type=kind)[1] * weights), rel=1e-9)


@pytest.mark.parametrize("lower", [False, True])
def test_factors_of_a_stack_that_scipy_made_serve_variables(lower):
    stack, b = np.array([S, 2.0 * S]), np.array([B, -B])
    factors = mirror.cho_factor(stack, lower=lower)[0], np.array([lower, lower])  # as SciPy's since 1.16
    found = contad.grad(lambda b: np.sum(mirror.cho_solve(factors, b) ** 2))(b)
    expected = contad.grad(lambda b: np.sum(np.linalg.solve(stack, b) ** 2))(b)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(UnsupportedError, match="must have one `lower`"):
        contad.grad(lambda b: np.sum(mirror.cho_solve((factors[0], np.array([True, False])), b)))(b)


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_functions_of_a_matrix_without_rows(name):
    x = np.zeros((0, 0))
    assert contad.grad(lambda x: np.sum(getattr(mirror, name)(x)))(x).shape == (0, 0)
    assert contad.hvp(lambda x: np.sum(getattr(mirror, name)(x)))(x, x).shape == (0, 0)


def test_a_factor_serves_many_solutions(monkeypatch):
    leave_steps_to_python(monkeypatch)  # what is counted are SciPy's calls
    counted = []
    real = scipy.linalg.lapack.dpotrf
    monkeypatch.setattr(
        scipy.linalg.lapack, "dpotrf", lambda x, **options: counted.append(x.shape) or real(x, **options)
    )

    def f(x):
        c = mirror.cho_factor(x)
        return np.sum(mirror.cho_solve(c, B)) + mirror.cho_solve(c, VECTOR) @ VECTOR

    contad.grad(f)(S)
    assert counted == [(3, 3)]


def test_a_factor_and_a_solution_are_one_record_each():
    with opened(MatrixStack) as level:
        x, y = contad.var(S), contad.var(VECTOR)
        mirror.cho_solve(mirror.cho_factor(x), y)
        assert [row.operation for row in level.rows()][2:] == ["filled_cholesky_factor", "cholesky_solution"]


def test_where_nothing_is_a_variable_scipy_is_called_with_all_its_arguments():
    expected = scipy.linalg.eigh(S, subset_by_index=[0, 1])
    for found, wanted in zip(mirror.eigh(S, subset_by_index=[0, 1]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert mirror.sqrtm(-np.eye(2)).dtype == complex
    assert np.isnan(mirror.solve(A, [1.0, np.nan, 2.0], check_finite=False)).any()


def test_cotangents_that_are_not_finite_go_through_banded_systems():
    for solve in (lambda y: mirror.solve_banded((1, 1), BAND, y), lambda y: mirror.solveh_banded(HALF, y)):
        assert not np.isfinite(contad.grad(lambda y, solve=solve: np.sum(solve(y)) * np.inf)(np.ones(4))).any()


def test_permutations_in_stacks_are_those_of_scipy():
    stack = np.stack([A, A[[1, 2, 0]]])

    def f(x):
        for indices in (False, True):
            expected = scipy.linalg.lu(stack, p_indices=indices)[0]
            np.testing.assert_array_equal(mirror.lu(x, p_indices=indices)[0], expected)
        return x[0, 0, 0]

    assert np.sum(contad.grad(f)(stack)) == 1.0


def draw(*shape):
    return np.random.default_rng(31).normal(size=shape) + 3.0 * np.eye(*shape[-2:])


P = draw(2, 3, 3) @ np.swapaxes(draw(2, 3, 3), -2, -1)
BANDS = np.abs(draw(2, 3, 5)) + np.array([[0.0], [9.0], [0.0]])
# name -> (call with the module to use, arguments of which the first has a stack)
STACKS = {
    "solve pos": (lambda m, a, b: m.solve(a, b, assume_a="pos"), P, draw(3, 2)),
    "solve diagonal": (lambda m, a, b: m.solve(a, b, assume_a="diagonal"), P * np.eye(3), draw(3, 2)),
    "solve of a vector": (lambda m, a, b: m.solve(a, b, assume_a="diagonal"), P * np.eye(3), draw(3, 3)[0]),
    "lu_solve": (lambda m, a, b: m.lu_solve(m.lu_factor(a), b, trans=1), draw(2, 3, 3), draw(3, 2)),
    "cho_solve": (lambda m, a, b: m.cho_solve((m.cholesky(a), False), b), P, draw(3, 2)),
    "logm": (lambda m, a: m.logm(a), P),
    "sqrtm": (lambda m, a: m.sqrtm(a), P),
    "solve_sylvester": (lambda m, a, q: m.solve_sylvester(a, a, q), P, draw(3, 3)),
    "solve_continuous_are": (
        lambda m, a, b: m.solve_continuous_are(a, b, np.eye(3), np.eye(2)), draw(2, 3, 3), draw(3, 2)
    ),
    "solve_continuous_lyapunov": (lambda m, a, q: m.solve_continuous_lyapunov(a, q), P, draw(3, 3)),
    "solve_discrete_lyapunov": (lambda m, a, q: m.solve_discrete_lyapunov(a, q), 0.1 * P, draw(3, 3)),
    "polar": (lambda m, a: m.polar(a)[1], draw(2, 3, 3)),
    "schur": (lambda m, a: m.schur(a)[0] ** 2, P),
    "orth": (lambda m, a: m.orth(a) ** 2, P),
    "subspace_angles": (lambda m, a, b: m.subspace_angles(a, b), draw(2, 3, 2), np.tril(draw(3, 2))),
    "eigh b": (lambda m, a, b: m.eigh(a, b)[1] ** 2, P, P[0] + np.diag([1.0, 2.0, 3.0])),
    "eigh_tridiagonal": (lambda m, d, e: m.eigh_tridiagonal(d, e)[0], draw(2, 3), draw(2, 2)),
    "solve_banded": (lambda m, a, b: m.solve_banded((1, 1), a, b), BANDS, draw(5, 2)),
    "solveh_banded": (lambda m, a, b: m.solveh_banded(a[..., 1:, :], b, lower=True), BANDS, draw(5, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKS)
def test_stacks_are_the_matrices_one_by_one(name):
    """Values of SciPy, which takes stacks in newer versions, and gradients of one matrix after the other."""
    call, stack, *others = STACKS[name]
    paired = [np.ndim(x) == 2 and name == "eigh_tridiagonal" for x in others]
    loss = lambda a, *xs: np.sum(np.sin(call(mirror, a, *xs)))
    seen = []
    found = contad.grad(lambda a: (seen.append(contad.value_of(call(mirror, a, *others))), loss(a, *others))[1])(stack)
    for k, one in enumerate(stack):
        rest = [x[k] if is_paired else x for x, is_paired in zip(others, paired, strict=True)]
        np.testing.assert_allclose(seen[0][k], call(scipy.linalg, one, *rest), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[k], contad.grad(loss)(one, *rest), rtol=1e-9, atol=1e-11)


def test_the_other_generalised_eigenvalue_problems():
    """a b v = w v and b a v = w v, by their definitions and against SciPy."""
    a, b = P
    for kind, product in ((2, lambda v: a @ (b @ v)), (3, lambda v: b @ (a @ v))):
        for lower in (True, False):
            def f(x, y, kind=kind, lower=lower):
                w, v = mirror.eigh(x, y, type=kind, lower=lower)
                return two(w, v * v)

            w, v = scipy.linalg.eigh(a, b, type=kind)
            np.testing.assert_allclose(product(v), w * v, rtol=1e-9)
            check_orders(f, (a, b))
            value = contad.jvp(f, (a, b), (a, b))[0]
            np.testing.assert_allclose(value, two(w, v * v), rtol=1e-10)


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda x: mirror.logm(x, disp=False)[0], UnsupportedError, "linalg.logm: disp must be True .* got False"),
    (lambda x: mirror.sqrtm(x, False)[0], UnsupportedError, "linalg.sqrtm: disp must be True .* got False"),
    (lambda x: mirror.sqrtm(x, disp=x[0, 0]), UnsupportedError, "linalg.sqrtm: disp must be True .* got "),
    (lambda x: mirror.eigh(x, subset_by_value=[0, 1])[0], UnsupportedError, "eigh: subset_by_value= is not supp"),
    (lambda x: mirror.eigh(x, subset_by_index=[1, 3])[0], ValueError, r"Valid range is \[0, 2\].*end=3"),
    (lambda x: mirror.solveh_banded(-x[:2], x[0]), np.linalg.LinAlgError, "not positive definite"),
    (lambda x: mirror.solveh_banded(x[:2], x[0], lower=True), np.linalg.LinAlgError, "not positive definite"),
    (lambda x: mirror.eigh(x, x, type=4)[0], ValueError, "only accepts 1, 2, and 3"),
    (lambda x: mirror.sqrtm(np.reshape(x[:0], (0, 3, 3))), UnsupportedError, r"sqrtm: .* stacks of shape \(0,\)"),
    (lambda x: mirror.qr(x, pivoting=True)[0], UnsupportedError, "qr: on variables"),
    (
        lambda x: mirror.lu(np.reshape(x[:0], (0, 3, 3)))[1],
        UnsupportedError,
        r"lu: on variables a stack must not be empty, got .*\(0, 3, 3\)",
    ),
    (lambda x: mirror.solve(x, B, assume_a="round"), ValueError, "'round' is not a recognized"),
    (lambda x: mirror.solve(x * np.nan, B), ValueError, "solve: array must not contain infs or NaNs"),
    (lambda x: mirror.polar(x, "up")[0], ValueError, "`side` must be"),
    (lambda x: mirror.schur(x - x.T)[0], UnsupportedError, "schur: a has complex eigenvalues"),
    (lambda x: mirror.null_space(x[:1]), UnsupportedError, "null_space: the space has 2 dimensions, .*projector"),
    (lambda x: mirror.eigvalsh_tridiagonal(x[0], x[0]), ValueError, "must have one more element|dimension|length"),
    (lambda x: mirror.eigvalsh_tridiagonal(x[0], x[0, :2], "i", (1, 3)), ValueError, "select_range out of bounds"),
    (lambda x: mirror.eigvalsh_tridiagonal(x[0], x[0, :2], "best"), ValueError, "invalid argument for select"),
    (lambda x: mirror.eigh_tridiagonal(x[0], x[0, :2], tol=1.0)[0], UnsupportedError, "tol= is not supported"),
    (lambda x: mirror.solve_toeplitz(x, x), UnsupportedError, "solve_toeplitz: on variables it takes vectors"),
    (lambda x: mirror.solve_toeplitz(x[0], x[0, :2]), ValueError, "solve_toeplitz: Incompatible dimensions"),
    (lambda x: mirror.solve_toeplitz((x[0], x[0, :2]), x[0]), ValueError, "c has 3 elements, r has 2"),
    (lambda x: mirror.solve_toeplitz(0.0 * x[0], x[0]), np.linalg.LinAlgError, "[Ss]ingular"),
    (lambda x: mirror.solve_circulant(0.0 * x[0], x[0]), np.linalg.LinAlgError, "near singular circulant"),
    (lambda x: mirror.solve_circulant(x[0], x, baxis=1), UnsupportedError, "solve_circulant: on variables"),
    (lambda x: mirror.toeplitz(x), UnsupportedError, r"toeplitz: on variables it takes vectors, got shape \(3, 3\)"),
    (lambda x: mirror.toeplitz(x[0], B), UnsupportedError, "toeplitz: on variables it takes vectors"),
    (lambda x: mirror.hankel(x), UnsupportedError, "hankel: on variables it takes vectors"),
    (lambda x: mirror.circulant(x), UnsupportedError, "circulant: on variables it takes vectors"),
    (lambda x: mirror.matmul_toeplitz(x, x), UnsupportedError, "matmul_toeplitz: on variables it takes vectors"),
    (lambda x: mirror.block_diag(x, np.stack([x, x])), UnsupportedError, "block_diag: .* one matrix"),
    (lambda x: mirror.qr(x[:, :2])[1], UnsupportedError, r"scipy\.linalg\.qr: mode='full' .* use mode='economic'"),
    (lambda x: mirror.svd(x[:, :2])[1], UnsupportedError, r"scipy\.linalg\.svd: .* pass full_matrices=False"),
    (lambda x: mirror.inv(x, assume_a="pos"), UnsupportedError, "inv: assume_a= is not supported"),
    (lambda x: mirror.pinv(x, atol=0.1), UnsupportedError, "pinv: atol= is not supported"),
    (lambda x: mirror.subspace_angles(x[0], x), ValueError, "subspace_angles: expected 2D array"),
    (lambda x: mirror.subspace_angles(x[:2], x), ValueError, "same number of rows, got 2 and 3"),
    (lambda x: mirror.cholesky(-x), np.linalg.LinAlgError, "definite"),
    (lambda x: mirror.expm(x[:2]), np.linalg.LinAlgError, "square"),
    (lambda x: mirror.solve(x * 0.0, B), np.linalg.LinAlgError, "ingular"),
    (
        lambda x: mirror.lu_solve(mirror.lu_factor(x[:2, :2]), x[0]),
        ValueError,
        r"lu_solve: Shapes of lu \(2, 2\) and b \(3,\) are incompatible",
    ),
])  # fmt: skip
def test_bad_calls_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        contad.grad(lambda x: np.sum(call(x)))(S)
    assert contad.grad(lambda x: x * x)(3.0) == 6.0


def test_scipy_comes_with_the_first_use():
    assert "linalg" in dir(contad.scipy) and contad.scipy.linalg is mirror and _scipy.linalg() is scipy.linalg
    with pytest.raises(AttributeError, match=r"no attribute 'misc'; there are contad\.scipy\.fft, contad"):
        contad.scipy.misc


@pytest.mark.parametrize("name", ["expm", "cho_factor", "solve_triangular", "svd"])
def test_scipys_own_function_is_refused_by_its_name_and_told_of_the_mirror(name):
    more = (VECTOR,) if name == "solve_triangular" else ()
    told = rf"scipy\.linalg\.{name}: SciPy computes with plain numbers, .*use contad\.scipy\.linalg\.{name}; else"
    with pytest.raises((LostDerivativeError, UnsupportedError), match=told):
        contad.grad(lambda x: np.sum(getattr(scipy.linalg, name)(x, *more)[0]))(S)


def test_signs_of_tridiagonal_vectors_are_scipys():
    seen = []

    def f(d):
        w, v = mirror.eigh_tridiagonal(d, BESIDE)
        seen.append(contad.value_of(v))
        return np.sum(v**3) + np.sum(w)

    contad.grad(f)(DIAGONAL)
    np.testing.assert_allclose(seen[0], scipy.linalg.eigh_tridiagonal(DIAGONAL, BESIDE)[1], atol=1e-14)


@pytest.mark.parametrize("name", mirror.__all__)
def test_docstrings_tell_errors_and_cost(name):
    told = inspect.getdoc(getattr(mirror, name))
    for part in ("Raises:", "Cost:", ">>> "):
        assert part in told, f"contad.scipy.linalg.{name}: its docstring has no {part}"
