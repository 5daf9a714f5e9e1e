"""Stan's names inside njit: how many there are, functions of functions beside those of Python, and other new forms."""

import math
from types import FunctionType

import numpy as np
import pytest
from numba import njit

import contad
from contad import stan
from contad.rules.scalar_rule import ScalarRule
from contad.stan import parity

DECLARATIONS = set(parity.NAMES["Constraining transforms"])  # they stand outside of compiled code
REFUSED = {"dae", "dae_tol", "ode_adjoint_tol_ctl"}


# ---- the names -------------------------------------------------------------------------------------------------------
def is_compiled(function):
    """Whether Numba functions may call a function."""
    return isinstance(function, ScalarRule) or function.has_bodies or function.stands_for is not None


def test_every_name_compiles_or_is_listed():
    """If a name moves to the other side, so does the list here and on the page `Coming from Stan`."""
    names = {row.name for row in parity.rows(tuple(stan.__all__)) if row.status == "works"}
    assert {name for name in names if not is_compiled(getattr(stan, name))} == REFUSED | DECLARATIONS
    assert (len(names), len(DECLARATIONS), len(REFUSED)) == (584, 15, 3)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("dae", "solve for the algebraic variables, and call ode_bdf"), ("simplex", "make it outside"),
        ("ode_adjoint_tol_ctl", "call ode_adams, or ode_bdf"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_write(name, instead):
    function = getattr(stan, name)
    with pytest.raises(contad.UnsupportedError, match=rf"{name} cannot be called inside njit; {instead}"):
        njit(lambda: function(1))()


# ---- functions of functions ------------------------------------------------------------------------------------------
TIMES, Y0, COUNTS = np.array([0.5, 1.0]), np.array([0.5, 3.0]), np.array([1, 2])
DATA, THETA = np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([1.0, 0.5, 1.2, 0.8])


@njit
def chase(t, y, a, b):
    return np.array([y[0] * (a - b * y[1]), y[1] * (y[0] - 1.0)])


@njit
def system(y, p, q):
    return np.array([y[0] + y[1] - p - 2.3, y[0] * y[1] - 2.0 * q])


@njit
def of_theta(y, theta, x_r, x_i):
    return np.array([y[0] + y[1] - theta[0] - 2.5, y[0] * y[1] - theta[1] * x_r[0, 1] - x_i[0]])


@njit
def part_of_sum(xs, start, end, mu):
    return -np.sum((xs - mu) ** 2 * np.arange(start, end))


@njit
def job(shared, own, x_r, x_i):
    return (shared[0] * np.exp(-own[0] * x_r))[:x_i]


@njit
def with_ends(x, xc, p, q):
    return x ** (p - 0.5) * (xc if xc > 0.0 else 1.0 - x) ** (q - 0.6)


@njit
def bell(x, xc, p, q):
    return np.exp(-0.5 * p * x * x) * (2.0 + np.cos(q * x))


@njit
def wave(x, p, q):
    return np.exp(-0.5 * p * x[0] * x[0]) * (2.0 + np.cos(q * x[-1]))


@njit
def powers(x):
    return x[0] * np.exp(-x[1]) + x[0] ** 2 * x[1] * x[2]


@njit
def covariance(s, r):
    return s**2 * np.array([[1.0, r], [r, 1.0]])


@njit
def likelihood(theta, s):
    return -0.5 * np.sum((theta - 1.0) ** 2) / s - 0.1 * theta[0] ** 2 * theta[1] ** 2


def map_jobs(p):
    return np.sum(stan.map_rect(job, p[:1], p.reshape((2, 2)), DATA, COUNTS) ** 2)


def sum_parts(p):
    return stan.reduce_sum(part_of_sum, p, p[1]) + stan.reduce_sum_static(part_of_sum, p, 3, p[2])


def integrate(p):
    z = stan.integrate_1d(with_ends, 0.0, 1.0, p[0], p[1]) + stan.integrate_1d(bell, -1.2 * p[2], p[3], p[0], p[1])
    return z + stan.integrate_1d_double_exponential(bell, p[2], np.inf, p[0], p[1])


def integrate_smooth(p):
    z = stan.integrate_1d_gauss_kronrod(bell, -p[2], p[3], p[0], p[1])
    z += stan.integrate_1d_gauss_kronrod(bell, -np.inf, p[3], p[0], p[1])
    z += stan.integrate_1d_gauss_kronrod(bell, p[2], np.inf, p[0], p[1])
    return z + stan.integrate_1d_gauss_kronrod(bell, -np.inf, np.inf, p[0], p[1])


def integrate_boxes(p):
    z = stan.hcubature(wave, (p[0], p[1]), 2, p[1:3] - 1.0, p[2:])
    return z * stan.hcubature(wave, (p[0], p[1]), 1, p[:1], p[3:])


def find_roots(p):
    return np.sum(stan.solve_newton(system, Y0, p[2], p[0]) ** 2)


def find_roots_with_settings(p):
    z = stan.solve_powell_tol(system, Y0, 1e-8, 1e-8, 100, p[2], p[0])
    return z @ stan.algebra_solver(of_theta, Y0, p[:2], 0.4 * DATA, 0 * COUNTS)


def solve(p):
    return np.sum(stan.ode_rk45_tol(chase, p[:2], 0.0, TIMES, 1e-9, 1e-9, 10**5, p[2], p[3]) ** 2)


def solve_others(p):
    z = np.sum(stan.ode_adams(chase, p[:2], 0.1 * p[2], TIMES, p[2], p[3]) ** 2)
    return z + stan.ode_ckrk(chase, p[:2], 0.0, TIMES + 0.1 * p[3], p[2], p[3])[1, 0]


def solve_stiff(p):
    return stan.ode_bdf_tol(chase, p[:2], 0.0, TIMES, 1e-9, 1e-9, 10**6, p[2], p[3])[1, 1]


def count_poisson(p):
    y, places = np.array([1, 0, 3]), np.array([0, 1, 1])
    return stan.laplace_marginal_poisson_log_lpmf(y, places, p[3], covariance, (p[2], p[1]))


def count_neg_binomial(p):
    y, places = np.array([1, 2]), np.array([0, 1])
    return stan.laplace_marginal_tol_neg_binomial_2_log_lpmf(y, places, p[3], p[:2], covariance, (p[2], p[1]), Y0)


def count_bernoulli(p):
    y, places = np.array([1, 0]), np.array([1, 1])
    return stan.laplace_marginal_bernoulli_logit_lpmf(y, places, p[3], covariance, (p[2], p[1]))


def approximate(p):
    return stan.laplace_marginal(likelihood, (p[0],), 2, covariance, (p[2], p[1]))


QUICK = [map_jobs, sum_parts]
SLOW = [
    integrate, integrate_smooth, integrate_boxes, find_roots, find_roots_with_settings, solve, solve_others,
    solve_stiff, count_poisson, count_neg_binomial, count_bernoulli, approximate,
]  # fmt: skip


def require_the_gradient_of_python(f, engine, rtol=1e-9):
    plain = FunctionType(f.__code__, {name: getattr(x, "py_func", x) for name, x in globals().items()})
    value, gradient = contad.value_and_grad(plain)(THETA)
    found, slopes = contad.value_and_grad(njit(f), engine=engine)(THETA)
    assert found == pytest.approx(value, rel=rtol)
    np.testing.assert_allclose(slopes, gradient, rtol=rtol, atol=rtol * np.max(np.abs(gradient)))


@pytest.mark.parametrize("f", QUICK, ids=lambda f: f.__name__)
def test_functions_of_functions(f):
    require_the_gradient_of_python(f, None)


@pytest.mark.long
@pytest.mark.parametrize("f", SLOW, ids=lambda f: f.__name__)
def test_solvers(f):
    require_the_gradient_of_python(f, "generated", 1e-6 if f in (solve, solve_others, solve_stiff) else 1e-9)


@pytest.mark.long
@pytest.mark.parametrize("f", [integrate, map_jobs, approximate], ids=lambda f: f.__name__)
def test_functions_of_functions_on_the_tape(f):
    require_the_gradient_of_python(f, "tape")


@pytest.mark.long
def test_an_end_that_moves_has_three_orders():
    """Leibniz's rule: f at the end, then its slope, then its curvature."""
    f = njit(lambda b: stan.integrate_1d_gauss_kronrod(bell, 0.0, b, 1.0, 2.0))
    b = 0.7
    value, slope, curvature = np.exp(-0.5 * b * b), -b * np.exp(-0.5 * b * b), (b * b - 1.0) * np.exp(-0.5 * b * b)
    wave, its_slope, its_curvature = 2.0 + np.cos(2.0 * b), -2.0 * np.sin(2.0 * b), -4.0 * np.cos(2.0 * b)
    assert contad.grad(f)(b) == pytest.approx(value * wave, rel=1e-12)
    second = njit(lambda b: contad.grad(f)(b))
    assert contad.grad(second)(b) == pytest.approx(slope * wave + value * its_slope, rel=1e-11)
    expected = curvature * wave + 2.0 * slope * its_slope + value * its_curvature
    assert contad.grad(njit(lambda b: contad.grad(second)(b)))(b) == pytest.approx(expected, rel=1e-9)


@pytest.mark.long
def test_differences_are_those_of_python():
    x, epsilon = np.array([2.0, 0.5, 0.3]), 1e-2
    for name in ("gradient", "hessian", "grad_hessian"):
        by_hand, auto = (getattr(stan, f"finite_diff_{name}{end}") for end in ("", "_auto"))
        found = njit(lambda x, by_hand=by_hand, auto=auto: (by_hand(powers, x, epsilon), auto(powers, x)))(x)
        expected = by_hand(powers.py_func, x, epsilon), auto(powers.py_func, x)
        for ours, theirs in zip(sum(found, ()), sum(expected, ()), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(njit(lambda x: stan.finite_diff_gradient(powers, x)[1])(np.arange(1, 4)), [
        math.exp(-2.0) + 12.0, -math.exp(-2.0) + 3.0, 2.0])  # fmt: skip


def test_jobs_may_give_vectors_of_several_lengths():
    found = njit(lambda: stan.map_rect(job, np.ones(1), np.ones((2, 1)), DATA, COUNTS))()
    np.testing.assert_allclose(found, np.exp([-1.0, -1.0, -3.0]), rtol=1e-15)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: stan.integrate_1d(bell, 1.0, 0.0, 1.0, 1.0), "integrate_1d: a must be at most b"),
        (lambda: stan.integrate_1d(with_ends, 0.0, 1.0, -1.0, 1.0), "integrate_1d: (the error|f must give)"),
        (lambda: stan.reduce_sum_static(part_of_sum, TIMES, 0, 1.0), "reduce_sum_static: grainsize must be at least 1"),
        (lambda: stan.map_rect(job, Y0, DATA, DATA, np.ones(3)), "map_rect: data_r and data_i must have an entry"),
    ],
)
def test_wrong_arguments(f, message):
    with pytest.raises(ValueError, match=message):
        njit(f)()


