"""Distribution functions: against integrals of the densities' definitions, SciPy's values, and in the tails."""

import math

import numpy as np
import pytest
import scipy.stats
from mpmath import mp

import contad
from contad import stan
from contad.distributions.faces import Face, function_of_text
from contad.distributions.incomplete_logarithms import log_beta_part, log_gamma_part
from contad.distributions.rice_probabilities import log_rice_part
from contad.scipy import stats
from contad.stan import densities, distribution_functions
from tests.distributions.mirror_points import BY_NAME, CONTINUOUS, DISCRETE, K, X, is_lost, shapes_of
from tests.distributions.reference_densities import LOG_DENSITIES, POINTS

NAMES = sorted(
    name[:-6]
    for name, face in vars(distribution_functions).items()
    if isinstance(face, Face) and name.endswith("lccdf")
)
WHOLE = [name for name in NAMES if hasattr(densities, f"{name}_lpmf")]


def point_of(name):
    return POINTS[f"{name}_lpmf" if name in WHOLE else f"{name}_lpdf"][0]


@pytest.mark.parametrize("name", WHOLE)
def test_values_are_sums(name):
    """Of the masses by their definitions."""
    n, *args = point_of(name)
    mass, numbers = LOG_DENSITIES[f"{name}_lpmf"], range(name == "yule_simon", int(n) + 1)
    exact = float(mp.fsum(mp.exp(mass(mp.mpf(k), *map(mp.mpf, args))) for k in numbers))
    assert getattr(stan, f"{name}_cdf")(n, *args) == pytest.approx(exact, rel=1e-12)
    if exact < 1.0:
        assert getattr(stan, f"{name}_lcdf")(n, *args) == pytest.approx(np.log(exact), rel=1e-11)
        assert getattr(stan, f"{name}_lccdf")(n, *args) == pytest.approx(np.log1p(-exact), rel=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_both_sides_are_one(name):
    for point in POINTS[f"{name}_lpmf" if name in WHOLE else f"{name}_lpdf"][:3]:
        below, above = (np.exp(getattr(stan, f"{name}_{kind}")(*point)) for kind in ("lcdf", "lccdf"))
        if np.isnan(below + above):  # one of them underflows
            continue
        assert below + above == pytest.approx(1.0, rel=1e-12)
        if name != "beta_proportion":
            assert getattr(stan, f"{name}_cdf")(*point) == pytest.approx(below, rel=1e-11)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WHOLE])
@pytest.mark.parametrize("kind", ["lcdf", "lccdf"])
def test_derivatives(name, kind):
    """By y that of the density over the probability; by a parameter against differences."""
    face = getattr(stan, f"{name}_{kind}")
    point = point_of(name)
    sign = 1.0 if kind == "lcdf" else -1.0
    slopes = contad.grad(face, tuple(range(len(point))))(*point)
    density = getattr(stan, f"{name}_lpdf")(*point)
    assert slopes[0] == pytest.approx(sign * np.exp(density - face(*point)), rel=1e-12)
    for k in range(1, len(point)):
        h = 1e-4 * abs(point[k])
        ends = [face(*(x + j * h if i == k else x for i, x in enumerate(point))) for j in (-2, -1, 1, 2)]
        assert slopes[k] == pytest.approx(
            (8 * (ends[2] - ends[1]) - (ends[3] - ends[0])) / (12 * h), rel=1e-7, abs=1e-10
        )


@pytest.mark.parametrize("name", ["beta_binomial", "beta_neg_binomial"])
@pytest.mark.parametrize("kind", ["lcdf", "lccdf"])
def test_parameters_of_mixed_counts(name, kind):
    """By mpmath, of the sums of the masses by their definition; in both tails."""
    face, mass = getattr(stan, f"{name}_{kind}"), LOG_DENSITIES[f"{name}_lpmf"]
    tails = {"beta_binomial": (90.0, 100.0, 3.0, 50.0), "beta_neg_binomial": (4.0, 0.7, 30.0, 1.4)}
    for n, *args in (*POINTS[f"{name}_lpmf"], tails[name]):
        first = 1 if name == "beta_binomial" else 0
        fixed, free = args[:first], args[first:]

        def exact(*xs, n=n, fixed=fixed):
            below = mp.fsum(mp.exp(mass(mp.mpf(k), *fixed, *xs)) for k in range(int(n) + 1))
            return mp.log(below if kind == "lcdf" else 1 - below)

        if fixed and n >= fixed[0]:
            continue
        slopes = contad.grad(face, tuple(range(1 + first, 1 + len(args))))(n, *args)
        with mp.workdps(60):
            assert face(n, *args) == pytest.approx(float(exact(*map(mp.mpf, free))), rel=1e-11)
            for k, slope in enumerate(slopes):
                orders = tuple(int(j == k) for j in range(len(free)))
                assert slope == pytest.approx(float(mp.diff(exact, tuple(map(mp.mpf, free)), orders)), rel=1e-10)


