"""What Stan Math does at the edges of domains, name by name: it raises, or gives a value, and so does contad.stan."""

import math
import re

import numba
import numpy as np
import pytest

import contad
from contad import stan
from contad.stan import domains
from tests.judges.samples import sampled
from tests.stan.domain_rows import KEPT, agrees, outcome_of, read, read_table, reason_to_differ

TRANSFORMS = {
    "lower_bound": lambda x, *bounds: stan.lower_bound(*bounds, np.shape(x)),
    "upper_bound": lambda x, *bounds: stan.upper_bound(*bounds, np.shape(x)),
    "lower_upper_bound": lambda x, *bounds: stan.lower_upper_bound(*bounds, np.shape(x)),
    "offset_multiplier": lambda x, *units: stan.offset_multiplier(*units, np.shape(x)),
    "ordered": lambda x: stan.ordered(len(x)),
    "positive_ordered": lambda x: stan.positive_ordered(len(x)),
    "unit_vector": lambda x: stan.unit_vector(len(x)),
    "simplex": lambda x: stan.simplex(len(x) + 1).of_version("2.36"),
    "stochastic_column": lambda x: stan.stochastic_column(len(x) + 1, x.shape[1]).of_version("2.36"),
    "stochastic_row": lambda x: stan.stochastic_row(len(x), x.shape[1] + 1).of_version("2.36"),
    "cholesky_factor_corr": lambda x, k: stan.cholesky_factor_corr(int(k)),
    "corr_matrix": lambda x, k: stan.corr_matrix(int(k)),
    "cov_matrix": lambda x, k: stan.cov_matrix(int(k)),
    "cholesky_factor_cov": lambda x, m, n: stan.cholesky_factor_cov(int(m), int(n)),
}


def call(name, args):
    if name in TRANSFORMS:
        x = np.transpose(args[0]) if name.startswith("stochastic") else args[0]
        return np.reshape(TRANSFORMS[name](*args).constrain(np.ravel(x)), TRANSFORMS[name](*args).shape)
    z = getattr(stan, name)(*args)
    return np.abs(z) if name == "eigenvectors_sym" else z  # whose signs are free


def require_table(name, kinds, function):
    different = []
    for given, expected in read_table()[name, kinds]:
        found = outcome_of(function, [read(x, kind) for x, kind in zip(given.split(), kinds, strict=True)])
        if not agrees(found, expected) and not reason_to_differ(name, kinds, given, found):
            different.append(f"{given}: Stan {expected}, contad {found}")
    assert not different, "\n".join([f"{name} {kinds}", *different])


@pytest.mark.parametrize("name", sorted({name for name, _ in read_table()}))
def test_every_row_in_python(name):
    for known, kinds in read_table():
        if known == name:
            require_table(name, kinds, lambda *args: call(name, args))


@pytest.mark.parametrize("planted", ["raise", "3.5", "-inf"])
def test_a_planted_row_is_found(monkeypatch, planted):
    monkeypatch.setitem(read_table(), ("normal_lpdf", "ddd"), [("0.4 0.3 1.2", planted)])
    with pytest.raises(AssertionError, match="normal_lpdf ddd"):
        require_table("normal_lpdf", "ddd", stan.normal_lpdf)


@pytest.mark.parametrize(("row", "kind", "reason"), KEPT)
def test_every_listed_difference_exists(row, kind, reason):
    for (name, kinds), rows in read_table().items():
        for given, expected in rows:
            if re.match(row, f"{name} {kinds} {given}"):
                args = [read(x, k) for x, k in zip(given.split(), kinds, strict=True)]
                found = outcome_of(lambda *args, name=name: call(name, args), args)
                if not agrees(found, expected):
                    assert kind == ("raise" if isinstance(found, str) else "value")
                    return
    pytest.fail(f"nothing differs: {reason}")