def test_draws_of_states_are_those_of_python():
    gamma, rho = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5])
    log_omega = np.log(np.array([[0.7, 0.1, 0.2, 0.5], [0.3, 0.6, 0.5, 0.4]]))
    draw = njit(lambda rng: stan.hmm_latent(log_omega, gamma, rho, rng))
    for seed in range(5):
        expected = stan.hmm_latent(log_omega, gamma, rho, np.random.default_rng(seed))
        np.testing.assert_array_equal(draw(np.random.default_rng(seed)), expected)


# ---- other functions -------------------------------------------------------------------------------------------------
def use_forms(x):
    total = np.sum(stan.divide(x[0], x)) + np.sum(stan.lmgamma(np.array([1, 2, 3]), x + 2.0))
    total += np.sum(stan.binary_log_loss(np.array([1, 0, 1]), x)) + np.sum(stan.elt_multiply(2.0, x))
    total += np.sum(stan.to_matrix(x, 1, 3, 0)) * stan.squared_distance(x[0], x[1]) * np.sum(stan.transpose(x))
    total += np.sum(stan.rep_array(x, 2, 2) ** 2) + stan.std_normal_log_qf(-x[0]) + np.sum(stan.to_int(9.0 * x) * x)
    return total + np.sum(stan.binary_log_loss(1, x)) + np.sum(stan.log_sum_exp(x, x * x))


