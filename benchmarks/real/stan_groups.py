"""Models of posteriordb with covariates and groups, as their authors wrote them: regressions, panels, tests, maps."""

import math

import numpy as np
from numba import njit

from benchmarks.real.program import Real
from contad import stan


# ---- regressions -----------------------------------------------------------------------------------------------------
@njit
def kidscore_interaction_z(beta, sigma, score, school, iq):
    """Covariates are standardised by twice their deviation in the model itself."""
    z_school = (school - np.mean(school)) / (2.0 * np.std(school))
    z_iq = (iq - np.mean(iq)) / (2.0 * np.std(iq))
    mean = beta[0] + beta[1] * z_school + beta[2] * z_iq + beta[3] * z_school * z_iq
    return stan.cauchy_lpdf(sigma, 0.0, 2.5) + stan.normal_lpdf(score, mean, sigma)


@njit
def nes(beta, sigma, party, ideology, race, age, education, gender, income):
    """Identification with a party; an age is one of four classes, each with its coefficient."""
    n = party.size
    mean = np.empty(n)
    for i in range(n):
        mean[i] = beta[0] + beta[1] * ideology[i] + beta[2] * race[i]
        if age[i] > 0:
            mean[i] += beta[2 + age[i]]
        mean[i] += beta[6] * education[i] + beta[7] * gender[i] + beta[8] * income[i]
    return stan.normal_lpdf(party, mean, sigma)


@njit
def wells(alpha, beta, switched, dist, arsenic, education):
    """Who changes to another well: a logistic regression whose matrix is made from the data."""
    n = switched.size
    x = np.empty((n, 4))
    for i in range(n):
        x[i, 0] = (dist[i] - np.mean(dist)) / 100.0
        x[i, 1] = arsenic[i] - 1.6
        x[i, 2] = education[i] / 4.0
        x[i, 3] = x[i, 0] * x[i, 1]
    return stan.bernoulli_logit_glm_lpmf(switched, x, alpha, beta)


@njit
def glm_binomial(alpha, beta, year, successes, trials):
    """Breeding pairs by a parabola of the year."""
    total = stan.normal_lpdf(alpha, 0.0, 100.0) + stan.normal_lpdf(beta, 0.0, 100.0)
    for i in range(year.size):
        logit = alpha + beta[0] * year[i] + beta[1] * year[i] * year[i]
        total += stan.binomial_logit_lpmf(successes[i], trials[i], logit)
    return total


@njit
def dugongs(alpha, beta, lam, tau, x, y):
    """Length by age: a curve that levels off."""
    sigma = 1.0 / math.sqrt(tau)
    total = stan.normal_lpdf(alpha, 0.0, 1000.0) + stan.normal_lpdf(beta, 0.0, 1000.0)
    total += stan.uniform_lpdf(lam, 0.5, 1.0) + stan.gamma_lpdf(tau, 1e-4, 1e-4)
    for i in range(x.size):
        total += stan.normal_lpdf(y[i], alpha - beta * lam ** x[i], sigma)
    return total


@njit
def growth_factor(t, omega, theta, kind):
    if kind == 1:
        return 1.0 - math.exp(-((t / theta) ** omega))
    p = t**omega
    return p / (p + theta**omega)


@njit
def losscurve_sislob(omega, theta, mu_lr, sd_lr, lr, loss_sd, ages, cohorts, premium, loss, kind):
    """Claims of insured cohorts by age: one of two curves, times premium and ratio."""
    total = stan.normal_lpdf(mu_lr, 0.0, 0.5) + stan.lognormal_lpdf(sd_lr, 0.0, 0.5)
    for c in range(lr.size):
        total += stan.lognormal_lpdf(lr[c], mu_lr, sd_lr)
    total += stan.lognormal_lpdf(loss_sd, 0.0, 0.7) + stan.lognormal_lpdf(omega, 0.0, 0.5)
    total += stan.lognormal_lpdf(theta, 0.0, 0.5)
    for i in range(loss.size):
        c = cohorts[i]
        mean = lr[c] * premium[c] * growth_factor(ages[i], omega, theta, kind)
        total += stan.normal_lpdf(loss[i], mean, loss_sd * premium[c])
    return total


