"""Models of posteriordb, whole vectors at a time: those of `posteriors`, with numbers of a generator for data."""

import numpy as np
from numba import njit

from benchmarks.real import posteriors as models
from benchmarks.real.program import Real


def _flags(rng, n):
    return rng.integers(0, 2, n).astype(float)


def _counts(rng, mean, n):
    return rng.poisson(mean, n).astype(float)


def _normal(rng, *shape):
    return 0.5 * rng.normal(size=shape)


def _positive(rng, *shape):
    return rng.uniform(0.5, 1.5, shape)


def _make_diamonds(rng, n):
    x = rng.normal(size=(n, 6))
    return _normal(rng, 6), 7.9, 0.8, x, x.mean(axis=0), 8.0 + rng.normal(size=n)


def _make_seeds(rng, n):
    total = rng.integers(5, 80, n).astype(float)
    return _normal(rng, 4), 1.3, _normal(rng, n), rng.normal(size=(n, 4)), np.floor(0.4 * total), total


def _make_years(rng, n):
    year = np.linspace(-1.0, 1.0, n)
    return 0.7, _normal(rng, 3), _normal(rng, n), 0.6, year, year**2, year**3, _counts(rng, 4.0, n)


def _make_answers(rng, n):
    persons, items = (x.ravel() for x in np.indices((n, 6)))
    params = rng.normal(size=n), _positive(rng, 6), rng.normal(size=6), 0.7, 0.2, 1.1
    return *params, persons, items, _flags(rng, 6 * n)


def _make_drivers(rng, n):
    data = rng.normal(size=n), _flags(rng, n), rng.normal(size=n)
    return rng.normal(size=n), _normal(rng, n), _positive(rng, 3), 0.3, -0.2, *data


def _make_process(rng, n):
    x = np.linspace(-2.0, 2.0, n)
    return 1.3, 0.8, rng.normal(size=n), (x[:, None] - x[None, :]) ** 2, _counts(rng, 3.0, n)


def _make_motorcycles(rng, n):
    bases = rng.normal(size=(n, 9)), rng.normal(size=(n, 5))
    return *(rng.normal(size=k) for k in (2, 9, 5)), _positive(rng, 4), np.arange(1.0, 10.0), *bases, rng.normal(size=n)


def _make_groups(rng, n):
    params = rng.normal(size=5), rng.normal(size=8), _normal(rng, 2), _positive(rng, 3)
    return *params, rng.integers(0, 5, n), rng.integers(0, 8, n), rng.normal(size=n)


def _make_houses(rng, n):
    return 1.1, 0.7, rng.normal(size=9), 0.8, -0.6, rng.integers(0, 9, n), _flags(rng, n), rng.normal(size=n)


def _make_rats(rng, n):
    rat, x = np.repeat(np.arange(n), 5), np.tile(np.arange(-14.0, 15.0, 7.0), n)
    params = 240.0 + rng.normal(size=n), 6.0 + rng.normal(size=n), np.array([239.0, 6.3]), np.array([14.0, 0.7, 6.0])
    return *params, rat, x, 240.0 + 6.0 * x + rng.normal(size=5 * n)


def _make_hospitals(rng, n):
    total = rng.integers(40, 800, n).astype(float)
    return -2.4, 0.3, -2.0 + _normal(rng, n), total, np.floor(0.08 * total)


PROGRAMS = [
    Real(
        njit(models.eight_schools), "posteriordb: eight schools, not centred",
        lambda rng, n: (4.1, 3.2, rng.normal(size=n), 8.0 * rng.normal(size=n), rng.uniform(9.0, 18.0, n)), (0, 1, 2),
        8, 8,
    ),
    Real(
        njit(models.blr), "posteriordb: linear regression",
        lambda rng, n: (rng.normal(size=5), 0.9, rng.normal(size=(n, 5)), rng.normal(size=n)), (0, 1), 10, 100,
    ),
    Real(njit(models.diamonds), "posteriordb: regression with centred columns", _make_diamonds, (0, 1, 2), 9, 1000),
    Real(njit(models.seeds), "posteriordb: germination of seeds", _make_seeds, (0, 1, 2), 8, 21),
    Real(njit(models.glmm_poisson), "posteriordb: peregrines by year", _make_years, (0, 1, 2, 3), 9, 40),
    Real(
        njit(models.regularised_horseshoe), "posteriordb: regularised horseshoe",
        lambda rng, n: (
            rng.normal(size=3 * n), _positive(rng, 3 * n), 0.01, 1.2, 0.3, rng.normal(size=(n, 3 * n)), _flags(rng, n),
        ), (0, 1, 2, 3, 4), 5, 50,
    ),
    Real(njit(models.pilots), "posteriordb: pilots in simulators", _make_groups, (0, 1, 2, 3), 10, 40),
    Real(njit(models.radon), "posteriordb: radon by county, not centred", _make_houses, (0, 1, 2, 3, 4), 10, 900),
    Real(njit(models.rats), "posteriordb: growth of rats", _make_rats, (0, 1, 2, 3), 4, 30),
    Real(njit(models.surgical), "posteriordb: mortality in hospitals", _make_hospitals, (0, 1, 2), 6, 12),
    Real(
        njit(models.two_parameter_logistic), "posteriordb: answers with two parameters an item", _make_answers,
        (0, 1, 2, 3, 4, 5), 5, 100,
    ),
    Real(
        njit(models.garch11), "posteriordb: volatility by GARCH(1, 1)",
        lambda rng, n: (0.1, 0.5, 0.3, 0.4, rng.normal(size=n), 0.8), (0, 1, 2, 3), 8, 200,
    ),
    Real(
        njit(models.autoregression), "posteriordb: autoregression of five steps",
        lambda rng, n: (0.1, _normal(rng, 5), 0.7, rng.normal(size=n)), (0, 1, 2), 12, 200,
    ),
    Real(
        njit(models.state_space), "posteriordb: drivers killed, by level and season", _make_drivers, (0, 1, 2, 3, 4),
        24, 190,
    ),
    Real(
        njit(models.mixture), "posteriordb: a mixture of two normals, whole arrays",
        lambda rng, n: (np.array([-1.1, 1.3]), _positive(rng, 2), 0.4, 2.0 * rng.normal(size=n)), (0, 1, 2), 10, 1000,
    ),
    Real(
        njit(models.dogs), "posteriordb: dogs that learn, whole arrays",
        lambda rng, n: (_normal(rng, 3), _flags(rng, n), _counts(rng, 5.0, n), _counts(rng, 3.0, n)), (0,), 12, 750,
    ),
    Real(
        njit(models.gaussian_process), "posteriordb: counts by a Gaussian process", _make_process, (0, 1, 2), 6, 11,
    ),
    Real(
        njit(models.motorcycles), "posteriordb: approximate processes for mean and noise", _make_motorcycles,
        (0, 1, 2, 3), 8, 130,
    ),
]  # fmt: skip
