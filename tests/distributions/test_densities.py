"""Stan's log densities: value and derivatives by mpmath, on every engine, and what they refuse."""

import linecache

import numpy as np
import pytest
from mpmath import mp

import contad
from contad import stan
from contad.distributions.faces import Face
from contad.stan import densities
from tests.distributions.reference_densities import LOG_DENSITIES, POINTS
from tests.judges.samples import sampled

FACES = {name: face for name, face in vars(densities).items() if isinstance(face, Face)}
CASES = [(name, point) for name in FACES for point in POINTS[name]]


def active_arguments(face):
    """The positions of the arguments that are differentiated."""
    return [k for k, name in enumerate(face.names) if name not in face.formula.body.whole]


def derivative(f, point, orders):
    """A partial derivative by mpmath; at 60 digits, where its differences keep 20."""
    with mp.workdps(60):
        return mp.diff(f, tuple(map(mp.mpf, point)), tuple(orders))


def unit(n, *places):
    return [places.count(k) for k in range(n)]


def test_every_density_has_a_reference():
    assert FACES.keys() == LOG_DENSITIES.keys() == POINTS.keys()
    assert sum(len(points) * (1 + len(active_arguments(FACES[name]))) for name, points in POINTS.items()) > 400


# ---- values and derivatives ------------------------------------------------------------------------------------------
ROUNDED = 40 * 2.0**-52  # of the terms that a value or a derivative is made of


@pytest.mark.parametrize("name", FACES)
def test_values_and_gradients(name):
    """As near as the conditioning allows: the size of the value, its parts, and what a rounded argument changes."""
    face, n = FACES[name], len(FACES[name].names)
    active = active_arguments(face)
    for point in POINTS[name]:
        found = face(*point)
        with mp.workdps(60):
            exact = LOG_DENSITIES[name](*map(mp.mpf, point))
        slopes = {k: derivative(LOG_DENSITIES[name], point, unit(n, k)) for k in active}
        scale = abs(exact) + 1 + sum(abs(point[k] * slopes[k]) for k in active)
        assert abs(found - exact) <= ROUNDED * scale, (point, found, exact)
        partials = contad.grad(face, tuple(active))(*point) if active else ()
        for k, partial in zip(active, partials, strict=True):
            curvature = sum(abs(point[j] * derivative(LOG_DENSITIES[name], point, unit(n, j, k))) for j in active)
            parts = (abs(slopes[k]) + curvature) + CANCELLED.get(name, 0.0) / max(abs(point[k]), 1e-3)
            assert abs(partial - slopes[k]) <= ROUNDED * parts, (point, face.names[k], partial, slopes[k])


# derivatives that are small differences of terms of this size, over the argument
CANCELLED = {"student_t_lpdf": 0.1, "exp_mod_normal_lpdf": 1.0}


@pytest.mark.parametrize("name", FACES)
def test_second_derivatives(name):
    face, n = FACES[name], len(FACES[name].names)
    active, point = active_arguments(FACES[name]), POINTS[name][0]
    if not active:
        return
    found = contad.hessian(lambda p: face(*[p[active.index(k)] if k in active else point[k] for k in range(n)]))(
        np.array([point[k] for k in active])
    )
    for i, j in np.ndindex(*found.shape):
        exact = derivative(LOG_DENSITIES[name], point, unit(n, active[i], active[j]))
        assert found[i, j] == pytest.approx(float(exact), rel=1e-11, abs=1e-12)


# ---- arrays and engines ----------------------------------------------------------------------------------------------
def arrays_at(name):
    """The first two points, and the first again, as arrays."""
    points = [*POINTS[name][:2], POINTS[name][0]]
    return [np.array(column) for column in zip(*points, strict=True)]


@pytest.mark.parametrize("name", FACES)
def test_arrays_are_sums_of_numbers(name):
    face, args = FACES[name], arrays_at(name)
    active = tuple(active_arguments(face))
    rows = list(zip(*args, strict=True))
    assert face(*args) == pytest.approx(sum(face(*row) for row in rows), rel=1e-13)
    assert face(*map(list, args)) == face(*args)
    if active:
        found = contad.grad(face, active)(*args)
        each = [contad.grad(face, active)(*map(float, row)) for row in rows]
        for k, gradient in enumerate(found):
            np.testing.assert_allclose(gradient, [row[k] for row in each], rtol=1e-12)