ALWAYS = [
    ("normal_lpdf", "ddd"), ("gamma_lpdf", "DDD"), ("multi_normal_lpdf", "Vvm"), ("binomial_logit_glm_lpmf", "IImdv"),
    ("hypergeometric_lpmf", "iiii"), ("ordered_logistic_lpmf", "Ivv"),
]  # fmt: skip
OTHERS = [key for key in read_table() if key[0] not in TRANSFORMS and key not in ALWAYS]


@pytest.mark.parametrize(("name", "kinds"), [*ALWAYS, *sampled(OTHERS, 25)])
def test_every_row_inside_njit(name, kinds):
    arguments = ", ".join(f"x{k}" for k in range(len(kinds)))
    scope = {"function": getattr(stan, name)}
    exec(f"def f({arguments}):\n    return function({arguments})\n", scope)
    f = numba.njit(scope["f"])
    require_table(name, kinds, f if name != "eigenvectors_sym" else lambda *args: np.abs(f(*args)))


def test_the_rows_of_a_matrix_that_sums_to_zero():
    transform = stan.sum_to_zero(3, 4)
    u = np.array([0.3, -0.7, 1.1, 0.2, 0.9, -1.4])
    y = transform.constrain(u)
    np.testing.assert_allclose([*y.sum(0), *y.sum(1)], np.zeros(7), atol=1e-14)
    np.testing.assert_allclose(np.sum(y * y), np.sum(u * u), rtol=1e-13)  # the bases are orthonormal
    np.testing.assert_allclose(transform.unconstrain(y), u, rtol=1e-13)
    compiled = numba.njit(lambda u: np.sum(transform.constrain(u) ** 3))
    plain = contad.grad(lambda u: np.sum(transform.constrain(u) ** 3))(u)
    np.testing.assert_allclose(contad.grad(compiled)(u), plain, rtol=1e-12)


@pytest.mark.parametrize("function", [stan.softmax, stan.log_softmax])
def test_lists_of_vectors_are_each_for_itself(function):
    rows = [[0.3, -0.5, 1.2], [0.0, 700.0, 1.0]]
    np.testing.assert_array_equal(function(rows), np.stack([function(row) for row in rows]))


@pytest.mark.parametrize("function", [stan.inverse, lambda a: stan.mdivide_left(a, np.ones(2)), stan.eigenvalues_sym])
def test_nan_in_a_matrix_stays_nan(function):
    """Also of what is differentiated."""
    a = np.array([[np.nan, 0.5], [0.5, 1.0]])
    assert np.isnan(function(a)).all()
    assert np.isnan(contad.grad(lambda a: np.sum(function(a)))(a)).any()


def damage(a, rng):
    """The array with a fault at a random place, or without one."""
    a = a.copy()
    at = tuple(rng.integers(size) for size in a.shape)
    a[at] = rng.choice([math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-9, a[at] + 1e-9, a[at] + 1e-7, 1e200, a[at]])
    return a


GOOD = {
    "symmetric": np.array([[1.0, 0.3, 0.1], [0.3, 1.2, 0.2], [0.1, 0.2, 0.9]]),
    "correlation": np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]]),
    "Cholesky factor": np.array([[1.0, 0.0, 0.0], [0.3, 1.2, 0.0], [0.1, 0.2, 0.9]]),
    "simplex": np.array([0.2, 0.3, 0.5]),
    "count": np.array([2.0, 0.0, 1.0]),
    **{kind: np.array([0.2, 1.3, 0.5]) for kind in ("real", "finite", "positive", "positive finite")},
}


@pytest.mark.parametrize("kind", GOOD)
def test_first_looks_never_pass_a_bad_argument(kind):
    """The looks that come first never pass what the checks behind them refuse, but for matrices that are not finite."""
    rng = np.random.default_rng(17)
    known = domains.KINDS[kind]
    assert known.is_surely(GOOD[kind])
    for _ in range(300):
        a = damage(damage(GOOD[kind], rng), rng)
        if known.is_surely(a) and (kind != "symmetric" or np.isfinite(a).all()):
            known.require("f", "a", a)


SCALES = ["gp_exponential_cov", "gp_matern32_cov", "gp_matern52_cov"]


