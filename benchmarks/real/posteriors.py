"""Models of posteriordb as their users would write them with `contad.stan`: one function for Python and for Numba.

The functions take the values of parameters, as `contad.stan.transforms` constrains them, and then the data. These are
not part of the project: github.com/stan-dev/posteriordb has them, and `load` reads a clone's.
"""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from contad import stan
from contad.stan.transforms import Constraint, lower_bound, lower_upper_bound, real


class Posterior(NamedTuple):
    """A model with one data set."""

    function: Callable[..., Any]  # log density of parameters and data
    data: str
    take: Callable[[Mapping[str, Any]], tuple[Any, ...]]  # arguments from the data
    parameters: Callable[..., list[Constraint]]  # of these arguments

    @property
    def name(self) -> str:
        return str(self.function.__name__)


def load(folder: Path, name: str) -> dict[str, Any]:
    """The data set of that name: numbers, and arrays of floats."""
    with zipfile.ZipFile(folder / "data" / f"{name}.json.zip") as archive:
        found = json.loads(archive.read(archive.namelist()[0]))
    return {key: np.array(x, dtype=np.float64) if isinstance(x, list) else x for key, x in found.items()}


def _named(text: str) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    return lambda data: tuple(data[name] for name in text.split())


def _places(a: np.ndarray) -> np.ndarray:
    return a.astype(np.int64) - 1


# ---- regressions -----------------------------------------------------------------------------------------------------
def eight_schools(mu, tau, eta, y, sigma):
    """Effects of coaching in eight schools, not centred."""
    theta = mu + tau * eta
    prior = stan.normal_lpdf(mu, 0.0, 5.0) + stan.cauchy_lpdf(tau, 0.0, 5.0) + stan.normal_lpdf(eta, 0.0, 1.0)
    return prior + stan.normal_lpdf(y, theta, sigma)


def blr(beta, sigma, x, y):
    """A linear regression."""
    return stan.normal_lpdf(beta, 0.0, 10.0) + stan.normal_lpdf(sigma, 0.0, 10.0) + stan.normal_lpdf(y, x @ beta, sigma)



def diamonds(b, intercept, sigma, x, means, y):
    """A regression with centred covariates."""
    prior = stan.normal_lpdf(b, 0.0, 1.0) + stan.student_t_lpdf(intercept, 3.0, 8.0, 10.0)
    prior = prior + stan.student_t_lpdf(sigma, 3.0, 0.0, 10.0)
    return prior + stan.normal_lpdf(y, intercept + (x - means) @ b, sigma)


def seeds(alpha, tau, b, x, n, total):
    """Germination of seeds on plates."""
    prior = stan.normal_lpdf(alpha, 0.0, 1000.0) + stan.gamma_lpdf(tau, 0.001, 0.001)
    prior = prior + stan.normal_lpdf(b, 0.0, 1.0 / np.sqrt(tau))
    return prior + stan.binomial_logit_lpmf(n, total, x @ alpha + b)


def glmm_poisson(alpha, beta, eps, sigma, year, squares, cubes, counts):
    """Counts of peregrines by a cubic of the year, and effects of years."""
    prior = stan.normal_lpdf(eps, 0.0, sigma) + stan.uniform_lpdf(sigma, 0.0, 5.0)
    rate = alpha + beta[0] * year + beta[1] * squares + beta[2] * cubes + eps
    return prior + stan.poisson_log_lpmf(counts, rate)


def regularised_horseshoe(z, local, scale, slab, intercept, x, y):
    """A logistic regression with many covariates."""
    prior = stan.normal_lpdf(z, 0.0, 1.0) + stan.student_t_lpdf(local, 1.0, 0.0, 1.0)
    prior = prior + stan.student_t_lpdf(scale, 1.0, 0.0, 4e-3) + stan.inv_gamma_lpdf(slab, 50.0, 200.0)
    prior = prior + stan.normal_lpdf(intercept, 0.0, 5.0)
    squares = local * local
    beta = z * scale * np.sqrt(slab * squares / (slab + scale * scale * squares))
    return prior + stan.bernoulli_logit_lpmf(y, intercept + x @ beta)