# ---- groups ----------------------------------------------------------------------------------------------------------
@njit
def eight_schools_centred(theta, mu, tau, y, sigma):
    """The funnel."""
    total = stan.cauchy_lpdf(tau, 0.0, 5.0) + stan.normal_lpdf(mu, 0.0, 5.0)
    for j in range(y.size):
        total += stan.normal_lpdf(theta[j], mu, tau) + stan.normal_lpdf(y[j], theta[j], sigma[j])
    return total


@njit
def glmm1(alpha, mu, sigma, counts, sites):
    """Counts at sites, each with its level."""
    total = stan.normal_lpdf(mu, 0.0, 10.0) + stan.uniform_lpdf(sigma, 0.0, 5.0)
    for s in range(alpha.size):
        total += stan.normal_lpdf(alpha[s], mu, sigma)
    log_rate = np.empty(counts.shape)
    for i in range(counts.shape[0]):
        for s in range(counts.shape[1]):
            log_rate[i, s] = alpha[s]
    for i in range(sites.size):
        for s in range(counts.shape[1]):
            if sites[i] >= 0:
                total += stan.poisson_log_lpmf(counts[i, s], log_rate[i, s])
    return total


@njit
def election88(beta, effects_age, effects_edu, effects_state, effects_region, sigma, persons, previous, votes):
    """Votes by age, education, state and region."""
    total = stan.normal_lpdf(beta, 0.0, 100.0)
    total += stan.normal_lpdf(effects_age, 0.0, sigma[0]) + stan.normal_lpdf(effects_edu, 0.0, sigma[1])
    total += stan.normal_lpdf(effects_state, 0.0, sigma[2]) + stan.normal_lpdf(effects_region, 0.0, sigma[3])
    logits = np.empty(votes.size)
    for i in range(votes.size):
        black, female, age, edu, state, region = persons[i]
        logits[i] = beta[0] + beta[1] * black + beta[2] * female + beta[3] * previous[i] + beta[4] * female * black
        logits[i] += effects_age[age] + effects_edu[edu] + effects_state[state] + effects_region[region]
    return total + stan.bernoulli_logit_lpmf(votes, logits)


@njit
def radon_slopes(alpha, beta, mu, sigma, noise, county, floor, y):
    """Radon by county, with an intercept and a slope for each."""
    total = stan.normal_lpdf(sigma, 0.0, 1.0) + stan.normal_lpdf(mu, 0.0, 10.0) + stan.normal_lpdf(noise, 0.0, 1.0)
    total += stan.normal_lpdf(alpha, mu[0], sigma[0]) + stan.normal_lpdf(beta, mu[1], sigma[1])
    for i in range(y.size):
        total += stan.normal_lpdf(y[i], alpha[county[i]] + floor[i] * beta[county[i]], noise)
    return total


@njit
def seeds_centred(alpha, c, sigma, x1, x2, n, total_n):
    """Germination with effects of plates about their mean."""
    logp = stan.normal_lpdf(alpha, 0.0, 1.0) + stan.normal_lpdf(c, 0.0, sigma) + stan.cauchy_lpdf(sigma, 0.0, 1.0)
    b = c - np.mean(c)
    for i in range(n.size):
        eta = alpha[0] + alpha[1] * x1[i] + alpha[2] * x2[i] + alpha[3] * x1[i] * x2[i] + b[i]
        logp += stan.binomial_logit_lpmf(n[i], total_n[i], eta)
    return logp


@njit
def rates_of_five(theta, k, n):
    """A common rate behind several counts: Lee and Wagenmakers."""
    total = stan.beta_lpdf(theta, 1.0, 1.0)
    for i in range(k.size):
        total += stan.binomial_lpmf(k[i], n[i], theta)
    return total


