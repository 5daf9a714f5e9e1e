"""Models of posteriordb of animals that are seen or not, and of things that learn: sums over what was not observed."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real
from contad import stan


# ---- capture and recapture -------------------------------------------------------------------------------------------
@njit
def closed_population(omega, p, seen, occasions):
    """M0: one probability of capture; an animal that was never seen may not be there."""
    total = 0.0
    for i in range(seen.size):
        if seen[i] > 0.0:
            total += stan.bernoulli_lpmf(1, omega) + stan.binomial_lpmf(seen[i], occasions, p)
        else:
            there = stan.bernoulli_lpmf(1, omega) + stan.binomial_lpmf(0.0, occasions, p)
            total += np.logaddexp(there, stan.bernoulli_lpmf(0, omega))
    return total


@njit
def by_occasion(omega, p, y):
    """Mt: each occasion has its probability of capture."""
    total = 0.0
    for i in range(y.shape[0]):
        log_seen = 0.0
        for t in range(y.shape[1]):
            log_seen += stan.bernoulli_lpmf(y[i, t], p[t])
        if np.sum(y[i]) > 0.0:
            total += math.log(omega) + log_seen
        else:
            total += stan.log_sum_exp(np.array([math.log(omega) + log_seen, stan.log1m(omega)]))
    return total


@njit
def trap_shy(omega, p, c, y):
    """Mb: once caught, an animal is caught with another probability."""
    total = 0.0
    for i in range(y.shape[0]):
        log_seen = 0.0
        caught = False
        for t in range(y.shape[1]):
            chance = c if caught else p
            log_seen += stan.bernoulli_lpmf(y[i, t], chance)
            if y[i, t] == 1:
                caught = True
        if caught:
            total += stan.bernoulli_lpmf(1, omega) + log_seen
        else:
            total += np.logaddexp(stan.bernoulli_lpmf(1, omega) + log_seen, stan.bernoulli_lpmf(0, omega))
    return total


@njit
def by_animal(omega, mean_p, sigma, eps, seen, occasions):
    """Mh: logits of capture that differ between animals."""
    total = stan.normal_lpdf(eps, 0.0, 1.0)
    for i in range(seen.size):
        logit = stan.logit(mean_p) + sigma * eps[i]
        if seen[i] > 0.0:
            total += stan.bernoulli_lpmf(1, omega) + stan.binomial_logit_lpmf(seen[i], occasions, logit)
        else:
            there = stan.bernoulli_lpmf(1, omega) + stan.binomial_logit_lpmf(0.0, occasions, logit)
            total += stan.log_sum_exp(np.array([there, stan.bernoulli_lpmf(0, omega)]))
    return total


@njit
def by_all(omega, mean_p, gamma, sigma, eps, y):
    """Mtbh: occasions, animals and what happened before."""
    n, occasions = y.shape
    logit = np.empty((n, occasions))
    for t in range(occasions):
        alpha = math.log(mean_p[t] / (1.0 - mean_p[t]))
        for i in range(n):
            logit[i, t] = alpha + sigma * eps[i]
            if t > 0:
                logit[i, t] += gamma * y[i, t - 1]
    total = stan.normal_lpdf(gamma, 0.0, 10.0) + stan.normal_lpdf(eps, 0.0, 1.0)
    for i in range(n):
        found = stan.bernoulli_logit_lpmf(y[i], logit[i])
        if np.sum(y[i]) != 0:
            total += math.log(omega) + found
        else:
            total += np.logaddexp(math.log(omega) + found, math.log1p(-omega))
    return total


@njit
def multi_occupancy(alpha, beta, omega, mu, sigma, uv, x, k):
    """Which species live where, those that no one has seen among them."""
    sites, seen = x.shape
    total = stan.normal_lpdf(alpha, 0.0, 2.5) + stan.cauchy_lpdf(sigma, 0.0, 2.5) + stan.beta_lpdf(omega, 2.0, 2.0)
    for s in range(uv.shape[0]):
        total += stan.normal_lpdf(uv[s, 0], mu[0], sigma[0]) + stan.normal_lpdf(uv[s, 1], mu[1], sigma[1])
        logit_psi, logit_theta = uv[s, 0] + alpha, uv[s, 1] + beta
        if s < seen:
            total += stan.log_inv_logit(omega)
            for j in range(sites):
                if x[j, s] > 0.0:
                    total += stan.log_inv_logit(logit_psi) + stan.binomial_logit_lpmf(x[j, s], k, logit_theta)
                else:
                    there = stan.log_inv_logit(logit_psi) + stan.binomial_logit_lpmf(0.0, k, logit_theta)
                    total += stan.log_sum_exp(np.array([there, stan.log1m_inv_logit(logit_psi)]))
        else:
            there = stan.log_inv_logit(logit_psi) + stan.binomial_logit_lpmf(0.0, k, logit_theta)
            unseen = sites * stan.log_sum_exp(np.array([there, stan.log1m_inv_logit(logit_psi)]))
            total += np.logaddexp(stan.log1m_inv_logit(omega), stan.log_inv_logit(omega) + unseen)
    return total


@njit
def survey(theta, k, most, least):
    """How many surveys were sent, if so many came back: a sum over what it may have been."""
    logs = np.empty(most)
    for n in range(most):
        logs[n] = math.log(1.0 / most)
        if n + 1 < least:
            logs[n] = -1e300
        else:
            for i in range(k.size):
                logs[n] += stan.binomial_lpmf(k[i], n + 1.0, theta)
    return stan.log_sum_exp(logs)


# ---- learning --------------------------------------------------------------------------------------------------------
@njit
def dogs_log(a, b, y):
    """Probabilities of a shock that fall by factors, with what was avoided and what was not."""
    total = 0.0
    for j in range(y.shape[0]):
        avoided, shocked = 0.0, 0.0
        for t in range(y.shape[1]):
            p = a**avoided * b**shocked
            total += stan.bernoulli_lpmf(y[j, t], 0.01 + 0.98 * p)
            shocked += y[j, t]
            avoided += 1.0 - y[j, t]
    return total + stan.uniform_lpdf(a, 0.0, 1.0) + stan.uniform_lpdf(b, 0.0, 1.0)


@njit
def dogs_of_groups(mu, sigma, z, y):
    """Each dog learns in its own way."""
    total = stan.logistic_lpdf(mu, 0.0, 1.0) + stan.normal_lpdf(sigma, 0.0, 1.0)
    n, trials = y.shape
    for j in range(n):
        total += stan.std_normal_lpdf(z[j])
        beta0, beta1, beta2 = mu[0] + sigma[0] * z[j, 0], mu[1] + sigma[1] * z[j, 1], mu[2]
        n_avoid, n_shock = 0.0, 0.0
        for t in range(trials):
            if t > 0:
                n_avoid += 1.0 - y[j, t - 1]
                n_shock += y[j, t - 1]
            total += stan.bernoulli_logit_lpmf(y[j, t], beta0 + beta1 * n_avoid + beta2 * n_shock)
    return total


# ---- topics and mixtures ---------------------------------------------------------------------------------------------
@njit
def topics(texts, vocabularies, words, documents):
    """Latent Dirichlet allocation: a topic a word, summed out; simplices by softmax."""
    theta, phi = np.empty(texts.shape), np.empty(vocabularies.shape)
    total = 0.0
    for m in range(texts.shape[0]):
        theta[m] = stan.softmax(texts[m])
        total += stan.dirichlet_lpdf(theta[m], np.full(texts.shape[1], 0.5))
    for k in range(phi.shape[0]):
        phi[k] = stan.softmax(vocabularies[k])
        total += stan.dirichlet_lpdf(phi[k], np.full(phi.shape[1], 0.5))
    gamma = np.empty(phi.shape[0])
    for n in range(words.size):
        for k in range(phi.shape[0]):
            gamma[k] = math.log(theta[documents[n], k]) + math.log(phi[k, words[n]])
        total += stan.log_sum_exp(gamma)
    return total


TOPICS_OF_DOCUMENT = stan.simplex(3)


@njit
def topics_of_vector(u, phi, words):
    """The same of one document, whose topics are made of a vector without constraints."""
    theta = TOPICS_OF_DOCUMENT.constrain(u)
    total = TOPICS_OF_DOCUMENT.log_jacobian(u)
    for n in range(words.size):
        total += math.log(np.dot(theta, phi[:, words[n]]))
    return total


@njit
def normal_mixture_k(theta, mu, sigma, y):
    """Several normals: a sum of exponentials for each datum."""
    k = theta.size
    total = stan.normal_lpdf(mu, 0.0, 10.0)
    ps = np.empty(k)
    for n in range(y.size):
        for j in range(k):
            ps[j] = math.log(theta[j]) + stan.normal_lpdf(y[n], mu[j], sigma[j])
        total += stan.log_sum_exp(ps)
    return total


@njit
def mixture_by_terms(mu, sigma, theta, y):
    """Two normals, a term for each datum by log_mix."""
    total = stan.normal_lpdf(sigma, 0.0, 2.0) + stan.normal_lpdf(mu, 0.0, 2.0) + stan.beta_lpdf(theta, 5.0, 5.0)
    for n in range(y.size):
        one, other = stan.normal_lpdf(y[n], mu[0], sigma[0]), stan.normal_lpdf(y[n], mu[1], sigma[1])
        total += stan.log_mix(theta, one, other)
    return total


@njit
def network(alpha, beta, alpha_out, beta_out, x, y):
    """A hidden layer, and a softmax whose first class is fixed."""
    total = stan.normal_lpdf(alpha_out, 0.0, 1.0)
    for j in range(beta.shape[0]):
        total += stan.normal_lpdf(beta[j], 0.0, 1.0)
    for j in range(beta_out.shape[0]):
        total += stan.normal_lpdf(beta_out[j], 0.0, 1.0)
    hidden = np.tanh(x @ alpha)
    scores = hidden @ beta
    classes = beta_out.shape[1] + 1
    logits = np.zeros(classes)
    for n in range(y.size):
        for c in range(1, classes):
            logits[c] = alpha_out[c - 1] + np.dot(scores[n], beta_out[:, c - 1])
        total += stan.categorical_logit_lpmf(y[n], logits)
    return total


# ---- arguments -------------------------------------------------------------------------------------------------------
def _sightings(rng, n, occasions):
    y = (rng.uniform(size=(n, occasions)) < 0.3).astype(np.int64)
    y[: n // 3] = 0
    return y


def _make_species(rng, n):
    x = rng.integers(0, 4, (5, n)).astype(float)
    params = 0.2, -0.3, 0.4, 0.3 * rng.normal(size=2), rng.uniform(0.5, 1.5, 2)
    return *params, rng.normal(size=(n + 2, 2)), x, 18.0


def _make_texts(rng, n):
    return rng.normal(size=(4, 3)), rng.normal(size=(3, 8)), rng.integers(0, 8, n), rng.integers(0, 4, n)


def _make_network(rng, n):
    shapes = (6, 5), (5, 4), (3,), (4, 3)
    params = [0.5 * rng.normal(size=shape) for shape in shapes]
    return *params, rng.normal(size=(n, 6)), rng.integers(1, 5, n)


PROGRAMS = [
    Real(
        closed_population, "posteriordb: M0 of capture and recapture",
        lambda rng, n: (0.6, 0.3, _sightings(rng, n, 3).sum(axis=1).astype(float), 3.0), (0, 1), 9, 200,
    ),
    Real(
        by_occasion, "posteriordb: Mt, by occasion",
        lambda rng, n: (0.6, rng.uniform(0.2, 0.6, 4), _sightings(rng, n, 4)), (0, 1), 8, 200,
    ),
    Real(
        trap_shy, "posteriordb: Mb, animals that learn about traps",
        lambda rng, n: (0.6, 0.3, 0.5, _sightings(rng, n, 5)), (0, 1, 2), 8, 200,
    ),
    Real(
        by_animal, "posteriordb: Mh, by animal",
        lambda rng, n: (0.6, 0.3, 0.9, rng.normal(size=n), _sightings(rng, n, 5).sum(axis=1).astype(float), 5.0),
        (0, 1, 2, 3), 8, 300,
    ),
    Real(
        by_all, "posteriordb: Mtbh, by occasion, animal and what was before",
        lambda rng, n: (0.6, rng.uniform(0.2, 0.6, 4), 0.3, 0.9, rng.normal(size=n), _sightings(rng, n, 4)),
        (0, 1, 2, 3, 4), 8, 150,
    ),
    Real(multi_occupancy, "posteriordb: occupancy of many species", _make_species, (0, 1, 2, 3, 4, 5), 4, 30),
    Real(
        survey, "posteriordb: how many surveys were sent",
        lambda rng, n: (0.3, np.array([6.0, 8.0, 7.0]), n, 8), (0,), 14, 500,
    ),
    Real(
        dogs_log, "posteriordb: dogs that learn by factors", lambda rng, n: (0.9, 0.8, _sightings(rng, n, 12)), (0, 1),
        5, 30,
    ),
    Real(
        dogs_of_groups, "posteriordb: dogs that learn each in its way",
        lambda rng, n: (
            0.3 * rng.normal(size=3), rng.uniform(0.5, 1.5, 2), rng.normal(size=(n, 2)), _sightings(rng, n, 12),
        ), (0, 1, 2), 4, 30,
    ),
    Real(topics, "posteriordb: topics of texts", _make_texts, (0, 1), 11, 1000),
    Real(
        topics_of_vector, "posteriordb: topics of a text, by a vector without constraints",
        lambda rng, n: (rng.normal(size=2), rng.dirichlet(np.ones(8), 3), rng.integers(0, 8, n)), (0, 1), 9, 400,
    ),
    Real(
        normal_mixture_k, "posteriordb: a mixture of several normals",
        lambda rng, n: (
            rng.dirichlet(np.ones(4)), rng.normal(size=4), rng.uniform(0.5, 1.5, 4), 2.0 * rng.normal(size=n),
        ), (0, 1, 2), 8, 1000,
    ),
    Real(
        mixture_by_terms, "posteriordb: a mixture of two normals, term by term",
        lambda rng, n: (np.array([-1.1, 1.3]), rng.uniform(0.5, 1.5, 2), 0.4, 2.0 * rng.normal(size=n)), (0, 1, 2),
        9, 1000,
    ),
    Real(network, "posteriordb: a network with a hidden layer", _make_network, (0, 1, 2, 3), 6, 100),
]  # fmt: skip