METHODS = ("cdf", "sf", "logcdf", "logsf")
DIFFERENT = {
    ("chi", "logsf"), ("maxwell", "logsf"), ("halfnorm", "logcdf"), ("halfnorm", "logsf"), ("poisson", "logcdf"),
    ("geom", "logcdf"), ("rice", "sf"), ("rice", "logsf"), ("rice", "logcdf"),
    ("logser", "logcdf"), ("planck", "logcdf"),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in (*CONTINUOUS, *DISCRETE) if hasattr(BY_NAME[name], "cdf")])
def test_mirrors_have_scipys_values(name):
    own, theirs, shapes = BY_NAME[name], getattr(scipy.stats, name), shapes_of(name)
    x = X if name in CONTINUOUS else K[K != 0.5] if name == "hypergeom" else K  # where SciPy's is nan
    places = ((0.0, 1.0), (0.3, 2.0), (0.3, -2.0)) if name in CONTINUOUS else ((0.0,),)
    for place in places:
        for method in METHODS:
            with np.errstate(all="ignore"):
                expected = getattr(theirs, method)(x, *shapes, *place)
            found = getattr(own, method)(x, *shapes, *place)
            # where SciPy loses digits, or underflows
            far = (
                x >= (7.0 if name in ("halfnorm", "geom", "poisson", "rice") else 40.0)
                if (name, method) in DIFFERENT
                else np.zeros(len(x), bool)
            )
            rtol = 2e-11
            if name == "skewnorm":  # in the light tail SciPy's differs from mpmath's by 1.6e-9, and underflows
                far, rtol = far | (np.abs(x) > 20.0), 2e-9
            far = far | is_lost(found, expected)
            np.testing.assert_allclose(found[~far], expected[~far], rtol=rtol, err_msg=f"{method} {place}")


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if hasattr(BY_NAME[name], "ppf")])
def test_quantiles_invert(name):
    own, shapes = BY_NAME[name], shapes_of(name)
    q = np.array([1e-8, 0.01, 0.3, 0.5, 0.8, 0.99])
    np.testing.assert_allclose(own.cdf(own.ppf(q, *shapes, 0.0, 2.0), *shapes, 0.0, 2.0), q, rtol=1e-7)
    rtol = 0.2 if name == "arcsine" else 1e-7  # whose quantiles have no number so near 1
    np.testing.assert_allclose(own.sf(own.isf(q, *shapes, 0.0, 2.0), *shapes, 0.0, 2.0), q, rtol=rtol)
    slope = contad.grad(own.ppf)(0.3, *shapes, 0.3, 2.0)
    assert slope == pytest.approx(1.0 / own.pdf(own.ppf(0.3, *shapes, 0.3, 2.0), *shapes, 0.3, 2.0), rel=1e-10)
    for inverse, function in ((own.ppf, own.cdf), (own.isf, own.sf)):  # which parameters leave as it is
        moved = contad.grad(lambda *s, f=function, g=inverse: f(g(0.2, *s), *s), tuple(range(len(shapes) + 2)))
        assert moved(*shapes, 0.3, 2.0) == pytest.approx((0.0,) * (len(shapes) + 2), abs=1e-12)
    assert np.isnan(own.ppf(1.5, *shapes)) and np.isnan(own.ppf(0.5, *shapes, 0.0, -1.0))


def log_part_of_gamma(upper, a, x):
    ends = (x, mp.inf) if upper else (0, x)
    return mp.log(mp.gammainc(a, *ends, regularized=True))