@pytest.mark.parametrize("name", [*SCALES, "gp_exp_quad_cov", "gp_periodic_cov", "gp_dot_prod_cov"])
def test_covariances_take_points_and_scales_of_stan(name):
    """By the checks in Stan Math's sources of these functions."""
    covariance, rest = getattr(stan, name), {"gp_periodic_cov": (1.3, 2.0), "gp_dot_prod_cov": ()}.get(name, (1.3,))
    x = np.array([0.3, 1.2])
    for bad in ([0.3, math.nan], [[0.3, 0.1], [math.nan, 0.2]]):
        for points in ((bad,), (bad, bad), ([0.1, 0.2], [0.3, math.nan])):
            if np.ndim(points[0]) == np.ndim(points[-1]):
                with pytest.raises(ValueError, match=f"{name}: x[12] must be"):
                    covariance(*points, 1.2, *rest)
    for sigma in (-1.0, math.nan):
        with pytest.raises(ValueError, match=f"{name}: sigma must be"):
            covariance(x, sigma, *rest)
    finite = name in [*SCALES, "gp_dot_prod_cov"]
    if finite:
        with pytest.raises(ValueError, match=f"{name}: sigma must be .*finite, got inf"):
            covariance(x, math.inf, *rest)
    else:
        assert np.all(covariance(x, math.inf, *rest) == math.inf)
    if name in SCALES:
        with pytest.raises(ValueError, match=f"{name}: length_scale must be positive and finite, got inf"):
            covariance(x, 1.2, math.inf)
    if name in [*SCALES, "gp_exp_quad_cov"]:
        with pytest.raises(ValueError, match="length_scale must be positive and finite, got inf at index 1"):
            covariance([[0.3, 0.1]], 1.2, [1.0, math.inf])
    assert covariance([], 1.2, *rest).shape == (0, 0)
    slope = contad.grad(lambda s: np.sum(covariance(x, s, *rest)))(1.2)
    higher, lower = (np.sum(covariance(x, s, *rest)) for s in (1.2 + 1e-6, 1.2 - 1e-6))
    assert slope == pytest.approx((higher - lower) / 2e-6, rel=1e-7)


@pytest.mark.parametrize(("name", "args"), [
    ("inc_beta", (1.0, 1.0, 1.2)), ("inc_beta", (-1.0, 1.0, 0.2)), ("gamma_p", (-1.0, 0.3)),
    ("gamma_q", (1.0, -0.3)), ("acosh", (0.5,)), ("atanh", (1.5,)), ("log1p", (-2.0,)), ("log1m", (2.0,)),
    ("sqrt", (-1.0,)), ("log", (-1.0,)),
])  # fmt: skip
def test_functions_of_numbers_are_nan_outside_of_their_domain(name, args):
    """As NumPy's, not as Stan's, which raise: notes/guide/coming-from.md says so."""
    with np.errstate(all="ignore"):
        assert math.isnan(getattr(stan, name)(*args))
        assert np.isnan(getattr(stan, name)(*(np.array([x, x]) for x in args))).all()


@pytest.mark.parametrize("function", [stan.singular_values, stan.generalized_inverse])
def test_singular_values_of_nan_do_not_exist(function):
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        function([[math.nan, 1.0], [1.0, 2.0]])
    assert function(np.zeros((0, 0))).size == 0


def test_series_at_one_and_beyond():
    assert stan.hypergeometric_2F1(2.0, 1.0, 2.0, -3.0) == pytest.approx(0.25, rel=1e-14)
    assert stan.hypergeometric_3F2([1.0, 1.0, 0.5], [2.0, 1.5], 1.0) == pytest.approx(2.0 * math.log(2.0), rel=1e-12)
    a, b = np.array([1.3, 0.7, 0.4]), np.array([2.4, 1.9])
    for z in (1.0, -1.0):
        slopes = contad.grad(stan.hypergeometric_3F2)(a, b, z)
        for slope, e in zip(slopes, np.eye(3) * 1e-5, strict=True):
            higher, lower = (stan.hypergeometric_3F2(a + sign * e, b, z) for sign in (1.0, -1.0))
            assert slope == pytest.approx((higher - lower) / 2e-5, rel=1e-7)