# ---- groups ----------------------------------------------------------------------------------------------------------
def pilots(a, b, mu, sigma, groups, scenarios, y):
    """Recovery of pilots in simulators, by group and scenario."""
    prior = stan.normal_lpdf(mu, 0.0, 1.0) + stan.normal_lpdf(a, 10.0 * mu[0], sigma[0])
    prior = prior + stan.normal_lpdf(b, 10.0 * mu[1], sigma[1])
    return prior + stan.normal_lpdf(y, a[groups] + b[scenarios], sigma[2])


def radon(mu, sigma, z, noise, beta, counties, floor, y):
    """Radon in houses, by county and floor, not centred."""
    prior = stan.normal_lpdf(mu, 0.0, 10.0) + stan.normal_lpdf(sigma, 0.0, 1.0) + stan.normal_lpdf(z, 0.0, 1.0)
    prior = prior + stan.normal_lpdf(noise, 0.0, 1.0) + stan.normal_lpdf(beta, 0.0, 10.0)
    return prior + stan.normal_lpdf(y, (mu + sigma * z)[counties] + beta * floor, noise)


def rats(alpha, beta, mu, sigma, rat, x, y):
    """Growth of rats."""
    prior = stan.normal_lpdf(mu, 0.0, 100.0)
    prior = prior + stan.normal_lpdf(alpha, mu[0], sigma[0]) + stan.normal_lpdf(beta, mu[1], sigma[1])
    return prior + stan.normal_lpdf(y, alpha[rat] + beta[rat] * x, sigma[2])


def surgical(mu, variance, b, n, r):
    """Mortality in hospitals."""
    prior = stan.normal_lpdf(mu, 0.0, 1000.0) + stan.inv_gamma_lpdf(variance, 0.001, 0.001)
    return prior + stan.normal_lpdf(b, mu, np.sqrt(variance)) + stan.binomial_logit_lpmf(r, n, b)


def two_parameter_logistic(theta, a, b, sigma_a, mu_b, sigma_b, persons, items, y):
    """Answers to questions by ability, discrimination and difficulty."""
    prior = stan.cauchy_lpdf(sigma_a, 0.0, 2.0) + stan.cauchy_lpdf(sigma_b, 0.0, 2.0)
    prior = prior + stan.normal_lpdf(theta, 0.0, 1.0) + stan.lognormal_lpdf(a, 0.0, sigma_a)
    prior = prior + stan.normal_lpdf(mu_b, 0.0, 5.0) + stan.normal_lpdf(b, mu_b, sigma_b)
    return prior + stan.bernoulli_logit_lpmf(y, a[items] * (theta[persons] - b[items]))


# ---- series ----------------------------------------------------------------------------------------------------------
def garch11(mu, a0, a1, b1, y, first):
    """Volatility that depends on the step before."""
    sigma = first
    total = 0.0
    for t in range(len(y)):
        if t > 0:
            sigma = np.sqrt(a0 + a1 * (y[t - 1] - mu) ** 2 + b1 * sigma * sigma)
        total = total + stan.normal_lpdf(y[t], mu, sigma)
    return total


def autoregression(alpha, beta, sigma, y):
    """Five steps back."""
    prior = stan.normal_lpdf(alpha, 0.0, 10.0) + stan.normal_lpdf(beta, 0.0, 10.0) + stan.cauchy_lpdf(sigma, 0.0, 2.5)
    n = len(y)
    mean = alpha + beta[0] * y[4 : n - 1] + beta[1] * y[3 : n - 2] + beta[2] * y[2 : n - 3]
    mean = mean + beta[3] * y[1 : n - 4] + beta[4] * y[0 : n - 5]
    return prior + stan.normal_lpdf(y[5:], mean, sigma)