@njit
def bym2(beta0, sigma, theta, phi, y, offsets, node1, node2, scaling):
    """Counts on a map: neighbours pull together, along the edges of a graph."""
    n = y.size
    total = stan.normal_lpdf(beta0, 0.0, 1.0) + stan.normal_lpdf(sigma, 0.0, 1.0) + stan.normal_lpdf(theta, 0.0, 1.0)
    rho = 0.6
    pull = 0.0
    for e in range(node1.size):
        d = phi[node1[e]] - phi[node2[e]]
        pull += d * d
    total += -0.5 * pull + stan.normal_lpdf(np.sum(phi), 0.0, 0.001 * n)
    convolved = math.sqrt(1.0 - rho) * theta + math.sqrt(rho / scaling) * phi
    return total + stan.poisson_log_lpmf(y, offsets + beta0 + convolved * sigma)


# ---- tests with items ------------------------------------------------------------------------------------------------
@njit
def latent_regression(theta, log_a, b, lam, w, persons, items, y):
    """Answers with two parameters an item; difficulties sum to nothing, abilities follow covariates."""
    n_items = log_a.size
    beta = np.empty(n_items)
    beta[: n_items - 1] = b
    beta[n_items - 1] = -np.sum(b)
    total = stan.normal_lpdf(log_a, 0.5, 1.0) + stan.normal_lpdf(beta, 0.0, 3.0)
    total += stan.student_t_lpdf(lam, 3.0, 0.0, 1.0) + stan.normal_lpdf(theta, w @ lam, 1.0)
    for i in range(y.size):
        total += stan.bernoulli_logit_lpmf(y[i], math.exp(log_a[items[i]]) * theta[persons[i]] - beta[items[i]])
    return total


@njit
def partial_credit(y, theta, beta):
    """The log probability of a step of an item, of the softmax of running sums."""
    m = beta.size
    unsummed = np.empty(m + 1)
    unsummed[0] = 0.0
    for k in range(m):
        unsummed[k + 1] = theta - beta[k]
    return stan.categorical_logit_lpmf(y, np.cumsum(unsummed))


@njit
def generalised_partial_credit(theta, alpha, steps, persons, items, y):
    """Answers in several steps, each with a difficulty."""
    total = stan.lognormal_lpdf(alpha, 1.0, 1.0) + stan.normal_lpdf(theta, 0.0, 1.0)
    for i in range(steps.shape[0]):
        total += stan.normal_lpdf(steps[i], 0.0, 3.0)
    for n in range(y.size):
        total += partial_credit(y[n], theta[persons[n]] * alpha[items[n]], steps[items[n]])
    return total


@njit
def correlated_items(theta, xi1, xi2, mu, tau, factor, persons, items, y):
    """Discriminations and difficulties that vary together: a Cholesky factor of their correlation."""
    total = stan.lkj_corr_cholesky_lpdf(factor, 4.0) + stan.exponential_lpdf(tau, 0.1) + stan.normal_lpdf(mu, 0.0, 1.0)
    scaled = stan.diag_pre_multiply(tau, factor)
    for i in range(xi1.size):
        pair = np.array([xi1[i], xi2[i]])
        total += stan.multi_normal_cholesky_lpdf(pair, mu, scaled)
    total += stan.normal_lpdf(theta, 0.0, 1.0)
    for n in range(y.size):
        i = items[n]
        total += stan.bernoulli_logit_lpmf(y[n], math.exp(xi1[i]) * (theta[persons[n]] - xi2[i]))
    return total


@njit
def lsat(alpha, theta, beta, r):
    """Five questions of a test, one slope for all."""
    total = stan.normal_lpdf(alpha, 0.0, 100.0) + stan.normal_lpdf(theta, 0.0, 1.0) + stan.normal_lpdf(beta, 0.0, 100.0)
    for k in range(alpha.size):
        for j in range(theta.size):
            total += stan.bernoulli_logit_lpmf(r[j, k], beta * theta[j] - alpha[k])
    return total