@pytest.mark.parametrize("name", FACES)
def test_constants_that_are_dropped(name):
    """Without them the value differs by what no derivative sees."""
    face, args = FACES[name], arrays_at(name)
    active = tuple(active_arguments(face))
    short = lambda *xs: face(*xs, propto=True)
    if not active:
        assert short(*args) == 0.0
        return
    for u, v in zip(contad.grad(short, active)(*args), contad.grad(face, active)(*args), strict=True):
        np.testing.assert_allclose(u, v, rtol=1e-14)


def log_choices(n, N, *args):
    return mp.log(mp.binomial(N, n))


@pytest.mark.parametrize(
    ("f", "points", "constant"),
    [(stan.poisson_lpmf, [(3.0, 2.4), (0.0, 1e-3), (1e5, 9e4)], lambda n, rate: -mp.loggamma(n + 1)),
     (stan.poisson_log_lpmf, [(3.0, 0.4), (0.0, -900.0), (1e5, 11.4)], lambda n, alpha: -mp.loggamma(n + 1)),
     (stan.binomial_lpmf, [(3.0, 7.0, 0.3), (0.0, 9.0, 0.0), (9.0, 9.0, 1.0), (5e3, 9e3, 0.6)], log_choices),
     (stan.binomial_logit_lpmf, [(3.0, 7.0, 0.4), (0.0, 9.0, -90.0), (5e3, 9e3, 0.6)], log_choices),
     (stan.beta_binomial_lpmf, [(3.0, 7.0, 0.4, 2.0), (0.0, 9.0, 1e-9, 3.0), (5e3, 9e3, 7.0, 6.0)], log_choices)],
)  # fmt: skip
@mp.workdps(30)
def test_constants_are_those_that_stan_drops(f, points, constant):
    """Factorials of the data, and all of them."""
    for point in points:
        short = f(*point, propto=True)
        expected = float(LOG_DENSITIES[f.__name__](*map(mp.mpf, point)) - constant(*map(mp.mpf, point)))
        assert short == pytest.approx(expected, rel=1e-13, abs=1e-13)
        assert contad.grad(f, 1 if len(point) == 2 else 2)(*point) == pytest.approx(
            contad.grad(lambda *args: f(*args, propto=True), 1 if len(point) == 2 else 2)(*point), rel=1e-12
        )


@pytest.mark.parametrize("engine", ["closures", "records", "matrix"])
@pytest.mark.parametrize("name", sampled(sorted(FACES), 6, family=lambda name: name[-4:]))
def test_eager_engines(name, engine):
    face, args = FACES[name], arrays_at(name)
    active = tuple(active_arguments(face))
    if not active:
        assert contad.grad(lambda x: face(*args) + x, engine=engine)(0.3) == 1.0
        return
    found = contad.grad(face, active, engine=engine)(*args)
    for u, v in zip(found, contad.grad(face, active)(*args), strict=True):
        np.testing.assert_allclose(u, v, rtol=1e-13)


COMPILED = ["normal_lpdf"]


def compiled(name, shape):
    """A Numba function of the differentiated arguments that calls a density of Stan's through the package."""
    numba = pytest.importorskip("numba")
    face, args = FACES[name], arrays_at(name)
    if shape == "numbers":
        args = [float(x[0]) for x in args]
    names = list(face.names)
    given = ", ".join(names)
    source = f"def f({given}):\n    return stan.{name}({given})\n"
    names = {"stan": stan, "__name__": __name__}
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), names)
    return numba.njit(names["f"]), args, tuple(active_arguments(face))