def log_part_of_beta(a, b, t):
    return mp.log(mp.betainc(a, b, 0, t / (1 + t), regularized=True))


# beside a central one each, where the functions underflow, by 10^-350 to 10^-10000
FAR = [
    (log_gamma_part, log_part_of_gamma, (0.0, 2.3, 1.7), (0.0, 4.0, 1e-90), (0.0, 300.0, 20.0), (1.0, 0.2, 800.0)),
    (log_gamma_part, log_part_of_gamma, (1.0, 2.3, 1.7), (1.0, 3.1, 900.0), (1.0, 500.0, 5000.0), (1.0, 40.0, 1e4)),
    (log_beta_part, log_part_of_beta, (0.6, 3.2, 1.3), (3.1, 0.8, 1e-120), (40.0, 3.0, 1e-30), (900.0, 700.0, 0.2)),
    (log_beta_part, log_part_of_beta, (2.3, 1.7, 1e12), (500.0, 0.5, 0.04), (1e4, 2.0, 0.1), (2.0, 1e3, 1e-170)),
]


@pytest.mark.parametrize(
    ("f", "reference", "point"), [(f, reference, point) for f, reference, *points in FAR for point in points]
)
@mp.workdps(40)
def test_incomplete_functions_that_underflow(f, reference, point):
    first = 1 if f is log_gamma_part else 0
    exact = list(map(mp.mpf, point))
    along = lambda k: lambda x: reference(*exact[:k], x, *exact[k + 1 :])
    assert f(*point) == pytest.approx(float(reference(*exact)), rel=1e-14)
    for k, slope in enumerate(contad.grad(f, tuple(range(first, 3)))(*point), first):
        assert slope == pytest.approx(float(mp.diff(along(k), exact[k], h=exact[k] * mp.mpf("1e-15"))), rel=1e-12)
    second = contad.grad(lambda x: contad.grad(f, first)(*point[:first], x, *point[first + 1 :]))(point[first])
    assert second == pytest.approx(float(mp.diff(along(first), exact[first], 2)), rel=1e-9)


@mp.workdps(40)
def test_rice_and_hypergeometric_tails():
    """By mpmath, of the integral of the density and the sum of the masses."""

    def rice(upper, r, b):
        ends = [r, r + 1, r + 4, r + 20] if upper else [0, r]
        top = (r - b) ** 2 / 2  # without which the quadrature ends too early
        return mp.log(mp.quad(lambda u: u * mp.exp(top - (u * u + b * b) / 2) * mp.besseli(0, b * u), ends)) - top

    near_zero = -921.0340371976183 - math.log(2.0) - 0.5 * 1.9**2
    assert log_rice_part(0.0, 1e-200, 1.9) == pytest.approx(near_zero, rel=1e-14)
    assert log_rice_part(1.0, 1e9, 2.0) == pytest.approx(-0.5 * (1e9 - 2.0) ** 2, rel=1e-14)
    assert log_rice_part(1.0, 1e200, 2.0) == -math.inf
    for point in ((0.0, 0.7, 1.3), (1.0, 60.0, 3.0), (0.0, 1e-3, 40.0)):
        assert log_rice_part(*point) == pytest.approx(float(rice(*map(mp.mpf, point))), rel=1e-13)
        for k, slope in enumerate(contad.grad(log_rice_part, (1, 2))(*point), 1):
            ends = [rice(*(mp.mpf(x) * (1 + j * (i == k)) for i, x in enumerate(point))) for j in (-1e-8, 1e-8)]
            assert slope == pytest.approx(float((ends[1] - ends[0]) / (2e-8 * point[k])), rel=1e-9)
    masses = [mp.binomial(300, k) * mp.binomial(700, 400 - k) / mp.binomial(1000, 400) for k in range(301)]
    for k in (0.0, 10.0, 119.0, 121.0, 299.0):
        below, above = mp.fsum(masses[: int(k) + 1]), mp.fsum(masses[int(k) + 1 :])
        assert stats.hypergeom.logcdf(k, 1000.0, 300.0, 400.0) == pytest.approx(float(mp.log(below)), rel=1e-11)
        assert stats.hypergeom.logsf(k, 1000.0, 300.0, 400.0) == pytest.approx(float(mp.log(above)), rel=1e-11)