@njit
def bones(theta, delta, gamma, grades, grade):
    """Skeletal age by indicators, whose grades have as many thresholds as they need."""
    n_child, n_ind = grade.shape
    total = stan.normal_lpdf(theta, 0.0, 36.0)
    p = np.zeros(5)
    q = np.zeros(4)
    for i in range(n_child):
        for j in range(n_ind):
            for k in range(grades[j] - 1):
                q[k] = stan.inv_logit(delta[j] * (theta[i] - gamma[j, k]))
            p[0] = 1.0 - q[0]
            for k in range(1, grades[j] - 1):
                p[k] = q[k - 1] - q[k]
            p[grades[j] - 1] = q[grades[j] - 2]
            if grade[i, j] != -1:
                total += math.log(p[grade[i, j] - 1])
    return total


# ---- arguments -------------------------------------------------------------------------------------------------------
def _flags(rng, *shape):
    return rng.integers(0, 2, shape).astype(float)


def _positive(rng, *shape):
    return rng.uniform(0.5, 1.5, shape)


def _places(n, items):
    persons, found = np.indices((n, items))
    return persons.ravel(), found.ravel()


def _make_curve(rng, n):
    ages, cohorts = np.tile(np.arange(1.0, 6.0), n), np.repeat(np.arange(n), 5)
    premium = rng.uniform(90.0, 130.0, n)
    loss = premium[cohorts] * (1.0 - np.exp(-ages / 3.0))
    return 1.3, 2.2, -0.1, 0.4, _positive(rng, n), 0.3, ages, cohorts, premium, loss, 1


def _make_votes(rng, n):
    persons = np.stack([rng.integers(0, k, n) for k in (2, 2, 4, 4, 9, 5)], axis=1)
    effects = [0.3 * rng.normal(size=k) for k in (4, 4, 9, 5)]
    return rng.normal(size=5), *effects, _positive(rng, 4), persons, rng.uniform(0.4, 0.6, n), _flags(rng, n)


def _make_map(rng, n):
    node1 = np.concatenate([np.arange(n - 1), np.arange(n - 2)])
    node2 = np.concatenate([np.arange(1, n), np.arange(2, n)])
    params = 0.2, 0.7, rng.normal(size=n), 0.01 * rng.normal(size=n)
    return *params, rng.poisson(3.0, n).astype(float), rng.normal(size=n), node1, node2, 0.7


def _make_regression_of_abilities(rng, n):
    params = rng.normal(size=n), 0.3 * rng.normal(size=6), rng.normal(size=5), rng.normal(size=2)
    return *params, rng.normal(size=(n, 2)), *_places(n, 6), _flags(rng, 6 * n)


def _make_steps(rng, n):
    params = rng.normal(size=n), _positive(rng, 5), rng.normal(size=(5, 3))
    return *params, *_places(n, 5), rng.integers(1, 5, 5 * n)


def _make_pairs(rng, n):
    factor = np.linalg.cholesky(np.array([[1.0, 0.3], [0.3, 1.0]]))
    params = rng.normal(size=n), 0.3 * rng.normal(size=5), rng.normal(size=5), 0.1 * rng.normal(size=2)
    return *params, _positive(rng, 2), factor, *_places(n, 5), _flags(rng, 5 * n)


def _make_bones(rng, n):
    grades = np.array([2, 3, 5, 4, 2])
    gamma = np.sort(rng.normal(size=(5, 4)), axis=1) + np.arange(4)
    grade = np.stack([rng.integers(1, g + 1, n) for g in grades], axis=1)
    grade[0, 1] = -1
    return rng.normal(size=n), _positive(rng, 5), gamma, grades, grade


def _make_germination(rng, n):
    total = rng.integers(5, 80, n).astype(float)
    params = 0.5 * rng.normal(size=4), rng.normal(size=n), 0.6
    return *params, _flags(rng, n), _flags(rng, n), np.floor(0.3 * total), total