@pytest.mark.parametrize("engine", ["generated", pytest.param("tape", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "name", [*COMPILED, *(pytest.param(n, marks=pytest.mark.long) for n in FACES if n not in COMPILED)]
)
@pytest.mark.parametrize("shape", ["numbers", pytest.param("arrays", marks=pytest.mark.long)])
def test_compiled_engines(name, engine, shape):
    f, args, active = compiled(name, shape)
    assert f(*args) == pytest.approx(FACES[name](*args), rel=1e-13)
    if active:
        found = contad.grad(f, active, engine=engine)(*args)
        expected = contad.grad(FACES[name], active)(*args)
        for u, v in zip(found, expected, strict=True):
            np.testing.assert_allclose(u, v, rtol=1e-11, atol=1e-13)


def test_recorded_programs():
    y = np.array([0.3, -0.7, 1.9])

    def f(mu, sigma):
        return stan.normal_lpdf(y, mu, sigma) + stan.student_t_lpdf(mu, 3.0, 0.0, sigma)

    program = contad.record(f, 0.2, 1.3)
    assert contad.grad(program, (0, 1))(0.5, 0.8) == pytest.approx(contad.grad(f, (0, 1))(0.5, 0.8), rel=1e-13)


# ---- edges -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "args", "message"), [
    ("normal_lpdf", (0.3, 0.1, -2.0), "normal_lpdf: sigma must be positive, got -2.0"),
    ("normal_lpdf", ([0.3, np.nan], 0.1, 2.0), "normal_lpdf: y must be a number, not nan, got nan at index 1"),
    ("normal_lpdf", (0.3, np.inf, 2.0), "normal_lpdf: mu must be finite, got inf"),
    ("poisson_lpmf", (-1, 0.1), "poisson_lpmf: n must be a nonnegative whole number, got -1"),
    ("poisson_lpmf", (1.5, 0.1), "poisson_lpmf: n must be a nonnegative whole number, got 1.5"),
    ("bernoulli_lpmf", (2, 0.1), "bernoulli_lpmf: n must be 0 or 1, got 2"),
    ("bernoulli_lpmf", (1, 1.1), "bernoulli_lpmf: theta must be between 0 and 1, got 1.1"),
    ("binomial_lpmf", (5, 4, 0.3), "binomial_lpmf: n must be at most N, got 5"),
    ("uniform_lpdf", (0.3, 1.0, 0.5), "uniform_lpdf: beta must be greater than alpha, got 0.5"),
])  # fmt: skip
def test_domains(name, args, message):
    with pytest.raises(ValueError) as refused:
        FACES[name](*args)
    assert str(refused.value).startswith(message)


def test_domains_in_compiled_code():
    numba = pytest.importorskip("numba")
    f = numba.njit(lambda y, mu, sigma: stan.normal_lpdf(y, mu, sigma))
    for call in (f, contad.grad(f)):
        with pytest.raises(ValueError, match="normal_lpdf: sigma must be positive"):
            call(0.3, 0.1, -2.0)


def test_arguments_by_name():
    assert stan.normal_lpdf(y=0.3, sigma=2.0, mu=0.1) == stan.normal_lpdf(0.3, 0.1, 2.0)
    with pytest.raises(TypeError, match="normal_lpdf: missing a required argument: 'sigma'"):
        stan.normal_lpdf(0.3, 0.1)


def test_outside_the_support():
    assert stan.inv_gamma_lpdf(-0.1, 2.0, 1.3) == -np.inf
    assert contad.grad(stan.inv_gamma_lpdf, (0, 1))(-0.1, 2.0, 1.3) == (0.0, 0.0)
    assert stan.pareto_lpdf(0.3, 0.4, 2.0) == -np.inf and stan.normal_lpdf(np.inf, 0.4, 2.0) == -np.inf


def test_far_tails():
    """Squares overflow there, and the densities are small numbers all the same."""
    assert stan.cauchy_lpdf(1e200, 0.0, 1.0) == pytest.approx(-np.log(np.pi) - 400 * np.log(10.0), rel=1e-14)
    assert contad.grad(stan.cauchy_lpdf)(1e200, 0.0, 1.0) == pytest.approx(-2e-200, rel=1e-14)
    assert contad.grad(stan.student_t_lpdf)(1e200, 4.0, 0.0, 1.0) == pytest.approx(-5e-200, rel=1e-14)
    assert stan.logistic_lpdf(-1e300, 0.0, 1.0) == -1e300


def test_zero_counts_at_the_edge():
    """No nan where a count of 0 meets a probability of 0."""
    assert stan.poisson_lpmf(0, 0.0) == 0.0 and contad.grad(stan.poisson_lpmf, 1)(0, 0.0) == -1.0
    assert stan.binomial_lpmf(0, 4, 0.0) == 0.0 and contad.grad(stan.binomial_lpmf, 2)(0, 4, 0.0) == -4.0
    assert contad.grad(stan.bernoulli_lpmf, 1)(0, 0.0) == -1.0