def pass_time(x):
    below = stan.wiener_lcdf_unnorm(0.7 + x[0], 1.4 * x[1] + 1.0, 0.1, 0.5, x[2])
    above = stan.wiener_lccdf_unnorm(np.array([0.7, 0.9]), 1.4, 0.1 * x[0], x[1], x[2], x[0], 0.0)
    return below + above


@pytest.mark.parametrize("f", [use_forms, pytest.param(pass_time, marks=pytest.mark.long)], ids=lambda f: f.__name__)
def test_forms_of_arguments(f):
    x = np.array([0.3, 0.4, 0.2])
    value, gradient = contad.value_and_grad(f)(x)
    found, slopes = contad.value_and_grad(njit(f))(x)
    assert found == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-11)


@njit
def check_all(x, y):
    stan.check_2F1_converges("f", x[0], x[1], x[2], x[3])
    stan.check_3F2_converges("f", x[0], x[1], x[1], x[2], x[2], x[3])
    stan.check_consistent_sizes("f", "x", x, "y", y[0], "z", 1.0)
    stan.check_consistent_sizes_mvt("f", "x", x, "y", y)
    stan.check_pos_semidefinite("f", "y", y)
    return np.sum(x)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1.0, 1.0, 2.0, 0.5], np.ones((4, 4)), ""), ([1.0, 1.0, 2.0, 1.0], np.ones((4, 4)), "f: 2F1 must converge"),
        ([0.3, 0.6, 1.0, 1.0], np.ones((4, 4)), ""), ([0.3, 0.9, 1.0, -1.1], np.ones((4, 4)), "f: 2F1 must converge"),
        ([0.0, 0.9, -1.0, 9.0], np.ones((4, 4)), ""), ([-1.0, 0.9, 0.0, 0.1], np.ones((4, 4)), "f: 2F1 must converge"),
        ([0.5, 0.9, 1.0, 0.9], np.ones((4, 3)), "f: y must have the size of x"),
        ([0.5, 0.9, 1.0, 0.9], np.eye(4) - 1.0, "f: y must be symmetric and positive semidefinite"),
    ],
)  # fmt: skip
def test_checks(x, y, message):
    if not message:
        assert check_all(np.array(x), y) == sum(x)
        return
    with pytest.raises(ValueError, match=message):
        check_all(np.array(x), y)