PROGRAMS = [
    Real(
        kidscore_interaction_z, "posteriordb: scores of children, standardised in the model",
        lambda rng, n: (
            np.array([80.0, 3.0, 15.0, -6.0]), 17.0, rng.normal(85.0, 20.0, n), np.arange(n) % 2.0,
            rng.normal(100.0, 15.0, n),
        ), (0, 1), 9, 434,
    ),
    Real(
        nes, "posteriordb: party by covariates and classes of age",
        lambda rng, n: (
            rng.normal(size=9), 1.4, rng.normal(size=n), rng.normal(size=n), _flags(rng, n), rng.integers(0, 4, n),
            rng.normal(size=n), _flags(rng, n), rng.normal(size=n),
        ), (0, 1), 10, 900,
    ),
    Real(
        wells, "posteriordb: who changes wells",
        lambda rng, n: (
            0.2, 0.5 * rng.normal(size=4), rng.integers(0, 2, n), rng.uniform(0.0, 200.0, n), rng.uniform(0.5, 4.0, n),
            rng.uniform(0.0, 16.0, n),
        ), (0, 1), 8, 300,
    ),
    Real(
        glm_binomial, "posteriordb: breeding pairs by year",
        lambda rng, n: (
            0.3, rng.normal(size=2), np.linspace(-1.0, 1.0, n), rng.integers(0, 20, n).astype(float),
            np.full(n, 40.0),
        ), (0, 1), 7, 40,
    ),
    Real(
        dugongs, "posteriordb: length of dugongs by age",
        lambda rng, n: (2.6, 0.9, 0.83, 80.0, rng.uniform(1.0, 30.0, n), rng.uniform(1.8, 2.7, n)), (0, 1, 2, 3), 7, 27,
    ),
    Real(losscurve_sislob, "posteriordb: claims by age of cohorts", _make_curve, (0, 1, 2, 3, 4, 5), 3, 10),
    Real(
        eight_schools_centred, "posteriordb: eight schools, centred",
        lambda rng, n: (rng.normal(size=n), 4.1, 3.2, 8.0 * rng.normal(size=n), rng.uniform(9.0, 18.0, n)), (0, 1, 2),
        8, 8,
    ),
    Real(
        glmm1, "posteriordb: counts at sites",
        lambda rng, n: (
            rng.normal(size=8), 0.4, 0.8, rng.poisson(3.0, (n, 8)).astype(float), np.arange(n) - 1,
        ), (0, 1, 2), 4, 90,
    ),
    Real(election88, "posteriordb: votes by crossed groups", _make_votes, (0, 1, 2, 3, 4, 5), 9, 1000),
    Real(
        radon_slopes, "posteriordb: radon with slopes of counties",
        lambda rng, n: (
            rng.normal(size=7), rng.normal(size=7), rng.normal(size=2), _positive(rng, 2), 0.8, rng.integers(0, 7, n),
            _flags(rng, n), rng.normal(size=n),
        ), (0, 1, 2, 3, 4), 12, 900,
    ),
    Real(seeds_centred, "posteriordb: germination, centred", _make_germination, (0, 1, 2), 7, 21),
    Real(
        rates_of_five, "posteriordb: a common rate",
        lambda rng, n: (0.4, rng.integers(1, 9, n).astype(float), np.full(n, 10.0)), (0,), 5, 20,
    ),
    Real(bym2, "posteriordb: counts on a map", _make_map, (0, 1, 2, 3), 6, 700),
    Real(
        latent_regression, "posteriordb: abilities that follow covariates", _make_regression_of_abilities,
        (0, 1, 2, 3), 4, 100,
    ),
    Real(generalised_partial_credit, "posteriordb: partial credit", _make_steps, (0, 1, 2), 4, 100),
    Real(correlated_items, "posteriordb: items whose parameters vary together", _make_pairs, (0, 1, 2, 3, 4), 4, 100),
    Real(
        lsat, "posteriordb: five questions of a test",
        lambda rng, n: (rng.normal(size=5), rng.normal(size=n), 0.8, _flags(rng, n, 5)), (0, 1, 2), 5, 300,
    ),
    Real(bones, "posteriordb: skeletal age by grades", _make_bones, (0, 1, 2), 4, 13),
]  # fmt: skip
