"""Models of posteriordb, with its own blocks of parameters, beside Stan's gradients by the interpreter stanli.

POSTERIORDB names the folder `posterior_database` of a clone of github.com/stan-dev/posteriordb, which is not part of
the project.
"""

import json
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from contad import stan
from contad.stan import Model

FOLDER = Path(os.environ.get("POSTERIORDB", "."))
needed = pytest.mark.skipif("POSTERIORDB" not in os.environ, reason="POSTERIORDB does not name a clone of posteriordb")


# ---- the models ------------------------------------------------------------------------------------------------------
def eight_schools_centered(mu, tau, theta, y, sigma):
    prior = stan.cauchy_lpdf(tau, 0.0, 5.0) + stan.normal_lpdf(mu, 0.0, 5.0)
    return prior + stan.normal_lpdf(theta, mu, tau) + stan.normal_lpdf(y, theta, sigma)


def garch11(mu, alpha0, alpha1, beta1, y, sigma1):
    total, sigma = stan.normal_lpdf(y[0], mu, sigma1), sigma1
    for t in range(1, len(y)):
        sigma = np.sqrt(alpha0 + alpha1 * (y[t - 1] - mu) ** 2 + beta1 * sigma**2)
        total += stan.normal_lpdf(y[t], mu, sigma)
    return total


def low_dim_gauss_mix(mu, sigma, theta, y):
    total = stan.normal_lpdf(sigma, 0.0, 2.0) + stan.normal_lpdf(mu, 0.0, 2.0) + stan.beta_lpdf(theta, 5.0, 5.0)
    for x in y:
        total += stan.log_mix(theta, stan.normal_lpdf(x, mu[0], sigma[0]), stan.normal_lpdf(x, mu[1], sigma[1]))
    return total


def hmm_example(theta1, theta2, mu, y):
    total = stan.normal_lpdf(mu[0], 3.0, 1.0) + stan.normal_lpdf(mu[1], 10.0, 1.0)
    forward = -0.5 * (y[0] - mu) ** 2
    for t in range(1, len(y)):
        first = np.log(theta1) + forward[0]
        forward = stan.log_sum_exp(first, np.log(theta2) + forward[1]) - 0.5 * (y[t] - mu) ** 2
    return total + stan.log_sum_exp(forward)


def glm_poisson(alpha, beta1, beta2, beta3, year, C):
    return stan.poisson_log_lpmf(C, alpha + beta1 * year + beta2 * year**2 + beta3 * year**3)


def irt_2pl(sigma_theta, theta, sigma_a, a, mu_b, sigma_b, b, y):
    total = stan.cauchy_lpdf(sigma_theta, 0.0, 2.0) + stan.normal_lpdf(theta, 0.0, sigma_theta)
    total += stan.cauchy_lpdf(sigma_a, 0.0, 2.0) + stan.lognormal_lpdf(a, 0.0, sigma_a)
    total += stan.normal_lpdf(mu_b, 0.0, 5.0) + stan.cauchy_lpdf(sigma_b, 0.0, 2.0) + stan.normal_lpdf(b, mu_b, sigma_b)
    for i in range(len(a)):
        total += stan.bernoulli_logit_lpmf(y[i], a[i] * (theta - b[i]))
    return total


def m0(omega, p, y, T):
    total = 0.0
    for caught in y:
        s = np.sum(caught)
        seen = stan.bernoulli_lpmf(1, omega) + stan.binomial_lpmf(s, T, p)
        total += seen if s > 0 else stan.log_sum_exp(seen, stan.bernoulli_lpmf(0, omega))
    return total


def lda(theta, phi, w, doc):
    total = 0.0  # the priors are uniform
    for n in range(len(w)):
        shared = 0.0
        for k in range(len(phi)):
            shared += theta[doc[n] - 1, k] * phi[k, w[n] - 1]
        total += np.log(shared)
    return total


def hier_2pl(theta, xi1, xi2, mu, tau, L_Omega, ii, jj, y):
    factor = L_Omega * np.expand_dims(tau, 1)
    total = stan.normal_lpdf(theta, 0.0, 1.0) + stan.lkj_corr_cholesky_lpdf(L_Omega, 4.0)
    for i in range(len(xi1)):
        first = (xi1[i] - mu[0]) / factor[0, 0]
        second = (xi2[i] - mu[1] - factor[1, 0] * first) / factor[1, 1]
        total += -0.5 * (first**2 + second**2) - np.log(factor[0, 0]) - np.log(factor[1, 1])
    total += stan.normal_lpdf(mu[0], 0.0, 1.0) + stan.normal_lpdf(mu[1], 0.0, 5.0) + stan.exponential_lpdf(tau, 0.1)
    return total + stan.bernoulli_logit_lpmf(y, np.exp(xi1[ii - 1]) * (theta[jj - 1] - xi2[ii - 1]))