def test_tails():
    assert stan.normal_lcdf(-40.0, 0.0, 1.0) == pytest.approx(-804.6084420137538, rel=1e-15)
    assert contad.grad(stan.normal_lcdf)(-40.0, 0.0, 1.0) == pytest.approx(40.02496886, rel=1e-9)
    assert stan.logistic_lccdf(800.0, 0.0, 1.0) == -800.0
    assert stats.truncnorm.logsf(40.0, -50.0, 50.0) == pytest.approx(-804.6084420137538, rel=1e-14)
    assert stats.truncnorm.logcdf(-40.0, -50.0, 50.0) == pytest.approx(-804.6084420137538, rel=1e-14)
    assert contad.grad(stats.truncnorm.logsf)(40.0, -50.0, 50.0) == pytest.approx(-40.02496886, rel=1e-9)
    assert stan.gumbel_lccdf(900.0, 0.0, 1.0) == -900.0
    assert stan.exponential_lcdf(1e-30, 2.0) == pytest.approx(np.log(2e-30), rel=1e-15)


def test_products_and_sums():
    y = [0.3, 1.2]
    assert stan.normal_cdf(y, 0.1, 2.0) == pytest.approx(np.prod(stats.norm.cdf(y, 0.1, 2.0)), rel=1e-15)
    assert stan.normal_lccdf(y, 0.1, 2.0) == pytest.approx(np.sum(stats.norm.logsf(y, 0.1, 2.0)), rel=1e-15)
    with pytest.raises(ValueError, match="normal_lcdf: sigma must be positive, got -2.0"):
        stan.normal_lcdf(y, 0.1, -2.0)


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
def test_compiled_code(engine):
    numba = pytest.importorskip("numba")

    @numba.njit
    def f(y, mu, sigma):
        return stan.normal_lcdf(y, mu, sigma) + stan.normal_cdf(y, mu, sigma)

    expected = contad.grad(f.py_func, (0, 1, 2))(0.3, 0.1, 2.0)
    assert contad.grad(f, (0, 1, 2), engine=engine)(0.3, 0.1, 2.0) == pytest.approx(expected, rel=1e-13)


# ---- where a parameter is at the end of its domain: derivatives from the one side that there is ----------------------
AT_ENDS = [
    ("poisson_lcdf(2, {})", 0.0, lambda r: mp.log(mp.exp(-r) * (1 + r + r**2 / 2))),
    ("poisson_cdf(2, {})", 0.0, lambda r: mp.exp(-r) * (1 + r + r**2 / 2)),
    ("poisson_cdf(1, {})", 0.0, lambda r: mp.exp(-r) * (1 + r)),
    ("poisson_lcdf(0, {})", 0.0, lambda r: -r),
    ("poisson_lccdf(2, {})", math.inf, lambda r: mp.mpf(0)),
    ("poisson_cdf(2, {})", math.inf, lambda r: mp.mpf(0)),
    ("binomial_lcdf(1, 3, {})", 0.0, lambda p: mp.log((1 - p) ** 3 + 3 * p * (1 - p) ** 2)),
    ("binomial_lcdf(0, 3, {})", 0.0, lambda p: 3 * mp.log(1 - p)),
    ("binomial_cdf(1, 3, {})", 0.0, lambda p: (1 - p) ** 3 + 3 * p * (1 - p) ** 2),
    ("binomial_cdf(1, 3, {})", 1.0, lambda p: (1 - p) ** 3 + 3 * p * (1 - p) ** 2),
    ("binomial_lccdf(1, 3, {})", 1.0, lambda p: mp.log(p**3 + 3 * p**2 * (1 - p))),
    ("binomial_lccdf(2, 3, {})", 1.0, lambda p: 3 * mp.log(p)),
    ("exponential_cdf({}, 1.3)", 0.0, lambda y: 1 - mp.exp(-1.3 * y)),
    ("exponential_lccdf({}, 1.3)", 0.0, lambda y: -1.3 * y),
    ("pareto_type_2_cdf({}, 0.4, 1.3, 0.7)", 0.4, lambda y: 1 - (1 + (y - 0.4) / 1.3) ** -0.7),
    ("pareto_type_2_lccdf({}, 0.4, 1.3, 0.7)", 0.4, lambda y: -0.7 * mp.log(1 + (y - 0.4) / 1.3)),
    ("gamma_p(3.0, {})", 0.0, lambda x: 1 - mp.exp(-x) * (1 + x + x**2 / 2)),
    ("gamma_q(1.0, {})", 0.0, lambda x: mp.exp(-x)),
    ("inc_beta(2.0, 2.0, {})", 0.0, lambda x: 3 * x**2 - 2 * x**3),
    ("inc_beta(2.0, 1.0, {})", 1.0, lambda x: x**2),
]
LINES = [eval(f"lambda x: stan.{call.format('x')}") for call, _, _ in AT_ENDS]