@pytest.mark.parametrize(("name", "args", "message"), [
    ("dirichlet_lpdf", ([0.3, 0.7], [1.0, -math.inf]), "alpha must be positive, got -inf at index 1"),
    ("normal_lpdf", ([0.1], [0.1, 0.2, 0.3], 1.0), r"mu must have the shape of y, \(1,\), got shape \(3,\)"),
    ("normal_id_glm_lpdf", ([0.1], [[0.1]], 0.0, [0.3], -1.0), "sigma must be positive and finite, got -1.0"),
    ("binomial_logit_glm_lpmf", ([3], [2], [[0.1]], 0.0, [0.3]), "n must be at most N, got 3"),
    ("multi_normal_lpdf", ([0.1], [0.1, 0.2], np.eye(2)), r"y and mu must have .*, got y of shape \(1,\), mu"),
    ("categorical_lpmf", (1, 1.0), "theta must be a vector, got theta = 1.0"),
    ("categorical_logit_lpmf", (2, 3.0), "beta must be a vector, got beta = 3.0"),
    ("categorical_logit_lpmf", (2, np.eye(2)), r"beta must be a vector, got beta of shape \(2, 2\)"),
    ("dirichlet_multinomial_lpmf", (0, 2.0), "n and alpha must have the same length, got n = 0, alpha = 2.0"),
    ("dirichlet_lpdf", (1.0, 2.0), "theta and alpha must have the same length, got theta = 1.0, alpha = 2.0"),
    ("multinomial_lpmf", (1, 1.0), "n and theta must have the same length, got n = 1, theta = 1.0"),
    ("categorical_logit_glm_lpmf", ([], [], [], []), r"y must be .* for each row of x, got y of shape \(0,\), x"),
    ("categorical_logit_glm_lpmf", ([], [], 1.0, np.zeros((0, 2))), "y must be .* for each row of x, got y of"),
    ("categorical_logit_glm_lpmf", (1, [], 1.0, []), "alpha must have .* of beta, got alpha = 1.0, beta of shape"),
])  # fmt: skip
def test_messages_name_function_and_argument(name, args, message):
    with pytest.raises(ValueError, match=f"{name}: {message}"):
        getattr(stan, name)(*args)


def test_one_category_is_sure():
    assert stan.ordered_logistic_lpmf(1, 0.7, []) == 0.0


BOUNDS = stan.lower_bound(lambda p: p.low, (2,))


def bounded(u):
    return BOUNDS.constrain(u)


def solve(y):
    return stan.ode_adjoint_tol_ctl(1.0, y, 0.0, y)


@pytest.mark.parametrize(("function", "x", "message"), [
    (solve, np.zeros(2), "contad.stan.ode_adjoint_tol_ctl cannot be called inside njit; call ode_adams, or ode_bdf"),
    (bounded, np.zeros(2), r"lower must be numbers or arrays, not variables; call lower_bound_constrain\(u, lower\)"),
])  # fmt: skip
def test_refusals_inside_njit_name_the_remedy(function, x, message):
    with pytest.raises((contad.UnsupportedError, numba.TypingError), match=message):
        numba.njit(function)(x)


def test_a_recorded_program_checks_again():
    program = contad.record(lambda a, y: stan.multi_normal_lpdf(y, np.zeros(2), a), np.eye(2), np.ones(2))
    expected = stan.multi_normal_lpdf(np.ones(2), np.zeros(2), 2.0 * np.eye(2))
    assert program(2.0 * np.eye(2), np.ones(2)) == pytest.approx(expected)
    for a, y in (([[1.0, 0.5], [0.2, 1.0]], [1.0, 1.0]), ([[1.0, 0.5], [0.5, 1.0]], [1.0, np.nan])):
        with pytest.raises((ValueError, contad.errors.GuardError)):
            program(np.array(a), np.array(y))