def normal_mixture_k(theta, mu, sigma, y):
    total = stan.normal_lpdf(mu, 0.0, 10.0)
    for x in y:
        total += stan.log_sum_exp(np.log(theta / sigma) - 0.5 * ((x - mu) / sigma) ** 2)
    return total


def dugongs(alpha, beta, lambda_, tau, x, Y):
    total = stan.normal_lpdf(Y, alpha - beta * lambda_**x, 1.0 / np.sqrt(tau)) + stan.gamma_lpdf(tau, 0.0001, 0.0001)
    return total + stan.normal_lpdf(alpha, 0.0, 1000.0) + stan.normal_lpdf(beta, 0.0, 1000.0)


def state_space(mu, seasonal, beta, lambda_, sigma, y, x, w):
    total = stan.student_t_lpdf(sigma, 4.0, 0.0, 1.0) + stan.normal_lpdf(mu[1:], mu[:-1], sigma[1])
    for t in range(11, len(y)):
        total += stan.normal_lpdf(seasonal[t], -np.sum(seasonal[t - 11 : t]), sigma[0])
    return total + stan.normal_lpdf(y, mu + beta * x + lambda_ * w + seasonal, sigma[2])


def gp_regr(rho, alpha, sigma, x, y):
    covariance = stan.add_diag(stan.gp_exp_quad_cov(x, alpha, rho), sigma)
    total = stan.gamma_lpdf(rho, 25.0, 4.0) + stan.normal_lpdf(alpha, 0.0, 2.0) + stan.normal_lpdf(sigma, 0.0, 1.0)
    return total + stan.multi_normal_lpdf(y, np.zeros(len(y)), covariance)


# by the name of the program: the function, the data set, and transformed data that sizes need
PORTS = {
    "eight_schools_centered": (eight_schools_centered, "eight_schools", {}), "garch11": (garch11, "garch", {}),
    "low_dim_gauss_mix": (low_dim_gauss_mix, "low_dim_gauss_mix", {}), "hmm_example": (hmm_example, "hmm_example", {}),
    "GLM_Poisson_model": (glm_poisson, "GLM_Poisson_Data", {}), "irt_2pl": (irt_2pl, "irt_2pl", {}),
    "M0_model": (m0, "M0_data", {}), "ldaK2": (lda, "three_men1", {"K": 2}), "hier_2pl": (hier_2pl, "sat", {}),
    "normal_mixture_k": (normal_mixture_k, "normal_5", {}), "dugongs_model": (dugongs, "dugongs_data", {}),
    "gp_regr": (gp_regr, "gp_pois_regr", {}),
    "state_space_stochastic_level_stochastic_seasonal": (state_space, "uk_drivers", {}),
}  # fmt: skip


@needed
@pytest.mark.long
@pytest.mark.parametrize("name", PORTS)
def test_gradients_are_those_of_stan(name):
    stanli = pytest.importorskip("stanli")
    function, data_name, more = PORTS[name]
    program = (FOLDER / "models" / "stan" / f"{name}.stan").read_text()
    with zipfile.ZipFile(FOLDER / "data" / "data" / f"{data_name}.json.zip") as archive:
        data = json.loads(archive.read(archive.namelist()[0]))
    block = re.search(r"^parameters\s*\{[^}]*\}", program, re.MULTILINE)[0]
    model = Model(block, njit(function), **data, **more)
    other = stanli.Model(stan_code=program, data=data)
    assert model.dimension == other.n_unconstrained
    rng = np.random.default_rng(1)
    ours, theirs = [], []
    for _ in range(2):
        u = rng.uniform(-0.5, 0.5, model.dimension)
        value, gradient = model.log_density_gradient(u)
        expected, slopes = other.log_prob_grad(u)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-9, atol=1e-9 * np.max(np.abs(slopes)))
        ours.append(value)
        theirs.append(expected)
    assert np.diff(ours) == pytest.approx(np.diff(theirs), rel=1e-9, abs=1e-9)  # `~` drops constants