def state_space(mu, seasonal, sigma, beta, lam, x, w, y):
    """Drivers killed: a level, seasons, and covariates."""
    n = len(mu)
    total = stan.normal_lpdf(mu[1:], mu[: n - 1], sigma[0]) + stan.student_t_lpdf(sigma, 4.0, 0.0, 1.0)
    means = -seasonal[: n - 11]
    for k in range(1, 11):
        means = means - seasonal[k : n - 11 + k]
    total = total + stan.normal_lpdf(seasonal[11:], means, sigma[1])
    return total + stan.normal_lpdf(y, mu + beta * x + lam * w + seasonal, sigma[2])


# ---- mixtures and processes ------------------------------------------------------------------------------------------
def mixture(mu, sigma, theta, y):
    """Two normal distributions."""
    prior = stan.normal_lpdf(sigma, 0.0, 2.0) + stan.normal_lpdf(mu, 0.0, 2.0) + stan.beta_lpdf(theta, 5.0, 5.0)
    r, s = (y - mu[0]) / sigma[0], (y - mu[1]) / sigma[1]
    first = np.log(theta) - np.log(sigma[0]) - 0.5 * r * r
    second = np.log(1.0 - theta) - np.log(sigma[1]) - 0.5 * s * s
    return prior + np.sum(np.logaddexp(first, second))


def dogs(beta, y, avoided, shocked):
    """Dogs that learn to avoid shocks."""
    logits = beta[0] + beta[1] * avoided + beta[2] * shocked
    return stan.normal_lpdf(beta, 0.0, 100.0) + stan.bernoulli_logit_lpmf(y, logits)


def gaussian_process(rho, alpha, f, squares, k):
    """Counts by a Gaussian process, not centred."""
    prior = stan.gamma_lpdf(rho, 25.0, 4.0) + stan.normal_lpdf(alpha, 0.0, 2.0) + stan.normal_lpdf(f, 0.0, 1.0)
    covariance = alpha * alpha * np.exp(-0.5 * squares / (rho * rho)) + 1e-10 * np.eye(len(f))
    return prior + stan.poisson_log_lpmf(k, np.linalg.cholesky(covariance) @ f)


def motorcycles(b, z, w, scales, x, basis, bases, y):
    """Acceleration of a helmet: approximate processes for mean and noise."""
    prior = stan.student_t_lpdf(b, 3.0, -13.0, 36.0) + stan.normal_lpdf(z, 0.0, 1.0) + stan.normal_lpdf(w, 0.0, 1.0)
    prior = prior + stan.student_t_lpdf(scales, 3.0, 0.0, 36.0)
    mean = b[0] + basis @ (scales[0] * np.exp(-0.25 * scales[1] * x) * z)
    noise = b[1] + bases @ (scales[2] * np.exp(-0.25 * scales[3] * x[: len(w)]) * w)
    return prior + stan.normal_lpdf(y, mean, np.exp(0.1 * noise))


# ---- data ------------------------------------------------------------------------------------------------------------
def _take_seeds(d: Mapping[str, Any]) -> tuple[Any, ...]:
    columns = [np.ones(d["I"]), d["x1"], d["x2"], d["x1"] * d["x2"]]
    return np.stack(columns, axis=1), d["n"], d["N"]


def _take_years(d: Mapping[str, Any]) -> tuple[Any, ...]:
    year = d["year"]
    return year, year**2, year**3, d["C"]


def _take_dogs(d: Mapping[str, Any]) -> tuple[Any, ...]:
    shocks = d["y"]
    before = np.cumsum(shocks, axis=1) - shocks
    trials = np.arange(shocks.shape[1])[None, :] * np.ones(shocks.shape)
    return shocks.reshape(-1), (trials - before).reshape(-1), before.reshape(-1)


def _take_answers(d: Mapping[str, Any]) -> tuple[Any, ...]:
    items, persons = np.indices(d["y"].shape)
    return persons.reshape(-1), items.reshape(-1), d["y"].reshape(-1)