@pytest.mark.parametrize("k", range(len(AT_ENDS)))
def test_derivatives_at_the_ends_of_parameters(k):
    """Of the first three orders."""
    (_, x, exact), f = AT_ENDS[k], LINES[k]
    for order in (1, 2, 3):
        f = contad.grad(f)
        expected = 0.0 if math.isinf(x) else float(mp.diff(exact, x, order))
        assert f(x) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("k", range(len(AT_ENDS)))
def test_engines_agree_at_the_ends_of_parameters(k):
    x, f = AT_ENDS[k][1], LINES[k]
    expected = contad.grad(f)(x)
    assert contad.jvp(f, (x,), (1.0,))[1] == expected and contad.grad(contad.record(f, x))(x) == expected
    assert contad.grad(f, engine="closures")(x) == contad.grad(f, engine="records")(x) == expected
    np.testing.assert_array_equal(contad.grad(lambda x: np.sum(f(x)))(np.array([x])), [expected])


@pytest.mark.parametrize("chosen", [(0, 6, 12), pytest.param(range(len(AT_ENDS)), marks=pytest.mark.long)])
def test_compiled_code_at_the_ends_of_parameters(chosen):
    """Lines in one function, with both orders of Python: on the tape, too, where they are all lines."""
    numba = pytest.importorskip("numba")
    ends = np.array([AT_ENDS[k][1] for k in chosen])
    terms = " + ".join(f"stan.{AT_ENDS[k][0].format(f'x[{i}]')}" for i, k in enumerate(chosen))
    total = numba.njit(function_of_text(f"def total(x):\n    return {terms}\n", "total", {"stan": stan}))
    slopes = np.array([contad.grad(LINES[k])(x) for k, x in zip(chosen, ends, strict=True)])
    for engine in ("generated", "tape")[: 1 + (len(chosen) > 3)]:
        np.testing.assert_allclose(contad.grad(total, engine=engine)(ends), slopes, rtol=1e-12, atol=1e-14)
    weights = 0.5 + np.arange(len(ends)) / 10
    curved = [contad.grad(contad.grad(LINES[k]))(x) for k, x in zip(chosen, ends, strict=True)]
    np.testing.assert_allclose(contad.hvp(total)(ends, weights), weights * curved, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["discrete_range_lpmf", "discrete_range_lcdf", "discrete_range_lccdf"])
def test_by_whole_bounds_nothing_is_differentiated(name):
    density = getattr(contad.stan, name)

    def f(lower, upper, scale):
        return density(3, lower, upper) * scale

    expected = 0.0, 0.0, density(3, 0.0, 7.0)
    assert contad.grad(f, (0, 1, 2))(0.0, 7.0, 2.0) == pytest.approx(expected)
    assert contad.record(f, 0.0, 7.0, 2.0).gradient(0.0, 7.0, 2.0) == pytest.approx(expected)


@pytest.mark.parametrize("beta", [1e3, 1e5, 1e8, 1e300])
def test_a_sum_that_is_too_long_and_not_needed_has_no_part_in_a_derivative(beta):
    """That above n is one of more than 10^5 terms where beta is large, and nearly 1."""
    args = 100, 2.0, 2.4, beta
    below, of_below = contad.value_and_grad(stan.beta_neg_binomial_lcdf, argnums=(1, 2, 3))(*args)
    above, of_above = contad.value_and_grad(stan.beta_neg_binomial_lccdf, argnums=(1, 2, 3))(*args)
    assert np.all(np.isfinite(of_below)) and of_below[0] < -1.0
    np.testing.assert_allclose(of_above, -np.exp(below - above) * np.array(of_below), rtol=1e-12)