def _take_motorcycles(d: Mapping[str, Any]) -> tuple[Any, ...]:
    return d["slambda_1"][:, 0] ** 2, d["Xgp_1"], d["Xgp_sigma_1"], d["Y"]


def _take_process(d: Mapping[str, Any]) -> tuple[Any, ...]:
    return (d["x"][:, None] - d["x"][None, :]) ** 2, d["k"]


POSITIVE = lower_bound(0.0)
POSTERIORS = {
    posterior.name: posterior
    for posterior in (
        Posterior(eight_schools, "eight_schools", _named("y sigma"), lambda *_: [real(), POSITIVE, real(8)]),
        Posterior(blr, "sblri", _named("X y"), lambda x, y: [real(x.shape[1]), POSITIVE]),
        Posterior(
            diamonds, "diamonds", lambda d: (d["X"][:, 1:], d["X"][:, 1:].mean(axis=0), d["Y"]),
            lambda x, *_: [real(x.shape[1]), real(), POSITIVE],
        ),
        Posterior(seeds, "seeds_data", _take_seeds, lambda x, *_: [real(4), POSITIVE, real(len(x))]),
        Posterior(
            glmm_poisson, "GLMM_Poisson_data", _take_years,
            lambda year, *_: [
                lower_upper_bound(-20.0, 20.0), lower_upper_bound(-10.0, 10.0, 3), real(len(year)),
                lower_upper_bound(0.0, 5.0),
            ],
        ),
        Posterior(
            regularised_horseshoe, "ovarian", _named("x y"),
            lambda x, y: [real(x.shape[1]), lower_bound(0.0, x.shape[1]), POSITIVE, POSITIVE, real()],
        ),
        Posterior(
            pilots, "pilots", lambda d: (_places(d["group_id"]), _places(d["scenario_id"]), d["y"]),
            lambda *_: [real(5), real(8), real(2), lower_upper_bound(0.0, 100.0, 3)],
        ),
        Posterior(
            radon, "radon_mn", lambda d: (_places(d["county_idx"]), d["floor_measure"], d["log_radon"]),
            lambda places, *_: [real(), POSITIVE, real(int(places.max()) + 1), POSITIVE, real()],
        ),
        Posterior(
            rats, "rats_data", lambda d: (_places(d["rat"]), d["x"] - d["xbar"], d["y"]),
            lambda *_: [real(30), real(30), real(2), lower_bound(0.0, 3)],
        ),
        Posterior(surgical, "surgical_data", _named("n r"), lambda n, r: [real(), POSITIVE, real(len(n))]),
        Posterior(
            two_parameter_logistic, "irt_2pl", _take_answers,
            lambda *_: [real(100), lower_bound(0.0, 20), real(20), POSITIVE, real(), POSITIVE],
        ),
        Posterior(
            garch11, "garch", _named("y sigma1"),
            lambda *_: [real(), POSITIVE, lower_upper_bound(0.0, 1.0), lower_upper_bound(0.0, 1.0)],
        ),
        Posterior(autoregression, "arK", _named("y"), lambda y: [real(), real(5), POSITIVE]),
        Posterior(
            state_space, "uk_drivers", _named("x w y"),
            lambda x, *_: [real(len(x)), real(len(x)), lower_bound(0.0, 3), real(), real()],
        ),
        Posterior(
            mixture, "low_dim_gauss_mix", _named("y"),
            lambda y: [real(2), lower_bound(0.0, 2), lower_upper_bound(0.0, 1.0)],
        ),
        Posterior(dogs, "dogs", _take_dogs, lambda *_: [real(3)]),
        Posterior(gaussian_process, "gp_pois_regr", _take_process, lambda s, k: [POSITIVE, POSITIVE, real(len(k))]),
        Posterior(
            motorcycles, "mcycle_gp", _take_motorcycles,
            lambda x, basis, bases, y: [real(2), real(len(x)), real(bases.shape[1]), lower_bound(0.0, 4)],
        ),
    )
}  # fmt: skip
